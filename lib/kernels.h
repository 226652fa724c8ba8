/* kernels.h - the typed kernel tables of the preconditioners: one instance of each for every backend. The CPU instance is
 * the reference that others are tested against. */
#ifndef KARST_LIB_KERNELS_H
#define KARST_LIB_KERNELS_H

#include "matrix.h"

/* A factorization L D U' with unit triangles: strictly lower L, the inverse blocks of D, strictly upper U', row by row,
 * columns ascending. Values in device memory, patterns in host memory. */
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
  int64_t plan_memory;       /* bytes */
} karst_ilu;

/* How a factorization ended: KARST_SOUND, or why not and the first block row (in elimination order) where. */
typedef struct karst_factor_outcome {
  karst_reason reason;
  karst_index block_row;
  int64_t shifted; /* pivot blocks replaced */
} karst_factor_outcome;

struct karst_ilu_kernels {
  /* Schedules of both sweeps and work space, from the pattern. */
  karst_status (*plan)(karst_context *context, karst_ilu *ilu);
  void (*plan_destroy)(karst_context *context, karst_ilu *ilu);
  /* Block ILU on the pattern of ilu, which contains A's. shift > 0 replaces a singular pivot block by shift times the
   * largest entry of its row, times the identity. Waits for the device. */
  karst_status (*factor)(karst_context *context, const karst_matrix *A, double shift, karst_ilu *ilu,
                         karst_factor_outcome *outcome);
  /* z = (L D U')^-1 r */
  void (*solve)(karst_context *context, const karst_ilu *ilu, const double *r, double *z);
};

extern const struct karst_ilu_kernels karst_ilu_kernels_cpu; /* precond/ilu_cpu.c */

#endif
