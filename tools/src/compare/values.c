/* values.c - the names of a plan and their values: lists "a,b,c", and ranges "0..3" of integers. */
#include "tools/src/compare/compare.h"
#include "tools/src/common/text.h"
#include "tools/src/peers/peers.h"

#include <limits.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* What the last part of an option's name takes; false for an unknown name and an option for experiments. */
static bool find_kind(const karst_context *context, const char *name, struct compare_name *found)
{
  karst_option_info info;
  const char *point = strrchr(name, '.'), *last = point ? point + 1 : name;
  for (size_t i = 0; karst_options_info(context, i, &info); i++) {
    if (strcmp(info.name, last) != 0 || info.experiment) continue;
    found->kind = info.kind == KARST_OPTION_INTEGER   ? COMPARE_INTEGER
                  : info.kind == KARST_OPTION_REAL    ? COMPARE_REAL
                  : info.kind == KARST_OPTION_FILE    ? COMPARE_FILE
                  : info.kind == KARST_OPTION_PRECOND ? COMPARE_PRECOND
                                                      : COMPARE_TEXT;
    return true;
  }
  return false;
}

bool compare_find_name(const struct compare_plan *plan, const char *name, struct compare_name *found)
{
  const char *value;
  if (strlen(name) >= sizeof found->name) return false;
  *found = (struct compare_name){.library = true, .listed = true};
  strcpy(found->name, name);
  for (char *c = found->name; *c; c++)
    if (*c == '_') *c = '-';
  if (tool_ends_in(found->name, ".precond")) *strrchr(found->name, '.') = '\0';
  const struct compare_own *own = compare_find_own(found->name);
  if (own) {
    found->kind = own->kind;
    found->library = false;
    found->listed = own->is_listed;
    return true;
  }
  return !karst_options_get(plan->options, found->name, &value) && find_kind(plan->context, found->name, found);
}

static void print_real(double value, char *text, size_t size)
{
  for (int digits = 1; digits <= 17; digits++) {
    snprintf(text, size, "%.*g", digits, value);
    if (strtod(text, NULL) == value) break;
  }
  char *exponent = strchr(text, 'e'); /* 1e-08 is 1e-8, and 1e+08 is 1e8 */
  if (!exponent) return;
  char *from = exponent + 1, *to = exponent + 1;
  if (*from == '-') to++;
  from += strspn(from, "+-0");
  memmove(to, from, strlen(from) + 1);
}

void compare_canonical(const struct compare_name *name, const char *value, char *text, size_t size)
{
  if (name->kind == COMPARE_REAL)
    print_real(strtod(value, NULL), text, size);
  else if (name->kind == COMPARE_INTEGER || name->kind == COMPARE_COUNT)
    snprintf(text, size, "%lld", strtoll(value, NULL, 10));
  else if (text != value)
    snprintf(text, size, "%s", value);
}

static int fail_value(const struct compare_plan *plan, const struct compare_name *name, const char *value,
                      const char *why)
{
  const struct compare_own *own = compare_find_own(name->name);
  const char *option = own && own->is_operand ? "" : "--";
  return tool_fail(TOOL_FAILED, "%s%s%s '%s': %s", plan->file ? plan->file : "", plan->file ? ": " : option, name->name,
                   value, why);
}

static int check_option(struct compare_plan *plan, const struct compare_name *name, const char *value)
{
  karst_status status = karst_options_set(plan->options, name->name, value);
  if (!status) return TOOL_GO_ON;
  const char *why = tool_peers_explain(name->name, value);
  return why ? fail_value(plan, name, value, why) : tool_fail_about(plan->context, status, plan->file);
}

/* solve reports a device that is known but not available. */
static int check_device(const struct compare_plan *plan, const struct compare_name *name, const char *value)
{
  long long number;
  if (strcmp(value, "cpu") == 0 || strcmp(value, "cuda") == 0) return TOOL_GO_ON;
  if (strncmp(value, "cuda:", 5) == 0 && tool_integer(value + 5, 0, 999, &number)) return TOOL_GO_ON;
  return fail_value(plan, name, value, "a device is cpu, cuda or cuda:N, N from 0 to 999");
}

