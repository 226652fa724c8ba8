/* overview.c - pictures of the whole set; see compare_write.h.
 *
 * The performance profile of a method is the part of the matrices that it solves within tau times the time of the
 * fastest method, as a function of tau (Dolan and More, Benchmarking optimization software with performance profiles,
 * Math. Program. 91, 2002). A method is a block size, options and a place to run; a matrix that no method solved does
 * not count. At most COMPARE_CURVES methods are drawn, those with the largest mean of fastest time over own time. */
#include "config.h"

#ifdef HAVE_JANSSON
#include "tools/src/compare/report/compare_write.h"
#include "tools/src/common/gnuplot.h"
#include "tools/src/common/text.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* What a method did. */
struct method {
  const struct compare_row *row; /* one of its cases */
  double *ratio;                 /* [matrices] time over the fastest, HUGE_VAL where it did not converge */
  double score;                  /* mean of 1 / ratio */
};

struct profile {
  const struct compare_table *table;
  size_t methods, solved; /* solved: matrices that some method solved */
  struct method *method;  /* [methods] the best first */
  double *ratio;          /* [methods * matrices] */
  double *fastest;        /* [matrices] times; NaN where no case converged */
  double most;            /* largest ratio that is one */
};

/* Lists the methods; room for all rows is there. */
static void find_methods(struct profile *profile)
{
  const struct compare_table *table = profile->table;
  for (size_t i = 0; i < table->rows; i++) {
    const struct compare_row *row = &table->row[i];
    size_t m = 0;
    if (!row->line) continue;
    while (m < profile->methods && !compare_same_method(table, profile->method[m].row, row)) m++;
    if (m == profile->methods) profile->method[profile->methods++].row = row;
  }
}

static void find_ratios(struct profile *profile, struct method *method)
{
  const struct compare_table *table = profile->table;
  for (size_t m = 0; m < table->matrices; m++) method->ratio[m] = HUGE_VAL;
  for (size_t i = 0; i < table->rows; i++) {
    const struct compare_row *row = &table->row[i];
    if (!row->line || row->outcome != OUTCOME_CONVERGED || !compare_same_method(table, method->row, row)) continue;
    const double ratio = row->number[COMPARE_TOTAL] / profile->fastest[row->matrix];
    if (!(ratio < method->ratio[row->matrix])) continue;
    method->ratio[row->matrix] = ratio;
    method->score += 1 / ratio;
    profile->most = fmax(profile->most, ratio);
  }
}

static int is_better(const void *a, const void *b)
{
  const struct method *x = a, *y = b;
  if (x->score != y->score) return x->score > y->score ? -1 : 1;
  return x->row < y->row ? -1 : x->row > y->row; /* as they come in the plan */
}

static int by_size(const void *a, const void *b)
{
  const double x = *(const double *)a, y = *(const double *)b;
  return x < y ? -1 : x > y;
}

/* Writes the steps of a method, whose ratios are sorted here. */
static void write_steps(struct tool_gnuplot *plot, const struct profile *profile, size_t c)
{
  double *ratio = profile->method[c].ratio;
  const double scale = 100 / (double)profile->solved;
  size_t count = 0;
  qsort(ratio, profile->table->matrices, sizeof *ratio, by_size);
  fprintf(plot->script, "$curve%zu << EOD\n", c);
  while (count < profile->table->matrices && ratio[count] <= 1) count++;
  fprintf(plot->script, "1 %.6f\n", (double)count * scale);
  for (; count < profile->table->matrices && isfinite(ratio[count]); count++) {
    compare_put_number(plot, ratio[count]);
    fprintf(plot->script, " %.6f\n", (double)(count + 1) * scale);
  }
  compare_put_number(plot, profile->most * 1.05);
  fprintf(plot->script, " %.6f\nEOD\n", (double)count * scale);
}

static void method_label(char label[COMPARE_LABEL], const struct profile *profile, size_t m, bool *left_out)
{
  left_out[0] = profile->method[m].row->own_block; /* which differs from matrix to matrix */
  compare_label(label, profile->table, profile->method[m].row, left_out);
}

