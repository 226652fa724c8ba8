/* compare_rows.h - reads the results files of the command compare, for its tests. */
#ifndef KARST_TESTS_SUPPORT_COMPARE_ROWS_H
#define KARST_TESTS_SUPPORT_COMPARE_ROWS_H

#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Reads the rows of a file, in its order, into an array that the caller frees. A missing file has no rows; a line that
 * is not JSON becomes null. */
static inline json_t *read_rows(const char *path)
{
  json_t *rows = json_array();
  char *line = NULL;
  size_t room = 0;
  FILE *file = fopen(path, "r");
  while (file && getline(&line, &room, file) > 0) {
    json_t *row = json_loads(line, 0, NULL);
    json_array_append_new(rows, row ? row : json_null());
  }
  free(line);
  if (file) fclose(file);
  return rows;
}

static inline const char *row_text(json_t *row, const char *key)
{
  const char *text = json_string_value(json_object_get(row, key));
  return text ? text : "";
}

/* Iterations that solve reports in a row; -1: none. */
static inline long row_iterations(json_t *row)
{
  json_t *iterations = json_object_get(json_object_get(row, "solve"), "iterations");
  return iterations ? (long)json_integer_value(iterations) : -1;
}

/* The row of a key; NULL if no row has it, or more than one. */
static inline json_t *row_of(json_t *rows, const char *key)
{
  json_t *row, *found = NULL;
  size_t i, count = 0;
  json_array_foreach(rows, i, row)
  {
    if (strcmp(row_text(row, "key"), key) != 0) continue;
    found = row;
    count++;
  }
  return count == 1 ? found : NULL;
}

#endif
