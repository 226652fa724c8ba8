/* sequence.c - solves the systems of a folder as the simulator that wrote them did: it sets up at the first, and takes
 * the new values, updates and solves from x = 0 at each of the others. Where a system has another pattern, as with
 * other wells, it sets up again.
 *
 * One system at a time is in memory. Each row of the table keeps its solver; the rows of a device share the matrix and
 * b there. A solve that fails is counted, and the row goes on, as a simulator does that cuts its time step. */
#include "tools/src/bench/sequence/sequence.h"
#include "tools/src/common/gnuplot.h"
#include "tools/src/common/load.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* A system in host memory. */
typedef struct host_system {
  const bench_system_file *file;
  karst_matrix *A;
  karst_vector *b;
  double *reference; /* a solution to 1e-10, or NULL */
  double *x;         /* room for a row's */
} host_system;

static void forget(host_system *system)
{
  karst_matrix_destroy(system->A);
  karst_vector_destroy(system->b);
  free(system->reference);
  free(system->x);
  *system = (host_system){.file = NULL};
}

/* Checks that the sizes are those of the first system, which the table has. */
static int check_sizes(const bench_sequence *sequence, const host_system *system)
{
  const bench_table *table = &sequence->table;
  const double rows = (double)karst_matrix_block_rows(system->A);
  const int b = karst_matrix_block_size(system->A);

  if (!table->rows || (rows == table->cells && b == table->block_size)) return TOOL_GO_ON;
  return tool_fail(TOOL_FAILED, "%s has %.0f block rows of %d, but the first system of the sequence %.0f of %d",
                   system->file->path, rows, b, table->cells, table->block_size);
}

/* Reads a system. */
static int load(karst_context *context, const bench_sequence *sequence, const bench_system_file *file,
                host_system *system)
{
  const bench_settings *settings = sequence->table.settings;
  const struct tool_request request = {.name = file->path, .block = settings->block, .negate = settings->negate};

  *system = (host_system){.file = file};
  int exit_status = tool_load(context, &request, &system->A, &system->b, NULL);
  if (exit_status != TOOL_GO_ON) return exit_status;
  const int64_t rows = karst_matrix_rows(system->A);
  if (!system->b)
    return tool_fail(TOOL_FAILED, "%s: its right-hand side, NAME_b.mtx or ...rhs_istl..., is not beside it",
                     file->path);
  if (karst_vector_length(system->b) != rows)
    return tool_fail(TOOL_FAILED, "%s has %lld rows, but %lld are in its right-hand side %s", file->path,
                     (long long)rows, (long long)karst_vector_length(system->b), karst_vector_source(system->b));
  exit_status = check_sizes(sequence, system);
  if (exit_status == TOOL_GO_ON && !(system->x = calloc((size_t)rows + 1, sizeof *system->x)))
    exit_status = tool_fail_memory("a solution");
  return exit_status == TOOL_GO_ON
             ? bench_sequence_refer(settings, context, system->A, system->b, file->name, &system->reference)
             : exit_status;
}

/* Whether two matrices of equal sizes have the same pattern. */
static bool same_pattern(const karst_matrix *A, const karst_matrix *B)
{
  const size_t rows = (size_t)karst_matrix_block_rows(A), blocks = (size_t)karst_matrix_blocks(A);
  return karst_matrix_blocks(B) == karst_matrix_blocks(A) &&
         memcmp(karst_matrix_row_start(A), karst_matrix_row_start(B), (rows + 1) * sizeof(karst_index)) == 0 &&
         memcmp(karst_matrix_column(A), karst_matrix_column(B), blocks * sizeof(karst_index)) == 0;
}

/* Ends the solvers of a place before its matrix goes. */
static void end_solvers(bench_sequence *sequence, const bench_place *place)
{
  for (int r = 0; r < sequence->runs; r++)
    if (sequence->run[r].row->place == place) {
      karst_solver_destroy(sequence->run[r].solver);
      sequence->run[r].solver = NULL;
    }
}

