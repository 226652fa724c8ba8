/* The choice auto of a preconditioner and an ordering is the same on all ranks, though their clocks differ: it follows
 * from the rows of one rank and the times of the slowest. A choice that one rank's rows do not allow is replaced on
 * all. */
#include "tests/ranks/spread_system.h"
#include "tests/support/named_values.h"
#include "tests/support/problem.h"

#include "solver/solver.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

enum { ROUNDS = 12, LETTERS = 400 };

struct task {
  struct spread s;
  const char *const *options;
  const char *first; /* the reason of set-up's choice; NULL: any */
  bool promises;     /* auto believes that block Jacobi would have saved a lot, so that it has a trial */
};

/* Each rank measures other times, which no other one could guess. */
static _Thread_local uint64_t state;
static _Thread_local double now;

static double own_clock(void)
{
  state = state * 6364136223846793005U + 1442695040888963407U;
  return now += (double)(state >> 40);
}

/* Lets all ranks compare a sentence. */
static void compare(struct team_rank *rank, const char *sentence)
{
  char own[LETTERS] = "", all[TEAM_MOST][LETTERS];
  snprintf(own, sizeof own, "%s", sentence);
  team_gather(rank, own, sizeof own, all);
  for (int r = 0; r < rank->ranks; r++)
    team_ok(rank, strcmp(own, all[r]) == 0, "\"%s\", and on rank %d \"%s\"", own, r, all[r]);
}

static void compare_choice(struct team_rank *rank, const karst_solver *solver, const karst_result *result)
{
  char own[LETTERS];
  snprintf(own, sizeof own, "%d: %s, %s, %s, %s; %s", result->iterations, tap_solver_text(solver, "auto_choice"),
           tap_solver_text(solver, "auto_reason"), tap_solver_text(solver, "ordering_used"),
           tap_solver_text(solver, "ordering_reason"), karst_solver_explain(solver));
  compare(rank, own);
}

static void promise_jacobi(karst_solver *solver)
{
  karst_auto *automatic = &solver->automatic;
  for (int i = 0; i < automatic->ladder.count; i++)
    if (strcmp(automatic->ladder.rung[i].precond->name, "jacobi") == 0) automatic->figures[i].saved = 1e12;
}

/* A sequence of updates and solves. */
static void body(struct team_rank *rank)
{
  const struct task *task = rank->user;
  const struct spread *s = &task->s;
  karst_matrix *A = NULL;
  karst_solver *solver = spread_solver(rank, task->options);
  karst_result result = {.reason = KARST_SOUND};
  state = 17U + (uint64_t)rank->rank;
  now = 0;
  solver->clock = own_clock;
  team_need(rank, spread_matrix(rank, s, &A), "the matrix");
  if (team_need(rank, karst_solver_setup(solver, A), "set-up")) {
    bool met = false;
    const char *const reason = tap_solver_text(solver, "auto_reason");
    team_ok(rank, !task->first || strcmp(reason, task->first) == 0, "set-up chooses because %s", reason);
    for (int round = 0; round < ROUNDS; round++) {
      double far = 0;
      karst_vector *b = spread_vector(rank, s, s->rhs), *x = spread_vector(rank, s, NULL);
      karst_vector_fill(x, 0);
      if (task->promises && round == 2) promise_jacobi(solver);
      if (round > 0) team_need(rank, karst_solver_update(solver), "an update");
      team_need(rank, karst_solver_solve(solver, b, x, &result), "a solve");
      compare_choice(rank, solver, &result);
      met = met || strstr(tap_solver_text(solver, "auto_reason"), "measured: ");
      double *all = spread_join(rank, s, x);
      for (int64_t i = 0; i < s->n; i++) far = fmax(far, fabs(all[i] - s->x[i]));
      team_ok(rank, result.reason > 0 && far < 1e-5, "x is %.1e from the solution: %s", far,
              karst_solver_explain(solver));
      free(all);
      karst_vector_destroy(b);
      karst_vector_destroy(x);
    }
    team_ok(rank, met || !task->promises, "there was a trial: %s", tap_solver_text(solver, "auto_reason"));
  }
  karst_solver_destroy(solver);
  karst_matrix_destroy(A);
}

