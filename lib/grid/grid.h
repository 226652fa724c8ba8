/* grid.h - the grid of a matrix, its cells and their neighbours.
 *
 * Cell (x, y, z) of an nx-by-ny-by-nz grid has number x + nx (y + ny z). The six faces are numbered so that the
 * neighbours across them ascend: 0 at -z, 1 at -y, 2 at -x, 3 at +x, 4 at +y, 5 at +z; the cell itself comes between 2
 * and 3. */
#ifndef KARST_LIB_GRID_GRID_H
#define KARST_LIB_GRID_GRID_H

#include "lib/matrix/matrix.h"

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

/* Returns along how many axes two cells are one apart, or -1 if they are farther apart along any axis. */
static inline int karst_cells_apart(const karst_cell *a, const karst_cell *b)
{
  int axes = 0;
  for (int axis = 0; axis < 3; axis++) {
    const karst_index apart = a->position[axis] - b->position[axis];
    if (apart < -1 || apart > 1) return -1;
    axes += apart != 0;
  }
  return axes;
}

static inline int karst_face_axis(int face) { return face < KARST_FACES_BELOW ? 2 - face : face - 3; }

static inline int karst_face_side(int face) { return face < KARST_FACES_BELOW ? -1 : 1; }

/* Returns the number of the neighbour across a face, or -1 at the boundary of the grid. */
static inline karst_index karst_grid_neighbour(const karst_index size[3], const karst_cell *cell, int face)
{
  int axis = karst_face_axis(face), side = karst_face_side(face);
  karst_index beyond = cell->position[axis] + side;
  karst_index stride = axis == 0 ? 1 : axis == 1 ? size[0] : size[0] * size[1];
  return beyond < 0 || beyond >= size[axis] ? -1 : cell->number + side * stride;
}

/* Returns whether a matrix has a grid. */
static inline bool karst_has_grid(const karst_matrix *matrix) { return matrix->grid.size[0] > 0; }

/* Returns whether sizes are those of a grid, and sets *cells to the number of its cells; if not, fault says why. */
bool karst_grid_is_valid(const karst_index size[3], karst_index *cells, char fault[KARST_FAULT_SIZE]);

/* Checks a map from block rows to the cells of a valid grid. fault: the first error, with its block row, or "". */
karst_status karst_grid_check_cells(karst_context *context, const karst_index size[3], karst_index block_rows,
                                    const karst_index *cell, char fault[KARST_FAULT_SIZE]);

/* Finds (*row)[cell], the block row of each cell or -1, from the map of a grid to block rows 0 .. rows - 1. *row:
 * allocated here, or NULL if the grid has no map. */
karst_status karst_grid_map_cells(karst_context *context, const karst_grid *grid, karst_index rows, karst_index **row);

/* Replaces the grid of the matrix by one that is known to fit. It takes over cell, a map from karst_allocate or
 * NULL. */
void karst_matrix_adopt_grid(karst_matrix *matrix, const karst_index size[3], karst_index *cell);

/* Gives the grid of a matrix, if it has one, to a matrix whose block row i is block row permutation[i] (NULL: i) of it.
 * The permutation may become the map, and must stay as long as that matrix has the grid. */
karst_status karst_matrix_copy_grid(const karst_matrix *from, const karst_index *permutation, karst_matrix *to);

/* Returns whether each coupling joins neighbours of the grid. If not, misfit is the first block row with another
 * coupling, and its column. *stencil: the stencil that the couplings need; stencil may be NULL. */
bool karst_grid_fits(const karst_matrix *matrix, const karst_grid *grid, karst_stencil *stencil, karst_index misfit[2]);

/* Returns the first of the block rows begin .. end - 1, begin > 0, whose columns are not those of the block row before
 * plus one; end if there is no such row. */
karst_index karst_matrix_find_new_row(const karst_matrix *matrix, karst_index begin, karst_index end);

/* As karst_grid_fits, for a sample of rows spread over the matrix. */
bool karst_grid_fits_samples(const karst_matrix *matrix, const karst_grid *grid, karst_stencil *stencil);

/* Finds the grid in natural order that a matrix's pattern fits, and returns whether there is one. */
bool karst_grid_search(const karst_matrix *matrix, karst_grid *grid);

/* Guesses from a sample of rows whether they fit the matrix's own grid or, without one, a grid in natural order. */
bool karst_grid_guess(const karst_matrix *matrix, karst_grid *grid, karst_stencil *stencil);

/* As karst_grid_search, but without a grid KARST_ERROR_MATRIX, with the first coupling that does not fit. */
karst_status karst_grid_find(const karst_matrix *matrix, karst_grid *grid);

/* Returns whether the blocks that join cells without a common face are too many for a method on a 7-point grid: more
 * than a quarter of those off the diagonal. A wrong order of the sizes of a grid is found so. */
static inline bool karst_grid_lacks_faces(const karst_matrix *matrix, int64_t blocks)
{
  return 4 * blocks > karst_matrix_blocks(matrix) - matrix->block_rows;
}

/* KARST_ERROR_MATRIX if they are too many, with the first of them. */
karst_status karst_grid_check_faces(const karst_matrix *matrix, const karst_grid *grid);

#endif
