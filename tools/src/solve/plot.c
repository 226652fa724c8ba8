/* plot.c - the picture of --plot: the relative residual norm by iteration, and the target. */
#include "tools/src/common/gnuplot.h"
#include "tools/src/solve/solve_pictures.h"

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

static struct range find_range(const struct tool_curve *curve, const struct scale *scale)
{
  struct range range = {NAN, NAN};
  for (size_t i = 0; i < curve->count; i++) include(&range, curve->point[i].residual / scale->norm);
  include(&range, scale->target);
  round_out(&range);
  return range;
}

/* A norm of 0 has no place on a logarithmic axis: it is drawn on the lower border. A point that cannot be drawn
 * otherwise is a gap in the line. */
static void write_point(FILE *script, long iteration, double value, double least)
{
  if (value == 0) value = least;
  if (can_be_drawn(value))
    fprintf(script, "%ld %.6e\n", iteration, value);
  else
    fputs("\n", script);
}

static void write_data(FILE *script, const struct tool_curve *curve, double norm, double least)
{
  fputs("$history << end_of_history\n", script);
  for (size_t i = 0; i < curve->count; i++)
    write_point(script, curve->point[i].iteration, curve->point[i].residual / norm, least);
  fputs("end_of_history\n", script);
}

static bool has_points(const struct tool_curve *curve, double norm)
{
  for (size_t i = 0; i < curve->count; i++)
    if (can_be_drawn(curve->point[i].residual / norm)) return true;
  return false;
}

static bool has_zero(const struct tool_curve *curve)
{
  for (size_t i = 0; i < curve->count; i++)
    if (curve->point[i].residual == 0) return true;
  return false;
}

static void write_plot(struct tool_gnuplot *plot, const struct solve_report *report, const struct tool_curve *curve,
                       const struct scale *scale)
{
  FILE *script = plot->script;
  const struct range range = find_range(curve, scale);
  const long last = curve->last.iteration > 0 ? curve->last.iteration : 1;
  char text[64];
  solve_write_title(plot, report, report->explanation);
  fprintf(script, "set xlabel 'iteration'\nset ylabel '%s'\nset logscale y\nset format y '%%.0e'\n", scale->axis);
  fprintf(script,
          "set xrange [0:%ld]\nset yrange [%.6e:%.6e]\nset grid linetype 1 linewidth 0.5 linecolor rgb '#d0d0d0'\n"
          "set key outside bottom center horizontal\n",
          last, range.least, range.most);
  if (last < 10) fputs("set xtics 1\n", script); /* between iterations there is nothing */
  write_data(script, curve, scale->norm, range.least);
  const bool drawn = has_points(curve, scale->norm);
  if (!drawn) fputs("set label 'no iteration has a residual norm to be drawn' at graph 0.5,0.5 center\n", script);
  if (drawn)
    fprintf(script, "plot $history with %s linetype 1 dashtype 1 pointsize 0.6 title 'residual norm%s', \\\n",
            curve->count <= 60 ? "linespoints" : "lines", has_zero(curve) ? ", 0 at the lower border" : "");
  else
    fputs("plot ", script);
  snprintf(text, sizeof text, "target %.3g", scale->target);
  if (can_be_drawn(scale->target))
    fprintf(script, "[0:%ld] %.6e with lines linetype 2 dashtype 2 title '%s'\n", last, scale->target, text);
  else
    fprintf(script, "[0:%ld] NaN notitle\n", last);
}

int solve_plot(const struct solve_report *report, const struct watch_record *record, double norm)
{
  struct tool_gnuplot plot;
  const struct tool_curve *curve = &record->curve;
  const double start = curve->count ? curve->point[0].residual : 1;
  struct scale scale = find_scale(report->settings->options, norm, start);
  if (!can_be_drawn(scale.norm)) scale.norm = 1;
  const int exit_status = tool_gnuplot_begin(&plot, report->settings->plot, 900, 600);
  if (exit_status != TOOL_GO_ON) return exit_status;
  write_plot(&plot, report, curve, &scale);
  return tool_gnuplot_end(&plot);
}
