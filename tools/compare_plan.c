/* compare_plan.c - what a batch is to compare: from the command line, and from a file of JSON.
 *
 * The file has an object of names and values, single ones or arrays; texts are as on the command line. "cases" may list
 * more such objects: then each of them is a product of its own, with what it lacks taken from the object around it. */
#include "compare.h"

#include <stdlib.h>
#include <string.h>

int compare_plan_create(struct compare_plan *plan, karst_context *context)
{
  *plan = (struct compare_plan){.context = context, .line = json_object(), .shared = json_object()};
  karst_status status = karst_options_create(context, &plan->options);
  if (status) return tool_fail_library(context, status);
  return plan->line && plan->shared ? TOOL_GO_ON : tool_fail_memory("the plan");
}

void compare_plan_free(struct compare_plan *plan)
{
  karst_options_destroy(plan->options);
  json_decref(plan->line);
  json_decref(plan->shared);
  json_decref(plan->cases);
  json_decref(plan->root);
  *plan = (struct compare_plan){.context = plan->context};
}

/* Adds a value that is none of several: a text, a number or a truth value. */
static int add_single(struct compare_plan *plan, const struct compare_name *name, json_t *value, json_t *values)
{
  char text[64];
  if (json_is_string(value)) return compare_add_text(plan, name, json_string_value(value), values);
  if (json_is_integer(value)) {
    snprintf(text, sizeof text, "%lld", (long long)json_integer_value(value));
  } else if (json_is_real(value)) {
    snprintf(text, sizeof text, "%.17g", json_real_value(value));
  } else if (json_is_boolean(value)) {
    if (name->kind == COMPARE_SWITCH && json_is_false(value)) return TOOL_GO_ON;
    snprintf(text, sizeof text, "%s", json_is_true(value) ? "yes" : "no");
  } else {
    return tool_fail(TOOL_FAILED, "%s: \"%s\" takes a text, a number, true or false, or an array of these", plan->file,
                     name->name);
  }
  return compare_add_text(plan, name, text, values);
}

static int add_values(struct compare_plan *plan, const struct compare_name *name, json_t *value, json_t *set)
{
  json_t *values = json_array();
  int status = values ? TOOL_GO_ON : tool_fail_memory("the plan");
  if (json_is_array(value)) {
    for (size_t i = 0; i < json_array_size(value) && status == TOOL_GO_ON; i++)
      status = add_single(plan, name, json_array_get(value, i), values);
    if (status == TOOL_GO_ON && json_array_size(value) == 0)
      status = tool_fail(TOOL_FAILED, "%s: \"%s\" is an array without values", plan->file, name->name);
  } else if (status == TOOL_GO_ON) {
    status = add_single(plan, name, value, values);
  }
  if (status == TOOL_GO_ON && json_array_size(values) > 0 && json_object_set(set, name->name, values) != 0)
    status = tool_fail_memory("the plan");
  json_decref(values);
  return status;
}

/* A number of the file as a text that stands in its place; any other value as it is. */
static json_t *as_text(json_t *object, const char *key, json_t *value)
{
  char text[64];
  if (!json_is_number(value)) return value;
  snprintf(text, sizeof text, "%.15g", json_number_value(value));
  return json_object_set_new(object, key, json_string(text)) == 0 ? json_object_get(object, key) : NULL;
}

/* Gives a setting of the batch the text of a value, unless the command line has given one; false where key is none.
 * *wrong: the setting whose value is no text. */
static bool read_setting(struct compare_settings *settings, const char *key, json_t *value, const char **wrong)
{
  const struct {
    const char *key, **to;
  } known[] = {
      {"results", &settings->results},   {"time-limit", &settings->time_limit},
      {"csv", &settings->csv},           {"memory-limit", &settings->memory_limit},
      {"markdown", &settings->markdown}, {"baseline", &settings->baseline},
      {"json", &settings->json},         {"report", &settings->report},
  };
  for (size_t i = 0; i < sizeof known / sizeof known[0]; i++) {
    if (strcmp(known[i].key, key) != 0) continue;
    if (!json_string_value(value) || !json_string_value(value)[0])
      *wrong = known[i].key;
    else if (!*known[i].to)
      *known[i].to = json_string_value(value);
    return true;
  }
  return false;
}

