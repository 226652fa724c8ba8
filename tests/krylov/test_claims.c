/* "Converged" is true in exact arithmetic for every driver, preconditioner and scaling. This holds with infinities,
 * with zero or tiny right-hand sides, and with targets at the level of a residual's rounding errors. */

#include "lib/matrix/matrix.h"
#include "tests/support/problem.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static const char *const solvers[] = {"gmres", "fgmres", "bicgstab", "cg", "orthomin", "richardson"};
static const char *const scales[] = {"none", "diagonal", "block"};
enum { SOLVERS = sizeof solvers / sizeof solvers[0], SCALES = 3, MOST = 12 };

static tap_settings options_for(const char *solver, const char *scale)
{
  tap_settings options = settings_for(solver, NULL);
  options.scale = scale;
  options.max_iterations = 500;
  return options;
}

/* Solves with x as the start. */
static karst_result solve(karst_context *context, const tap_settings *options, const karst_matrix *A,
                          const karst_vector *b, karst_vector *x)
{
  karst_solver *solver = solver_set_up(context, options, A);
  const karst_result result = solved(solver, b, x);
  karst_solver_destroy(solver);
  return result;
}

/* inf <= inf holds, but does not show convergence. */
static void test_infinite(karst_context *context)
{
  static const double rows[] = {2, 1, 1, 3};
  const double right[] = {INFINITY, 4};
  karst_matrix *A = matrix_from_rows(context, 2, 1, rows);
  karst_vector *b = vector_of(context, 2, 1);
  tap_need(context, karst_vector_set(b, 2, right), "right-hand side");
  for (int s = 0; s < SOLVERS; s++)
    for (int c = 0; c < SCALES; c++) {
      tap_settings options = options_for(solvers[s], scales[c]);
      karst_vector *x = vector_of(context, 2, 0);
      karst_result result = solve(context, &options, A, b, x);
      tap_ok(result.reason == KARST_NOT_FINITE && result.block_row == 0, "%s, scale %s: an infinity in b, row %d: %s",
             solvers[s], scales[c], (int)result.block_row, karst_reason_text(result.reason));
      karst_vector_destroy(x);
    }
  karst_vector_destroy(b);
  karst_matrix_destroy(A);
}

/* A zero right-hand side gives the zero solution at once, from any start. */
static void test_zero(karst_context *context)
{
  static const double starts[] = {1, 1e-165, 1e-320, 1e200, NAN};
  karst_matrix *A = matrix_from(context, "poisson2d:20x20", 0);
  const int64_t n = karst_matrix_rows(A);
  karst_vector *b = vector_of(context, n, 0);
  for (int s = 0; s < SOLVERS; s++)
    for (int c = 0; c < SCALES; c++) {
      tap_settings options = options_for(solvers[s], scales[c]);
      int zero = 0;
      for (size_t i = 0; i < sizeof starts / sizeof starts[0]; i++) {
        karst_vector *x = vector_of(context, n, starts[i]);
        double norm = -1;
        karst_result result = solve(context, &options, A, b, x);
        norm = vector_norm(x);
        zero += result.reason == KARST_CONVERGED_RTOL && result.iterations == 0 && result.residual == 0 &&
                result.relative_residual == 0 && norm == 0;
        karst_vector_destroy(x);
      }
      tap_ok(zero == sizeof starts / sizeof starts[0], "%s, scale %s: b = 0 gives x = 0 at once, from %d of 5 starts",
             solvers[s], scales[c], zero);
    }
  karst_vector_destroy(b);
  karst_matrix_destroy(A);
}

/* An unknown that no row reads keeps its start value, which no residual shows. */
static void test_unread(karst_context *context)
{
  static const karst_index start[] = {0, 1, 2}, column[] = {0, 0};
  static const double value[] = {1, 1}, nan_start[] = {0, NAN};
  for (int s = 0; s < SOLVERS; s++) {
    tap_settings options = options_for(solvers[s], "none");
    options.precond = "none";
    karst_matrix *A = matrix_of(context, 2, 1, start, column, value);
    karst_vector *b = vector_of(context, 2, 1), *x = vector_of(context, 2, 0);
    tap_need(context, karst_vector_set(x, 2, nan_start), "start");
    karst_result result = solve(context, &options, A, b, x);
    tap_ok(result.reason < 0, "%s: a NaN that no row reads is not a solution: %s", solvers[s],
           karst_reason_text(result.reason));
    karst_vector_destroy(b);
    karst_vector_destroy(x);
    karst_matrix_destroy(A);
  }
}

/* A solve that ends before its first iteration returns the start to the last bit, also if scaling and unscaling would
 * round or overflow. */
static void test_start_stays(karst_context *context)
{
  static const karst_index start[] = {0, 1, 3}, column[] = {0, 0, 1};
  static const double values[2][3] = {{3, 1, 1e300}, {0, 1, 3}}, x0[] = {0.1, 1.7e308};
  for (int m = 0; m < 2; m++)
    for (int c = 0; c < SCALES; c++) {
      tap_settings options = options_for("gmres", scales[c]);
      karst_matrix *A;
      double found[2];
      A = matrix_of(context, 2, 1, start, column, values[m]);
      karst_vector *b = vector_of(context, 2, 1), *x = vector_of(context, 2, 0);
      tap_need(context, karst_vector_set(x, 2, x0), "start");
      karst_result result = solve(context, &options, A, b, x);
      tap_need(context, karst_vector_get(x, 2, found), "x");
      tap_ok(result.iterations == 0 && memcmp(found, x0, sizeof x0) == 0, "scale %s: %s, and x is the start", scales[c],
             karst_reason_text(result.reason));
      karst_vector_destroy(b);
      karst_vector_destroy(x);
      karst_matrix_destroy(A);
    }
}

