/* kernels.h - the typed kernel tables of the preconditioners: one instance of each for every backend. The CPU instance is
 * the reference that others are tested against. */
#ifndef KARST_LIB_KERNELS_H
#define KARST_LIB_KERNELS_H

#include "matrix.h"

/* A factorization L D U' with unit triangles: strictly lower L, the inverse blocks of D, strictly upper U', row by row,
 * columns ascending. The pattern is in host memory; the plan holds the values, in whatever order its kernels like best.
 * lower, upper and inverse_diagonal are the CPU's, NULL on a GPU. */
typedef struct karst_ilu {
  karst_index rows;
  int block_size;
  karst_index *lower_start;  /* [rows + 1] */
  karst_index *lower_column; /* [lower_start[rows]] */
  karst_index *upper_start;  /* [rows + 1] */
  karst_index *upper_column; /* [upper_start[rows]] */
  double *lower;             /* [b*b*lower_start[rows]] */
  double *upper;             /* [b*b*upper_start[rows]] */
  double *inverse_diagonal;  /* [b*b*rows] */
  void *plan;                /* the backend's schedules and work space */
  int64_t plan_memory;       /* bytes of it, and of the values */
} karst_ilu;

/* What the plan is made from besides the pattern; only the plan looks at it. Level l of a triangle holds the rows
 * row[start[l] .. start[l + 1]), which depend on lower levels alone. */
struct karst_ilu_levels {
  karst_index count;
  const karst_index *start; /* [count + 1] */
  const karst_index *row;   /* [rows] */
};

typedef struct karst_ilu_analysis {
  const karst_matrix *A;
  const char *trisolve; /* the option */
  struct karst_ilu_levels lower, upper;
} karst_ilu_analysis;

/* How a factorization ended: KARST_SOUND, or why not and the first block row (in elimination order) where. */
typedef struct karst_factor_outcome {
  karst_reason reason;
  karst_index block_row;
  int64_t shifted; /* pivot blocks replaced */
} karst_factor_outcome;

struct karst_ilu_kernels {
  /* Schedules of both sweeps, memory for the values and work space, from the pattern. What a plan that fails has
   * taken, plan_destroy gives back. */
  karst_status (*plan)(karst_context *context, const karst_ilu_analysis *analysis, karst_ilu *ilu);
  void (*plan_destroy)(karst_context *context, karst_ilu *ilu);
  /* Block ILU on the pattern of ilu, which contains A's. shift > 0 replaces a singular pivot block by shift times the
   * largest entry of its row, times the identity. Waits for the device. */
  karst_status (*factor)(karst_context *context, const karst_matrix *A, double shift, karst_ilu *ilu,
                         karst_factor_outcome *outcome);
  /* z = (L D U')^-1 r */
  void (*solve)(karst_context *context, const karst_ilu *ilu, const double *r, double *z);
};

/* An incomplete LU that cuSPARSE makes and keeps: L and U in one matrix, on the pattern of A or, for levels of fill, on a
 * larger one. All arrays are in device memory. */
typedef struct karst_cusparse {
  karst_index rows;
  int block_size;
  int64_t blocks;
  const karst_index *row_start; /* [rows + 1] not owned */
  const karst_index *column;    /* [blocks] not owned */
  double *value;                /* [b*b*blocks] A's values in, the factors out */
  double *middle;               /* [b*rows] between the two triangular solves */
  void *plan;                   /* cuSPARSE's handles and work space */
  int64_t plan_memory;          /* bytes of the work space */
} karst_cusparse;

struct karst_cusparse_kernels {
  /* Analysis of the factorization and of both solves; looks at no value, but may write to value and middle. What a plan
   * that fails has taken, plan_destroy gives back. */
  karst_status (*plan)(karst_context *context, karst_cusparse *factors);
  void (*plan_destroy)(karst_context *context, karst_cusparse *factors);
  /* A's values, which stand in factors->value, become the factors. Waits for the device. */
  karst_status (*factor)(karst_context *context, const karst_matrix *A, karst_cusparse *factors,
                         karst_factor_outcome *outcome);
  /* z = U^-1 L^-1 r */
  void (*solve)(karst_context *context, const karst_cusparse *factors, const double *r, double *z);
};

/* gpu/cusparse.cu; without cuSPARSE a stand-in whose functions are NULL. */
extern const struct karst_cusparse_kernels karst_cusparse_kernels_cuda;

extern const struct karst_ilu_kernels karst_ilu_kernels_cpu;  /* precond/ilu_cpu.c */
extern const struct karst_ilu_kernels karst_ilu_kernels_cuda; /* gpu/ilu.cu */

#endif
