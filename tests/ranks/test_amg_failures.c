/* What goes wrong on one rank in multigrid over ranks - values that are not usable, no memory, a transport that fails -
 * is the same status, outcome and sentence on all ranks, and the next try works. Each is tested on each rank. */
#include "lib/ranks/ranks.h"
#include "tests/ranks/spread_system.h"
#include "tests/support/problem.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

enum { RANKS = 3 };

struct task {
  struct spread s;
  const char *const *options;
  karst_options *shared; /* the same, which copies of other contexts are made of */
  karst_reason reason;
  karst_index row;     /* the expected outcome */
  const char *part;    /* of the expected sentence */
  const double *right; /* [n] what M^-1 rhs is with the values of the system */
  int failing, step;
};

/* The values of the rank's rows of a matrix. */
static const double *own_values(const struct team_rank *rank, const struct spread *s)
{
  return karst_matrix_value(s->A) + karst_matrix_row_start(s->A)[s->first[rank->rank]];
}

/* ---- values ---- */

static void same_sentence(struct team_rank *rank, const char *sentence, const char *part)
{
  char own[400], all[RANKS][sizeof own];
  snprintf(own, sizeof own, "%s", sentence);
  team_gather(rank, own, sizeof own, all);
  for (int r = 0; r < RANKS; r++)
    team_ok(rank, strcmp(own, all[r]) == 0, "\"%.90s\", and on rank %d \"%.90s\"", own, r, all[r]);
  team_ok(rank, strstr(own, part), "\"%s\" has \"%s\"", own, part);
}

/* Solves with the values of the matrix, which are bad in one row, and with good ones, in turn. */
static void meet_bad_row(struct team_rank *rank)
{
  const struct task *task = rank->user;
  const struct spread *s = &task->s;
  const karst_index *start = karst_matrix_row_start(s->A), first = s->first[rank->rank];
  const int64_t entries = start[s->first[rank->rank + 1]] - start[first];
  const double *bad = own_values(rank, s);
  double *good = malloc(((size_t)entries + 1) * sizeof *good);
  karst_solver *solver = spread_solver(rank, task->options);
  karst_vector *b = spread_vector(rank, s, NULL), *x = spread_vector(rank, s, NULL);
  karst_matrix *A = NULL;
  karst_result result;
  memcpy(good, bad, (size_t)entries * sizeof *good);
  for (karst_index i = first; i < s->first[rank->rank + 1]; i++)
    for (karst_index k = start[i]; k < start[i + 1] && i == task->row; k++)
      good[k - start[first]] = karst_matrix_column(s->A)[k] == i ? 6 : -1;
  karst_vector_fill(b, 1);
  team_need(rank, spread_matrix(rank, s, &A), "the matrix");
  if (team_need(rank, karst_solver_setup(solver, A), "set-up"))
    for (int turn = 0; turn < 2; turn++) {
      karst_vector_fill(x, 0);
      team_need(rank, karst_solver_solve(solver, b, x, &result), "a solve");
      team_ok(rank, result.reason == task->reason && result.block_row == task->row, "%s in block row %lld",
              karst_reason_text(result.reason), (long long)result.block_row);
      same_sentence(rank, karst_solver_explain(solver), task->part);
      team_need(rank, karst_matrix_update_values(A, good), "good values");
      team_need(rank, karst_solver_update(solver), "an update");
      team_need(rank, karst_solver_solve(solver, b, x, &result), "a solve");
      team_ok(rank, result.reason > 0, "good values: %s", karst_solver_explain(solver));
      team_need(rank, karst_matrix_update_values(A, bad), "bad values");
      team_need(rank, karst_solver_update(solver), "an update");
    }
  free(good);
  karst_vector_destroy(b);
  karst_vector_destroy(x);
  karst_solver_destroy(solver);
  karst_matrix_destroy(A);
}

