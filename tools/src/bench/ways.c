/* ways.c - reads the option --precond of bench: preconditioners with options of their own. */
#include "tools/src/bench/bench_settings.h"
#include "tools/src/common/text.h"
#include "tools/src/peers/peers.h"

#include <stdio.h>
#include <string.h>

static bool is_among(const char *name, const char *const list[])
{
  for (size_t i = 0; list[i]; i++)
    if (strcmp(list[i], name) == 0) return true;
  return false;
}

/* Options that bench fixes: kernels are timed without scaling, in natural order and that of --ordering; the correction
 * iteration is the paper's, without damping and on the whole grid. */
static const char *const fixed[] = {"solver",    "max-iterations", "max_iterations", "atol",  "ordering", "tile-size",
                                    "tile_size", "scale",          "damping",        "parts", NULL};

int bench_option_set(karst_context *context, karst_options *options, const char *name, const char *value)
{
  for (const struct tool_option *option = bench_options; option->name; option++)
    if (strcmp(option->name, name) == 0 && strcmp(name, "precond") != 0)
      return tool_fail(TOOL_FAILED, "'%s=%s' cannot be set by --set or --precond; use --%s", name, value, name);
  if (is_among(name, fixed))
    return tool_fail(TOOL_FAILED, "'%s=%s' cannot be set: bench fixes this option", name, value);
  const karst_status status = karst_options_set(options, name, value);
  const char *why = status ? tool_peers_explain(name, value) : NULL;
  if (why) return tool_fail(TOOL_FAILED, "'%s=%s' cannot be set: %s", name, value, why);
  return status ? tool_fail_library(context, status) : TOOL_GO_ON;
}

bool bench_has_level(const karst_options *options)
{
  const char *precond;
  if (karst_options_get(options, "precond", &precond) || strcmp(precond, "auto") == 0)
    return false; /* it chooses one */
  return karst_options_used(options, "level");
}

/* Finds the devices that a preconditioner and its style, which may be "", are for. */
static void find_devices(const char *precond, const char *style, bench_way *way)
{
  static const char *const cpu[] = {"sequential", "wavefront", "lines", NULL};
  static const char *const gpu[] = {"acc", "cl", "mixed", "tiles", NULL};
  way->cpu = !is_among(style, gpu) && strcmp(precond, "cusparse") != 0;
  way->gpu = !is_among(style, cpu) && strcmp(precond, "hypre") != 0;
  way->alone = strcmp(style, "sequential") == 0;
}

/* Sets what one part of an item says, the part behind a ':'. */
static int set_part(karst_context *context, const char *precond, char *part, bench_way *way)
{
  char style[64];
  char *value = strchr(part, '=');

  if (value) {
    *value++ = '\0';
    return bench_option_set(context, way->options, part, value);
  }
  find_devices(precond, part, way);
  snprintf(style, sizeof style, "%s-style", precond);
  return bench_option_set(context, way->options, style, part);
}

static int parse_way(karst_context *context, const bench_settings *settings, const char *item, bench_way *way)
{
  char text[sizeof way->name], *rest = text;

  snprintf(text, sizeof text, "%s", item);
  memcpy(way->name, text, sizeof text);
  const karst_status status = karst_options_copy(context, settings->options, &way->options);
  if (status) return tool_fail_library(context, status);
  const char *precond = strsep(&rest, ":");
  find_devices(precond, "", way);
  int exit_status = bench_option_set(context, way->options, "precond", precond);
  while (rest && exit_status == TOOL_GO_ON) exit_status = set_part(context, precond, strsep(&rest, ":"), way);
  return exit_status;
}

/* Whether an item of the mode's own list is for one of the devices that are asked for. *known: whether this build has
 * its preconditioner and style. */
static bool is_wanted(karst_context *context, const bench_settings *settings, const char *item, bool *known)
{
  char name[64], option[80];
  bench_way way;
  karst_options *options;
  const size_t length = strcspn(item, ":");
  const char *style = item[length] ? item + length + 1 : "";

  snprintf(name, sizeof name, "%.*s", (int)length, item);
  snprintf(option, sizeof option, "%s-style", name);
  find_devices(name, style, &way);
  *known = !karst_options_copy(context, settings->options, &options) && !karst_options_set(options, "precond", name) &&
           (!*style || !karst_options_set(options, option, style));
  karst_options_destroy(options);
  return (way.cpu && settings->cpu) || (way.gpu && settings->gpu);
}

