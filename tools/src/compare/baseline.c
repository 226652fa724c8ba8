/* baseline.c - the baseline of a batch: the values of the case that others are compared with. A value that no case has
 * is refused before hours of work. */
#include "tools/src/compare/compare.h"
#include "tools/src/common/text.h"

#include <stdlib.h>
#include <string.h>

/* The value of a name in the case, as text, or NULL. A block size that the matrix chooses is in its row. */
static const char *value_of_case(const struct compare_case *one, const char *name, char text[32])
{
  const json_t *value = json_object_get(one->what, name);
  if (json_is_null(value) && strcmp(name, "block") == 0)
    value = json_object_get(json_object_get(one->row, "solve"), name);
  if (!value) value = json_object_get(json_object_get(one->what, "options"), name);
  if (!json_is_integer(value)) return json_string_value(value);
  snprintf(text, 32, "%lld", (long long)json_integer_value(value));
  return text;
}

/* Whether only a run will show the value: a block size that the matrix chooses. */
static bool is_left(const struct compare_case *one, const char *name)
{
  return strcmp(name, "block") == 0 && json_is_null(json_object_get(one->what, name)) &&
         !json_object_get(json_object_get(one->row, "solve"), name);
}

/* The text of a value in the way that cases write it. */
struct wanted {
  struct compare_name name;
  char value[512];
};

/* Refuses a value that no case has, and names those that cases have. */
static int check_occurs(const struct compare_cases *cases, const struct wanted *wanted)
{
  enum { SHOWN = 10 };
  char number[32];
  const char *value;
  json_t *known = json_object();
  bool has = cases->count == 0 || !known;
  for (size_t i = 0; i < cases->count && !has; i++) {
    value = value_of_case(&cases->at[i], wanted->name.name, number);
    has = is_left(&cases->at[i], wanted->name.name) || (value && strcmp(value, wanted->value) == 0);
    if (value) json_object_set_new_nocheck(known, value, json_true());
  }
  char list[1024] = "";
  size_t count = 0;
  json_t *each;
  json_object_foreach(known, value, each)
  {
    if (count++ == SHOWN) break; /* no more than fit */
    tool_append(list, sizeof list, "%s%.40s", *list ? ", " : "", value);
  }
  const bool all = count == json_object_size(known) && count <= SHOWN;
  json_decref(known);
  if (has) return TOOL_GO_ON;
  if (!*list)
    return tool_fail(TOOL_FAILED, "--baseline %s=%s: no case sets %s", wanted->name.name, wanted->value,
                     wanted->name.name);
  return tool_fail(TOOL_FAILED, "--baseline %s=%s: no case has this value; the cases have %s%s", wanted->name.name,
                   wanted->value, list, all ? "" : ", ...");
}

/* Whether a case has all of the values, or may turn out to. */
static bool has_all(const struct compare_cases *cases, size_t i, const struct wanted *wanted, size_t count)
{
  const struct compare_case *one = &cases->at[i];
  for (size_t k = 0; k < count; k++) {
    char number[32];
    const char *value = value_of_case(one, wanted[k].name.name, number);
    if (!is_left(one, wanted[k].name.name) && !(value && strcmp(value, wanted[k].value) == 0)) return false;
  }
  return true;
}

/* Refuses values that cases have, but none has them together. */
static int check_together(const struct compare_cases *cases, const struct wanted *wanted, size_t count,
                          const char *given)
{
  size_t i = 0;
  while (i < cases->count && !has_all(cases, i, wanted, count)) i++;
  if (i < cases->count || cases->count == 0) return TOOL_GO_ON;
  return tool_fail(TOOL_FAILED, "--baseline %s: no case has all of these values", given);
}

static int fail_part(const char *given)
{
  char list[256] = "";
  for (size_t i = 0; compare_own(i); i++)
    if (compare_own(i)->is_listed && !compare_own(i)->is_operand)
      tool_append(list, sizeof list, "%s, ", compare_own(i)->name);
  return tool_fail(TOOL_FAILED,
                   "--baseline takes NAME=VALUE,... with names of %sand the options of the library, not '%s'", list,
                   given);
}

/* Reads one part, of length letters, of the text that was given. */
static int read_part(const struct compare_plan *plan, const char *part, size_t length, const char *given,
                     struct wanted *wanted)
{
  const size_t name = strcspn(part, "=");
  char text[sizeof wanted->name.name] = "", value[sizeof wanted->value] = "";
  if (name < length && name < sizeof text) memcpy(text, part, name);
  if (name + 1 < length && length - name - 1 < sizeof value) memcpy(value, part + name + 1, length - name - 1);
  if (!*text || !*value || !compare_find_name(plan, text, &wanted->name)) return fail_part(given);
  const struct compare_own *own = compare_find_own(wanted->name.name);
  if (own && own->is_operand) return fail_part(given);
  compare_canonical(&wanted->name, value, wanted->value, sizeof wanted->value);
  return TOOL_GO_ON;
}

/* Whether there are cases on the CPU and others. */
static bool has_devices(const struct compare_cases *cases)
{
  bool cpu = false, other = false;
  for (size_t i = 0; i < cases->count; i++) {
    const char *device = json_string_value(json_object_get(cases->at[i].what, "device"));
    const bool is_cpu = device && strcmp(device, "cpu") == 0;
    cpu |= is_cpu;
    other |= !is_cpu;
  }
  return cpu && other;
}

int compare_choose_baseline(const struct compare_plan *plan, const struct compare_cases *cases, const char *given,
                            char **baseline)
{
  size_t length, part, parts = 1, count = 0;
  int status = TOOL_GO_ON;
  *baseline = NULL;
  if (!given && !has_devices(cases)) return TOOL_GO_ON;
  if (!given) given = "device=cpu";
  for (const char *c = given; *c; c++) parts += *c == ',';
  struct wanted *wanted = malloc(parts * sizeof *wanted);
  FILE *memory = wanted ? open_memstream(baseline, &length) : NULL;
  for (const char *at = given; memory && at && status == TOOL_GO_ON; at = at[part] ? at + part + 1 : NULL) {
    part = strcspn(at, ",");
    status = read_part(plan, at, part, given, &wanted[count]);
    if (status == TOOL_GO_ON) status = check_occurs(cases, &wanted[count]);
    if (status != TOOL_GO_ON) break;
    fprintf(memory, "%s%s=%s", count > 0 ? "," : "", wanted[count].name.name, wanted[count].value);
    count++;
  }
  if (memory && status == TOOL_GO_ON) status = check_together(cases, wanted, count, given);
  free(wanted);
  if (!memory) return tool_fail_memory("the baseline");
  return fclose(memory) != 0 && status == TOOL_GO_ON ? tool_fail_memory("the baseline") : status;
}