static int draw_profile(const struct profile *profile, const char *path)
{
  struct tool_gnuplot plot;
  struct compare_key key = {.curves = profile->methods < COMPARE_CURVES ? profile->methods : COMPARE_CURVES};
  struct compare_frame frame = {
      720, 400, 0, 0, "time over the fastest time of the matrix, at most", "matrices solved, %"};
  bool *left_out = calloc(profile->table->dimensions, sizeof *left_out);
  if (!left_out) return tool_fail_memory("a picture");
  for (size_t c = 0; c < key.curves; c++) method_label(key.label[c], profile, c, left_out);
  free(left_out);
  compare_fit_key(&frame, &key);
  const int status = compare_canvas(&plot, path, &frame);
  if (status != TOOL_GO_ON) return status;
  fprintf(plot.script, "set logscale x %d\nset format x '%%g'\nset yrange [0:103]\nset xrange [1:",
          profile->most < 20 ? 2 : 10); /* the axis has numbers at powers of this */
  compare_put_number(&plot, profile->most * 1.05);
  fputs("]\n", plot.script);
  for (size_t c = 0; c < key.curves; c++) write_steps(&plot, profile, c);
  compare_plot(&plot, &key, frame.width, "steps");
  return tool_gnuplot_end(&plot);
}

/* Finds the methods and the matrices that were solved. */
static int make_profile(struct profile *profile)
{
  const struct compare_table *table = profile->table;
  profile->method = calloc(table->rows + 1, sizeof *profile->method);
  profile->fastest = calloc(table->matrices + 1, sizeof *profile->fastest);
  if (profile->method) find_methods(profile);
  profile->ratio = calloc(profile->methods * table->matrices + 1, sizeof *profile->ratio);
  if (!profile->method || !profile->fastest || !profile->ratio) return tool_fail_memory("a picture");
  for (size_t m = 0; m < table->matrices; m++) {
    const struct compare_row *best = compare_choose(table, m).best;
    profile->fastest[m] = best ? best->number[COMPARE_TOTAL] : NAN;
    profile->solved += best != NULL;
  }
  for (size_t m = 0; m < profile->methods; m++) {
    profile->method[m].ratio = profile->ratio + m * table->matrices;
    find_ratios(profile, &profile->method[m]);
  }
  qsort(profile->method, profile->methods, sizeof *profile->method, is_better);
  while (profile->methods > 0 && profile->method[profile->methods - 1].score <= 0) profile->methods--;
  return TOOL_GO_ON;
}

int compare_draw_profile(const struct compare_table *table, const char *path, bool *drawn)
{
  struct profile profile = {.table = table, .most = 1};
  int status = make_profile(&profile);
  *drawn = status == TOOL_GO_ON && profile.methods > 1 && profile.solved > 1;
  if (*drawn) status = draw_profile(&profile, path);
  free(profile.method);
  free(profile.ratio);
  free(profile.fastest);
  return status;
}

/* The texts beside a bar: the matrix, of a long name both ends, and the best choice, of a long one its beginning. */
struct beside {
  char name[COMPARE_LABEL], choice[COMPARE_LABEL];
};

enum { NAME_MOST = 32, NAME_END = 11, CHOICE_MOST = 36, BEST_WIDTH = 860, BEST_LETTER = 8 }; /* letters, and pixels */

static struct beside find_beside(const struct compare_table *table, size_t matrix)
{
  struct beside beside;
  char label[COMPARE_LABEL];
  const char *name = compare_short_name(table->matrix[matrix]);
  const size_t letters = strlen(name);
  compare_label(label, table, compare_choose(table, matrix).best, NULL);
  if (letters > NAME_MOST)
    snprintf(beside.name, sizeof beside.name, "%.*s...%s", (int)tool_utf8_begin(name, NAME_MOST - NAME_END - 3), name,
             name + tool_utf8_begin(name, letters - NAME_END));
  else
    snprintf(beside.name, sizeof beside.name, "%s", name);
  if (strlen(label) > CHOICE_MOST)
    snprintf(beside.choice, sizeof beside.choice, "%.*s...", (int)tool_utf8_begin(label, CHOICE_MOST - 3), label);
  else
    snprintf(beside.choice, sizeof beside.choice, "%s", label);
  return beside;
}

/* Sets the margins, which have room for the longest texts, and the axis, from a little below the fastest time, so that
 * its mark does not touch the name. */
