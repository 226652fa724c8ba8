/* bench_karst.c - one repetition with Karst: set-up, iterations of GMRES(m), kernels; and its peak memory. */
#include "bench.h"

#include <math.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

static karst_options options_of(const bench_case *what, int max_iterations)
{
  karst_options options;

  karst_options_default(&options);
  options.solver = "gmres";
  options.restart = what->restart;
  options.side = "right";
  options.orthogonalise = "once";
  options.precond = "iluk";
  options.level = what->level;
  options.ordering = "natural";
  options.scale = "none";
  options.rtol = 1e-300; /* never met: the number of iterations is fixed */
  options.atol = 0.0;
  options.max_iterations = max_iterations;
  return options;
}

static void monitor(void *watch, int iteration, double residual) { bench_stopwatch_step(watch, iteration, residual); }

static karst_status time_solver(karst_context *context, const bench_case *what, const karst_matrix *A,
                                const karst_vector *b, karst_vector *x, bench_sample *sample, karst_solver_info *info)
{
  bench_stopwatch watch = bench_stopwatch_new(what);
  const karst_options options = options_of(what, watch.last);
  karst_solver *solver = NULL;
  karst_result result;

  karst_status status = karst_solver_create(context, &options, &solver);
  if (!status) {
    karst_solver_set_monitor(solver, monitor, &watch);
    const double start = tool_clock();
    status = karst_solver_setup(solver, A);
    sample->value[BENCH_SETUP] = tool_clock() - start;
  }
  if (!status) status = karst_solver_get_info(solver, info);
  if (!status) status = karst_vector_fill(x, 0.0);
  if (!status) status = karst_solver_solve(solver, b, x, &result);
  if (!status) {
    sample->value[BENCH_SYMBOLIC] = info->time_symbolic;
    sample->value[BENCH_FACTOR] = info->time_factor;
    sample->value[BENCH_ITERATION] = watch.stopped ? watch.seconds / what->iterations : NAN;
    sample->value[BENCH_FIRST_RESIDUAL] = watch.stopped ? watch.first_residual : NAN;
    sample->value[BENCH_LAST_RESIDUAL] = watch.stopped ? watch.last_residual : NAN;
  }
  karst_solver_destroy(solver);
  return status;
}

static karst_status time_kernels(karst_context *context, const bench_case *what, const karst_matrix *A,
                                 const karst_vector *b, karst_vector *x, bench_sample *sample)
{
  const karst_options options = options_of(what, 1);
  karst_precond *precond = NULL;

  karst_status status = karst_precond_create(context, &options, A, &precond);
  double start = tool_clock();
  for (int i = 0; !status && i < BENCH_KERNEL_REPEATS; i++) status = karst_matrix_multiply(A, b, x);
  sample->value[BENCH_MULTIPLY] = (tool_clock() - start) / BENCH_KERNEL_REPEATS;
  start = tool_clock();
  for (int i = 0; !status && i < BENCH_KERNEL_REPEATS; i++) status = karst_precond_apply(precond, b, x);
  sample->value[BENCH_APPLY] = (tool_clock() - start) / BENCH_KERNEL_REPEATS;
  karst_precond_destroy(precond);
  return status;
}

karst_status bench_karst(karst_context *context, const bench_case *what, const karst_matrix *A, const karst_vector *b,
                         bench_sample *sample, karst_solver_info *info)
{
  karst_vector *x;

  karst_status status = karst_vector_create(context, karst_matrix_rows(A), &x);
  if (!status) status = time_solver(context, what, A, b, x, sample, info);
  if (!status) status = time_kernels(context, what, A, b, x, sample);
  karst_vector_destroy(x);
  return status;
}

/* What the child does whose memory is measured; the exit status. */
static int run_cycle(const bench_case *what)
{
  const karst_options options = options_of(what, what->restart);
  karst_context *context;
  karst_matrix *A;
  karst_vector *b, *x;
  karst_solver *solver = NULL;
  karst_result result;

  if (karst_context_create(NULL, &context)) return tool_fail_memory("the context");
  int exit_status = bench_system_load(context, what->matrix, &A, &b);
  if (exit_status == TOOL_GO_ON) {
    karst_status status = karst_vector_create(context, karst_matrix_rows(A), &x);
    if (!status) status = karst_solver_create(context, &options, &solver);
    if (!status) status = karst_solver_setup(solver, A);
    if (!status) status = karst_solver_solve(solver, b, x, &result);
    exit_status = status ? tool_fail_library(context, status) : TOOL_YES;
    karst_solver_destroy(solver);
    karst_vector_destroy(x);
    karst_vector_destroy(b);
    karst_matrix_destroy(A);
  }
  karst_context_destroy(context);
  return exit_status;
}

int bench_karst_peak_memory(const bench_case *what, double *bytes)
{
  struct rusage usage;
  int outcome;

  *bytes = 0.0;
  const pid_t child = fork();
  if (child == 0) exit(run_cycle(what));
  if (child < 0 || wait4(child, &outcome, 0, &usage) != child || !WIFEXITED(outcome))
    return tool_fail(TOOL_FAILED, "the process that measures the peak memory did not end by itself");
  if (WEXITSTATUS(outcome) != TOOL_YES) return WEXITSTATUS(outcome);
  *bytes = 1024.0 * (double)usage.ru_maxrss; /* Linux counts in KiB */
  return TOOL_GO_ON;
}
