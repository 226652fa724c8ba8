/* grid_find.c - finds the grid of a matrix from its pattern alone: from all rows, or as a guess from some.
 *
 * In natural order two neighbours across a face of an nx-by-ny-by-nz grid are 1, nx or nx ny block rows apart; across
 * edges and corners 1 and nx are added or subtracted. So nx and nx ny are among the distances between block rows and
 * their columns, and the few grids that these distances allow are tried one by one. Couplings may be missing; a
 * coupling between cells that are not neighbours rules a grid out. */
#include "lib/grid/grid.h"

#include "lib/base/spread.h"
#include "lib/base/threads.h"

#include <string.h>

enum { DISTANCES_MAX = 13 }; /* number of distances in the largest stencil, of 27 points */

/* The distances above 1 in a pattern, up to DISTANCES_MAX of them; only a pattern without a grid has more. */
typedef struct distances {
  int count;
  karst_index distance[DISTANCES_MAX]; /* ascending */
} distances;

static void add_distance(distances *d, karst_index distance)
{
  int place = 0;
  if (distance <= 1) return;
  while (place < d->count && d->distance[place] < distance) place++;
  if ((place < d->count && d->distance[place] == distance) || d->count == DISTANCES_MAX) return;
  for (int i = d->count++; i > place; i--) d->distance[i] = d->distance[i - 1];
  d->distance[place] = distance;
}

static void add_row(const karst_matrix *A, karst_index i, distances *d)
{
  for (karst_index k = A->row_start[i]; k < A->row_start[i + 1]; k++)
    add_distance(d, A->column[k] < i ? i - A->column[k] : A->column[k] - i);
}

/* Looks at the block rows begin .. end - 1. */
static distances collect_rows(const karst_matrix *A, karst_index begin, karst_index end)
{
  distances d = {.count = 0};
  for (karst_index i = begin; i < end && d.count < DISTANCES_MAX; i++) {
    if (i > 0) i = karst_matrix_find_new_row(A, i, end);
    if (i < end) add_row(A, i, &d);
  }
  return d;
}

static distances collect_samples(const karst_matrix *A)
{
  distances d = {.count = 0};
  for (karst_index s = 0; s < karst_sample_count(A->block_rows); s++)
    add_row(A, karst_sample_row(A->block_rows, s), &d);
  return d;
}

/* If the threads find fewer distances than there is room for, these are all. Otherwise those of the first rows count,
 * so that the result does not depend on the threads. */
static distances collect_distances(const karst_matrix *A)
{
  const karst_index rows = A->block_rows;
  distances all = {.count = 0};
  karst_piece piece = karst_begin(A->context, KARST_KIND_ONCE, A->row_start[rows]);
#pragma omp parallel num_threads(piece.threads)
  {
    const karst_part part = karst_part_begin(&piece, rows);
    const distances own = collect_rows(A, part.first, part.last);
    karst_part_end(&piece, &part);
#pragma omp critical(karst_grid_find)
    for (int k = 0; k < own.count; k++) add_distance(&all, own.distance[k]);
  }
  karst_end(A->context, &piece);
  return all.count < DISTANCES_MAX ? all : collect_rows(A, 0, rows);
}

/* The grid that fits, or the one that fits up to the highest block row. */
typedef struct search {
  const karst_matrix *matrix;
  bool samples; /* some rows are looked at, not all */
  karst_grid best;
  karst_stencil stencil; /* by samples: the stencil of the couplings */
  karst_index misfit[2]; /* else block row and column of the coupling that does not fit */
} search;

/* Tries a grid with lines of nx cells and layers of layer cells. */
static bool try_grid(search *s, karst_index nx, karst_index layer)
{
  karst_index misfit[2], rows = s->matrix->block_rows;
  if (layer % nx != 0 || rows % layer != 0) return false;
  const karst_grid grid = {{nx, layer / nx, rows / layer}, NULL};
  if (s->samples) {
    s->best = grid;
    return karst_grid_fits_samples(s->matrix, &grid, &s->stencil);
  }
  const bool fits = karst_grid_fits(s->matrix, &grid, NULL, misfit);
  if (fits || misfit[0] >= s->misfit[0]) {
    s->best = grid;
    if (!fits) memcpy(s->misfit, misfit, sizeof misfit);
  }
  return fits;
}

/* Tries grids of one axis, then of two, then of three; among those of several axes the narrow ones come first. */
static bool find(search *s)
{
  karst_index rows = s->matrix->block_rows;
  if (try_grid(s, rows, rows)) return true;
  const distances d = s->samples ? collect_samples(s->matrix) : collect_distances(s->matrix);
  for (int i = 0; i < d.count; i++)
    if (try_grid(s, d.distance[i], rows)) return true;
  for (int i = 0; i < d.count; i++)
    for (int j = i + 1; j < d.count; j++)
      if (try_grid(s, d.distance[i], d.distance[j])) return true;
  return false;
}

bool karst_grid_search(const karst_matrix *matrix, karst_grid *grid)
{
  search s = {.matrix = matrix};
  const bool found = matrix->block_rows > 0 && find(&s);
  *grid = s.best;
  return found;
}

bool karst_grid_guess(const karst_matrix *matrix, karst_grid *grid, karst_stencil *stencil)
{
  search s = {.matrix = matrix, .samples = true};
  *grid = matrix->grid;
  if (karst_has_grid(matrix)) return karst_grid_fits_samples(matrix, grid, stencil);
  if (matrix->block_rows == 0 || !find(&s)) return false;
  *grid = s.best;
  *stencil = s.stencil;
  return true;
}

karst_status karst_grid_find(const karst_matrix *matrix, karst_grid *grid)
{
  search s = {.matrix = matrix};
  if (matrix->block_rows == 0)
    return karst_fail(matrix->context, KARST_ERROR_MATRIX, "a matrix without block rows has no grid");
  const bool found = find(&s);
  const karst_index *size = s.best.size;
  *grid = s.best;
  if (found) return KARST_SUCCESS;
  return karst_fail(matrix->context, KARST_ERROR_MATRIX,
                    "no grid in natural order has the matrix's pattern: block row %lld has an entry in column %lld, "
                    "which is not its neighbour in the grid %lldx%lldx%lld, and other grids fit no further",
                    (long long)s.misfit[0], (long long)s.misfit[1], (long long)size[0], (long long)size[1],
                    (long long)size[2]);
}

/* Whether some block row couples with another one. */
static bool has_couplings(const karst_matrix *A)
{
  for (karst_index i = 0; i < A->block_rows; i++)
    for (karst_index k = A->row_start[i]; k < A->row_start[i + 1]; k++)
      if (A->column[k] != i) return true;
  return false;
}

/* Any grid fits block rows that do not couple, so that the pattern does not show which one they form. */
karst_status karst_matrix_find_grid(karst_matrix *matrix)
{
  karst_grid grid;
  if (!matrix) return KARST_ERROR_ARGUMENT;
  if (matrix->block_rows > 1 && !has_couplings(matrix))
    return karst_fail(matrix->context, KARST_ERROR_MATRIX,
                      "no block row couples with another one, so that the pattern shows no grid: give its sizes, such "
                      "as %lldx1x1",
                      (long long)matrix->block_rows);
  karst_status status = karst_grid_find(matrix, &grid);
  if (!status) karst_matrix_adopt_grid(matrix, grid.size, NULL);
  return status;
}