/* Brings a system to a device, with a new matrix if fresh; the time is part of each of its rows. */
static karst_status take(bench_sequence *sequence, bench_place *place, const host_system *system, bool fresh, int s)
{
  karst_status status = KARST_SUCCESS;

  if (!place->context) return KARST_SUCCESS;
  if (fresh) end_solvers(sequence, place);
  const double start = tool_clock();
  if (fresh) {
    karst_matrix_destroy(place->A);
    status = bench_matrix_copy(system->A, place->context, &place->A);
  } else {
    status = karst_matrix_update_values(place->A, karst_matrix_value(system->A));
  }
  if (!status) status = karst_vector_set(place->b, karst_matrix_rows(place->A), karst_vector_values(system->b));
  if (!status) status = karst_context_synchronize(place->context);
  const double seconds = tool_clock() - start;
  for (int r = 0; r < sequence->runs; r++)
    if (sequence->run[r].row->place == place) sequence->run[r].step[s].seconds[BENCH_STEP_TRANSFER] = seconds;
  return status ? tool_fail_library(place->context, status), status : KARST_SUCCESS;
}

/* Makes and sets up the solver of a row, or updates it. */
static karst_status prepare(const bench_sequence *sequence, bench_run *run, bench_step *step)
{
  const bench_place *place = run->row->place;
  const enum bench_step_time time = run->solver ? BENCH_STEP_UPDATE : BENCH_STEP_SETUP;
  karst_options *options;

  const double start = tool_clock();
  karst_status status = KARST_SUCCESS;
  if (run->solver) {
    status = karst_solver_update(run->solver);
  } else {
    status = bench_row_solver_options(&sequence->table, run->row, sequence->table.settings->iterations, &options);
    if (!status) status = karst_solver_create(place->context, options, &run->solver);
    karst_options_destroy(options);
    if (!status) status = karst_solver_setup(run->solver, place->A);
  }
  if (!status) status = karst_context_synchronize(place->context);
  step->seconds[time] = tool_clock() - start;
  return status;
}

/* Solves a system on a row. */
static karst_status solve(const bench_sequence *sequence, bench_run *run, host_system *system, bench_step *step)
{
  const bench_place *place = run->row->place;
  karst_result result = {.reason = KARST_SOUND};

  karst_status status = karst_context_set_threads(place->context, run->row->processor->threads);
  if (!status) status = prepare(sequence, run, step);
  if (!status) status = karst_vector_fill(place->x, 0.0);
  if (!status) status = karst_context_synchronize(place->context);
  double start = tool_clock();
  if (!status) status = karst_solver_solve(run->solver, place->b, place->x, &result);
  step->seconds[BENCH_STEP_SOLVE] = tool_clock() - start;
  start = tool_clock();
  if (!status) status = karst_vector_get(place->x, karst_vector_length(place->x), system->x);
  step->seconds[BENCH_STEP_TRANSFER] += tool_clock() - start;
  step->iterations = result.iterations;
  step->reason = result.reason;
  return status;
}

/* Sets up, updates and solves once for nothing, which loads the kernels of a GPU. */
static karst_status warm_up(const bench_sequence *sequence, bench_run *run, host_system *system)
{
  bench_step step;

  karst_status status = solve(sequence, run, system, &step);
  if (!status) status = solve(sequence, run, system, &step);
  karst_solver_destroy(run->solver);
  run->solver = NULL;
  return status;
}

/* Makes a run of each row; x, b and the errors of all systems have room. */
static int start_runs(bench_sequence *sequence)
{
  const size_t systems = (size_t)sequence->systems, b = (size_t)sequence->table.block_size;

  for (int r = 0; r < sequence->table.rows; r++) {
    bench_run *run = &sequence->run[sequence->runs++];
    *run = (bench_run){.row = &sequence->table.row[r], .sound = true};
    run->step = calloc(systems, sizeof *run->step);
    run->error = calloc(systems * b, sizeof *run->error);
    if (!run->step || !run->error) return tool_fail_memory("the figures of the systems");
  }
  return TOOL_GO_ON;
}

/* Opens the devices with the first system, or looks whether a later one has another pattern. */
static int open_or_look(karst_context *cpu, karst_context *gpu, bench_sequence *sequence, const host_system *system,
                        bool *fresh)
{
  bench_table *table = &sequence->table;

  *fresh = false;
  if (!table->rows) {
    sequence->patterns = 1;
    table->what = (bench_case){.matrix = system->file->path,
                               .block = table->settings->block,
                               .rtol = table->settings->rtol,
                               .negate = table->settings->negate};
    snprintf(table->matrix, sizeof table->matrix, "%s", table->settings->matrix);
    const int exit_status = bench_table_open(cpu, gpu, table);
    return exit_status == TOOL_GO_ON ? start_runs(sequence) : exit_status;
  }
  *fresh = !same_pattern(table->settings->cpu ? table->cpu.A : table->gpu.A, system->A);
  sequence->patterns += *fresh;
  return TOOL_GO_ON;
}

