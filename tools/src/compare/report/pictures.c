/* pictures.c - the pictures of a matrix; see compare_write.h. A curve is a set of cases that differ in one
 * dimension at most; at most COMPARE_CURVES are drawn, those of the fastest cases, in that order. */
#include "config.h"

#ifdef HAVE_JANSSON
#include "tools/src/compare/report/compare_write.h"
#include "tools/src/common/gnuplot.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* The curves of a picture: the fastest case of each. */
struct curves {
  const struct compare_table *table;
  size_t matrix, count;
  const struct compare_row *fastest[COMPARE_CURVES];
  bool *left_out; /* [dimensions] in what the cases of a curve may differ */
  size_t x;       /* the dimension along the axis, or the number of dimensions */
};

/* Whether a case has what the picture shows. */
typedef bool has_data(const struct compare_row *row);

static bool has_history(const struct compare_row *row)
{
  const json_t *history = json_object_get(row->line, "history");
  const double start = json_number_value(json_array_get(json_array_get(history, 0), 1));
  return json_array_size(history) > 1 && start > 0 && row->outcome == OUTCOME_CONVERGED;
}

static bool has_time(const struct compare_row *row)
{
  return row->outcome == OUTCOME_CONVERGED && row->number[COMPARE_TOTAL] > 0;
}

static bool has_fill(const struct compare_row *row)
{
  return has_time(row) && row->number[COMPARE_FILL_FILE] > 0 && row->number[COMPARE_ITERATIONS] > 0;
}

static bool same_curve(const struct curves *curves, const struct compare_row *a, const struct compare_row *b)
{
  for (size_t d = 0; d < curves->table->dimensions; d++)
    if (!curves->left_out[d] && !compare_same_value(a->value[d], b->value[d])) return false;
  return true;
}

/* A time to sort by, which need not be known. */
static double time_of(const struct compare_row *row)
{
  return isfinite(row->number[COMPARE_TOTAL]) ? row->number[COMPARE_TOTAL] : HUGE_VAL;
}

/* The fastest case whose curve is not among those found already. */
static const struct compare_row *next_curve(const struct curves *curves, has_data *has)
{
  const struct compare_row *fastest = NULL;
  for (size_t i = 0; i < curves->table->rows; i++) {
    const struct compare_row *row = &curves->table->row[i];
    bool taken = !row->line || row->matrix != curves->matrix || !has(row);
    for (size_t c = 0; c < curves->count && !taken; c++) taken = same_curve(curves, row, curves->fastest[c]);
    if (!taken && (!fastest || time_of(row) < time_of(fastest))) fastest = row;
  }
  return fastest;
}

/* Leaves out places, if asked to, and the dimension x. */
static int find_curves(struct curves *curves, bool no_places, has_data *has)
{
  const struct compare_row *row;
  curves->left_out = calloc(curves->table->dimensions, sizeof *curves->left_out);
  if (!curves->left_out) return tool_fail_memory("a picture");
  for (size_t d = 0; d < curves->table->dimensions; d++)
    curves->left_out[d] = d == curves->x || (no_places && compare_is_place(&curves->table->dimension[d]));
  while (curves->count < COMPARE_CURVES && (row = next_curve(curves, has))) curves->fastest[curves->count++] = row;
  return TOOL_GO_ON;
}

/* NaN where the text is no number. */
static double number_of(const char *text)
{
  char *end;
  const double number = strtod(text, &end);
  return *text && !*end ? number : NAN;
}

/* The value of a case in the dimension x; NaN where it is no number. */
static double abscissa(const struct curves *curves, const struct compare_row *row)
{
  const char *text = curves->x < curves->table->dimensions ? row->value[curves->x] : NULL;
  return text ? number_of(text) : NAN;
}

