/* How restricted additive Schwarz ends: bad blocks in the overlap of another rank, and failures on one rank, after which
 * all ranks have the same status. */
#include "tests/ranks/spread_system.h"
#include "tests/support/problem.h"

#include <math.h>
#include <string.h>

struct task {
  struct spread s;
  const char *const *options;
  karst_options *shared;
  karst_reason reason;
  karst_index row; /* the expected outcome */
};

static void meet_bad_block(struct team_rank *rank)
{
  const struct task *task = rank->user;
  const struct spread *s = &task->s;
  const int64_t first = karst_matrix_row_start(s->A)[s->first[rank->rank]] * (int64_t)s->b * s->b;
  const double *bad = karst_matrix_value(s->A) + first;
  karst_options *options = spread_options(rank, task->options);
  karst_matrix *A = NULL;
  karst_precond *M = NULL;
  karst_index row;
  team_need(rank, spread_matrix(rank, s, &A), "the matrix");
  const int64_t entries = karst_matrix_blocks(s->A) * s->b * s->b - first;
  double *good = malloc(((size_t)entries + 1) * sizeof *good);
  for (int64_t k = 0; k < entries; k++) good[k] = isfinite(bad[k]) && bad[k] != 0.5 ? bad[k] : 8;
  if (team_need(rank, karst_precond_create(rank->context, options, A, &M), "ras")) {
    for (int turn = 0; turn < 2; turn++) {
      const karst_reason reason = karst_precond_outcome(M, &row);
      team_ok(rank, reason == task->reason && row == task->row, "%s in block row %lld of all",
              karst_reason_text(reason), (long long)row);
      team_need(rank, karst_matrix_update_values(A, good), "good values");
      team_need(rank, karst_precond_update(M), "an update");
      team_ok(rank, karst_precond_outcome(M, &row) == KARST_SOUND && row == -1, "good values are sound");
      team_need(rank, karst_matrix_update_values(A, bad), "bad values");
      team_need(rank, karst_precond_update(M), "an update");
    }
  }
  free(good);
  karst_precond_destroy(M);
  karst_options_destroy(options);
  karst_matrix_destroy(A);
}

/* The same in a solver that orders the rows. */
static void solve_bad_block(struct team_rank *rank)
{
  const struct task *task = rank->user;
  const struct spread *s = &task->s;
  karst_matrix *A = NULL;
  karst_result result = {.reason = KARST_SOUND};
  karst_solver *solver = spread_solver(rank, task->options);
  karst_vector *b = spread_vector(rank, s, s->rhs), *x = spread_vector(rank, s, NULL);
  team_need(rank, spread_matrix(rank, s, &A), "the matrix");
  if (team_need(rank, karst_solver_setup(solver, A), "set-up") &&
      team_need(rank, karst_solver_solve(solver, b, x, &result), "a solve"))
    team_ok(rank, result.reason == task->reason && result.block_row == task->row, "%s", karst_solver_explain(solver));
  karst_vector_destroy(b);
  karst_vector_destroy(x);
  karst_solver_destroy(solver);
  karst_matrix_destroy(A);
}

static void test_outcome(karst_matrix *A, karst_context *context, int ranks, karst_reason reason, karst_index row,
                         const char *const *options, const char *what)
{
  struct task task = {.s = spread_of(context, A, ranks, false), .options = options, .reason = reason, .row = row};
  team_each_device(ranks, meet_bad_block, &task, what);
  team_each_device(ranks, solve_bad_block, &task, what);
  spread_destroy(&task.s);
}

/* Row 2 is singular only after row 0 is eliminated from it, which rank 0 alone does without row 1. */
static void test_outcomes(karst_context *context)
{
  static const karst_index start[] = {0, 2, 4, 7}, column[] = {0, 2, 1, 2, 0, 1, 2};
  static const double overlap[] = {2, 1, 2, 1, 1, 1, 0.5};
  const char *const *const ras = PAIRS("precond", "ras", "ordering", "rcm");
  test_outcome(matrix_of(context, 3, 1, start, column, overlap), context, 3, KARST_SINGULAR_BLOCK, 2, ras,
               "a block that is singular in the overlap of another rank");
  const char *const *const cpr = PAIRS("precond", "cpr", "second", "ras");
  for (karst_index row = 0; row < 60; row += 20) {
    karst_matrix *A = matrix_from(context, "blackoil:5x4x3", 0);
    set_entry(A, row, row, 4, NAN);
    test_outcome(A, context, 3, KARST_NOT_FINITE, row, cpr, "a NaN that the pressures of one rank meet");
  }
  const char *const *const staged = PAIRS("precond", "two-stage", "first", "jacobi", "second", "ras");
  test_outcome(matrix_of(context, 3, 1, start, column, overlap), context, 3, KARST_SINGULAR_BLOCK, 2, staged,
               "the same in the second stage of two");
  for (karst_index row = 0; row < 3; row++) {
    double value[] = {2, 1, 2, 1, 1, 1, 5};
    value[row == 0 ? 0 : row == 1 ? 2 : 6] = NAN;
    test_outcome(matrix_of(context, 3, 1, start, column, value), context, 3, KARST_NOT_FINITE, row, ras,
                 "a diagonal block that is a NaN");
  }
}

