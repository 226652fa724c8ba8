/* pictures.c - the pictures of the report, which gnuplot draws; see compare_write.h. A curve of a matrix is a set of
 * cases that differ in one dimension at most. One of a performance profile is a method: the part of the matrices that
 * it solves within tau times the time of the fastest method, as a function of tau (Dolan and More, Benchmarking
 * optimization software with performance profiles, Math. Program. 91, 2002); matrices that no method solved do not
 * count. At most COMPARE_CURVES are drawn: of a matrix the fastest, of the profile those with the largest sum of
 * fastest time over own time. The page lists the names of the curves, which the picture numbers. */
#include "tools/src/compare/report/compare_write.h"
#include "tools/src/common/gnuplot.h"
#include "tools/src/common/text.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

const struct compare_picture_kind compare_pictures[COMPARE_PICTURES] = {
    {"best", "What choosing well is worth: each bar spans the times of all cases of a matrix that converged.",
     "set-up and solve, s", "", "set logscale x\nset format x '%g'\nset style fill solid noborder\n", ""},
    {"profile",
     "The part of the matrices that a method solves within so many times the fastest method's time. A curve that is "
     "high at the left is often the fastest; one that is high at the right seldom fails. A matrix on which a method "
     "was not tried counts as not solved by it; a matrix that no method solved is left out.",
     "time over the fastest time of the matrix, at most", "matrices solved, %",
     "set logscale x\nset format x '%g'\nset yrange [0:103]\nset autoscale xfix\n", "smooth cumulative with steps"},
    {"convergence", "Residuals over that of the start, for the fastest cases that converged.", "iteration",
     "residual / first residual", "set logscale y\nset format y '%.0e'\nset autoscale xfix\n", "with lines"},
    {"times",
     "Time of set-up and solve by level or block size, for the fastest combinations. One that has neither is a line "
     "across.",
     "level", "set-up and solve, s",
     "set logscale y\nset format y '%g'\nset autoscale xfix\nset xtics 1\nset offsets 0.15, 0.15, 0, 0\n",
     "with linespoints"},
    {"fill", "Iterations by fill, along each curve with growing level or block size. One that has neither is a point.",
     "entries of the factors / entries in the file", "iterations",
     "set logscale y\nset format y '%g'\nset xrange [0:*]\nset offsets 0, graph 0.03, 0, 0\n", "with linespoints"}};

/* A picture that is being made. */
struct drawing {
  enum compare_picture picture;
  const struct compare_table *table;
  size_t matrix;
  const char *path;
  struct tool_gnuplot plot;
  struct compare_legend *legend;
  const struct compare_row *curve[COMPARE_CURVES]; /* a case of each */
  bool *left_out;                                  /* [dimensions] in what the cases of a curve may differ */
  size_t x;                                        /* the dimension along the axis, or the number of dimensions */
};

static void write_point(const struct drawing *d, double x, double y)
{
  const char *first = compare_format("%.6g", x), *second = compare_format("%.6g", y);
  fprintf(d->plot.script, "%s %s\n", first ? first : "NaN", second ? second : "NaN");
}

/* Begins the picture. */
static int begin(struct drawing *d, int width, int height)
{
  const struct compare_picture_kind *kind = &compare_pictures[d->picture];
  const int status = tool_gnuplot_begin(&d->plot, d->path, width, height);
  if (status != TOOL_GO_ON) return status;
  d->legend->drawn = true;
  fprintf(d->plot.script,
          "set border 3 linecolor rgb '#555555'\nset tics nomirror\nset grid linecolor rgb '#dddddd'\n"
          "set key above samplen 2\nset xlabel '%s'\nset ylabel '%s'\n%s",
          kind->x, kind->y, kind->settings);
  return TOOL_GO_ON;
}

