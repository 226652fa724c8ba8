/* compare_table.c - the rows of the results: plain numbers and texts from the JSON objects of the results file; see
 * compare_write.h. A number or text that an object lacks, or has as another type, is not known. */
#include "tools/src/compare/report/compare_write.h"
#include "tools/src/common/output.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Where each number stands in a line, and how its column is called. Those without a key follow from others. */
static const struct source {
  const char *name, *object, *key;
} sources[COMPARE_NUMBERS] = {[COMPARE_ITERATIONS] = {"iterations", "solve", "iterations"},
                              [COMPARE_RESIDUAL] = {"relative_residual", "solve", "relative_residual"},
                              [COMPARE_SETUP] = {"time_setup", NULL, NULL},
                              [COMPARE_ORDER] = {"time_order", "times", "order"},
                              [COMPARE_SYMBOLIC] = {"time_symbolic", "times", "symbolic"},
                              [COMPARE_FACTOR] = {"time_factor", "times", "factor"},
                              [COMPARE_SOLVE] = {"time_solve", "times", "solve"},
                              [COMPARE_TOTAL] = {"time_total", NULL, NULL},
                              [COMPARE_FIRST] = {"time_first", NULL, NULL},
                              [COMPARE_UPDATE] = {"time_update", NULL, NULL},
                              [COMPARE_TRANSFER] = {"time_transfer", "times", "transfer"},
                              [COMPARE_SPEED_UP] = {"speed_up", NULL, NULL},
                              [COMPARE_FILL] = {"fill", "solve", "fill"},
                              [COMPARE_FILL_FILE] = {"fill_file", "solve", "fill_file"},
                              [COMPARE_LEVELS_LOWER] = {"levels_lower", "solve", "levels_lower"},
                              [COMPARE_LEVELS_UPPER] = {"levels_upper", "solve", "levels_upper"},
                              [COMPARE_FACTOR_ENTRIES] = {"factor_entries", "solve", "factor_entries"},
                              [COMPARE_ROWS] = {"rows", "solve", "rows"},
                              [COMPARE_FILE_ENTRIES] = {"file_entries", "solve", "file_entries"},
                              [COMPARE_MEMORY] = {"memory", "solve", "memory"},
                              [COMPARE_PEAK_MEMORY] = {"peak_memory", "line", "peak_memory"},
                              [COMPARE_WALL] = {"wall", "line", "wall"}};

const char *compare_number_name(enum compare_number number) { return sources[number].name; }

static const char *text_of(const json_t *object, const char *key)
{
  const char *text = json_string_value(json_object_get(object, key));
  return text ? text : "";
}

static double number_of(const json_t *object, const char *key)
{
  const json_t *value = json_object_get(object, key);
  return json_is_number(value) && isfinite(json_number_value(value)) ? json_number_value(value) : NAN;
}

/* A value of a case as text; NULL for any other JSON. */
static const char *value_text(const json_t *value)
{
  if (json_is_string(value)) return json_string_value(value);
  if (json_is_boolean(value)) return json_is_true(value) ? "yes" : "no";
  if (json_is_integer(value)) return compare_text("%" JSON_INTEGER_FORMAT, json_integer_value(value));
  return json_is_real(value) ? compare_text("%g", json_real_value(value)) : NULL;
}

/* The order of the columns: the block size first and the level last, as in the tables of Chen et al., and then where
 * the case runs. */
static int rank(const char *name)
{
  static const char *const last[] = {"level", "device", "threads"};
  if (strcmp(name, "block") == 0) return 0;
  for (int i = 0; i < 3; i++)
    if (strcmp(name, last[i]) == 0) return 2 + i;
  return 1;
}

/* Adds a dimension where its rank says, unless it is there. */
static void add_dimension(struct compare_table *table, const char *name)
{
  if (compare_find_dimension(table, name) < table->dimensions) return;
  struct compare_dimension *grown = compare_room(table->dimensions + 1, sizeof *grown);
  size_t at = 0;
  for (; at < table->dimensions && rank(table->dimension[at].name) <= rank(name); at++)
    grown[at] = table->dimension[at];
  grown[at].name = name;
  for (; at < table->dimensions; at++) grown[at + 1] = table->dimension[at];
  table->dimension = grown;
  table->dimensions++;
}

static bool is_scalar(const json_t *value)
{
  return json_is_string(value) || json_is_number(value) || json_is_boolean(value);
}

