/* repetition.c - runs one repetition with Karst, or on a GPU with cuSPARSE inside Karst's iteration: set-up, update,
 * iterations of GMRES(m), kernels, whole solves. Measures Karst's peak memory. */
#include "tools/src/bench/kernels/bench_kernels.h"
#include "tools/src/peers/peers.h"
#include "tools/src/common/reported_values.h"

#include <math.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

const char *const bench_solver[BENCH_SOLVERS] = {"gmres", "bicgstab"};

/* Makes the options of a case for a preconditioner, which the caller destroys. The tolerance is never met, so that the
 * number of iterations is fixed. */
static karst_status make_options(karst_context *context, const bench_case *what, const char *precond,
                                 int max_iterations, karst_options **options)
{
  karst_status status = karst_options_copy(context, what->options, options);
  if (!status) status = karst_options_set(*options, "solver", "gmres");
  if (!status) status = karst_options_set_integer(*options, "restart", what->restart);
  if (!status) status = karst_options_set(*options, "precond", precond);
  if (!status) status = karst_options_set_integer(*options, "level", what->level);
  if (!status) status = karst_options_set_real(*options, "rtol", 1e-300);
  if (!status) status = karst_options_set_real(*options, "atol", 0);
  if (!status) status = karst_options_set_integer(*options, "max-iterations", max_iterations);
  return status;
}

static karst_decision monitor(void *watch, int iteration, double residual)
{
  bench_stopwatch_step(watch, iteration, residual);
  return KARST_GO_ON;
}

static struct bench_sweeps sweeps_of(const karst_solver *solver)
{
  struct bench_sweeps sweeps = {.before = tool_solver_number(solver, "sweep_residual_before", -1),
                                .after = tool_solver_number(solver, "sweep_residual_after", -1),
                                .fallbacks = (int64_t)tool_solver_number(solver, "fallbacks", 0)};
  sweeps.any = sweeps.before != -1; /* a norm is not negative */
  return sweeps;
}

static karst_status time_solver(const bench_case *what, bench_variant *variant, bench_sample *sample)
{
  bench_stopwatch watch = bench_stopwatch_new(what);
  const bench_place *place = variant->place;
  karst_options *options;
  karst_solver *solver = NULL;
  karst_result result;

  karst_status status = make_options(place->context, what, variant->precond, watch.last, &options);
  if (!status && variant->reordered) status = bench_order_set(what, options);
  if (!status) status = karst_solver_create(place->context, options, &solver);
  karst_options_destroy(options);
  if (!status) {
    karst_solver_monitor(solver, monitor, &watch);
    const double start = tool_clock();
    status = karst_solver_setup(solver, place->A);
    sample->value[BENCH_SETUP] = tool_clock() - start;
  }
  if (!status) status = karst_solver_get_info(solver, &variant->info);
  if (!status) variant->sweeps = sweeps_of(solver);
  if (!status) {
    const double start = tool_clock();
    status = karst_solver_update(solver);
    sample->value[BENCH_UPDATE] = tool_clock() - start;
  }
  if (!status) status = karst_vector_fill(place->x, 0.0);
  if (!status) status = karst_solver_solve(solver, place->b, place->x, &result);
  if (!status) {
    sample->value[BENCH_SYMBOLIC] = variant->info.time_symbolic;
    sample->value[BENCH_FACTOR] = variant->info.time_factor;
    bench_stopwatch_take(&watch, what, sample);
  }
  karst_solver_destroy(solver);
  return status;
}

karst_status bench_karst_precond(const bench_case *what, bench_variant *variant)
{
  karst_context *context = variant->place->context;
  karst_options *options;

  karst_status status = make_options(context, what, variant->precond, 1, &options);
  if (!status) status = karst_context_set_threads(context, variant->threads);
  if (!status && variant->reordered) {
    status = bench_ordered_open(what, options, variant->place, &variant->ordered);
    variant->M = variant->ordered.M;
  } else if (!status) {
    status = karst_precond_create(context, options, variant->place->A, &variant->M);
  }
  karst_options_destroy(options);
  return status;
}

void bench_karst_precond_close(bench_variant *variant)
{
  if (variant->reordered)
    bench_ordered_close(&variant->ordered);
  else
    karst_precond_destroy(variant->M);
  variant->M = NULL;
}

static karst_status multiply_matrix(const bench_variant *variant)
{
  const bench_place *place = variant->place;

  if (variant->reordered) return karst_matrix_multiply(variant->ordered.A, place->b, place->x);
  if (!variant->is_peer) return karst_matrix_multiply(place->A, place->b, place->x);
  return bench_product_multiply(place->product, place->b, place->x) ? KARST_SUCCESS : KARST_ERROR_DEVICE;
}

