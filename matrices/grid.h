/* grid.h - Cartesian grids: cells, their neighbours, and the block pattern of a cell and its neighbours.
 *
 * Cell (i, j, k) of an nx-by-ny-by-nz grid has number i + nx (j + ny k). The six faces are counted so that the
 * neighbours behind them ascend: 0 at -z, 1 at -y, 2 at -x, then the cell itself, 3 at +x, 4 at +y, 5 at +z. */
#ifndef KARST_MATRICES_GRID_H
#define KARST_MATRICES_GRID_H

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

/* The arrays of a block matrix in the making. */
typedef struct karst_grid_arrays {
  karst_index *row_start; /* [cells + 1] */
  karst_index *column;    /* [blocks] */
  double *value;          /* [b*b*blocks], undefined */
} karst_grid_arrays;

/* Allocates the arrays and fills in the pattern: each cell, and its neighbours behind those faces for which coupled
 * (NULL: all) says so. On failure nothing stays allocated. */
karst_status karst_grid_pattern(karst_context *context, const karst_index size[3], int block_size,
                                bool (*coupled)(const void *problem, const karst_cell *cell, int face),
                                const void *problem, karst_grid_arrays *arrays);
/* Memory for a pattern with a known number of blocks; KARST_ERROR_INDEX_OVERFLOW where it cannot be counted. */
karst_status karst_grid_allocate(karst_context *context, karst_index cells, int block_size, int64_t blocks,
                                 karst_grid_arrays *arrays);
void karst_grid_release(karst_context *context, karst_grid_arrays *arrays);

/* Makes the matrix, which takes over the arrays (also when it fails). */
karst_status karst_grid_adopt(karst_context *context, karst_index cells, int block_size, karst_grid_arrays *arrays,
                              karst_matrix **matrix);

/* A scalar diffusion matrix: -c behind each face with a neighbour, and on the diagonal the sum of c over all faces,
 * those at the grid's end too (a Dirichlet boundary). The faces of the first dimensions axes count. */
typedef double karst_grid_coupling(const void *problem, const karst_cell *cell, int face);
karst_status karst_grid_diffusion(karst_context *context, const karst_index size[3], int dimensions,
                                  karst_grid_coupling *coupling, const void *problem, karst_matrix **matrix);

#endif
