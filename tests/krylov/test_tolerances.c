/* rtol, atol and max_iterations can be changed on a solver that has been set up. The next solve is that of a solver
 * made with the new limits, also if these need more directions than set-up allocated. */
#include "tests/support/failing_allocator.h"
#include "tests/support/problem.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static const char *const solvers[] = {"gmres", "fgmres", "bicgstab", "cg", "orthomin", "richardson"};
enum { SOLVERS = sizeof solvers / sizeof solvers[0] };

struct limits {
  double rtol, atol;
  int max_iterations;
};

static karst_solver *make_solver(const struct problem *p, const char *name, struct limits limits)
{
  tap_settings options = settings_for(name, "jacobi");
  options.rtol = limits.rtol;
  options.atol = limits.atol;
  options.max_iterations = limits.max_iterations;
  return problem_solver(p, &options);
}

static karst_status set(karst_solver *solver, struct limits limits)
{
  return karst_solver_set_tolerances(solver, limits.rtol, limits.atol, limits.max_iterations);
}

/* Returns whether the next solve agrees to the bit with that of a solver made with these limits. */
static bool solves_like_new(const struct problem *p, karst_solver *solver, const char *name, struct limits limits,
                            karst_result *result)
{
  karst_solver *made = make_solver(p, name, limits);
  const karst_result expected = problem_solve(p, made);
  double *expected_x = vector_on_host(p->x);
  *result = problem_solve(p, solver);
  double *x = vector_on_host(p->x);
  bool same = memcmp(x, expected_x, (size_t)p->n * sizeof *x) == 0 && result->reason == expected.reason &&
              result->iterations == expected.iterations && result->residual == expected.residual;
  karst_solver_destroy(made);
  free(x);
  free(expected_x);
  return same;
}

/* One solver takes one set of limits after another. The first leaves room for 4 directions, where restart is 30. */
static void test_changes(karst_context *context)
{
  static const struct limits limits[] = {{1e-10, 0, 4}, {1e-10, 0, 1000}, {1e-3, 0, 1000}, {0, 1e-2, 1000},
                                         {1e-10, 0, 7}, {1e-12, 0, 25},   {0, 0, 0},       {1e-6, 1e-9, 500}};
  enum { CHANGES = sizeof limits / sizeof limits[0] };
  struct problem p = problem_from(context, "poisson2d:13x11", 1, 11);
  for (int s = 0; s < SOLVERS; s++) {
    karst_solver *solver = make_solver(&p, solvers[s], limits[0]);
    karst_result result[CHANGES];
    int other = 0;
    for (int i = 0; i < CHANGES; i++) {
      tap_need(context, set(solver, limits[i]), "limits");
      other += !solves_like_new(&p, solver, solvers[s], limits[i], &result[i]);
    }
    tap_ok(other == 0, "%s: each of %d solves is that of a solver made with these limits", solvers[s], (int)CHANGES);
    tap_ok(result[0].reason == KARST_ITERATION_LIMIT && result[0].iterations == 4 &&
               result[1].reason == KARST_CONVERGED_RTOL && result[2].iterations < result[1].iterations &&
               result[3].reason == KARST_CONVERGED_ATOL && result[4].iterations == 7 &&
               result[6].reason == KARST_ITERATION_LIMIT && result[6].iterations == 0,
           "%s ends by the limits of each: %d, %d, %d, %d, %d, %d iterations", solvers[s], result[0].iterations,
           result[1].iterations, result[2].iterations, result[3].iterations, result[4].iterations,
           result[5].iterations);
    karst_solver_destroy(solver);
  }
  problem_destroy(&p);
}

/* A refused call leaves all three limits as they were. Limits may also be set before set-up. */
static void test_refusals(karst_context *context)
{
  static const struct limits good = {1e-9, 0, 300};
  static const struct limits bad[] = {{-1, 0, 5},         {NAN, 0, 5},    {INFINITY, 0, 5},
                                      {1e-3, -1e-300, 5}, {1e-3, NAN, 5}, {1e-3, 0, -1}};
  static const char *const named[] = {"rtol", "rtol", "rtol", "atol", "atol", "max-iterations"};
  struct problem p = problem_from(context, "poisson2d:13x11", 1, 11);
  karst_solver *solver = make_solver(&p, "gmres", good), *bare;
  karst_result result;
  for (int i = 0; i < 6; i++) {
    karst_status status = set(solver, bad[i]);
    tap_ok(status == KARST_ERROR_OPTION && strstr(karst_context_error(context), named[i]), "a bad limit is refused: %s",
           karst_context_error(context));
  }
  tap_ok(solves_like_new(&p, solver, "gmres", good, &result) && result.reason > 0,
         "after a refusal the earlier limits apply");
  tap_ok(set(NULL, good) == KARST_ERROR_ARGUMENT, "a solver must be given");
  tap_need(context, karst_solver_create(context, NULL, &bare), "solver");
  tap_ok(set(bare, (struct limits){1e-9, 0, 2}) == KARST_SUCCESS, "limits can be set before set-up");
  tap_need(context, karst_solver_setup(bare, p.A), "setup");
  result = problem_solve(&p, bare);
  tap_ok(result.reason == KARST_ITERATION_LIMIT && result.iterations == 2,
         "limits set before set-up apply to the solves after it");
  karst_solver_destroy(bare);
  karst_solver_destroy(solver);
  problem_destroy(&p);
}