static void write_frame(struct tool_gnuplot *plot, const struct compare_table *table, int bars)
{
  size_t name = 8, choice = 8;
  double least = HUGE_VAL, most = 0;
  for (size_t m = 0; m < table->matrices; m++) {
    const struct compare_choice chosen = compare_choose(table, m);
    if (!chosen.best) continue;
    const struct beside beside = find_beside(table, m);
    least = fmin(least, chosen.best->number[COMPARE_TOTAL]);
    most = fmax(most, chosen.slowest->number[COMPARE_TOTAL]);
    if (tool_utf8_count(beside.name) > name) name = tool_utf8_count(beside.name);
    if (tool_utf8_count(beside.choice) > choice) choice = tool_utf8_count(beside.choice);
  }
  fprintf(plot->script,
          "set lmargin at screen 0.%03d\nset rmargin at screen 0.%03d\nunset ytics\nset border 1\nset logscale x\n"
          "set format x '%%g'\nset yrange [%d.6:0.6]\nunset grid\nset grid xtics linecolor rgb '#dddddd'\n"
          "set style fill solid noborder\nset key at screen 0.5, screen 0.99 center top horizontal maxrows 1\nset "
          "tmargin 3\nset xrange [",
          (int)(name * BEST_LETTER + 16) * 1000 / BEST_WIDTH,
          1000 - (int)(choice * BEST_LETTER + 16) * 1000 / BEST_WIDTH, -bars);
  compare_put_number(plot, least / pow(most / least, 0.03) / 1.05);
  fputs(":", plot->script);
  compare_put_number(plot, most * 1.05);
  fputs("]\n", plot->script);
}

/* Writes the bars, from the fastest to the slowest case of each matrix that converged, and the runner-ups. */
static void write_bars(struct tool_gnuplot *plot, const struct compare_table *table)
{
  int y = 0;
  fputs("$bars << EOD\n", plot->script);
  for (size_t m = 0; m < table->matrices; m++) {
    const struct compare_choice choice = compare_choose(table, m);
    if (!choice.best) continue;
    const struct compare_row *const rows[] = {choice.best, choice.second ? choice.second : choice.best, choice.slowest};
    fprintf(plot->script, "%d", y--);
    for (int i = 0; i < 3; i++) compare_put_number(plot, rows[i]->number[COMPARE_TOTAL]);
    fputc('\n', plot->script);
  }
  fputs("EOD\n", plot->script);
}

/* The names at the left, and the best choices at the right. They are labels, which gnuplot prints as they are. */
static void write_names(struct tool_gnuplot *plot, const struct compare_table *table)
{
  int y = 0;
  for (size_t m = 0; m < table->matrices; m++) {
    const struct compare_choice choice = compare_choose(table, m);
    if (!choice.best) continue;
    const struct beside beside = find_beside(table, m);
    fputs("set label ", plot->script);
    tool_gnuplot_text(plot, beside.name);
    fprintf(plot->script, " at graph -0.02, first %d right\nset label ", y);
    tool_gnuplot_text(plot, beside.choice);
    fprintf(plot->script, " at graph 1.02, first %d left\n", y--);
  }
}

int compare_draw_best(const struct compare_table *table, const char *path, bool *drawn)
{
  struct tool_gnuplot plot;
  int solved = 0;
  for (size_t m = 0; m < table->matrices; m++) solved += compare_choose(table, m).converged > 1;
  *drawn = solved > 0;
  if (!*drawn) return TOOL_GO_ON;
  solved = 0;
  for (size_t m = 0; m < table->matrices; m++) solved += compare_choose(table, m).best != NULL;
  const struct compare_frame frame = {BEST_WIDTH, 100 + 24 * solved, 1, 3, "set-up and solve, s", ""};
  const int status = compare_canvas(&plot, path, &frame);
  if (status != TOOL_GO_ON) return status;
  write_frame(&plot, table, solved);
  write_bars(&plot, table);
  write_names(&plot, table);
  fputs("plot $bars using 2:1:2:4:($1-0.28):($1+0.28) with boxxyerror linecolor rgb '#c5d9e8' title"
        " 'converged', '' using 3:1 with points pointtype 6 pointsize 1 linewidth 2 linecolor rgb '#D55E00'"
        " title 'runner-up', '' using 2:1 with points pointtype 7 pointsize 1 linecolor rgb '#0072B2' title"
        " 'best'\n",
        plot.script);
  return tool_gnuplot_end(&plot);
}
#endif