/* Writes the item that takes, of each VALUE A/B/..., the one that number says; returns false past the last. */
static bool pick_values(const char *item, int number, char *text)
{
  while (*item) {
    const size_t before = strcspn(item, "="); /* the "=" too, where there is one */
    const size_t head = before + (item[before] ? 1 : 0);
    const char *value = item + head, *end = value + strcspn(value, ":");
    int choices = 1;
    memcpy(text, item, head);
    text += head;
    for (const char *c = value; c < end; c++) choices += *c == '/';
    for (int skip = number % choices; skip > 0; skip--) value += strcspn(value, "/") + 1;
    number /= choices;
    const size_t length = strcspn(value, "/:");
    memcpy(text, value, length);
    text += length;
    item = end;
  }
  *text = '\0';
  return number == 0;
}

/* Gives a way of --solves its level, or -1 for none, and its order. */
static karst_status finish_way(const char *item, int level, bool reordered, const bench_settings *settings,
                               bench_way *way)
{
  karst_status status = level < 0 ? KARST_SUCCESS : karst_options_set_integer(way->options, "level", level);
  if (!status && reordered) status = karst_options_set(way->options, "ordering", settings->ordering);
  if (!status && reordered) status = karst_options_set_integer(way->options, "tile-size", settings->tile_size);
  if (level >= 0) snprintf(way->name, sizeof way->name, "%.*s(%d)", (int)sizeof way->name - 40, item, level);
  if (reordered) tool_append(way->name, sizeof way->name, " %s", settings->ordering);
  return status;
}

/* Appends the ways of an item: that of --solves has one for each level, if the preconditioner has levels, and order. */
static int add_ways(karst_context *context, const char *item, bench_settings *settings)
{
  const int orders = settings->mode->way_each_level && settings->ordering ? 2 : 1;
  int levels = 1;

  for (int l = 0; l < levels * orders; l++) {
    if (settings->ways == BENCH_WAYS)
      return tool_fail(TOOL_FAILED, "--precond: more than %d preconditioners", BENCH_WAYS);
    bench_way *way = &settings->way[settings->ways++];
    const int exit_status = parse_way(context, settings, item, way);
    if (exit_status != TOOL_GO_ON) return exit_status;
    if (!settings->mode->way_each_level) continue;
    const bool leveled = bench_has_level(way->options);
    if (leveled) levels = settings->levels;
    const karst_status status =
        finish_way(item, leveled ? settings->level[l / orders] : -1, l % orders == 1, settings, way);
    if (status) return tool_fail_library(context, status);
  }
  return TOOL_GO_ON;
}

int bench_ways_parse(karst_context *context, const char *list, bool optional, bench_settings *settings)
{
  char item[sizeof settings->way->name], one[sizeof item];
  bool known;

  for (const char *next = list; next;) {
    const size_t length = strcspn(next, ",");
    if (length == 0 || length >= sizeof item)
      return tool_fail(TOOL_FAILED, "--precond: not a list of 1 to %d preconditioners, such as iluk,fgbilu:tiles",
                       BENCH_WAYS);
    snprintf(item, sizeof item, "%.*s", (int)length, next);
    next = next[length] ? next + length + 1 : NULL;
    if (optional && !is_wanted(context, settings, item, &known)) continue;
    if (optional && !known) {
      fprintf(stderr, "%s: note: %s is left out: this build does not have it\n", tool_name(), item);
      continue;
    }
    for (int number = 0; pick_values(item, number, one); number++) {
      const int exit_status = add_ways(context, one, settings);
      if (exit_status != TOOL_GO_ON) return exit_status;
    }
  }
  return TOOL_GO_ON;
}

/* The level of fill of a reference is for its few iterations, not for time. */
int bench_reference_parse(karst_context *context, bench_settings *settings)
{
  bench_way way = {.options = NULL};
  if (!settings->errors) return TOOL_GO_ON;
  if (strlen(settings->errors) >= sizeof way.name)
    return tool_fail(TOOL_FAILED, "--errors: not a preconditioner such as iluk: '%s'", settings->errors);
  const int exit_status = parse_way(context, settings, settings->errors, &way);
  settings->reference = way.options;
  if (exit_status != TOOL_GO_ON) return exit_status;
  if (!way.cpu) return tool_fail(TOOL_FAILED, "--errors %s: the reference is solved on the CPU", settings->errors);
  if (!bench_has_level(way.options)) return TOOL_GO_ON;
  const karst_status status = karst_options_set_integer(way.options, "level", BENCH_REFERENCE_LEVEL);
  return status ? tool_fail_library(context, status) : TOOL_GO_ON;
}
