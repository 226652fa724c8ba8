/* json_values.h - reads the JSON objects that commands print, for tests. Its user needs jansson. */
#ifndef KARST_TESTS_SUPPORT_JSON_VALUES_H
#define KARST_TESTS_SUPPORT_JSON_VALUES_H

#include "tests/support/tap.h"

#include <jansson.h>
#include <math.h>

/* Returns an object that has no key twice; NULL with a note where the text is something else. */
static inline json_t *parse_json(const char *text)
{
  json_error_t error;
  json_t *object = json_loads(text, JSON_REJECT_DUPLICATES, &error);
  if (!object) tap_note("JSON line %d: %s", error.line, error.text);
  return object;
}

/* The number under a key, NaN without one, and the text under a key, "" without one. */
static inline double number_at(const json_t *object, const char *key)
{
  const json_t *value = json_object_get(object, key);
  return json_is_number(value) ? json_number_value(value) : NAN;
}

static inline const char *text_at(const json_t *object, const char *key)
{
  const char *text = json_string_value(json_object_get(object, key));
  return text ? text : "";
}

static inline bool is_null(const json_t *object, const char *key) { return json_is_null(json_object_get(object, key)); }

#endif
