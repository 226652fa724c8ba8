/* The problem unitsquare: its matrix, its right-hand side and its solution, which agree to the order of the
 * differences; refusals of karst_gallery_exact; and the option --exact of solve. */
#include "config.h"

#include "tests/support/cli.h"
#include "tests/support/failing_allocator.h"
#include "tests/support/grids.h"
#include "tests/support/refusal.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static double solution(double x, double y) { return x * (x - 1) * y * (y - 1) * exp(x * y); }

/* -Laplace u by central differences of order 6. Their error is below 1e-9 here: the step's sixth power times
 * derivatives below 100, and rounding over the step's square. */
static double source(double x, double y)
{
  const double weight[] = {-49.0 / 18, 1.5, -0.15, 1.0 / 90}, step = 1.0 / 128;
  double sum = 2 * weight[0] * solution(x, y);
  for (int k = 1; k <= 3; k++)
    sum += weight[k] * (solution(x + k * step, y) + solution(x - k * step, y) + solution(x, y + k * step) +
                        solution(x, y - k * step));
  return -sum / (step * step);
}

static double *values_of(karst_context *context, const karst_vector *vector)
{
  const int64_t length = karst_vector_length(vector);
  double *values = calloc((size_t)length, sizeof *values);
  tap_need(context, karst_vector_get(vector, length, values), "get");
  return values;
}

static void check_matrix(const karst_matrix *A, const char *spec, karst_index nx, karst_index ny)
{
  const int64_t n = nx * ny;
  const double hx = 1 / ((double)nx + 1), hy = 1 / ((double)ny + 1);
  double worst = 0, *dense = tap_dense(A);
  for (int64_t c = 0; c < n; c++)
    for (int64_t r = 0; r < n; r++) {
      const int64_t dx = llabs(r % nx - c % nx), dy = llabs(r / nx - c / nx);
      double expected = 0;
      if (dx + dy == 0) expected = 2 * (1 / (hx * hx) + 1 / (hy * hy));
      if (dx == 1 && dy == 0) expected = -1 / (hx * hx);
      if (dx == 0 && dy == 1) expected = -1 / (hy * hy);
      worst = fmax(worst, fabs(dense[r + n * c] - hx * hy * expected));
    }
  tap_ok(karst_matrix_rows(A) == n && worst < 1e-13, "%s has 5-point differences (worst entry off by %.1e)", spec,
         worst);
  tap_ok(nx != ny || (dense[0] == 4 && (n == 1 || dense[1] == -1)), "%s has the entries 4 and -1 where hx = hy", spec);
  free(dense);
}

static void check_problem(karst_context *context, karst_index nx, karst_index ny)
{
  karst_matrix *A;
  karst_vector *rhs, *exact;
  char spec[64];
  snprintf(spec, sizeof spec, "unitsquare:%dx%d", (int)nx, (int)ny);
  tap_need(context, karst_gallery_create(context, spec, 0, &A, &rhs), spec);
  tap_need(context, karst_gallery_exact(context, spec, &exact), spec);
  const double hx = 1 / ((double)nx + 1), hy = 1 / ((double)ny + 1);
  double worst_rhs = 0, worst_exact = 0, *f = values_of(context, rhs), *u = values_of(context, exact);
  for (int64_t i = 0; i < nx * ny; i++) {
    const int64_t column = i % nx, row = i / nx;
    const double x = (double)(column + 1) * hx, y = (double)(row + 1) * hy;
    worst_rhs = fmax(worst_rhs, fabs(f[i] / (hx * hy) - source(x, y)));
    worst_exact = fmax(worst_exact, fabs(u[i] - solution(x, y)));
  }
  tap_ok(karst_vector_length(rhs) == nx * ny && worst_rhs < 1e-8,
         "%s: the right-hand side is -Laplace u by finite differences (%.1e)", spec, worst_rhs);
  tap_ok(karst_vector_length(exact) == nx * ny && worst_exact < 1e-15,
         "%s: the exact solution is u at the nodes (%.1e)", spec, worst_exact);
  tap_ok(has_grid(A, nx, ny, 1, NULL), "%s has its grid", spec);
  check_matrix(A, spec, nx, ny);
  free(f);
  free(u);
  karst_matrix_destroy(A);
  karst_vector_destroy(rhs);
  karst_vector_destroy(exact);
}

