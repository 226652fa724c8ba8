/* ground.c - chooses the order that tiles grow in: that of the matrix, or RCM.
 *
 * Tiles in a bad order would cost as many iterations as the matrix in its own order, up to twice those of a good order.
 * An order is bad if RCM brings coupled rows more than twice as near to each other. RCM takes longer than all else, so
 * it is made only if an estimate does not find the order good. n rows whose neighbours within d steps grow in number as
 * a power p of d have level sets of about n^(1 - 1/p) rows, and in RCM coupled rows are about as far apart. */
#include "config.h"

#include "lib/base/spread.h"
#include "symbolic/ordering/tiles.h"

#include <math.h>

static const char what[] = "the order inside tiles";

double karst_order_reach(karst_index rows, const karst_index *row_start, const karst_index *column)
{
  enum { LOOKED_AT = 16384 };
  const karst_index count = rows < LOOKED_AT ? rows : LOOKED_AT;
  double sum = 0, entries = 0;
  for (karst_index s = 0; s < count; s++) {
    const karst_index i = karst_spread_row(rows, LOOKED_AT, s);
    for (karst_index k = row_start[i]; k < row_start[i + 1]; k++)
      sum += (double)(column[k] < i ? i - column[k] : column[k] - i);
    entries += (double)(row_start[i + 1] - row_start[i]);
  }
  return entries > 0 ? sum / entries : 0;
}

/* MANY rows or more have their order estimated, from SAMPLES rows, STEPS steps and at most MOST_NEAR rows from each. */
enum { MANY = 100000, SAMPLES = 16, STEPS = 8, MOST_NEAR = 16384 };

/* Adds the rows within STEPS / 2 and STEPS steps of row i to near. seen: [block_rows] false on entry and on return.
 * queue: [MOST_NEAR]. Returns false if there are too many. */
static bool count_near(const karst_ordering_pattern *pattern, karst_index i, bool *seen, karst_index *queue,
                       double near[2])
{
  int head = 0, tail = 1;
  bool fits = true;
  queue[0] = i;
  seen[i] = true;
  for (int step = 1; step <= STEPS && fits; step++) {
    for (const int end = tail; head < end; head++)
      for (karst_index k = pattern->row_start[queue[head]]; k < pattern->row_start[queue[head] + 1] && fits; k++) {
        const karst_index j = pattern->column[k];
        if (seen[j]) continue;
        if (!(fits = tail < MOST_NEAR)) break;
        seen[j] = true;
        queue[tail++] = j;
      }
    if (step == STEPS / 2) near[0] += tail;
  }
  near[1] += tail;
  for (int q = 0; q < tail; q++) seen[queue[q]] = false;
  return fits;
}

/* Finds out from some rows whether coupled rows are about as near to each other as in the order of RCM. */
static karst_status estimate_order(const karst_ordering_pattern *pattern, bool *good)
{
  karst_context *context = pattern->context;
  const karst_index n = pattern->block_rows;
  bool *seen = NULL;
  karst_index *queue = NULL;
  double near[2] = {0, 0};
  *good = false;
  if (n < MANY) return KARST_SUCCESS;
  karst_status status = karst_allocate_zero(context, &seen, n, sizeof *seen, what);
  if (!status) status = karst_allocate(context, &queue, MOST_NEAR, sizeof *queue, what);
  *good = !status;
  for (karst_index s = 0; s < SAMPLES && *good; s++)
    *good = count_near(pattern, karst_spread_row(n, SAMPLES, s), seen, queue, near);
  karst_release(context, seen);
  karst_release(context, queue);
  if (!*good) return status;
  const double power = fmax(1, log2(near[1] / near[0]));
  *good = karst_order_reach(n, pattern->row_start, pattern->column) <= pow((double)n, 1 - 1 / power);
  return KARST_SUCCESS;
}

void karst_ground_destroy(karst_ground *ground)
{
  karst_context *context = ground->pattern.context;
  karst_release(context, ground->sequence);
  karst_release(context, ground->row_start);
  karst_release(context, ground->column);
  karst_release(context, ground->source);
}

karst_status karst_ground_choose(const karst_ordering_pattern *pattern, karst_ground *ground)
{
  karst_context *context = pattern->context;
  const karst_index n = pattern->block_rows;
  karst_tiling none = {0};
  bool good;
  *ground = (karst_ground){.pattern = *pattern};
  karst_status status = estimate_order(pattern, &good);
  if (status || good) return status;
  status = karst_allocate(context, &ground->sequence, n, sizeof *ground->sequence, what);
  if (!status) status = karst_order_rcm(pattern, ground->sequence, &none);
  if (!status)
    status = karst_pattern_permute(context, n, pattern->row_start, pattern->column, ground->sequence,
                                   &ground->row_start, &ground->column, &ground->source);
  if (status) return status;
  ground->pattern.row_start = ground->row_start;
  ground->pattern.column = ground->column;
  if (2 * karst_order_reach(n, ground->row_start, ground->column) >
      karst_order_reach(n, pattern->row_start, pattern->column)) {
    karst_ground_destroy(ground);
    *ground = (karst_ground){.pattern = *pattern};
  }
  return KARST_SUCCESS;
}
