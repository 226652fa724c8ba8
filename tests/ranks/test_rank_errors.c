/* An error, a failed outcome or a decision on one rank is the same on all ranks, with one sentence that has the global
 * number of the block row, and no rank is left waiting. Each is tested on each rank. */
#include "tests/ranks/spread_system.h"
#include "tests/support/problem.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { RANKS = 3 };

/* What goes wrong on rank failing. */
enum fault {
  NO_FAULT,
  SIZES,      /* its matrix has other blocks */
  UNSORTED,   /* a row of its pattern is not sorted */
  BEYOND,     /* a column is not in the matrix */
  DIAGONAL,   /* a diagonal block is missing */
  SINGULAR,   /* a diagonal block is zero */
  VALUE_NAN,  /* a coupling with a ghost is NaN */
  RHS_NAN,    /* the right-hand side has a NaN */
  START_NAN,  /* the start has one */
  TOLERANCE,  /* it sets another rtol */
  NEGATIVE,   /* it sets an rtol that is refused */
  OPTIONS,    /* its solver has another option */
  VECTOR,     /* its right-hand side is too short */
  OLD_VALUES, /* no rank has updated its solver */
  STOPS,      /* its monitor ends the solve */
  ACCEPTS,    /* its monitor accepts */
  NONSENSE,   /* its monitor returns no decision */
  APPLY,      /* its preconditioner fails in apply */
  PRODUCT,    /* its operator fails */
  UPDATE,     /* its preconditioner fails in update */
  SETUP,      /* its preconditioner fails in setup */
  FAULTS
};

static const char *const names[FAULTS] = {
    "no fault",         "other blocks",    "an unsorted row", "a column beyond", "no diagonal block", "a zero block",
    "a NaN coupling",   "a NaN in b",      "a NaN in x",      "another rtol",    "a negative rtol",   "another option",
    "a short b",        "old values",      "a stop",          "an acceptance",   "no decision",       "a failed apply",
    "a failed product", "a failed update", "a failed set-up"};

/* What the sentence of the call or the explanation of the outcome must have. */
static const char *const parts[FAULTS] = {"converged",
                                          "has blocks of",
                                          "is not sorted",
                                          "has an entry in column",
                                          "has no diagonal entry",
                                          "the pivot block of block row",
                                          "the matrix, block row",
                                          "the right-hand side, block row",
                                          "the start, block row",
                                          "has other values of rtol",
                                          "rtol",
                                          "other options than that of another rank",
                                          "the right-hand side",
                                          "new values since",
                                          "not converged after 2 iterations",
                                          "accepted by the monitor",
                                          "which is not a karst_decision",
                                          "the apply of this rank",
                                          "the operator of this rank",
                                          "the update of this rank",
                                          "the set-up of this rank"};

struct task {
  struct spread s;
  enum fault fault;
  int failing;
  int call; /* of its operator or its preconditioner that fails, from 0 */
  const char *scale;
  const char *solver; /* NULL: gmres */
};

/* A registered method that copies, and fails as the task says. */
struct state {
  const struct task *task;
  int rank, applies;
  karst_context *context;
  const karst_matrix *A;
};

static bool fails(const struct state *state, enum fault fault)
{
  return state->task->fault == fault && state->rank == state->task->failing;
}

static karst_status set_up(karst_precond *p)
{
  const struct state *state = karst_precond_user(p);
  return fails(state, SETUP) ? karst_context_fail(state->context, KARST_ERROR_ARGUMENT, "the set-up of this rank")
                             : KARST_SUCCESS;
}

static karst_status update(karst_precond *p)
{
  const struct state *state = karst_precond_user(p);
  return fails(state, UPDATE) ? karst_context_fail(state->context, KARST_ERROR_DEVICE, "the update of this rank")
                              : KARST_SUCCESS;
}

static karst_status apply(karst_precond *p, const karst_vector *r, karst_vector *z)
{
  struct state *state = karst_precond_user(p);
  if (fails(state, APPLY) && state->applies++ == state->task->call)
    return karst_context_fail(state->context, KARST_ERROR_DEVICE, "the apply of this rank");
  return karst_vector_copy(r, z);
}

