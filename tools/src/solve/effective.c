/* effective.c - see effective.h. */
#include "tools/src/solve/effective.h"

#include <stdio.h>
#include <string.h>

/* The last value of a name that the solver reports, because the library's own values follow those of registered
 * methods; no text and 0 if it reports none, or the option is not auto. */
static karst_value find(const karst_options *given, const karst_solver *solver, const char *option, const char *name)
{
  karst_value value, found = {.number = 0};
  if (!solver || strcmp(tool_option_text(given, option), "auto") != 0) return found;
  for (size_t i = 0; karst_solver_report(solver, i, &value); i++)
    if (strcmp(value.name, name) == 0) found = value;
  return found;
}

/* Cuts the next word off the text, into a place of size; false at its end. */
static bool take_word(const char **text, char *word, size_t size)
{
  static const char blank[] = " ";
  *text += strspn(*text, blank);
  const size_t length = strcspn(*text, blank);
  snprintf(word, size, "%.*s", (int)length, *text);
  *text += length;
  return length > 0;
}

static karst_status set_choice(karst_options *options, const char *choice)
{
  char name[128], value[128];
  karst_status status = KARST_SUCCESS;
  while (!status && take_word(&choice, name, sizeof name) && take_word(&choice, value, sizeof value))
    status = karst_options_set(options, name + strspn(name, "-"), value);
  return status;
}

int tool_effective_options(karst_context *context, const karst_options *given, const karst_solver *solver,
                           karst_options **effective)
{
  const char *choice = find(given, solver, "precond", "auto_choice").text;
  const char *ordering = find(given, solver, "ordering", "ordering_used").text;
  const char *driver = find(given, solver, "solver", "solver_used").text;
  const int restart = (int)find(given, solver, "solver", "restart_used").number;
  karst_status status = karst_options_copy(context, given, effective);
  if (!status && choice) status = set_choice(*effective, choice);
  if (!status && driver) status = karst_options_set(*effective, "solver", driver);
  if (!status && restart > 0) status = karst_options_set_integer(*effective, "restart", restart);
  if (!status && ordering && !choice) status = karst_options_set(*effective, "ordering", ordering);
  if (!status) return TOOL_GO_ON;
  karst_options_destroy(*effective);
  *effective = NULL;
  return tool_fail_library(context, status);
}

bool tool_updates_choose(const karst_options *given)
{
  return strcmp(tool_option_text(given, "precond"), "auto") == 0 &&
         strcmp(tool_option_text(given, "auto-learn"), "no") != 0;
}

const char *tool_precond_text(const karst_options *given, const karst_options *effective, char *text, size_t size)
{
  const char *name = tool_option_text(given, "precond"), *chosen = tool_option_text(effective, "precond");
  const bool same = strcmp(name, chosen) == 0;
  snprintf(text, size, "%s%s%s", name, same ? "" : ": ", same ? "" : chosen);
  return text;
}
