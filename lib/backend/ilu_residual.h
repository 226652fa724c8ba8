/* ilu_residual.h - the ILU residual norm |A - L U|_F over all entries of the product, a diagnostic option. It needs the
 * pattern of the product, and the CPU backend computes it for the factors of every backend. */
#ifndef KARST_LIB_BACKEND_ILU_RESIDUAL_H
#define KARST_LIB_BACKEND_ILU_RESIDUAL_H

#include "lib/matrix/matrix.h"

typedef struct karst_ilu_residual {
  double *matrix, *factors; /* [b*b*blocks] copies of the values */
  double *weight;           /* [2*b*rows] as for the nonlinear residual; see karst_parilu_kernels */
  double *row;              /* [b*b*widest row of the product] */
  karst_index *column;      /* [widest row of the product] */
  karst_index *diagonal;    /* [rows] number of each diagonal block */
  karst_index *position;    /* [rows] the place of a column's block in row, or -1 */
} karst_ilu_residual;

struct karst_ilu_residual_kernels {
  /* Allocates all memory for factors on the pattern of F. diagonal[i], in device memory, is the number of block (i,i).
   * After a failure destroy releases what was allocated. */
  karst_status (*create)(const karst_matrix *F, const karst_index *diagonal, karst_ilu_residual *work);
  void (*destroy)(karst_context *context, karst_ilu_residual *work);
  /* Computes the norm of W (F - L U) V with the weights of the nonlinear residual. value is in device memory: its
   * strictly lower blocks are L without the unit diagonal, the other blocks U. */
  karst_status (*norm)(const karst_matrix *F, const double *value, karst_ilu_residual *work, double *norm);
};

#endif
