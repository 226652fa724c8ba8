/* fgbilu_kernels.h - the typed kernel table of block ILU(0) on structured grids (fgbilu), and the cells that it works
 * on. Every backend has an instance; the CPU's is the reference that others are tested against. */
#ifndef KARST_LIB_BACKEND_FGBILU_KERNELS_H
#define KARST_LIB_BACKEND_FGBILU_KERNELS_H

#include "lib/backend/factor_outcome.h"
#include "lib/grid/grid.h"
#include "lib/base/inline.h"

/* The orders of work in the grid. The first three are the CPU's, the others a GPU's. */
typedef enum karst_fgbilu_style {
  KARST_FGBILU_AUTO,
  KARST_FGBILU_SEQUENTIAL, /* cell after cell, the diagonal blocks kept as LU factors in place */
  KARST_FGBILU_WAVEFRONT,  /* hyperplane after hyperplane, with its cells divided among threads */
  KARST_FGBILU_LINES,      /* lines of cells along x, divided among threads */
  KARST_FGBILU_ACC,        /* hyperplane after hyperplane, one launch per step */
  KARST_FGBILU_CL,         /* hyperplane after hyperplane, one launch each */
  KARST_FGBILU_MIXED,      /* CL to factor, ACC to solve */
  KARST_FGBILU_TILES       /* one launch for everything */
} karst_fgbilu_style;

/* The cells of a 7-point grid, and the place of the blocks of each cell in A. grid.h numbers cells and faces. */
typedef struct karst_structured {
  karst_index size[3]; /* nx, ny, nz */
  karst_index rows;    /* block rows of the matrix: the active cells */
  karst_index *row;    /* [nx ny nz] the block row of each cell, -1 if inactive, host; NULL: the cell's number */
  uint64_t *place;     /* [nx ny nz] the places of the cell's blocks in its row, host; see karst_place */
  int64_t remainder;   /* blocks of A without a place, because they join cells without a common face */
} karst_structured;

/* A place is a number below KARST_PLACE_NONE, the most blocks of a row. */
enum { KARST_PLACE_DIAGONAL = KARST_FACES, KARST_PLACES, KARST_PLACE_NONE = 511, KARST_PLACE_BITS = 9 };

/* The number, from 0 in its row, of the block that couples a cell with its neighbour across a face, or of the diagonal
 * block; KARST_PLACE_NONE if there is no block, as always in an inactive cell. */
KARST_INLINE int karst_place(uint64_t place, int face)
{
  return (int)(place >> (KARST_PLACE_BITS * face) & ((1U << KARST_PLACE_BITS) - 1));
}

/* Returns whether block number k of a row has one of these places. */
KARST_INLINE bool karst_is_placed(uint64_t place, int64_t k)
{
  bool found = false;
  for (int at = 0; at < KARST_PLACES; at++) found = found || karst_place(place, at) == k;
  return found;
}

/* The analysis of pattern and options; shared as karst_ilu_analysis is. */
typedef struct karst_fgbilu_analysis {
  karst_structured cells; /* the caller's, host memory */
  int block_size;
  int64_t blocks;          /* of A */
  bool single;             /* set before analyse: the solves read E, F and D^-1 rounded to float, from copies */
  karst_index hyperplanes; /* nx + ny + nz - 2 */
  const char *style;       /* the style chosen by analyse: the value style_used */
  void *plan;              /* the backend's schedules */
  int64_t plan_memory;     /* its bytes */
} karst_fgbilu_analysis;

/* The factorization: one block per cell, D^-1, or its LU factors for the style sequential. The analysis outlives it. */
typedef struct karst_fgbilu {
  const karst_fgbilu_analysis *analysis;
  bool pivoting;       /* whether the inversion exchanges rows */
  double *factor;      /* [b*b*rows] by block rows, each block column by column as in A, device memory */
  float *value_float;  /* [b*b*blocks] E and F rounded, in the places that they have in A, and */
  float *factor_float; /* [b*b*rows] D^-1, device memory, for solves in float; else NULL */
  void *plan;          /* the backend's work space */
  int64_t plan_memory; /* bytes of it, of the factor and the copies */
} karst_fgbilu;

struct karst_fgbilu_kernels {
  /* Chooses the style and makes its schedules for matrices on the pattern of A. KARST_ERROR_OPTION for a style that the
   * backend does not have. After a failure analysis_destroy releases what it took; the caller keeps the cells. */
  karst_status (*analyse)(karst_context *context, const karst_matrix *A, karst_fgbilu_style style,
                          karst_fgbilu_analysis *analysis);
  void (*analysis_destroy)(karst_context *context, karst_fgbilu_analysis *analysis);
  /* Takes memory for the factor and work space; the caller has set analysis and pivoting. After a failure plan_destroy
   * releases what it took; plan_destroy also accepts a factorization that is zero. */
  karst_status (*plan)(karst_context *context, karst_fgbilu *fgbilu);
  void (*plan_destroy)(karst_context *context, karst_fgbilu *fgbilu);
  /* remainder[i] = the sum of the absolute values of the entries of block row i without a place, and couplings[i] =
   * that of all its entries outside the diagonal block; [rows] each, device memory. */
  void (*measure)(karst_context *context, const karst_matrix *A, const karst_fgbilu_analysis *analysis,
                  double *remainder, double *couplings);
  /* Computes the diagonal blocks D of M = (D + E) D^-1 (D + F). Waits for the device. The outcome has the block row of
   * the first bad cell, by cell numbers. */
  karst_status (*factor)(karst_context *context, const karst_matrix *A, karst_fgbilu *fgbilu,
                         karst_factor_outcome *outcome);
  /* z = M^-1 r with E and F of A, whose values are the factored ones, or with the copies in float. r and z do not
   * overlap. */
  void (*solve)(karst_context *context, const karst_matrix *A, const karst_fgbilu *fgbilu, const double *r, double *z);
};

#endif
