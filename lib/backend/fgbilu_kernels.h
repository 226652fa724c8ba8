/* fgbilu_kernels.h - the typed kernel table of block ILU(0) on structured grids (fgbilu), and the cells that it works
 * on. Every backend has an instance; the CPU's is the reference that others are tested against. */
#ifndef KARST_LIB_BACKEND_FGBILU_KERNELS_H
#define KARST_LIB_BACKEND_FGBILU_KERNELS_H

#include "lib/backend/factor_outcome.h"
#include "lib/grid/grid.h"
#include "lib/base/inline.h"

/* The ways to go through the grid. The first three are the CPU's, the others a GPU's. */
typedef enum karst_fgbilu_style {
  KARST_FGBILU_AUTO,
  KARST_FGBILU_SEQUENTIAL, /* cell after cell, the diagonal blocks kept as LU factors in place */
  KARST_FGBILU_WAVEFRONT,  /* hyperplane after hyperplane, the cells of each shared out among threads */
  KARST_FGBILU_LINES,      /* lines of cells along x, shared out among threads */
  KARST_FGBILU_ACC,        /* hyperplane after hyperplane, a launch for each step */
  KARST_FGBILU_CL,         /* hyperplane after hyperplane, a launch for each */
  KARST_FGBILU_MIXED,      /* CL to factor, ACC to solve */
  KARST_FGBILU_TILES       /* one launch for all */
} karst_fgbilu_style;

/* The cells of a 7-point grid, and where the blocks of each stand in A. Cells, faces and their numbers are those of
 * grid.h. */
typedef struct karst_structured {
  karst_index size[3]; /* nx, ny, nz */
  karst_index rows;    /* block rows of the matrix: the cells that are there */
  karst_index *row;    /* [nx ny nz] the block row of each cell, -1 for a hole, host; NULL: it is the cell's number */
  uint32_t *place;     /* [nx ny nz] where the cell's blocks stand in its row, host; see karst_place */
} karst_structured;

enum { KARST_PLACE_DIAGONAL = KARST_FACES, KARST_PLACES, KARST_PLACE_NONE = 7, KARST_PLACE_BITS = 3 };

/* The number, from 0, of the block in its row that couples a cell with the one behind a face, or of the diagonal
 * block; KARST_PLACE_NONE where there is none. A hole has none at all. */
KARST_INLINE int karst_place(uint32_t place, int face)
{
  return (int)(place >> (KARST_PLACE_BITS * face) & ((1U << KARST_PLACE_BITS) - 1));
}

/* What follows from the pattern and the options alone; shared as karst_ilu_analysis is. */
typedef struct karst_fgbilu_analysis {
  karst_structured cells; /* the caller's, host memory */
  int block_size;
  karst_index hyperplanes; /* nx + ny + nz - 2 */
  const char *style;       /* the way chosen by analyse: the value style_used */
  void *plan;              /* the backend's schedules */
  int64_t plan_memory;     /* bytes of it */
} karst_fgbilu_analysis;

/* The factorization: one block a cell, D^-1, or its LU factors for the style sequential. The analysis outlives it. */
typedef struct karst_fgbilu {
  const karst_fgbilu_analysis *analysis;
  bool pivoting;       /* whether the inversion exchanges rows */
  double *factor;      /* [b*b*rows] by block rows, each block column by column as in A, device memory */
  void *plan;          /* the backend's work space */
  int64_t plan_memory; /* bytes of it and of the factor */
} karst_fgbilu;

struct karst_fgbilu_kernels {
  /* Chooses the style and makes its schedules for matrices on the pattern of A. KARST_ERROR_OPTION for a style that the
   * backend has not. What an analyse that fails has taken, analysis_destroy gives back; the cells stay the caller's. */
  karst_status (*analyse)(karst_context *context, const karst_matrix *A, karst_fgbilu_style style,
                          karst_fgbilu_analysis *analysis);
  void (*analysis_destroy)(karst_context *context, karst_fgbilu_analysis *analysis);
  /* Begins a factorization: takes memory for the factor and work space. analysis and pivoting are set by the caller.
   * What a plan that fails has taken, plan_destroy gives back, which also accepts a factorization that is zero. */
  karst_status (*plan)(karst_context *context, karst_fgbilu *fgbilu);
  void (*plan_destroy)(karst_context *context, karst_fgbilu *fgbilu);
  /* Makes the diagonal blocks D of M = (D + E) D^-1 (D + F). Waits for the device. The block row of the outcome is that
   * of the first bad cell, by cell numbers. */
  karst_status (*factor)(karst_context *context, const karst_matrix *A, karst_fgbilu *fgbilu,
                         karst_factor_outcome *outcome);
  /* z = M^-1 r with E and F of A, whose values are those that were factored. r and z do not overlap. */
  void (*solve)(karst_context *context, const karst_matrix *A, const karst_fgbilu *fgbilu, const double *r, double *z);
};

#endif
