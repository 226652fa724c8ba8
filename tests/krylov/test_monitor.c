/* test_monitor.c - a monitor decides: it accepts or stops at the current iterate, and receives its true residual. */

#include "tests/support/problem.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static const char *const solvers[] = {"gmres", "fgmres", "bicgstab", "cg", "orthomin", "richardson"};

enum { SOLVERS = 6, AT = 7 };

/* The systems that a driver works on: the caller's, one in another order, a scaled one. */
static const struct way {
  const char *ordering, *scale, *side;
} ways[] = {{"natural", "none", "right"}, {"rcm", "none", "left"}, {"rcm", "diagonal", "right"}};

/* Decides at an iteration, or at a residual of at most "enough". */
struct decision {
  int at;
  double enough;
  int decision;
  int last; /* the last iteration for which it was called */
};

static karst_decision decide_at(void *user, int iteration, double residual)
{
  struct decision *made = user;
  made->last = iteration;
  return iteration == made->at || residual <= made->enough ? (karst_decision)made->decision : KARST_GO_ON;
}

static struct decision decide(int decision, int at) { return (struct decision){at, -1, decision, -1}; }

static karst_solver *make_solver(const struct problem *p, const char *solver, const struct way *way, int max_iterations)
{
  tap_settings settings = settings_for(solver, "jacobi");
  settings.ordering = way->ordering;
  settings.scale = way->scale;
  settings.side = strcmp(solver, "gmres") == 0 ? way->side : "right";
  settings.rtol = 1e-10;
  settings.max_iterations = max_iterations;
  return problem_solver(p, &settings);
}

/* Solves from start in each element; x in p and in the array returned, which the caller frees. */
static double *solve(const struct problem *p, karst_solver *solver, double start, karst_status expected,
                     karst_result *result)
{
  tap_need(p->context, karst_vector_fill(p->x, start), "start");
  karst_status status = karst_solver_solve(solver, p->b, p->x, result);
  if (status != expected)
    tap_ok(false, "the solve returns \"%s\", not \"%s\"", karst_status_text(expected), karst_status_text(status));
  return vector_on_host(p->x);
}

/* A solve that a monitor ends after AT iterations leaves the x of a solve with that iteration limit, in every bit. */
static void test_iterate(const struct problem *p, const char *name, const struct way *way)
{
  static const struct {
    int decision;
    karst_reason reason;
    const char *says;
  } cases[] = {{KARST_ACCEPT, KARST_CONVERGED_MONITOR, "accepted by the monitor after 7 iterations: the true residual"},
               {KARST_STOP, KARST_STOPPED, "not converged after 7 iterations: stopped by the monitor; the true"}};
  karst_solver *limited = make_solver(p, name, way, AT), *solver = make_solver(p, name, way, 1000);
  karst_result limit, result;
  double *wanted = solve(p, limited, 0, KARST_SUCCESS, &limit);
  for (int c = 0; c < 2; c++) {
    struct decision user = decide(cases[c].decision, AT);
    karst_solver_monitor(solver, decide_at, &user);
    double *x = solve(p, solver, 0, KARST_SUCCESS, &result);
    const double residual = tap_residual(p->A, p->b, p->x);
    tap_ok(result.reason == cases[c].reason && result.iterations == AT && user.last == AT &&
               strstr(karst_solver_explain(solver), cases[c].says),
           "%s, %s, %s: %s", name, way->ordering, way->scale, karst_solver_explain(solver));
    tap_ok(limit.reason == KARST_ITERATION_LIMIT && memcmp(x, wanted, (size_t)p->n * sizeof *x) == 0 &&
               fabs(result.residual - residual) <= 1e-10 * residual,
           "with the x of iteration %d, and its true residual %.3e", AT, residual);
    free(x);
  }
  karst_solver_monitor(solver, NULL, NULL);
  result = problem_solve(p, solver);
  tap_ok(result.reason == KARST_CONVERGED_RTOL && result.iterations > AT, "a solve without a monitor goes on");
  free(wanted);
  karst_solver_destroy(solver);
  karst_solver_destroy(limited);
}

/* A decision at iteration 0 leaves the start as it is. */
static void test_start(const struct problem *p, const char *name, const struct way *way)
{
  karst_solver *solver = make_solver(p, name, way, 1000);
  for (int decision = KARST_ACCEPT; decision <= KARST_STOP; decision++) {
    struct decision user = decide(decision, 0);
    karst_result result;
    karst_solver_monitor(solver, decide_at, &user);
    double *x = solve(p, solver, 0.3, KARST_SUCCESS, &result), changed = 0;
    const double residual = tap_residual(p->A, p->b, p->x);
    for (int64_t i = 0; i < p->n; i++) changed += x[i] != 0.3;
    tap_ok(result.reason == (decision == KARST_ACCEPT ? KARST_CONVERGED_MONITOR : KARST_STOPPED) &&
               result.iterations == 0 && changed == 0 && fabs(result.residual - residual) <= 1e-10 * residual,
           "%s, %s, %s: the start is %s", name, way->ordering, way->scale, karst_reason_text(result.reason));
    free(x);
  }
  karst_solver_destroy(solver);
}

