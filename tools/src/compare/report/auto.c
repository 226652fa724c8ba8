/* auto.c - how near the preconditioner auto comes to the best fixed choice; see compare_write.h. A line stands
 * for a system and what was asked of it: the fastest case with auto against the fastest with another preconditioner. */
#include "config.h"

#ifdef HAVE_JANSSON
#include "tools/src/compare/report/compare_write.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Cases are compared that have the same matrix and the same of these: what is solved, how well, where, and by which
 * driver. In all else, the block size included, a choice is free. */
static const char *const asked[] = {"rhs",  "negate", "stored_triangle", "insert_diagonal", "grid",   "rtol",
                                    "atol", "norm",   "max_iterations",  "solver",          "device", "threads"};

enum { ASKED = sizeof asked / sizeof *asked };

/* The columns behind those of what was asked. */
enum column {
  COLUMN_CHOICE,
  COLUMN_TIME,
  COLUMN_FIXED,
  COLUMN_FIXED_TIME,
  COLUMN_RATIO,
  COLUMN_UPDATE,
  COLUMN_FIXED_UPDATE,
  COLUMN_UPDATE_RATIO,
  COLUMNS
};

/* What is being laid out. */
struct work {
  const struct compare_table *table;
  struct compare_auto *found;
  size_t precond;       /* the dimension of this name */
  size_t column[ASKED]; /* dimensions of what was asked; their number for those that there are not */
  bool *left_out;       /* [dimensions] what the name of a choice does not say */
};

static bool is_auto(const struct work *work, const struct compare_row *row)
{
  return row->line && compare_same_value(row->value[work->precond], "auto");
}

static bool same_question(const struct work *work, const struct compare_row *a, const struct compare_row *b)
{
  if (!a->line || !b->line || a->matrix != b->matrix) return false;
  for (int i = 0; i < ASKED; i++)
    if (work->column[i] < work->table->dimensions &&
        !compare_same_value(a->value[work->column[i]], b->value[work->column[i]]))
      return false;
  return true;
}

/* The case that answers the same question in the least time, with auto or without it; where none has converged, the
 * first of them; NULL without any. */
static const struct compare_row *find_fastest(const struct work *work, const struct compare_row *question, bool with,
                                              enum compare_number number)
{
  const struct compare_row *fastest = NULL;
  double least = HUGE_VAL;
  for (size_t i = 0; i < work->table->rows; i++) {
    const struct compare_row *row = &work->table->row[i];
    if (!same_question(work, question, row) || is_auto(work, row) != with) continue;
    const double time = row->outcome == OUTCOME_CONVERGED ? row->number[number] : NAN;
    if (fastest && !(time < least)) continue;
    fastest = row;
    least = isfinite(time) ? time : HUGE_VAL;
  }
  return fastest;
}

/* Whether a row is the first with auto that answers its question, and others are there to compare it with. */
static bool begins_line(const struct work *work, const struct compare_row *row)
{
  if (!is_auto(work, row) || !find_fastest(work, row, false, COMPARE_FIRST)) return false;
  for (const struct compare_row *before = work->table->row; before < row; before++)
    if (is_auto(work, before) && same_question(work, before, row)) return false;
  return true;
}

/* Names a case by what auto has chosen, which solve reports as options, and by its own values. The text belongs to the
 * table. */
static const char *name_choice(const struct work *work, const struct compare_row *row)
{
  static const char precond[] = "--precond ";
  const char *c = json_string_value(json_object_get(json_object_get(row->line, "solve"), "auto_choice"));
  char text[3 * COMPARE_LABEL] = "", label[COMPARE_LABEL];
  size_t length = 0;
  work->left_out[work->precond] = true; /* it is auto, which the column says */
  compare_label(label, work->table, row, work->left_out);
  work->left_out[work->precond] = false;
  if (c && strncmp(c, precond, sizeof precond - 1) == 0) c += sizeof precond - 1;
  for (; c && *c && length < sizeof text - COMPARE_LABEL - 8; c++)
    if (strncmp(c, " --", 3) == 0) {
      memcpy(text + length, ", ", 3);
      length += 2;
      c += 2;
    } else
      text[length++] = *c;
  text[length] = '\0';
  const bool named = strcmp(label, "all cases") != 0;
  if (named || !length)
    snprintf(text + length, sizeof text - length, "%s%s", length ? ", " : "", named ? label : "auto");
  json_t *kept = json_string(text);
  if (!kept || json_array_append_new(work->table->kept, kept)) return "";
  return json_string_value(kept);
}

static const char *name_fixed(const struct work *work, const struct compare_row *row)
{
  char label[COMPARE_LABEL];
  compare_label(label, work->table, row, work->left_out);
  json_t *kept = json_string(label);
  if (!kept || json_array_append_new(work->table->kept, kept)) return "";
  return json_string_value(kept);
}

static double time_of(const struct compare_row *row, enum compare_number number)
{
  return row->outcome == OUTCOME_CONVERGED ? row->number[number] : NAN;
}

static void put_time(struct compare_cell *cell, const struct compare_row *row, enum compare_number number)
{
  compare_time(cell->number, time_of(row, number));
  if (row->outcome == OUTCOME_CONVERGED) return;
  cell->text = compare_outcome_word(row->outcome);
  cell->failed = row;
}