/* During a solve a monitor makes calls that must be refused. */
struct caller {
  struct problem *p;
  karst_solver *solver;
  int refused;
};

static karst_decision call_within(void *user, int iteration, double residual)
{
  struct caller *caller = user;
  karst_result result;
  (void)residual;
  if (iteration != 2) return KARST_GO_ON;
  caller->refused = (set(caller->solver, (struct limits){1e-3, 0, 1000}) == KARST_ERROR_ARGUMENT) +
                    (karst_solver_setup(caller->solver, caller->p->A) == KARST_ERROR_ARGUMENT) +
                    (karst_solver_update(caller->solver) == KARST_ERROR_ARGUMENT) +
                    (karst_solver_solve(caller->solver, caller->p->b, caller->p->x, &result) == KARST_ERROR_ARGUMENT);
  return KARST_GO_ON;
}

static void test_monitor(karst_context *context)
{
  static const struct limits few = {1e-12, 0, 5};
  struct problem p = problem_from(context, "poisson2d:13x11", 1, 11);
  for (int s = 0; s < SOLVERS; s++) {
    karst_solver *solver = make_solver(&p, solvers[s], few);
    struct caller caller = {&p, solver, 0};
    karst_solver_monitor(solver, call_within, &caller);
    const karst_result result = problem_solve(&p, solver);
    tap_ok(caller.refused == 4 && result.iterations == 5 && result.reason == KARST_ITERATION_LIMIT,
           "%s: a monitor changes nothing of the solver that calls it", solvers[s]);
    karst_solver_monitor(solver, NULL, NULL);
    tap_ok(set(solver, (struct limits){1e-3, 0, 1000}) == KARST_SUCCESS,
           "and the solver takes new limits after the solve");
    karst_solver_destroy(solver);
  }
  problem_destroy(&p);
}

/* Each allocation of a call fails once, and then nothing has changed. Most changes allocate nothing. */
static void test_memory(void)
{
  static const struct limits few = {1e-10, 0, 4}, many = {1e-10, 0, 1000}, loose = {1e-2, 1, 2};
  struct failing_allocator memory = {.fail_at = 0};
  karst_context *context = failing_context(&memory);
  struct problem p = problem_from(context, "poisson2d:13x11", 1, 11);
  for (int s = 0; s < SOLVERS; s++) {
    karst_solver *solver = make_solver(&p, solvers[s], few);
    karst_result result;
    karst_status status = KARST_ERROR_NO_MEMORY;
    long wrong = 0, failures = 0;
    const karst_solver_info before = info_of(solver);
    for (; status != KARST_SUCCESS && failures < 100; failures += status != KARST_SUCCESS) {
      memory.fail_at = memory.calls + failures + 1;
      status = set(solver, many);
      memory.fail_at = 0;
      if (status == KARST_SUCCESS) break;
      wrong += status != KARST_ERROR_NO_MEMORY || !solves_like_new(&p, solver, solvers[s], few, &result);
    }
    bool restarts =
        strcmp(solvers[s], "bicgstab") != 0 && strcmp(solvers[s], "cg") != 0 && strcmp(solvers[s], "richardson") != 0;
    const karst_solver_info after = info_of(solver);
    tap_ok(wrong == 0 && (failures > 0) == restarts && (after.memory > before.memory) == restarts &&
               solves_like_new(&p, solver, solvers[s], many, &result),
           "%s: %ld allocations for more iterations; one that fails changes nothing", solvers[s], failures);
    const long calls = memory.calls;
    tap_need(context, set(solver, loose), "fewer");
    tap_need(context, set(solver, many), "more again");
    tap_ok(memory.calls == calls, "%s: limits that need no more directions allocate nothing", solvers[s]);
    karst_solver_destroy(solver);
  }
  problem_destroy(&p);
  karst_context_destroy(context);
  tap_ok(memory.outstanding == 0, "all memory is released");
}

static void test_all(karst_context *context)
{
  test_changes(context);
  test_refusals(context);
  test_monitor(context);
}

int main(void)
{
  tap_each_device(test_all, "limits of a solver that is set up");
  test_memory();
  return tap_done();
}
