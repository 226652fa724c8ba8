/* reduced.c - see reduced.h: the residual is b - S x by one product, in working precision. The solve is judged by the
 * residual of the caller's system, whose rounding errors have a bound. */
#include "solver/reduced.h"

#include "lib/profile/profile.h"
#include "solver/product.h"

#include <math.h>

bool karst_reduced_exists(const karst_precond *precond)
{
  const struct karst_reduction *reduction = precond->ops->reduction;
  const int64_t size = reduction ? reduction->size(precond) : 0;
  return size > 0 && size <= KARST_INDEX_MAX;
}

karst_status karst_reduced_create(const karst_precond *precond, karst_reduced *reduced)
{
  karst_context *context = precond->context;
  karst_reduced made = {.precond = precond, .elements = precond->ops->reduction->size(precond)};
  karst_status status = karst_device_doubles(context, made.elements, "the reduced right-hand side", &made.rhs);
  if (!status) status = karst_device_doubles(context, made.elements, "the reduced solution", &made.solution);
  if (!status) status = karst_device_doubles(context, karst_matrix_rows(precond->A), "the start", &made.start);
  if (!status) status = karst_device_doubles(context, 1, "the reduced system's work space", &made.one);
  if (status) {
    karst_reduced_release(&made);
    return status;
  }
  context->backend->fill(context, 1, 1, made.one);
  *reduced = made;
  return KARST_SUCCESS;
}

void karst_reduced_release(karst_reduced *reduced)
{
  if (!reduced->precond) return;
  karst_context *context = reduced->precond->context;
  context->backend->release(context, reduced->rhs);
  context->backend->release(context, reduced->solution);
  context->backend->release(context, reduced->start);
  context->backend->release(context, reduced->one);
  *reduced = (karst_reduced){0};
}

int64_t karst_reduced_memory(const karst_reduced *reduced)
{
  if (!reduced->precond) return 0;
  return (2 * reduced->elements + karst_matrix_rows(reduced->precond->A) + 1) * (int64_t)sizeof(double);
}

static const karst_precond *precond_of(const karst_operator *A) { return ((const karst_reduced *)A->data)->precond; }

/* The operations of the elimination are timed while the context is profiled. */
static void begin_timing(const karst_precond *p, const char *what, double bytes, karst_timing *timing)
{
  karst_profile_begin(p->context, what, p->ops->name, bytes, timing);
}

static karst_status reduced_multiply_dot(const karst_operator *A, const double *x, double *y, double *dot)
{
  const karst_precond *p = precond_of(A);
  karst_timing timing;
  begin_timing(p, "reduced matrix product", p->traffic.multiply_reduced, &timing);
  p->ops->reduction->multiply(p, x, y, dot);
  karst_profile_end(&timing);
  return KARST_SUCCESS;
}

static karst_status reduced_precondition(const karst_operator *A, const double *r, double *z, double *dot)
{
  const karst_precond *p = precond_of(A);
  karst_timing timing;
  begin_timing(p, "reduced precond apply", p->traffic.apply_reduced, &timing);
  p->ops->reduction->apply(p, r, z, dot);
  karst_profile_end(&timing);
  return KARST_SUCCESS;
}

static karst_status reduced_multiply(const karst_operator *A, const double *x, double *y)
{
  return reduced_multiply_dot(A, x, y, NULL);
}

/* Without factors there is no system, and so no residual.
 * NOLINTBEGIN(readability-non-const-parameter): it shares a type with those that write to precise */
static karst_status reduced_residual(const karst_operator *A, const double *b, const double *x, double target,
                                     bool bounded, const karst_residual_space *space, bool *precise, double *norm,
                                     double *error)
/* NOLINTEND(readability-non-const-parameter) */
{
  const karst_reduced *reduced = A->data;
  (void)target, (void)bounded, (void)precise;
  *error = 0;
  *norm = NAN;
  if (reduced->precond->reason != KARST_SOUND) return KARST_SUCCESS;
  return karst_product_residual(A, reduced->one, b, x, space, norm);
}

static karst_status reduced_find_not_finite(const karst_operator *A, karst_index *block_row)
{
  return karst_matrix_find_not_finite(precond_of(A)->A, block_row);
}

static karst_index reduced_block_row(const karst_operator *A, int64_t element)
{
  const karst_precond *precond = precond_of(A);
  return precond->ops->reduction->block_row(precond, element);
}

karst_operator karst_reduced_operator(const karst_reduced *reduced)
{
  return (karst_operator){.context = reduced->precond->context,
                          .layout = {(karst_index)reduced->elements, 1},
                          .unknowns = reduced->elements,
                          .data = reduced,
                          .product = "the reduced matrix times a vector",
                          .multiply = reduced_multiply,
                          .multiply_dot = reduced_multiply_dot,
                          .precondition = reduced_precondition,
                          .residual = reduced_residual,
                          .find_not_finite = reduced_find_not_finite,
                          .block_row = reduced_block_row};
}

void karst_reduced_enter(const karst_reduced *reduced, const double *b, const double *x)
{
  const karst_precond *precond = reduced->precond;
  karst_timing timing;
  if (precond->reason != KARST_SOUND) return;
  begin_timing(precond, "enter reduced system", 0, &timing);
  precond->ops->reduction->enter(precond, b, x, reduced->rhs, reduced->solution);
  karst_profile_end(&timing);
  precond->context->backend->copy(precond->context, karst_matrix_rows(precond->A), x, reduced->start);
}

void karst_reduced_leave(const karst_reduced *reduced, const double *b, const double *solution, double *x)
{
  const karst_precond *precond = reduced->precond;
  karst_timing timing;
  begin_timing(precond, "leave reduced system", 0, &timing);
  precond->ops->reduction->leave(precond, b, solution, x);
  karst_profile_end(&timing);
}

void karst_reduced_restore(const karst_reduced *reduced, double *x)
{
  const karst_precond *precond = reduced->precond;
  precond->context->backend->copy(precond->context, karst_matrix_rows(precond->A), reduced->start, x);
}
