/* The solver gives the dense solution with every ordering, scaling and preconditioner. It follows new values, names
 * block rows in the caller's order, and refuses calls in the wrong order. */
#include "lib/matrix/matrix.h"
#include "tests/support/named_values.h"
#include "tests/support/problem.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static struct problem make_problem(karst_context *context, karst_index rows, int b)
{
  return problem_of(context, tap_random_matrix(context, rows, b, 3, 1), tap_seed());
}

/* Returns the largest error of x relative to the largest entry of the dense solution. */
static double error_of(const struct problem *p)
{
  double *x = vector_on_host(p->x), *dense = tap_dense(p->A), *solution = vector_on_host(p->b);
  tap_dense_solve(p->n, dense, solution);
  const double error = relative_difference(p->n, x, solution);
  free(x);
  free(dense);
  free(solution);
  return error;
}

static karst_solver *make_solver(karst_context *context, const char *const *pairs)
{
  karst_options *options = options_of(context, pairs);
  karst_solver *solver;
  tap_need(context, karst_options_set(options, "rtol", "1e-12"), "rtol");
  tap_need(context, karst_solver_create(context, options, &solver), "solver");
  karst_options_destroy(options);
  return solver;
}

static karst_solver *set_up(const struct problem *p, const char *const *pairs)
{
  karst_solver *solver = make_solver(p->context, pairs);
  tap_need(p->context, karst_solver_setup(solver, p->A), "set-up");
  return solver;
}

/* Returns whether this build has an ordering. */
static bool has_ordering(karst_context *context, const char *name)
{
  struct problem p = make_problem(context, 3, 1);
  karst_solver *solver = make_solver(context, PAIRS("ordering", name));
  bool has = karst_solver_setup(solver, p.A) != KARST_ERROR_NOT_BUILT;
  problem_end(&p, solver);
  return has;
}

static void combinations(karst_context *context)
{
  const char *const orderings[] = {"natural", "rcm", "amd", "metis"}, *const scales[] = {"none", "diagonal", "block"};
  const char *const preconds[] = {"none", "jacobi", "iluk", "parilu"};
  for (int o = 0; o < 4; o++) {
    if (!has_ordering(context, orderings[o])) {
      tap_skip(karst_context_error(context), "ordering %s", orderings[o]);
      continue;
    }
    for (int s = 0; s < 3; s++)
      for (int m = 0; m < 4; m++) {
        struct problem p = make_problem(context, 20, 1 + (o + s + m) % 4);
        karst_solver *solver =
            set_up(&p, PAIRS("ordering", orderings[o], "scale", scales[s], "precond", preconds[m], "level", "1"));
        const karst_result result = problem_solve(&p, solver);
        const double error = error_of(&p);
        tap_ok(result.reason == KARST_CONVERGED_RTOL && result.relative_residual <= 1e-12 && error < 1e-9,
               "%s, scale %s, %s: %d iterations (%.1e)", orderings[o], scales[s], preconds[m], result.iterations,
               error);
        problem_end(&p, solver);
      }
  }
}

/* A solver that was set up for one matrix serves others of the same pattern. */
static void updates(karst_context *context)
{
  const char *const scales[] = {"none", "diagonal", "block"};
  for (int s = 0; s < 3; s++) {
    struct problem p = make_problem(context, 30, 3);
    karst_solver *solver = set_up(&p, PAIRS("scale", scales[s], "ordering", s ? "rcm" : "natural"));
    double worst = 0;
    for (int step = 0; step < 3; step++) {
      double *value = values_on_host(p.A);
      for (int64_t i = 0; i < karst_entries(p.A); i++) value[i] *= 1 + 0.2 * tap_random();
      tap_need(context, karst_matrix_update_values(p.A, value), "new values");
      free(value);
      tap_need(context, karst_solver_update(solver), "update");
      worst = fmax(worst, problem_solve(&p, solver).reason > 0 ? error_of(&p) : INFINITY);
    }
    tap_ok(worst < 1e-9, "three updates, scale %s (%.1e)", scales[s], worst);
    problem_end(&p, solver);
  }
}

