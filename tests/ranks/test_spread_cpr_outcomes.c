/* How CPR over ranks ends: with the outcome of one process on all ranks wherever a bad entry is; and after failures on
 * one rank with the same status on all, never a hang. */
#include "tests/ranks/spread_system.h"
#include "tests/support/problem.h"

#include "lib/ranks/ranks.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

struct task {
  struct spread s;
  const char *const *options;
  karst_options *shared;
  double *good; /* values without the bad entry */
  /* The outcomes of one process: of set-up, and of an update after good values. */
  karst_reason reason[2];
  karst_index row[2];
};

/* ---- bad entries ---- */

/* Bad values, good ones and bad ones again. */
static void meet_bad_entry(struct team_rank *rank)
{
  const struct task *task = rank->user;
  const struct spread *s = &task->s;
  const int64_t first = (int64_t)karst_matrix_row_start(s->A)[s->first[rank->rank]] * s->b * s->b;
  karst_options *options = spread_options(rank, task->options);
  karst_matrix *A = NULL;
  karst_precond *M = NULL;
  karst_index row;
  team_need(rank, spread_matrix(rank, s, &A), "the matrix");
  if (team_need(rank, karst_precond_create(rank->context, options, A, &M), "cpr"))
    for (int turn = 0; turn < 2; turn++) {
      const karst_reason reason = karst_precond_outcome(M, &row);
      team_ok(rank, reason == task->reason[turn] && row == task->row[turn], "turn %d: %s in block row %lld", turn,
              karst_reason_text(reason), (long long)row);
      team_need(rank, karst_matrix_update_values(A, task->good + first), "good values");
      team_need(rank, karst_precond_update(M), "an update");
      team_ok(rank, karst_precond_outcome(M, &row) == KARST_SOUND && row == -1, "good values are sound");
      team_need(rank, karst_matrix_update_values(A, karst_matrix_value(s->A) + first), "bad values");
      team_need(rank, karst_precond_update(M), "an update");
    }
  karst_precond_destroy(M);
  karst_options_destroy(options);
  karst_matrix_destroy(A);
}

/* The same in a solver that orders the rows. */
static void solve_bad_entry(struct team_rank *rank)
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
    team_ok(rank, result.reason == task->reason[0] && result.block_row == task->row[0], "%s",
            karst_solver_explain(solver));
  karst_vector_destroy(b);
  karst_vector_destroy(x);
  karst_solver_destroy(solver);
  karst_matrix_destroy(A);
}

/* Takes over A, and its good values. */
static void run_bad_entry(karst_context *context, karst_matrix *A, double *good, const char *const *options,
                          const char *what)
{
  struct task task = {.s = spread_of(context, A, 3, false), .options = options, .good = good};
  double *bad = values_on_host(A);
  karst_precond *M = precond_from(context, options, A);
  task.reason[0] = karst_precond_outcome(M, &task.row[0]);
  for (int i = 0; i < 2; i++) {
    tap_need(context, karst_matrix_update_values(A, i ? bad : good), "values");
    tap_need(context, karst_precond_update(M), "an update");
  }
  task.reason[1] = karst_precond_outcome(M, &task.row[1]);
  karst_precond_destroy(M);
  tap_ok(task.reason[0] != KARST_SOUND && task.row[0] >= 0, "%s: %s in block row %d in one process", what,
         karst_reason_text(task.reason[0]), (int)task.row[0]);
  team_each_device(3, meet_bad_entry, &task, what);
  team_each_device(3, solve_bad_entry, &task, what);
  spread_destroy(&task.s);
  free(good);
  free(bad);
}

/* A NaN in each place where CPR may meet it first: of the pressure or not, in an own column or that of a ghost, on each
 * rank. */
