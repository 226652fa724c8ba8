/* batches.c - times batches of block-tridiagonal systems: makes the list of programs, and for each size and layout the
 * systems, and has each program measured on them. */
#include "tools/src/bench/batches/batches.h"

#include "tools/src/common/gnuplot.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char *const layout_name[2] = {"aos", "soa"};

static void add_program(bench_batches *batches, const bench_processor *processor, const char *name,
                        batch_program program)
{
  batch_program *added = &batches->program[batches->programs++];
  *added = program;
  added->processor = processor;
  if (processor->gpu)
    snprintf(added->name, sizeof added->name, "%s, cuda", name);
  else
    snprintf(added->name, sizeof added->name, "%s, %d thread%s", name, processor->threads,
             processor->threads > 1 ? "s" : "");
}

/* The programs of a processor; cuSPARSE comes last on the GPU, and for many rows only. */
static void add_programs(bench_batches *batches, const bench_processor *processor)
{
  char name[64];
  for (int w = 0; w < batches->ways; w++)
    for (int layout = 0; layout < 2; layout++) {
      if (!batches->way[w].layout[layout]) continue;
      snprintf(name, sizeof name, "%s %s", batches->way[w].name, layout_name[layout]);
      add_program(batches, processor, name,
                  (batch_program){.method = batches->way[w].method, .layout = (karst_tridiagonal_layout)layout});
    }
  if (processor->gpu && batches->settings->rows)
    add_program(batches, processor, "cusparseDgtsv2StridedBatch",
                (batch_program){.peer = true, .layout = KARST_TRIDIAGONAL_SOA});
}

static int open_processors(bench_batches *batches)
{
  const bench_settings *settings = batches->settings;
  int exit_status = bench_table_start(batches->gpu, settings, &batches->table);
  if (exit_status == TOOL_GO_ON && settings->gpu) exit_status = bench_gpu_open(batches->gpu, &batches->clock);
  if (exit_status != TOOL_GO_ON) return exit_status;
  for (int p = 0; p < batches->table.processors; p++) {
    const bench_processor *processor = &batches->table.processor[p];
    if (processor->gpu || bench_is_asked_for(settings, processor->threads)) add_programs(batches, processor);
  }
  return TOOL_GO_ON;
}

/* Blocks of one scalar have one layout, which counts as the second if that is asked for. */
static bool has_layout(const bench_batches *batches, const batch_item *item, int layout)
{
  bool asked[2] = {false, false};
  for (int w = 0; w < batches->ways; w++)
    for (int l = 0; l < 2; l++) asked[l] |= batches->way[w].layout[l];
  return asked[layout] && !(item->block == 1 && layout == KARST_TRIDIAGONAL_AOS && asked[KARST_TRIDIAGONAL_SOA]);
}

static int measure_item(bench_batches *batches, int single, int i)
{
  int exit_status = TOOL_GO_ON;
  for (int layout = 0; layout < 2 && exit_status == TOOL_GO_ON; layout++) {
    batch_data data;
    if (!has_layout(batches, &batches->item[i], layout)) continue;
    exit_status = batch_data_open(&batches->item[i], (karst_tridiagonal_layout)layout, single,
                                  batches->settings->rows > 0, &data);
    if (exit_status == TOOL_GO_ON) exit_status = batch_measure(batches, single, i, &data);
    batch_data_close(&data);
  }
  return exit_status;
}

static int measure_all(bench_batches *batches)
{
  int exit_status = TOOL_GO_ON, measured = 0;
  for (int single = 0; single < BATCH_PRECISIONS; single++)
    for (int i = 0; i < batches->items; i++)
      for (int p = 0; p < batches->programs; p++) {
        batch_figure *figure = &batches->figure[single][i][p];
        *figure = (batch_figure){.error = NAN};
        for (int t = 0; t < BATCH_TIMES; t++) figure->seconds[t] = NAN;
      }
  for (int single = BATCH_PRECISIONS - 1; single >= 0; single--)
    for (int i = 0; i < batches->items && exit_status == TOOL_GO_ON && batches->precision[single]; i++) {
      exit_status = measure_item(batches, single, i);
      for (int p = 0; p < batches->programs; p++) measured += batch_is_measured(&batches->figure[single][i][p]);
    }
  if (exit_status != TOOL_GO_ON || measured) return exit_status;
  return tool_fail(TOOL_FAILED, "nothing was measured: each method is left out; the notes say why");
}

static int run_batches(karst_context *cpu, karst_context *gpu, const bench_settings *settings)
{
  bench_batches *batches = calloc(1, sizeof *batches);
  if (!batches) return tool_fail_memory("the figures of the batches");
  *batches = (bench_batches){.settings = settings, .cpu = cpu, .gpu = gpu};
  bench_keep_memory();
  int exit_status = bench_batches_parse(settings, batches);
  if (exit_status == TOOL_GO_ON && settings->plot) exit_status = tool_gnuplot_check_output(settings->plot);
  if (exit_status == TOOL_GO_ON) exit_status = open_processors(batches);
  if (exit_status == TOOL_GO_ON) exit_status = measure_all(batches);
  if (exit_status == TOOL_GO_ON) {
    if (settings->json)
      bench_batches_report_json(batches);
    else if (settings->rows)
      bench_batches_report_rates(batches);
    else
      bench_batches_report_table(batches);
    if (settings->plot) exit_status = bench_batches_plot(batches, settings->plot);
  }
  bench_gpu_close(batches->clock);
  free(batches);
  return exit_status == TOOL_GO_ON ? TOOL_YES : exit_status;
}

static bool is_tridiagonal(const bench_settings *settings) { return strcmp(settings->matrix, "tridiagonal") == 0; }

/* The lists are read once before anything is measured, so that their errors come first. */
static int check(karst_context *context, bench_settings *settings)
{
  (void)context;
  if (settings->block)
    return tool_fail(TOOL_FAILED, "--block is not for tridiagonal: --batches=ROWS/M makes blocks of M by M");
  if (settings->precond || settings->set || settings->ordering || settings->peer || settings->rtol > 0 ||
      settings->negate)
    return tool_fail(TOOL_FAILED,
                     "--precond, --set, --ordering, --rtol, --peer and --negate are not for tridiagonal: batches are "
                     "solved exactly, by the ways of --methods");
  bench_batches *batches = calloc(1, sizeof *batches);
  if (!batches) return tool_fail_memory("the sizes of the batches");
  const int exit_status = bench_batches_parse(settings, batches);
  free(batches);
  return exit_status;
}

const struct bench_mode bench_batches_mode = {
    .is_asked_for = is_tridiagonal, .repeat = BENCH_REPEATS, .check = check, .run = run_batches};
