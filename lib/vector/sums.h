/* sums.h - every sum over the elements of a vector that a solve depends on, in the order of the stream.
 *
 * Krylov methods, residuals and norms take their sums here and nowhere else: where a vector is spread over several
 * processes each has a part of these sums, and this is the place to complete them before anything reads them. How a
 * solve goes on and ends is decided from them. Elements one by one are looked at in one other place,
 * karst_survey_elements (norm.h), for norms whose squares double precision cannot hold, and for the place of an element
 * that is not finite once a sum was not. Some sums come with what makes their vectors: karst_krylov_multiply_dots,
 * _multiply_dot and _precondition_dot (krylov.h) take them from an operator or a reduction that has them at hand, and
 * here where it has not. */
#ifndef KARST_LIB_VECTOR_SUMS_H
#define KARST_LIB_VECTOR_SUMS_H

#include "lib/backend/backend.h"

/* result[i] = x[i] . y for i < count */
static inline void karst_sums_dots(karst_context *context, int64_t n, int count, const double *const *x,
                                   const double *y, double *result)
{
  context->backend->dots(context, n, count, x, y, result);
}

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

/* y = beta y + sign sum_i coefficient[i] x[i] for i < count, beta NULL standing for 1, and norm2 = y . y; with norm2
 * NULL there is no sum. */
static inline void karst_sums_combine(karst_context *context, int64_t n, int count, double sign,
                                      const double *coefficient, const double *const *x, const double *beta, double *y,
                                      double *norm2)
{
  context->backend->combine(context, n, count, sign, coefficient, x, beta, y, norm2);
}

/* *step = a / b, or 0 where that is not finite, y = y - *step x, norm2 = y . y, and dot = with . y unless with is
 * NULL. */
static inline void karst_sums_step(karst_context *context, int64_t n, const double *a, const double *b, double *step,
                                   const double *x, double *y, double *norm2, const double *with, double *dot)
{
  if (context->backend->step) {
    context->backend->step(context, n, a, b, step, x, y, norm2, with, dot);
    return;
  }
  context->backend->quotient(context, 1, a, b, NULL, NULL, step);
  karst_sums_combine(context, n, 1, -1, step, &x, NULL, y, norm2);
  if (with) karst_sums_dots(context, n, 1, &with, y, dot);
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