static void test_bad_entries(karst_context *context)
{
  static const char *const weights[] = {"column-sum", "quasi-impes", "auto"};
  for (int i = 0; i < 12; i++) {
    const char *const options[] = {"precond", "cpr",    "cpr-weights", weights[i % 3], "cpr-pressure", "0", "first",
                                   "jacobi",  "second", "jacobi",      "ordering",     "rcm",          NULL};
    karst_matrix *A = matrix_from(context, "blackoil:5x4x3", 0);
    const karst_index *start = karst_matrix_row_start(A), row = 20 * (i % 3) + (i % 2 ? 0 : 19);
    const karst_index block = i < 6 ? start[row] : start[row + 1] - 1;
    const int b = karst_matrix_block_size(A), column = i / 3 % 2;
    double *good = values_on_host(A), *bad = values_on_host(A);
    bad[((int64_t)block * b + column) * b + i % b] = NAN;
    tap_need(context, karst_matrix_update_values(A, bad), "values");
    free(bad);
    run_bad_entry(context, A, good, options, weights[i % 3]);
  }
}

/* Inside ras cpr works on one rank alone, and another rank must not wait for it. */
static void test_alone(karst_context *context)
{
  for (karst_index row = 0; row < 60; row += 20) {
    const char *const *const options =
        PAIRS("precond", "ras", "overlap", "0", "local", "cpr", "local.second", "jacobi");
    karst_matrix *A = matrix_from(context, "blackoil:5x4x3", 0);
    double *good = values_on_host(A);
    set_entry(A, row, row, 0, NAN);
    run_bad_entry(context, A, good, options, "a NaN that one rank alone meets");
  }
}