/* Plots the blocks of the data as curves, and ends the picture. */
static int plot_curves(struct drawing *d)
{
  fprintf(d->plot.script, "EOD\nplot for [c=0:%zu] $curves index c using 1:2 %s linetype c+1 title ''.(c+1)\n",
          d->legend->curves - 1, compare_pictures[d->picture].style);
  return tool_gnuplot_end(&d->plot);
}

/* Whether the picture shows a case of its matrix. */
static bool has_data(const struct drawing *d, const struct compare_row *row)
{
  if (!row->line || row->matrix != d->matrix || row->outcome != OUTCOME_CONVERGED) return false;
  const json_t *history = json_object_get(row->line, "history");
  if (d->picture == COMPARE_CONVERGENCE)
    return json_array_size(history) > 1 && json_number_value(json_array_get(json_array_get(history, 0), 1)) > 0;
  const bool has_fill = row->number[COMPARE_FILL_FILE] > 0 && row->number[COMPARE_ITERATIONS] > 0;
  return row->number[COMPARE_TOTAL] > 0 && (d->picture != COMPARE_FILL_PICTURE || has_fill);
}

static bool same_curve(const struct drawing *d, const struct compare_row *a, const struct compare_row *b)
{
  for (size_t i = 0; i < d->table->dimensions; i++)
    if (!d->left_out[i] && !compare_same_value(a->value[i], b->value[i])) return false;
  return true;
}

/* A time to sort by, which need not be known. */
static double sort_time(const struct compare_row *row)
{
  return isfinite(row->number[COMPARE_TOTAL]) ? row->number[COMPARE_TOTAL] : HUGE_VAL;
}

/* The fastest case whose curve is not among those found already. */
static const struct compare_row *next_curve(const struct drawing *d)
{
  const struct compare_row *fastest = NULL;
  for (size_t i = 0; i < d->table->rows; i++) {
    const struct compare_row *row = &d->table->row[i];
    bool taken = !has_data(d, row);
    for (size_t c = 0; c < d->legend->curves && !taken; c++) taken = same_curve(d, row, d->curve[c]);
    if (!taken && (!fastest || sort_time(row) < sort_time(fastest))) fastest = row;
  }
  return fastest;
}

/* NaN for a value that is not known or is no number. */
static double axis_number(const char *text)
{
  char *end;
  const double number = text ? strtod(text, &end) : NAN;
  return text && *text && !*end ? number : NAN;
}

/* Whether cases with data differ in the number that they have in dimension x. */
static bool differ(const struct drawing *d)
{
  double first = NAN;
  for (size_t i = 0; i < d->table->rows; i++) {
    const struct compare_row *row = &d->table->row[i];
    const double x = has_data(d, row) ? axis_number(row->value[d->x]) : NAN;
    if (isfinite(x) && isfinite(first) && x != first) return true;
    if (isfinite(x)) first = x;
  }
  return false;
}

/* Writes the residuals of a case over that of the start, from the first iteration on where the axis is logarithmic. */
static void write_history(const struct drawing *d, const struct compare_row *row, bool logarithmic)
{
  const json_t *history = json_object_get(row->line, "history");
  const double start = json_number_value(json_array_get(json_array_get(history, 0), 1));
  for (size_t i = 0; i < json_array_size(history); i++) {
    const json_t *point = json_array_get(history, i);
    const double x = json_number_value(json_array_get(point, 0)), y = json_number_value(json_array_get(point, 1));
    if ((x >= 1 || !logarithmic) && y > 0) write_point(d, x, y / start);
  }
}

/* Writes the cases of a curve in the order of the values of dimension x. A time without such a value is a line from end
 * to end. */
