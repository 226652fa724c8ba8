/* grids.c - times preconditioners side by side on grids of several sizes, as the paper on FGBILU (Luo, Edwards,
 * Luo, Mueller) does in its Figures 9 and 10: the factorization, both sweeps together, and the residual.
 *
 * A repetition is an update, then calls of M^-1 r in a row, then calls of b - A x in a row. There are 8 calls of each,
 * fewer if one call takes long. Before the first repetition each task runs once or twice. */
#include "tools/src/bench/cells/cells.h"

#include <stdio.h>
#include <string.h>

static const double row_seconds = 4;    /* no repetition begins when those of a row have taken this long */
static const double kernel_seconds = 1; /* about as long may the calls in a row take */

/* Reads a grid NXxNYxNZ[/B] or N[/B]. */
static bool parse_grid(char *word, bench_grid *grid)
{
  long long block = 0;
  char *slash = strchr(word, '/');
  int axes = 0;

  if (slash) *slash++ = '\0';
  if (slash && !tool_integer(slash, 1, 1024, &block)) return false;
  grid->block = (int)block;
  for (char *number; axes < 3 && (number = strsep(&word, "x")); axes++)
    if (!tool_integer(number, 1, 1 << 20, &grid->size[axes])) return false;
  if (axes == 1) grid->size[1] = grid->size[2] = grid->size[0];
  return !word && axes != 2;
}

static int parse_grids(bench_settings *settings)
{
  char word[64];

  for (const char *next = settings->grid_text; next;) {
    const size_t length = strcspn(next, ",");
    snprintf(word, sizeof word, "%.*s", (int)length, next);
    if (settings->grids == BENCH_GRIDS || length >= sizeof word || !parse_grid(word, &settings->grid[settings->grids]))
      return tool_fail(TOOL_FAILED, "--grids: not a list of 1 to %d grids, such as 65,51x97x63 or 104/4", BENCH_GRIDS);
    settings->grids++;
    next = next[length] ? next + length + 1 : NULL;
  }
  if (settings->grids && strchr(settings->matrix, ':'))
    return tool_fail(TOOL_FAILED, "--grids takes a problem of the gallery without its sizes, not '%s'",
                     settings->matrix);
  return TOOL_GO_ON;
}

static karst_status run_task(const bench_row *row, enum bench_task task, karst_vector *r)
{
  const bench_place *place = row->place;

  switch (task) {
  case BENCH_FACTORIZATION:
    return karst_precond_update(row->M);
  case BENCH_BOTH_SWEEPS:
    return karst_precond_apply(row->M, place->b, place->x);
  default:
    return karst_matrix_residual(place->A, place->b, place->x, r, NULL);
  }
}

/* Measures the seconds of one of some calls in a row, on a GPU by two marks in its stream. */
static karst_status time_task(const bench_row *row, enum bench_task task, int calls, karst_vector *r, double *seconds)
{
  bench_gpu *gpu = row->place->gpu;
  karst_status status = KARST_SUCCESS;

  const double start = tool_clock();
  if (gpu) bench_gpu_start(gpu);
  for (int i = 0; !status && i < calls; i++) status = run_task(row, task, r);
  *seconds = (gpu ? bench_gpu_stop(gpu) : tool_clock() - start) / calls;
  return status;
}

/* Runs a task once, and once more unless that takes long: the first call also loads kernels. Finds how many calls are
 * to run in a row. */
static karst_status warm_up(const bench_row *row, enum bench_task task, karst_vector *r, int *calls)
{
  double seconds = 0;
  karst_status status = KARST_SUCCESS;

  for (int run = 0; run < 2 && !status && seconds * 2 < kernel_seconds; run++)
    status = time_task(row, task, 1, r, &seconds);
  *calls = BENCH_KERNEL_REPEATS;
  if (task == BENCH_FACTORIZATION || seconds * 2 > kernel_seconds)
    *calls = 1;
  else if (seconds * BENCH_KERNEL_REPEATS > kernel_seconds)
    *calls = (int)(kernel_seconds / seconds);
  return status;
}

