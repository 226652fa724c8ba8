/* batch_measure.c - times the programs of a batch. On a GPU all arrays are in device memory and events are the clock,
 * but for the solves with transfers. Before each repetition the solution is overwritten by numbers that are none, so
 * that a solve that writes nothing has no error but NaN. */
#include "tools/src/bench/batches/batches.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

/* A program at work. */
struct run {
  const batch_data *data;
  const batch_program *program;
  karst_context *context;
  bench_gpu *gpu; /* NULL on the CPU */
  char *lump;     /* the inputs in the device's memory, in the order of the data; on the CPU the data's own */
  char *solution;
  karst_tridiagonal *batch; /* NULL: the peer's turn */
  bench_strided *peer;
};

typedef karst_status task(const struct run *run);

static karst_status fail_transfer(const struct run *run)
{
  return karst_context_fail(run->context, KARST_ERROR_DEVICE, "a transfer of the batch failed");
}

static karst_status solve(const struct run *run)
{
  const batch_data *data = run->data;
  char *lower = run->lump, *diagonal = lower + data->square, *upper = diagonal + data->square;
  return karst_tridiagonal_solve(run->batch, lower, diagonal, upper, upper + data->square, run->solution);
}

static karst_status solve_peer(const struct run *run)
{
  return bench_strided_solve(run->peer) ? KARST_SUCCESS
                                        : karst_context_fail(run->context, KARST_ERROR_DEVICE, "cuSPARSE failed");
}

static karst_status solve_lumped(const struct run *run)
{
  const batch_data *data = run->data;
  if (!bench_gpu_upload(run->gpu, run->lump, data->lump, 3 * data->square + data->vector)) return fail_transfer(run);
  const karst_status status = solve(run);
  if (status) return status;
  return bench_gpu_download(run->gpu, data->solution, run->solution, data->vector) ? status : fail_transfer(run);
}

static karst_status solve_variables(const struct run *run)
{
  const batch_data *data = run->data;
  const char *lower = data->lump, *diagonal = lower + data->square, *upper = diagonal + data->square;
  return karst_tridiagonal_solve(run->batch, lower, diagonal, upper, upper + data->square, data->solution);
}

static karst_status factor(const struct run *run)
{
  const char *lower = run->lump, *diagonal = lower + run->data->square;
  return karst_tridiagonal_factor(run->batch, lower, diagonal, diagonal + run->data->square);
}

static karst_status solve_factored(const struct run *run)
{
  return karst_tridiagonal_solve_factored(run->batch, 1, run->lump + 3 * run->data->square, run->solution);
}

/* The tasks by their times. */
static const struct {
  task *work;
  bool transfers; /* it begins and ends in host memory */
  bool solves;
} tasks[BATCH_TIMES] = {[BATCH_SOLVE] = {solve, false, true},
                        [BATCH_LUMPED] = {solve_lumped, true, true},
                        [BATCH_VARIABLES] = {solve_variables, true, true},
                        [BATCH_FACTOR] = {factor, false, false},
                        [BATCH_FACTORED] = {solve_factored, false, true}};

/* The peer overwrites the right-hand side, which is placed again. */
static karst_status poison(const struct run *run)
{
  memset(run->data->solution, 0xff, run->data->vector);
  if (!run->gpu) return KARST_SUCCESS;
  const bool done =
      run->peer ? bench_strided_restore(run->peer) : bench_gpu_poison(run->gpu, run->solution, run->data->vector);
  return done ? KARST_SUCCESS : fail_transfer(run);
}

/* Times one repetition. Short calls on a GPU that only queue work are made a few times for one time, as kernels are
 * elsewhere in bench. */
static karst_status repeat(const struct run *run, enum batch_time time, double *seconds)
{
  const bool queued = run->gpu && !tasks[time].transfers;
  const int calls = queued && !run->peer ? BENCH_KERNEL_REPEATS : 1;
  karst_status status = poison(run);
  if (!status) status = karst_context_synchronize(run->context);
  const double start = tool_clock();
  if (queued) bench_gpu_start(run->gpu);
  for (int call = 0; call < calls && !status; call++) status = run->peer ? solve_peer(run) : tasks[time].work(run);
  *seconds = (queued ? bench_gpu_stop(run->gpu) : tool_clock() - start) / calls;
  return status;
}

/* Brings the last solution to the host where it is not there, and takes its error. */
static karst_status check(const struct run *run, enum batch_time time, batch_figure *figure)
{
  const batch_data *data = run->data;
  const karst_reason reason = run->batch ? karst_tridiagonal_outcome(run->batch, NULL, NULL) : KARST_SOUND;
  if (reason != KARST_SOUND) return karst_context_fail(run->context, KARST_ERROR_ARGUMENT, karst_reason_text(reason));
  if (!tasks[time].solves) return KARST_SUCCESS;
  if (run->gpu && !tasks[time].transfers) {
    const char *from = run->peer ? bench_strided_solution(run->peer) : run->solution;
    if (!bench_gpu_download(run->gpu, data->solution, from, data->vector)) return fail_transfer(run);
  }
  const double error = batch_error(data);
  if (!(error <= figure->error)) figure->error = error;
  return KARST_SUCCESS;
}

