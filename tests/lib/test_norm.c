/* test_norm.c - with norm preconditioned, cg ends a solve by sqrt(r'M^-1 r) of the true residual r. */

#include "tests/support/problem.h"

#include <math.h>
#include <string.h>

enum { RUNS = 4 };

static const struct run {
  const char *precond, *ordering, *scale;
} runs[RUNS] = {
    {"none", "natural", "none"}, {"jacobi", "natural", "none"}, {"iluk", "natural", "none"}, {"iluk", "rcm", "none"}};

static karst_vector *start;

static tap_settings run_settings(const struct run *run, double rtol)
{
  tap_settings settings = settings_for("cg", run->precond);
  settings.norm = "preconditioned";
  settings.ordering = run->ordering;
  settings.scale = run->scale;
  settings.rtol = rtol;
  settings.max_iterations = 500;
  return settings;
}

static karst_result solve(const struct problem *p, karst_solver *solver)
{
  tap_need(p->context, karst_vector_copy(start, p->x), "start");
  return solved(solver, p->b, p->x);
}

/* sqrt(r'M^-1 r) of the residual of x, with a preconditioner of its own. */
static double norm_of(const struct problem *p, const tap_settings *settings, const karst_vector *x)
{
  karst_precond *M = precond_of(p->context, settings, p->A);
  karst_vector *r = vector_of(p->context, p->n, 0), *z = vector_of(p->context, p->n, 0);
  double square;
  tap_need(p->context, karst_precond_update(M), "factors");
  tap_need(p->context, karst_matrix_residual(p->A, p->b, x, r, NULL), "residual");
  tap_need(p->context, karst_precond_apply(M, r, z), "apply");
  tap_need(p->context, karst_vector_dot(r, z, &square), "dot");
  karst_vector_destroy(r);
  karst_vector_destroy(z);
  karst_precond_destroy(M);
  return sqrt(square);
}

struct listener {
  double first, last;
  int iterations;
};

static karst_decision listen(void *user, int iteration, double residual)
{
  struct listener *listener = user;
  if (iteration == 0) listener->first = residual;
  listener->last = residual;
  listener->iterations = iteration;
  return KARST_GO_ON;
}

/* The solve ends at the first iteration whose norm meets the target. */
static void test_meets(const struct problem *p, const struct run *run)
{
  const double rtol = 1e-6;
  tap_settings settings = run_settings(run, rtol);
  karst_solver *solver = problem_solver(p, &settings);
  struct listener listener = {0};
  const bool natural = strcmp(run->ordering, "natural") == 0;
  karst_solver_monitor(solver, listen, &listener);
  const karst_result result = solve(p, solver);
  const double residual = tap_residual(p->A, p->b, p->x), begin = natural ? norm_of(p, &settings, start) : NAN;
  const double end = natural ? norm_of(p, &settings, p->x) : NAN;
  tap_ok(result.reason == KARST_CONVERGED_PRECONDITIONED && fabs(result.residual - residual) <= 1e-8 * residual,
         "%s, %s, %s: %s", run->precond, run->ordering, run->scale, karst_solver_explain(solver));
  const char *sentence = karst_solver_explain(solver);
  tap_ok(strstr(sentence, "converged in the preconditioned norm after") &&
             strstr(sentence, "the true residual itself") && !strstr(sentence, "converged after"),
         "the sentence has both norms");
  tap_ok(!natural || (end <= rtol * begin * (1 + 1e-6) && fabs(listener.first - begin) <= 1e-8 * begin &&
                      fabs(listener.last - end) <= 1e-3 * end),
         "the norm of the start %.3e is %.3e in the end, and the monitor receives both", begin, end);
  tap_need(p->context, karst_solver_set_tolerances(solver, rtol, 0, result.iterations - 1), "limit");
  const karst_result less = solve(p, solver);
  tap_ok(less.reason == KARST_ITERATION_LIMIT && listener.iterations == result.iterations - 1 &&
             listener.last > rtol * listener.first,
         "one iteration less does not meet the target");
  karst_solver_destroy(solver);
}

/* Without a preconditioner both norms are the same, from a start of zero. */
static void test_plain(const struct problem *p)
{
  tap_settings settings = run_settings(&runs[0], 1e-9);
  karst_solver *preconditioned = problem_solver(p, &settings);
  settings.norm = "true";
  karst_solver *plain = problem_solver(p, &settings);
  tap_need(p->context, karst_vector_fill(start, 0), "start");
  const karst_result one = solve(p, preconditioned), two = solve(p, plain);
  tap_ok(one.iterations == two.iterations && two.reason == KARST_CONVERGED_RTOL &&
             one.reason == KARST_CONVERGED_PRECONDITIONED,
         "without a preconditioner the iterations are those of the true norm: %d", one.iterations);
  tap_need(p->context, karst_vector_fill_random(start, tap_seed() + 1), "start");
  karst_solver_destroy(preconditioned);
  karst_solver_destroy(plain);
}

/* atol is a norm of the true residual. A target below rounding errors ends the solve, and the solution of b = 0 is
 * zero. */
