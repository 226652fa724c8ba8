/* test_auto_learn.c - how auto learns between updates: trials, failures, and solves that say nothing about a choice. */
#include "config.h"

#include "tests/support/auto_steps.h"
#include "lib/backend/backend.h"
#include "lib/base/context.h"
#include "tests/support/failing_allocator.h"
#include "lib/matrix/matrix.h"

#include <math.h>
#include <stdlib.h>

enum { CYCLES = 20 };

/* The choices of auto in a loop of updates. */
struct cycle {
  char choice[CYCLES][VALUE];
  int iterations[CYCLES], changes;
  double last; /* of x, so that bits can be compared */
};

static void run_cycles(const struct problem *p, const char *const (*given)[2], struct cycle *cycle)
{
  karst_solver *solver = set_up(p, given);
  *cycle = (struct cycle){.changes = 0};
  for (int i = 0; i < CYCLES; i++) {
    if (i > 0) tap_need(p->context, karst_solver_update(solver), "update");
    cycle->iterations[i] = problem_solve(p, solver).iterations;
    text_of(solver, "auto_choice", cycle->choice[i]);
    cycle->changes += i > 0 && strcmp(cycle->choice[i], cycle->choice[i - 1]) != 0;
  }
  tap_need(p->context, karst_vector_norm(p->x, &cycle->last), "norm");
  karst_solver_destroy(solver);
}

static void test_learning(karst_context *context)
{
  struct problem p = problem_from(context, "convdiff:16x16x16", 0, 0);
  struct cycle one, other, still;
  run_cycles(&p, NULL, &one);
  run_cycles(&p, NULL, &other);
  bool same = one.last == other.last;
  for (int i = 0; i < CYCLES; i++)
    same = same && strcmp(one.choice[i], other.choice[i]) == 0 && one.iterations[i] == other.iterations[i];
  tap_ok(same, "by the same clock two runs make the same choices and have the same bits");
  tap_ok(one.changes >= 1 && one.changes <= CYCLES / 2, "auto tries some others: %d changes", one.changes);
  tap_ok(strcmp(one.choice[CYCLES - 1], one.choice[CYCLES - 4]) == 0, "after the trials the choice stays: %s",
         one.choice[CYCLES - 1]);
  run_cycles(&p, GIVEN({"auto-learn", "no"}), &still);
  tap_ok(still.changes == 0 && strcmp(still.choice[0], one.choice[0]) == 0, "auto-learn no keeps the choice");
  run_cycles(&p, GIVEN({"level", "1"}, {"ordering", "natural"}), &still);
  tap_ok(still.changes == 0, "a given level is not changed");
  problem_destroy(&p);
}

/* If no choice solves the system, auto assumes that the values are bad, not the choices: the next systems are solved as
 * before. */
static void test_bad_step(karst_context *context)
{
  struct problem p = problem_from(context, "poisson2d:30x30", 0, 0);
  enum { MOST = 5 * 30 * 30 };
  static double good[MOST], bad[MOST];
  karst_solver *solver = set_up(&p, GIVEN({"solver", "orthomin"}, {"scale", "diagonal"}));
  const int before = problem_solve(&p, solver).iterations;
  const int64_t entries = karst_matrix_entries(p.A);
  const struct karst_backend *backend = context->backend;
  tap_need(context, backend->download(context, good, p.A->value, (size_t)entries * sizeof *good), "values");
  for (int64_t i = 0; i < entries; i++) bad[i] = good[i] * pow(10, floor(8 * tap_random()));
  tap_need(context, karst_matrix_update_values(p.A, bad), "bad values");
  tap_need(context, karst_solver_update(solver), "update");
  const karst_reason reason = problem_solve(&p, solver).reason;
  tap_need(context, karst_matrix_update_values(p.A, good), "good values");
  karst_result result = {0};
  for (int i = 0; i < 3; i++) {
    tap_need(context, karst_solver_update(solver), "update");
    result = problem_solve(&p, solver);
  }
  tap_ok(result.reason > 0 && result.iterations <= 2 * before + 10, "after values that %s: %d iterations, before %d",
         reason < 0 ? "no choice solves" : "are hard", result.iterations, before);
  problem_end(&p, solver);
}