/* kind: 0: a NaN, 1: an infinity, 2: a row of zeros, 3: one that float cannot hold beside the others */
static void test_values(karst_context *context, int kind, int failing, const char *gather_rows, const char *rebuild)
{
  static const char *const kinds[] = {"a NaN", "an infinity", "a row of zeros", "a row of tiny numbers"};
  static const char *const parts[] = {"a NaN or an infinity was first seen in the matrix",
                                      "a NaN or an infinity was first seen in the matrix",
                                      "all entries of the row are zero", "too small for amg-precision float"};
  struct task task = {
      .s = spread_of(context, matrix_from(context, "poisson3d:7x6x6", 0), RANKS, false),
      .options = PAIRS("precond", "amg", "solver", "cg", "amg-gather-rows", gather_rows, "amg-rebuild", rebuild),
      .reason = kind < 2 ? KARST_NOT_FINITE : KARST_SINGULAR_BLOCK,
      .part = parts[kind]};
  char what[200];
  task.row = task.s.first[failing] + 3;
  if (kind < 2) {
    set_entry(task.s.A, task.row, task.row, 0, kind ? HUGE_VAL : NAN);
  } else {
    const double entry = kind == 2 ? 0 : 1e-60;
    replace_row(task.s.A, task.row, &entry);
  }
  snprintf(what, sizeof what, "%s on rank %d, gathered at %s rows, rebuilt after %s", kinds[kind], failing, gather_rows,
           rebuild);
  team_each_device(RANKS, meet_bad_row, &task, what);
  spread_destroy(&task.s);
}

/* ---- options ---- */

static void meet_refusal(struct team_rank *rank)
{
  const struct task *task = rank->user;
  karst_matrix *A = NULL;
  karst_precond *M = NULL;
  karst_options *options = spread_options(rank, task->options);
  team_need(rank, spread_matrix(rank, &task->s, &A), "the matrix");
  team_ok(rank, team_same(rank, karst_precond_create(rank->context, options, A, &M)) == KARST_ERROR_OPTION && !M,
          "the options are refused");
  same_sentence(rank, karst_context_error(rank->context), task->part);
  karst_options_destroy(options);
  karst_matrix_destroy(A);
}

/* One rank would gather the finest level, and the others coarsen it. */
static void meet_other_options(struct team_rank *rank)
{
  const struct task *task = rank->user;
  karst_matrix *A = NULL;
  karst_precond *M = NULL;
  const char *const gather_rows = rank->rank == task->failing ? "10" : "20";
  karst_options *options = spread_options(rank, PAIRS("precond", "amg", "amg-gather-rows", gather_rows));
  team_need(rank, spread_matrix(rank, &task->s, &A), "the matrix");
  team_ok(rank, team_same(rank, karst_precond_create(rank->context, options, A, &M)) == KARST_ERROR_OPTION && !M,
          "other options are refused");
  same_sentence(rank, karst_context_error(rank->context), "preconditioner has other options than that of another rank");
  karst_options_destroy(options);
  karst_matrix_destroy(A);
}

static void test_refusals(karst_context *context)
{
  struct task task = {.s = spread_of(context, matrix_from(context, "poisson3d:4x4x4", 0), RANKS, false)};
  task.options = PAIRS("precond", "amg", "amg-smoother", "lines");
  task.part = "amg-smoother lines has the lines of one rank's cells, and ranks share the matrix";
  team_each_device(RANKS, meet_refusal, &task, "lines");
  task.options = PAIRS("precond", "amg", "amg-smoother", "adi");
  task.part = "amg-smoother adi has the lines of one rank's cells";
  team_each_device(RANKS, meet_refusal, &task, "adi");
  task.options = PAIRS("precond", "amg", "amg-levels", "26");
  task.part = "amg-levels 26 is out of range";
  team_each_device(RANKS, meet_refusal, &task, "too many levels");
  for (task.failing = 0; task.failing < RANKS; task.failing++)
    team_each_device(RANKS, meet_other_options, &task, "another option");
  spread_destroy(&task.s);
}

/* ---- memory ---- */

/* Set-up with the first update, and an apply. */
static karst_status live(struct team_rank *rank)
{
  const struct task *task = rank->user;
  karst_matrix *A = NULL;
  karst_precond *M = NULL;
  karst_vector *r = NULL, *z = NULL;
  const int64_t n = task->s.first[rank->rank + 1] - task->s.first[rank->rank];
  karst_status status = spread_matrix(rank, &task->s, &A);
  if (!status) status = karst_precond_create(rank->context, task->shared, A, &M);
  const struct failing_allocator memory = rank->memory; /* vectors are not collective */
  rank->memory.fail_at = 0;
  if (!status) status = karst_vector_create(rank->context, n, &r);
  if (!status) status = karst_vector_create(rank->context, n, &z);
  if (!status) status = karst_vector_fill(r, 1);
  rank->memory.fail_at = memory.fail_at;
  rank->memory.calls = memory.calls;
  if (!status) status = karst_precond_apply(M, r, z);
  karst_vector_destroy(r);
  karst_vector_destroy(z);
  karst_precond_destroy(M);
  karst_matrix_destroy(A);
  return status;
}

