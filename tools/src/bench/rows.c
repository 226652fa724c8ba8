/* rows.c - the rows of a table: each preconditioner on each device and number of threads that it is for. */
#include "tools/src/bench/bench_rows.h"
#include "tools/src/common/reported_values.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static bench_processor *add_processor(bench_table *table, int threads, bool gpu)
{
  bench_processor *processor = &table->processor[table->processors++];
  *processor = (bench_processor){.threads = threads, .gpu = gpu};
  return processor;
}

/* Adds a number of threads, once, and measures the bandwidth. */
static int add_threads(bench_table *table, int threads)
{
  const int64_t length = table->settings->quick ? 1 << 20 : 1 << 24; /* 8 or 128 MiB an array */
  double triad;

  for (int p = 0; p < table->processors; p++)
    if (table->processor[p].threads == threads) return TOOL_GO_ON;
  bench_processor *processor = add_processor(table, threads, false);
  if (bench_stream(threads, length, &processor->copy, &triad)) return TOOL_GO_ON;
  return tool_fail_memory("the arrays that measure the bandwidth");
}

/* Opens the GPU. The pattern half of its set-ups runs on all processors of the host. */
static int add_gpu(karst_context *context, bench_table *table)
{
  const int threads = strstr(karst_build_features(), "OpenMP") ? karst_processors() : 1;
  bench_gpu *gpu = NULL;

  karst_status status = karst_context_set_device(context, "cuda");
  if (!status) status = karst_context_set_threads(context, threads < 1024 ? threads : 1024);
  if (status) return tool_fail_library(context, status);
  const int exit_status = bench_gpu_open(context, &gpu);
  if (exit_status == TOOL_GO_ON) {
    bench_processor *processor = add_processor(table, threads, true);
    processor->copy = bench_gpu_copy(gpu);
    table->cache = bench_gpu_cache(gpu);
  }
  bench_gpu_close(gpu);
  return exit_status;
}

int bench_table_start(karst_context *gpu, const bench_settings *settings, bench_table *table)
{
  int exit_status = TOOL_GO_ON;

  *table = (bench_table){.settings = settings};
  if (settings->cpu) exit_status = add_threads(table, 1);
  for (int t = 0; settings->cpu && t < settings->thread_counts && exit_status == TOOL_GO_ON; t++)
    exit_status = add_threads(table, settings->threads[t]);
  if (settings->gpu && exit_status == TOOL_GO_ON) exit_status = add_gpu(gpu, table);
  return exit_status;
}

bool bench_is_asked_for(const bench_settings *settings, int threads)
{
  for (int t = 0; t < settings->thread_counts; t++)
    if (settings->threads[t] == threads) return true;
  return false;
}

/* Whether a way runs on a processor: one for a single thread on one alone, asked for or not. */
static bool suits(const bench_settings *settings, const bench_way *way, const bench_processor *processor)
{
  if (processor->gpu) return way->gpu;
  if (!way->cpu) return false;
  return way->alone ? processor->threads == 1 : bench_is_asked_for(settings, processor->threads);
}

static void make_rows(bench_table *table)
{
  const bench_settings *settings = table->settings;

  table->rows = 0;
  for (int p = 0; p < table->processors; p++)
    for (int w = 0; w < settings->ways; w++) {
      const bench_processor *processor = &table->processor[p];
      if (!suits(settings, &settings->way[w], processor)) continue;
      bench_row *row = &table->row[table->rows++];
      *row = (bench_row){.way = &settings->way[w], .processor = processor};
      row->place = processor->gpu ? &table->gpu : &table->cpu;
      if (processor->gpu)
        snprintf(row->name, sizeof row->name, "%s, cuda", row->way->name);
      else
        snprintf(row->name, sizeof row->name, "%s, %d thread%s", row->way->name, processor->threads,
                 processor->threads > 1 ? "s" : "");
    }
}