/* How many different values the cases with data have in dimension x, no more than two. */
static int count_values(const struct curves *curves, has_data *has)
{
  double first = NAN;
  for (size_t i = 0; i < curves->table->rows; i++) {
    const struct compare_row *row = &curves->table->row[i];
    if (!row->line || row->matrix != curves->matrix || !has(row)) continue;
    const double x = abscissa(curves, row);
    if (isfinite(x) && isfinite(first) && x != first) return 2;
    if (isfinite(x)) first = x;
  }
  return isfinite(first) ? 1 : 0;
}

/* The level, or the block size where levels do not differ; else the number of dimensions. */
static size_t find_axis(struct curves *curves, has_data *has)
{
  const size_t none = curves->table->dimensions;
  curves->x = compare_find_dimension(curves->table, "level");
  if (curves->x < none && count_values(curves, has) > 1) return curves->x;
  curves->x = 0; /* the block size */
  return count_values(curves, has) > 1 ? curves->x : none;
}

/* A case that has no value in the dimension x, such as a level, is a line from end to end. */
static void write_level(struct tool_gnuplot *plot, const struct curves *curves, double y)
{
  const struct compare_dimension *axis = &curves->table->dimension[curves->x];
  for (size_t v = 0; v < axis->values; v++) {
    compare_put_number(plot, number_of(axis->value[v]));
    compare_put_number(plot, y);
    fputc('\n', plot->script);
  }
}

/* Writes the cases of a curve as x and y, in the order of the values of the dimension x, which is that of the table. */
static void write_cases(struct tool_gnuplot *plot, const struct curves *curves, size_t c, has_data *has, bool fill)
{
  const struct compare_dimension *axis = &curves->table->dimension[curves->x];
  fprintf(plot->script, "$curve%zu << EOD\n", c);
  for (size_t v = 0; v <= axis->values; v++) /* the last round is for cases without such a value */
    for (size_t i = 0; i < curves->table->rows; i++) {
      const struct compare_row *row = &curves->table->row[i];
      const double x = fill ? row->number[COMPARE_FILL_FILE] : abscissa(curves, row);
      const double y = row->number[fill ? COMPARE_ITERATIONS : COMPARE_TOTAL];
      if (!row->line || row->matrix != curves->matrix || !has(row) || !same_curve(curves, row, curves->fastest[c]))
        continue;
      if (!compare_same_value(row->value[curves->x], v < axis->values ? axis->value[v] : NULL)) continue;
      if (isfinite(x)) {
        compare_put_number(plot, x);
        compare_put_number(plot, y);
        fputc('\n', plot->script);
      } else
        write_level(plot, curves, y);
    }
  fputs("EOD\n", plot->script);
}

enum { WIDTH = 400, HEIGHT = 290 }; /* so that letters are as large as those of the page beside them */

static void make_key(struct compare_key *key, const struct curves *curves)
{
  key->curves = curves->count;
  for (size_t c = 0; c < curves->count; c++)
    compare_label(key->label[c], curves->table, curves->fastest[c], curves->left_out);
}

/* Begins a picture whose key has room for the names of the curves. */
static int begin(struct tool_gnuplot *plot, const struct curves *curves, const char *path, const char *x, const char *y)
{
  struct compare_key key;
  make_key(&key, curves);
  struct compare_frame frame = {.width = WIDTH, .height = HEIGHT, .x = x, .y = y};
  compare_fit_key(&frame, &key);
  return compare_canvas(plot, path, &frame);
}

static void write_plot(struct tool_gnuplot *plot, const struct curves *curves, const char *style)
{
  struct compare_key key;
  make_key(&key, curves);
  compare_plot(plot, &key, WIDTH, style);
}