/* Without a solver, and with analyses: of the same method on all ranks, and of another on rank 1. */
static void choose_once(struct team_rank *rank)
{
  const struct task *task = rank->user;
  const char *const *const methods[] = {PAIRS("precond", "auto"), PAIRS("precond", "iluk", "level", "2")};
  karst_matrix *A = NULL;
  karst_precond *M = NULL;
  karst_value value;
  karst_analysis *analysis[2] = {NULL};
  karst_options *options = spread_options(rank, methods[0]);
  karst_solver *solver[] = {spread_solver(rank, methods[0]), spread_solver(rank, methods[1])};
  team_need(rank, spread_matrix(rank, &task->s, &A), "the matrix");
  team_need(rank, karst_precond_create(rank->context, options, A, &M), "a preconditioner");
  for (size_t i = 0; karst_precond_report(M, i, &value); i++)
    if (value.text) compare(rank, value.text);
  for (int i = 0; i < 2; i++) {
    team_need(rank, karst_solver_setup(solver[i], A), "set-up");
    team_need(rank, karst_solver_get_analysis(solver[i], &analysis[i]), "the analysis");
  }
  team_need(rank, karst_solver_setup_with(solver[0], A, analysis[1]), "set-up with an analysis");
  team_ok(rank, strstr(tap_solver_text(solver[0], "auto_reason"), "the analysis"), "its reason: %s",
          tap_solver_text(solver[0], "auto_reason"));
  const karst_status status = karst_solver_setup_with(solver[0], A, analysis[rank->rank == 1 ? 0 : 1]);
  team_ok(rank, team_same(rank, status) == KARST_ERROR_ARGUMENT, "different analyses: %s",
          karst_context_error(rank->context));
  for (int i = 0; i < 2; i++) {
    karst_analysis_destroy(analysis[i]);
    karst_solver_destroy(solver[i]);
  }
  karst_precond_destroy(M);
  karst_options_destroy(options);
  karst_matrix_destroy(A);
}

static karst_status set_up_once(struct team_rank *rank)
{
  const struct task *task = rank->user;
  const struct spread *s = &task->s;
  const long fail_at = rank->memory.fail_at;
  karst_matrix *A = NULL;
  rank->memory.fail_at = 0;
  karst_solver *solver = spread_solver(rank, task->options);
  rank->memory.fail_at = fail_at;
  rank->memory.calls = 0;
  karst_status status = spread_matrix(rank, s, &A);
  if (!status) status = karst_solver_setup(solver, A);
  if (!status) status = karst_solver_update(solver);
  karst_solver_destroy(solver);
  karst_matrix_destroy(A);
  return status;
}

int main(void)
{
  karst_context *context = tap_context();
  struct task task = {.s = spread_of(context, matrix_from(context, "blackoil:8x7x6", 0), 3, false)};
  task.options = PAIRS("precond", "auto", "rtol", "1e-10");
  task.promises = true;
  team_each_device(3, body, &task, "a sequence with trials");
  team_run(3, "cpu", choose_once, &task, "choices without solves");
  team_fail_allocations(3, set_up_once, &task, 1, "set-up with auto");
  spread_destroy(&task.s);

  task = (struct task){.s = spread_of(context, matrix_from(context, "poisson3d:18x18x12", 0), 2, false)};
  task.options = PAIRS("precond", "iluk", "ordering", "auto", "rtol", "1e-10");
  team_each_device(2, body, &task, "an ordering");
  spread_destroy(&task.s);

  /* Rank 0 has a square of 20 nodes a side, for which the rules choose rrb, and rank 2 a part that is no rectangle. */
  task = (struct task){.s = spread_of(context, matrix_from(context, "poisson2d:20x30", 0), 3, false)};
  task.s.first[1] = 400;
  task.s.first[2] = 415;
  task.options = PAIRS("precond", "auto", "solver", "gmres", "rtol", "1e-10");
  task.first = "rrb has failed";
  team_each_device(3, body, &task, "a choice that one rank refuses");
  spread_destroy(&task.s);
  karst_context_destroy(context);
  return tap_done();
}