/* Takes the sizes of the system from one of its matrices. */
static void take_sizes(const karst_matrix *A, bench_table *table)
{
  karst_grid grid = {.size = {0}};

  table->block_size = karst_matrix_block_size(A);
  table->cells = (double)karst_matrix_block_rows(A);
  table->blocks = (double)karst_matrix_blocks(A);
  if (karst_matrix_get_grid(A, &grid)) grid = (karst_grid){.size = {0}};
  memcpy(table->size, grid.size, sizeof table->size);
  table->hyperplanes = grid.size[0] ? (double)grid.size[0] + (double)grid.size[1] + (double)grid.size[2] - 2 : 0;
}

int bench_table_open(karst_context *cpu, karst_context *gpu, bench_table *table)
{
  int exit_status = TOOL_GO_ON;

  if (table->settings->cpu) exit_status = bench_place_open(cpu, &table->what, false, &table->cpu);
  if (table->settings->gpu && exit_status == TOOL_GO_ON)
    exit_status = table->settings->cpu ? bench_place_copy(&table->cpu, gpu, &table->gpu)
                                       : bench_place_open(gpu, &table->what, true, &table->gpu);
  if (exit_status != TOOL_GO_ON) return exit_status;
  take_sizes(table->settings->cpu ? table->cpu.A : table->gpu.A, table);
  make_rows(table);
  if (table->rows) return TOOL_GO_ON;
  return tool_fail(TOOL_FAILED, "no preconditioner of --precond runs on --device %s", table->settings->device);
}

void bench_table_close(bench_table *table)
{
  for (int r = 0; r < table->rows; r++) bench_row_close(&table->row[r]);
  table->rows = 0;
  bench_place_close(&table->cpu);
  bench_place_close(&table->gpu);
}

bool bench_row_fail(bench_row *row, const char *why)
{
  fprintf(stderr, "%s: note: %s is left out: %s\n", tool_name(), row->name, why);
  row->sound = false;
  return false;
}

bool bench_row_open(const bench_table *table, bench_row *row)
{
  karst_context *context = row->place->context;
  karst_options *options;
  karst_solver_info info;

  karst_status status = karst_options_copy(context, row->way->options, &options);
  if (!status) status = karst_options_set_integer(options, "level", table->settings->level[0]);
  if (!status) status = karst_context_set_threads(context, row->processor->threads);
  const double start = tool_clock();
  if (!status) status = karst_precond_create(context, options, row->place->A, &row->M);
  if (!status) status = karst_context_synchronize(context);
  row->setup = tool_clock() - start;
  karst_options_destroy(options);
  if (!status) status = karst_precond_get_info(row->M, &info);
  if (status) return bench_row_fail(row, karst_context_error(context));
  row->memory = (double)info.memory;
  tool_precond_report(row->M, "style_used", row->style_used, sizeof row->style_used);
  const karst_reason reason = karst_precond_outcome(row->M, NULL);
  row->sound = reason == KARST_SOUND;
  return row->sound ? true : bench_row_fail(row, karst_reason_text(reason));
}

void bench_row_close(bench_row *row)
{
  karst_precond_destroy(row->M);
  row->M = NULL;
}

karst_status bench_row_solver_options(const bench_table *table, const bench_row *row, int max_iterations,
                                      karst_options **options)
{
  const bench_settings *settings = table->settings;
  karst_status status = karst_options_copy(row->place->context, row->way->options, options);
  if (!status) status = karst_options_set(*options, "solver", settings->solves);
  if (!status) status = karst_options_set_integer(*options, "restart", settings->restart);
  if (!status) status = karst_options_set_integer(*options, "max-iterations", max_iterations);
  if (!status) status = karst_options_set_real(*options, "rtol", settings->rtol);
  return status;
}

int bench_solver_check(karst_context *context, bench_settings *settings)
{
  karst_options *options;
  karst_status status = karst_options_create(context, &options);
  if (!status) status = karst_options_set(options, "solver", settings->solves);
  karst_options_destroy(options);
  return status ? tool_fail_library(context, status) : bench_order_parse(context, settings);
}
