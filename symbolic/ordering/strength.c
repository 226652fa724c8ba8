/* strength.c - the strength of couplings, from the values that a matrix has at set-up.
 *
 * Edges, along which tiles grow, have the strength of both couplings that lib/backend/coupling.h defines, relative to
 * the strongest one of their rows. Rows of a reservoir hold each other by their pressures, and an order that keeps
 * these couplings keeps the iterations. Weak couplings count a thirtieth of the strongest: on a corner-point grid the
 * true ratios take a few more iterations, and norms of blocks, or the largest ratio of any unknown, twice as many.
 *
 * Along the axes of a grid, where only a few rows are looked at, block A_ij couples as strongly as its most strongly
 * coupled unknown, max_c |A_ij(c,c)| / |A_ii(c,c)|, relative to the strongest coupling of the row. */
#include "config.h"

#include "lib/grid/grid.h"
#include "lib/base/spread.h"
#include "lib/base/threads.h"
#include "symbolic/ordering/tiles.h"

#include <float.h>
#include <math.h>

enum { SAMPLES = 2048 }; /* rows from which the strengths along the axes of a grid are estimated */

static const char what[] = "the strength of couplings";

static double norm_of(const double *block, int b)
{
  double square = 0;
  for (int e = 0; e < b * b; e++) square += block[e] * block[e];
  return sqrt(square);
}

/* How strongly a block couples relative to the diagonal block of its row; if that is missing or zero, the norm is
 * used. */
static float judge_block(const double *block, const double *diagonal, int b)
{
  double most = 0;
  bool known = false;
  for (int c = 0; c < b && diagonal; c++) {
    const int e = c + b * c;
    if (diagonal[e] == 0) continue;
    known = true;
    most = fmax(most, fabs(block[e] / diagonal[e]));
  }
  const float strength = (float)(known ? most : norm_of(block, b));
  return isfinite(strength) ? strength : 0;
}

/* The strength of the couplings of row i, relative to the strongest; 0 for the diagonal. value: the blocks of the row,
 * column: theirs. */
static void judge_row(karst_index i, karst_index length, const karst_index *column, int b, const double *value,
                      float *relative)
{
  const double *diagonal = NULL;
  float largest = 0;
  for (karst_index k = 0; k < length; k++)
    if (column[k] == i) diagonal = value + karst_block_offset(b, k);
  for (karst_index k = 0; k < length; k++) {
    relative[k] = column[k] == i ? 0 : judge_block(value + karst_block_offset(b, k), diagonal, b);
    largest = fmaxf(largest, relative[k]);
  }
  for (karst_index k = 0; k < length && largest > 0; k++) relative[k] /= largest;
}

/* Copies count blocks to the host: *value, [b*b*count], allocated here. On a GPU these alone are copied. */
static karst_status fetch_blocks(const karst_matrix *A, karst_index count, const karst_index *block, double **value)
{
  karst_context *context = A->context;
  const struct karst_backend *backend = context->backend;
  const int bb = A->block_size * A->block_size;
  const int64_t scalars = (int64_t)count * bb;
  karst_index *index = NULL;
  double *space = NULL;
  karst_status status = karst_allocate(context, value, scalars, sizeof **value, what);
  if (status || count == 0) return status;
  status = karst_device_indices(context, count, block, what, &index);
  if (!status) status = karst_device_doubles(context, scalars, what, &space);
  if (!status) backend->gather(context, count, bb, index, A->value, space);
  if (!status) status = backend->download(context, *value, space, (size_t)scalars * sizeof **value);
  backend->release(context, index);
  backend->release(context, space);
  return status;
}

karst_status karst_strength_of_entries(const karst_matrix *A, float **strength)
{
  karst_context *context = A->context;
  const struct karst_backend *backend = context->backend;
  const size_t bytes = (size_t)A->blocks * sizeof **strength;
  karst_index *diagonal = NULL;
  double *inverse = NULL;
  void *device = NULL;
  bool sound = false;
  *strength = NULL;
  if (bytes == 0 || karst_matrix_find_missing_diagonal(A) >= 0) return KARST_SUCCESS;
  karst_status status = karst_device_doubles(context, karst_block_offset(A->block_size, A->block_rows), what, &inverse);
  if (!status) status = backend->allocate(context, bytes, what, &device);
  if (!status) status = karst_matrix_locate_diagonal(A, &diagonal);
  if (!status) status = backend->couple(context, A, diagonal, inverse, device, &sound);
  if (!status && sound) status = karst_allocate(context, strength, A->blocks, sizeof **strength, what);
  if (!status && sound) status = backend->download(context, *strength, device, bytes);
  backend->release(context, diagonal);
  backend->release(context, inverse);
  backend->release(context, device);
  return status;
}

/* Takes the strength of an entry for each edge. scale[i]: half of 1 over the strongest coupling of row i, or 0 if
 * that is not a normal number. source: see karst_strength_of_edges. */
static void take_entries(const karst_ordering_pattern *pattern, const karst_graph *graph, const karst_index *source,
                         const float *of_entry, float *strength, float *scale)
{
  const karst_index *row_start = pattern->row_start, *column = pattern->column;
  karst_piece piece = karst_begin(pattern->context, KARST_KIND_ONCE, graph->start[graph->vertices]);
#pragma omp parallel num_threads(piece.threads)
  {
    const karst_part part = karst_part_rows(&piece, graph->vertices, graph->start);
    for (karst_index i = part.first; i < part.last; i++) {
      karst_index own = row_start[i];
      float most = 0;
      for (karst_index e = graph->start[i]; e < graph->start[i + 1]; e++) {
        const karst_index j = graph->neighbour[e];
        while (own < row_start[i + 1] && column[own] < j) own++;
        const bool here = own < row_start[i + 1] && column[own] == j;
        const karst_index entry = here ? own : karst_find_column(column, row_start[j], row_start[j + 1], i);
        strength[e] = of_entry[source ? source[entry] : entry];
        if (strength[e] > most) most = strength[e];
      }
      scale[i] = most >= FLT_MIN ? 0.5f / most : 0; /* finite */
    }
    karst_part_end(&piece, &part);
  }
  karst_end(pattern->context, &piece);
}

