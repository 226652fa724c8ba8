/* stencil.h - builds matrices on Cartesian grids whose pattern is each cell and its neighbours. */
#ifndef KARST_MATRICES_STENCIL_H
#define KARST_MATRICES_STENCIL_H

#include "lib/grid/grid.h"

/* The arrays of a block matrix that is being built. */
typedef struct karst_grid_arrays {
  karst_index *row_start; /* [cells + 1] */
  karst_index *column;    /* [blocks] */
  double *value;          /* [b*b*blocks], not initialised */
} karst_grid_arrays;

/* Allocates the arrays and fills in the pattern: each cell, and its neighbours behind the faces that coupled accepts
 * (NULL: all). On failure nothing stays allocated. */
karst_status karst_grid_pattern(karst_context *context, const karst_index size[3], int block_size,
                                bool (*coupled)(const void *problem, const karst_cell *cell, int face),
                                const void *problem, karst_grid_arrays *arrays);
/* Allocates the arrays of a pattern with a known number of blocks; KARST_ERROR_INDEX_OVERFLOW if it cannot be
 * counted. */
karst_status karst_grid_allocate(karst_context *context, karst_index cells, int block_size, int64_t blocks,
                                 karst_grid_arrays *arrays);
void karst_grid_release(karst_context *context, karst_grid_arrays *arrays);

/* Makes the matrix, which takes over the arrays, even on failure, and gets the grid. */
karst_status karst_grid_adopt(karst_context *context, const karst_index size[3], int block_size,
                              karst_grid_arrays *arrays, karst_matrix **matrix);

/* Makes a scalar diffusion matrix: -c behind each face with a neighbour, and on the diagonal the sum of c over all
 * faces, including those at the boundary (Dirichlet). Only faces of the first dimensions axes count. */
typedef double karst_grid_coupling(const void *problem, const karst_cell *cell, int face);
karst_status karst_grid_diffusion(karst_context *context, const karst_index size[3], int dimensions,
                                  karst_grid_coupling *coupling, const void *problem, karst_matrix **matrix);

#endif
