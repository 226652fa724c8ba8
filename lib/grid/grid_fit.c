/* grid_fit.c - checks whether the couplings of a matrix join neighbours of a grid. It reads patterns; grid.c, which
 * matrices need, does not. */
#include "lib/grid/grid.h"

#include "lib/base/spread.h"
#include "lib/base/threads.h"

#include <string.h>

/* Returns the most axes along which the cells of a coupling of block row i are one apart, or -1 with the column of the
 * first coupling that joins cells farther apart. */
static int row_reach(const karst_matrix *matrix, const karst_grid *grid, karst_index i, karst_index *column)
{
  const karst_cell here = karst_grid_cell(grid->size, grid->cell ? grid->cell[i] : i);
  int most = 0;
  for (karst_index k = matrix->row_start[i]; k < matrix->row_start[i + 1]; k++) {
    *column = matrix->column[k];
    const karst_cell there = karst_grid_cell(grid->size, grid->cell ? grid->cell[*column] : *column);
    const int axes = karst_cells_apart(&here, &there);
    if (axes < 0) return axes;
    if (axes > most) most = axes;
  }
  return most;
}

/* Returns whether each of the block rows begin .. end - 1 has the columns of the block row before plus one. */
static bool all_repeat(const karst_matrix *matrix, karst_index begin, karst_index end)
{
  const karst_index *start = matrix->row_start, *column = matrix->column;
  const karst_index first = start[begin], last = start[end], length = first - start[begin - 1];
  karst_index differs = 0; /* the loops have no branches, and go through several rows at once */
#pragma omp simd reduction(| : differs)
  for (karst_index i = begin; i < end; i++) differs |= start[i + 1] - start[i] - length;
  if (differs) return false;
#pragma omp simd reduction(| : differs)
  for (karst_index k = first; k < last; k++) differs |= column[k] - column[k - length] - 1;
  return differs == 0;
}

karst_index karst_matrix_find_new_row(const karst_matrix *matrix, karst_index begin, karst_index end)
{
  enum { MOST = 1024 };
  karst_index i = begin, step = 1;
  for (; end - i >= step && all_repeat(matrix, i, i + step); step *= step < MOST ? 2 : 1) i += step;
  for (; step > 0; step /= 2)
    if (end - i >= step && all_repeat(matrix, i, i + step)) i += step;
  return i;
}

/* The result for some block rows. */
struct fit {
  int axes;                /* the most along which cells that couple are one apart */
  karst_index row, column; /* of the first coupling that does not fit; row: block_rows if all do */
};

/* Checks the block rows begin .. end - 1. If the cells are in natural order, it skips each row inside a line whose
 * columns are those of the row before plus one. */
static struct fit fit_rows(const karst_matrix *matrix, const karst_grid *grid, karst_index begin, karst_index end)
{
  struct fit fit = {0, matrix->block_rows, 0};
  karst_index place = begin % grid->size[0]; /* of the cell in its line */
  for (karst_index i = begin; i < end; i++, place = place + 1 < grid->size[0] ? place + 1 : 0) {
    const karst_index rest = grid->size[0] - 1 - place; /* rows before the last one of the line */
    if (!grid->cell && i > begin && place > 0 && rest > 0) {
      const karst_index next = karst_matrix_find_new_row(matrix, i, rest < end - i ? i + rest : end);
      place += next - i;
      i = next;
      if (i == end) break;
    }
    const int axes = row_reach(matrix, grid, i, &fit.column);
    if (axes > fit.axes) fit.axes = axes;
    if (axes >= 0) continue;
    fit.row = i;
    return fit;
  }
  return fit;
}

/* Checks all rows on the device if it has them; returns false if that is not possible. */
static bool fit_on_device(const karst_matrix *matrix, const karst_grid *grid, struct fit *all)
{
  const struct karst_backend *backend = matrix->context->backend;
  if (!backend->grid_reach || !matrix->device_column || grid->cell || matrix->block_rows == 0) return false;
  if (backend->grid_reach(matrix->context, matrix, grid->size, &all->axes, &all->row)) return false;
  if (all->row < matrix->block_rows) row_reach(matrix, grid, all->row, &all->column);
  return true;
}

/* Checks all rows on the host. */
static struct fit fit_all(const karst_matrix *matrix, const karst_grid *grid)
{
  const karst_index rows = matrix->block_rows;
  struct fit all = {0, rows, 0};
  karst_piece piece = karst_begin(matrix->context, KARST_KIND_ONCE, matrix->row_start[rows]);
#pragma omp parallel num_threads(piece.threads)
  {
    const karst_part part = karst_part_begin(&piece, rows);
    const struct fit own = fit_rows(matrix, grid, part.first, part.last);
    karst_part_end(&piece, &part);
#pragma omp critical(karst_grid_fits)
    {
      if (own.axes > all.axes) all.axes = own.axes;
      if (own.row < all.row) {
        all.row = own.row;
        all.column = own.column;
      }
    }
  }
  karst_end(matrix->context, &piece);
  return all;
}

