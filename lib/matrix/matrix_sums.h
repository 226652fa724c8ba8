/* matrix_sums.h - sums (lib/vector/sums.h) computed along with a product with a matrix, in the order of the stream. */
#ifndef KARST_LIB_MATRIX_MATRIX_SUMS_H
#define KARST_LIB_MATRIX_MATRIX_SUMS_H

#include "lib/matrix/matrix.h"
#include "lib/vector/sums.h"

/* y = A x, and result[i] = with[i] . y for i < count, which is 1 or 2; with[i] may be x or y. */
static inline void karst_sums_multiply(karst_context *context, const karst_matrix *A, const double *x, double *y,
                                       int count, const double *const *with, double *result)
{
  if (context->backend->multiply_dots) {
    context->backend->multiply_dots(context, A, x, y, count, with, result);
    return;
  }
  context->backend->multiply(context, A, x, y);
  karst_sums_dots(context, karst_matrix_rows(A), count, with, y, result);
}

/* r = b - A x and norm2 = r . r */
static inline void karst_sums_residual(karst_context *context, const karst_matrix *A, const double *b, const double *x,
                                       double *r, double *norm2)
{
  context->backend->residual(context, A, b, x, r, norm2);
}

/* The same to twice the working precision, rounded once. */
static inline void karst_sums_residual_precise(karst_context *context, const karst_matrix *A, const double *b,
                                               const double *x, double *r, double *norm2)
{
  context->backend->residual_precise(context, A, b, x, r, norm2);
}

/* The same, and size = |b| + |A| |x| element by element; norm2[0] = r . r, norm2[1] = size . size */
static inline void karst_sums_residual_bounded(karst_context *context, const karst_matrix *A, const double *b,
                                               const double *x, double *r, double *size, double *norm2)
{
  context->backend->residual_bounded(context, A, b, x, r, size, norm2);
}

#endif