static void test_failures(karst_context *context)
{
  struct problem p = problem_from(context, "poisson3d:16x16x16", 0, 0);
  karst_solver *solver = set_up(&p, GIVEN({"max-iterations", "2"}));
  char choice[VALUE], reason[VALUE];
  tap_ok(problem_solve(&p, solver).reason == KARST_ITERATION_LIMIT, "the first choice fails");
  tap_need(context, karst_solver_update(solver), "update");
  text_of(solver, "auto_choice", choice);
  text_of(solver, "auto_reason", reason);
  tap_ok(strcmp(choice, "--precond amg --ordering natural") == 0 && strstr(reason, "has failed"),
         "multigrid replaces it: %s: %s", choice, reason);
  for (int i = 0; i < CYCLES; i++) {
    problem_solve(&p, solver);
    tap_need(context, karst_solver_update(solver), "update");
  }
  tap_need(context, karst_solver_set_tolerances(solver, 1e-8, 0, 1000), "limits");
  tap_ok(problem_solve(&p, solver).reason > 0, "after all choices have failed auto still solves with one");
  problem_end(&p, solver);
}

/* Checks that the choice stays after solves that say nothing about it. */
static void expect_no_change(const struct problem *p, karst_solver *solver, const char *why)
{
  char before[VALUE], after[VALUE];
  text_of(solver, "auto_choice", before);
  for (int i = 0; i < 3; i++) {
    const karst_reason reason = problem_solve(p, solver).reason;
    tap_ok(reason < 0, "%s: the solve does not converge: %d", why, (int)reason);
    tap_need(p->context, karst_solver_update(solver), "update");
  }
  text_of(solver, "auto_choice", after);
  tap_ok(strcmp(before, after) == 0, "%s: %s stays", why, before);
}

static void test_limits(karst_context *context)
{
  struct problem p = problem_from(context, "poisson3d:12x12x12", 0, 0), q = problem_from(context, "jump2d:60x60", 2, 0);
  karst_solver *solver = set_up(&p, NULL);
  tap_need(context, karst_solver_set_tolerances(solver, 1e-8, 0, 0), "limits");
  expect_no_change(&p, solver, "no iteration was allowed");
  tap_need(context, karst_solver_set_tolerances(solver, 0, 0, 60), "limits");
  expect_no_change(&p, solver, "the tolerance is zero");
  problem_end(&p, solver);
  solver = set_up(&q, NULL);
  tap_need(context, karst_solver_set_tolerances(solver, 1e-16, 0, 3000), "limits");
  const karst_result result = problem_solve(&q, solver);
  const bool rounded = result.reason == KARST_STAGNATED && result.relative_residual < 1e-6;
  tap_ok(rounded || !karst_context_is_host(context), "rounding ends a solve at %.1e", result.relative_residual);
  if (rounded) expect_no_change(&q, solver, "rounding leaves no smaller residual");
  problem_end(&q, solver);
}

/* The values of a matrix times factor, with shift added to the diagonal entries. */
static double *copy_values(const karst_matrix *A, double factor, double shift)
{
  const int b = karst_matrix_block_size(A);
  double *value = values_on_host(A);
  const karst_index *start = karst_matrix_row_start(A), *column = karst_matrix_column(A);
  for (int64_t k = 0; k < karst_entries(A); k++) value[k] *= factor;
  for (karst_index i = 0; i < karst_matrix_block_rows(A); i++)
    for (karst_index k = start[i]; k < start[i + 1]; k++)
      for (int q = 0; q < b && column[k] == i; q++) value[(int64_t)k * b * b + (int64_t)q * (b + 1)] += shift;
  return value;
}

/* Updates the values and solves; choice: what was chosen for it. */
static karst_result step(const struct problem *p, karst_solver *solver, const double *value, char choice[VALUE])
{
  tap_need(p->context, karst_matrix_update_values(p->A, value), "values");
  tap_need(p->context, karst_solver_update(solver), "update");
  text_of(solver, "auto_choice", choice);
  return problem_solve(p, solver);
}