static karst_status measure_row(const bench_settings *settings, bench_row *row)
{
  static double sample[BENCH_TASKS][BENCH_REPEATS];
  int calls[BENCH_TASKS];
  karst_vector *r = NULL;

  karst_status status = karst_vector_create(row->place->context, karst_vector_length(row->place->b), &r);
  for (int t = 0; t < BENCH_TASKS && !status; t++) status = warm_up(row, (enum bench_task)t, r, &calls[t]);
  const double start = tool_clock();
  for (row->repeat = 0; row->repeat < settings->repeat && !status; row->repeat++) {
    if (row->repeat && tool_clock() - start > row_seconds) break;
    for (int t = 0; t < BENCH_TASKS && !status; t++)
      status = time_task(row, (enum bench_task)t, calls[t], r, &sample[t][row->repeat]);
  }
  karst_vector_destroy(r);
  for (int t = 0; t < BENCH_TASKS && !status; t++) row->seconds[t] = tool_median(row->repeat, sample[t]);
  return status;
}

/* Returns how many rows were measured. */
static int measure_rows(bench_table *table)
{
  int sound = 0;

  for (int r = 0; r < table->rows; r++) {
    bench_row *row = &table->row[r];
    if (bench_row_open(table, row)) {
      const karst_status status = measure_row(table->settings, row);
      const karst_reason reason = status ? KARST_SOUND : karst_precond_outcome(row->M, NULL);
      if (status) bench_row_fail(row, karst_context_error(row->place->context));
      if (reason != KARST_SOUND) bench_row_fail(row, karst_reason_text(reason));
    }
    sound += row->sound;
    bench_row_close(row);
  }
  return sound;
}

/* Names the problem on a grid: NAME:NXxNYxNZ and what follows the first comma of the operand. */
static void name_matrix(const bench_settings *settings, const bench_grid *grid, bench_table *table)
{
  const int length = (int)strcspn(settings->matrix, ",");

  snprintf(table->matrix, sizeof table->matrix, "%.*s:%lldx%lldx%lld%s", length, settings->matrix, grid->size[0],
           grid->size[1], grid->size[2], settings->matrix + length);
  table->what = (bench_case){
      .matrix = table->matrix, .block = grid->block ? grid->block : settings->block, .negate = settings->negate};
}

/* Adds the number of rows that were measured to *sound. */
static int measure_grid(karst_context *cpu, karst_context *gpu, const bench_grid *grid, bench_table *table, int *sound)
{
  name_matrix(table->settings, grid, table);
  int exit_status = bench_table_open(cpu, gpu, table);
  if (exit_status == TOOL_GO_ON) {
    *sound += measure_rows(table);
    if (table->settings->json)
      bench_grid_report_json(table);
    else
      bench_grid_report_table(table);
    fflush(stdout);
  }
  bench_table_close(table);
  return exit_status;
}

static int run_grids(karst_context *cpu, karst_context *gpu, const bench_settings *settings)
{
  static bench_table table;
  int sound = 0;

  int exit_status = bench_table_start(gpu, settings, &table);
  for (int g = 0; g < settings->grids && exit_status == TOOL_GO_ON; g++)
    exit_status = measure_grid(cpu, gpu, &settings->grid[g], &table, &sound);
  if (exit_status == TOOL_GO_ON && !sound)
    exit_status = tool_fail(TOOL_FAILED, "nothing was measured: each row is left out; the notes say why");
  return exit_status == TOOL_GO_ON ? TOOL_YES : exit_status;
}

static bool with_grids(const bench_settings *settings) { return settings->grid_text; }

static int check(karst_context *context, bench_settings *settings)
{
  const int exit_status = bench_check_natural(context, settings);
  return exit_status == TOOL_GO_ON ? parse_grids(settings) : exit_status;
}

const struct bench_mode bench_grids_mode = {
    .is_asked_for = with_grids,
    .ways = "fgbilu:sequential,fgbilu:wavefront,fgbilu:lines,fgbilu:acc,fgbilu:cl,fgbilu:mixed,fgbilu:tiles,dilu,iluk,"
            "cusparse",
    .check = check,
    .run = run_grids};