/* Makes strengths relative to the strongest of both rows, in the mean. Rounded, their sums are exact. */
static void relate(karst_context *context, const karst_graph *graph, const float *scale, float *strength)
{
  static const float least = 1.0f / 30, unit = 1024;
  karst_piece piece = karst_begin(context, KARST_KIND_ONCE, graph->start[graph->vertices]);
#pragma omp parallel num_threads(piece.threads)
  {
    const karst_part part = karst_part_rows(&piece, graph->vertices, graph->start);
    for (karst_index i = part.first; i < part.last; i++)
      for (karst_index e = graph->start[i]; e < graph->start[i + 1]; e++) {
        const float share = strength[e] * (scale[i] + scale[graph->neighbour[e]]);
        strength[e] = (float)(int)(unit * (share > least ? share : least) + 0.5f) / unit;
      }
    karst_part_end(&piece, &part);
  }
  karst_end(context, &piece);
}

karst_status karst_strength_of_edges(const karst_ordering_pattern *pattern, const karst_graph *graph,
                                     const karst_index *source, float **strength)
{
  karst_context *context = pattern->context;
  const karst_index edges = graph->start[graph->vertices];
  float *of_entry = NULL, *scale = NULL;
  karst_status status = karst_allocate(context, strength, edges, sizeof **strength, what);
  if (!status && pattern->matrix) status = karst_strength_of_entries(pattern->matrix, &of_entry);
  if (!status) status = karst_allocate(context, &scale, pattern->block_rows, sizeof *scale, what);
  if (!status && of_entry) {
    take_entries(pattern, graph, source, of_entry, *strength, scale);
    relate(context, graph, scale, *strength);
  } else if (!status) {
    for (karst_index k = 0; k < edges; k++) (*strength)[k] = 1;
  }
  karst_release(context, of_entry);
  karst_release(context, scale);
  if (!status) return KARST_SUCCESS;
  karst_release(context, *strength);
  *strength = NULL;
  return status;
}

/* Returns the axis along which cells are neighbours, or -1 if they do not have a common face. */
static int find_axis(const karst_grid *grid, karst_index i, karst_index j)
{
  const karst_cell a = karst_grid_cell(grid->size, grid->cell ? grid->cell[i] : i);
  const karst_cell b = karst_grid_cell(grid->size, grid->cell ? grid->cell[j] : j);
  int axis = 0;
  if (karst_cells_apart(&a, &b) != 1) return -1;
  while (a.position[axis] == b.position[axis]) axis++;
  return axis;
}

/* Adds the couplings of the rows that are looked at, whose blocks begin at value[0]. relative: [widest row]. */
static void add_rows(const karst_ordering_pattern *pattern, const karst_grid *grid, karst_index rows,
                     const double *value, float *relative, double sum[3], double count[3])
{
  const int b = pattern->matrix->block_size;
  for (karst_index r = 0; r < rows; r++) {
    const karst_index i = karst_spread_row(pattern->block_rows, SAMPLES, r), begin = pattern->row_start[i];
    const karst_index length = pattern->row_start[i + 1] - begin;
    judge_row(i, length, pattern->column + begin, b, value, relative);
    for (karst_index k = 0; k < length; k++) {
      const int axis = find_axis(grid, i, pattern->column[begin + k]);
      if (axis < 0) continue;
      sum[axis] += (double)relative[k];
      count[axis]++;
    }
    value += karst_block_offset(b, length);
  }
}

karst_status karst_strength_along_axes(const karst_ordering_pattern *pattern, const karst_grid *grid,
                                       double strength[3])
{
  karst_context *context = pattern->context;
  const karst_index rows = pattern->block_rows < SAMPLES ? pattern->block_rows : SAMPLES;
  karst_index *block = NULL, blocks = 0, widest = 0;
  double *value = NULL;
  float *relative = NULL;
  double sum[3] = {0, 0, 0}, count[3] = {0, 0, 0};
  karst_status status;
  for (int axis = 0; axis < 3; axis++) strength[axis] = 1;
  if (!pattern->matrix) return KARST_SUCCESS;
  for (karst_index r = 0; r < rows; r++) {
    const karst_index i = karst_spread_row(pattern->block_rows, SAMPLES, r);
    const karst_index length = pattern->row_start[i + 1] - pattern->row_start[i];
    blocks += length;
    if (length > widest) widest = length;
  }
  if ((status = karst_allocate(context, &block, blocks, sizeof *block, what)) ||
      (status = karst_allocate(context, &relative, widest, sizeof *relative, what)))
    goto finish;
  blocks = 0;
  for (karst_index r = 0; r < rows; r++) {
    const karst_index i = karst_spread_row(pattern->block_rows, SAMPLES, r);
    for (karst_index k = pattern->row_start[i]; k < pattern->row_start[i + 1]; k++) block[blocks++] = k;
  }
  if ((status = fetch_blocks(pattern->matrix, blocks, block, &value))) goto finish;
  add_rows(pattern, grid, rows, value, relative, sum, count);
  for (int axis = 0; axis < 3; axis++)
    if (count[axis] > 0 && sum[axis] > 0) strength[axis] = sum[axis] / count[axis];

finish:
  karst_release(context, block);
  karst_release(context, value);
  karst_release(context, relative);
  return status;
}