/* rrb breaks down with one set of values, and refuses another. Both times it comes back, but not if it fails again. */
static void test_second_chance(karst_context *context)
{
  struct problem p = problem_from(context, "poisson2d:40x40", 0, 0);
  karst_solver *solver = set_up(&p, NULL);
  char choice[VALUE];
  double *sound = copy_values(p.A, 1, 0), *negative = copy_values(p.A, -1, 0), *skew = copy_values(p.A, 1, 0);
  skew[karst_matrix_row_start(p.A)[5] - 1] *= 0.5;
  tap_ok(problem_solve(&p, solver).reason > 0 && chooses(solver, "rrb"), "auto begins with rrb");
  tap_ok(step(&p, solver, negative, choice).reason > 0 && strstr(choice, "rrb"), "rrb fails with negative values");
  tap_ok(chooses(solver, "iluk"), "iluk replaces %s within the same solve", choice);
  tap_ok(step(&p, solver, sound, choice).reason > 0 && strstr(choice, "rrb"), "rrb returns: %s", choice);
  tap_ok(step(&p, solver, skew, choice).reason > 0 && strstr(choice, "iluk"), "rrb refuses values: %s", choice);
  tap_ok(step(&p, solver, sound, choice).reason > 0 && strstr(choice, "rrb"), "rrb returns: %s", choice);
  step(&p, solver, skew, choice);
  tap_ok(step(&p, solver, skew, choice).reason > 0 && strstr(choice, "iluk"), "rrb refuses values twice: %s", choice);
  tap_ok(step(&p, solver, sound, choice).reason > 0 && strstr(choice, "iluk"), "rrb does not return again: %s", choice);
  free(sound);
  free(negative);
  free(skew);
  problem_end(&p, solver);
}

/* Values with different upper and lower triangles. */
static double *copy_unsymmetric(const karst_matrix *A)
{
  double *value = copy_values(A, 1, 0);
  for (karst_index i = 0; i < karst_matrix_block_rows(A); i++)
    for (karst_index k = karst_matrix_row_start(A)[i]; k < karst_matrix_row_start(A)[i + 1]; k++)
      if (karst_matrix_column(A)[k] > i) value[k] *= 0.5;
  return value;
}

/* rrb gets its second chance even if auto learns nothing from solves. */
static void test_second_chance_unlearnt(karst_context *context)
{
  struct problem p = problem_from(context, "poisson2d:40x40", 0, 0);
  karst_solver *solver = set_up(&p, GIVEN({"auto-learn", "no"}));
  char choice[VALUE];
  double *sound = copy_values(p.A, 1, 0), *skew = copy_unsymmetric(p.A);
  tap_ok(problem_solve(&p, solver).reason > 0 && chooses(solver, "rrb"), "auto begins with rrb");
  tap_ok(step(&p, solver, skew, choice).reason > 0 && strstr(choice, "iluk"), "rrb refuses values: %s", choice);
  tap_ok(step(&p, solver, sound, choice).reason > 0 && strstr(choice, "rrb"), "rrb returns without learning: %s",
         choice);
  tap_ok(step(&p, solver, sound, choice).reason > 0 && strstr(choice, "rrb"), "rrb stays: %s", choice);
  free(sound);
  free(skew);
  problem_end(&p, solver);
}

/* An update that lacks memory for one of its allocations. If it needs a fallback, because rrb refuses the values, it
 * reports the lack of memory. If it lacks memory for a trial, it goes on with the choice that there is. Either way the
 * next updates and solves succeed. */
