/* grid.c - the structured grid that a matrix may know: its sizes, and the cell of each block row if the grid has holes
 * or block rows and cells are ordered differently. */
#include "grid.h"

#include "threads.h"

#include <stdio.h>
#include <string.h>

bool karst_grid_is_valid(const karst_index size[3], karst_index *cells, char fault[KARST_FAULT_SIZE])
{
  karst_index layer;
  long long nx = size[0], ny = size[1], nz = size[2];
  if (nx < 1 || ny < 1 || nz < 1)
    snprintf(fault, KARST_FAULT_SIZE, "a grid of %lldx%lldx%lld: each size is at least 1", nx, ny, nz);
  else if (__builtin_mul_overflow(size[0], size[1], &layer) || __builtin_mul_overflow(layer, size[2], cells))
    snprintf(fault, KARST_FAULT_SIZE, "a grid of %lldx%lldx%lld has more cells than %d-bit indices can count", nx, ny,
             nz, KARST_INDEX_BITS);
  else
    return true;
  return false;
}

/* Sorts count numbers in 0 .. most by radix sort, from the last digit, between two arrays; the first is sorted in the
 * end. Its time does not depend on the order of the numbers, which a file may give. */
static void sort_cells(karst_index count, karst_index most, karst_index *array[2])
{
  enum { BITS = 11, DIGITS = 1 << BITS };
  int shift = 0;
  for (uint64_t left = (uint64_t)most; left > 0; left >>= BITS, shift += BITS) {
    karst_index start[DIGITS + 1] = {0}, *from = array[0], *to = array[1];
    for (karst_index i = 0; i < count; i++) start[((uint64_t)from[i] >> shift) % DIGITS + 1]++;
    for (int digit = 0; digit < DIGITS; digit++) start[digit + 1] += start[digit];
    for (karst_index i = 0; i < count; i++) to[start[((uint64_t)from[i] >> shift) % DIGITS]++] = from[i];
    array[0] = to;
    array[1] = from;
  }
}

/* Finds a cell that comes twice, or -1. Ascending maps, those of most grids with holes, need no memory. */
static karst_status find_repeated(karst_context *context, karst_index block_rows, karst_index cells,
                                  const karst_index *cell, karst_index *repeated)
{
  karst_index *space, i = 1;
  *repeated = -1;
  while (i < block_rows && cell[i] > cell[i - 1]) i++;
  if (i >= block_rows) return KARST_SUCCESS;
  karst_status status = karst_allocate(context, &space, 2 * (int64_t)block_rows, sizeof *space, "checking a grid");
  if (status) return status;
  memcpy(space, cell, (size_t)block_rows * sizeof *cell);
  karst_index *sorted[2] = {space, space + block_rows};
  sort_cells(block_rows, cells - 1, sorted);
  for (i = 1; i < block_rows && *repeated < 0; i++)
    if (sorted[0][i] == sorted[0][i - 1]) *repeated = sorted[0][i];
  karst_release(context, space);
  return KARST_SUCCESS;
}

karst_status karst_grid_check_cells(karst_context *context, const karst_index size[3], karst_index block_rows,
                                    const karst_index *cell, char fault[KARST_FAULT_SIZE])
{
  karst_index cells = karst_grid_cells(size), repeated, first = 0, second;
  fault[0] = '\0';
  for (karst_index i = 0; i < block_rows; i++)
    if (cell[i] < 0 || cell[i] >= cells) {
      snprintf(fault, KARST_FAULT_SIZE, "block row %lld is cell %lld of a grid that has %lld", (long long)i,
               (long long)cell[i], (long long)cells);
      return KARST_SUCCESS;
    }
  karst_status status = find_repeated(context, block_rows, cells, cell, &repeated);
  if (status || repeated < 0) return status;
  while (cell[first] != repeated) first++;
  for (second = first + 1; cell[second] != repeated;) second++;
  snprintf(fault, KARST_FAULT_SIZE, "block row %lld is cell %lld of the grid, which block row %lld is already",
           (long long)second, (long long)repeated, (long long)first);
  return KARST_SUCCESS;
}

/* Returns whether a map is redundant: block row i is cell i, and there are no other cells. */
static bool is_natural(karst_index cells, karst_index block_rows, const karst_index *cell)
{
  karst_index i = 0;
  while (i < block_rows && cell[i] == i) i++;
  return i == block_rows && cells == block_rows;
}