bool karst_grid_fits(const karst_matrix *matrix, const karst_grid *grid, karst_stencil *stencil, karst_index misfit[2])
{
  const karst_index rows = matrix->block_rows;
  struct fit all = {0, rows, 0};
  if (!fit_on_device(matrix, grid, &all)) all = fit_all(matrix, grid);
  misfit[0] = all.row;
  misfit[1] = all.column;
  if (all.row < rows) return false;
  if (stencil) *stencil = all.axes > 1 ? KARST_STENCIL_CORNERS : KARST_STENCIL_FACES;
  return true;
}

bool karst_grid_fits_samples(const karst_matrix *matrix, const karst_grid *grid, karst_stencil *stencil)
{
  const karst_index rows = matrix->block_rows;
  karst_index column;
  int most = 0;
  for (karst_index s = 0; s < karst_sample_count(rows); s++) {
    const int axes = row_reach(matrix, grid, karst_sample_row(rows, s), &column);
    if (axes < 0) return false;
    if (axes > most) most = axes;
  }
  *stencil = most > 1 ? KARST_STENCIL_CORNERS : KARST_STENCIL_FACES;
  return true;
}

karst_status karst_matrix_check_grid(const karst_matrix *matrix, karst_stencil *stencil)
{
  karst_index misfit[2];
  if (!matrix) return KARST_ERROR_ARGUMENT;
  const karst_grid *grid = &matrix->grid;
  if (!karst_has_grid(matrix)) return karst_fail(matrix->context, KARST_ERROR_ARGUMENT, "the matrix has no grid");
  karst_status status = karst_matrix_fetch_pattern(matrix);
  if (status || karst_grid_fits(matrix, grid, stencil, misfit)) return status;
  return karst_fail(matrix->context, KARST_ERROR_MATRIX,
                    "block row %lld has an entry in column %lld, which is not its neighbour in the grid "
                    "%lldx%lldx%lld",
                    (long long)misfit[0], (long long)misfit[1], (long long)grid->size[0], (long long)grid->size[1],
                    (long long)grid->size[2]);
}

/* Counts the blocks of the rows begin .. end - 1 that join cells without a common face; misfit: the block row and
 * column of the first. */
static int64_t count_off_faces(const karst_matrix *matrix, const karst_grid *grid, karst_index begin, karst_index end,
                               karst_index misfit[2])
{
  int64_t count = 0;
  for (karst_index i = begin; i < end; i++) {
    const karst_cell here = karst_grid_cell(grid->size, grid->cell ? grid->cell[i] : i);
    for (karst_index k = matrix->row_start[i]; k < matrix->row_start[i + 1]; k++) {
      const karst_index j = matrix->column[k];
      const karst_cell there = karst_grid_cell(grid->size, grid->cell ? grid->cell[j] : j);
      const int axes = karst_cells_apart(&here, &there); /* 0: the same cell, 1: cells with a common face */
      if (axes == 0 || axes == 1 || count++ > 0) continue;
      misfit[0] = i;
      misfit[1] = j;
    }
  }
  return count;
}

karst_status karst_grid_check_faces(const karst_matrix *matrix, const karst_grid *grid)
{
  karst_index misfit[2] = {matrix->block_rows, 0};
  int64_t count = 0;
  karst_status status = karst_matrix_fetch_pattern(matrix);
  if (status) return status;
  karst_piece piece = karst_begin(matrix->context, KARST_KIND_ONCE, matrix->row_start[matrix->block_rows]);
#pragma omp parallel num_threads(piece.threads)
  {
    karst_index first[2] = {matrix->block_rows, 0};
    const karst_part part = karst_part_rows(&piece, matrix->block_rows, matrix->row_start);
    const int64_t own = count_off_faces(matrix, grid, part.first, part.last, first);
    karst_part_end(&piece, &part);
#pragma omp critical(karst_grid_check_faces)
    {
      count += own;
      if (first[0] < misfit[0]) memcpy(misfit, first, sizeof misfit);
    }
  }
  karst_end(matrix->context, &piece);
  if (!karst_grid_lacks_faces(matrix, count)) return KARST_SUCCESS;
  return karst_fail(matrix->context, KARST_ERROR_MATRIX,
                    "block row %lld has an entry in column %lld, which has no face in common with it in the grid "
                    "%lldx%lldx%lld, as %lld of the %lld couplings; a method on a 7-point grid takes up to a quarter",
                    (long long)misfit[0], (long long)misfit[1], (long long)grid->size[0], (long long)grid->size[1],
                    (long long)grid->size[2], (long long)count,
                    (long long)(karst_matrix_blocks(matrix) - matrix->block_rows));
}