/* Adds what this object of a case tells of; options are an object of their own. */
static void add_dimensions(struct compare_table *table, const json_t *object)
{
  void *i = json_object_iter((json_t *)object);
  for (; i; i = json_object_iter_next((json_t *)object, i)) {
    const char *name = json_object_iter_key(i);
    const bool is_case = strcmp(name, "matrix") != 0 && strcmp(name, "options") != 0;
    if (is_case && is_scalar(json_object_iter_value(i))) add_dimension(table, name);
  }
}

/* Which matrix this is; a new one is added. */
static size_t matrix_of(struct compare_table *table, const json_t *known)
{
  const char *name = text_of(known, "matrix");
  size_t m = 0;
  while (m < table->matrices && strcmp(table->matrix[m], name) != 0) m++;
  if (m == table->matrices) table->matrix[table->matrices++] = name;
  return m;
}

/* An update of auto may choose another method, so that its medians do not belong to the choice whose order and symbolic
 * times are shown. */
static bool is_of_auto(const struct compare_row *row)
{
  const json_t *options = json_object_get(json_object_get(row->line, "case"), "options");
  return strcmp(text_of(options, "precond"), "auto") == 0;
}

static void read_numbers(struct compare_row *row)
{
  const json_t *solve = json_object_get(row->line, "solve"), *repeat = json_object_get(solve, "repeat");
  for (int i = 0; i < COMPARE_NUMBERS; i++) {
    const struct source *source = &sources[i];
    const json_t *object = !source->object                        ? NULL
                           : strcmp(source->object, "line") == 0  ? row->line
                           : strcmp(source->object, "solve") == 0 ? solve
                                                                  : json_object_get(solve, source->object);
    row->number[i] = source->key ? number_of(object, source->key) : NAN;
  }
  double *number = row->number;
  number[COMPARE_FIRST] =
      number[COMPARE_ORDER] + number[COMPARE_SYMBOLIC] + number[COMPARE_FACTOR] + number[COMPARE_SOLVE];
  const bool keeps = !is_of_auto(row);
  if (keeps && isfinite(number_of(repeat, "factor"))) number[COMPARE_FACTOR] = number_of(repeat, "factor");
  if (keeps && isfinite(number_of(repeat, "solve"))) number[COMPARE_SOLVE] = number_of(repeat, "solve");
  number[COMPARE_UPDATE] = number_of(repeat, "factor") + number_of(repeat, "solve");
  number[COMPARE_SETUP] = number[COMPARE_ORDER] + number[COMPARE_SYMBOLIC] + number[COMPARE_FACTOR];
  number[COMPARE_TOTAL] = number[COMPARE_SETUP] + number[COMPARE_SOLVE];
  /* A file may have any numbers, and their sums may overflow. */
  if (!isfinite(number[COMPARE_FIRST])) number[COMPARE_FIRST] = NAN;
  if (!isfinite(number[COMPARE_SETUP])) number[COMPARE_SETUP] = NAN;
  if (!isfinite(number[COMPARE_TOTAL])) number[COMPARE_TOTAL] = NAN;
}

static void read_row(struct compare_table *table, struct compare_row *row)
{
  static const struct {
    bool of_solve;
    const char *key;
  } words[COMPARE_WORDS] = {[COMPARE_REASON] = {true, "reason"},
                            [COMPARE_VERSION] = {false, "version"},
                            [COMPARE_HOST] = {false, "host"},
                            [COMPARE_DEVICE_NAME] = {true, "device_name"},
                            [COMPARE_STARTED] = {false, "started"}};
  const json_t *line = row->line, *known = json_object_get(line, "case"), *options = json_object_get(known, "options");
  const json_t *solve = json_object_get(line, "solve");
  row->outcome = compare_find_outcome(text_of(line, "outcome"));
  if (line && row->outcome == OUTCOME_NOT_RUN) row->outcome = OUTCOME_FAILED;
  row->matrix = line ? matrix_of(table, known) : SIZE_MAX;
  row->sentence = text_of(line, "sentence");
  for (int i = 0; i < COMPARE_WORDS; i++) row->word[i] = text_of(words[i].of_solve ? solve : line, words[i].key);
  row->value = compare_room(table->dimensions, sizeof *row->value);
  for (size_t d = 0; d < table->dimensions; d++) {
    const char *name = table->dimension[d].name;
    const json_t *value = json_object_get(known, name);
    row->value[d] = value_text(is_scalar(value) ? value : json_object_get(options, name));
  }
  row->own_block = line && !row->value[0];
  if (row->own_block) row->value[0] = value_text(json_object_get(solve, "block"));
  read_numbers(row);
  table->outcomes[row->outcome]++;
}

