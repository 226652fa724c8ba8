/* product.c - see product.h: the residual is b - Op x by one product, in working precision; no bound of its rounding
 * errors is known. */
#include "solver/product.h"

#include "lib/vector/norm.h"
#include "lib/profile/profile.h"
#include "lib/ranks/halo.h"
#include "lib/vector/sums.h"
#include "lib/vector/vector.h"

karst_status karst_product_prepare(karst_product *product, const karst_system *system)
{
  karst_context *context = system->context;
  const int64_t rows = karst_layout_scalars(karst_matrix_layout(system->original));
  karst_product made = {product->multiply, product->user, system, NULL, NULL, NULL};
  if (product->system) return KARST_SUCCESS;
  karst_status status = karst_device_doubles(context, 1, "the operator's work space", &made.one);
  if (!status && system->copy) status = karst_device_doubles(context, rows, "the operator's work space", &made.x);
  if (!status && system->copy) status = karst_device_doubles(context, rows, "the operator's work space", &made.y);
  if (status) {
    karst_product_release(&made);
    return status;
  }
  context->backend->fill(context, 1, 1, made.one);
  *product = made;
  return KARST_SUCCESS;
}

void karst_product_release(karst_product *product)
{
  if (!product->system) return;
  karst_context *context = product->system->context;
  context->backend->release(context, product->one);
  context->backend->release(context, product->x);
  context->backend->release(context, product->y);
  *product = (karst_product){.multiply = product->multiply, .user = product->user};
}

int64_t karst_product_memory(const karst_product *product)
{
  if (!product->system) return 0;
  const int64_t rows = karst_layout_scalars(karst_matrix_layout(product->system->original));
  return (1 + (product->x ? 2 * rows : 0)) * (int64_t)sizeof(double);
}

/* y = Op x by the caller's function. Any other return value than a status becomes one, and a failure has a sentence. */
static karst_status call(const karst_product *product, const double *x, double *y)
{
  karst_context *context = product->system->context;
  const int64_t rows = karst_layout_scalars(karst_matrix_layout(product->system->original));
  const karst_vector from = {.context = context, .length = rows, .values = (double *)x};
  karst_vector to = from;
  to.values = y;
  const unsigned failures = karst_failures(context);
  karst_timing timing;
  karst_profile_begin(context, "operator", NULL, 0, &timing);
  const karst_status status = product->multiply(product->user, &from, &to);
  karst_profile_end(&timing);
  return karst_check_returned(context, status, failures, "the operator's function", "");
}

static karst_status multiply_for_caller(const karst_operator *A, const double *x, double *y)
{
  return call(A->data, x, y);
}

static karst_status multiply_for_system(const karst_operator *A, const double *x, double *y)
{
  const karst_product *product = A->data;
  if (!product->x) return call(product, x, y);
  karst_system_leave(product->system, x, product->y, product->x);
  karst_status status = call(product, product->x, product->y);
  if (!status) karst_system_enter_rhs(product->system, product->y, product->x, y);
  return status;
}

karst_status karst_product_residual(const karst_operator *A, const double *one, const double *b, const double *x,
                                    const karst_residual_space *space, double *norm)
{
  const struct karst_backend *backend = A->context->backend;
  const int64_t n = karst_layout_scalars(A->layout);
  double square = 0;
  karst_status status = karst_ranks_postpone(A->context, A->multiply(A, x, space->size), n, space->size);
  if (status) return status;
  backend->copy(A->context, n, b, space->r);
  karst_sums_combine(A->context, n, 1, -1, one, (const double *const *)&space->size, NULL, space->r, space->norm2);
  status = karst_ranks_download(A->context, 1, space->norm2, &square);
  return status ? status : karst_norm_of_square(A->context, n, space->r, square, norm);
}

static karst_status residual(const karst_operator *A, const double *b, const double *x, double target, bool bounded,
                             const karst_residual_space *space, bool *precise, double *norm, double *error)
{
  (void)target, (void)bounded;
  *precise = true;
  *error = 0;
  return karst_product_residual(A, ((const karst_product *)A->data)->one, b, x, space, norm);
}

/* The function may not read some elements of x, so the driver checks them (unread). */
static karst_operator make_operator(const karst_product *product,
                                    karst_status (*multiply)(const karst_operator *A, const double *x, double *y))
{
  return (karst_operator){.context = product->system->context,
                          .layout = karst_matrix_layout(product->system->original),
                          .unknowns = karst_matrix_unknowns(product->system->original),
                          .data = product,
                          .product = "the operator's product",
                          .unread = true,
                          .multiply = multiply,
                          .residual = residual};
}

karst_operator karst_product_of_caller(const karst_product *product)
{
  return make_operator(product, multiply_for_caller);
}

karst_operator karst_product_of_system(const karst_product *product)
{
  return make_operator(product, multiply_for_system);
}
