/* layout.c - a matrix' table as Chen et al. lay theirs out (Li, Yang, Liu, Chen, Decoupled block-wise ILU(k),
 * Tables 1 to 3): sections by block size, then k; a time for each place where the cases run, iterations, speed-up; and
 * besides set-up and solve apart, fill, level sets and the residual. A place is a device with a number of threads. */
#include "config.h"

#ifdef HAVE_JANSSON
#include "tools/src/compare/report/compare_write.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* What is being laid out: the rows of each line by place, and the columns made so far. */
struct work {
  const struct compare_table *table;
  struct compare_layout *layout;
  size_t matrix, places;
  const struct compare_row **place; /* [places] the first row that ran at each */
  const struct compare_row **row;   /* [lines * places] NULL: the plan has no such case */
  bool *left_out;                   /* [dimensions] of the names of places: all but the dimensions that are one */
  double unit;
  int decimals; /* of times */
};

static bool same(const struct compare_table *table, const struct compare_row *a, const struct compare_row *b,
                 bool of_place)
{
  for (size_t d = 0; d < table->dimensions; d++)
    if (compare_is_place(&table->dimension[d]) == of_place && !compare_same_value(a->value[d], b->value[d]))
      return false;
  return true;
}

/* Where the value stands in its dimension; one that is not there comes first. */
static size_t position(const struct compare_dimension *dimension, const char *value)
{
  size_t v = 0;
  while (value && v < dimension->values && dimension->value[v] != value &&
         !compare_same_value(dimension->value[v], value))
    v++;
  return value ? v + 1 : 0;
}

/* Whether a's line stands above b's. Equal lines stay as they come. */
static bool is_above(const struct compare_table *table, const struct compare_row *a, const struct compare_row *b)
{
  for (size_t d = 0; d < table->dimensions; d++) {
    const struct compare_dimension *dimension = &table->dimension[d];
    const size_t x = position(dimension, a->value[d]), y = position(dimension, b->value[d]);
    if (!compare_is_place(dimension) && x != y) return x < y;
  }
  return false;
}

static const struct compare_row *first_of(const struct work *work, size_t line)
{
  size_t p = 0;
  while (!work->row[line * work->places + p]) p++;
  return work->row[line * work->places + p];
}

static void find_places(struct work *work)
{
  for (size_t i = 0; i < work->table->rows; i++) {
    const struct compare_row *row = &work->table->row[i];
    size_t p = 0;
    if (!row->line || row->matrix != work->matrix) continue;
    while (p < work->places && !same(work->table, work->place[p], row, true)) p++;
    if (p == work->places) work->place[work->places++] = row;
  }
}

/* Puts a row into its line, which is made where it belongs if it is not there. */
static void put_row(struct work *work, const struct compare_row *row)
{
  const size_t places = work->places;
  size_t line = 0, p = 0;
  while (!same(work->table, work->place[p], row, true)) p++;
  while (line < work->layout->lines && !same(work->table, first_of(work, line), row, false)) line++;
  if (line == work->layout->lines) {
    while (line > 0 && is_above(work->table, row, first_of(work, line - 1))) line--;
    memmove((void *)(work->row + (line + 1) * places), (void *)(work->row + line * places),
            (work->layout->lines++ - line) * places * sizeof *work->row);
    memset((void *)(work->row + line * places), 0, places * sizeof *work->row);
  }
  work->row[line * places + p] = row;
}

static struct compare_cell *cell_of(const struct work *work, size_t line, size_t column)
{
  return &work->layout->cell[line * work->layout->columns + column];
}

/* The next column. */
static size_t add_column(struct work *work, const char *place, const char *title)
{
  struct compare_column *column = &work->layout->column[work->layout->columns - 1];
  while (!*column->title && column > work->layout->column) column--;
  if (*column->title) column++;
  const char *between = !*place ? "" : strchr(place, ',') ? ": " : " ";
  snprintf(column->title, sizeof column->title, "%.110s%s%.40s", place, between, title);
  return (size_t)(column - work->layout->column);
}

/* How the time columns of a place begin; "" where there is one place. */
static void place_title(char text[COMPARE_LABEL], const struct work *work, size_t p)
{
  *text = '\0';
  if (work->places > 1) compare_label(text, work->table, work->place[p], work->left_out);
}

static void add_values(struct work *work)
{
  const struct compare_table *table = work->table;
  for (size_t d = 0; d < table->dimensions; d++) {
    if (compare_is_place(&table->dimension[d])) continue;
    const size_t column = add_column(work, "", compare_title(&table->dimension[d]));
    work->layout->column[column].is_text = true;
    work->layout->column[column].is_shown = !work->layout->is_said[d];
    for (size_t line = 0; line < work->layout->lines; line++)
      cell_of(work, line, column)->text = first_of(work, line)->value[d];
  }
}

