/* parameters.c - reads "key=value,key=value" into the fields of a table. See parameters.h. */
#include "config.h"

#include "lib/base/number.h"
#include "matrices/parameters.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

/* Writes the end of a message that lists the keys into text. */
static const char *list_keys(int count, const karst_parameter *parameter, char *text, size_t size)
{
  size_t used = 0;
  for (int i = 0; i < count && used < size; i++)
    used += (size_t)snprintf(text + used, size - used, "%s%s", i > 0 ? ", " : "its keys are ", parameter[i].key);
  return count > 0 ? text : "it takes no keys";
}

static bool read_number(const char *value, const karst_parameter *parameter)
{
  double number;
  const char *end = karst_parse_real(value, &number);
  if (!end || *end != '\0' || number < parameter->low || number > parameter->high) return false;
  *(double *)parameter->field = number;
  return true;
}

static bool read_count(const char *value, const karst_parameter *parameter)
{
  char *end;
  if (*value < '0' || *value > '9') return false;
  errno = 0;
  uint64_t number = strtoumax(value, &end, 10);
  if (errno || *end != '\0' || (double)number < parameter->low || (double)number > parameter->high) return false;
  *(uint64_t *)parameter->field = number;
  return true;
}

static karst_status read_value(karst_context *context, const char *problem, const char *value,
                               const karst_parameter *parameter)
{
  switch (parameter->kind) {
  case KARST_PARAMETER_NUMBER:
    if (read_number(value, parameter)) return KARST_SUCCESS;
    return karst_fail(context, KARST_ERROR_OPTION, "%s: %s=%s: expected a number from %g to %g", problem,
                      parameter->key, value, parameter->low, parameter->high);
  case KARST_PARAMETER_COUNT:
    if (read_count(value, parameter)) return KARST_SUCCESS;
    return karst_fail(context, KARST_ERROR_OPTION, "%s: %s=%s: expected a whole number from %g to %g", problem,
                      parameter->key, value, parameter->low, parameter->high);
  case KARST_PARAMETER_WORD:
  case KARST_PARAMETER_PATH:
    break;
  }
  if (parameter->kind == KARST_PARAMETER_PATH && *value == '\0')
    return karst_fail(context, KARST_ERROR_OPTION, "%s: %s needs the name of a file", problem, parameter->key);
  strcpy(parameter->field, value); /* every value of the text fits into the field */
  return KARST_SUCCESS;
}

/* Reads one "key=value"; pair is cut at the equals sign. */
static karst_status read_pair(karst_context *context, const char *problem, char *pair, int count,
                              const karst_parameter *parameter)
{
  char keys[256], *value = strchr(pair, '=');
  if (!value) return karst_fail(context, KARST_ERROR_OPTION, "%s: \"%s\" is not of the form key=value", problem, pair);
  *value++ = '\0';
  for (int i = 0; i < count; i++)
    if (strcmp(parameter[i].key, pair) == 0) return read_value(context, problem, value, &parameter[i]);
  return karst_fail(context, KARST_ERROR_OPTION, "%s has no key \"%s\": %s", problem, pair,
                    list_keys(count, parameter, keys, sizeof keys));
}

karst_status karst_parameters_read(karst_context *context, const karst_gallery_spec *spec, int count,
                                   const karst_parameter *parameter)
{
  char pair[KARST_PARAMETER_PATH_SIZE];
  const char *problem = spec->generator->name, *text = spec->parameters;
  karst_status status = KARST_SUCCESS;
  bool more = *text != '\0';
  while (!status && more) {
    size_t length = strcspn(text, ",");
    if (length >= sizeof pair)
      return karst_fail(context, KARST_ERROR_OPTION, "%s: \"%.40s...\" is longer than %d characters", problem, text,
                        KARST_PARAMETER_PATH_SIZE - 1);
    memcpy(pair, text, length);
    pair[length] = '\0';
    status = read_pair(context, problem, pair, count, parameter);
    more = text[length] == ',';
    text += length + (more ? 1 : 0);
  }
  return status;
}