static karst_status apply_precond(const bench_variant *variant)
{
  return karst_precond_apply(variant->M, variant->place->b, variant->place->x);
}

/* Measures the seconds of one of BENCH_KERNEL_REPEATS applications. The CPU uses the host's clock, because an
 * application is done when it returns; a GPU uses two marks in its stream. */
static karst_status time_kernel(const bench_variant *variant, karst_status (*kernel)(const bench_variant *variant),
                                double *seconds)
{
  bench_gpu *gpu = variant->place->gpu;
  karst_status status = KARST_SUCCESS;

  const double start = tool_clock();
  if (gpu) bench_gpu_start(gpu);
  for (int i = 0; !status && i < BENCH_KERNEL_REPEATS; i++) status = kernel(variant);
  *seconds = (gpu ? bench_gpu_stop(gpu) : tool_clock() - start) / BENCH_KERNEL_REPEATS;
  return status;
}

/* Times a whole solve with solver number s, from the matrix to the solution. */
static karst_status time_whole(const bench_case *what, const bench_variant *variant, int s, bench_sample *sample)
{
  const bench_place *place = variant->place;
  karst_options *options;
  karst_solver *solver = NULL;
  karst_result result = {.reason = KARST_SOUND};

  karst_status status = make_options(place->context, what, variant->precond, 10000, &options);
  if (!status && variant->reordered) status = bench_order_set(what, options);
  if (!status) status = karst_options_set(options, "solver", bench_solver[s]);
  if (!status) status = karst_options_set_real(options, "rtol", what->rtol);
  if (!status) status = karst_solver_create(place->context, options, &solver);
  karst_options_destroy(options);
  if (!status) status = karst_vector_fill(place->x, 0.0);
  const double start = tool_clock();
  if (!status) status = karst_solver_setup(solver, place->A);
  const double middle = tool_clock();
  if (!status) status = karst_solver_solve(solver, place->b, place->x, &result);
  const double end = tool_clock();
  if (!status && result.reason > 0) {
    sample->value[BENCH_WHOLE_SETUP + s] = middle - start;
    sample->value[BENCH_WHOLE_SOLVE + s] = end - middle;
    sample->value[BENCH_WHOLE_ITERATIONS + s] = result.iterations;
  }
  karst_solver_destroy(solver);
  return status;
}

karst_status bench_karst(const bench_case *what, bench_variant *variant, bench_sample *sample)
{
  for (int q = 0; q < BENCH_QUANTITIES; q++) sample->value[q] = NAN;
  karst_status status = karst_context_set_threads(variant->place->context, variant->threads);
  if (!status) status = time_solver(what, variant, sample);
  if (!status) status = time_kernel(variant, multiply_matrix, &sample->value[BENCH_MULTIPLY]);
  if (!status) status = time_kernel(variant, apply_precond, &sample->value[BENCH_APPLY]);
  for (int s = 0; !status && s < BENCH_SOLVERS && what->rtol > 0; s++) status = time_whole(what, variant, s, sample);
  return status;
}

/* Runs in the child whose memory is measured; returns its exit status. */
static int run_cycle(const bench_case *what)
{
  karst_context *context;
  karst_options *options = NULL;
  karst_matrix *A;
  karst_vector *b, *x;
  karst_solver *solver = NULL;
  karst_result result;

  if (karst_context_create(NULL, &context) || tool_peers_register(context)) return tool_fail_memory("the context");
  int exit_status = bench_system_load(context, what, &A, &b);
  if (exit_status == TOOL_GO_ON) {
    karst_status status = karst_vector_create(context, karst_matrix_rows(A), &x);
    if (!status)
      status = make_options(context, what, tool_option_text(what->options, "precond"), what->restart, &options);
    if (!status) status = karst_solver_create(context, options, &solver);
    if (!status) status = karst_solver_setup(solver, A);
    if (!status) status = karst_solver_solve(solver, b, x, &result);
    exit_status = status ? tool_fail_library(context, status) : TOOL_YES;
    karst_solver_destroy(solver);
    karst_options_destroy(options);
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
  if (child == 0) exit(tool_finish(run_cycle(what)));
  if (child < 0 || wait4(child, &outcome, 0, &usage) != child || !WIFEXITED(outcome))
    return tool_fail(TOOL_FAILED, "the process that measures the peak memory did not end normally");
  if (WEXITSTATUS(outcome) != TOOL_YES) return WEXITSTATUS(outcome);
  *bytes = 1024.0 * (double)usage.ru_maxrss; /* Linux counts in KiB */
  return TOOL_GO_ON;
}
