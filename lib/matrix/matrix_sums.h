/* matrix_sums.h - sums (lib/vector/sums.h) computed along with a product with a matrix, in the order of the stream. */
#ifndef KARST_LIB_MATRIX_MATRIX_SUMS_H
#define KARST_LIB_MATRIX_MATRIX_SUMS_H

#include "lib/ranks/halo.h"
#include "lib/vector/sums.h"

/* y = A x of a matrix that may be distributed. Here and below, a transport that fails on this rank makes y, or r, NaN;
 * the ranks find that in the sums and agree on the failure later (karst_ranks_postpone). */
static inline karst_status karst_matrix_apply(karst_context *context, const karst_matrix *A, const double *x, double *y)
{
  if (A->halo) return karst_ranks_postpone(context, karst_halo_multiply(A, x, y), karst_matrix_rows(A), y);
  context->backend->multiply(context, A, x, y);
  return KARST_SUCCESS;
}

/* The same, and result[i] = with[i] . y for i < count, which is 1 or 2; with[i] may be x or y. */
static inline karst_status karst_sums_multiply(karst_context *context, const karst_matrix *A, const double *x,
                                               double *y, int count, const double *const *with, double *result)
{
  if (context->backend->multiply_dots && !A->halo) {
    context->backend->multiply_dots(context, A, x, y, count, with, result);
    karst_ranks_complete(context, count, result);
    return KARST_SUCCESS;
  }
  const karst_status status = karst_matrix_apply(context, A, x, y);
  if (!status) karst_sums_dots(context, karst_matrix_rows(A), count, with, y, result);
  return status;
}

/* Ends a residual r of a distributed matrix whose product has returned status: norm2 = r . r, unless norm2 is NULL. */
static inline karst_status karst_sums_end_residual(const karst_matrix *A, karst_status status, double *r, double *norm2)
{
  const double *const vector = r;
  status = karst_ranks_postpone(A->context, status, karst_matrix_rows(A), r);
  if (!status && norm2) karst_sums_dots(A->context, karst_matrix_rows(A), 1, &vector, r, norm2);
  return status;
}

/* r = b - A x and, unless norm2 is NULL, norm2 = r . r */
static inline karst_status karst_sums_residual(karst_context *context, const karst_matrix *A, const double *b,
                                               const double *x, double *r, double *norm2)
{
  if (A->halo) return karst_sums_end_residual(A, karst_halo_residual(A, b, x, r), r, norm2);
  context->backend->residual(context, A, b, x, r, norm2);
  if (norm2) karst_ranks_complete(context, 1, norm2);
  return KARST_SUCCESS;
}

/* The same to twice the working precision, rounded once. */
static inline karst_status karst_sums_residual_precise(karst_context *context, const karst_matrix *A, const double *b,
                                                       const double *x, double *r, double *norm2)
{
  if (A->halo) return karst_sums_end_residual(A, karst_halo_residual_precise(A, b, x, r), r, norm2);
  context->backend->residual_precise(context, A, b, x, r, norm2);
  if (norm2) karst_ranks_complete(context, 1, norm2);
  return KARST_SUCCESS;
}

/* The same, and size = |b| + |A| |x| element by element, or a little more; norm2[0] = r . r, norm2[1] = size . size */
static inline karst_status karst_sums_residual_bounded(karst_context *context, const karst_matrix *A, const double *b,
                                                       const double *x, double *r, double *size, double *norm2)
{
  const double *const vectors[] = {r, size};
  if (!A->halo) {
    context->backend->residual_bounded(context, A, b, x, r, size, norm2);
    karst_ranks_complete(context, 2, norm2);
    return KARST_SUCCESS;
  }
  const karst_status status =
      karst_ranks_postpone(context, karst_halo_residual_bounded(A, b, x, r, size, norm2), karst_matrix_rows(A), r);
  if (status) return status;
  for (int i = 0; i < 2; i++)
    karst_sums_begin_dots(context, karst_matrix_rows(A), 1, &vectors[i], vectors[i], norm2 + i);
  karst_ranks_complete(context, 2, norm2);
  return KARST_SUCCESS;
}

#endif
