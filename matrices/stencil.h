/* stencil.h - matrices on Cartesian grids in the making: the block pattern of a cell and its neighbours. */
#ifndef KARST_MATRICES_STENCIL_H
#define KARST_MATRICES_STENCIL_H

#include "grid.h"

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

/* Makes the matrix, which takes over the arrays (also when it fails) and knows its grid. */
karst_status karst_grid_adopt(karst_context *context, const karst_index size[3], int block_size,
                              karst_grid_arrays *arrays, karst_matrix **matrix);

/* A scalar diffusion matrix: -c behind each face with a neighbour, and on the diagonal the sum of c over all faces,
 * those at the grid's end too (a Dirichlet boundary). The faces of the first dimensions axes count. */
typedef double karst_grid_coupling(const void *problem, const karst_cell *cell, int face);
karst_status karst_grid_diffusion(karst_context *context, const karst_index size[3], int dimensions,
                                  karst_grid_coupling *coupling, const void *problem, karst_matrix **matrix);

#endif