static int check_value(struct compare_plan *plan, const struct compare_name *name, const char *value)
{
  long long number;
  if (!*value) return fail_value(plan, name, value, "a value is empty");
  if (name->library) return check_option(plan, name, value);
  if (strcmp(name->name, "device") == 0) return check_device(plan, name, value);
  if (name->kind == COMPARE_COUNT && !tool_integer(value, 1, INT_MAX, &number))
    return fail_value(plan, name, value,
                      name->listed ? "a value is an integer from 1, a list 1,2,3 or a range 1..3"
                                   : "it takes one integer from 1");
  if (name->kind == COMPARE_SWITCH && strcmp(value, "yes") != 0)
    return fail_value(plan, name, value, "it takes true or false");
  return TOOL_GO_ON;
}

static int add_value(struct compare_plan *plan, const struct compare_name *name, const char *value, json_t *values)
{
  const bool matrix = strcmp(name->name, "matrices") == 0;
  char canonical[512];
  int status = check_value(plan, name, value);
  if (status != TOOL_GO_ON) return status;
  if (!name->listed && json_array_size(values) > 0) return fail_value(plan, name, value, "it takes one value");
  if (json_array_size(values) >= COMPARE_VALUES_MAX) return fail_value(plan, name, value, "there are too many values");
  const bool number = name->kind == COMPARE_REAL || name->kind == COMPARE_INTEGER || name->kind == COMPARE_COUNT;
  if (number) compare_canonical(name, value, canonical, sizeof canonical);
  json_t *text = matrix ? json_string_nocheck(value) : json_string(number ? canonical : value);
  if (!text) return fail_value(plan, name, value, "it is not valid UTF-8");
  for (size_t i = 0; i < json_array_size(values); i++)
    if (json_equal(text, json_array_get(values, i))) {
      json_decref(text);
      return TOOL_GO_ON;
    }
  return json_array_append_new(values, text) == 0 ? TOOL_GO_ON : tool_fail_memory("the plan");
}

/* Adds a value or the values of a range, which text is cut into. */
static int add_range(struct compare_plan *plan, const struct compare_name *name, char *text, json_t *values)
{
  char *points = strstr(text, ".."), number[32];
  const bool whole = name->kind == COMPARE_INTEGER || name->kind == COMPARE_COUNT;
  long long first, last;
  if (!points || !whole) return add_value(plan, name, text, values);
  *points = '\0';
  const bool known = tool_integer(text, INT_MIN, INT_MAX, &first) && tool_integer(points + 2, INT_MIN, INT_MAX, &last);
  *points = '.';
  if (!known) return fail_value(plan, name, text, "a range is FIRST..LAST with integers");
  if (first > last) return fail_value(plan, name, text, "the first number of the range is larger than the last");
  if (last - first >= COMPARE_VALUES_MAX) return fail_value(plan, name, text, "the range has too many values");
  int status = TOOL_GO_ON;
  for (long long i = first; i <= last && status == TOOL_GO_ON; i++) {
    snprintf(number, sizeof number, "%lld", i);
    status = add_value(plan, name, number, values);
  }
  return status;
}

int compare_add_text(struct compare_plan *plan, const struct compare_name *name, const char *text, json_t *values)
{
  if (!name->listed || name->kind == COMPARE_FILE || strcmp(name->name, "matrices") == 0)
    return add_value(plan, name, text, values);
  char *copy = strdup(text), *part = copy;
  int status = copy ? TOOL_GO_ON : tool_fail_memory("the plan");
  while (part && status == TOOL_GO_ON) {
    char *comma = strchr(part, ',');
    if (comma) *comma = '\0';
    status = *part || (!comma && part == copy) ? add_range(plan, name, part, values)
                                               : fail_value(plan, name, text, "a value of the list is empty");
    part = comma ? comma + 1 : NULL;
  }
  free(copy);
  return status;
}

int compare_take(struct compare_plan *plan, const char *name, const char *text)
{
  struct compare_name found;
  if (!compare_find_name(plan, name, &found)) { /* the library's sentence lists the options */
    const karst_status status = karst_options_set(plan->options, name, text);
    return tool_fail_library(plan->context, status ? status : KARST_ERROR_OPTION);
  }
  const bool more = strcmp(found.name, "matrices") == 0 && json_object_get(plan->line, found.name);
  json_t *values = more ? json_incref(json_object_get(plan->line, found.name)) : json_array();
  int status = compare_add_text(plan, &found, text, values);
  if (status == TOOL_GO_ON && !more && json_object_set(plan->line, found.name, values) != 0)
    status = tool_fail_memory("the plan");
  json_decref(values);
  return status;
}
