/* Multigrid over ranks solves whatever the ranks share: ranks without rows, with one, without couplings between them, a
 * dense row over all of them; with few levels, and beside other preconditioners. */
#include "tests/ranks/spread_system.h"
#include "tests/support/amg_systems.h"
#include "tests/support/multigrid.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct task {
  struct spread s;
  const char *const *options;
  const char *warning; /* that set-up gives; NULL: none */
};

static void solve(struct team_rank *rank)
{
  const struct task *task = rank->user;
  const struct spread *s = &task->s;
  struct warnings warnings = {0};
  karst_matrix *A = NULL;
  karst_result result = {.iterations = 0};
  karst_solver *solver = spread_solver(rank, task->options);
  karst_vector *b = spread_vector(rank, s, s->rhs), *x = spread_vector(rank, s, NULL);
  karst_context_set_message(rank->context, keep_warning, &warnings);
  team_need(rank, spread_matrix(rank, s, &A), "the matrix");
  if (team_need(rank, karst_solver_setup(solver, A), "set-up"))
    for (int turn = 0; turn < 2; turn++) {
      karst_vector_fill(x, 0);
      team_need(rank, karst_solver_solve(solver, b, x, &result), "a solve");
      team_ok(rank, result.reason > 0, "%s", karst_solver_explain(solver));
      double *got = spread_join(rank, s, x);
      const double error = relative_difference(s->n, got, s->x);
      team_ok(rank, error <= 1e-6, "x is the solution, not %.1e from it", error);
      free(got);
      team_need(
          rank,
          karst_matrix_update_values(A, karst_matrix_value(s->A) + karst_matrix_row_start(s->A)[s->first[rank->rank]]),
          "the values again");
      team_need(rank, karst_solver_update(solver), "an update");
    }
  team_ok(rank, task->warning ? strstr(warnings.text, task->warning) != NULL : warnings.count == 0, "warning: \"%s\"",
          warnings.text);
  karst_vector_destroy(b);
  karst_vector_destroy(x);
  karst_solver_destroy(solver);
  karst_matrix_destroy(A);
}

/* Solves with so many rows on each rank; without rows, evenly. */
static void test_rows(karst_context *context, karst_matrix *A, int ranks, const karst_index *rows,
                      const char *const *options, const char *warning, const char *what)
{
  struct task task = {.s = spread_of(context, A, ranks, false), .options = options, .warning = warning};
  for (int r = 0; r < ranks && rows; r++) task.s.first[r + 1] = task.s.first[r] + rows[r];
  team_each_device(ranks, solve, &task, what);
  spread_destroy(&task.s);
}

/* A chain of n rows that is cut behind every part rows. With a positive coupling nothing can be coarsened. */
static karst_matrix *chains(karst_context *context, karst_index n, karst_index part, double coupling)
{
  struct copy A = copy_empty(n, 3 * (int64_t)n);
  for (karst_index i = 0; i < n; i++) {
    if (i % part > 0) copy_add(&A, i, i - 1, coupling);
    copy_add(&A, i, i, 2.25);
    if (i % part + 1 < part && i + 1 < n) copy_add(&A, i, i + 1, coupling);
  }
  karst_matrix *matrix = matrix_of(context, n, 1, A.start, A.column, A.value);
  copy_free(&A);
  return matrix;
}

/* A system of a name, as amg_systems.h has them. */
static karst_matrix *named(karst_context *context, const char *name)
{
  struct copy A = copy_make(context, name);
  karst_matrix *matrix = matrix_of(context, A.rows, 1, A.start, A.column, A.value);
  copy_free(&A);
  return matrix;
}

static void test_shares(karst_context *context, const char *const *options, const char *what)
{
  static const karst_index rows[][4] = {{0, 512, 0, 0}, {0, 200, 0, 312}, {1, 0, 510, 1},
                                        {1, 1, 1, 509}, {509, 1, 1, 1},   {0, 0, 0, 512}};
  char name[200];
  for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
    snprintf(name, sizeof name, "%lld, %lld, %lld and %lld rows, %s", (long long)rows[i][0], (long long)rows[i][1],
             (long long)rows[i][2], (long long)rows[i][3], what);
    test_rows(context, matrix_from(context, "poisson3d:8x8x8", 1), 4, rows[i], options, NULL, name);
  }
  test_rows(context, matrix_from(context, "poisson2d:2x2", 1), 4, NULL, options, NULL, "a row each");
  test_rows(context, matrix_from(context, "poisson2d:2x2", 1), 8, NULL, options, NULL, "more ranks than rows");
  test_rows(context, chains(context, 400, 100, -1), 4, NULL, options, NULL, "ranks without couplings");
  test_rows(context, chains(context, 400, 200, -1), 4, NULL, options, NULL, "ranks with couplings in pairs");
  test_rows(context, chains(context, 60, 1, -1), 3, NULL, options, NULL, "a diagonal matrix");
  test_rows(context, named(context, "hub:1400"), 3, NULL, options, NULL, "a dense row over all ranks");
  test_rows(context, named(context, "centre:900"), 3, NULL, options, NULL, "a dense row and a dense column");
  test_rows(context, named(context, "dense:300"), 3, NULL, options, NULL, "a dense matrix");
}

int main(void)
{
  karst_context *context = tap_context();
  for (int i = 0; i < 4; i++) {
    const char *const rows[] = {"0", "1", "16", "16384"};
    const char *const options[] = {"solver",
                                   "gmres",
                                   "precond",
                                   "amg",
                                   "amg-gather-rows",
                                   rows[i],
                                   "amg-coarse-rows",
                                   "8",
                                   "amg-coarsening",
                                   i % 2 ? "aggregation" : "pmis",
                                   "rtol",
                                   "1e-10",
                                   NULL};
    char what[60];
    snprintf(what, sizeof what, "gathered at %s rows", rows[i]);
    test_shares(context, options, what);
  }
  const char *const short_cut[] = {"solver",          "cg", "precond", "amg",   "amg-levels", "2",
                                   "amg-gather-rows", "1",  "rtol",    "1e-10", NULL};
  test_rows(context, matrix_from(context, "poisson3d:14x14x14", 1), 3, NULL, short_cut, "coarsening ended at level 1",
            "two levels");
  test_rows(context, matrix_from(context, "convdiff:9x8x7", 1), 4, NULL,
            PAIRS("solver", "gmres", "precond", "amg", "amg-gather-rows", "50", "ordering", "rcm", "rtol", "1e-10"),
            NULL, "rows in another order");
  test_rows(context, matrix_from(context, "convdiff:7x6x5", 1), 3, NULL,
            PAIRS("solver", "gmres", "precond", "two-stage", "first", "amg", "first.amg-gather-rows", "50", "second",
                  "ras", "rtol", "1e-10"),
            NULL, "the first of two stages");
  test_rows(context, matrix_from(context, "poisson3d:9x8x7", 1), 3, NULL,
            PAIRS("solver", "gmres", "precond", "two-stage", "first", "iluk", "second", "amg", "second.amg-gather-rows",
                  "50", "rtol", "1e-10"),
            NULL, "the second of two stages");
  test_rows(context, chains(context, 70000, 70000, 0.5), 3, NULL,
            PAIRS("solver", "gmres", "precond", "amg", "rtol", "1e-10"), "coarsening ended at level 0",
            "more rows than are gathered");
  karst_context_destroy(context);
  return tap_done();
}