static void test_problem(karst_context *context)
{
  static const karst_index sizes[][2] = {{1, 1}, {1, 6}, {7, 1}, {2, 2}, {5, 5}, {4, 9}};
  for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) check_problem(context, sizes[i][0], sizes[i][1]);
}

/* The largest |b - A u| over hx hy, which is of the order h^2. */
static double consistency(karst_context *context, const char *spec, double nodes)
{
  karst_matrix *A;
  karst_vector *rhs, *exact, *product;
  double worst = 0;
  tap_need(context, karst_gallery_create(context, spec, 0, &A, &rhs), spec);
  tap_need(context, karst_gallery_exact(context, spec, &exact), spec);
  tap_need(context, karst_vector_create(context, karst_matrix_rows(A), &product), spec);
  tap_need(context, karst_matrix_multiply(A, exact, product), "multiply");
  double *b = values_of(context, rhs), *Au = values_of(context, product);
  for (int64_t i = 0; i < karst_matrix_rows(A); i++) worst = fmax(worst, fabs(b[i] - Au[i]));
  free(b);
  free(Au);
  karst_vector_destroy(product);
  karst_vector_destroy(exact);
  karst_vector_destroy(rhs);
  karst_matrix_destroy(A);
  return worst * nodes;
}

static void test_order(karst_context *context)
{
  const double coarse = consistency(context, "unitsquare:31x63", 32 * 64);
  const double fine = consistency(context, "unitsquare:63x127", 64 * 128);
  tap_ok(coarse > 3.5 * fine && coarse < 4.5 * fine, "|b - A u| is of the order h^2 (%.2e, then %.2e)", coarse, fine);
  const double large = consistency(context, "unitsquare:300x200", 301 * 201);
  tap_ok(large < fine, "also with several threads (%.2e)", large);
}

static void check_error(karst_context *context, const char *spec, karst_status expected, const char *sentence)
{
  karst_vector *exact = (karst_vector *)&exact;
  const karst_status status = karst_gallery_exact(context, spec, &exact);
  const char *said = karst_context_error(context);
  if (!tap_ok(status == expected && strstr(said, sentence) && !exact, "\"%s\" is refused with \"%s\"",
              spec ? spec : "NULL", sentence))
    tap_note("status %d: %s", (int)status, said);
}

static void test_errors(karst_context *context)
{
  karst_vector *exact;
  check_error(context, "poisson2d:4x4", KARST_ERROR_OPTION, "does not know the exact solution of poisson2d");
  check_error(context, "unitsquare", KARST_ERROR_OPTION, "unitsquare:NXxNY");
  check_error(context, "unitsquare:4x4x4", KARST_ERROR_OPTION, "not \"4x4x4\"");
  check_error(context, "unitsquare:4x4,h=1", KARST_ERROR_OPTION, "no key \"h\": it takes no keys");
  check_error(context, "square:4x4", KARST_ERROR_OPTION, "no problem \"square\"");
  check_error(context, NULL, KARST_ERROR_ARGUMENT, "is NULL");
  tap_ok(karst_gallery_exact(NULL, "unitsquare:2x2", &exact) == KARST_ERROR_ARGUMENT && !exact, "a context is needed");
  tap_ok(karst_gallery_exact(context, "unitsquare:2x2", NULL) == KARST_ERROR_ARGUMENT &&
             strstr(karst_context_error(context), "the place for the exact solution is NULL"),
         "a NULL vector is refused");
}