/* Whether z = M^-1 rhs is as it should be. */
static void works(struct team_rank *rank, const karst_precond *M, const karst_vector *r, karst_vector *z)
{
  const struct task *task = rank->user;
  team_need(rank, karst_precond_apply(M, r, z), "an apply afterwards");
  double *got = spread_join(rank, &task->s, z);
  const double error = relative_difference(task->s.n, got, task->right);
  team_ok(rank, error <= 1e-14, "z is right afterwards: %.1e", error);
  free(got);
}

/* In update after update another allocation fails, until none is left to; after each of them an update works. */
static void update_without_memory(struct team_rank *rank)
{
  const struct task *task = rank->user;
  karst_matrix *A = NULL;
  karst_precond *M = NULL;
  karst_options *options = spread_options(rank, task->options);
  karst_vector *r = spread_vector(rank, &task->s, task->s.rhs), *z = spread_vector(rank, &task->s, NULL);
  long all[RANKS];
  team_need(rank, spread_matrix(rank, &task->s, &A), "the matrix");
  team_need(rank, karst_precond_create(rank->context, options, A, &M), "amg");
  for (long n = 1, met = 1; met && rank->failures == 0; n += task->step) {
    const long before = rank->memory.calls;
    if (rank->rank == task->failing) rank->memory.fail_at = before + n;
    const karst_status status = team_same(rank, karst_precond_update(M));
    rank->memory.fail_at = 0;
    met = rank->memory.calls >= before + n;
    team_gather(rank, &met, sizeof met, all);
    met = all[task->failing];
    team_ok(rank, status == (met ? KARST_ERROR_NO_MEMORY : KARST_SUCCESS), "allocation %ld fails: %s", n,
            karst_status_text(status));
    team_need(rank, karst_precond_update(M), "an update afterwards");
    works(rank, M, r, z);
    team_gather(rank, &rank->failures, sizeof rank->failures, all);
  }
  karst_precond_destroy(M);
  karst_options_destroy(options);
  karst_matrix_destroy(A);
  karst_vector_destroy(r);
  karst_vector_destroy(z);
}

/* ---- the transport ---- */

/* A transport before that of the context, which fails in a call that is no agreement: ranks cannot agree without it. */
struct barrier {
  karst_transport inner;
  karst_context *context;
  long calls, fail_call;
};

static karst_status count_call(struct barrier *barrier, karst_status status)
{
  if (status || ++barrier->calls != barrier->fail_call) return status;
  return karst_context_fail(barrier->context, KARST_ERROR_DEVICE, "the cable is cut");
}

static karst_status gather(void *user, const void *own, size_t bytes, void *all)
{
  struct barrier *barrier = user;
  const karst_status status = barrier->inner.gather(barrier->inner.user, own, bytes, all);
  return bytes == sizeof(karst_ranks_word) ? status : count_call(barrier, status);
}

static karst_status exchange_begin(void *user, int count, const karst_transfer *transfers)
{
  struct barrier *barrier = user;
  return count_call(barrier, barrier->inner.exchange_begin(barrier->inner.user, count, transfers));
}

static karst_status exchange_end(void *user)
{
  struct barrier *barrier = user;
  return count_call(barrier, barrier->inner.exchange_end(barrier->inner.user));
}

static void wrap(struct team_rank *rank, struct barrier *barrier)
{
  karst_transport *transport = &rank->context->ranks->transport;
  *barrier = (struct barrier){.inner = *transport, .context = rank->context};
  transport->user = barrier;
  transport->gather = gather;
  transport->exchange_begin = exchange_begin;
  transport->exchange_end = exchange_end;
}

/* In call after call another call of the transport fails, until none does. what: 0: create, 1: update, 2: apply. */
static void fail_calls(struct team_rank *rank, struct barrier *barrier, int what, const karst_options *options,
                       const karst_matrix *A, karst_precond **M, const karst_vector *r, karst_vector *z)
{
  const struct task *task = rank->user;
  long all[RANKS];
  for (long n = 1, met = 1; met && rank->failures == 0; n++) {
    const long before = barrier->calls;
    barrier->fail_call = rank->rank == task->failing ? before + n : 0;
    if (what == 0) karst_precond_destroy(*M);
    const karst_status status = team_same(rank, what == 0   ? karst_precond_create(rank->context, options, A, M)
                                                : what == 1 ? karst_precond_update(*M)
                                                            : karst_precond_apply(*M, r, z));
    barrier->fail_call = 0;
    met = barrier->calls >= before + n;
    team_gather(rank, &met, sizeof met, all);
    met = all[task->failing];
    team_ok(rank, status == (met ? KARST_ERROR_DEVICE : KARST_SUCCESS), "call %ld of action %d fails: %s", n, what,
            karst_status_text(status));
    if (what == 0 && status) team_need(rank, karst_precond_create(rank->context, options, A, M), "amg afterwards");
    team_need(rank, karst_precond_update(*M), "an update afterwards");
    works(rank, *M, r, z);
    team_gather(rank, &rank->failures, sizeof rank->failures, all);
  }
}