static void write_cases(const struct drawing *d, const struct compare_row *curve)
{
  const struct compare_dimension *axis = &d->table->dimension[d->x];
  for (size_t v = 0; v <= axis->values; v++) /* the last round is for cases without such a value */
    for (size_t i = 0; i < d->table->rows; i++) {
      const struct compare_row *row = &d->table->row[i];
      const double x = axis_number(row->value[d->x]), y = row->number[COMPARE_TOTAL];
      if (!has_data(d, row) || !same_curve(d, row, curve)) continue;
      if (!compare_same_value(row->value[d->x], v < axis->values ? axis->value[v] : NULL)) continue;
      if (d->picture == COMPARE_FILL_PICTURE)
        write_point(d, row->number[COMPARE_FILL_FILE], row->number[COMPARE_ITERATIONS]);
      else if (isfinite(x))
        write_point(d, x, y);
      else
        for (size_t w = 0; w < axis->values; w++) write_point(d, axis_number(axis->value[w]), y);
    }
}

static int draw_matrix(struct drawing *d)
{
  struct compare_legend *legend = d->legend;
  const bool history = d->picture == COMPARE_CONVERGENCE;
  double fewest = HUGE_VAL, most = 0;
  d->x = history ? d->table->dimensions : compare_find_dimension(d->table, "level");
  if (!history && (d->x == d->table->dimensions || !differ(d))) d->x = 0; /* the block size */
  if (!history && !differ(d)) return TOOL_GO_ON;
  for (size_t i = 0; i < d->table->dimensions; i++)
    d->left_out[i] = i == d->x || (d->picture != COMPARE_TIMES && compare_is_place(&d->table->dimension[i]));
  for (const struct compare_row *row; legend->curves < COMPARE_CURVES && (row = next_curve(d));) {
    legend->label[legend->curves] = compare_label(d->table, row, d->left_out);
    d->curve[legend->curves++] = row;
    fewest = fmin(fewest, row->number[COMPARE_ITERATIONS]);
    most = fmax(most, row->number[COMPARE_ITERATIONS]);
  }
  const bool logarithmic = most > 16 * fewest; /* else the best curves would be one line beside the axis */
  const int status = legend->curves > 0 ? begin(d, 400, 290) : TOOL_GO_ON;
  if (status != TOOL_GO_ON || !legend->drawn) return status;
  if (d->picture == COMPARE_TIMES && d->x == 0) fputs("set xlabel 'block size'\nset xtics auto\n", d->plot.script);
  if (history && logarithmic) fputs("set logscale x\n", d->plot.script);
  fputs("$curves << EOD\n", d->plot.script);
  for (size_t c = 0; c < legend->curves; c++) {
    fputs("NaN NaN\n", d->plot.script); /* so that no block is empty */
    if (history)
      write_history(d, d->curve[c], logarithmic);
    else
      write_cases(d, d->curve[c]);
    fputs("\n\n", d->plot.script);
  }
  return plot_curves(d);
}

struct method {
  const struct compare_row *row; /* one of its cases */
  double score;                  /* the sum of fastest time over own time */
};

static int by_score(const void *a, const void *b)
{
  const struct method *x = a, *y = b;
  if (x->score != y->score) return x->score > y->score ? -1 : 1;
  return x->row < y->row ? -1 : x->row > y->row; /* as they come in the plan */
}

/* The time of a case over the fastest of its matrix; infinite where it did not converge. */
static double ratio_of(const struct compare_table *table, const struct compare_row *row)
{
  if (!row->line || row->outcome != OUTCOME_CONVERGED || !isfinite(row->number[COMPARE_TOTAL])) return HUGE_VAL;
  return row->number[COMPARE_TOTAL] / table->choice[row->matrix].best->number[COMPARE_TOTAL];
}

