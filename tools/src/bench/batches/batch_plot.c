/* batch_plot.c - draws the times of batches over n, as in Figures 1 and 2 of the paper: for each m a panel of the times
 * in the device's memory, and on a GPU one beside it of those with transfers. A method has a colour, a layout or a way
 * of transfer a dash, a processor a point. */
#include "tools/src/bench/batches/batches.h"
#include "tools/src/common/gnuplot.h"

#include <math.h>
#include <stdio.h>

struct panel {
  int block, single;
  bool transfers;
};

static double time_in(const struct panel *panel, const batch_figure *figure, enum batch_time time, bool gpu)
{
  return panel->transfers && !gpu ? figure->seconds[BATCH_SOLVE] : figure->seconds[time];
}

/* Writes the curve of a program as the data $curveP_T, and returns whether it has a point. */
static bool write_curve(FILE *script, const bench_batches *batches, const struct panel *panel, int p,
                        enum batch_time time)
{
  const bool gpu = batches->program[p].processor->gpu;
  bool any = false;
  fprintf(script, "$curve%d_%d << end_of_curve\n", p, (int)time);
  for (int i = 0; i < batches->items; i++) {
    const double seconds = time_in(panel, &batches->figure[panel->single][i][p], time, gpu);
    if (batches->item[i].block != panel->block || !isfinite(seconds)) continue;
    fprintf(script, "%lld %.6g\n", (long long)batches->item[i].rows, 1e6 * seconds);
    any = true;
  }
  fputs("end_of_curve\n", script);
  return any;
}

/* A full circle on the GPU; on the CPU an open mark for each number of threads. */
static int point_of(const bench_batches *batches, const batch_program *program)
{
  return program->processor->gpu ? 7 : 4 + 2 * (int)(program->processor - batches->table.processor);
}

/* The curves of a panel: on the left all layouts, on the right SOA alone in both ways of transfer, and the CPU's. */
static bool has_curve(const bench_batches *batches, const struct panel *panel, int p, enum batch_time time)
{
  const batch_program *program = &batches->program[p];
  if (program->peer) return false;
  if (!panel->transfers) return time == BATCH_SOLVE;
  if (!program->processor->gpu) return time == BATCH_LUMPED && program->method == KARST_TRIDIAGONAL_THOMAS;
  return time != BATCH_SOLVE && program->layout == KARST_TRIDIAGONAL_SOA;
}

static void write_panel(struct tool_gnuplot *plot, const bench_batches *batches, const struct panel *panel)
{
  static const char *const suffix[] = {"", ", lumped", ", one a variable"};
  bool written[BATCH_PROGRAMS][BATCH_VARIABLES + 1];
  const char *separator = "plot ";
  FILE *script = plot->script;
  char name[160];
  int curves = 0;

  for (int p = 0; p < batches->programs; p++)
    for (int t = BATCH_SOLVE; t <= BATCH_VARIABLES; t++) {
      written[p][t] = has_curve(batches, panel, p, (enum batch_time)t) &&
                      write_curve(script, batches, panel, p, (enum batch_time)t);
      curves += written[p][t];
    }
  fprintf(script, "set title 'blocks of %d, %s%s'\n", panel->block, panel->single ? "float" : "double",
          panel->transfers ? ", with transfers" : "");
  if (!curves) fputs("plot NaN notitle\n", script);
  for (int p = 0; p < batches->programs; p++)
    for (int t = BATCH_SOLVE; t <= BATCH_VARIABLES; t++) {
      const batch_program *program = &batches->program[p];
      const bool dashed = panel->transfers ? t == BATCH_VARIABLES : program->layout == KARST_TRIDIAGONAL_AOS;
      if (!written[p][t]) continue;
      snprintf(name, sizeof name, "%s%s", program->name, program->processor->gpu ? suffix[t] : "");
      fprintf(script, "%s$curve%d_%d using 1:2 with linespoints linetype %d dashtype %d pointtype %d title ", separator,
              p, t, (int)program->method + 1, dashed ? 2 : 1, point_of(batches, program));
      tool_gnuplot_text(plot, name);
      separator = ", ";
    }
  fputs("\n", script);
}

/* The different m, in the order of the items. */
static int find_blocks(const bench_batches *batches, int block[BATCH_ITEMS])
{
  int blocks = 0;
  for (int i = 0; i < batches->items; i++) {
    int b = 0;
    while (b < blocks && block[b] != batches->item[i].block) b++;
    if (b == blocks) block[blocks++] = batches->item[i].block;
  }
  return blocks;
}

/* Of two precisions the picture has float, the paper's. */
int bench_batches_plot(const bench_batches *batches, const char *path)
{
  struct tool_gnuplot plot;
  int block[BATCH_ITEMS];
  const int blocks = find_blocks(batches, block), columns = batches->settings->gpu ? 2 : 1;
  const int exit_status = tool_gnuplot_begin(&plot, path, 800 * columns, 700 * blocks);
  if (exit_status != TOOL_GO_ON) return exit_status;
  fprintf(plot.script,
          "set multiplot layout %d,%d\nset logscale xy\nset logscale x 2\nset format y '%%g'\n"
          "set xlabel 'rows of a system, n'\nset ylabel 'microseconds'\n"
          "set grid linetype 1 linewidth 0.5 linecolor rgb '#d0d0d0'\nset key outside bottom center horizontal\n",
          blocks, columns);
  for (int b = 0; b < blocks; b++)
    for (int transfers = 0; transfers < columns; transfers++) {
      const struct panel panel = {.block = block[b], .single = batches->precision[1], .transfers = transfers};
      write_panel(&plot, batches, &panel);
    }
  fputs("unset multiplot\n", plot.script);
  return tool_gnuplot_end(&plot);
}
