/* A profile can be switched on and off, also during a solve, and a new device ends it. It has a last row for all names
 * beyond its room, counts the threads of a context together, and allocates only its own memory. */
#include "lib/backend/backend.h"
#include "tests/support/failing_allocator.h"
#include "tests/support/profile_rows.h"

#include <pthread.h>
#include <stdio.h>
#include <string.h>

static void switches(karst_context *context)
{
  karst_profile row = {.name = "none"};
  tap_settings settings = settings_for(NULL, NULL);
  const struct karst_backend *backend = context->backend;
  tap_ok(!karst_context_profile_row(context, 0, &row) && strcmp(row.name, "none") == 0,
         "there are no rows before a profile");
  tap_ok(karst_context_profile(context, 0) == KARST_SUCCESS, "a profile that is off can be switched off");
  struct problem p = problem_from(context, "poisson2d:8x8", 0, 0);
  karst_solver *solver = problem_solver(&p, &settings);
  tap_need(context, karst_context_profile(context, 1), "profile");
  tap_ok(count_rows(context) == 0 && context->backend != backend, "a new profile has no rows");
  problem_solve(&p, solver);
  const int64_t calls = calls_of(context, "matrix product");
  tap_need(context, karst_context_profile(context, 0), "no profile");
  tap_ok(context->backend == backend, "without a profile the backend's own operations are called");
  problem_solve(&p, solver);
  tap_ok(calls > 0 && calls_of(context, "matrix product") == calls, "and later operations are not counted");
  tap_need(context, karst_context_profile(context, 1), "profile");
  problem_solve(&p, solver);
  tap_ok(calls_of(context, "matrix product") == calls, "a profile begins anew");
  tap_need(context, karst_context_profile(context, 7), "profile");
  tap_ok(count_rows(context) == 0, "also during another profile");
  tap_ok(!karst_context_profile_row(context, 0, NULL) && !karst_context_profile_row(NULL, 0, &row) &&
             karst_context_profile(NULL, 1) == KARST_ERROR_ARGUMENT,
         "NULL has no profile");
  karst_solver_destroy(solver);
  problem_destroy(&p);
}

/* A new device has another table of operations. */
static void ends_with_the_device(karst_context *context)
{
  char device[128];
  snprintf(device, sizeof device, "%s", context->backend->name);
  tap_need(context, karst_context_profile(context, 1), "profile");
  tap_need(context, karst_context_set_threads(context, 1), "threads");
  tap_ok(context->profiling, "the number of threads does not end a profile");
  tap_need(context, karst_context_set_device(context, device), "device");
  karst_vector *x = vector_of(context, 5, 0);
  tap_ok(!context->profiling && count_rows(context) == 0, "a new device does");
  karst_vector_destroy(x);
}

/* ---- a registered method, and the operations that it calls ---- */

static karst_status apply_and_switch(karst_precond *precond, const karst_vector *r, karst_vector *z)
{
  karst_status *answer = karst_precond_user(precond);
  *answer = karst_context_profile(karst_precond_context(precond), 0);
  return karst_vector_copy(r, z);
}

static karst_decision stop_profile(void *user, int iteration, double residual)
{
  (void)residual;
  if (iteration == 1) tap_need(user, karst_context_profile(user, 0), "no profile from a monitor");
  return KARST_GO_ON;
}

static void within_a_solve(karst_context *context)
{
  karst_status answer = KARST_SUCCESS;
  karst_precond_method method = copying_method("switcher");
  method.user = &answer;
  method.apply = apply_and_switch;
  tap_settings settings = settings_for(NULL, "switcher");
  tap_need(context, karst_precond_register(context, &method), "register");
  struct problem p = problem_from(context, "poisson2d:8x8", 0, 0);
  karst_solver *solver = problem_solver(&p, &settings);
  solve_profiled(&p, solver, "a registered method");
  tap_ok(answer == KARST_ERROR_ARGUMENT && strstr(karst_context_error(context), "within"),
         "an operation that is timed cannot end the profile: %s", karst_context_error(context));
  const int64_t calls = calls_of(context, "precond apply (switcher)");
  tap_ok(calls > 0 && calls <= calls_of(context, "copy"),
         "it has a row of its name, and the operations that it calls have theirs");
  karst_solver_monitor(solver, stop_profile, context);
  tap_need(context, karst_context_profile(context, 1), "profile");
  problem_solve(&p, solver);
  tap_ok(!context->profiling && calls_of(context, "precond apply (switcher)") > 0 &&
             calls_of(context, "precond apply (switcher)") < calls,
         "a monitor can end the profile during a solve");
  karst_solver_destroy(solver);
  problem_destroy(&p);
}

