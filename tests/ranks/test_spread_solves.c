/* Every driver solves a matrix spread over ranks, to the same x and with the same outcome, iterations and bits on all
 * ranks and in every run. With preconditioners that do not depend on how the rows are spread, the iterations are those
 * of one process, with scaling too. */
#include "tests/ranks/spread_system.h"
#include "tests/support/problem.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct task {
  struct spread s;
  const char *const *options;
  int iterations; /* of one process; -1: any */
};

static void solve(struct team_rank *rank, const struct spread *s, karst_solver *solver, karst_result *result,
                  double **solution)
{
  karst_vector *b = spread_vector(rank, s, s->rhs), *x = spread_vector(rank, s, NULL);
  karst_vector_fill(x, 0);
  memset(result, 0, sizeof *result);
  team_need(rank, karst_solver_solve(solver, b, x, result), "a solve");
  *solution = spread_join(rank, s, x);
  karst_vector_destroy(b);
  karst_vector_destroy(x);
}

static karst_solver *make(struct team_rank *rank, const struct task *task)
{
  karst_options *options;
  karst_solver *solver = NULL;
  team_need(rank, karst_options_create(rank->context, &options), "options");
  for (const char *const *pair = task->options; *pair; pair += 2)
    team_need(rank, karst_options_set(options, pair[0], pair[1]), pair[0]);
  team_need(rank, karst_solver_create(rank->context, options, &solver), "a solver");
  karst_options_destroy(options);
  return solver;
}

static void body(struct team_rank *rank)
{
  const struct task *task = rank->user;
  const struct spread *s = &task->s;
  karst_matrix *A;
  karst_result result, again;
  double *x, *repeated;
  if (!team_need(rank, spread_matrix(rank, s, &A), "a distributed matrix")) return;
  karst_solver *solver = make(rank, task);
  if (team_same(rank, karst_solver_setup(solver, A))) {
    team_ok(rank, false, "set-up: %s", karst_context_error(rank->context));
  } else {
    double far = 0, all[TEAM_MOST] = {0};
    solve(rank, s, solver, &result, &x);
    solve(rank, s, solver, &again, &repeated);
    for (int64_t i = 0; i < s->n; i++) far = fmax(far, fabs(x[i] - s->x[i]));
    team_ok(rank, result.reason > 0, "%s", karst_solver_explain(solver));
    team_ok(rank, far < 1e-5, "the solution is that of one process: %g", far);
    team_ok(rank, memcmp(x, repeated, (size_t)s->n * sizeof *x) == 0, "the second solve has the same bits");
    const double own = result.iterations + result.relative_residual;
    team_gather(rank, &own, sizeof own, all);
    for (int r = 0; r < rank->ranks; r++) team_ok(rank, all[r] == all[0], "the outcome is that of rank %d", r);
    if (task->iterations >= 0)
      team_ok(rank, abs(result.iterations - task->iterations) <= 1, "%d iterations, and %d of one process",
              result.iterations, task->iterations);
    free(x);
    free(repeated);
  }
  karst_solver_destroy(solver);
  karst_matrix_destroy(A);
}

static int iterations_of_one(const struct spread *s, const char *const *options)
{
  karst_solver *solver = solver_from(s->context, options);
  karst_vector *b, *x;
  tap_need(s->context, karst_vector_create(s->context, s->n, &b), "b");
  tap_need(s->context, karst_vector_create(s->context, s->n, &x), "x");
  tap_need(s->context, karst_vector_set(b, s->n, s->rhs), "b");
  karst_vector_fill(x, 0);
  tap_need(s->context, karst_solver_setup(solver, s->A), "set-up");
  const karst_result result = solved(solver, b, x);
  karst_vector_destroy(b);
  karst_vector_destroy(x);
  karst_solver_destroy(solver);
  return result.iterations;
}

static void run(karst_context *context, const char *spec, int block, int ranks, bool same, const char *const *options)
{
  struct task task = {spread_of(context, matrix_from(context, spec, block), ranks, ranks == 3), options, -1};
  if (same) task.iterations = iterations_of_one(&task.s, options);
  char what[200];
  snprintf(what, sizeof what, "%s, %s with %s", spec, options[1], options[3]);
  team_each_device(ranks, body, &task, what);
  spread_destroy(&task.s);
}

int main(void)
{
  static const char *const drivers[] = {"bicgstab", "gmres", "fgmres", "orthomin", "richardson", "auto", "cg"};
  karst_context *context = tap_context();
  for (int i = 0; i < 7; i++) {
    const bool slow = strcmp(drivers[i], "richardson") == 0;
    const char *const jacobi[] = {"solver", drivers[i], "precond", "jacobi", NULL};
    const char *const iluk[] = {"solver", drivers[i], "precond", "iluk", "level", "1", "rtol", "1e-10", NULL};
    if (!slow) run(context, "poisson3d:8x7x6", 0, 2, i > 0, jacobi);
    run(context, "poisson3d:8x7x6", 0, 3, false, iluk);
    if (!slow && strcmp(drivers[i], "cg") != 0) run(context, "blackoil:6x5x4", 0, 4, false, iluk);
  }
  run(context, "blackoil:6x5x4", 0, 2, false,
      PAIRS("solver", "gmres", "precond", "iluk", "ordering", "rcm", "rtol", "1e-10"));
  run(context, "blackoil:6x5x4", 0, 5, false,
      PAIRS("solver", "gmres", "precond", "dilu", "orthogonalise", "twice", "restart", "12", "rtol", "1e-10"));
  run(context, "poisson3d:8x7x6", 0, 2, false, PAIRS("solver", "cg", "precond", "amg", "rtol", "1e-10"));
  run(context, "blackoil:6x5x4", 0, 2, false, PAIRS("solver", "bicgstab", "precond", "cpr", "rtol", "1e-10"));
  run(context, "blackoil:6x5x4", 0, 3, false,
      PAIRS("solver", "bicgstab", "precond", "ras", "overlap", "0", "local", "cpr", "rtol", "1e-10"));
  for (int i = 0; i < 4; i++) {
    const char *const cpr[] = {"solver",      i % 2 ? "gmres" : "bicgstab",
                               "precond",     "cpr",
                               "first",       "jacobi",
                               "second",      "jacobi",
                               "rtol",        "1e-10",
                               "ordering",    i < 2 ? "natural" : "rcm",
                               "cpr-balance", i == 3 ? "5" : "0",
                               NULL};
    run(context, "blackoil:6x5x4", 0, 2 + i % 3, i % 2 == 1, cpr);
  }
  for (int i = 0; i < 2; i++) {
    const char *const scale = i ? "diagonal" : "block";
    const bool same = true;
    run(context, "blackoil:6x5x4", 0, 3, same,
        PAIRS("solver", "gmres", "precond", "jacobi", "scale", scale, "rtol", "1e-10"));
    run(context, "blackoil:6x5x4", 0, 2, !same,
        PAIRS("solver", "bicgstab", "precond", "ras", "scale", scale, "ordering", "rcm", "rtol", "1e-10"));
  }
  run(context, "poisson3d:8x7x6", 0, 4, true, PAIRS("solver", "cg", "precond", "jacobi", "scale", "diagonal"));
  karst_context_destroy(context);
  return tap_done();
}
