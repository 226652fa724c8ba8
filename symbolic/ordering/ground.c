/* ground.c - chooses the order that tiles grow in: that of the matrix, or RCM.
 *
 * Tiles in a bad order would cost as many iterations as the matrix in its own order, up to twice those of a good order.
 * In a good order nearly all rows have coupled rows before and behind them: a cell of a grid in natural order lacks
 * either only in a corner, whatever axis comes first. Without order a row of six couplings lacks one of the two in two
 * of seven cases. How near coupled rows are does not tell: RCM brings them nearer than the natural order of a
 * corner-point grid, and takes twice the iterations there. */
#include "config.h"

#include "symbolic/ordering/tiles.h"

static const char what[] = "the order inside tiles";

void karst_ground_destroy(karst_ground *ground)
{
  karst_context *context = ground->pattern.context;
  karst_release(context, ground->sequence);
  karst_release(context, ground->row_start);
  karst_release(context, ground->column);
  karst_release(context, ground->source);
}

/* Counts the rows that are coupled to rows before them or to rows behind them, but not to both. */
static karst_index count_ends(karst_index rows, const karst_index *row_start, const karst_index *column)
{
  karst_index ends = 0;
  for (karst_index i = 0; i < rows; i++) {
    const karst_index begin = row_start[i], end = row_start[i + 1];
    if (begin < end) ends += (column[begin] < i) != (column[end - 1] > i);
  }
  return ends;
}

karst_status karst_ground_choose(const karst_ordering_pattern *pattern, karst_ground *ground)
{
  enum { FEW = 50 }; /* a good order has no more ends than one of so many rows */
  karst_context *context = pattern->context;
  const karst_index n = pattern->block_rows, ends = count_ends(n, pattern->row_start, pattern->column);
  karst_tiling none = {0};
  *ground = (karst_ground){.pattern = *pattern};
  if (ends <= n / FEW + 2) return KARST_SUCCESS;
  karst_status status = karst_allocate(context, &ground->sequence, n, sizeof *ground->sequence, what);
  if (!status) status = karst_order_rcm(pattern, ground->sequence, &none);
  if (!status)
    status = karst_pattern_permute(context, n, pattern->row_start, pattern->column, ground->sequence,
                                   &ground->row_start, &ground->column, &ground->source);
  if (status) return status;
  ground->pattern.row_start = ground->row_start;
  ground->pattern.column = ground->column;
  if (2 * count_ends(n, ground->row_start, ground->column) > ends) {
    karst_ground_destroy(ground);
    *ground = (karst_ground){.pattern = *pattern};
  }
  return KARST_SUCCESS;
}