static karst_status make_all(karst_context *context, void *user)
{
  karst_matrix *A;
  karst_vector *rhs, *exact = NULL;
  karst_status status = karst_gallery_create(context, user, 2, &A, &rhs);
  if (!status) status = karst_gallery_exact(context, user, &exact);
  karst_matrix_destroy(A);
  karst_vector_destroy(rhs);
  karst_vector_destroy(exact);
  return status;
}

/* Returns the number after key in the output of a run, or a NaN. */
static double number_after(const struct cli_run *run, const char *key)
{
  const char *found = strstr(run->out, key);
  return run->status == 0 && found ? strtod(found + strlen(key), NULL) : NAN;
}

static void refused(const struct cli_run *run, const char *says)
{
  if (!tap_ok(run->status == 2 && cli_is_one_sentence(run, "solve") && strstr(run->err, says), "refused: %s", says))
    tap_note("status %d: %s", run->status, run->err);
}

/* The expected error on 511x511 nodes is that of de Jong, van der Ploeg, Ditzel and Vuik's Table 5.3. */
static void test_solve(void)
{
  static const char text[] = "\nerror       max |x - u| = ", json[] = "\"max_error\": ";
  const double coarse =
      number_after(CLI_RUN("solve", "unitsquare:63x63", "--solver", "cg", "--rtol", "1e-11", "--exact"), text);
  const double fine =
      number_after(CLI_RUN("solve", "unitsquare:127x127", "--solver", "cg", "--rtol", "1e-11", "--exact"), text);
  tap_ok(coarse > 3.9 * fine && coarse < 4.1 * fine, "--exact: the error is of the order h^2 (%.3e, then %.3e)", coarse,
         fine);
  tap_ok(fabs(fine * 128 * 128 / (5.29e-8 * 512 * 512) - 1) < 0.01, "which extrapolates to 5.29e-8 on 511x511 nodes");
  const struct cli_run *run = CLI_RUN("solve", "unitsquare:20x30", "--block", "7", "--rtol", "1e-11", "--exact");
  const double padded = number_after(run, text);
  const double plain = number_after(CLI_RUN("solve", "unitsquare:20x30", "--rtol", "1e-11", "--exact"), text);
  tap_ok(fabs(padded / plain - 1) < 1e-3, "padding does not count (%.4e, %.4e)", padded, plain);
  tap_ok(!strstr(CLI_RUN("solve", "unitsquare:5x5")->out, "\nerror "), "the report has no such line without --exact");
#ifdef HAVE_JANSSON
  run = CLI_RUN("solve", "unitsquare:20x30", "--rtol", "1e-11", "--exact", "--json", "--repeat", "2");
  const double written = number_after(run, json);
  tap_ok(fabs(written / plain - 1) < 1e-3, "max_error in JSON is the same (%.4e)", written);
  run = CLI_RUN("solve", "unitsquare:5x5", "--json");
  tap_ok(run->status == 0 && strstr(run->out, "\"max_error\": null"), "max_error is null without --exact");
#else
  (void)json;
#endif
  refused(CLI_RUN("solve", "poisson2d:5x5", "--exact"), "does not know the exact solution of poisson2d");
  refused(CLI_RUN("solve", "unitsquare:5x5", "--exact", "--rhs", "ones"), "--rhs replaces");
  refused(CLI_RUN("solve", "nothing:5x5", "--exact"), "no file named 'nothing:5x5'");
  tap_write("a.mtx", GENERAL "1 1 1\n1 1 4\n", -1);
  refused(CLI_RUN("solve", tap_scratch("a.mtx"), "--exact"), "a.mtx is a file");
}

int main(void)
{
  char spec[] = "unitsquare:3x3";
  cli_need("solve");
  tap_each_device(test_problem, "problem");
  tap_each_device(test_order, "order");
  karst_context *context = tap_context();
  test_errors(context);
  karst_context_destroy(context);
  fail_each_allocation(make_all, spec, spec);
  test_solve();
  return tap_done();
}