static void test_ends(const struct problem *p)
{
  tap_settings settings = run_settings(&runs[2], 1e-12);
  settings.atol = 1e-3;
  karst_solver *solver = problem_solver(p, &settings);
  const karst_result absolute = solve(p, solver);
  tap_ok(absolute.reason == KARST_CONVERGED_ATOL && absolute.residual <= 1e-3 && absolute.residual > 1e-7, "atol: %s",
         karst_solver_explain(solver));
  tap_need(p->context, karst_solver_set_tolerances(solver, 0, 0, 10000), "no target");
  const karst_result none = solve(p, solver);
  tap_ok(none.reason < 0 && none.iterations < 10000 && none.relative_residual < 1e-12, "rtol 0: %s",
         karst_solver_explain(solver));
  tap_need(p->context, karst_solver_set_tolerances(solver, 1e-15, 0, 500), "a small target");
  const karst_result tight = solve(p, solver);
  tap_ok(tight.iterations < 500 && tight.relative_residual < 1e-13, "rtol 1e-15: %s", karst_solver_explain(solver));
  karst_vector *zero = vector_of(p->context, karst_matrix_rows(p->A), 0);
  karst_result nothing = solved(solver, zero, p->x);
  tap_ok(nothing.reason == KARST_CONVERGED_RTOL && nothing.iterations == 0 && nothing.residual == 0, "b = 0: x = 0");
  tap_need(p->context, karst_solver_set_tolerances(solver, 1e-8, 0, 500), "a target");
  tap_need(p->context, karst_vector_fill(p->x, 1e200), "a start whose norm overflows when it is squared");
  nothing = solved(solver, p->b, p->x);
  tap_ok(nothing.reason == KARST_OUT_OF_RANGE, "a start of 1e200: %s", karst_solver_explain(solver));
  karst_vector_destroy(zero);
  karst_solver_destroy(solver);
}

/* A time loop starts each solve from its last solution. A start that cannot be improved has converged to rounding,
 * without an iteration, but only where the residual is small. */
static void test_warm(const struct problem *p, const struct run *run)
{
  tap_settings settings = run_settings(run, 1e-8);
  karst_solver *solver = problem_solver(p, &settings);
  karst_result result = {0};
  const double norm = vector_norm(p->b);
  tap_need(p->context, karst_vector_fill(p->x, 0), "start");
  for (int i = 0; i < 6; i++) {
    result = solved(solver, p->b, p->x);
    const bool rounding = result.reason == KARST_CONVERGED_ROUNDING;
    tap_ok(result.reason > 0 && (!rounding || tap_residual(p->A, p->b, p->x) <= 1e-12 * norm), "%s, solve %d: %s",
           run->precond, i + 1, karst_solver_explain(solver));
  }
  tap_ok(result.reason == KARST_CONVERGED_ROUNDING && result.iterations == 0, "the last one needs no iteration");
  tap_need(p->context, karst_solver_set_tolerances(solver, 1e-8, 1e-6 * norm, 500), "atol");
  result = solved(solver, p->b, p->x);
  tap_ok(result.reason == KARST_CONVERGED_ATOL && result.iterations == 0, "atol is met first: %s",
         karst_solver_explain(solver));
  karst_solver_destroy(solver);
}

/* A NaN in the start, and a matrix that is not positive definite. */
static void test_wrong(karst_context *context)
{
  static const karst_index rows[] = {0, 1, 2}, column[] = {0, 1};
  static const double value[] = {1, -1}, bad[] = {0, NAN};
  tap_settings settings = run_settings(&runs[1], 1e-8);
  struct problem small = problem_of(context, matrix_of(context, 2, 1, rows, column, value), 0);
  karst_solver *solver = problem_solver(&small, &settings);
  karst_result result = problem_solve(&small, solver);
  tap_ok(result.reason < 0, "not positive definite: %s", karst_solver_explain(solver));
  tap_need(context, karst_vector_set(small.x, 2, bad), "start");
  result = solved(solver, small.b, small.x);
  tap_ok(result.reason == KARST_NOT_FINITE && result.block_row == 1, "%s", karst_solver_explain(solver));
  karst_solver_destroy(solver);
  problem_destroy(&small);
}

/* A singular matrix without a solution: x grows along its null space, where any residual is within the rounding errors
 * of A x. No step there is a solution. */
static void test_singular(karst_context *context)
{
  const double value[] = {1, -1, 0, -1, 2, -1, 0, -1, 1}, right[] = {1, 0.5, 0.25};
  const struct run run = {"none", "natural", "none"};
  tap_settings settings = run_settings(&run, 1e-8);
  struct problem p = problem_of(context, matrix_from_rows(context, 3, 1, value), 0);
  tap_need(context, karst_vector_set(p.b, 3, right), "b");
  karst_solver *solver = problem_solver(&p, &settings);
  const karst_result result = problem_solve(&p, solver);
  tap_ok(result.reason < 0 && result.relative_residual <= 1, "a singular matrix: %s", karst_solver_explain(solver));
  karst_solver_destroy(solver);
  problem_destroy(&p);
}

static void test(karst_context *context)
{
  test_singular(context);
  struct problem p = problem_from(context, "poisson2d:23x17", 1, tap_seed());
  start = vector_random(context, p.n, tap_seed() + 1);
  for (int i = 0; i < RUNS; i++) test_meets(&p, &runs[i]);
  const struct run scaled = {"iluk", "rcm", "diagonal"};
  test_meets(&p, &scaled);
  for (int i = 0; i < RUNS; i++) test_warm(&p, &runs[i]);
  const struct run reduced = {"rrb", "natural", "none"};
  test_warm(&p, &scaled);
  test_warm(&p, &reduced);
  test_plain(&p);
  test_ends(&p);
  test_wrong(context);
  karst_vector_destroy(start);
  problem_destroy(&p);
}

int main(void)
{
  tap_each_device(test, "the preconditioned norm");
  tap_ok(strcmp(karst_reason_text(KARST_CONVERGED_PRECONDITIONED), "converged in the preconditioned norm") == 0,
         "the reason has its own text");
  return tap_done();
}