/* ---- failures on one rank ---- */

/* Options of another context are copied. */
static karst_status make_and_update(struct team_rank *rank)
{
  const struct task *task = rank->user;
  karst_matrix *A = NULL;
  karst_precond *M = NULL;
  karst_status status = spread_matrix(rank, &task->s, &A);
  if (!status) status = karst_precond_create(rank->context, task->shared, A, &M);
  if (!status) status = karst_precond_update(M);
  karst_precond_destroy(M);
  karst_matrix_destroy(A);
  return status;
}

/* The exchange of an update or an apply fails on rank 1, after all have their data: all fail then, and work later. */
static void fail_exchange(struct team_rank *rank)
{
  const struct task *task = rank->user;
  const struct spread *s = &task->s;
  karst_options *options = spread_options(rank, PAIRS("precond", "ras"));
  karst_matrix *A = NULL;
  karst_precond *M = NULL;
  karst_vector *r = spread_vector(rank, s, s->rhs), *z = spread_vector(rank, s, NULL);
  team_need(rank, spread_matrix(rank, s, &A), "the matrix");
  team_need(rank, karst_precond_create(rank->context, options, A, &M), "ras");
  for (int which = 0; which < 6; which++) {
    const bool update = which < 4;
    /* Before them an update has one gathering, and so has an apply. */
    if (rank->rank == 1) rank->fail_call = rank->calls + (update ? 2 + which : which - 2);
    const karst_status status = update ? karst_precond_update(M) : karst_precond_apply(M, r, z);
    team_ok(rank, team_same(rank, status) == KARST_ERROR_TRANSPORT, "call %d fails: %s", which,
            karst_status_text(status));
    rank->fail_call = 0;
    team_need(rank, karst_precond_update(M), "an update afterwards");
    team_need(rank, karst_precond_apply(M, r, z), "an apply afterwards");
  }
  karst_precond_destroy(M);
  karst_options_destroy(options);
  karst_matrix_destroy(A);
  karst_vector_destroy(r);
  karst_vector_destroy(z);
}

/* A method of the program's that fails on rank 1. */
static karst_status fail_there(karst_precond *p, const karst_vector *r, karst_vector *z)
{
  karst_context *context = karst_precond_context(p);
  if (karst_context_rank(context) != 1) return karst_vector_copy(r, z);
  return karst_context_fail(context, KARST_ERROR_FILE, "the licence ran out");
}

/* An apply that fails in a stage, on one rank, while the others wait for it in the next. */
static void fail_stage(struct team_rank *rank)
{
  const struct task *task = rank->user;
  const struct spread *s = &task->s;
  karst_precond_method method = copying_method("licensed");
  karst_matrix *A = NULL;
  karst_vector *r = spread_vector(rank, s, s->rhs), *z = spread_vector(rank, s, NULL);
  method.apply = fail_there;
  team_need(rank, karst_precond_register(rank->context, &method), "registration");
  team_need(rank, spread_matrix(rank, s, &A), "the matrix");
  for (int i = 0; i < 2; i++) {
    const char *const *const pairs = i ? PAIRS("precond", "ras", "local", "licensed")
                                       : PAIRS("precond", "two-stage", "first", "licensed", "second", "ras");
    karst_options *options = spread_options(rank, pairs);
    karst_solver *solver = spread_solver(rank, pairs);
    karst_precond *M = NULL;
    karst_result result;
    team_need(rank, karst_precond_create(rank->context, options, A, &M), pairs[1]);
    team_ok(rank, team_same(rank, karst_precond_apply(M, r, z)) == KARST_ERROR_FILE, "%s fails", pairs[1]);
    team_need(rank, karst_solver_setup(solver, A), "set-up");
    karst_vector_fill(z, 0);
    team_ok(rank, team_same(rank, karst_solver_solve(solver, r, z, &result)) == KARST_ERROR_FILE,
            "a solve with %s fails", pairs[1]);
    karst_solver_destroy(solver);
    karst_precond_destroy(M);
    karst_options_destroy(options);
  }
  karst_vector_destroy(r);
  karst_vector_destroy(z);
  karst_matrix_destroy(A);
}

int main(void)
{
  karst_context *context = tap_context();
  test_outcomes(context);
  struct task task = {.s = spread_of(context, matrix_from(context, "poisson3d:4x4x4", 0), 2, false)};
  team_run(2, "cpu", fail_exchange, &task, "an exchange that fails");
  team_run(2, "cpu", fail_stage, &task, "a stage that fails");
  spread_destroy(&task.s);
  task.s = spread_of(context, matrix_from(context, "convdiff:4x3x3", 2), 3, false);
  for (int layers = 0; layers < 2; layers++) {
    task.shared = options_of(context, PAIRS("precond", "ras", "overlap", layers ? "2" : "0", "local", "two-stage"));
    team_fail_allocations(3, make_and_update, &task, 1, layers ? "ras with two layers" : "ras without layers");
    karst_options_destroy(task.shared);
  }
  spread_destroy(&task.s);
  karst_context_destroy(context);
  return tap_done();
}