static void test_update_without_memory(const char *spec, bool refused, const char *what)
{
  bool sound = true;
  long n = 0, failed = 0;
  for (bool met = true; met && sound; n++) {
    struct failing_allocator memory = {.fail_at = 0};
    karst_context *context = failing_context(&memory);
    char before[VALUE], after[VALUE];
    struct problem p = problem_from(context, spec, 0, 0);
    karst_solver *solver = set_up(&p, NULL);
    double *value = copy_unsymmetric(p.A);
    text_of(solver, "auto_choice", before);
    problem_solve(&p, solver);
    if (refused)
      tap_need(context, karst_matrix_update_values(p.A, value), "values");
    else
      promise_jacobi(solver);
    memory.fail_at = memory.calls + n + 1;
    const karst_status status = karst_solver_update(solver);
    met = memory.calls >= memory.fail_at;
    memory.fail_at = 0;
    failed += met;
    sound = status == (met && refused ? KARST_ERROR_NO_MEMORY : KARST_SUCCESS);
    if (!sound) tap_note("allocation %ld: %s", n, karst_context_error(context));
    for (int i = 0; i < 3 && sound; i++)
      sound = karst_solver_update(solver) == KARST_SUCCESS && problem_solve(&p, solver).reason > 0 &&
              (refused || !met || strcmp(before, text_of(solver, "auto_choice", after)) == 0);
    free(value);
    problem_end(&p, solver);
    karst_context_destroy(context);
    sound = sound && memory.outstanding == 0;
  }
  tap_ok(sound && failed > 3, "%ld updates %s", failed, what);
}

/* If a trial takes too many iterations, the choice before it comes back, ends the solve, and is still the best. */
static void test_failed_trial(karst_context *context)
{
  struct problem p = problem_from(context, "anisotropic:60x60x1", 2, 0);
  karst_solver *solver = set_up(&p, GIVEN({"rtol", "1e-10"}));
  char first[VALUE], trial[VALUE], last[VALUE], why[VALUE];
  double *value = copy_values(p.A, 1, 0);
  tap_ok(problem_solve(&p, solver).reason > 0, "the first system converges");
  text_of(solver, "auto_choice", first);
  promise_jacobi(solver);
  const karst_reason reason = step(&p, solver, value, trial).reason;
  text_of(solver, "auto_choice", last);
  tap_ok(reason > 0 && strstr(trial, "jacobi") && strcmp(last, first) == 0, "after %s %s ends the solve: %s", trial,
         last, text_of(solver, "auto_reason", why));
  for (int t = 0; t < CYCLES; t++)
    if (step(&p, solver, value, trial).reason <= 0 || strstr(trial, "jacobi")) snprintf(last, sizeof last, "%s", trial);
  tap_ok(strcmp(last, first) == 0, "jacobi does not return: %s", last);
  free(value);
  problem_end(&p, solver);
}

/* A solver that has learnt gives its analysis to solvers that have not. */
static void test_learnt_analysis(karst_context *context)
{
  struct problem p = problem_from(context, "convdiff:12x12x12", 0, 0);
  karst_solver *one = set_up(&p, NULL), *other = make_solver(&p, NULL);
  karst_solver *third = make_solver(&p, GIVEN({"level", "4"}));
  karst_analysis *analysis;
  char choice[VALUE], same[VALUE];
  text_of(one, "auto_choice", choice);
  for (int i = 0; i < CYCLES && strcmp(text_of(one, "auto_choice", same), choice) == 0; i++) {
    problem_solve(&p, one);
    tap_need(context, karst_solver_update(one), "update");
  }
  tap_ok(strcmp(choice, same) != 0, "auto changes from %s to %s", choice, same);
  one->automatic.learns = false; /* the trial goes on as long as it takes */
  tap_need(context, karst_solver_get_analysis(one, &analysis), "analysis");
  const karst_status status = karst_solver_setup_with(other, p.A, analysis);
  tap_ok(status == KARST_SUCCESS && strcmp(text_of(other, "auto_choice", choice), same) == 0,
         "another solver begins with that choice: %s", status ? karst_context_error(context) : choice);
  tap_ok(problem_solve(&p, other).iterations == problem_solve(&p, one).iterations,
         "both solvers take as many iterations");
  const karst_status refused = karst_solver_setup_with(third, p.A, analysis);
  tap_ok(refused == KARST_ERROR_ARGUMENT, "a solver with a given level refuses: %s", karst_context_error(context));
  karst_analysis_destroy(analysis);
  karst_solver_destroy(one);
  karst_solver_destroy(other);
  karst_solver_destroy(third);
  problem_destroy(&p);
}

