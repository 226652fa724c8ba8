/* layout.c - a matrix' table as Chen et al. lay theirs out (Li, Yang, Liu, Chen, Decoupled block-wise ILU(k), Tables 1
 * to 3): sections by block size, then k; a time for each place where the cases run, iterations, speed-up, set-up and
 * solve separately, fill, level sets and the residual. A place is a device with a number of threads. */
#include "tools/src/compare/report/compare_write.h"

#include <math.h>
#include <string.h>

/* The rows of a matrix by line, and the columns made so far. */
struct work {
  const struct compare_table *table;
  struct compare_layout *layout;
  size_t rows, places, columns;
  const struct compare_row **row;   /* [rows] line by line */
  size_t *line;                     /* [lines + 1] where each begins in row */
  const struct compare_row **place; /* [places] the first row that ran at each */
  bool *left_out;                   /* [dimensions] of the names of places: all other dimensions */
  double unit;
  int decimals; /* of times */
};

static bool same_place(const struct compare_table *table, const struct compare_row *a, const struct compare_row *b)
{
  for (size_t d = 0; d < table->dimensions; d++)
    if (compare_is_place(&table->dimension[d]) && !compare_same_value(a->value[d], b->value[d])) return false;
  return true;
}

/* Where the value stands in its dimension, from 1; 0 for a row without one. */
static size_t position(const struct compare_dimension *dimension, const char *value)
{
  size_t v = 0;
  while (value && !compare_same_value(dimension->value[v], value)) v++;
  return value ? v + 1 : 0;
}

/* Less than 0 if a's line is above b's, 0 if it is the same. */
static int order(const struct compare_table *table, const struct compare_row *a, const struct compare_row *b)
{
  for (size_t d = 0; d < table->dimensions; d++) {
    const struct compare_dimension *dimension = &table->dimension[d];
    if (compare_is_place(dimension) || compare_same_value(a->value[d], b->value[d])) continue;
    return position(dimension, a->value[d]) < position(dimension, b->value[d]) ? -1 : 1;
  }
  return 0;
}

/* Adds a row to its line and its place. */
static void put_row(struct work *work, const struct compare_row *row)
{
  size_t i = work->rows++, p = 0;
  for (; i > 0 && order(work->table, row, work->row[i - 1]) < 0; i--) work->row[i] = work->row[i - 1];
  work->row[i] = row;
  while (p < work->places && !same_place(work->table, work->place[p], row)) p++;
  if (p == work->places) work->place[work->places++] = row;
}

/* The case of a line at a place, or NULL. */
static const struct compare_row *row_at(const struct work *work, size_t line, size_t p)
{
  const struct compare_row *found = NULL;
  for (size_t i = work->line[line]; i < work->line[line + 1]; i++)
    if (same_place(work->table, work->row[i], work->place[p])) found = work->row[i];
  return found;
}

static struct compare_cell *cell_of(const struct work *work, size_t line, const struct compare_column *column)
{
  return &work->layout->cell[line * work->layout->columns + (size_t)(column - work->layout->column)];
}

/* Adds a column of values that all places of a line share. */
static void add_values(struct work *work, size_t d)
{
  struct compare_column *column = &work->layout->column[work->columns++];
  *column = (struct compare_column){.title = compare_title(&work->table->dimension[d]), .is_text = true};
  for (size_t line = 0; line < work->layout->lines; line++) {
    const char *value = work->row[work->line[line]]->value[d];
    cell_of(work, line, column)->text = value;
    column->is_shown |= !compare_same_value(value, work->row[0]->value[d]);
  }
}

/* Adds a column of one number of a place, which begins with the name of the place where there are several. Failures are
 * named in the column of the total time. */
static struct compare_column *add_number(struct work *work, size_t p, const char *title, enum compare_number number)
{
  const char *place = work->places > 1 ? compare_label(work->table, work->place[p], work->left_out) : "";
  const struct compare_row *best = work->table->choice[work->row[0]->matrix].best;
  struct compare_column *column = &work->layout->column[work->columns++];
  column->title = compare_text("%.110s%s%.40s", place, !*place ? "" : strchr(place, ',') ? ": " : " ", title);
  for (size_t line = 0; line < work->layout->lines; line++) {
    const struct compare_row *row = row_at(work, line, p);
    struct compare_cell *cell = cell_of(work, line, column);
    if (!row) continue;
    const double value = row->number[number];
    cell->is_best = number == COMPARE_TOTAL && row == best;
    if (number == COMPARE_TOTAL && row->outcome != OUTCOME_CONVERGED) {
      cell->text = compare_outcome_word(row->outcome);
      cell->failed = row;
    } else if (number == COMPARE_SPEED_UP)
      cell->text = compare_format(value < 10 ? "%.2f" : "%.1f", value);
    else if (isfinite(value))
      cell->text = compare_text("%.*f", work->decimals, value / work->unit);
    column->is_shown |= cell->text != NULL;
  }
  return column;
}

static const char *shared_text(const struct compare_row *row, enum compare_number number)
{
  const double value = row->number[number], upper = row->number[COMPARE_LEVELS_UPPER];
  if (number == COMPARE_FILL_FILE) return compare_format("%.2f", value);
  if (number == COMPARE_RESIDUAL) return compare_format("%.1e", value);
  if (number == COMPARE_ITERATIONS) return compare_format("%.0f", value);
  return value > 0 && isfinite(upper) ? compare_text("%.0f/%.0f", value, upper) : NULL;
}

