/* Multigrid over ranks is a linear operator that does not change, symmetric for a symmetric matrix, whatever the cycle
 * and the smoother, and cg takes hardly more iterations with it on more ranks. */
#include "tests/ranks/spread_system.h"
#include "tests/support/multigrid.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct task {
  struct spread s;
  const char *const *options;
  bool symmetric;
  double *other[2]; /* [n] right-hand sides */
  int iterations;   /* of cg on one rank */
};

/* z = M^-1 r for r of all ranks, which the caller frees. */
static double *apply(struct team_rank *rank, const karst_precond *M, const double *r)
{
  const struct spread *s = &((const struct task *)rank->user)->s;
  karst_vector *from = spread_vector(rank, s, r), *to = spread_vector(rank, s, NULL);
  karst_vector_fill(to, NAN);
  team_need(rank, karst_precond_apply(M, from, to), "apply");
  double *z = spread_join(rank, s, to);
  karst_vector_destroy(from);
  karst_vector_destroy(to);
  return z;
}

static double dot(int64_t n, const double *x, const double *y)
{
  double sum = 0;
  for (int64_t i = 0; i < n; i++) sum += x[i] * y[i];
  return sum;
}

static void is_linear_operator(struct team_rank *rank)
{
  const struct task *task = rank->user;
  const struct spread *s = &task->s;
  const int64_t n = s->n;
  const double *r = task->other[0], *q = task->other[1];
  karst_options *options = spread_options(rank, task->options);
  karst_matrix *A = NULL;
  karst_precond *M = NULL, *twin = NULL;
  double *sum = tap_memory(n, sizeof *sum);
  team_need(rank, spread_matrix(rank, s, &A), "the matrix");
  team_need(rank, karst_precond_create(rank->context, options, A, &M), "amg");
  team_need(rank, karst_precond_create(rank->context, options, A, &twin), "amg once more");
  for (int64_t i = 0; i < n; i++) sum[i] = 0.375 * r[i] - 2.5 * q[i];
  double *Mr = apply(rank, M, r), *Mq = apply(rank, M, q), *Msum = apply(rank, M, sum), *again = apply(rank, M, r);
  double *same = apply(rank, twin, r), *joined = tap_memory(n, sizeof *joined);
  for (int64_t i = 0; i < n; i++) joined[i] = 0.375 * Mr[i] - 2.5 * Mq[i];
  const double far = relative_difference(n, Msum, joined);
  team_ok(rank, far <= 1e-12, "M^-1 is linear, but for %.1e", far);
  team_ok(rank, memcmp(Mr, again, (size_t)n * sizeof *Mr) == 0, "a second apply has the same bits");
  team_ok(rank, memcmp(Mr, same, (size_t)n * sizeof *Mr) == 0, "another set-up has the same bits");
  const double first = dot(n, q, Mr), second = dot(n, r, Mq);
  const double size = sqrt(dot(n, q, q) * dot(n, Mr, Mr));
  if (task->symmetric)
    team_ok(rank, fabs(first - second) <= 1e-6 * size, "q M^-1 r = r M^-1 q, but for %.1e",
            fabs(first - second) / size);
  if (task->symmetric) team_ok(rank, dot(n, r, Mr) > 0, "r M^-1 r is positive");
  free(sum);
  free(Mr);
  free(Mq);
  free(Msum);
  free(again);
  free(same);
  free(joined);
  karst_precond_destroy(M);
  karst_precond_destroy(twin);
  karst_options_destroy(options);
  karst_matrix_destroy(A);
}

static struct task task_of(karst_context *context, const char *spec, int ranks, const char *const *options)
{
  struct task task = {.s = spread_of(context, matrix_from(context, spec, 1), ranks, ranks == 3), .options = options};
  for (int i = 0; i < 2; i++) task.other[i] = random_on_host(task.s.n);
  return task;
}

static void task_end(struct task *task)
{
  for (int i = 0; i < 2; i++) free(task->other[i]);
  spread_destroy(&task->s);
}