/* Two matrices of one pattern whose values have different ladders: the analysis of either serves the other. */
static void test_analysis_across(karst_context *context)
{
  struct problem p = problem_from(context, "poisson2d:40x40", 0, 0), q = problem_from(context, "poisson2d:40x40", 0, 0);
  karst_analysis *analysis;
  char choice[VALUE], same[VALUE], rules[VALUE];
  double *skew = copy_unsymmetric(p.A);
  tap_need(context, karst_matrix_update_values(q.A, skew), "values");
  karst_solver *symmetric = make_solver(&p, NULL), *other = set_up(&q, NULL);
  tap_need(context, karst_solver_get_analysis(other, &analysis), "analysis");
  karst_status status = karst_solver_setup_with(symmetric, p.A, analysis);
  text_of(other, "auto_choice", choice);
  snprintf(rules, sizeof rules, "%s", choice);
  tap_ok(status == KARST_SUCCESS && !strstr(choice, "rrb") &&
             strcmp(text_of(symmetric, "auto_choice", same), choice) == 0 && problem_solve(&p, symmetric).reason > 0,
         "symmetric values begin with %s: %s", choice, status ? karst_context_error(context) : same);
  karst_analysis_destroy(analysis);
  tap_need(context, karst_solver_setup(symmetric, p.A), "setup");
  tap_need(context, karst_solver_get_analysis(symmetric, &analysis), "analysis");
  status = karst_solver_setup_with(other, q.A, analysis);
  tap_ok(status == KARST_SUCCESS && strstr(text_of(symmetric, "auto_choice", choice), "rrb") &&
             strcmp(text_of(other, "auto_choice", same), rules) == 0 && problem_solve(&q, other).reason > 0,
         "an analysis with rrb gives way to the choice of the rules: %s", status ? karst_context_error(context) : same);
  karst_analysis_destroy(analysis);
  free(skew);
  problem_end(&p, symmetric);
  problem_end(&q, other);
}

/* Sets up a solver with this preconditioner as its first choice, as the rules of a GPU may choose it and those of a CPU
 * do not: it takes the analysis of a solver whose options named it. */
static void set_up_with(const struct problem *p, karst_solver *solver, const char *precond)
{
  karst_solver *other = solver_from(p->context, PAIRS("precond", precond));
  karst_analysis *analysis;
  char choice[VALUE];
  tap_need(p->context, karst_solver_setup(other, p->A), "set-up");
  tap_need(p->context, karst_solver_get_analysis(other, &analysis), "analysis");
  tap_need(p->context, karst_solver_setup_with(solver, p->A, analysis), "setup");
  tap_ok(strstr(text_of(solver, "auto_choice", choice), precond) != NULL, "auto begins with %s", choice);
  karst_analysis_destroy(analysis);
  karst_solver_destroy(other);
}

/* A solve that fails with the first choice goes on with another choice in the same call. */
static void test_within_solve(karst_context *context)
{
  struct problem p = problem_from(context, "blackoil:21x2x1,dt=0.1", 0, 0);
  karst_solver *solver =
      make_solver(&p, GIVEN({"solver", "richardson"}, {"scale", "block"}, {"max-iterations", "2000"}));
  char choice[VALUE];
  set_up_with(&p, solver, "jacobi");
  const karst_result result = problem_solve(&p, solver);
  text_of(solver, "auto_choice", choice);
  tap_ok(result.reason > 0 && !strstr(choice, "jacobi"), "%s ends the solve: %s", choice, karst_solver_explain(solver));
  problem_end(&p, solver);
}

/* A black-oil problem whose time step makes it easy or hard, its values, those of another one on its pattern, and a
 * solver. */
struct sequence {
  struct problem p;
  karst_solver *solver;
  double *own, *other;
};

static const char easy[] = "blackoil:16x16x6,dt=0.0001", hard[] = "blackoil:16x16x6,dt=10";