/* A column of one number of a place. Failures are named where the total time stands. Returns which column it is. */
static size_t add_number(struct work *work, size_t p, const char *title, enum compare_number number, double unit)
{
  char place[COMPARE_LABEL];
  place_title(place, work, p);
  const size_t column = add_column(work, place, title);
  const struct compare_row *best = compare_choose(work->table, work->matrix).best;
  for (size_t line = 0; line < work->layout->lines; line++) {
    const struct compare_row *row = work->row[line * work->places + p];
    struct compare_cell *cell = cell_of(work, line, column);
    if (!row) continue;
    cell->is_best = number == COMPARE_TOTAL && row == best;
    if (number == COMPARE_TOTAL && row->outcome != OUTCOME_CONVERGED) {
      cell->text = compare_outcome_word(row->outcome);
      cell->failed = row;
    } else if (number == COMPARE_SPEED_UP)
      compare_format(cell->number, row->number[number] < 10 ? "%.2f" : "%.1f", row->number[number]);
    else
      compare_fixed(cell->number, row->number[number] / unit, work->decimals);
    if (cell->text || *cell->number) work->layout->column[column].is_shown = true;
  }
  return column;
}

static void add_times(struct work *work)
{
  const char *unit = work->unit < 1 ? "(ms)" : "(s)";
  char title[COMPARE_LABEL];
  snprintf(title, sizeof title, "time %s", unit);
  for (size_t p = 0; p < work->places; p++) add_number(work, p, title, COMPARE_TOTAL, work->unit);
}

static void format_shared(char text[COMPARE_DIGITS], const struct compare_row *row, enum compare_number number)
{
  *text = '\0';
  if (number == COMPARE_FILL_FILE)
    compare_format(text, "%.2f", row->number[number]);
  else if (number == COMPARE_RESIDUAL)
    compare_format(text, "%.1e", row->number[number]);
  else if (number != COMPARE_LEVELS_LOWER)
    compare_format(text, "%.0f", row->number[number]);
  else if (row->number[number] > 0 && isfinite(row->number[COMPARE_LEVELS_UPPER]))
    snprintf(text, COMPARE_DIGITS, "%.0f/%.0f", row->number[number], row->number[COMPARE_LEVELS_UPPER]);
}

/* Whether the number is the same, as text, wherever the line's cases ran and have it. */
static bool is_common(const struct work *work, size_t line, enum compare_number number, char text[COMPARE_DIGITS])
{
  bool common = true;
  *text = '\0';
  for (size_t p = 0; p < work->places; p++) {
    const struct compare_row *row = work->row[line * work->places + p];
    char own[COMPARE_DIGITS] = "";
    if (row) format_shared(own, row, number);
    if (*own && *text && strcmp(own, text) != 0) common = false;
    if (*own && !*text) memcpy(text, own, sizeof own);
  }
  return common;
}

/* A column of what does not depend on the place, or hardly: one number, or several with slashes between them. Of
 * residuals, which never agree to the last digit, the largest is enough. */
static void add_shared(struct work *work, const char *title, enum compare_number number)
{
  const size_t column = add_column(work, "", title);
  for (size_t line = 0; line < work->layout->lines; line++) {
    struct compare_cell *cell = cell_of(work, line, column);
    const struct compare_row *worst = NULL;
    bool common = is_common(work, line, number, cell->number);
    for (size_t p = 0; p < work->places && !common; p++) {
      const struct compare_row *row = work->row[line * work->places + p];
      char own[COMPARE_DIGITS] = "";
      const size_t have = p > 0 ? strlen(cell->number) : 0;
      if (row) format_shared(own, row, number);
      snprintf(cell->number + have, sizeof cell->number - have, "%s%s", p > 0 ? " / " : "", *own ? own : "-");
      if (*own && (!worst || row->number[number] > worst->number[number])) worst = row;
    }
    if (worst && number == COMPARE_RESIDUAL) format_shared(cell->number, worst, number);
    if (*cell->number) work->layout->column[column].is_shown = true;
  }
}

