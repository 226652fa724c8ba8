/* grid.c - the structured grid that a matrix may know: its sizes, and the cell of each block row if the grid has holes
 * or block rows and cells are ordered differently. */
#include "lib/grid/grid.h"

#include "lib/base/threads.h"

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
      snprintf(fault, KARST_FAULT_SIZE, "block row %lld is cell %lld of a grid that has %lld cells", (long long)i,
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

karst_status karst_grid_map_cells(karst_context *context, const karst_grid *grid, karst_index rows, karst_index **row)
{
  const karst_index cells = karst_grid_cells(grid->size);
  *row = NULL;
  if (!grid->cell) return KARST_SUCCESS;
  karst_status status = karst_allocate(context, row, cells, sizeof **row, "the cells of a grid");
  if (status) return status;
  for (karst_index c = 0; c < cells; c++) (*row)[c] = -1;
  karst_piece piece = karst_begin(context, KARST_KIND_ONCE, rows);
#pragma omp parallel num_threads(piece.threads)
  {
    const karst_part part = karst_part_begin(&piece, rows);
    for (karst_index i = part.first; i < part.last; i++) (*row)[grid->cell[i]] = i;
    karst_part_end(&piece, &part);
  }
  karst_end(context, &piece);
  return KARST_SUCCESS;
}

/* Returns whether a map is redundant: block row i is cell i, and there are no other cells. */
static bool is_natural(karst_index cells, karst_index block_rows, const karst_index *cell)
{
  karst_index i = 0;
  while (i < block_rows && cell[i] == i) i++;
  return i == block_rows && cells == block_rows;
}

static void replace_grid(karst_matrix *matrix, const karst_index size[3], const karst_index *cell, bool borrowed)
{
  karst_matrix_forget_grid(matrix);
  memcpy(matrix->grid.size, size, sizeof matrix->grid.size);
  matrix->grid.cell = cell;
  matrix->borrows_cells = borrowed;
}

void karst_matrix_adopt_grid(karst_matrix *matrix, const karst_index size[3], karst_index *cell)
{
  if (cell && is_natural(karst_grid_cells(size), matrix->block_rows, cell)) {
    karst_release(matrix->context, cell);
    cell = NULL;
  }
  replace_grid(matrix, size, cell, false);
}

karst_status karst_matrix_copy_grid(const karst_matrix *from, const karst_index *permutation, karst_matrix *to)
{
  const karst_grid *grid = &from->grid;
  karst_index *cell = NULL;
  if (!karst_has_grid(from)) return KARST_SUCCESS;
  if (!grid->cell && permutation) {
    const bool natural = is_natural(karst_grid_cells(grid->size), to->block_rows, permutation);
    replace_grid(to, grid->size, natural ? NULL : permutation, !natural);
    return KARST_SUCCESS;
  }
  if (grid->cell) {
    karst_status status = karst_allocate(to->context, &cell, to->block_rows, sizeof *cell, "the cells of block rows");
    if (status) return status;
    for (karst_index i = 0; i < to->block_rows; i++) cell[i] = grid->cell[permutation ? permutation[i] : i];
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
  if (!matrix->borrows_cells) karst_release(matrix->context, (karst_index *)matrix->grid.cell);
  matrix->borrows_cells = false;
  matrix->grid = (karst_grid){{0, 0, 0}, NULL};
}

karst_status karst_matrix_get_grid(const karst_matrix *matrix, karst_grid *grid)
{
  if (grid) *grid = (karst_grid){{0, 0, 0}, NULL};
  if (!matrix || !grid) return karst_missing(matrix ? matrix->context : NULL, "the place for the grid");
  *grid = matrix->grid;
  return KARST_SUCCESS;
}