/* More names than there are rows: the last row has the others. */
static void has_enough_rows(karst_context *context)
{
  enum { METHODS = 200 };
  static char names[METHODS][16];
  karst_profile row, last = {.name = ""};
  int64_t updates = 0;
  karst_matrix *A = matrix_from(context, "poisson2d:4x4", 0);
  tap_need(context, karst_context_profile(context, 1), "profile");
  for (int i = 0; i < METHODS; i++) {
    snprintf(names[i], sizeof names[i], "method%d", i);
    const karst_precond_method method = copying_method(names[i]);
    tap_need(context, karst_precond_register(context, &method), "register");
    karst_precond_destroy(precond_from(context, PAIRS("precond", names[i]), A));
  }
  size_t rows = 0;
  for (; karst_context_profile_row(context, rows, &row); rows++) {
    last = row;
    updates += strncmp(row.name, "precond update", 14) == 0;
  }
  tap_ok(rows > 20 && rows < METHODS && strcmp(last.name, "other operations") == 0 &&
             last.calls >= 2 * METHODS - (int64_t)(rows - 1) && updates > 10,
         "%zu rows, and %lld calls of other operations", rows, (long long)last.calls);
  karst_matrix_destroy(A);
}

enum { THREADS = 4, TIMES = 2000 };

static void *copy_often(void *context)
{
  karst_vector *x = vector_of(context, 10, 0), *y = vector_of(context, 10, 0);
  for (int i = 0; i < TIMES; i++) tap_need(context, karst_vector_copy(x, y), "copy");
  karst_vector_destroy(y);
  karst_vector_destroy(x);
  return NULL;
}

/* Threads that use one context at once are counted in one profile. */
static void in_threads(void)
{
  karst_context *context;
  pthread_t thread[THREADS];
  int started = 0;
  context = tap_context();
  tap_need(context, karst_context_profile(context, 1), "profile");
  while (started < THREADS && pthread_create(&thread[started], NULL, copy_often, context) == 0) started++;
  for (int t = 0; t < started; t++) pthread_join(thread[t], NULL);
  const karst_profile copy = row_of(context, "copy");
  tap_ok(copy.calls == (int64_t)started * TIMES && copy.bytes == 160.0 * (double)copy.calls,
         "%d threads make %lld copies", started, (long long)copy.calls);
  karst_context_destroy(context);
}

/* A profile without memory changes nothing, and a profiled solve allocates nothing. */
static void without_memory(void)
{
  struct failing_allocator memory = {0};
  tap_settings settings = settings_for(NULL, NULL);
  karst_context *context = failing_context(&memory);
  const struct karst_backend *backend = context->backend;
  memory.fail_at = memory.calls + 1;
  tap_ok(karst_context_profile(context, 1) == KARST_ERROR_NO_MEMORY && context->backend == backend &&
             count_rows(context) == 0 && strstr(karst_context_error(context), "the profile"),
         "a profile without memory is refused: %s", karst_context_error(context));
  memory.fail_at = 0;
  struct problem p = problem_from(context, "poisson2d:9x9", 0, 0);
  karst_solver *solver = problem_solver(&p, &settings);
  tap_need(context, karst_context_profile(context, 1), "profile");
  const long calls = memory.calls;
  tap_need(context, karst_solver_update(solver), "update");
  problem_solve(&p, solver);
  tap_need(context, karst_context_profile(context, 0), "no profile");
  tap_need(context, karst_context_profile(context, 1), "profile");
  tap_ok(memory.calls == calls, "a profiled solve allocates nothing, nor does a second profile");
  karst_solver_destroy(solver);
  problem_destroy(&p);
  karst_context_destroy(context);
  tap_ok(memory.outstanding == 0, "a context releases the profile");
}

int main(void)
{
  tap_each_device(switches, "on and off");
  tap_each_device(ends_with_the_device, "another device");
  tap_each_device(within_a_solve, "from within");
  tap_each_device(has_enough_rows, "many names");
  in_threads();
  without_memory();
  return tap_done();
}