void karst_matrix_adopt_grid(karst_matrix *matrix, const karst_index size[3], karst_index *cell)
{
  if (cell && is_natural(karst_grid_cells(size), matrix->block_rows, cell)) {
    karst_release(matrix->context, cell);
    cell = NULL;
  }
  karst_matrix_forget_grid(matrix);
  memcpy(matrix->grid.size, size, sizeof matrix->grid.size);
  matrix->grid.cell = cell;
}

karst_status karst_matrix_copy_grid(const karst_matrix *from, const karst_index *permutation, karst_matrix *to)
{
  const karst_grid *grid = &from->grid;
  karst_index *cell = NULL;
  if (!karst_has_grid(from)) return KARST_SUCCESS;
  if (grid->cell || permutation) {
    karst_status status = karst_allocate(to->context, &cell, to->block_rows, sizeof *cell, "the cells of block rows");
    if (status) return status;
#pragma omp parallel for num_threads(karst_threads_for(to->context, to->block_rows)) schedule(static)
    for (karst_index i = 0; i < to->block_rows; i++) {
      karst_index row = permutation ? permutation[i] : i;
      cell[i] = grid->cell ? grid->cell[row] : row;
    }
  }
  karst_matrix_adopt_grid(to, grid->size, cell);
  return KARST_SUCCESS;
}

karst_status karst_matrix_set_grid(karst_matrix *matrix, karst_index nx, karst_index ny, karst_index nz)
{
  const karst_index size[3] = {nx, ny, nz};
  karst_index cells;
  char fault[KARST_FAULT_SIZE];
  if (!matrix) return KARST_ERROR_ARGUMENT;
  if (!karst_grid_is_valid(size, &cells, fault)) return karst_fail(matrix->context, KARST_ERROR_ARGUMENT, "%s", fault);
  if (cells != matrix->block_rows)
    return karst_fail(matrix->context, KARST_ERROR_ARGUMENT,
                      "a grid of %lldx%lldx%lld has %lld cells, and the matrix has %lld block rows", (long long)nx,
                      (long long)ny, (long long)nz, (long long)cells, (long long)matrix->block_rows);
  karst_matrix_adopt_grid(matrix, size, NULL);
  return KARST_SUCCESS;
}

karst_status karst_matrix_set_grid_cells(karst_matrix *matrix, karst_index nx, karst_index ny, karst_index nz,
                                         const karst_index *cell)
{
  const karst_index size[3] = {nx, ny, nz};
  karst_index cells, *copy;
  char fault[KARST_FAULT_SIZE];
  if (!matrix || !cell) return karst_matrix_set_grid(matrix, nx, ny, nz);
  karst_context *context = matrix->context;
  if (!karst_grid_is_valid(size, &cells, fault)) return karst_fail(context, KARST_ERROR_ARGUMENT, "%s", fault);
  karst_status status = karst_grid_check_cells(context, size, matrix->block_rows, cell, fault);
  if (!status && fault[0]) status = karst_fail(context, KARST_ERROR_ARGUMENT, "%s", fault);
  if (!status) status = karst_allocate(context, &copy, matrix->block_rows, sizeof *copy, "the cells of block rows");
  if (status) return status;
  if (matrix->block_rows > 0) memcpy(copy, cell, (size_t)matrix->block_rows * sizeof *copy);
  karst_matrix_adopt_grid(matrix, size, copy);
  return KARST_SUCCESS;
}

void karst_matrix_forget_grid(karst_matrix *matrix)
{
  if (!matrix) return;
  karst_release(matrix->context, (karst_index *)matrix->grid.cell);
  matrix->grid = (karst_grid){{0, 0, 0}, NULL};
}

karst_status karst_matrix_get_grid(const karst_matrix *matrix, karst_grid *grid)
{
  if (grid) *grid = (karst_grid){{0, 0, 0}, NULL};
  if (!matrix || !grid) return karst_missing(matrix ? matrix->context : NULL, "the place for the grid");
  *grid = matrix->grid;
  return KARST_SUCCESS;
}

/* Counts the axes along which two cells are one apart; returns -1 if they are farther apart along any. */
static int axes_apart(const karst_cell *a, const karst_cell *b)
{
  int axes = 0;
  for (int axis = 0; axis < 3; axis++) {
    karst_index apart = a->position[axis] - b->position[axis];
    if (apart < -1 || apart > 1) return -1;
    axes += apart != 0;
  }
  return axes;
}