/* Diagonal blocks that are singular, of the pressure matrix or in the second stage. */
static void test_singular(karst_context *context)
{
  for (karst_index row = 0; row < 60; row += 20) {
    const char *const *const options =
        PAIRS("precond", "cpr", "first", "jacobi", "second", "jacobi", "ordering", "rcm");
    karst_matrix *A = matrix_from(context, "blackoil:5x4x3", 0);
    double *good = values_on_host(A);
    for (int v = 0; v < karst_matrix_block_size(A); v++) set_entry(A, row, row, v * karst_matrix_block_size(A), 0);
    run_bad_entry(context, A, good, options, "a singular block");
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

/* The exchange of a rank that fails after it has done its work, counted as the team does; 0: none. */
struct failing {
  long exchange;
  bool begins; /* it fails where it begins, not where it ends */
};
static struct failing failing[TEAM_MOST];

static karst_status fail_if(struct team_rank *rank, bool begins, karst_status status)
{
  const struct failing *wanted = &failing[rank->rank];
  if (status || wanted->exchange != rank->exchanges || wanted->begins != begins) return status;
  return karst_context_fail(rank->context, KARST_ERROR_DEVICE, "the exchange fails as the test wants");
}

static karst_status begin(void *user, int count, const karst_transfer *transfers)
{
  struct team_rank *rank = user;
  return fail_if(rank, true, rank->transport.exchange_begin(user, count, transfers));
}

static karst_status end(void *user)
{
  struct team_rank *rank = user;
  return fail_if(rank, false, rank->transport.exchange_end(user));
}

/* Each exchange of an update and of an apply fails on one rank: all fail then, and work later. */
static void fail_exchanges(struct team_rank *rank)
{
  const struct task *task = rank->user;
  const struct spread *s = &task->s;
  karst_options *options = spread_options(rank, task->options);
  karst_matrix *A = NULL;
  karst_precond *M = NULL;
  karst_vector *r = spread_vector(rank, s, s->rhs), *z = spread_vector(rank, s, NULL);
  int met = 0;
  rank->context->ranks->transport.exchange_begin = begin;
  rank->context->ranks->transport.exchange_end = end;
  team_need(rank, spread_matrix(rank, s, &A), "the matrix");
  team_need(rank, karst_precond_create(rank->context, options, A, &M), "cpr");
  for (int apply = 0; apply < 2; apply++) {
    const long before = rank->exchanges;
    team_need(rank, apply ? karst_precond_apply(M, r, z) : karst_precond_update(M), "without failures");
    const long exchanges = rank->exchanges - before;
    for (long n = 0; n < 2 * exchanges * rank->ranks; n++) {
      failing[rank->rank].begins = n % 2;
      if (n / 2 % rank->ranks == rank->rank) failing[rank->rank].exchange = rank->exchanges + 1 + n / 2 / rank->ranks;
      const karst_status status = apply ? karst_precond_apply(M, r, z) : karst_precond_update(M);
      met += team_same(rank, status) == KARST_ERROR_DEVICE;
      failing[rank->rank].exchange = 0;
      team_need(rank, karst_precond_update(M), "an update afterwards");
      team_need(rank, karst_precond_apply(M, r, z), "an apply afterwards");
    }
  }
  team_ok(rank, met == 2 * rank->ranks * (4 + 1), "4 exchanges of an update and 1 of an apply, not %d in all", met);
  karst_precond_destroy(M);
  karst_options_destroy(options);
  karst_matrix_destroy(A);
  karst_vector_destroy(r);
  karst_vector_destroy(z);
}

/* ---- ranks that differ ---- */

static void differ(struct team_rank *rank)
{
  const struct task *task = rank->user;
  const struct spread *s = &task->s;
  const char *const *const cases[] = {PAIRS("precond", "cpr"), PAIRS("precond", "cpr", "cpr-weights", "true-impes"),
                                      PAIRS("precond", "cpr", "cpr-pressure", rank->rank == 2 ? "1" : "auto")};
  static const char *const sentences[] = {"cpr takes given weights on rank 2 and column-sum weights on rank 0",
                                          "rank 0: cpr-weights true-impes needs the storage blocks",
                                          "rank 2: its preconditioner has other options than that of another rank"};
  const karst_index rows = s->first[rank->rank + 1] - s->first[rank->rank];
  double *ones = malloc(((size_t)rows * 9 + 1) * sizeof *ones);
  karst_matrix *A = NULL;
  for (int64_t i = 0; i < (int64_t)rows * 9; i++) ones[i] = 1;
  team_need(rank, spread_matrix(rank, s, &A), "the matrix");
  for (int i = 0; i < 3; i++) {
    karst_options *options = spread_options(rank, cases[i]);
    karst_precond *M = NULL;
    team_need(rank, karst_matrix_set_weights(A, i == 0 && rank->rank == 2 ? ones : NULL), "weights");
    team_need(rank, karst_matrix_set_storage(A, i == 1 && rank->rank == 2 ? ones : NULL), "storage blocks");
    const karst_status status = team_same(rank, karst_precond_create(rank->context, options, A, &M));
    team_ok(rank, status && strstr(karst_context_error(rank->context), sentences[i]), "the sentence: %s",
            karst_context_error(rank->context));
    karst_options_destroy(options);
  }
  karst_matrix_destroy(A);
  free(ones);
}

int main(void)
{
  karst_context *context = tap_context();
  test_bad_entries(context);
  test_singular(context);
  test_alone(context);
  struct task task = {.s = spread_of(context, matrix_from(context, "blackoil:4x3x3", 0), 3, false)};
  team_run(3, "cpu", differ, &task, "ranks that differ");
  task.options = PAIRS("precond", "cpr", "first", "jacobi", "second", "jacobi", "cpr-balance", "3");
  team_run(3, "cpu", fail_exchanges, &task, "an exchange that fails");
  for (int amg = 0; amg < 2; amg++) {
    const char *const options[] = {"precond",     "cpr", "first", amg ? "amg" : "jacobi", "second", "jacobi",
                                   "cpr-balance", "3",   NULL};
    task.shared = options_of(context, options);
    team_fail_allocations(3, make_and_update, &task, 1, options[3]);
    karst_options_destroy(task.shared);
  }
  spread_destroy(&task.s);
  karst_context_destroy(context);
  return tap_done();
}
