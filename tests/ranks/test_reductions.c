/* How many reductions over the ranks an iteration of each driver takes: the difference between two solves that end at
 * their iteration limits. The residuals are those of one process, up to rounding, also where a step leaves nothing
 * of the residual. */
#include "tests/ranks/spread_system.h"
#include "tests/support/problem.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

enum { SHORT = 4, LONG = 12 };

struct task {
  struct spread s;
  const char *const *options;
  int reductions;         /* most of an iteration */
  double norms[LONG + 1]; /* of one process, after each iteration */
};

static karst_decision note(void *user, int iteration, double residual)
{
  double *norms = user;
  if (iteration <= LONG) norms[iteration] = residual;
  return KARST_GO_ON;
}

static void body(struct team_rank *rank)
{
  const struct task *task = rank->user;
  const struct spread *s = &task->s;
  karst_matrix *A = NULL;
  karst_solver *solver = spread_solver(rank, task->options);
  long gathers[2];
  double norms[LONG + 1];
  team_need(rank, spread_matrix(rank, s, &A), "the matrix");
  team_need(rank, karst_solver_setup(solver, A), "set-up");
  karst_vector *b = spread_vector(rank, s, s->rhs), *x = spread_vector(rank, s, NULL);
  for (int i = 0; i < 2; i++) {
    karst_result result = {.reason = KARST_SOUND};
    karst_vector_fill(x, 0);
    team_need(rank, karst_solver_set_tolerances(solver, 1e-14, 0, i ? LONG : SHORT), "a limit");
    gathers[i] = -rank->gathers;
    team_need(rank, karst_solver_solve(solver, b, x, &result), "a solve");
    gathers[i] += rank->gathers;
    team_ok(rank, result.reason == KARST_ITERATION_LIMIT, "%s", karst_solver_explain(solver));
  }
  team_ok(rank, gathers[1] - gathers[0] <= (long)task->reductions * (LONG - SHORT),
          "%d iterations take %ld reductions, at most %d each", LONG - SHORT, gathers[1] - gathers[0],
          task->reductions);
  karst_solver_monitor(solver, note, norms);
  karst_result result;
  karst_vector_fill(x, 0);
  team_need(rank, karst_solver_solve(solver, b, x, &result), "a solve with a monitor");
  for (int i = 0; i <= LONG; i++)
    team_ok(rank, fabs(norms[i] - task->norms[i]) <= 1e-6 * task->norms[i], "iteration %d: norm %.9e, one process %.9e",
            i, norms[i], task->norms[i]);
  karst_vector_destroy(b);
  karst_vector_destroy(x);
  karst_solver_destroy(solver);
  karst_matrix_destroy(A);
}

static void run(karst_context *context, const char *spec, int ranks, int reductions, const char *const *options)
{
  struct task task = {.s = spread_of(context, matrix_from(context, spec, 0), ranks, false),
                      .options = options,
                      .reductions = reductions};
  karst_solver *solver = solver_from(context, options);
  karst_vector *b, *x;
  tap_need(context, karst_vector_create(context, task.s.n, &b), "b");
  tap_need(context, karst_vector_create(context, task.s.n, &x), "x");
  tap_need(context, karst_vector_set(b, task.s.n, task.s.rhs), "b");
  karst_vector_fill(x, 0);
  tap_need(context, karst_solver_setup(solver, task.s.A), "set-up");
  tap_need(context, karst_solver_set_tolerances(solver, 1e-14, 0, LONG), "a limit");
  karst_solver_monitor(solver, note, task.norms);
  solved(solver, b, x);
  karst_vector_destroy(b);
  karst_vector_destroy(x);
  karst_solver_destroy(solver);
  char what[200];
  snprintf(what, sizeof what, "%s, %s %s", spec, options[1], options[4] ? options[5] : "with its defaults");
  team_each_device(ranks, body, &task, what);
  spread_destroy(&task.s);
}

/* Block Jacobi is the inverse of a diagonal matrix, so the first step leaves only rounding, of which the sums before it
 * have no digit. */
static void solve_at_once(struct team_rank *rank)
{
  const struct task *task = rank->user;
  const struct spread *s = &task->s;
  karst_matrix *A = NULL;
  karst_result result = {.reason = KARST_SOUND};
  karst_solver *solver = spread_solver(rank, task->options);
  karst_vector *b = spread_vector(rank, s, s->rhs), *x = spread_vector(rank, s, NULL);
  karst_vector_fill(x, 0);
  team_need(rank, spread_matrix(rank, s, &A), "the matrix");
  team_need(rank, karst_solver_setup(solver, A), "set-up");
  team_need(rank, karst_solver_solve(solver, b, x, &result), "a solve");
  team_ok(rank, result.reason == KARST_CONVERGED_RTOL && result.iterations == 1, "%s", karst_solver_explain(solver));
  karst_vector_destroy(b);
  karst_vector_destroy(x);
  karst_solver_destroy(solver);
  karst_matrix_destroy(A);
}

static void test_diagonal(karst_context *context)
{
  enum { ROWS = 60 };
  static const char *const drivers[] = {"bicgstab", "cg", "gmres", "orthomin"};
  karst_index start[ROWS + 1] = {0}, column[ROWS];
  double value[ROWS];
  karst_matrix *A;
  for (karst_index i = 0; i < ROWS; i++) {
    start[i + 1] = i + 1;
    column[i] = i;
    value[i] = 1 + tap_random() * tap_random();
  }
  tap_need(context, karst_matrix_create(context, ROWS, 1, start, column, value, KARST_COPY, &A), "a diagonal matrix");
  struct task task = {.s = spread_of(context, A, 3, false)};
  for (int i = 0; i < 4; i++) {
    task.options = PAIRS("solver", drivers[i], "precond", "jacobi", "rtol", "1e-14");
    team_each_device(3, solve_at_once, &task, drivers[i]);
  }
  spread_destroy(&task.s);
}

int main(void)
{
  const char *const symmetric = "poisson3d:9x8x7", *const general = "convdiff:9x8x7";
  karst_context *context = tap_context();
  for (int ranks = 2; ranks <= 4; ranks++) {
    run(context, symmetric, ranks, 2, PAIRS("solver", "cg", "precond", "jacobi"));
    run(context, symmetric, ranks, 2, PAIRS("solver", "cg", "precond", "jacobi", "norm", "preconditioned"));
    run(context, general, ranks, 2, PAIRS("solver", "bicgstab", "precond", "jacobi"));
    run(context, general, ranks, 2, PAIRS("solver", "gmres", "precond", "jacobi", "orthogonalise", "once"));
    run(context, general, ranks, 2, PAIRS("solver", "orthomin", "precond", "jacobi", "orthogonalise", "once"));
    run(context, general, ranks, 3, PAIRS("solver", "orthomin", "precond", "jacobi", "orthogonalise", "twice"));
    run(context, general, ranks, 3, PAIRS("solver", "orthomin", "precond", "jacobi", "restart", "3"));
  }
  test_diagonal(context);
  karst_context_destroy(context);
  return tap_done();
}