/* If the monitor accepts an iterate that also meets a target, the reason is the target's. */
static void test_targets(const struct problem *p, const char *name)
{
  karst_solver *solver = make_solver(p, name, &ways[0], 1000);
  karst_result result;
  const double norm = vector_norm(p->b);
  struct decision loose = {-1, 1e-4 * norm, KARST_ACCEPT, -1}, tight = {-1, 1e-10 * norm, KARST_STOP, -1};
  karst_solver_monitor(solver, decide_at, &loose);
  result = problem_solve(p, solver);
  tap_ok(result.reason == KARST_CONVERGED_MONITOR && result.relative_residual <= 1.01e-4 &&
             result.relative_residual > 1e-10,
         "%s: a monitor that accepts a larger residual: %.2e", name, result.relative_residual);
  karst_solver_monitor(solver, decide_at, &tight);
  result = problem_solve(p, solver);
  tap_ok(result.reason == KARST_CONVERGED_RTOL, "%s: rtol is the reason, whatever the monitor decides: %s", name,
         karst_reason_text(result.reason));
  tap_need(p->context, karst_solver_set_tolerances(solver, 1e-10, 2 * norm, 1000), "atol");
  struct decision first = decide(KARST_STOP, 0);
  karst_solver_monitor(solver, decide_at, &first);
  result = problem_solve(p, solver);
  tap_ok(result.reason == KARST_CONVERGED_ATOL && result.iterations == 0, "%s: atol is the reason, too", name);
  karst_solver_destroy(solver);
}

/* A monitor that returns an invalid decision is an error of the program. */
static void test_no_decision(const struct problem *p, const char *name, const struct way *way)
{
  karst_solver *solver = make_solver(p, name, way, 1000);
  for (int at = 0; at <= AT; at += AT) {
    struct decision user = decide(9, at);
    karst_result result;
    karst_solver_monitor(solver, decide_at, &user);
    free(solve(p, solver, 0, KARST_ERROR_ARGUMENT, &result));
    const double residual = tap_residual(p->A, p->b, p->x);
    tap_ok(strstr(karst_context_error(p->context), "the monitor returned 9") && result.reason == KARST_SOUND &&
               result.iterations == at && fabs(result.residual - residual) <= 1e-10 * residual,
           "%s, %s, %s: %s", name, way->ordering, way->scale, karst_context_error(p->context));
    const double norm = vector_norm(p->b);
    tap_ok(at > 0 ? residual < norm : residual == norm || fabs(residual / norm - 1) < 1e-14,
           "x is the best iterate so far: %.3e of %.3e", residual, norm);
  }
  karst_solver_destroy(solver);
}

/* Changes the system during the solve, and accepts an iterate of the first system. */
struct change {
  karst_matrix *A;
  const double *value;
};

static karst_decision change(void *user, int iteration, double residual)
{
  struct change *to = user;
  (void)residual;
  if (iteration == AT) tap_need(NULL, karst_matrix_update_values(to->A, to->value), "new values");
  return iteration > AT ? KARST_ACCEPT : KARST_GO_ON;
}

/* An iterate that is worse than the start is not returned, even if it was accepted. */
static void test_worse_iterate(struct problem *p, const char *name)
{
  double *value = values_on_host(p->A), *back = values_on_host(p->A);
  for (int64_t k = 0; k < karst_matrix_entries(p->A); k++) value[k] *= 100;
  karst_solver *solver = make_solver(p, name, &ways[0], 1000);
  struct change user = {p->A, value};
  karst_result result;
  double nonzero = 0;
  karst_solver_monitor(solver, change, &user);
  double *x = solve(p, solver, 0, KARST_SUCCESS, &result);
  for (int64_t i = 0; i < p->n; i++) nonzero += x[i] != 0;
  const double norm = vector_norm(p->b);
  tap_ok(result.reason == KARST_CONVERGED_MONITOR && nonzero == 0 && fabs(result.residual - norm) <= 1e-12 * norm,
         "%s: the start is returned, as the accepted iterate is worse: %s", name, karst_solver_explain(solver));
  tap_need(p->context, karst_matrix_update_values(p->A, back), "old values");
  free(x);
  free(back);
  free(value);
  karst_solver_destroy(solver);
}

/* A NaN in the start and a singular block end the solve before any decision. */
static void test_unfit(karst_context *context)
{
  static const double singular[] = {0, 1, 1, 2}, regular[] = {3, 1, 1, 2}, none[] = {NAN, 0};
  for (int bad = 0; bad < 2; bad++) {
    struct decision user = decide(KARST_ACCEPT, 0);
    struct problem p = problem_of(context, matrix_from_rows(context, 2, 1, bad ? regular : singular), 0);
    karst_solver *solver = solver_from(context, PAIRS(NULL));
    if (bad) tap_need(context, karst_vector_set(p.x, 2, none), "x");
    karst_solver_monitor(solver, decide_at, &user);
    tap_need(context, karst_solver_setup(solver, p.A), "setup");
    const karst_result result = solved(solver, p.b, p.x);
    tap_ok(result.reason == (bad ? KARST_NOT_FINITE : KARST_SINGULAR_BLOCK), "an accepting monitor changes nothing: %s",
           karst_reason_text(result.reason));
    karst_solver_destroy(solver);
    problem_destroy(&p);
  }
}

static void test_all(karst_context *context)
{
  struct problem p = problem_from(context, "poisson3d:9x8x7", 1, tap_seed());
  for (int s = 0; s < SOLVERS; s++) {
    for (size_t w = 0; w < sizeof ways / sizeof ways[0]; w++) {
      test_iterate(&p, solvers[s], &ways[w]);
      test_start(&p, solvers[s], &ways[w]);
      test_no_decision(&p, solvers[s], &ways[w]);
    }
    test_targets(&p, solvers[s]);
    test_worse_iterate(&p, solvers[s]);
  }
  problem_destroy(&p);
  test_unfit(context);
}

int main(void)
{
  tap_each_device(test_all, "monitors that decide");
  return tap_done();
}