/* Solves system s on each row. */
static int step(karst_context *cpu, karst_context *gpu, bench_sequence *sequence, host_system *system, int s)
{
  bool fresh;

  const int exit_status = open_or_look(cpu, gpu, sequence, system, &fresh);
  if (exit_status != TOOL_GO_ON) return exit_status;
  if (take(sequence, &sequence->table.cpu, system, fresh, s) || take(sequence, &sequence->table.gpu, system, fresh, s))
    return TOOL_FAILED;
  sequence->references += system->reference != NULL;
  for (int r = 0; r < sequence->runs; r++) {
    bench_run *run = &sequence->run[r];
    if (!run->sound) continue;
    karst_status status = KARST_SUCCESS;
    if (s == 0 && run->row->processor->gpu) status = warm_up(sequence, run, system);
    if (!status) status = solve(sequence, run, system, &run->step[s]);
    if (status) {
      run->sound = false;
      fprintf(stderr, "%s: note: %s is left out: %s: %s\n", tool_name(), run->row->name, system->file->name,
              karst_context_error(run->row->place->context));
    }
    const size_t b = (size_t)sequence->table.block_size;
    bench_sequence_compare(system->A, system->x, system->reference, run->error + (size_t)s * b);
  }
  return TOOL_GO_ON;
}

static int measure(karst_context *cpu, karst_context *gpu, bench_sequence *sequence)
{
  host_system system;
  int exit_status = TOOL_GO_ON, sound = 0;

  for (int s = 0; s < sequence->systems && exit_status == TOOL_GO_ON; s++) {
    exit_status = load(cpu, sequence, &sequence->file[s], &system);
    if (exit_status == TOOL_GO_ON) exit_status = step(cpu, gpu, sequence, &system, s);
    forget(&system);
  }
  for (int r = 0; r < sequence->runs; r++) sound += sequence->run[r].sound;
  if (exit_status != TOOL_GO_ON || sound) return exit_status;
  return tool_fail(TOOL_FAILED, "nothing was measured: each row is left out; the notes say why");
}

static int run_sequence(karst_context *cpu, karst_context *gpu, const bench_settings *settings)
{
  static bench_sequence sequence;

  bench_keep_memory();
  int exit_status = bench_sequence_find(settings->matrix, &sequence.file, &sequence.systems);
  if (exit_status == TOOL_GO_ON) exit_status = bench_table_start(gpu, settings, &sequence.table);
  if (exit_status == TOOL_GO_ON) exit_status = measure(cpu, gpu, &sequence);
  if (exit_status == TOOL_GO_ON && settings->json) bench_sequence_report_json(&sequence);
  if (exit_status == TOOL_GO_ON && !settings->json) bench_sequence_report_table(&sequence);
  if (exit_status == TOOL_GO_ON && settings->plot) exit_status = bench_sequence_plot(&sequence, settings->plot);
  for (int r = 0; r < sequence.runs; r++) {
    karst_solver_destroy(sequence.run[r].solver);
    free(sequence.run[r].step);
    free(sequence.run[r].error);
  }
  bench_table_close(&sequence.table);
  bench_sequence_forget(sequence.file, sequence.systems);
  return exit_status == TOOL_GO_ON ? TOOL_YES : exit_status;
}

static bool with_sequence(const bench_settings *settings) { return settings->sequence; }

static int check(karst_context *context, bench_settings *settings)
{
  if (settings->peer || settings->quick) return tool_fail(TOOL_FAILED, "--sequence takes neither --peer nor --quick");
  if (settings->rtol == 0) settings->rtol = 1e-2;
  if (!settings->solves) settings->solves = "bicgstab";
  const int exit_status = bench_solver_check(context, settings);
  if (exit_status != TOOL_GO_ON || !settings->plot) return exit_status;
  return tool_gnuplot_check_output(settings->plot);
}

const struct bench_mode bench_sequence_mode = {
    .is_asked_for = with_sequence, .way_each_level = true, .check = check, .run = run_sequence};
