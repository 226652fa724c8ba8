/* plan.c - the values that a batch compares: from the command line, and from a file of JSON.
 *
 * The file has an object of names and values, single ones or arrays; texts are as on the command line. "cases" may list
 * more such objects: then each is a product of its own, and takes the names that it lacks from the outer object. */
#include "tools/src/compare/compare.h"
#include "tools/src/common/text.h"

#include <errno.h>
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

/* Adds a single value: a text, a number or a truth value. */
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
      status = tool_fail(TOOL_FAILED, "%s: \"%s\" is an empty array", plan->file, name->name);
  } else if (status == TOOL_GO_ON) {
    status = add_single(plan, name, value, values);
  }
  if (status == TOOL_GO_ON && json_array_size(values) > 0 && json_object_set(set, name->name, values) != 0)
    status = tool_fail_memory("the plan");
  json_decref(values);
  return status;
}

/* Replaces a number of the file by its text, which then lives as long as the file; other values stay. */
static json_t *as_text(json_t *object, const char *key, json_t *value)
{
  char text[64];
  if (!json_is_number(value)) return value;
  snprintf(text, sizeof text, "%.15g", json_number_value(value));
  return json_object_set_new(object, key, json_string(text)) == 0 ? json_object_get(object, key) : NULL;
}

/* Gives a setting of the batch the text of a value, unless the command line has given one. *known: whether the key is
 * one; dashed: its name. */
static int read_setting(const struct compare_plan *plan, json_t *object, const char *key, json_t *value,
                        struct compare_settings *settings, char dashed[64], bool *known)
{
  const char *name, **text;
  bool takes_number;
  snprintf(dashed, 64, "%s", key);
  for (char *c = dashed; *c; c++)
    if (*c == '_') *c = '-';
  *known = false;
  for (size_t i = 0; !*known && (name = compare_plan_setting(i, settings, &text, &takes_number)); i++) {
    if (strcmp(name, dashed) != 0) continue;
    *known = true;
    if (takes_number) value = as_text(object, key, value);
    if (!json_string_value(value) || !json_string_value(value)[0])
      return tool_fail(TOOL_FAILED, "%s: \"%s\" takes one text", plan->file, name);
    if (!*text) *text = json_string_value(value);
  }
  return TOOL_GO_ON;
}

static int fail_unknown(const struct compare_plan *plan, const char *key)
{
  char list[2048] = "";
  const char *name, **text;
  bool takes_number;
  karst_option_info info;
  for (size_t i = 0; compare_own(i); i++)
    tool_append(list, sizeof list, "%s%s", i > 0 ? ", " : "", compare_own(i)->name);
  for (size_t i = 0; karst_options_info(plan->context, i, &info); i++)
    if (!info.experiment) tool_append(list, sizeof list, ", %s", info.name);
  tool_append(list, sizeof list, ", and outside its cases");
  for (size_t i = 0; (name = compare_plan_setting(i, NULL, &text, &takes_number)); i++)
    tool_append(list, sizeof list, " %s,", name);
  return tool_fail(TOOL_FAILED, "%s: \"%s\" is unknown: a plan has %s cases", plan->file, key, list);
}

/* Refuses a second key that means the same, such as max_iterations beside max-iterations: one would be lost. keys: the
 * keys of the object by what they mean. */
static int note_key(const struct compare_plan *plan, json_t *keys, const char *meaning, const char *key)
{
  const char *other = json_string_value(json_object_get(keys, meaning));
  if (other) return tool_fail(TOOL_FAILED, "%s: \"%s\" and \"%s\" name the same option", plan->file, other, key);
  return json_object_set_new(keys, meaning, json_string(key)) == 0 ? TOOL_GO_ON : tool_fail_memory("the plan");
}

/* Reads a key of an object into a set. settings and keys: as in read_object and note_key. */
static int read_key(struct compare_plan *plan, json_t *object, const char *key, json_t *value, json_t *set,
                    struct compare_settings *settings, json_t *keys)
{
  struct compare_name name;
  char dashed[64];
  bool known = settings && strcmp(key, "cases") == 0;
  int status = TOOL_GO_ON;
  if (settings && !known) status = read_setting(plan, object, key, value, settings, dashed, &known);
  if (status != TOOL_GO_ON) return status;
  if (known) return strcmp(key, "cases") == 0 ? TOOL_GO_ON : note_key(plan, keys, dashed, key);
  if (!compare_find_name(plan, key, &name)) return fail_unknown(plan, key);
  status = note_key(plan, keys, name.name, key);
  return status == TOOL_GO_ON ? add_values(plan, &name, value, set) : status;
}

/* Reads an object into a set. settings: NULL inside cases, which have neither settings nor cases. */
static int read_object(struct compare_plan *plan, json_t *object, json_t *set, struct compare_settings *settings)
{
  const char *key;
  json_t *value;
  int status = TOOL_GO_ON;
  if (!json_is_object(object))
    return tool_fail(TOOL_FAILED, "%s: a plan and each of its cases must be an object", plan->file);
  json_t *keys = json_object();
  json_object_foreach(object, key, value)
  {
    status = read_key(plan, object, key, value, set, settings, keys);
    if (status != TOOL_GO_ON) break;
  }
  json_decref(keys);
  return status;
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

static int fail_text(const char *path, const json_error_t *error)
{
#if JANSSON_VERSION_HEX >= 0x020b00
  const enum json_error_code code = json_error_code(error);
  if (code == json_error_null_character || code == json_error_null_byte_in_key)
    return tool_fail(TOOL_FAILED, "%s: line %d, column %d: a string contains a NUL character", path, error->line,
                     error->column);
#endif
  return tool_fail(TOOL_FAILED, "%s: line %d, column %d: %s", path, error->line, error->column, error->text);
}

/* Reads the object of a file, which may be a pipe. */
static int load(const char *path, json_t **root)
{
  json_error_t error;
  char *text = NULL;
  size_t room = 0;
  int status = TOOL_GO_ON;
  FILE *file = fopen(path, "r");
  errno = file ? 0 : errno;
  const ssize_t length = file ? getdelim(&text, &room, '\0', file) : -1;
  if (length < 0 && errno != 0) {
    status = tool_fail(TOOL_FAILED, "%s: %s", path, strerror(errno));
  } else if (length > 0 && text[length - 1] == '\0') { /* jansson takes it for the end of the file */
    long line = 1;
    for (ssize_t i = 0; i < length; i++) line += text[i] == '\n';
    status = tool_fail(TOOL_FAILED, "%s: line %ld contains a NUL byte; a plan is a text file", path, line);
  } else {
    *root = json_loadb(length > 0 ? text : "", length > 0 ? (size_t)length : 0, JSON_REJECT_DUPLICATES, &error);
    if (!*root) status = fail_text(path, &error);
  }
  if (file) fclose(file);
  free(text);
  return status;
}

int compare_plan_read(struct compare_plan *plan, const char *path, struct compare_settings *settings)
{
  int status = load(path, &plan->root);
  plan->file = path;
  if (status == TOOL_GO_ON) status = read_object(plan, plan->root, plan->shared, settings);
  if (status == TOOL_GO_ON) status = read_cases(plan, json_object_get(plan->root, "cases"));
  plan->file = NULL;
  return status == TOOL_GO_ON ? compare_settings_limits(settings, path, NULL) : status;
}

/* A set of the file, joined with the values that the file gives to all sets and with those of the command line. */
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