static void forget(karst_precond *p) { (void)p; }

static karst_status multiply(void *user, const karst_vector *x, karst_vector *y)
{
  struct state *state = user;
  const karst_status status = karst_matrix_multiply(state->A, x, y);
  if (fails(state, PRODUCT) && state->applies++ == state->task->call)
    return karst_context_fail(state->context, KARST_ERROR_DEVICE, "the operator of this rank");
  return status;
}

static karst_decision decide(void *user, int iteration, double residual)
{
  const struct state *state = user;
  (void)residual;
  if (iteration < 2) return KARST_GO_ON;
  return fails(state, STOPS)      ? KARST_STOP
         : fails(state, ACCEPTS)  ? KARST_ACCEPT
         : fails(state, NONSENSE) ? (karst_decision)77
                                  : KARST_GO_ON;
}

/* The rank's rows, which the fault may have changed. */
struct rows {
  karst_index count, *start, *column;
  double *value;
  int b;
};

static struct rows rows_of(const struct spread *s, int rank)
{
  const karst_index *start = karst_matrix_row_start(s->A), first = s->first[rank];
  struct rows rows = {.count = s->first[rank + 1] - first, .b = s->b};
  const karst_index blocks = start[first + rows.count] - start[first];
  const size_t values = (size_t)blocks * (size_t)(s->b * s->b);
  rows.start = malloc(((size_t)rows.count + 1) * sizeof *rows.start);
  rows.column = malloc(((size_t)blocks + 1) * sizeof *rows.column);
  rows.value = malloc((3 * values + 1) * sizeof *rows.value);
  for (karst_index i = 0; i <= rows.count; i++) rows.start[i] = start[first + i] - start[first];
  memcpy(rows.column, karst_matrix_column(s->A) + start[first], (size_t)blocks * sizeof *rows.column);
  memcpy(rows.value, karst_matrix_value(s->A) + (int64_t)start[first] * s->b * s->b, values * sizeof *rows.value);
  return rows;
}

/* Puts the fault into the second row. */
static void spoil(const struct task *task, int rank, struct rows *rows)
{
  const karst_index row = task->s.first[rank] + 1, k = rows->start[1], end = rows->start[2];
  const int bb = rows->b * rows->b;
  karst_index diagonal = k;
  while (rows->column[diagonal] != row) diagonal++;
  if (task->fault == SIZES) rows->b = 2;
  if (task->fault == UNSORTED) rows->column[k] = rows->column[k + 1] + 1;
  if (task->fault == BEYOND) rows->column[end - 1] = task->s.first[RANKS];
  if (task->fault == SINGULAR) memset(rows->value + (int64_t)diagonal * bb, 0, (size_t)bb * sizeof *rows->value);
  if (task->fault == DIAGONAL) { /* the last row loses its diagonal */
    const karst_index last = rows->count - 1;
    diagonal = rows->start[last];
    while (rows->column[diagonal] != task->s.first[rank] + last) diagonal++;
    for (karst_index i = diagonal; i + 1 < rows->start[last + 1]; i++) {
      rows->column[i] = rows->column[i + 1];
      memmove(rows->value + (int64_t)i * bb, rows->value + (int64_t)(i + 1) * bb, (size_t)bb * sizeof *rows->value);
    }
    rows->start[last + 1]--;
  }
  for (karst_index i = 0; i < rows->start[rows->count] && task->fault == VALUE_NAN; i++)
    if (rows->column[i] < task->s.first[rank] || rows->column[i] >= task->s.first[rank + 1])
      rows->value[(int64_t)i * bb] = NAN;
}

/* Between the two no allocation fails or is counted: for calls that are not collective. */
static struct failing_allocator hold_failures(struct team_rank *rank)
{
  const struct failing_allocator memory = rank->memory;
  rank->memory.fail_at = 0;
  return memory;
}

static void resume_failures(struct team_rank *rank, const struct failing_allocator *memory)
{
  rank->memory.fail_at = memory->fail_at;
  rank->memory.calls = memory->calls;
}

