/* test_model.c - d2u/dx2 = e^x on [0, 1] by central differences, the model problem of Stone and others (karst.h), with
 * one point a row or four: the error falls with h^2 in double until rounding takes over, and all methods agree. */
#include "tests/support/tridiagonal.h"

/* Returns the largest error at n m points between the boundaries, whose exact values are 1 and e - 1. u = e^x - x is no
 * polynomial, and its fourth derivative e^x makes the error h^2 / 96 to h^2 / 96 e or so. */
static double error_of(karst_context *context, karst_index n, int m, karst_tridiagonal_method method, double *h)
{
  const karst_tridiagonal_shape shape = {.systems = 3, .rows = n, .block_size = m, .method = method};
  struct tridiagonal t = tridiagonal_random(shape, 1);
  const int mm = m * m;
  const int64_t points = (int64_t)n * m;
  *h = 1.0 / (double)(points + 1);
  for (int64_t i = 0; i < tridiagonal_vectors(&t); i++) {
    const int64_t point = i % points, row = i / m;
    const int r = (int)(i % m);
    double *a = t.lower + row * mm, *b = t.diagonal + row * mm, *c = t.upper + row * mm;
    for (int j = 0; j < m; j++) {
      a[j * m + r] = r == 0 && j == m - 1;
      b[j * m + r] = j == r ? -2 : abs(j - r) == 1;
      c[j * m + r] = r == m - 1 && j == 0;
    }
    t.right[i] = *h * *h * exp((double)(point + 1) * *h);
    if (point == 0) t.right[i] -= 1;
    if (point == points - 1) t.right[i] -= exp(1) - 1;
  }
  struct tridiagonal_arrays arrays = tridiagonal_arrays(&t);
  karst_tridiagonal *batch = tridiagonal_create(context, &t);
  tridiagonal_solve(context, batch, &arrays);
  double error = karst_tridiagonal_outcome(batch, NULL, NULL) == KARST_SOUND ? 0 : INFINITY;
  for (int64_t i = 0; i < tridiagonal_vectors(&t); i++) {
    const double x = (double)(i % points + 1) * *h;
    error = fmax(error, fabs(((const double *)arrays.solution)[i] - (exp(x) - x)));
  }
  karst_tridiagonal_destroy(batch);
  tridiagonal_arrays_free(&arrays);
  tridiagonal_free(&t);
  return error;
}

static void converge(karst_context *context, int m, karst_tridiagonal_method method)
{
  double least = INFINITY, most = 0, h;
  for (karst_index n = 16; n <= 1024 / m; n *= 2) {
    const double error = error_of(context, n, m, method, &h);
    least = fmin(least, error / (h * h));
    most = fmax(most, error / (h * h));
  }
  /* max of e^x x (1 - x) / 24 in the leading term: 0.0176 */
  tap_ok(least > 0.012 && most < 0.025 && most < 1.02 * least, "m = %d, %s: the error is %.4f h^2 to %.4f h^2", m,
         tridiagonal_names[method], least, most);
}

static void test(karst_context *context)
{
  if (!tridiagonal_is_available(context, "the model problem")) return;
  for (int method = KARST_TRIDIAGONAL_AUTO; method <= KARST_TRIDIAGONAL_SPLIT; method++) {
    converge(context, 1, (karst_tridiagonal_method)method);
    converge(context, 4, (karst_tridiagonal_method)method);
  }
}

int main(void)
{
  tap_each_device(test, "the model problem");
  return tap_done();
}