/* Draws the profile. gnuplot sorts the steps. */
static int draw_profile(struct drawing *d)
{
  const struct compare_table *table = d->table;
  const struct compare_row *const end = table->row + table->rows;
  struct method *method = compare_room(table->rows, sizeof *method);
  size_t methods = 0, solved = 0;
  double most = 1;
  for (size_t m = 0; m < table->matrices; m++) solved += table->choice[m].best != NULL;
  for (const struct compare_row *row = table->row; row < end; row++) {
    const double ratio = ratio_of(table, row);
    size_t m = 0;
    if (!isfinite(ratio)) continue;
    while (m < methods && !compare_same_method(table, method[m].row, row)) m++;
    if (m == methods) method[methods++].row = row;
    method[m].score += 1 / ratio;
    most = fmax(most, ratio);
  }
  qsort(method, methods, sizeof *method, by_score);
  if (methods < 2 || solved < 2) return TOOL_GO_ON;
  const int status = begin(d, 720, 400);
  if (status != TOOL_GO_ON) return status;
  fprintf(d->plot.script, "%s$curves << EOD\n", most < 20 ? "set logscale x 2\n" : "");
  for (size_t c = 0; c < methods && c < COMPARE_CURVES; c++) {
    d->left_out[0] = method[c].row->own_block; /* which differs from matrix to matrix */
    d->legend->label[d->legend->curves++] = compare_label(table, method[c].row, d->left_out);
    write_point(d, 1, 0);
    for (const struct compare_row *row = table->row; row < end; row++)
      if (isfinite(ratio_of(table, row)) && compare_same_method(table, method[c].row, row))
        write_point(d, ratio_of(table, row), 100 / (double)solved);
    write_point(d, 1.05 * most, 0);
    fputs("\n\n", d->plot.script);
  }
  return plot_curves(d);
}

/* Draws a bar for each matrix, from the fastest to the slowest case that converged, with the runner-up. */
static int draw_best(struct drawing *d)
{
  const struct compare_choice *choice = d->table->choice, *const end = choice + d->table->matrices;
  int bars = 0, y = 0;
  bool some = false;
  for (const struct compare_choice *c = choice; c < end; c++) {
    bars += c->converged > 0;
    some = some || c->converged > 1;
  }
  const int status = some ? begin(d, 720, 120 + 24 * bars) : TOOL_GO_ON;
  if (status != TOOL_GO_ON || !some) return status;
  fprintf(d->plot.script, "set yrange [%d+0.4:0.6]\n$bars << EOD\n", -bars);
  for (const struct compare_choice *c = choice; c < end; c++) /* best, slowest, runner-up */
    if (c->best)
      fprintf(d->plot.script, "%.6g %.6g %.6g\n", c->best->number[COMPARE_TOTAL], c->slowest->number[COMPARE_TOTAL],
              (c->second ? c->second : c->best)->number[COMPARE_TOTAL]);
  fputs("EOD\nset ytics (", d->plot.script);
  for (const struct compare_choice *c = choice; c < end; c++) {
    const char *whole = compare_short_name(d->table->matrix[c - choice]);
    char name[80] = "";
    if (!c->best) continue;
    for (size_t i = 0, n = 0; i < tool_utf8_begin(whole, sizeof name / 2 - 1); i++) {
      name[n++] = whole[i];
      if (whole[i] == '%') name[n++] = '%'; /* a name of an axis is a format */
    }
    if (y < 0) fputc(',', d->plot.script);
    tool_gnuplot_text(&d->plot, name);
    fprintf(d->plot.script, " %d", y--);
  }
  fputs(")\nplot $bars using 1:(-$0):($2-$1):(0) with vectors nohead linewidth 12 linecolor rgb '#c5d9e8' title "
        "'converged', '' using 3:(-$0) with points pointtype 6 linecolor rgb '#d55e00' title 'runner-up', "
        "'' using 1:(-$0) with points pointtype 7 linecolor rgb '#0072b2' title 'best'\n",
        d->plot.script);
  return tool_gnuplot_end(&d->plot);
}

int compare_draw(enum compare_picture picture, const struct compare_table *table, size_t matrix, const char *path,
                 struct compare_legend *legend)
{
  struct drawing d = {.picture = picture, .table = table, .matrix = matrix, .path = path, .legend = legend};
  d.left_out = compare_room(table->dimensions, sizeof *d.left_out);
  *legend = (struct compare_legend){0};
  if (picture == COMPARE_BEST) return draw_best(&d);
  return picture == COMPARE_PROFILE ? draw_profile(&d) : draw_matrix(&d);
}