static void meet_cut(struct team_rank *rank)
{
  const struct task *task = rank->user;
  struct barrier barrier;
  karst_matrix *A = NULL;
  karst_precond *M = NULL;
  karst_options *options = spread_options(rank, task->options);
  karst_vector *r = spread_vector(rank, &task->s, task->s.rhs), *z = spread_vector(rank, &task->s, NULL);
  team_need(rank, spread_matrix(rank, &task->s, &A), "the matrix");
  wrap(rank, &barrier);
  for (int what = 0; what < 3 && rank->failures == 0; what++) fail_calls(rank, &barrier, what, options, A, &M, r, z);
  rank->context->ranks->transport = barrier.inner;
  karst_precond_destroy(M);
  karst_options_destroy(options);
  karst_matrix_destroy(A);
  karst_vector_destroy(r);
  karst_vector_destroy(z);
}

/* ---- */

/* What M^-1 rhs is without failures. */
static void find_right(struct team_rank *rank)
{
  const struct task *task = rank->user;
  karst_matrix *A = NULL;
  karst_precond *M = NULL;
  karst_options *options = spread_options(rank, task->options);
  karst_vector *r = spread_vector(rank, &task->s, task->s.rhs), *z = spread_vector(rank, &task->s, NULL);
  team_need(rank, spread_matrix(rank, &task->s, &A), "the matrix");
  team_need(rank, karst_precond_create(rank->context, options, A, &M), "amg");
  team_need(rank, karst_precond_apply(M, r, z), "an apply");
  double *got = spread_join(rank, &task->s, z);
  if (rank->rank == 0) memcpy((double *)task->right, got, (size_t)task->s.n * sizeof *got);
  free(got);
  karst_precond_destroy(M);
  karst_options_destroy(options);
  karst_matrix_destroy(A);
  karst_vector_destroy(r);
  karst_vector_destroy(z);
}

/* rebuild: after so many updates the levels are made anew. step: of the allocations that fail in set-up. */
static void test_failures(karst_context *context, const char *coarsening, const char *gather_rows, const char *rebuild,
                          int step)
{
  const char *const options[] = {
      "precond", "amg",         "amg-gather-rows", gather_rows, "amg-coarsening", coarsening, "amg-coarse-rows",
      "8",       "amg-rebuild", rebuild,           NULL};
  struct task task = {.s = spread_of(context, matrix_from(context, "poisson3d:5x4x4", 0), RANKS, false),
                      .options = options,
                      .shared = options_of(context, options),
                      .step = step};
  double *right = tap_memory(task.s.n, sizeof *right);
  char what[200], name[100];
  snprintf(name, sizeof name, "%s, gathered at %s rows, rebuilt after %s", coarsening, gather_rows, rebuild);
  task.right = right;
  team_run(RANKS, "cpu", find_right, &task, name);
  team_fail_allocations(RANKS, live, &task, step, name);
  for (task.failing = 0; task.failing < RANKS; task.failing++) {
    snprintf(what, sizeof what, "no memory on rank %d, %s", task.failing, name);
    team_run(RANKS, "cpu", update_without_memory, &task, what);
    snprintf(what, sizeof what, "a cut on rank %d, %s", task.failing, name);
    team_run(RANKS, "cpu", meet_cut, &task, what);
  }
  free(right);
  karst_options_destroy(task.shared);
  spread_destroy(&task.s);
}

int main(void)
{
  karst_context *context = tap_context();
  for (int kind = 0; kind < 4; kind++)
    for (int failing = 0; failing < RANKS; failing++) {
      test_values(context, kind, failing, "10", "30");
      test_values(context, kind, failing, "16384", "1");
    }
  test_refusals(context);
  test_failures(context, "pmis", "10", "1", 11);
  test_failures(context, "pmis", "10", "0", 31);
  test_failures(context, "aggregation", "10", "0", 7);
  test_failures(context, "pmis", "16384", "1", 7);
  karst_context_destroy(context);
  return tap_done();
}
