/* ilu_kernels.h - the typed kernel table of block ILU and its triangular solves, for iluk and for methods that end in
 * the same solves. Every backend has an instance; the CPU's is the reference that others are tested against. */
#ifndef KARST_LIB_BACKEND_ILU_KERNELS_H
#define KARST_LIB_BACKEND_ILU_KERNELS_H

#include "lib/backend/factor_outcome.h"
#include "lib/matrix/matrix.h"
#include "lib/backend/tiling.h"

enum { KARST_ILU_SLICE_LARGEST = 6 }; /* largest block size that a GPU factors by slices and by tiles */

/* Methods for the triangular solves. */
typedef enum karst_trisolve {
  KARST_TRISOLVE_AUTO,
  KARST_TRISOLVE_LEVEL,
  KARST_TRISOLVE_DATAFLOW,
  KARST_TRISOLVE_TILES,
  KARST_TRISOLVE_JACOBI
} karst_trisolve;

/* The analysis of pattern and options. It never changes after it is made, so any number of factorizations share it, in
 * several threads too. The pattern is in host memory, unless the analysis uses that of the matrix itself. */
typedef struct karst_ilu_analysis {
  karst_index rows;
  int block_size;
  karst_index *lower_start;  /* [rows + 1] */
  karst_index *lower_column; /* [lower_start[rows]] */
  karst_index *upper_start;  /* [rows + 1] */
  karst_index *upper_column; /* [upper_start[rows]] */
  int64_t lower_blocks;      /* of the strict triangles */
  int64_t upper_blocks;
  karst_index levels_lower; /* number of level sets of each triangle */
  karst_index levels_upper;
  const karst_tiling *tiling; /* set before analyse, used during it: tiles that sort the rows; NULL: no tiles */
  bool modified;              /* set before analyse: the factorizations use an R other than 0 */
  bool loads;                 /* set before analyse: the factorizations may also be loaded */
  bool single;                /* set before analyse: the solves read factors that are rounded to float */
  bool diagonal_alone;        /* the products change only the diagonal blocks, for DILU by tiles on a GPU */
  const char *trisolve;       /* the method chosen by analyse: the value trisolve_used */
  void *plan;                 /* the backend's schedules */
  int64_t plan_memory;        /* its bytes */
} karst_ilu_analysis;

/* A factorization L D U' with unit triangles: strictly lower L, the inverse blocks of D, strictly upper U', row by row,
 * columns ascending. The pattern belongs to the analysis, which outlives the factorization. The plan holds the values
 * in its kernels' own order. The arrays of values are the CPU's, NULL on a GPU. A factorization for solves in float is
 * made in double and rounded; lower is then NULL, because no row needs L of another one. */
typedef struct karst_ilu {
  karst_index rows;
  int block_size;
  karst_index *lower_start; /* these four as in the analysis */
  karst_index *lower_column;
  karst_index *upper_start;
  karst_index *upper_column;
  double *lower;            /* [b*b*lower_start[rows]] */
  double *upper;            /* [b*b*upper_start[rows]] */
  double *inverse_diagonal; /* [b*b*rows] */
  bool single;              /* as in the analysis; lower_float ... are then the rounded factors, else NULL */
  float *lower_float, *upper_float, *inverse_diagonal_float;
  void *plan;          /* the backend's work space and its data from the analysis */
  int64_t plan_memory; /* bytes of the work space and the values */
} karst_ilu;

/* Returns a factorization on an analysed pattern, without memory of its own. */
static inline karst_ilu karst_ilu_on(const karst_ilu_analysis *analysis)
{
  karst_ilu ilu = {0};
  ilu.rows = analysis->rows;
  ilu.block_size = analysis->block_size;
  ilu.single = analysis->single;
  ilu.lower_start = analysis->lower_start;
  ilu.lower_column = analysis->lower_column;
  ilu.upper_start = analysis->upper_start;
  ilu.upper_column = analysis->upper_column;
  return ilu;
}

struct karst_ilu_kernels {
  /* For an analysis without a pattern (level 0) analyse takes the triangles of A itself and counts their blocks. */
  bool splits;
  /* Finds the level sets and the schedules of both sweeps from the pattern in analysis, for factorizations of matrices
   * on the pattern of A. After a failure analysis_destroy releases what it took; the caller keeps the pattern. */
  karst_status (*analyse)(karst_context *context, const karst_matrix *A, karst_trisolve trisolve,
                          karst_ilu_analysis *analysis);
  void (*analysis_destroy)(karst_context *context, karst_ilu_analysis *analysis);
  /* Takes memory for values and work space of a factorization on the pattern of the analysis. trisolve_sweeps: number
   * of Jacobi sweeps for each triangle, if these solve it. After a failure plan_destroy releases what it took;
   * plan_destroy also accepts a factorization that is zero. */
  karst_status (*plan)(karst_context *context, const karst_ilu_analysis *analysis, int trisolve_sweeps, karst_ilu *ilu);
  void (*plan_destroy)(karst_context *context, karst_ilu *ilu);
  /* Computes block ILU on the pattern of ilu, which contains A's. shift > 0 replaces a singular pivot block by the
   * identity times shift times the largest entry of its row, or of A if that row is zero. modified, the option's R,
   * adds R times the products outside the pattern to the diagonal block of their row. The reason is KARST_OUT_OF_RANGE
   * for a row whose factors float cannot hold. Waits for the device. */
  karst_status (*factor)(karst_context *context, const karst_matrix *A, double shift, double modified, karst_ilu *ilu,
                         karst_factor_outcome *outcome);
  /* Makes the same from an existing factorization, on an analysis with loads set. value [b*b*blocks of A], device
   * memory, is ordered as A, whose pattern is that of ilu with the diagonal; strictly lower blocks are L, the others U
   * = D U'. Waits for the device. */
  karst_status (*load)(karst_context *context, const karst_matrix *A, const double *value, karst_ilu *ilu,
                       karst_factor_outcome *outcome);
  /* z = (L D U')^-1 r, or with trisolve "jacobi" an approximation of it. */
  void (*solve)(karst_context *context, const karst_ilu *ilu, const double *r, double *z);
};

#endif
