/* json.c - one JSON object of everything: how many cases have which outcome, what the cases differ in, and the
 * lines of the results file in the order of the plan, each with the numbers that follow from others. A history of more
 * than a few points is left out. */
#include "tools/src/compare/report/compare_write.h"

#include <math.h>

enum { HISTORY_MOST = 20 };

static json_t *number_json(double number) { return isfinite(number) ? json_real(number) : json_null(); }

static json_t *outcomes_json(const struct compare_table *table)
{
  json_t *outcomes = json_object();
  for (int i = 0; i < OUTCOME_COUNT; i++)
    json_object_set_new(outcomes, compare_outcome_word((enum compare_outcome)i),
                        json_integer((json_int_t)table->outcomes[i]));
  return outcomes;
}

static json_t *dimensions_json(const struct compare_table *table)
{
  json_t *dimensions = json_object();
  for (size_t d = 0; d < table->dimensions; d++) {
    const struct compare_dimension *dimension = &table->dimension[d];
    json_t *values = json_array();
    for (size_t v = 0; v < dimension->values; v++) json_array_append_new(values, json_string(dimension->value[v]));
    json_object_set_new(dimensions, dimension->name, values);
  }
  return dimensions;
}

static json_t *row_json(const struct compare_row *row)
{
  static const enum compare_number follow[] = {COMPARE_SETUP, COMPARE_TOTAL, COMPARE_SPEED_UP};
  json_t *object = row->line ? json_copy((json_t *)row->line) : json_object();
  if (!row->line) json_object_set_new(object, "outcome", json_string(compare_outcome_word(row->outcome)));
  if (json_array_size(json_object_get(object, "history")) > HISTORY_MOST) json_object_del(object, "history");
  for (size_t i = 0; i < sizeof follow / sizeof *follow; i++)
    json_object_set_new(object, compare_number_name(follow[i]), number_json(row->number[follow[i]]));
  return object;
}

static json_t *table_json(const struct compare_table *table)
{
  json_t *object = json_object(), *matrices = json_array(), *results = json_array();
  for (size_t m = 0; m < table->matrices; m++) json_array_append_new(matrices, json_string(table->matrix[m]));
  for (size_t i = 0; i < table->rows; i++) json_array_append_new(results, row_json(&table->row[i]));
  json_object_set_new(object, "cases", json_integer((json_int_t)table->rows));
  json_object_set_new(object, "outcomes", outcomes_json(table));
  json_object_set_new(object, "baseline", table->baseline ? json_string(table->baseline) : json_null());
  json_object_set_new(object, "matrices", matrices);
  json_object_set_new(object, "dimensions", dimensions_json(table));
  json_object_set_new(object, "results", results);
  return object;
}

static int print_json(FILE *file, const struct compare_table *table)
{
  json_t *object = table_json(table);
  int status = TOOL_GO_ON;
  if (object && json_object_size(object) == 6)
    json_dumpf(object, file, JSON_INDENT(1)); /* the file keeps an error */
  else
    status = tool_fail_memory("the JSON table");
  fputc('\n', file);
  json_decref(object);
  return status;
}

int compare_write_json(const struct compare_set *set, const char *path)
{
  return compare_write_table(set, path, print_json);
}
