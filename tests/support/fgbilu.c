/* fgbilu.c - random systems on grids for the tests of fgbilu; see fgbilu.h. */
#include "tests/support/fgbilu.h"

#include "lib/backend/backend.h"
#include "lib/backend/fgbilu_kernels.h"
#include "lib/grid/grid.h"
#include "tests/support/problem.h"

#include <stdlib.h>

const char *const fgbilu_gpu_styles[FGBILU_GPU_STYLES] = {
    "acc",
    "tiles",
#if KARST_BASELINES
    "cl",
    "mixed",
#endif
};

bool fgbilu_lacks_kernels(const karst_context *context, const char *what)
{
  return tap_lacks_kernels(context->backend->fgbilu, "fgbilu", what);
}

static karst_index random_cells(const struct fgbilu_grid *grid, karst_index *cell)
{
  const karst_index cells = karst_grid_cells(grid->size);
  karst_index rows = 0;
  for (karst_index i = 0; i < cells; i++)
    if (0.5 * (tap_random() + 1) >= grid->holes) cell[rows++] = i;
  for (karst_index i = rows - 1; i > 0 && grid->shuffled; i--) {
    const karst_index j = (karst_index)tap_random_index((int64_t)i + 1), kept = cell[i];
    cell[i] = cell[j];
    cell[j] = kept;
  }
  return rows;
}

/* Blocks are random; the diagonal outweighs its scalar row. */
static void random_block(const struct fgbilu_grid *grid, bool diagonal, double *block)
{
  const int b = grid->b;
  for (int c = 0; c < b; c++)
    for (int r = 0; r < b; r++) {
      const int heavy = grid->turned ? (c + 1) % b : c;
      block[c * b + r] = tap_random() + (diagonal && r == heavy ? 8 * b : 0);
    }
}

/* Returns the number of the cell that couples with a cell across a face, or -1. */
static karst_index find_neighbour(const struct fgbilu_grid *grid, const karst_cell *here, int face)
{
  const karst_index there = karst_grid_neighbour(grid->size, here, face), layer = grid->size[0] * grid->size[1];
  const int side = karst_face_side(face);
  const karst_index z = here->position[2] + side;
  if (!grid->faulted || there < 0 || karst_face_axis(face) != 0) return there;
  if (here->position[0] != grid->size[0] / 2 - (side > 0)) return there;
  return z < 0 || z >= grid->size[2] ? -1 : there + side * layer;
}

/* Adds a block row to the ascending ones of a row, unless the cell is a hole or the row is there. */
static void add_column(karst_index row, karst_index *found, karst_index *count)
{
  karst_index at = *count;
  for (karst_index k = 0; k < *count; k++)
    if (found[k] == row) return;
  if (row < 0) return;
  for (; at > 0 && found[at - 1] > row; at--) found[at] = found[at - 1];
  found[at] = row;
  ++*count;
}

static void random_row(const struct fgbilu_grid *grid, const karst_index *row_of, karst_index i,
                       struct fgbilu_system *s)
{
  const karst_cell here = karst_grid_cell(grid->size, s->cell[i]);
  const karst_index layer = grid->size[0] * grid->size[1];
  karst_index found[KARST_PLACES + grid->size[2]], count = 0;
  add_column(i, found, &count);
  for (int face = 0; face < KARST_FACES; face++) {
    const karst_index there = find_neighbour(grid, &here, face);
    if (there < 0 || row_of[there] < 0 || 0.5 * (tap_random() + 1) < grid->missing) continue;
    add_column(row_of[there], found, &count);
  }
  for (karst_index z = 0; z < grid->size[2] && grid->faulted && here.number % layer == 0; z++)
    add_column(row_of[z * layer], found, &count);
  for (karst_index k = 0; k < count; k++) {
    const karst_index at = s->start[i] + k;
    s->column[at] = found[k];
    random_block(grid, found[k] == i, s->value + (int64_t)at * s->b * s->b);
  }
  s->start[i + 1] = s->start[i] + count;
}

struct fgbilu_system fgbilu_random_system(const struct fgbilu_grid *grid)
{
  const karst_index cells = karst_grid_cells(grid->size);
  const size_t most = (KARST_PLACES + (grid->faulted ? (size_t)grid->size[2] : 0)) * (size_t)cells;
  struct fgbilu_system s = {.b = grid->b};
  karst_index *row_of = malloc((size_t)cells * sizeof *row_of);
  s.cell = malloc((size_t)cells * sizeof *s.cell);
  s.start = malloc(((size_t)cells + 1) * sizeof *s.start);
  s.column = malloc(most * sizeof *s.column);
  s.value = malloc(most * (size_t)(s.b * s.b) * sizeof *s.value);
  s.rows = random_cells(grid, s.cell);
  for (karst_index i = 0; i < cells; i++) row_of[i] = -1;
  for (karst_index i = 0; i < s.rows; i++) row_of[s.cell[i]] = i;
  s.start[0] = 0;
  for (karst_index i = 0; i < s.rows; i++) random_row(grid, row_of, i, &s);
  free(row_of);
  return s;
}

void fgbilu_forget_system(struct fgbilu_system *s)
{
  free(s->cell);
  free(s->start);
  free(s->column);
  free(s->value);
}

karst_matrix *fgbilu_matrix(karst_context *context, const struct fgbilu_grid *grid, const struct fgbilu_system *s)
{
  const karst_index *size = grid->size;
  karst_matrix *A = matrix_of(context, s->rows, s->b, s->start, s->column, s->value);
  if (grid->given || grid->shuffled || grid->holes > 0 || grid->faulted)
    tap_need(context, karst_matrix_set_grid_cells(A, size[0], size[1], size[2], s->cell), "grid");
  return A;
}

bool fgbilu_is_face(const struct fgbilu_grid *grid, const struct fgbilu_system *s, karst_index i, karst_index j)
{
  const karst_cell here = karst_grid_cell(grid->size, s->cell[i]), there = karst_grid_cell(grid->size, s->cell[j]);
  long long apart = 0;
  for (int axis = 0; axis < 3; axis++) apart += llabs((long long)here.position[axis] - there.position[axis]);
  return apart <= 1;
}

double *fgbilu_block(const struct fgbilu_system *s, karst_index i, karst_index j)
{
  for (karst_index k = s->start[i]; k < s->start[i + 1]; k++)
    if (s->column[k] == j) return s->value + (int64_t)k * s->b * s->b;
  return NULL;
}

karst_precond *fgbilu_make(karst_context *context, const char *style, const char *pivoting, const karst_matrix *A)
{
  tap_settings options = settings_for(NULL, "fgbilu");
  options.fgbilu_style = style;
  options.pivoting = pivoting;
  return precond_of(context, &options, A);
}