/* Returns the most axes along which the cells of a coupling of block row i are one apart, or -1 with the column of the
 * first coupling that joins others. */
static int row_reach(const karst_matrix *matrix, const karst_grid *grid, karst_index i, karst_index *column)
{
  const karst_cell here = karst_grid_cell(grid->size, grid->cell ? grid->cell[i] : i);
  int most = 0;
  for (karst_index k = matrix->row_start[i]; k < matrix->row_start[i + 1]; k++) {
    *column = matrix->column[k];
    const karst_cell there = karst_grid_cell(grid->size, grid->cell ? grid->cell[*column] : *column);
    const int axes = axes_apart(&here, &there);
    if (axes < 0) return axes;
    if (axes > most) most = axes;
  }
  return most;
}

/* Returns whether each of the block rows begin .. end - 1 has the columns of the block row before, each one further. */
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

/* What the couplings of some block rows need. */
struct fit {
  int axes;                /* the most along which cells that couple are one apart */
  karst_index row, column; /* of the first coupling that does not fit; row: block_rows where all do */
};

/* Looks at the block rows begin .. end - 1. Where the cells are in natural order, a row inside a line whose couplings
 * reach as far as those of the row before needs nothing more than that one does. */
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

bool karst_grid_fits(const karst_matrix *matrix, const karst_grid *grid, karst_stencil *stencil, karst_index misfit[2])
{
  const karst_index rows = matrix->block_rows;
  struct fit all = {0, rows, 0};
#pragma omp parallel num_threads(karst_threads_for(matrix->context, rows))
  {
    const struct fit own = fit_rows(matrix, grid, (karst_index)karst_share(rows, karst_thread(), karst_team()),
                                    (karst_index)karst_share(rows, karst_thread() + 1, karst_team()));
#pragma omp critical(karst_grid_fits)
    {
      if (own.axes > all.axes) all.axes = own.axes;
      if (own.row < all.row) {
        all.row = own.row;
        all.column = own.column;
      }
    }
  }
  misfit[0] = all.row;
  misfit[1] = all.column;
  if (all.row < rows) return false;
  if (stencil) *stencil = all.axes > 1 ? KARST_STENCIL_CORNERS : KARST_STENCIL_FACES;
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
                    "block row %lld has an entry in column %lld, which is no neighbour of it in the grid "
                    "%lldx%lldx%lld",
                    (long long)misfit[0], (long long)misfit[1], (long long)grid->size[0], (long long)grid->size[1],
                    (long long)grid->size[2]);
}

/* Returns whether two cells are the same or have a face in common. */
static bool are_face_neighbours(const karst_index size[3], const karst_cell *here, karst_index there)
{
  bool found = there == here->number;
  for (int face = 0; face < KARST_FACES && !found; face++) found = there == karst_grid_neighbour(size, here, face);
  return found;
}

karst_status karst_grid_refuse(const karst_matrix *matrix, const karst_index size[3], const karst_index misfit[2])
{
  return karst_fail(matrix->context, KARST_ERROR_MATRIX,
                    "block row %lld has an entry in column %lld, which has no face in common with it in the grid "
                    "%lldx%lldx%lld, and a 7-point grid is needed",
                    (long long)misfit[0], (long long)misfit[1], (long long)size[0], (long long)size[1],
                    (long long)size[2]);
}

karst_status karst_grid_check_faces(const karst_matrix *matrix)
{
  const karst_grid *grid = &matrix->grid;
  if (!karst_has_grid(matrix)) return KARST_SUCCESS;
  karst_status status = karst_matrix_fetch_pattern(matrix);
  if (status) return status;
  for (karst_index i = 0; i < matrix->block_rows; i++) {
    const karst_cell here = karst_grid_cell(grid->size, grid->cell ? grid->cell[i] : i);
    for (karst_index k = matrix->row_start[i]; k < matrix->row_start[i + 1]; k++) {
      const karst_index misfit[2] = {i, matrix->column[k]};
      const karst_index there = grid->cell ? grid->cell[misfit[1]] : misfit[1];
      if (!are_face_neighbours(grid->size, &here, there)) return karst_grid_refuse(matrix, grid->size, misfit);
    }
  }
  return KARST_SUCCESS;
}
