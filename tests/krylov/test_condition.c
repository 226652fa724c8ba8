/* test_condition.c - the extreme eigenvalues of M^-1 A that cg reports are those of the Lanczos process. */

#include "krylov/lanczos.h"
#include "tests/support/named_values.h"
#include "tests/support/patterns.h"
#include "tests/support/problem.h"

#include <math.h>
#include <stdlib.h>

static const double pi = 3.14159265358979323846;

static bool is_near(double a, double b, double tolerance) { return fabs(a - b) <= tolerance * fabs(b); }

/* The matrix (-1, 2, -1) of order n, whose eigenvalues are 4 sin^2(k pi / (2 n + 2)). */
static karst_matrix *make_laplacian(karst_context *context, karst_index n)
{
  struct pattern line = pattern_grid(n, 1, 1);
  double *value = tap_memory(line.start[n], sizeof *value);
  for (karst_index i = 0; i < n; i++)
    for (karst_index k = line.start[i]; k < line.start[i + 1]; k++) value[k] = line.column[k] == i ? 2 : -1;
  karst_matrix *A = pattern_matrix(context, &line, 1, value);
  pattern_free(&line);
  free(value);
  return A;
}

static karst_solver *make_solver(const struct problem *p, const char *precond, double rtol)
{
  tap_settings settings = settings_for("cg", precond);
  settings.rtol = rtol;
  return problem_solver(p, &settings);
}

/* Solves to convergence, after which the matrix of the coefficients has both ends of the spectrum. */
static void test_known(karst_context *context)
{
  enum { N = 60 };
  static const char *const preconds[] = {"none", "jacobi", "iluk"};
  const double least = 4 * pow(sin(pi / (2 * N + 2)), 2), largest = 4 * pow(cos(pi / (2 * N + 2)), 2);
  const double scale[] = {1, 2, 0};
  struct problem system = problem_of(context, make_laplacian(context, N), tap_seed());
  for (int p = 0; p < 3; p++) {
    karst_solver *solver = make_solver(&system, preconds[p], 1e-13);
    tap_ok(tap_solver_number(solver, "condition_number") == -1, "%s: no condition number before the first solve",
           preconds[p]);
    const karst_result result = problem_solve(&system, solver);
    const double min = tap_solver_number(solver, "eigenvalue_min"), max = tap_solver_number(solver, "eigenvalue_max");
    const double condition = tap_solver_number(solver, "condition_number");
    const bool exact = scale[p] == 0; /* the factors of a tridiagonal matrix are complete */
    tap_ok(result.reason > 0 && is_near(min, exact ? 1 : least / scale[p], 1e-6) &&
               is_near(max, exact ? 1 : largest / scale[p], 1e-6) && is_near(condition, max / min, 1e-14),
           "%s: %.8f to %.8f, condition number %.6f, after %d iterations", preconds[p], min, max, condition,
           result.iterations);
    tap_need(context, karst_vector_fill(system.b, 0), "b");
    problem_solve(&system, solver);
    tap_need(context, karst_vector_fill_random(system.b, tap_seed()), "b");
    tap_ok(tap_solver_number(solver, "condition_number") == -1,
           "%s: no condition number after a solve without an iteration", preconds[p]);
    karst_solver_destroy(solver);
  }
  problem_destroy(&system);
}

/* The values of the preconditioner come first, and remain. */
static void test_report(karst_context *context)
{
  struct problem p = problem_of(context, make_laplacian(context, 60), tap_seed());
  karst_solver *solver = make_solver(&p, "iluk", 1e-8);
  karst_value value;
  size_t before = 0, after = 0;
  while (karst_solver_report(solver, before, &value)) before++;
  problem_solve(&p, solver);
  while (karst_solver_report(solver, after, &value)) after++;
  tap_ok(before > 0 && after == before + 3 && tap_solver_number(solver, "levels_lower") > 0,
         "cg adds 3 values to the %d of iluk", (int)before);
  tap_ok(karst_solver_report(solver, 0, NULL) == 0 && karst_solver_report(NULL, 0, &value) == 0,
         "a NULL value or a NULL solver has no report");
  karst_solver_destroy(solver);
  problem_destroy(&p);
}

static void test_bisection(void)
{
  enum { N = 1500 };
  static double diagonal[N], beside[N];
  double least, largest;
  for (int i = 0; i < N; i++) {
    diagonal[i] = 2;
    beside[i] = 1;
  }
  karst_lanczos_extremes(N, diagonal, beside, &least, &largest);
  tap_ok(is_near(least, 4 * pow(sin(pi / (2 * N + 2)), 2), 1e-9) &&
             is_near(largest, 4 * pow(cos(pi / (2 * N + 2)), 2), 1e-14),
         "the ends of a spectrum of %d eigenvalues", N);
  karst_lanczos_extremes(1, diagonal, beside, &least, &largest);
  tap_ok(least == 2 && largest == 2, "one number is its own eigenvalue");
  beside[0] = 0;
  diagonal[0] = 1e-200;
  diagonal[1] = -3e100;
  karst_lanczos_extremes(2, diagonal, beside, &least, &largest);
  tap_ok(is_near(least, -3e100, 1e-14) && is_near(largest, 1e-200, 1e-14), "eigenvalues of very different sizes");
  diagonal[1] = NAN;
  karst_lanczos_extremes(2, diagonal, beside, &least, &largest);
  tap_ok(isnan(least) && isnan(largest), "a matrix with a NaN has no eigenvalues");
}

int main(void)
{
  test_bisection();
  tap_each_device(test_known, "known eigenvalues");
  tap_each_device(test_report, "the report");
  return tap_done();
}