/* A place has a column where a case other than the baseline has converged. */
static void add_speed_ups(struct work *work)
{
  for (size_t p = 0; p < work->places && work->table->baseline; p++) {
    bool compared = false, converged = false;
    for (size_t line = 0; line < work->layout->lines; line++) {
      const struct compare_row *row = work->row[line * work->places + p];
      compared = compared || (row && !row->is_baseline);
      converged = converged || (row && row->outcome == OUTCOME_CONVERGED);
    }
    if (compared && converged)
      work->layout->column[add_number(work, p, "speed-up", COMPARE_SPEED_UP, 1)].is_shown = true;
  }
}

static void add_parts(struct work *work)
{
  const char *const titles[] = {work->unit < 1 ? "set-up (ms)" : "set-up (s)",
                                work->unit < 1 ? "solve (ms)" : "solve (s)"};
  for (size_t p = 0; p < work->places; p++) {
    add_number(work, p, titles[0], COMPARE_SETUP, work->unit);
    add_number(work, p, titles[1], COMPARE_SOLVE, work->unit);
  }
}

/* Times have as many decimals as give the fastest three digits, so that decimal points stand below each other. */
static int find_decimals(const struct work *work)
{
  const struct compare_row *best = compare_choose(work->table, work->matrix).best;
  const double fastest = best ? best->number[COMPARE_TOTAL] / work->unit : 1;
  const double decimals = fastest > 0 ? 2 - floor(log10(fastest)) : 2;
  return decimals < 0 ? 0 : decimals > 7 ? 7 : (int)decimals;
}

/* Which values all lines have in common. */
static void find_said(struct work *work)
{
  const struct compare_layout *layout = work->layout;
  for (size_t d = 0; d < work->table->dimensions; d++) {
    const bool of_place = compare_is_place(&work->table->dimension[d]);
    const size_t count = of_place ? work->places : layout->lines;
    layout->said[d] = of_place ? work->place[0]->value[d] : first_of(work, 0)->value[d];
    layout->is_said[d] = true;
    for (size_t i = 0; i < count; i++) {
      const struct compare_row *row = of_place ? work->place[i] : first_of(work, i);
      if (!compare_same_value(row->value[d], layout->said[d])) layout->is_said[d] = false;
    }
  }
}

static void fill(struct work *work)
{
  find_said(work);
  work->decimals = find_decimals(work);
  for (size_t line = 1; line < work->layout->lines; line++)
    work->layout->is_section[line] =
        !compare_same_value(first_of(work, line)->value[0], first_of(work, line - 1)->value[0]);
  add_values(work);
  add_times(work);
  add_shared(work, "iterations", COMPARE_ITERATIONS);
  add_speed_ups(work);
  add_parts(work);
  add_shared(work, "fill", COMPARE_FILL_FILE);
  add_shared(work, "level sets", COMPARE_LEVELS_LOWER);
  add_shared(work, "residual", COMPARE_RESIDUAL);
}

int compare_layout_make(struct compare_layout *layout, const struct compare_table *table, size_t matrix, double unit)
{
  struct work work = {.table = table, .layout = layout, .matrix = matrix, .unit = unit};
  const size_t cases = compare_choose(table, matrix).cases;
  *layout = (struct compare_layout){0};
  work.place = calloc(cases + 1, sizeof *work.place);
  if (work.place) find_places(&work);
  work.row = work.place ? calloc((cases + 1) * work.places + 1, sizeof *work.row) : NULL;
  for (size_t i = 0; i < table->rows && work.row; i++)
    if (table->row[i].line && table->row[i].matrix == matrix) put_row(&work, &table->row[i]);
  work.left_out = calloc(table->dimensions + 1, sizeof *work.left_out);
  for (size_t d = 0; d < table->dimensions && work.left_out; d++)
    work.left_out[d] = !compare_is_place(&table->dimension[d]);
  layout->columns = table->dimensions + 4 * work.places + 4;
  layout->column = calloc(layout->columns, sizeof *layout->column);
  layout->cell = calloc(layout->lines * layout->columns + 1, sizeof *layout->cell);
  layout->is_section = calloc(layout->lines + 1, sizeof *layout->is_section);
  layout->is_said = calloc(table->dimensions + 1, sizeof *layout->is_said);
  layout->said = calloc(table->dimensions + 1, sizeof *layout->said);
  const bool made = work.row && work.left_out && layout->column && layout->cell && layout->is_section &&
                    layout->is_said && layout->said;
  if (made && layout->lines > 0) fill(&work);
  free((void *)work.place);
  free((void *)work.row);
  free(work.left_out);
  return made ? TOOL_GO_ON : tool_fail_memory("a table");
}

void compare_layout_free(struct compare_layout *layout)
{
  free(layout->column);
  free(layout->cell);
  free(layout->is_section);
  free(layout->is_said);
  free((void *)layout->said);
}
#endif
