/* test_default.c - the default solver, auto: bicgstab, then gmres from its best x if that fails. It has to solve common
 * systems without options. */
#include "config.h"

#include "tests/support/commands.h"
#include "tests/support/failing_allocator.h"
#include "tests/support/problem.h"

enum { ROWS = 30, CALLS = 400 };

/* A skew-symmetric tridiagonal matrix, for which r*'v is zero in bicgstab: it breaks down. */
static karst_matrix *make_skew(karst_context *context)
{
  karst_index start[ROWS + 1] = {0}, column[3 * ROWS];
  double value[3 * ROWS];
  karst_matrix *A;
  karst_index k = 0;
  for (karst_index i = 0; i < ROWS; i++) {
    for (karst_index j = i > 0 ? i - 1 : 0; j <= i + 1 && j < ROWS; j++) {
      column[k] = j;
      value[k++] = j == i ? 0 : j > i ? 1 + (double)i : -(1 + (double)j);
    }
    start[i + 1] = k;
  }
  tap_need(context, karst_matrix_create(context, ROWS, 1, start, column, value, KARST_COPY, &A), "matrix");
  return A;
}

/* The iterations that a monitor has seen. */
struct seen {
  int calls, last;
  bool in_order;
};

static karst_decision watch(void *user, int iteration, double residual)
{
  struct seen *seen = user;
  (void)residual;
  seen->in_order = (seen->calls == 0 ? iteration == 0 : iteration == seen->last + 1) && seen->in_order;
  seen->last = iteration;
  seen->calls++;
  return KARST_GO_ON;
}

static karst_solver *make_solver(const struct problem *p, const char *name)
{
  karst_solver *solver =
      solver_from(p->context, PAIRS("precond", "none", "max-iterations", "400", name ? "solver" : NULL, name));
  tap_need(p->context, karst_solver_setup(solver, p->A), "setup");
  return solver;
}

static const char *used(const karst_solver *solver)
{
  karst_value value;
  for (size_t i = 0; karst_solver_report(solver, i, &value); i++)
    if (strcmp(value.name, "solver_used") == 0) return value.text;
  return "";
}

static void test_goes_on(karst_context *context)
{
  struct problem p = problem_of(context, make_skew(context), 0);
  struct seen seen = {.in_order = true};
  karst_solver *solver = make_solver(&p, "bicgstab");
  tap_ok(problem_solve(&p, solver).reason == KARST_BREAKDOWN_ALPHA && !*used(solver), "bicgstab alone breaks down");
  karst_solver_destroy(solver);
  solver = make_solver(&p, NULL);
  karst_solver_monitor(solver, watch, &seen);
  tap_ok(strcmp(used(solver), "bicgstab") == 0, "the default begins with bicgstab");
  karst_result result = problem_solve(&p, solver);
  tap_ok(result.reason > 0 && strcmp(used(solver), "gmres") == 0, "the default goes on with gmres: %s",
         karst_solver_explain(solver));
  tap_ok(strstr(karst_solver_explain(solver), "gmres went on where bicgstab had ended after"),
         "the explanation says that gmres went on");
  tap_ok(seen.in_order && seen.last == result.iterations, "the monitor sees iterations 0 to %d one by one, of %d",
         seen.last, result.iterations);
  const int first = result.iterations;
  result = problem_solve(&p, solver);
  tap_ok(result.reason > 0 && result.iterations == first, "a second solve takes as many iterations as the first");
  tap_need(context, karst_solver_set_tolerances(solver, 1e-8, 0, 1), "limits");
  tap_ok(problem_solve(&p, solver).iterations <= 1, "bicgstab and gmres share the limit of iterations");
  karst_solver_destroy(solver);
  problem_destroy(&p);
}

/* If gmres finds no memory, the outcome is that of bicgstab, and the next solve succeeds. */
static void test_without_memory(void)
{
  bool sound = true;
  long n = 0, failed = 0;
  for (bool met = true; met && sound && n < CALLS; n++) {
    struct failing_allocator memory = {.fail_at = 0};
    karst_context *context = failing_context(&memory);
    karst_result result;
    struct problem p = problem_of(context, make_skew(context), 0);
    karst_solver *solver = make_solver(&p, NULL);
    memory.fail_at = memory.calls + n + 1;
    const karst_status status = karst_solver_solve(solver, p.b, p.x, &result);
    met = memory.calls >= memory.fail_at;
    memory.fail_at = 0;
    failed += met;
    sound = status == KARST_SUCCESS && result.reason == (met ? KARST_BREAKDOWN_ALPHA : KARST_CONVERGED_RTOL) &&
            problem_solve(&p, solver).reason > 0;
    karst_solver_destroy(solver);
    problem_destroy(&p);
    karst_context_destroy(context);
    sound = sound && memory.outstanding == 0;
  }
  tap_ok(sound && failed > 3, "%ld solves without memory for gmres end as bicgstab does", failed);
}

static void test_defaults(karst_context *context)
{
  karst_options *options;
  const char *text;
  tap_need(context, karst_options_create(context, &options), "options");
  tap_need(context, karst_options_get(options, "solver", &text), "solver");
  tap_ok(strcmp(text, "auto") == 0, "the default is auto");
  tap_ok(!karst_options_used(options, "restart"), "auto does not use the option restart");
  karst_options_destroy(options);
}

/* Systems of OPM Flow without an option. gmres(30) stagnated on the third. */
static void test_opm(void)
{
  static const char *const names[] = {"opm_spe1_in", "opm_spe1thermal_out", "opm_spe10m1_in", "opm_spe10sub2p_in"};
  cli_need("solve");
  for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
    char name[64];
    snprintf(name, sizeof name, "opm/%s.mtx.gz", names[i]);
    const char *path = real_matrix(name, names[i]);
    if (!path) continue;
    const struct cli_run *run = CLI_RUN("solve", path);
    check_run(run, run->status == 0 && strstr(run->out, "solver      auto: bicgstab"), "%s: solve FILE converges",
              names[i]);
  }
}

int main(void)
{
  tap_each_device(test_defaults, "defaults");
  tap_each_device(test_goes_on, "gmres goes on");
  test_without_memory();
  test_opm();
  return tap_done();
}
