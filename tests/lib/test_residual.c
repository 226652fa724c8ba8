/* The precise residual is b - A x rounded once, even if all digits of the working precision cancel. It is compared with
 * 113-bit arithmetic, on values from 1e-8 to 1e8. The plain residual has the rounding errors of the products. */
#include "tests/support/tap.h"

#include "lib/matrix/matrix.h"

#include <float.h>
#include <math.h>
#include <stdlib.h>

enum { ROWS = 40 };

static double wide_random(void) { return tap_random() * pow(10, 8 * tap_random()); }

/* Computes b - A x in 113 bits and rounds it. First b is set to the rounded A x, so that the difference cancels. */
static void exact_residual(int64_t n, const double *dense, const double *x, double *b, double *r)
{
  for (int64_t i = 0; i < n; i++) {
    __extension__ __float128 sum = 0;
    for (int64_t j = 0; j < n; j++) sum += (__float128)dense[j * n + i] * x[j];
    b[i] = (double)sum;
    r[i] = (double)(b[i] - sum);
  }
}

static void test_block_size(karst_context *context, int b)
{
  const struct karst_backend *backend = context->backend;
  karst_matrix *A = tap_random_matrix(context, ROWS / b, b, 6, 1e6);
  int64_t n = karst_matrix_rows(A);
  double *dense = tap_dense(A), *device, x[ROWS], right[ROWS], exact[ROWS], found[ROWS];
  double worst = 0, norm2, sum = 0, largest_ulp = 0;
  for (int64_t i = 0; i < n; i++) x[i] = wide_random();
  exact_residual(n, dense, x, right, exact);
  tap_need(context, karst_device_doubles(context, 3 * n + 1, "vectors", &device), "vectors");
  tap_need(context, backend->upload(context, device, right, (size_t)n * sizeof *x), "b");
  tap_need(context, backend->upload(context, device + n, x, (size_t)n * sizeof *x), "x");
  backend->residual_precise(context, A, device, device + n, device + 2 * n, device + 3 * n);
  tap_need(context, backend->download(context, found, device + 2 * n, (size_t)n * sizeof *x), "r");
  tap_need(context, backend->download(context, &norm2, device + 3 * n, sizeof norm2), "r'r");
  for (int64_t i = 0; i < n; i++) {
    double magnitude = 0; /* errors of second order are relative to |A| |x| */
    for (int64_t j = 0; j < n; j++) magnitude += fabs(dense[j * n + i] * x[j]);
    double bound = DBL_EPSILON * fabs(exact[i]) + 4 * (double)n * DBL_EPSILON * DBL_EPSILON * magnitude;
    worst = fmax(worst, fabs(found[i] - exact[i]) / bound);
    largest_ulp = fmax(largest_ulp, fabs(exact[i]) / (DBL_EPSILON * magnitude));
    sum += found[i] * found[i];
  }
  tap_ok(largest_ulp <= 1, "b = %d: the right-hand side cancels to rounding, %.2g", b, largest_ulp);
  tap_ok(worst <= 1, "b = %d: the residual has all of its digits: %.2g of the bound", b, worst);
  tap_ok(fabs(norm2 - sum) <= 1e-13 * sum, "b = %d: its square", b);
  backend->release(context, device);
  karst_matrix_destroy(A);
  free(dense);
}

static void test_residual(karst_context *context)
{
  for (int b = 1; b <= 5; b++) test_block_size(context, b);
}

int main(void)
{
  tap_each_device(test_residual, "precise residual");
  return tap_done();
}