static karst_status make_solver(struct team_rank *rank, const struct state *state, karst_solver **solver)
{
  const struct task *task = state->task;
  const karst_precond_method method = {.name = "copy",
                                       .help = "copies",
                                       .user = (void *)state,
                                       .setup = set_up,
                                       .update = update,
                                       .apply = apply,
                                       .destroy = forget};
  const bool own = task->fault == APPLY || task->fault == UPDATE || task->fault == SETUP;
  karst_options *options = NULL;
  *solver = NULL;
  const struct failing_allocator memory = hold_failures(rank);
  karst_status status = karst_options_create(state->context, &options);
  if (!status && own) status = karst_precond_register(state->context, &method);
  if (!status) status = karst_options_set(options, "precond", own ? "copy" : "iluk");
  if (!status) status = karst_options_set(options, "solver", task->solver ? task->solver : "gmres");
  if (!status && task->scale) status = karst_options_set(options, "scale", task->scale);
  if (!status && fails(state, OPTIONS)) status = karst_options_set(options, "restart", "7");
  if (!status) status = karst_solver_create(state->context, options, solver);
  karst_options_destroy(options);
  resume_failures(rank, &memory);
  return status;
}

/* All calls up to the first that fails. */
static karst_status run(struct team_rank *rank, struct state *state, karst_matrix **A, karst_solver **solver,
                        karst_vector **b, karst_vector **x, karst_result *result)
{
  const struct task *task = state->task;
  const struct spread *s = &task->s;
  const bool here = rank->rank == task->failing;
  struct rows rows = rows_of(s, rank->rank);
  if (here) spoil(task, rank->rank, &rows);
  karst_status status =
      karst_matrix_create_distributed(rank->context, rows.count, rows.b, rows.start, rows.column, rows.value, A);
  if (!status) status = make_solver(rank, state, solver);
  if (!status) status = karst_solver_setup(*solver, *A);
  state->A = *A;
  if (!status && (task->fault == TOLERANCE || task->fault == NEGATIVE))
    status = karst_solver_set_tolerances(*solver, !here ? 1e-8 : task->fault == NEGATIVE ? -1 : 1e-3, 0, 1000);
  if (!status && task->fault == PRODUCT) status = karst_solver_set_operator(*solver, multiply, state);
  if (!status && (task->fault == STOPS || task->fault == ACCEPTS || task->fault == NONSENSE) && here)
    karst_solver_monitor(*solver, decide, state);
  if (!status) status = karst_matrix_update_values(*A, rows.value);
  if (!status && task->fault != OLD_VALUES) status = karst_solver_update(*solver);
  free(rows.start);
  free(rows.column);
  free(rows.value);
  if (status) return status;
  const int64_t n = karst_matrix_rows(*A);
  double *values = calloc((size_t)n + 1, sizeof *values);
  memcpy(values, s->rhs + (int64_t)s->first[rank->rank] * s->b, (size_t)n * sizeof *values);
  if (here && task->fault == RHS_NAN) values[s->b] = NAN;
  struct failing_allocator memory = hold_failures(rank);
  status = karst_vector_create(rank->context, here && task->fault == VECTOR ? n - 1 : n, b);
  if (!status) status = karst_vector_set(*b, here && task->fault == VECTOR ? n - 1 : n, values);
  memset(values, 0, (size_t)n * sizeof *values);
  if (here && task->fault == START_NAN) values[s->b] = NAN;
  if (!status) status = karst_vector_create(rank->context, n, x);
  if (!status) status = karst_vector_set(*x, n, values);
  resume_failures(rank, &memory);
  free(values);
  return status ? status : karst_solver_solve(*solver, *b, *x, result);
}

