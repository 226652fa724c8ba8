/* Richardson's iteration x = x + w M^-1 (b - A x) takes the steps of a dense loop of that formula. The monitor receives
 * the true residual of each x. If the iteration diverges, the solve returns the best x. */

#include "tests/support/problem.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { STEPS = 6, ROWS = 23 };

static tap_settings step_settings(const char *precond, double damping, int steps)
{
  tap_settings settings = settings_for("richardson", precond);
  settings.damping = damping;
  settings.max_iterations = steps;
  settings.rtol = 0; /* all steps are made */
  return settings;
}

/* The norms that the monitor received: of the start and of each step. */
struct history {
  int count;
  double norm[STEPS + 1];
};

static karst_decision listen(void *user, int iteration, double residual)
{
  struct history *history = user;
  if (iteration <= STEPS) history->norm[iteration] = residual;
  history->count = iteration + 1;
  return KARST_GO_ON;
}

/* Solves from zero; x in p->x. */
static karst_result solve(const struct problem *p, const tap_settings *settings, struct history *history)
{
  karst_solver *solver = problem_solver(p, settings);
  if (history) karst_solver_monitor(solver, listen, history);
  const karst_result result = problem_solve(p, solver);
  karst_solver_destroy(solver);
  return result;
}

static double norm_of(int64_t n, const double *x)
{
  double sum = 0;
  for (int64_t i = 0; i < n; i++) sum += x[i] * x[i];
  return sqrt(sum);
}

/* The loop of the formula on the host, r = b - A x dense, and M^-1 by the preconditioner alone. norm[l]: |r| after l
 * steps. */
static void iterate(const struct problem *p, const tap_settings *settings, double norm[STEPS + 1], double *x)
{
  karst_precond *M = precond_of(p->context, settings, p->A);
  double *A = tap_dense(p->A), *b = vector_on_host(p->b), *r = tap_memory(p->n, sizeof *r);
  double *z = tap_memory(p->n, sizeof *z);
  for (int step = 0; step <= STEPS; step++) {
    for (int64_t i = 0; i < p->n; i++) {
      r[i] = b[i];
      for (int64_t j = 0; j < p->n; j++) r[i] -= A[j * p->n + i] * x[j];
    }
    norm[step] = norm_of(p->n, r);
    if (step == STEPS) break;
    apply_on_host(M, r, z);
    for (int64_t i = 0; i < p->n; i++) x[i] += settings->damping * z[i];
  }
  karst_precond_destroy(M);
  free(A);
  free(b);
  free(r);
  free(z);
}

/* Sums of n products in another order differ by rounding, which a step multiplies by a norm of A M^-1 of a few ten;
 * against the largest residual, for rounding errors do not become smaller with it. */
static const double agreement = 1e-11;

static void test_formula(karst_context *context)
{
  static const char *const preconds[] = {"none", "jacobi", "iluk"};
  static const double dampings[] = {1, 0.6, 1.3};
  static const int sizes[] = {1, 2, 3, 5, 8};
  for (int c = 0; c < 5 * 3 * 3; c++) {
    struct problem p = problem_of(context, tap_random_matrix(context, ROWS, sizes[c / 9], 3, 1.2), tap_seed());
    struct history seen = {0};
    tap_settings settings = step_settings(preconds[c / 3 % 3], dampings[c % 3], STEPS);
    double norm[STEPS + 1], *x = tap_memory(p.n, sizeof *x), worst = 0, largest = 0;
    const karst_result result = solve(&p, &settings, &seen);
    iterate(&p, &settings, norm, x);
    double *found = vector_on_host(p.x);
    int least = 0;
    for (int i = 0; i <= STEPS; i++) {
      largest = fmax(largest, norm[i]);
      worst = fmax(worst, fabs(seen.norm[i] - norm[i]));
      if (norm[i] < norm[least]) least = i;
    }
    const double apart = largest_difference(p.n, found, x);
    tap_ok(seen.count == STEPS + 1 && worst <= agreement * largest && result.iterations == STEPS &&
               fabs(result.residual - norm[least]) <= agreement * largest &&
               (least < STEPS || apart <= agreement * norm_of(p.n, x)),
           "b = %d, %s, damping %g: the steps of the formula: %.1e", sizes[c / 9], settings.precond, settings.damping,
           worst / largest);
    free(x);
    free(found);
    problem_destroy(&p);
  }
}

/* The norm reported after l steps agrees in 12 digits with the true residual of a solve of l steps. */
static void test_true_norms(karst_context *context)
{
  static const char *const orderings[] = {"natural", "rcm"};
  for (int o = 0; o < 2; o++) {
    struct problem p = problem_from(context, "poisson3d:7x6x5", 2, tap_seed());
    struct history seen = {0};
    tap_settings settings = step_settings("iluk", 1, STEPS);
    settings.ordering = orderings[o];
    double worst = 0;
    bool falls = true;
    solve(&p, &settings, &seen);
    for (int l = 0; l < seen.count; l++) {
      settings.max_iterations = l;
      solve(&p, &settings, NULL);
      const double norm = tap_residual(p.A, p.b, p.x);
      worst = fmax(worst, fabs(seen.norm[l] - norm) / (norm + 1e-3 * seen.norm[0]));
      if (l > 0) falls = falls && seen.norm[l] < seen.norm[l - 1];
    }
    /* 5e-13 is half a unit of the 12th digit. Fewer digits agree once |r| is a thousandth of the first or less, for the
     * rounding errors of A x do not fall with it. */
    tap_ok(falls && seen.count > 3 && worst < 5e-13, "ordering %s: the reported norms are true to 12 digits: %.1e",
           orderings[o], worst);
    problem_destroy(&p);
  }
}

