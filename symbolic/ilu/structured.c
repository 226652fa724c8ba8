/* structured.c - the cells of a 7-point grid, and the positions of each cell's blocks in its block row. The grid is
 * that of the matrix or, if it has none, the one found from its pattern. Holes, any numbering of the block rows and
 * missing couplings are allowed; a coupling between cells without a common face is not. */
#include "symbolic/symbolic.h"

/* Returns the place (karst_place) of cell there beside the cell with these neighbours, or KARST_PLACES if it is not one
 * of them. */
static int find_place(const karst_index neighbour[KARST_PLACES], karst_index there)
{
  int place = 0;
  while (place < KARST_PLACES && neighbour[place] != there) place++;
  return place;
}

/* Finds the place of each block of block row i. Returns the first block without a place, or the end of the row. */
static karst_index place_row(const karst_matrix *A, const karst_grid *grid, karst_index i, uint32_t *place)
{
  const karst_cell here = karst_grid_cell(grid->size, grid->cell ? grid->cell[i] : i);
  karst_index neighbour[KARST_PLACES], k = A->row_start[i];
  for (int face = 0; face < KARST_FACES; face++) neighbour[face] = karst_grid_neighbour(grid->size, &here, face);
  neighbour[KARST_PLACE_DIAGONAL] = here.number;
  for (; k < A->row_start[i + 1]; k++) {
    const int at = find_place(neighbour, grid->cell ? grid->cell[A->column[k]] : A->column[k]);
    if (at == KARST_PLACES) break;
    const uint32_t none = (uint32_t)KARST_PLACE_NONE << (KARST_PLACE_BITS * at);
    place[here.number] &= ~none;
    place[here.number] |= (uint32_t)(k - A->row_start[i]) << (KARST_PLACE_BITS * at);
  }
  return k;
}

static karst_status make_places(karst_context *context, const karst_matrix *A, const karst_grid *grid,
                                karst_structured *cells)
{
  const uint32_t none = (1U << (KARST_PLACE_BITS * KARST_PLACES)) - 1;
  const karst_index count = karst_grid_cells(grid->size);
  karst_status status = karst_allocate(context, &cells->place, count, sizeof *cells->place, "the cells of a grid");
  if (status) return status;
  for (karst_index i = 0; i < count; i++) cells->place[i] = none;
  for (karst_index i = 0; i < A->block_rows; i++) {
    const karst_index k = place_row(A, grid, i, cells->place);
    if (k == A->row_start[i + 1]) continue;
    const karst_index misfit[2] = {i, A->column[k]};
    return karst_grid_refuse(A, grid->size, misfit);
  }
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
