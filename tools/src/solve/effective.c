/* effective.c - see effective.h. */
#include "tools/src/solve/effective.h"

#include <stdio.h>
#include <string.h>

/* The value auto_choice, such as "--precond rrb --ordering natural"; NULL where no choice was made. A value of that
 * name which a registered method reports is no choice. */
static const char *find_choice(const karst_options *given, const karst_solver *solver)
{
  karst_value value;
  if (!solver || strcmp(tool_option_text(given, "precond"), "auto") != 0) return NULL;
  for (size_t i = 0; karst_solver_report(solver, i, &value); i++)
    if (strcmp(value.name, "auto_choice") == 0) return value.text;
  return NULL;
}

/* The value NAME_used, in the place of auto for the option NAME; NULL where no choice was made. It comes behind those
 * of registered methods. */
static const char *find_used(const karst_options *given, const karst_solver *solver, const char *name)
{
  char wanted[64];
  const char *used = NULL;
  karst_value value;
  snprintf(wanted, sizeof wanted, "%s_used", name);
  if (!solver || strcmp(tool_option_text(given, name), "auto") != 0) return NULL;
  for (size_t i = 0; karst_solver_report(solver, i, &value); i++)
    if (strcmp(value.name, wanted) == 0) used = value.text;
  return used;
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

/* The value restart_used, of gmres where auto has gone on with it; 0 where it has not. */
static int find_restart(const karst_options *given, const karst_solver *solver)
{
  karst_value value;
  if (!solver || strcmp(tool_option_text(given, "solver"), "auto") != 0) return 0;
  for (size_t i = 0; karst_solver_report(solver, i, &value); i++)
    if (strcmp(value.name, "restart_used") == 0) return (int)value.number;
  return 0;
}

int tool_effective_options(karst_context *context, const karst_options *given, const karst_solver *solver,
                           karst_options **effective)
{
  const char *choice = find_choice(given, solver), *ordering = find_used(given, solver, "ordering");
  const char *driver = find_used(given, solver, "solver");
  const int restart = find_restart(given, solver);
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
