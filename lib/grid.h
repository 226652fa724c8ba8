/* grid.h - the grid of a matrix, and cells and their neighbours.
 *
 * Cell (x, y, z) of an nx-by-ny-by-nz grid has number x + nx (y + ny z). The six faces are counted so that the
 * neighbours behind them ascend: 0 at -z, 1 at -y, 2 at -x, then the cell itself, 3 at +x, 4 at +y, 5 at +z. */
#ifndef KARST_LIB_GRID_H
#define KARST_LIB_GRID_H

#include "matrix.h"

enum { KARST_FACES = 6, KARST_FACES_BELOW = 3 };

typedef struct karst_cell {
  karst_index number;
  karst_index position[3];
} karst_cell;

static inline karst_index karst_grid_cells(const karst_index size[3]) { return size[0] * size[1] * size[2]; }

static inline karst_cell karst_grid_cell(const karst_index size[3], karst_index number)
{
  karst_index row = number / size[0];
  return (karst_cell){number, {number - row * size[0], row % size[1], row / size[1]}};
}

static inline int karst_face_axis(int face) { return face < KARST_FACES_BELOW ? 2 - face : face - 3; }

static inline int karst_face_side(int face) { return face < KARST_FACES_BELOW ? -1 : 1; }

/* The number of the cell behind a face, or -1 where the grid ends. */
static inline karst_index karst_grid_neighbour(const karst_index size[3], const karst_cell *cell, int face)
{
  int axis = karst_face_axis(face), side = karst_face_side(face);
  karst_index beyond = cell->position[axis] + side;
  karst_index stride = axis == 0 ? 1 : axis == 1 ? size[0] : size[0] * size[1];
  return beyond < 0 || beyond >= size[axis] ? -1 : cell->number + side * stride;
}

/* Whether a matrix has a grid. */
static inline bool karst_has_grid(const karst_matrix *matrix) { return matrix->grid.size[0] > 0; }

/* Whether sizes are those of a grid, of so many cells; if not, fault says why. */
bool karst_grid_is_valid(const karst_index size[3], karst_index *cells, char fault[KARST_FAULT_SIZE]);

/* Looks through a map from block rows to the cells of a valid grid. fault: why it is none, with a block row, or "". */
karst_status karst_grid_check_cells(karst_context *context, const karst_index size[3], karst_index block_rows,
                                    const karst_index *cell, char fault[KARST_FAULT_SIZE]);

/* Gives the matrix a grid that is known to fit, instead of the one it has, and a map allocated with karst_allocate or
 * NULL, which becomes the matrix's. */
void karst_matrix_adopt_grid(karst_matrix *matrix, const karst_index size[3], karst_index *cell);

/* Gives a matrix whose block row i is block row permutation[i] of another (NULL: i) the grid of that one, if it has
 * one. */
karst_status karst_matrix_copy_grid(const karst_matrix *from, const karst_index *permutation, karst_matrix *to);

/* Whether each coupling joins neighbours of the grid; if not, misfit is the first block row that has another one and
 * the column of that. stencil: NULL, or what the couplings need. */
bool karst_grid_fits(const karst_matrix *matrix, const karst_grid *grid, karst_stencil *stencil, karst_index misfit[2]);

#endif
