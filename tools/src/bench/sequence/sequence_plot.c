/* sequence_plot.c - draws the iterations of each system of a sequence, a line for each row of the table. */
#include "tools/src/bench/sequence/sequence.h"
#include "tools/src/common/gnuplot.h"

#include <stdio.h>

/* Writes the points of row r as the data $rowR: the system's number from 1, its iterations, and those again if its
 * solve failed. */
static void write_data(FILE *script, const bench_sequence *sequence, int r)
{
  fprintf(script, "$row%d << end_of_row\n", r);
  for (int s = 0; s < sequence->systems; s++) {
    const bench_step *step = &sequence->run[r].step[s];
    fprintf(script, "%d %d ", s + 1, step->iterations);
    if (step->reason < 0)
      fprintf(script, "%d\n", step->iterations);
    else
      fputs("NaN\n", script);
  }
  fputs("end_of_row\n", script);
}

static void write_plot(struct tool_gnuplot *plot, const bench_sequence *sequence)
{
  FILE *script = plot->script;
  const bench_settings *settings = sequence->table.settings;
  const char *separator = "plot ";
  bool named = false; /* the points of failed solves, in the key */

  fputs("set title ", script);
  tool_gnuplot_text(plot, settings->matrix);
  fprintf(script,
          "\nset xlabel 'system'\nset ylabel 'iterations of %s to a residual of %g'\nset xrange [1:%d]\n"
          "set logscale y\nset yrange [0.9:*]\nset grid linetype 1 linewidth 0.5 linecolor rgb '#d0d0d0'\n"
          "set key outside bottom center horizontal\n",
          settings->solves, settings->rtol, sequence->systems > 1 ? sequence->systems : 2);
  for (int r = 0; r < sequence->runs; r++)
    if (sequence->run[r].sound) write_data(script, sequence, r);
  for (int r = 0; r < sequence->runs; r++) {
    if (!sequence->run[r].sound) continue;
    fprintf(script, "%s$row%d using 1:2 with linespoints linetype %d pointsize 0.5 title ", separator, r, r % 8 + 1);
    tool_gnuplot_text(plot, sequence->run[r].row->name);
    if (bench_run_failures(sequence, &sequence->run[r]))
      fprintf(script, ", $row%d using 1:3 with points pointtype 2 linecolor rgb '#D00000' %s", r,
              named ? "notitle" : "title 'failed'");
    named |= bench_run_failures(sequence, &sequence->run[r]) > 0;
    separator = ", ";
  }
  fputs("\n", script);
}

int bench_sequence_plot(const bench_sequence *sequence, const char *path)
{
  struct tool_gnuplot plot;
  const int exit_status = tool_gnuplot_begin(&plot, path, 900, 600);
  if (exit_status != TOOL_GO_ON) return exit_status;
  write_plot(&plot, sequence);
  return tool_gnuplot_end(&plot);
}
