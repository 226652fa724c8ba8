/* Multigrid over ranks whose finest level is gathered on each of them is that of one process: M^-1 r is the same up to
 * rounding, in the caller's order of rows and in another one. */
#include "tests/ranks/spread_system.h"
#include "tests/support/problem.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct task {
  struct spread s;
  const char *const *options;
  double *expected; /* [n] M^-1 rhs of one process */
};

/* The largest difference from what is expected, relative to the largest element. */
static double find_error(struct team_rank *rank, const struct task *task, const karst_vector *z)
{
  double *got = spread_join(rank, &task->s, z);
  const double error = relative_difference(task->s.n, got, task->expected);
  free(got);
  return error;
}

/* A GPU has other roundings, which the inverse of a last level in float multiplies. */
static void apply_is_that_of_one(struct team_rank *rank)
{
  const struct task *task = rank->user;
  const struct spread *s = &task->s;
  const bool cuda = strncmp(karst_context_device(rank->context), "cuda", 4) == 0;
  const double tolerance = !cuda ? 1e-14 : strcmp(task->options[1], "float") == 0 ? 1e-3 : 1e-9;
  karst_options *options = spread_options(rank, task->options);
  karst_matrix *A = NULL;
  karst_precond *M = NULL;
  karst_vector *r = spread_vector(rank, s, s->rhs), *z = spread_vector(rank, s, NULL);
  if (team_need(rank, spread_matrix(rank, s, &A), "the matrix") &&
      team_need(rank, karst_precond_create(rank->context, options, A, &M), "amg"))
    for (int turn = 0; turn < 2; turn++) {
      const long before = rank->memory.calls;
      team_need(rank, karst_precond_apply(M, r, z), "apply");
      team_ok(rank, rank->memory.calls == before, "an apply allocates nothing");
      const double error = find_error(rank, task, z);
      team_ok(rank, error <= tolerance, "z is that of one process, not %.1e from it", error);
      team_need(rank, karst_precond_update(M), "an update");
    }
  karst_precond_destroy(M);
  karst_matrix_destroy(A);
  karst_options_destroy(options);
  karst_vector_destroy(r);
  karst_vector_destroy(z);
}

/* A level of at most 512 rows is inverted, so that one step of richardson ends at the solution, also where the solver
 * has permuted the rows of each rank. */
static void step_is_solution(struct team_rank *rank)
{
  const struct task *task = rank->user;
  const struct spread *s = &task->s;
  karst_matrix *A = NULL;
  karst_result result;
  karst_solver *solver = spread_solver(rank, task->options);
  karst_vector *b = spread_vector(rank, s, s->rhs), *x = spread_vector(rank, s, NULL);
  if (team_need(rank, spread_matrix(rank, s, &A), "the matrix") &&
      team_need(rank, karst_solver_setup(solver, A), "set-up")) {
    karst_vector_fill(x, 0);
    team_need(rank, karst_solver_solve(solver, b, x, &result), "a solve");
    const double error = find_error(rank, task, x);
    team_ok(rank, error <= 1e-4, "the step is the solution, not %.1e from it", error);
  }
  karst_solver_destroy(solver);
  karst_matrix_destroy(A);
  karst_vector_destroy(b);
  karst_vector_destroy(x);
}

static void test_apply(karst_context *context, const char *spec, int ranks, const char *const *options)
{
  struct task task = {spread_of(context, matrix_from(context, spec, 1), ranks, ranks % 2 == 1), options, NULL};
  karst_precond *M = precond_from(context, options, task.s.A);
  char what[200];
  task.expected = applied(M, task.s.rhs);
  snprintf(what, sizeof what, "%s, %s of %s", spec, options[1], options[3]);
  team_each_device(ranks, apply_is_that_of_one, &task, what);
  free(task.expected);
  karst_precond_destroy(M);
  spread_destroy(&task.s);
}

static void test_order(karst_context *context, const char *spec, int ranks)
{
  struct task task = {spread_of(context, matrix_from(context, spec, 1), ranks, ranks % 2 == 1),
                      PAIRS("solver", "richardson", "precond", "amg", "ordering", "rcm", "amg-coarse-rows", "512",
                            "max-iterations", "1"),
                      NULL};
  char what[200];
  task.expected = task.s.x;
  snprintf(what, sizeof what, "%s in another order", spec);
  team_each_device(ranks, step_is_solution, &task, what);
  spread_destroy(&task.s);
}

int main(void)
{
  karst_context *context = tap_context();
  for (int ranks = 1; ranks <= 4; ranks++)
    for (int i = 0; i < 4; i++) {
      const char *const options[] = {"amg-precision",
                                     i % 2 ? "double" : "float",
                                     "amg-coarsening",
                                     i / 2 ? "aggregation" : "pmis",
                                     "precond",
                                     "amg",
                                     NULL};
      test_apply(context, ranks % 2 ? "poisson3d:11x10x9" : "convdiff:9x8x7", ranks, options);
    }
  const char *const *const stages =
      PAIRS("first.amg-precision", "double", "first", "amg", "second", "jacobi", "precond", "two-stage");
  test_apply(context, "poisson3d:11x10x9", 3, stages);
  for (int ranks = 2; ranks <= 4; ranks++) test_order(context, "convdiff:8x7x6", ranks);
  karst_context_destroy(context);
  return tap_done();
}