static void test_norms(karst_context *context)
{
  static const double values[] = {3e-320, 4e-200, 1e-162, 1, 1e155, 1e300};
  for (size_t i = 0; i < sizeof values / sizeof values[0]; i++) {
    karst_vector *x = vector_of(context, 1600, values[i]);
    double exact = 40 * values[i];
    const double norm = vector_norm(x);
    tap_ok(fabs(norm - exact) <= 1e-12 * exact, "the norm of 1600 times %g is %g", values[i], norm);
    karst_vector_destroy(x);
  }
}

/* Makes a matrix with nearly dependent rows. |A| |x| is far above |b|, and the rounding errors of a residual exceed many
 * targets. */
static karst_matrix *make_dependent(karst_context *context, int n)
{
  double rows[MOST * MOST], left[MOST], right[MOST], part = pow(10, -3 - 6 * fabs(tap_random()));
  for (int i = 0; i < n; i++) left[i] = tap_random(), right[i] = tap_random();
  for (int i = 0; i < n; i++)
    for (int j = 0; j < n; j++) rows[i * n + j] = left[i] * right[j] + part * tap_random() + (i == j ? part : 0);
  return matrix_from_rows(context, n, 1, rows);
}

/* Residuals are computed in 113 bits; the tolerance 1e-12 is for the rounding of norms. */
static void test_rounding(karst_context *context)
{
  static const double rtols[] = {1e-6, 1e-8, 1e-10, 1e-12, 1e-15, 0};
  enum { TRIALS = 400 };
  int claims = 0, wrong = 0;
  for (int t = 0; t < TRIALS; t++) {
    const int n = 2 + (int)tap_random_index(MOST - 1);
    tap_settings options =
        options_for(t % 2 ? "gmres" : solvers[tap_random_index(SOLVERS)], scales[tap_random_index(SCALES)]);
    options.rtol = rtols[tap_random_index(6)];
    options.precond = tap_random_index(2) ? "iluk" : "jacobi";
    karst_matrix *A = make_dependent(context, n);
    karst_vector *b = vector_of(context, n, 0), *x = vector_of(context, n, 0);
    tap_need(context, karst_vector_fill_random(b, (uint64_t)tap_random_index(1 << 30)), "right-hand side");
    const double norm = vector_norm(b);
    karst_result result = solve(context, &options, A, b, x);
    if (result.reason > 0) {
      double most = options.rtol * norm * (1 + 1e-12);
      claims++;
      wrong += !(tap_residual(A, b, x) <= most && result.residual <= most);
    }
    karst_vector_destroy(x);
    karst_vector_destroy(b);
    karst_matrix_destroy(A);
  }
  tap_ok(claims >= TRIALS / 10 && wrong == 0, "%d of %d claims to have converged are wrong", wrong, claims);
}

/* Makes a convection-diffusion matrix whose block rows are scaled by factors from 1 to 1e6. */
static karst_matrix *make_graded(karst_context *context)
{
  karst_matrix *A = matrix_from(context, "convdiff:12x10x6", 0);
  const int b = karst_matrix_block_size(A);
  const karst_index rows = karst_matrix_block_rows(A), *start = karst_matrix_row_start(A);
  double *value = values_on_host(A);
  for (karst_index i = 0; i < rows; i++)
    for (int64_t v = karst_block_offset(b, start[i]); v < karst_block_offset(b, start[i + 1]); v++)
      value[v] *= pow(10, 6.0 * (double)i / (double)rows);
  karst_matrix *graded = matrix_of(context, rows, b, start, karst_matrix_column(A), value);
  free(value);
  karst_matrix_destroy(A);
  return graded;
}

/* A solve of a scaled system reaches the caller's target, although the scaled norm says little about the caller's. A few
 * iterations fewer do not reach it. */
static void test_scaled_goal(karst_context *context)
{
  static const char *const methods[] = {"gmres", "fgmres", "orthomin", "bicgstab"};
  karst_matrix *A = make_graded(context);
  const int64_t n = karst_matrix_rows(A);
  karst_vector *b = vector_of(context, n, 1);
  const double target = 1e-6 * sqrt((double)n);
  for (int m = 0; m < 4; m++)
    for (int c = 1; c < SCALES; c++) {
      tap_settings options = options_for(methods[m], scales[c]);
      options.rtol = 1e-6;
      options.precond = "jacobi";
      karst_vector *x = vector_of(context, n, 0), *before = vector_of(context, n, 0);
      karst_result result = solve(context, &options, A, b, x);
      options.max_iterations = result.iterations - 2 - result.iterations / 10;
      karst_result less = solve(context, &options, A, b, before);
      tap_ok(result.reason == KARST_CONVERGED_RTOL && tap_residual(A, b, x) <= target * (1 + 1e-12) &&
                 less.reason == KARST_ITERATION_LIMIT && tap_residual(A, b, before) > target,
             "%s, scale %s: %d iterations to %.1e, and %d to %.1e", methods[m], scales[c], result.iterations,
             result.relative_residual, less.iterations, less.relative_residual);
      karst_vector_destroy(x);
      karst_vector_destroy(before);
    }
  karst_vector_destroy(b);
  karst_matrix_destroy(A);
}

static void test(karst_context *context)
{
  test_infinite(context);
  test_zero(context);
  test_unread(context);
  test_start_stays(context);
  test_norms(context);
  test_rounding(context);
  test_scaled_goal(context);
}

int main(void)
{
  tap_each_device(test, "claims to have converged");
  return tap_done();
}
