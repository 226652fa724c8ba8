/* auto.c - how near the preconditioner auto comes to the best fixed choice; see compare_write.h. Each line compares the
 * fastest case with auto and the fastest with another preconditioner, for one system and one set of requirements. */
#include "tools/src/compare/report/compare_write.h"

#include <math.h>
#include <string.h>

/* Cases are compared if they have the same matrix and the same values of these: what is solved, how well, where, and by
 * which driver. All else, including the block size, belongs to a choice. */
static const char *const asked[] = {"rhs",  "negate", "stored_triangle", "insert_diagonal", "grid",   "actnum", "rtol",
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

/* Lines where auto is near, among those where auto or another preconditioner converged. */
struct share {
  size_t near, solved;
};

/* What is being laid out. */
struct work {
  const struct compare_table *table;
  struct share total, update;
  size_t precond;       /* the dimension of this name */
  size_t column[ASKED]; /* dimensions of what was asked; the number of dimensions for one that does not exist */
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

static double time_of(const struct compare_row *row, enum compare_number number)
{
  return row->outcome == OUTCOME_CONVERGED ? row->number[number] : NAN;
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
    const double time = time_of(row, number);
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

/* Names a case by what auto has chosen, which solve reports as options, such as "--precond iluk --level 1", and by its
 * own values. */
static const char *name_choice(const struct work *work, const struct compare_row *row)
{
  static const char precond[] = "--precond ";
  const char *c = json_string_value(json_object_get(json_object_get(row->line, "solve"), "auto_choice"));
  work->left_out[work->precond] = true; /* it is auto, which the column says */
  const char *label = compare_label(work->table, row, work->left_out);
  work->left_out[work->precond] = false;
  if (c && strncmp(c, precond, sizeof precond - 1) == 0) c += sizeof precond - 1;
  char *text = compare_room(c ? strlen(c) + 1 : 1, 1), *end = text;
  while (c && *c) {
    const bool begins = strncmp(c, " --", 3) == 0; /* another option */
    end = begins ? stpcpy(end, ", ") : end;
    if (!begins) *end++ = *c;
    c += begins ? 3 : 1;
  }
  if (strcmp(label, "all cases") == 0) return *text ? text : "auto";
  return compare_text("%s%s%s", text, *text ? ", " : "", label);
}

static void put_time(struct compare_cell *cell, const struct compare_row *row, enum compare_number number)
{
  const bool failed = row->outcome != OUTCOME_CONVERGED;
  cell->text = failed ? compare_outcome_word(row->outcome) : compare_time(row->number[number]);
  cell->failed = failed ? row : NULL;
}

/* Counts a line if one of the two has solved its system; a ratio needs both. */
static void put_ratio(struct compare_cell *cell, double own, double fixed, struct share *share)
{
  if (!isfinite(own) && !isfinite(fixed)) return;
  share->solved++;
  if (isfinite(own) && !(own > COMPARE_NEAR * fixed)) share->near++;
  if (isfinite(own) && fixed > 0) cell->text = compare_format("%.2f", own / fixed);
}

static void put_line(struct work *work, struct compare_cell *cell, const struct compare_row *question)
{
  const struct compare_table *table = work->table;
  const struct compare_row *own = find_fastest(work, question, true, COMPARE_FIRST);
  const struct compare_row *fixed = find_fastest(work, question, false, COMPARE_FIRST);
  const double updated = time_of(find_fastest(work, question, true, COMPARE_UPDATE), COMPARE_UPDATE);
  const double other = time_of(find_fastest(work, question, false, COMPARE_UPDATE), COMPARE_UPDATE);
  cell++->text = compare_short_name(table->matrix[question->matrix]);
  for (int i = 0; i < ASKED; i++, cell++)
    if (work->column[i] < table->dimensions) cell->text = question->value[work->column[i]];
  cell[COLUMN_CHOICE].text = name_choice(work, own);
  put_time(&cell[COLUMN_TIME], own, COMPARE_FIRST);
  cell[COLUMN_FIXED].text = compare_label(table, fixed, work->left_out);
  put_time(&cell[COLUMN_FIXED_TIME], fixed, COMPARE_FIRST);
  put_ratio(&cell[COLUMN_RATIO], time_of(own, COMPARE_FIRST), time_of(fixed, COMPARE_FIRST), &work->total);
  cell[COLUMN_UPDATE].text = compare_time(updated);
  cell[COLUMN_FIXED_UPDATE].text = compare_time(other);
  put_ratio(&cell[COLUMN_UPDATE_RATIO], updated, other, &work->update);
}

/* Names the columns; what was asked is shown where it differs from line to line. */
static void put_titles(const struct work *work, const struct compare_layout *layout)
{
  static const char *const titles[COLUMNS] = {"auto's choice", "time",           "best fixed choice", "its time",
                                              "auto / best",   "update + solve", "best fixed",        "auto / best"};
  struct compare_column *column = layout->column;
  *column++ = (struct compare_column){"matrix", true, true};
  for (size_t i = 0; i < ASKED; i++, column++) {
    if (work->column[i] == work->table->dimensions) continue;
    *column = (struct compare_column){compare_title(&work->table->dimension[work->column[i]]), true, false};
    for (size_t line = 1; line < layout->lines; line++)
      column->is_shown |=
          !compare_same_value(layout->cell[line * layout->columns + i + 1].text, layout->cell[i + 1].text);
  }
  for (int c = 0; c < COLUMNS; c++)
    *column++ = (struct compare_column){titles[c], c == COLUMN_CHOICE || c == COLUMN_FIXED,
                                        c < COLUMN_UPDATE || work->update.solved > 0};
}

struct compare_layout compare_auto_make(const struct compare_table *table, const char **sentence)
{
  struct compare_layout layout = {.columns = 1 + ASKED + COLUMNS};
  struct work work = {.table = table,
                      .precond = compare_find_dimension(table, "precond"),
                      .left_out = compare_room(table->dimensions, sizeof *work.left_out)};
  for (int i = 0; i < ASKED; i++) {
    work.column[i] = compare_find_dimension(table, asked[i]);
    if (work.column[i] < table->dimensions) work.left_out[work.column[i]] = true;
  }
  const struct compare_row **question = compare_room(table->rows, sizeof *question);
  for (size_t i = 0; i < table->rows && work.precond < table->dimensions; i++)
    if (begins_line(&work, &table->row[i])) question[layout.lines++] = &table->row[i];
  layout.column = compare_room(layout.columns, sizeof *layout.column);
  layout.cell = compare_room(layout.lines * layout.columns, sizeof *layout.cell);
  for (size_t line = 0; line < layout.lines; line++)
    put_line(&work, &layout.cell[line * layout.columns], question[line]);
  put_titles(&work, &layout);
  *sentence = compare_text("Within %g times the best fixed choice: %zu of %zu", COMPARE_NEAR, work.total.near,
                           work.total.solved);
  if (work.update.solved > 0)
    *sentence = compare_text("%s; where the matrix has new values, update and solve: %zu of %zu", *sentence,
                             work.update.near, work.update.solved);
  *sentence = compare_text("%s. Counted are lines where auto or a fixed choice has converged.", *sentence);
  return layout;
}