/* Counts a line whose system one of the two has solved; a ratio there is only where both have. */
static void put_ratio(struct compare_cell *cell, double own, double fixed, struct compare_share *share)
{
  if (!isfinite(own) && !isfinite(fixed)) return;
  share->solved++;
  if (isfinite(own) && !(own > COMPARE_NEAR * fixed)) share->near++;
  if (isfinite(own) && fixed > 0) compare_format(cell->number, "%.2f", own / fixed);
}

static void put_line(const struct work *work, struct compare_cell *cell, const struct compare_row *question)
{
  const struct compare_table *table = work->table;
  const struct compare_row *own = find_fastest(work, question, true, COMPARE_FIRST);
  const struct compare_row *fixed = find_fastest(work, question, false, COMPARE_FIRST);
  const struct compare_row *updated = find_fastest(work, question, true, COMPARE_UPDATE);
  const struct compare_row *other = find_fastest(work, question, false, COMPARE_UPDATE);
  cell++->text = compare_short_name(table->matrix[question->matrix]);
  for (int i = 0; i < ASKED; i++, cell++)
    if (work->column[i] < table->dimensions) cell->text = question->value[work->column[i]];
  cell[COLUMN_CHOICE].text = name_choice(work, own);
  put_time(&cell[COLUMN_TIME], own, COMPARE_FIRST);
  cell[COLUMN_FIXED].text = name_fixed(work, fixed);
  put_time(&cell[COLUMN_FIXED_TIME], fixed, COMPARE_FIRST);
  put_ratio(&cell[COLUMN_RATIO], time_of(own, COMPARE_FIRST), time_of(fixed, COMPARE_FIRST), &work->found->total);
  compare_time(cell[COLUMN_UPDATE].number, time_of(updated, COMPARE_UPDATE));
  compare_time(cell[COLUMN_FIXED_UPDATE].number, time_of(other, COMPARE_UPDATE));
  put_ratio(&cell[COLUMN_UPDATE_RATIO], time_of(updated, COMPARE_UPDATE), time_of(other, COMPARE_UPDATE),
            &work->found->update);
}

/* Names the columns; what was asked is shown where it differs from line to line. */
static void put_titles(const struct work *work)
{
  static const char *const titles[COLUMNS] = {"auto's choice", "time",           "best fixed choice", "its time",
                                              "auto / best",   "update + solve", "best fixed",        "auto / best"};
  struct compare_layout *layout = &work->found->layout;
  struct compare_column *column = layout->column;
  *column++ = (struct compare_column){.title = "matrix", .is_text = true, .is_shown = true};
  for (int i = 0; i < ASKED; i++, column++) {
    if (work->column[i] == work->table->dimensions) continue;
    const char *title = compare_title(&work->table->dimension[work->column[i]]);
    snprintf(column->title, sizeof column->title, "%s", title);
    column->is_text = true;
    for (size_t line = 1; line < layout->lines; line++)
      column->is_shown |= !compare_same_value(layout->cell[line * layout->columns + (size_t)i + 1].text,
                                              layout->cell[(size_t)i + 1].text);
  }
  for (int c = 0; c < COLUMNS; c++, column++) {
    snprintf(column->title, sizeof column->title, "%s", titles[c]);
    column->is_text = c == COLUMN_CHOICE || c == COLUMN_FIXED;
    column->is_shown = c < COLUMN_UPDATE || work->found->update.solved > 0;
  }
}

static bool make_lines(struct work *work)
{
  struct compare_layout *layout = &work->found->layout;
  size_t lines = 0;
  for (size_t i = 0; i < work->table->rows; i++) layout->lines += begins_line(work, &work->table->row[i]);
  if (layout->lines == 0) return true;
  layout->columns = 1 + ASKED + COLUMNS;
  layout->column = calloc(layout->columns, sizeof *layout->column);
  layout->cell = calloc(layout->lines * layout->columns, sizeof *layout->cell);
  layout->is_section = calloc(layout->lines, sizeof *layout->is_section);
  if (!layout->column || !layout->cell || !layout->is_section) return false;
  for (size_t i = 0; i < work->table->rows; i++)
    if (begins_line(work, &work->table->row[i]))
      put_line(work, &layout->cell[lines++ * layout->columns], &work->table->row[i]);
  put_titles(work);
  return true;
}

int compare_auto_make(struct compare_auto *found, const struct compare_table *table)
{
  struct work work = {.table = table, .found = found, .precond = compare_find_dimension(table, "precond")};
  *found = (struct compare_auto){0};
  if (work.precond == table->dimensions) return TOOL_GO_ON;
  work.left_out = calloc(table->dimensions, sizeof *work.left_out);
  for (int i = 0; i < ASKED; i++) {
    work.column[i] = compare_find_dimension(table, asked[i]);
    if (work.left_out && work.column[i] < table->dimensions) work.left_out[work.column[i]] = true;
  }
  const bool made = work.left_out && make_lines(&work);
  free(work.left_out);
  return made ? TOOL_GO_ON : tool_fail_memory("a table");
}

void compare_auto_sentence(FILE *file, const struct compare_auto *found)
{
  fprintf(file, "Within %g times the best fixed choice: %zu of %zu", COMPARE_NEAR, found->total.near,
          found->total.solved);
  if (found->update.solved > 0)
    fprintf(file, "; where the matrix has new values, update and solve: %zu of %zu", found->update.near,
            found->update.solved);
  fputs(". Counted are lines where auto or a fixed choice has converged.", file);
}
#endif