/* Takes the median of as many repetitions as are asked for, or as half a second allows, behind one that is not
 * counted. */
static karst_status measure(const struct run *run, int repetitions, enum batch_time time, batch_figure *figure)
{
  const double most = 0.5;
  double sample[BENCH_REPEATS], seconds;
  int count = 0;
  karst_status status = repeat(run, time, &seconds);
  const double start = tool_clock();
  while (!status && count < repetitions && (count < BATCH_ENOUGH || tool_clock() - start < most))
    status = repeat(run, time, &sample[count++]);
  if (!status) status = check(run, time, figure);
  if (status) return status;
  figure->seconds[time] = tool_median(count, sample);
  if (time == BATCH_SOLVE) figure->repetitions = count;
  return KARST_SUCCESS;
}

static karst_status measure_times(const bench_batches *batches, const struct run *run, batch_figure *figure)
{
  const bool rates = batches->settings->rows > 0;
  karst_status status = KARST_SUCCESS;
  figure->error = 0;
  for (int t = 0; t < BATCH_TIMES && !status; t++) {
    const bool asked = tasks[t].transfers ? run->gpu && !rates : t == BATCH_SOLVE || rates;
    if (asked && (t == BATCH_SOLVE || !run->peer))
      status = measure(run, batches->settings->repeat, (enum batch_time)t, figure);
  }
  return status;
}

static karst_status open_program(const batch_data *data, struct run *run, batch_figure *figure)
{
  if (run->program->peer) {
    run->peer = bench_strided_open(run->context, run->gpu, data->shape.systems, data->shape.rows, run->lump);
    snprintf(figure->description, sizeof figure->description, "cuSPARSE");
    return run->peer ? KARST_SUCCESS : karst_context_fail(run->context, KARST_ERROR_DEVICE, "cuSPARSE fails here");
  }
  karst_tridiagonal_shape shape = data->shape;
  shape.method = run->program->method;
  const karst_status status = karst_tridiagonal_create(run->context, &shape, &run->batch);
  if (!status) snprintf(figure->description, sizeof figure->description, "%s", karst_tridiagonal_describe(run->batch));
  return status;
}

/* A program that fails is left out with a note. */
static void measure_program(bench_batches *batches, struct run *run, batch_figure *figure)
{
  const karst_tridiagonal_shape *shape = &run->data->shape;
  karst_status status = karst_context_set_threads(run->context, run->program->processor->threads);
  if (!status) status = open_program(run->data, run, figure);
  if (!status) status = measure_times(batches, run, figure);
  karst_tridiagonal_destroy(run->batch);
  bench_strided_close(run->peer);
  if (!status) return;
  for (int t = 0; t < BATCH_TIMES; t++) figure->seconds[t] = NAN;
  fprintf(stderr, "%s: note: %s is left out for n = %lld, m = %d: %s\n", tool_name(), run->program->name,
          (long long)shape->rows, shape->block_size, karst_context_error(run->context));
}

/* Whether a program is for these systems. */
static bool suits(const batch_program *program, const batch_data *data)
{
  const karst_tridiagonal_shape *shape = &data->shape;
  if (program->peer) return shape->block_size == 1 && !shape->single && shape->rows >= 3;
  return program->layout == shape->layout;
}

int batch_measure(bench_batches *batches, int single, int item, const batch_data *data)
{
  const size_t bytes = 3 * data->square + data->vector;
  char *lump = NULL, *solution = NULL;
  if (batches->clock) {
    lump = bench_gpu_allocate(batches->clock, bytes);
    solution = lump ? bench_gpu_allocate(batches->clock, data->vector) : NULL;
    if (!solution || !bench_gpu_upload(batches->clock, lump, data->lump, bytes)) {
      bench_gpu_release(batches->clock, solution);
      bench_gpu_release(batches->clock, lump);
      return tool_fail(TOOL_FAILED, "a batch of %.1f GB does not fit into the memory of the GPU",
                       1e-9 * (double)(bytes + data->vector));
    }
  }
  for (int p = 0; p < batches->programs; p++) {
    const batch_program *program = &batches->program[p];
    const bool gpu = program->processor->gpu;
    struct run run = {.data = data,
                      .program = program,
                      .context = gpu ? batches->gpu : batches->cpu,
                      .gpu = gpu ? batches->clock : NULL,
                      .lump = gpu ? lump : data->lump,
                      .solution = gpu ? solution : data->solution};
    if (suits(program, data)) measure_program(batches, &run, &batches->figure[single][item][p]);
  }
  bench_gpu_release(batches->clock, solution);
  bench_gpu_release(batches->clock, lump);
  return TOOL_GO_ON;
}
