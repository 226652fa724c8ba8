/* solve_plot.c - the picture of --plot: the relative residual norm by iteration, and the target. */
#include "gnuplot.h"
#include "solve_pictures.h"

#include <stdio.h>
#include <string.h>

/* What the residual norms of a solve are divided by, and what it had to reach. */
struct scale {
  double norm;
  double target;
  const char *axis;
};

/* Where the iteration looks at another norm than that of b - A x, the norm of the start is what it compares with. */
static struct scale find_scale(const karst_options *options, double norm_b, double start)
{
  const char *solver = tool_option_text(options, "solver");
  const bool scaled = strcmp(tool_option_text(options, "scale"), "none") != 0;
  const bool preconditioned =
      strcmp(solver, "cg") == 0 && strcmp(tool_option_text(options, "norm"), "preconditioned") == 0;
  const double rtol = tool_option_number(options, "rtol"), atol = tool_option_number(options, "atol");
  if (preconditioned) return (struct scale){start, rtol, "preconditioned residual norm, relative to the start"};
  if (scaled) return (struct scale){start, rtol, "residual norm of the scaled system, relative to the start"};
  return (struct scale){norm_b, fmax(rtol, atol / norm_b), "residual norm, relative to the right-hand side"};
}

/* The range of what can be drawn on a logarithmic axis, which is from whole power of ten to whole power of ten. */
struct range {
  double least, most;
};

/* In powers of ten: no point is on the border of the picture. */
#define MARGIN 0.05

static bool can_be_drawn(double value) { return isfinite(value) && value > 1e-300; }

static void include(struct range *range, double value)
{
  if (!can_be_drawn(value)) return;
  if (!(range->least <= value)) range->least = value;
  if (!(range->most >= value)) range->most = value;
}

static void round_out(struct range *range)
{
  if (!(range->least > 0)) *range = (struct range){1e-16, 1};
  range->least = fmax(pow(10, floor(log10(range->least) - MARGIN)), 1e-300);
  range->most = fmin(pow(10, ceil(log10(range->most) + MARGIN)), 1e300);
  if (range->most <= range->least) range->most = 10 * range->least;
}

static struct range find_range(const struct watch_record *record, const struct scale *scale)
{
  struct range range = {NAN, NAN};
  for (int i = 0; i < record->count; i++) include(&range, record->residual[i] / scale->norm);
  include(&range, record->last_residual / scale->norm);
  include(&range, scale->target);
  round_out(&range);
  return range;
}

/* A point that cannot be drawn is a gap in the line. */
static void write_point(FILE *script, int iteration, double value)
{
  if (can_be_drawn(value))
    fprintf(script, "%d %.6e\n", iteration, value);
  else
    fputs("\n", script);
}

static void write_data(FILE *script, const struct watch_record *record, double norm)
{
  fputs("$history << end_of_history\n", script);
  for (int i = 0; i < record->count; i++) write_point(script, record->iteration[i], record->residual[i] / norm);
  if (record->count && record->iteration[record->count - 1] != record->last_iteration)
    write_point(script, record->last_iteration, record->last_residual / norm);
  fputs("end_of_history\n", script);
}

static bool has_points(const struct watch_record *record, double norm)
{
  for (int i = 0; i < record->count; i++)
    if (can_be_drawn(record->residual[i] / norm)) return true;
  return can_be_drawn(record->last_residual / norm);
}

static void write_plot(struct tool_gnuplot *plot, const struct solve_report *report, const struct watch_record *record,
                       const struct scale *scale)
{
  FILE *script = plot->script;
  const struct range range = find_range(record, scale);
  const int last = record->last_iteration > 0 ? record->last_iteration : 1;
  char text[64];
  solve_write_title(plot, report, report->explanation);
  fprintf(script, "set xlabel 'iteration'\nset ylabel '%s'\nset logscale y\nset format y '%%.0e'\n", scale->axis);
  fprintf(script,
          "set xrange [0:%d]\nset yrange [%.6e:%.6e]\nset grid linetype 1 linewidth 0.5 linecolor rgb '#d0d0d0'\n"
          "set key outside bottom center horizontal\n",
          last, range.least, range.most);
  write_data(script, record, scale->norm);
  const bool drawn = has_points(record, scale->norm);
  if (!drawn) fputs("set label 'no iteration has a residual norm to be drawn' at graph 0.5,0.5 center\n", script);
  if (drawn)
    fprintf(script, "plot $history with %s linetype 1 dashtype 1 pointsize 0.6 title 'residual norm', \\\n",
            record->count <= 60 ? "linespoints" : "lines");
  else
    fputs("plot ", script);
  snprintf(text, sizeof text, "target %.3g", scale->target);
  if (can_be_drawn(scale->target))
    fprintf(script, "[0:%d] %.6e with lines linetype 2 dashtype 2 title '%s'\n", last, scale->target, text);
  else
    fprintf(script, "[0:%d] NaN notitle\n", last);
}

int solve_plot(karst_context *context, const struct solve_report *report, const struct watch_record *record,
               const karst_vector *b)
{
  struct tool_gnuplot plot;
  double norm = 0;
  const karst_status status = karst_vector_norm(b, &norm);
  if (status) return tool_fail_library(context, status);
  const double start = record->count ? record->residual[0] : 1;
  struct scale scale = find_scale(report->settings->options, norm, start);
  if (!can_be_drawn(scale.norm)) scale.norm = 1;
  const int exit_status = tool_gnuplot_begin(&plot, report->settings->plot, 900, 600);
  if (exit_status != TOOL_GO_ON) return exit_status;
  write_plot(&plot, report, record, &scale);
  return tool_gnuplot_end(&plot);
}