/* Float levels make A_{l+1} symmetric but for their roundings. */
static void test_operators(karst_context *context)
{
  static const char *const variants[][6] = {
      {"amg-cycle", "v", "amg-smoother", "l1-jacobi", "amg-sweeps", "1"},
      {"amg-cycle", "w", "amg-smoother", "l1-jacobi", "amg-sweeps", "2"},
      {"amg-cycle", "v", "amg-smoother", "jacobi", "amg-coarsening", "aggregation"},
      {"amg-cycle", "w", "amg-smoother", "jacobi", "amg-coarsening", "aggregation"},
      {"amg-cycle", "w", "amg-smoother", "chebyshev", "amg-order", "3"},
      {"amg-cycle", "v", "amg-smoother", "chebyshev", "amg-sweeps", "2"},
  };
  for (size_t v = 0; v < sizeof variants / sizeof *variants; v++)
    for (int ranks = 2; ranks <= 4; ranks++) {
      const char *const options[] = {"precond",
                                     "amg",
                                     "amg-gather-rows",
                                     "30",
                                     "amg-coarse-rows",
                                     "10",
                                     "amg-precision",
                                     ranks == 4 ? "double" : "float",
                                     variants[v][0],
                                     variants[v][1],
                                     variants[v][2],
                                     variants[v][3],
                                     variants[v][4],
                                     variants[v][5],
                                     NULL};
      const char *spec = v % 2 ? "anisotropic:9x8x7,epsz=1e-2" : "poisson3d:9x8x7";
      struct task task = task_of(context, spec, ranks, options);
      char what[200];
      task.symmetric = true;
      snprintf(what, sizeof what, "%s, %s-cycles, %s, %s", spec, variants[v][1], variants[v][3], variants[v][5]);
      team_each_device(ranks, is_linear_operator, &task, what);
      task_end(&task);
    }
  struct task task = task_of(context, "convdiff:8x7x6", 3, PAIRS("precond", "amg", "amg-gather-rows", "30"));
  team_each_device(3, is_linear_operator, &task, "an unsymmetric matrix");
  task_end(&task);
}

/* ---- iterations ---- */

static void solve(struct team_rank *rank)
{
  const struct task *task = rank->user;
  const struct spread *s = &task->s;
  karst_matrix *A = NULL;
  karst_result result = {.iterations = 0};
  karst_solver *solver = spread_solver(rank, task->options);
  karst_vector *b = spread_vector(rank, s, s->rhs), *x = spread_vector(rank, s, NULL);
  karst_vector_fill(x, 0);
  team_need(rank, spread_matrix(rank, s, &A), "the matrix");
  if (team_need(rank, karst_solver_setup(solver, A), "set-up") &&
      team_need(rank, karst_solver_solve(solver, b, x, &result), "a solve")) {
    team_ok(rank, result.reason > 0, "%s", karst_solver_explain(solver));
    team_ok(rank, result.iterations <= task->iterations + 2 + task->iterations / 5, "%d iterations, on one rank %d",
            result.iterations, task->iterations);
  }
  karst_vector_destroy(b);
  karst_vector_destroy(x);
  karst_solver_destroy(solver);
  karst_matrix_destroy(A);
}

static void test_iterations(karst_context *context, const char *spec, const char *driver, const char *coarsening,
                            const char *ordering)
{
  const char *const options[] = {
      "precond",         "amg", "solver", driver, "ordering", ordering, "amg-coarsening", coarsening,
      "amg-gather-rows", "100", "rtol",   "1e-8", NULL};
  for (int ranks = 2; ranks <= 4; ranks++) {
    struct task task = {.s = spread_of(context, matrix_from(context, spec, 1), ranks, false), .options = options};
    const struct problem one = {context, task.s.A, vector_from(context, task.s.n, task.s.rhs),
                                vector_of(context, task.s.n, 0), task.s.n};
    char what[200];
    task.iterations = count_iterations(&one, options);
    snprintf(what, sizeof what, "%s, %s, %s, ordering %s: %d iterations on one rank", spec, driver, coarsening,
             ordering, task.iterations);
    team_each_device(ranks, solve, &task, what);
    karst_vector_destroy(one.b);
    karst_vector_destroy(one.x);
    spread_destroy(&task.s);
  }
}

int main(void)
{
  karst_context *context = tap_context();
  test_operators(context);
  test_iterations(context, "poisson3d:20x20x20", "cg", "pmis", "natural");
  test_iterations(context, "poisson3d:20x20x20", "cg", "aggregation", "natural");
  test_iterations(context, "poisson3d:16x15x14", "cg", "pmis", "rcm");
  test_iterations(context, "anisotropic:16x16x16,epsz=1e-3", "cg", "pmis", "natural");
  test_iterations(context, "convdiff:14x14x14", "bicgstab", "pmis", "natural");
  karst_context_destroy(context);
  return tap_done();
}