/* A case that ended before its matrix was read gets the block size that another case found. */
static void share_blocks(struct compare_table *table)
{
  for (size_t i = 0; i < table->rows; i++) {
    struct compare_row *row = &table->row[i];
    for (size_t j = 0; j < table->rows && row->own_block && !row->value[0]; j++)
      if (table->row[j].own_block && table->row[j].matrix == row->matrix) row->value[0] = table->row[j].value[0];
  }
}

/* Whether a comes before b: numbers by size, numbers before words. Words stay as they come. */
static bool is_before(const char *a, const char *b)
{
  char *end_a, *end_b;
  const double x = strtod(a, &end_a), y = strtod(b, &end_b);
  const bool number_a = *a && !*end_a, number_b = *b && !*end_b;
  return number_a && (!number_b || x < y);
}

/* Lists the values of a dimension that occur. */
static void list_values(const struct compare_table *table, size_t d)
{
  struct compare_dimension *dimension = &table->dimension[d];
  bool everywhere = true;
  dimension->value = compare_room(table->rows, sizeof *dimension->value);
  for (size_t i = 0; i < table->rows; i++) {
    const char *value = table->row[i].value[d];
    size_t v = 0;
    everywhere = everywhere && (value || !table->row[i].line);
    while (v < dimension->values && !compare_same_value(dimension->value[v], value)) v++;
    if (!value || v < dimension->values) continue;
    for (v = dimension->values++; v > 0 && is_before(value, dimension->value[v - 1]); v--)
      dimension->value[v] = dimension->value[v - 1];
    dimension->value[v] = value;
  }
  dimension->is_said = everywhere && dimension->values == 1;
}

static void choose(struct compare_choice *choice, const struct compare_row *row)
{
  const double total = row->number[COMPARE_TOTAL];
  choice->cases++;
  if (row->outcome != OUTCOME_CONVERGED || !isfinite(total)) return;
  choice->converged++;
  if (!choice->best || total < choice->best->number[COMPARE_TOTAL]) {
    choice->second = choice->best;
    choice->best = row;
  } else if (!choice->second || total < choice->second->number[COMPARE_TOTAL])
    choice->second = row;
  if (!choice->slowest || total > choice->slowest->number[COMPARE_TOTAL]) choice->slowest = row;
}

int compare_table_make(struct compare_table *table, const struct compare_set *set)
{
  *table = (struct compare_table){.rows = set->count, .baseline = set->baseline};
  table->row = compare_room(set->count, sizeof *table->row);
  table->matrix = compare_room(set->count, sizeof *table->matrix);
  add_dimension(table, "block");
  for (size_t i = 0; i < set->count; i++) {
    const json_t *known = json_object_get(set->line[i], "case");
    add_dimensions(table, known);
    add_dimensions(table, json_object_get(known, "options"));
  }
  for (size_t i = 0; i < set->count; i++) {
    table->row[i].line = set->line[i];
    table->row[i].place = i;
    read_row(table, &table->row[i]);
  }
  share_blocks(table);
  for (size_t d = 0; d < table->dimensions; d++) list_values(table, d);
  table->choice = compare_room(table->matrices, sizeof *table->choice);
  for (size_t i = 0; i < table->rows; i++)
    if (table->row[i].line) choose(&table->choice[table->row[i].matrix], &table->row[i]);
  return compare_speed_ups(table);
}

/* Prints the table into a nameless file, which takes its place when it is whole, or on standard output, which
 * tool_finish looks at. */
static int write_file(const struct compare_table *table, const char *path,
                      int (*print)(FILE *file, const struct compare_table *table))
{
  if (strcmp(path, "-") == 0) return print(stdout, table);
  FILE *file = tmpfile();
  if (!file) return tool_fail(TOOL_FAILED, "%s: cannot create its temporary file: %s", path, strerror(errno));
  int status = print(file, table);
  if (status == TOOL_GO_ON && (fflush(file) != 0 || ferror(file)))
    status = tool_fail(TOOL_FAILED, "%s: cannot write its temporary file; is the disk full?", path);
  if (status == TOOL_GO_ON) status = tool_write_whole(file, path);
  fclose(file);
  return status;
}

int compare_write_table(const struct compare_set *set, const char *path,
                        int (*print)(FILE *file, const struct compare_table *table))
{
  struct compare_table table;
  int status = compare_table_make(&table, set);
  if (status == TOOL_GO_ON) status = write_file(&table, path, print);
  compare_free();
  return status;
}
