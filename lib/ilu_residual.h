/* ilu_residual.h - the ILU residual norm |A - L U|_F, over all entries of the product. A diagnosis, asked for by an
 * option, which needs the pattern of the product: the host's backend computes it wherever the factors are. */
#ifndef KARST_LIB_ILU_RESIDUAL_H
#define KARST_LIB_ILU_RESIDUAL_H

#include "matrix.h"

typedef struct karst_ilu_residual {
  double *matrix, *factors; /* [b*b*blocks] copies of the values */
  double *weight;           /* [2*b*rows] as for the nonlinear residual, see karst_parilu_kernels */
  double *row;              /* [b*b*widest row of the product] */
  karst_index *column;      /* [widest row] */
  karst_index *diagonal;    /* [rows] where the diagonal blocks stand */
  karst_index *position;    /* [rows] where a column's block stands in row, else -1 */
} karst_ilu_residual;

struct karst_ilu_residual_kernels {
  /* All memory, for factors on the pattern of F; diagonal[i], device memory: where block (i,i) stands. What it has
   * taken when it fails, destroy gives back. */
  karst_status (*create)(const karst_matrix *F, const karst_index *diagonal, karst_ilu_residual *work);
  void (*destroy)(karst_context *context, karst_ilu_residual *work);
  /* The norm of W (F - L U) V, with the weights of the nonlinear residual. value, device memory: strictly lower blocks
   * are L without its unit diagonal, the others U. */
  karst_status (*norm)(const karst_matrix *F, const double *value, karst_ilu_residual *work, double *norm);
};

#endif