/* Begins with the preconditioner named, or with the choice of the rules if it is NULL, and solves once. */
static struct sequence begin(karst_context *context, const char *own, const char *other, const char *first,
                             const char *const (*given)[2])
{
  struct sequence s = {.p = problem_from(context, own, 0, 0)};
  karst_matrix *A = matrix_from(context, other, 0);
  s.own = copy_values(s.p.A, 1, 0);
  s.other = copy_values(A, 1, 0);
  karst_matrix_destroy(A);
  s.solver = first ? make_solver(&s.p, given) : set_up(&s.p, given);
  if (first) set_clock(s.solver);
  if (first) set_up_with(&s.p, s.solver, first);
  problem_solve(&s.p, s.solver);
  return s;
}

static void end(struct sequence *s)
{
  free(s->own);
  free(s->other);
  problem_end(&s->p, s->solver);
}

/* Hard systems after easy ones: auto gives up what it has learnt from the easy ones. */
static void test_sequence(karst_context *context)
{
  enum { EASY = 4, HARD = 8, LATE = 4 };
  struct sequence s = begin(context, easy, hard, "jacobi", GIVEN({"solver", "bicgstab"}));
  struct problem q = problem_from(context, hard, 0, 0);
  karst_solver *fixed = solver_from(context, PAIRS("precond", "jacobi", "solver", "bicgstab"));
  char choice[VALUE];
  int late = 0, most = 0;
  for (int i = 1; i < EASY; i++) step(&s.p, s.solver, s.own, choice);
  for (int i = 0; i < HARD; i++) {
    const karst_result result = step(&s.p, s.solver, s.other, choice);
    if (result.iterations > most) most = result.iterations;
    if (i >= HARD - LATE) late += result.iterations;
  }
  tap_need(context, karst_solver_setup(fixed, q.A), "set-up");
  const int jacobi = problem_solve(&q, fixed).iterations;
  tap_ok(3 * late < LATE * jacobi, "%d hard systems take %d iterations, where jacobi takes %d for each: %s", LATE, late,
         jacobi, choice);
  tap_ok(most <= jacobi + 30, "no system takes many more than that: %d", most);
  problem_end(&q, fixed);
  end(&s);
}

/* One hard system among easy ones: auto does not keep the choice that takes over within its solve for long. */
static void test_one_hard(karst_context *context)
{
  enum { EASY = 2, MOST = 24 };
  struct sequence s =
      begin(context, easy, hard, "jacobi", GIVEN({"solver", "bicgstab"}, {"ordering", "natural"}, {"rtol", "1e-4"}));
  char before[VALUE], climbed[VALUE], after[VALUE];
  for (int i = 0; i < EASY; i++) step(&s.p, s.solver, s.own, before);
  const int most = step(&s.p, s.solver, s.other, climbed).iterations;
  text_of(s.solver, "auto_choice", climbed);
  int i = 0;
  while (i++ < MOST && strcmp(climbed, (step(&s.p, s.solver, s.own, after), after)) == 0) continue;
  if (strcmp(climbed, before) == 0 && !karst_context_is_host(context))
    tap_skip("one choice serves the easy systems and the hard one", "%s takes %d iterations", before, most);
  else
    tap_ok(strcmp(climbed, before) != 0 && strcmp(after, climbed) != 0,
           "%s, %s for %d iterations, and %d systems later %s", before, climbed, most, i, after);
  end(&s);
}

int main(void)
{
  tap_each_device(test_learning, "learning");
  tap_each_device(test_failures, "failures");
  tap_each_device(test_bad_step, "a bad step");
  tap_each_device(test_limits, "limits");
  tap_each_device(test_second_chance, "a second chance");
  tap_each_device(test_failed_trial, "a failed trial");
  tap_each_device(test_learnt_analysis, "an analysis of what was learnt");
  tap_each_device(test_second_chance_unlearnt, "a second chance where nothing is learnt");
  tap_each_device(test_analysis_across, "an analysis across values");
  tap_each_device(test_within_solve, "a failure within a solve");
  tap_each_device(test_sequence, "easy systems, then hard ones");
  tap_each_device(test_one_hard, "a hard system among easy ones");
  test_update_without_memory("convdiff:5x5x5", false,
                             "without memory for a part of a trial go on with the former choice");
  test_update_without_memory("poisson2d:9x9", true, "without memory for a fallback say so, and the next ones succeed");
  return tap_done();
}
