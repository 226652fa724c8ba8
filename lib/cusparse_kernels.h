/* cusparse_kernels.h - the kernel table of the preconditioner cusparse. cuSPARSE runs on a GPU alone, so there is one
 * instance of the table. */
#ifndef KARST_LIB_CUSPARSE_KERNELS_H
#define KARST_LIB_CUSPARSE_KERNELS_H

#include "factor_outcome.h"
#include "matrix.h"

/* An incomplete LU that cuSPARSE makes and keeps: L and U in one matrix, on the pattern of A or, for levels of fill, on
 * a larger one. All arrays are in device memory. */
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
  /* Analyses the factorization and both solves. It looks at no value, but may write to value and middle. What a plan
   * that fails has taken, plan_destroy gives back. */
  karst_status (*plan)(karst_context *context, karst_cusparse *factors);
  void (*plan_destroy)(karst_context *context, karst_cusparse *factors);
  /* A's values, which stand in factors->value, become the factors. Waits for the device. */
  karst_status (*factor)(karst_context *context, const karst_matrix *A, karst_cusparse *factors,
                         karst_factor_outcome *outcome);
  /* Computes z = U^-1 L^-1 r. */
  void (*solve)(karst_context *context, const karst_cusparse *factors, const double *r, double *z);
};

#endif