/* I - A has eigenvalues up to -7: each step multiplies the residual by about 7, or with damping by less than 1. */
static void test_divergence(karst_context *context)
{
  static const char *const scales[] = {"none", "diagonal", "block"};
  enum { N = 8 };
  double rows[N][N] = {0};
  for (int i = 0; i < N; i++) {
    rows[i][i] = i + 1;
    if (i + 1 < N) rows[i][i + 1] = -0.5;
  }
  struct problem p = problem_of(context, matrix_from_rows(context, N, 1, rows[0]), tap_seed());
  for (int s = 0; s < 3; s++) {
    tap_settings settings = step_settings("none", s == 0 ? 1 : 4, 1000);
    settings.scale = scales[s];
    const karst_result result = solve(&p, &settings, NULL);
    const double norm = tap_residual(p.A, p.b, p.x), before = vector_norm(p.b);
    tap_ok(result.reason == KARST_DIVERGED && result.iterations < 100 && norm <= before * (1 + 1e-12) &&
               fabs(norm - result.residual) <= 1e-12 * before,
           "scale %s: diverged after %d steps, and x is no worse than the start: %.2e of %.2e", scales[s],
           result.iterations, norm, before);
  }
  tap_settings settings = step_settings("none", 0.2, 1000);
  settings.rtol = 1e-10;
  karst_result result = solve(&p, &settings, NULL);
  tap_ok(result.reason == KARST_CONVERGED_RTOL && tap_residual(p.A, p.b, p.x) <= 1e-10 * vector_norm(p.b) * (1 + 1e-12),
         "damping 0.2 makes it converge, after %d steps", result.iterations);
  settings = step_settings("none", 1e308, 1000);
  result = solve(&p, &settings, NULL);
  tap_ok(result.reason < 0 && isfinite(result.residual) &&
             tap_residual(p.A, p.b, p.x) <= vector_norm(p.b) * (1 + 1e-12),
         "so large a damping that the step overflows: %s, and x is finite", karst_reason_text(result.reason));
  problem_destroy(&p);
}

/* A residual that grows for N - 1 steps and then is zero, as convection carries an error out of a line of cells. The
 * growth alone must not end the solve. */
static void test_transient(karst_context *context)
{
  enum { N = 30 };
  double rows[N][N] = {0};
  for (int i = 0; i < N; i++) {
    rows[i][i] = 1;
    if (i > 0) rows[i][i - 1] = -2;
  }
  struct problem p = problem_of(context, matrix_from_rows(context, N, 1, rows[0]), tap_seed());
  tap_settings settings = step_settings("jacobi", 1, 1000);
  settings.rtol = 1e-6;
  const karst_result result = solve(&p, &settings, NULL);
  tap_ok(result.reason == KARST_CONVERGED_RTOL && result.iterations <= N, "a transient: %s after %d steps",
         karst_reason_text(result.reason), result.iterations);
  problem_destroy(&p);
}

static karst_decision accept_at_three(void *user, int iteration, double residual)
{
  double *seen = user;
  *seen = residual;
  return iteration == 3 ? KARST_ACCEPT : KARST_GO_ON;
}

/* When the monitor accepts, the solve returns the x whose norm the monitor received. */
static void test_accept(karst_context *context)
{
  struct problem p = problem_of(context, tap_random_matrix(context, ROWS, 2, 3, 1.2), tap_seed());
  tap_settings settings = step_settings("jacobi", 1, 100);
  karst_solver *solver = problem_solver(&p, &settings);
  double seen = 0;
  karst_solver_monitor(solver, accept_at_three, &seen);
  const karst_result result = problem_solve(&p, solver);
  tap_ok(result.reason == KARST_CONVERGED_MONITOR && result.iterations == 3 &&
             fabs(result.residual - seen) <= 1e-12 * seen,
         "the accepted x has the norm that the monitor received, but for rounding");
  karst_solver_destroy(solver);
  problem_destroy(&p);
}

static void test_refusals(karst_context *context)
{
  static const char *const bad[][2] = {{"damping", "0"},    {"damping", "-1"}, {"damping", "nan"}, {"damping", "inf"},
                                       {"damping", "1e9x"}, {"parts", "0"},    {"parts", "-3"},    {"parts", "1.5"}};
  karst_options *options;
  tap_need(context, karst_options_create(context, &options), "options");
  for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
    const karst_status status = karst_options_set(options, bad[i][0], bad[i][1]);
    tap_ok(status == KARST_ERROR_OPTION && strstr(karst_context_error(context), bad[i][0]), "refused: %s",
           karst_context_error(context));
  }
  tap_ok(karst_options_set_real(options, "damping", NAN) == KARST_ERROR_OPTION &&
             karst_options_set_real(options, "damping", INFINITY) == KARST_ERROR_OPTION &&
             karst_options_set_real(options, "damping", 0) == KARST_ERROR_OPTION &&
             karst_options_set_integer(options, "parts", 0) == KARST_ERROR_OPTION,
         "and as numbers");
  karst_options_destroy(options);
}

static void test(karst_context *context)
{
  test_formula(context);
  test_true_norms(context);
  test_divergence(context);
  test_transient(context);
  test_accept(context);
  test_refusals(context);
}

int main(void)
{
  tap_each_device(test, "the correction iteration");
  return tap_done();
}