/* Block row 3 of a chain is singular. In any elimination order the error names row 3. */
static void singular_row_is_the_callers(karst_context *context)
{
  enum { N = 12, BAD = 3 };
  karst_index start[N + 1] = {0}, column[3 * N];
  double value[3 * N];
  karst_index entries = 0;
  for (karst_index i = 0; i < N; i++) {
    for (karst_index j = i - 1; j <= i + 1; j++) {
      if (j < 0 || j >= N) continue;
      column[entries] = j;
      value[entries++] = i == j ? (i == BAD ? 0 : 4) : i == BAD || j == BAD ? 0 : -1;
    }
    start[i + 1] = entries;
  }
  const char *const settings[][5] = {
      {"ordering", "natural", NULL}, {"ordering", "rcm", NULL}, {"scale", "block", "ordering", "rcm", NULL}};
  for (int i = 0; i < 3; i++) {
    karst_matrix *A;
    double first;
    tap_need(context, karst_matrix_create(context, N, 1, start, column, value, KARST_COPY, &A), "matrix");
    struct problem p = problem_of(context, A, 0);
    karst_solver *solver = set_up(&p, settings[i]);
    const karst_result result = problem_solve_from(&p, solver, 0.5);
    tap_need(context, karst_vector_get(p.x, 1, &first), "get");
    tap_ok(result.reason == KARST_SINGULAR_BLOCK && result.block_row == BAD && first == 0.5 && result.iterations == 0,
           "%s: %s", settings[i][1], karst_solver_explain(solver));
    tap_ok(strstr(karst_solver_explain(solver), "block row 3 ") != NULL, "the explanation names the singular row");
    problem_end(&p, solver);
  }
}

static void out_of_turn(karst_context *context)
{
  struct problem p = make_problem(context, 5, 2);
  karst_solver *solver;
  karst_solver_info info;
  karst_result result;
  tap_need(context, karst_solver_create(context, NULL, &solver), "solver");
  tap_ok(karst_solver_solve(solver, p.b, p.x, &result) == KARST_ERROR_ARGUMENT, "solve before setup is refused");
  tap_ok(karst_solver_update(solver) == KARST_ERROR_ARGUMENT, "update before setup is refused");
  tap_ok(karst_solver_get_info(solver, &info) == KARST_ERROR_ARGUMENT, "information before setup is refused");
  tap_ok(karst_solver_setup(solver, NULL) == KARST_ERROR_ARGUMENT, "setup of NULL is refused");
  tap_need(context, karst_solver_setup(solver, p.A), "setup");
  karst_vector *wrong = vector_of(context, 7, 0);
  tap_ok(karst_solver_solve(solver, wrong, p.x, &result) == KARST_ERROR_ARGUMENT &&
             strcmp(karst_context_error(context),
                    "the matrix has 10 rows, the right-hand side 7 and the solution 10") == 0,
         "a right-hand side of the wrong length is refused");
  tap_ok(karst_solver_solve(solver, p.b, p.b, &result) == KARST_ERROR_ARGUMENT, "one vector as b and x is refused");
  tap_ok(karst_solver_solve(solver, p.b, p.x, NULL) == KARST_ERROR_ARGUMENT, "a NULL result is refused");
  karst_vector_destroy(wrong);
  karst_solver_destroy(NULL);
  problem_end(&p, solver);
}

/* Norms whose squares underflow or overflow must not look like convergence. */
static void out_of_range(karst_context *context)
{
  const double sizes[] = {1e-320, 1e-200, 1e-156, 1e160, 1e300};
  const char *const scales[] = {"none", "diagonal"};
  for (int s = 0; s < 2; s++) {
    struct problem p = make_problem(context, 20, 2);
    karst_solver *solver = set_up(&p, PAIRS("scale", scales[s]));
    for (int i = 0; i < 5; i++) {
      tap_need(context, karst_vector_fill(p.b, sizes[i]), "fill");
      const karst_result result = problem_solve(&p, solver);
      tap_ok(result.reason == KARST_OUT_OF_RANGE && isnan(result.residual), "b of %g, scale %s: %s", sizes[i],
             scales[s], karst_solver_explain(solver));
    }
    tap_need(context, karst_vector_fill(p.b, 1e-130), "fill");
    tap_ok(problem_solve(&p, solver).reason == KARST_CONVERGED_RTOL, "b of 1e-130 is solved");
    tap_need(context, karst_vector_fill(p.b, 0), "fill");
    karst_result result; /* of a solve that starts from the last solution */
    tap_need(context, karst_solver_solve(solver, p.b, p.x, &result), "solve");
    tap_ok(result.residual == 0 || result.reason < 0, "b = 0 is not out of range");
    problem_end(&p, solver);
  }
}