/* Writes the residuals of a case over that of the start, from the first iteration on where the axis is logarithmic. */
static void write_history(struct tool_gnuplot *plot, const struct compare_row *row, size_t c, bool logarithmic)
{
  const json_t *history = json_object_get(row->line, "history");
  const double start = json_number_value(json_array_get(json_array_get(history, 0), 1));
  fprintf(plot->script, "$curve%zu << EOD\n", c);
  for (size_t i = 0; i < json_array_size(history); i++) {
    const json_t *point = json_array_get(history, i);
    const double x = json_number_value(json_array_get(point, 0)), y = json_number_value(json_array_get(point, 1));
    if ((logarithmic && x < 1) || !(y > 0)) continue;
    compare_put_number(plot, x);
    compare_put_number(plot, y / start);
    fputc('\n', plot->script);
  }
  fputs("EOD\n", plot->script);
}

int compare_draw_convergence(const struct compare_table *table, size_t matrix, const char *path, bool *drawn)
{
  struct curves curves = {.table = table, .matrix = matrix, .x = table->dimensions};
  struct tool_gnuplot plot = {0};
  int status = find_curves(&curves, true, has_history);
  double fewest = HUGE_VAL, most = 0;
  *drawn = status == TOOL_GO_ON && curves.count > 0;
  for (size_t c = 0; c < curves.count; c++) {
    fewest = fmin(fewest, curves.fastest[c]->number[COMPARE_ITERATIONS]);
    most = fmax(most, curves.fastest[c]->number[COMPARE_ITERATIONS]);
  }
  const bool logarithmic = most > 16 * fewest; /* else the best curves would be one line beside the axis */
  if (*drawn) status = begin(&plot, &curves, path, "iteration", "residual / first residual");
  if (plot.script) {
    fprintf(plot.script, "set logscale y\nset format y '%%.0e'\nset autoscale xfix\n%s",
            logarithmic ? "set logscale x\n" : "");
    for (size_t c = 0; c < curves.count; c++) write_history(&plot, curves.fastest[c], c, logarithmic);
    write_plot(&plot, &curves, "lines");
    status = tool_gnuplot_end(&plot);
  }
  free(curves.left_out);
  return status;
}

int compare_draw_times(const struct compare_table *table, size_t matrix, const char *path, bool *drawn)
{
  struct curves curves = {.table = table, .matrix = matrix};
  struct tool_gnuplot plot = {0};
  int status = TOOL_GO_ON;
  *drawn = find_axis(&curves, has_time) < table->dimensions;
  if (*drawn) status = find_curves(&curves, false, has_time);
  if (*drawn && status == TOOL_GO_ON)
    status = begin(&plot, &curves, path, compare_title(&table->dimension[curves.x]), "set-up and solve, s");
  if (plot.script) {
    fputs("set logscale y\nset format y '%g'\nset autoscale xfix\nset xtics 1\nset offsets 0.15, 0.15, 0, 0\n",
          plot.script);
    if (curves.x == 0) fputs("set xtics auto\n", plot.script);
    for (size_t c = 0; c < curves.count; c++) write_cases(&plot, &curves, c, has_time, false);
    write_plot(&plot, &curves, "linespoints");
    status = tool_gnuplot_end(&plot);
  }
  free(curves.left_out);
  return status;
}

int compare_draw_fill(const struct compare_table *table, size_t matrix, const char *path, bool *drawn)
{
  struct curves curves = {.table = table, .matrix = matrix};
  struct tool_gnuplot plot = {0};
  int status = TOOL_GO_ON;
  *drawn = find_axis(&curves, has_fill) < table->dimensions;
  if (*drawn) status = find_curves(&curves, true, has_fill);
  if (*drawn && status == TOOL_GO_ON)
    status = begin(&plot, &curves, path, "entries of the factors / entries in the file", "iterations");
  if (plot.script) {
    fputs("set logscale y\nset format y '%g'\nset xrange [0:*]\nset offsets 0, graph 0.03, 0, 0\n", plot.script);
    for (size_t c = 0; c < curves.count; c++) write_cases(&plot, &curves, c, has_fill, true);
    write_plot(&plot, &curves, "linespoints");
    status = tool_gnuplot_end(&plot);
  }
  free(curves.left_out);
  return status;
}
#endif