/* Adds a column of what hardly depends on the place: one number, or several with slashes between them. Of residuals,
 * which never agree to the last digit, the largest is enough. */
static void add_shared(struct work *work, const char *title, enum compare_number number)
{
  struct compare_column *column = &work->layout->column[work->columns++];
  column->title = title;
  for (size_t line = 0; line < work->layout->lines; line++) {
    const char *text = NULL, *all = "";
    double largest = -HUGE_VAL;
    bool common = true;
    for (size_t p = 0; p < work->places; p++) {
      const struct compare_row *row = row_at(work, line, p);
      const char *own = row ? shared_text(row, number) : NULL;
      all = compare_text("%s%s%s", all, p > 0 ? " / " : "", own ? own : "-");
      if (!own) continue;
      common = common && (!text || strcmp(own, text) == 0);
      if (!text || (number == COMPARE_RESIDUAL && row->number[number] > largest)) text = own;
      largest = fmax(largest, row->number[number]);
    }
    cell_of(work, line, column)->text = common || number == COMPARE_RESIDUAL ? text : all;
    column->is_shown |= text != NULL;
  }
}

/* Whether a case other than the baseline has run at a place, and one has converged. */
static bool has_speed_up(const struct work *work, size_t p)
{
  bool compared = false, converged = false;
  for (size_t i = 0; i < work->rows; i++) {
    if (!same_place(work->table, work->row[i], work->place[p])) continue;
    compared = compared || !work->row[i]->is_baseline;
    converged = converged || work->row[i]->outcome == OUTCOME_CONVERGED;
  }
  return compared && converged;
}

/* Times have as many decimals as give the fastest three digits, so that decimal points stand below each other. */
static int find_decimals(const struct work *work)
{
  const struct compare_row *best = work->table->choice[work->row[0]->matrix].best;
  const double fastest = best ? best->number[COMPARE_TOTAL] / work->unit : 1;
  const double decimals = fastest > 0 ? 2 - floor(log10(fastest)) : 2;
  return decimals < 0 ? 0 : decimals > 7 ? 7 : (int)decimals;
}

static void fill(struct work *work)
{
  const struct compare_table *table = work->table;
  const bool milli = work->unit < 1;
  work->decimals = find_decimals(work);
  for (size_t d = 0; d < table->dimensions; d++) {
    work->layout->said[d] = work->row[0]->value[d];
    for (size_t i = 1; i < work->rows; i++)
      if (!compare_same_value(work->row[i]->value[d], work->row[0]->value[d])) work->layout->said[d] = NULL;
    work->left_out[d] = !compare_is_place(&table->dimension[d]);
    if (work->left_out[d]) add_values(work, d);
  }
  for (size_t p = 0; p < work->places; p++) add_number(work, p, milli ? "time (ms)" : "time (s)", COMPARE_TOTAL);
  add_shared(work, "iterations", COMPARE_ITERATIONS);
  for (size_t p = 0; p < work->places && table->baseline; p++)
    if (has_speed_up(work, p)) add_number(work, p, "speed-up", COMPARE_SPEED_UP)->is_shown = true;
  for (size_t p = 0; p < work->places; p++) {
    add_number(work, p, milli ? "set-up (ms)" : "set-up (s)", COMPARE_SETUP);
    add_number(work, p, milli ? "solve (ms)" : "solve (s)", COMPARE_SOLVE);
  }
  add_shared(work, "fill", COMPARE_FILL_FILE);
  add_shared(work, "level sets", COMPARE_LEVELS_LOWER);
  add_shared(work, "residual", COMPARE_RESIDUAL);
}

struct compare_layout compare_layout_make(const struct compare_table *table, size_t matrix, double unit)
{
  struct compare_layout layout = {.said = compare_room(table->dimensions, sizeof *layout.said)};
  const size_t cases = table->choice[matrix].cases;
  struct work work = {.table = table,
                      .layout = &layout,
                      .row = compare_room(cases, sizeof *work.row),
                      .line = compare_room(cases + 1, sizeof *work.line),
                      .place = compare_room(cases, sizeof *work.place),
                      .left_out = compare_room(table->dimensions, sizeof *work.left_out),
                      .unit = unit};
  for (size_t i = 0; i < table->rows; i++)
    if (table->row[i].line && table->row[i].matrix == matrix) put_row(&work, &table->row[i]);
  for (size_t i = 0; i < work.rows; i++)
    if (i == 0 || order(table, work.row[i - 1], work.row[i]) != 0) work.line[layout.lines++] = i;
  work.line[layout.lines] = work.rows;
  layout.columns = table->dimensions + 4 * work.places + 4;
  layout.column = compare_room(layout.columns, sizeof *layout.column);
  layout.cell = compare_room(layout.lines * layout.columns, sizeof *layout.cell);
  fill(&work); /* a matrix has at least one row */
  return layout;
}

const char *compare_said(const struct compare_table *table, const struct compare_layout *layout)
{
  const char *all = "";
  for (size_t d = 0; d < table->dimensions; d++) {
    const struct compare_dimension *dimension = &table->dimension[d];
    const char *value = layout && !dimension->is_said   ? layout->said[d]
                        : !layout && dimension->is_said ? dimension->value[0]
                                                        : NULL;
    if (value) all = compare_text("%s%s%s %s", all, *all ? ", " : "", compare_title(dimension), value);
  }
  return all;
}