static int fail_unknown(const struct compare_plan *plan, const char *key)
{
  char list[1024] = "";
  size_t used = 0;
  karst_option_info info;
  for (size_t i = 0; karst_options_info(plan->context, i, &info) && used < sizeof list; i++)
    if (!info.experiment) used += (size_t)snprintf(list + used, sizeof list - used, ", %s", info.name);
  return tool_fail(TOOL_FAILED,
                   "%s: \"%s\" is unknown: a plan has matrices, block, device, threads, rhs, grid, repeat, negate, "
                   "insert-diagonal, stored-triangle%s, and outside its cases results, time-limit, "
                   "memory-limit, baseline, csv, markdown, json, report, cases",
                   plan->file, key, list);
}

/* Reads an object into a set. settings: NULL inside cases, which have neither settings nor cases. */
static int read_object(struct compare_plan *plan, json_t *object, json_t *set, struct compare_settings *settings)
{
  const char *key, *wrong = NULL;
  json_t *value;
  struct compare_name name;
  if (!json_is_object(object))
    return tool_fail(TOOL_FAILED, "%s: a plan, and each of its cases, is an object", plan->file);
  json_object_foreach(object, key, value)
  {
    int status = TOOL_GO_ON;
    char dashed[64];
    snprintf(dashed, sizeof dashed, "%s", key);
    for (char *c = dashed; *c; c++)
      if (*c == '_') *c = '-';
    const bool limit = strcmp(dashed, "time-limit") == 0 || strcmp(dashed, "memory-limit") == 0;
    if (settings && limit) value = as_text(object, key, value);
    if (settings && (strcmp(key, "cases") == 0 || read_setting(settings, dashed, value, &wrong)))
      status = wrong ? tool_fail(TOOL_FAILED, "%s: \"%s\" takes one text", plan->file, wrong) : TOOL_GO_ON;
    else
      status = compare_find_name(plan, key, &name) ? add_values(plan, &name, value, set) : fail_unknown(plan, key);
    if (status != TOOL_GO_ON) return status;
  }
  return TOOL_GO_ON;
}

static int read_cases(struct compare_plan *plan, json_t *cases)
{
  json_t *object;
  size_t i;
  if (!cases) return TOOL_GO_ON;
  plan->cases = json_array();
  if (!plan->cases) return tool_fail_memory("the plan");
  if (!json_is_array(cases) || json_array_size(cases) == 0)
    return tool_fail(TOOL_FAILED, "%s: \"cases\" takes an array of objects", plan->file);
  json_array_foreach(cases, i, object)
  {
    json_t *set = json_object();
    if (json_array_append_new(plan->cases, set) != 0) return tool_fail_memory("the plan");
    int status = read_object(plan, object, set, NULL);
    if (status != TOOL_GO_ON) return status;
  }
  return TOOL_GO_ON;
}

int compare_plan_read(struct compare_plan *plan, const char *path, struct compare_settings *settings)
{
  json_error_t error;
  plan->root = json_load_file(path, JSON_REJECT_DUPLICATES, &error);
  if (!plan->root && error.line <= 0) return tool_fail(TOOL_FAILED, "%s", error.text);
  if (!plan->root)
    return tool_fail(TOOL_FAILED, "%s: line %d, column %d: %s", path, error.line, error.column, error.text);
  plan->file = path;
  int status = read_object(plan, plan->root, plan->shared, settings);
  if (status == TOOL_GO_ON) status = read_cases(plan, json_object_get(plan->root, "cases"));
  plan->file = NULL;
  return status;
}

/* A set of the file with what the file gives to all, and what the command line gives. */
static json_t *join(const struct compare_plan *plan, json_t *own)
{
  json_t *set = json_deep_copy(plan->shared), *more = json_object_get(plan->line, "matrices");
  if (!set || json_object_update(set, own) != 0) {
    json_decref(set);
    return NULL;
  }
  json_t *matrices = json_array();
  bool joined = json_array_extend(matrices, json_object_get(set, "matrices")) == 0 || !json_object_get(set, "matrices");
  joined = joined && (!more || json_array_extend(matrices, more) == 0);
  joined = joined && json_object_update(set, plan->line) == 0;
  joined = json_object_set_new(set, "matrices", matrices) == 0 && joined;
  if (joined) return set;
  json_decref(set);
  return NULL;
}

int compare_plan_sets(const struct compare_plan *plan, json_t **sets)
{
  json_t *none = json_object();
  *sets = json_array();
  int failed = *sets && none ? 0 : 1;
  if (plan->cases) {
    for (size_t i = 0; i < json_array_size(plan->cases); i++)
      failed |= json_array_append_new(*sets, join(plan, json_array_get(plan->cases, i)));
  } else {
    failed |= json_array_append_new(*sets, join(plan, none));
  }
  json_decref(none);
  return failed ? tool_fail_memory("the plan") : TOOL_GO_ON;
}
