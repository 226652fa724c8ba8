/* sums.h - every sum over the elements of a vector that a solve depends on, in the order of the stream.
 *
 * Krylov methods, residuals and norms take their sums only from here and from lib/matrix/matrix_sums.h; that header has
 * the sums that a product with a matrix computes along. Where vectors are spread over ranks, these two headers complete
 * the sums (lib/ranks/ranks.h) before anything reads them. The solve decides from these sums how it goes on and ends.
 * One other function reads single elements: karst_survey_elements (norm.h), for norms whose squares double precision
 * cannot hold, and for the position of an element that is not finite after a sum was not. An operator or a reduction may
 * compute a sum along with the vector; karst_krylov_multiply_dots, _multiply_dot and _precondition_dot (krylov.h) then
 * take it from there. */
#ifndef KARST_LIB_VECTOR_SUMS_H
#define KARST_LIB_VECTOR_SUMS_H

#include "lib/ranks/ranks.h"

/* result[i] = x[i] . y for i < count */
static inline void karst_sums_dots(karst_context *context, int64_t n, int count, const double *const *x,
                                   const double *y, double *result)
{
  context->backend->dots(context, n, count, x, y, result);
  karst_ranks_complete(context, count, result);
}

/* y = beta y + sign sum_i coefficient[i] x[i] for i < count, and norm2 = y . y unless norm2 is NULL. beta NULL means
 * 1. */
static inline void karst_sums_combine(karst_context *context, int64_t n, int count, double sign,
                                      const double *coefficient, const double *const *x, const double *beta, double *y,
                                      double *norm2)
{
  context->backend->combine(context, n, count, sign, coefficient, x, beta, y, norm2);
  if (norm2) karst_ranks_complete(context, 1, norm2);
}

/* Three functions for a driver that completes several sums together, by karst_ranks_complete: those of this rank alone.
 *
 * result[i] = x[i] . y for i < count */
static inline void karst_sums_begin_dots(karst_context *context, int64_t n, int count, const double *const *x,
                                         const double *y, double *result)
{
  context->backend->dots(context, n, count, x, y, result);
}

/* y = y - sum_i coefficient[i] x[i] for i < count, and norm2 = y . y */
static inline void karst_sums_begin_combine(karst_context *context, int64_t n, int count, const double *coefficient,
                                            const double *const *x, double *y, double *norm2)
{
  context->backend->combine(context, n, count, -1, coefficient, x, NULL, y, norm2);
}

/* *step = a / b, or 0 if that is not finite, y = y - *step x, norm2 = y . y, and dot = with . y unless with is NULL. */
static inline void karst_sums_begin_step(karst_context *context, int64_t n, const double *a, const double *b,
                                         double *step, const double *x, double *y, double *norm2, const double *with,
                                         double *dot)
{
  if (context->backend->step) {
    context->backend->step(context, n, a, b, step, x, y, norm2, with, dot);
    return;
  }
  context->backend->quotient(context, 1, a, b, NULL, NULL, step);
  context->backend->combine(context, n, 1, -1, step, &x, NULL, y, norm2);
  if (with) context->backend->dots(context, n, 1, &with, y, dot);
}

/* The step with sums over all ranks. */
static inline void karst_sums_step(karst_context *context, int64_t n, const double *a, const double *b, double *step,
                                   const double *x, double *y, double *norm2, const double *with, double *dot)
{
  karst_sums_begin_step(context, n, a, b, step, x, y, norm2, with, dot);
  karst_ranks_complete(context, 1, norm2);
  if (with) karst_ranks_complete(context, 1, dot);
}

#endif
