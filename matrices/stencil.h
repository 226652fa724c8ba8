/* stencil.h - builds matrices on Cartesian grids whose pattern is each cell and its neighbours. */
#ifndef KARST_MATRICES_STENCIL_H
#define KARST_MATRICES_STENCIL_H

#include "lib/grid/grid.h"
#include "lib/method/generator.h"

/* The arrays of a block matrix that is being built: the rows of the cells first .. end - 1, which are all cells unless
 * part is given. */
typedef struct karst_grid_arrays {
  karst_index first, end;
  karst_index *row_start;   /* [end - first + 1] */
  karst_index *column;      /* [blocks] */
  double *value;            /* [b*b*blocks], not initialised */
  karst_gallery_part *part; /* what takes over the arrays; NULL: a matrix does */
} karst_grid_arrays;

/* Where the blocks of a cell begin, in blocks and in scalars. */
static inline karst_index *karst_grid_start(const karst_grid_arrays *arrays, karst_index cell)
{
  return arrays->row_start + (cell - arrays->first);
}
static inline double *karst_grid_value(const karst_grid_arrays *arrays, int block_size, karst_index cell)
{
  return arrays->value + karst_block_offset(block_size, *karst_grid_start(arrays, cell));
}

/* Allocates the arrays and fills in the pattern: each cell, and its neighbours behind the faces that coupled accepts
 * (NULL: all). On failure nothing stays allocated. */
karst_status karst_grid_pattern(karst_context *context, const karst_index size[3], karst_gallery_part *part,
                                int block_size, bool (*coupled)(const void *problem, const karst_cell *cell, int face),
                                const void *problem, karst_grid_arrays *arrays);
/* Allocates the arrays of a pattern with a known number of blocks in all, and at most widest in a row;
 * KARST_ERROR_INDEX_OVERFLOW if they cannot be counted. */
karst_status karst_grid_allocate(karst_context *context, karst_index cells, karst_gallery_part *part, int block_size,
                                 int64_t blocks, int widest, karst_grid_arrays *arrays);
void karst_grid_release(karst_context *context, karst_grid_arrays *arrays);

/* Makes the matrix, which takes over the arrays, even on failure, and gets the grid. Arrays of a part go to it, and
 * *matrix is NULL. */
karst_status karst_grid_adopt(karst_context *context, const karst_index size[3], int block_size,
                              karst_grid_arrays *arrays, karst_matrix **matrix);

/* Makes a scalar diffusion matrix: -c behind each face with a neighbour, and on the diagonal the sum of c over all
 * faces, including those at the boundary (Dirichlet). Only faces of the first dimensions axes count. */
typedef double karst_grid_coupling(const void *problem, const karst_cell *cell, int face);
karst_status karst_grid_diffusion(karst_context *context, const karst_gallery_spec *spec, int dimensions,
                                  karst_grid_coupling *coupling, const void *problem, karst_matrix **matrix);

#endif
