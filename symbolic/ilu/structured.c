/* structured.c - the cells of a 7-point grid, and the positions of each cell's blocks in its block row. The grid is
 * that of the matrix or, if it has none, the one found from its pattern. Holes, any numbering of the block rows and
 * missing couplings are allowed. Couplings between cells without a common face, as across a fault, are counted. */
#include "symbolic/symbolic.h"

#include "lib/base/threads.h"

/* Finds the places of the blocks of block row i, and counts those without one. */
static int64_t place_row(const karst_matrix *A, const karst_grid *grid, karst_index i, uint64_t *place)
{
  const karst_cell here = karst_grid_cell(grid->size, grid->cell ? grid->cell[i] : i);
  karst_index neighbour[KARST_PLACES];
  int64_t without = 0;
  for (int face = 0; face < KARST_FACES; face++) neighbour[face] = karst_grid_neighbour(grid->size, &here, face);
  neighbour[KARST_PLACE_DIAGONAL] = here.number;
  for (karst_index k = A->row_start[i]; k < A->row_start[i + 1]; k++) {
    const karst_index there = grid->cell ? grid->cell[A->column[k]] : A->column[k];
    int at = 0;
    while (at < KARST_PLACES && neighbour[at] != there) at++;
    without += at == KARST_PLACES;
    if (at == KARST_PLACES) continue;
    const uint64_t none = (uint64_t)KARST_PLACE_NONE << (KARST_PLACE_BITS * at);
    place[here.number] &= ~none;
    place[here.number] |= (uint64_t)(k - A->row_start[i]) << (KARST_PLACE_BITS * at);
  }
  return without;
}

static karst_status make_places(karst_context *context, const karst_matrix *A, const karst_grid *grid,
                                karst_structured *cells)
{
  const uint64_t none = (1ULL << (KARST_PLACE_BITS * KARST_PLACES)) - 1;
  const karst_index count = karst_grid_cells(grid->size);
  karst_status status = karst_allocate(context, &cells->place, count, sizeof *cells->place, "the cells of a grid");
  if (status) return status;
  for (karst_index i = 0; i < count; i++) cells->place[i] = none;
  for (karst_index i = 0; i < A->block_rows; i++)
    if (A->row_start[i + 1] - A->row_start[i] > KARST_PLACE_NONE)
      return karst_fail(context, KARST_ERROR_MATRIX,
                        "the block row of cell %lld of the grid has %lld blocks; methods on a 7-point grid take rows "
                        "of up to %d",
                        (long long)(grid->cell ? grid->cell[i] : i), (long long)(A->row_start[i + 1] - A->row_start[i]),
                        KARST_PLACE_NONE);
  karst_piece piece = karst_begin(context, KARST_KIND_ONCE, A->row_start[A->block_rows]);
#pragma omp parallel num_threads(piece.threads)
  {
    int64_t without = 0;
    const karst_part part = karst_part_rows(&piece, A->block_rows, A->row_start);
    for (karst_index i = part.first; i < part.last; i++) without += place_row(A, grid, i, cells->place);
    karst_part_end(&piece, &part);
#pragma omp atomic
    cells->remainder += without;
  }
  karst_end(context, &piece);
  return KARST_SUCCESS;
}

karst_status karst_structured_create(karst_context *context, const karst_matrix *A, karst_structured *cells)
{
  karst_grid grid = A->grid;
  *cells = (karst_structured){.rows = A->block_rows};
  karst_status status = karst_has_grid(A) ? KARST_SUCCESS : karst_grid_find(A, &grid);
  if (status) return status;
  for (int axis = 0; axis < 3; axis++) cells->size[axis] = grid.size[axis];
  status = karst_grid_map_cells(context, &grid, A->block_rows, &cells->row);
  if (!status) status = make_places(context, A, &grid, cells);
  if (!status && karst_grid_lacks_faces(A, cells->remainder)) status = karst_grid_check_faces(A, &grid);
  if (status) karst_structured_destroy(context, cells);
  return status;
}

void karst_structured_destroy(karst_context *context, karst_structured *cells)
{
  karst_release(context, cells->row);
  karst_release(context, cells->place);
  cells->row = NULL;
  cells->place = NULL;
}