static void body(struct team_rank *rank)
{
  const struct task *task = rank->user;
  struct state state = {task, rank->rank, 0, rank->context, NULL};
  karst_matrix *A = NULL;
  karst_solver *solver = NULL;
  karst_vector *b = NULL, *x = NULL;
  karst_result result = {0};
  char all[RANKS][300], own[300], row[40];
  const karst_status status = run(rank, &state, &A, &solver, &b, &x, &result);
  team_same(rank, status);
  snprintf(own, sizeof own, "%d %lld %s", (int)result.reason, (long long)result.block_row,
           status ? karst_context_error(rank->context) : karst_solver_explain(solver));
  team_gather(rank, own, sizeof own, all);
  for (int r = 0; r < RANKS; r++)
    team_ok(rank, strcmp(own, all[r]) == 0, "\"%s\", and on rank %d \"%s\"", own, r, all[r]);
  team_ok(rank, strstr(own, parts[task->fault]), "\"%s\" has \"%s\"", own, parts[task->fault]);
  const bool named = task->fault >= UNSORTED && task->fault <= START_NAN && task->fault != DIAGONAL;
  snprintf(row, sizeof row, "block row %lld", (long long)task->s.first[task->failing] + 1);
  if (named && task->fault != VALUE_NAN) team_ok(rank, strstr(own, row), "\"%s\" has \"%s\"", own, row);
  karst_vector_destroy(b);
  karst_vector_destroy(x);
  karst_solver_destroy(solver);
  karst_matrix_destroy(A);
}

/* One solve, whose allocations fail in turn. */
static karst_status solve_once(struct team_rank *rank)
{
  const struct task *task = rank->user;
  struct state state = {task, rank->rank, 0, rank->context, NULL};
  karst_matrix *A = NULL;
  karst_solver *solver = NULL;
  karst_vector *b = NULL, *x = NULL;
  karst_result result = {0};
  const karst_status status = run(rank, &state, &A, &solver, &b, &x, &result);
  karst_vector_destroy(b);
  karst_vector_destroy(x);
  karst_solver_destroy(solver);
  karst_matrix_destroy(A);
  return status;
}

/* Each driver finds a failure in its next sums. */
static void test_drivers(struct task *task)
{
  static const char *const solvers[] = {"bicgstab", "cg", "fgmres", "orthomin", "richardson"};
  for (int i = 0; i < 5; i++)
    for (int fault = APPLY; fault <= PRODUCT; fault++)
      for (task->call = 0; task->call < 3; task->call++) {
        char what[100];
        task->solver = solvers[i];
        task->fault = (enum fault)fault;
        task->failing = task->call;
        snprintf(what, sizeof what, "%s and %s, call %d", solvers[i], names[fault], task->call);
        team_each_device(RANKS, body, task, what);
      }
  task->solver = NULL;
  task->call = 0;
}

static void test_scaled(struct task *task)
{
  static const enum fault faults[] = {NO_FAULT, DIAGONAL, SINGULAR, VALUE_NAN, APPLY};
  for (int i = 0; i < 5; i++)
    for (task->failing = 0; task->failing < RANKS; task->failing++) {
      char what[100];
      task->fault = faults[i];
      snprintf(what, sizeof what, "scale %s and %s on rank %d", task->scale, names[faults[i]], task->failing);
      team_each_device(RANKS, body, task, what);
    }
  task->fault = NO_FAULT;
  team_fail_allocations(RANKS, solve_once, task, 1, task->scale);
}

int main(void)
{
  karst_context *context = tap_context();
  struct task task = {.s = spread_of(context, matrix_from(context, "blackoil:5x4x3", 0), RANKS, false)};
  for (int fault = 0; fault < FAULTS; fault++)
    for (task.failing = 0; task.failing < RANKS; task.failing++) {
      task.fault = (enum fault)fault;
      const int calls = fault == APPLY || fault == PRODUCT ? 5 : 1;
      for (task.call = 0; task.call < calls; task.call++) {
        char what[100];
        snprintf(what, sizeof what, "%s on rank %d, call %d", names[fault], task.failing, task.call);
        team_each_device(RANKS, body, &task, what);
      }
    }
  task.fault = NO_FAULT;
  team_fail_allocations(RANKS, solve_once, &task, 1, "a solve");
  test_drivers(&task);
  task.scale = "block";
  test_scaled(&task);
  task.scale = "diagonal";
  test_scaled(&task);
  spread_destroy(&task.s);
  karst_context_destroy(context);
  return tap_done();
}