/* The explanation of a NaN that the scaling finds must not come from an earlier solve. */
static void explanations_are_fresh(karst_context *context)
{
  struct problem p = make_problem(context, 10, 2);
  karst_solver *solver = set_up(&p, PAIRS("scale", "block"));
  karst_result result;
  tap_need(context, karst_vector_fill(p.b, NAN), "NaN");
  problem_solve(&p, solver);
  tap_ok(strstr(karst_solver_explain(solver), "right-hand side") != NULL, "a NaN in b: %s",
         karst_solver_explain(solver));
  const int64_t count = karst_entries(p.A);
  double *value = tap_memory(count, sizeof *value);
  for (int64_t i = 0; i < count; i++) value[i] = NAN;
  tap_need(context, karst_matrix_update_values(p.A, value), "NaN in A");
  tap_ok(karst_solver_solve(solver, p.b, p.x, &result) == KARST_ERROR_ARGUMENT, "solve before update is refused");
  tap_need(context, karst_solver_update(solver), "update");
  tap_need(context, karst_vector_fill(p.b, 1), "fill");
  result = problem_solve(&p, solver);
  tap_ok(result.reason == KARST_NOT_FINITE && strstr(karst_solver_explain(solver), "in the matrix, block row 0"),
         "a NaN in A: %s", karst_solver_explain(solver));
  free(value);
  problem_end(&p, solver);
}

static karst_decision count_iterations(void *user, int iteration, double residual)
{
  int *last = user;
  if (!(residual >= 0) || iteration != *last + 1) *last = -1000;
  *last = iteration;
  return KARST_GO_ON;
}

/* The monitor's count goes on through the passes of a scaled solve. */
static void monitor_counts_through(karst_context *context)
{
  struct problem p = make_problem(context, 40, 3);
  karst_solver *solver = set_up(&p, PAIRS("scale", "diagonal"));
  int last = -1;
  karst_solver_monitor(solver, count_iterations, &last);
  const karst_result result = problem_solve(&p, solver);
  tap_ok(last == result.iterations && result.reason > 0, "the monitor sees iterations 0 to %d: %d", result.iterations,
         last);
  problem_end(&p, solver);
}

static void information(karst_context *context)
{
  struct problem p = make_problem(context, 40, 2);
  karst_solver *solver = set_up(&p, PAIRS("level", "0"));
  karst_solver_info info;
  tap_need(context, karst_solver_get_info(solver, &info), "information");
  tap_ok(info.factor_entries == karst_entries(p.A) && info.fill == 1, "ILU(0) has the entries of A");
  const double lower = tap_solver_number(solver, "levels_lower"), upper = tap_solver_number(solver, "levels_upper");
  tap_ok(lower > 0 && lower <= 40 && upper > 0, "level sets are counted");
  tap_ok(info.memory > 8 * karst_entries(p.A), "memory is reported");
  problem_end(&p, solver);
}

int main(void)
{
  tap_each_device(combinations, "orderings, scalings, preconditioners");
  tap_each_device(updates, "updates");
  tap_each_device(singular_row_is_the_callers, "a singular row");
  tap_each_device(out_of_turn, "calls out of turn");
  tap_each_device(information, "information");
  tap_each_device(out_of_range, "norms out of range");
  tap_each_device(explanations_are_fresh, "explanations");
  tap_each_device(monitor_counts_through, "the monitor of a scaled solve");
  return tap_done();
}
