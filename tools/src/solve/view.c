/* view.c - prints for --view everything that was chosen, as PETSc's -ksp_view does. */
#include "tools/src/solve/solve_report.h"
#include "tools/src/common/text.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { DEEPEST = 4 }; /* preconditioners inside preconditioners */

/* Whether two values are the same to an option. */
static bool is_same(karst_option_kind kind, const char *a, const char *b)
{
  if (kind == KARST_OPTION_INTEGER || kind == KARST_OPTION_REAL) return strtod(a, NULL) == strtod(b, NULL);
  return strcmp(a, b) == 0;
}

/* The sets of options that a view is made of. */
struct view {
  const karst_context *context;
  const karst_options *given, *effective;
  karst_options *defaults; /* with the preconditioners printed so far, whose options may have defaults of their own */
};

/* Whether an option is shown: the methods read it, or auto reads it and the user has set it. */
static bool is_seen(const struct view *view, const char *name, const karst_option_info *info)
{
  const char *text, *usual = tool_option_text(view->defaults, name);
  if (karst_options_get(view->effective, name, &text)) return false;
  const bool same = is_same(info->kind, text, usual);
  return karst_options_used(view->effective, name) ? !info->experiment || !same
                                                   : karst_options_used(view->given, name) && !same;
}

/* Prints an option and says whether its value is the default. */
static void print_option(const struct view *view, const char *name, const karst_option_info *info, int depth)
{
  const char *value = tool_option_text(view->effective, name);
  printf("%*s%-*s ", 2 + 2 * depth, "", 28 - 2 * depth, name);
  tool_print_safely(stdout, *value ? value : "none");
  if (!is_same(info->kind, value, tool_option_text(view->given, name)))
    printf(" (chosen by auto)\n");
  else
    printf("%s\n", is_same(info->kind, value, tool_option_text(view->defaults, name)) ? " (default)" : "");
}

/* Prints the options of a preconditioner and, deeper by one, those of the ones inside it. With the stage "" these are
 * the options of the solver too. */
static karst_status print_options(const struct view *view, const char *stage, int depth)
{
  karst_option_info info;
  karst_status status = KARST_SUCCESS;
  char name[256];
  for (size_t i = 0; !status && karst_options_info(view->context, i, &info); i++) {
    const bool chooses = strcmp(info.name, "precond") == 0, contains = info.kind == KARST_OPTION_PRECOND;
    snprintf(name, sizeof name, "%s%s", stage, info.name);
    if (!is_seen(view, name, &info)) continue;
    if (*stage && chooses) continue; /* printed as the stage itself */
    print_option(view, name, &info, depth);
    if (chooses || contains) status = karst_options_set(view->defaults, name, tool_option_text(view->effective, name));
    if (!contains || depth == DEEPEST) continue;
    if (!status && snprintf(name, sizeof name, "%s%s.", stage, info.name) < (int)sizeof name)
      status = print_options(view, name, depth + 1);
  }
  return status;
}

static void print_numbers(const struct solve_report *report)
{
  const karst_solver_info *info = &report->info;
  printf("  rows                         %lld, in blocks of %d\n", (long long)report->rows, report->block);
  printf("  stored entries               %lld\n", (long long)report->entries);
  printf("  factor entries               %lld, %.3f times the stored\n", (long long)info->factor_entries, info->fill);
  printf("  memory                       %lld bytes\n", (long long)info->memory);
  for (size_t i = 0; i < report->values.count; i++) {
    const karst_value *value = &report->values.value[i];
    printf("  %-28s ", value->name);
    if (value->text)
      tool_print_safely(stdout, value->text);
    else
      printf("%.10g%s%s", value->number, *value->unit ? " " : "", value->unit);
    printf("\n");
  }
}

/* Whether triangular solves of the preconditioner, or of one inside it, go by level sets of the rows. Those of fgbilu
 * go by a grid's, and Jacobi sweeps by none. */
static bool goes_by_levels(const struct tool_values *values)
{
  static const char levels[] = "levels_lower";
  char name[256];
  for (size_t i = 0; i < values->count; i++) {
    const char *found = values->value[i].name, *end = strstr(found, levels);
    if (!end || strcmp(end, levels) != 0) continue;
    snprintf(name, sizeof name, "%.*strisolve_used", (int)(end - found), found);
    const char *trisolve = tool_value_text(values, name);
    if (!trisolve || strcmp(trisolve, "jacobi") != 0) return true;
  }
  return false;
}

/* Prints in a line what the order of the block rows costs. */
static int print_order(karst_context *context, const karst_solver *solver)
{
  karst_order_cost cost;
  const karst_status status = karst_solver_order_cost(solver, &cost);
  if (status) return tool_fail_library(context, status);
  printf("  order                        %lld level%s of at most %lld block row%s", (long long)cost.levels,
         tool_plural(cost.levels), (long long)cost.widest_level, tool_plural(cost.widest_level));
  if (cost.tiles > 0)
    printf("; %lld tile%s in %lld colour%s, %lld level%s of tiles", (long long)cost.tiles, tool_plural(cost.tiles),
           (long long)cost.colours, tool_plural(cost.colours), (long long)cost.tile_levels,
           tool_plural(cost.tile_levels));
  printf("; triangular solves move %lld bytes, about %.2g s", (long long)cost.bytes, cost.seconds_bytes);
  if (cost.seconds_steps > 0) printf(", and wait about %.2g s", cost.seconds_steps);
  if (cost.natural_levels == 0 && cost.levels > 0)
    printf("; factors in natural order are too large to be counted");
  else if (cost.natural_levels != cost.levels || cost.tiles > 0)
    printf("; in natural order %lld level%s, about %.2g s", (long long)cost.natural_levels,
           tool_plural(cost.natural_levels), cost.natural_seconds);
  printf("\n");
  return TOOL_GO_ON;
}

int solve_print_view(karst_context *context, const karst_solver *solver, const struct solve_report *report)
{
  const struct solve_settings *settings = report->settings;
  karst_options *defaults;
  karst_status status = karst_options_create(context, &defaults);
  if (status) return tool_fail_library(context, status);
  printf("\nview: matrix ");
  tool_print_safely(stdout, settings->matrix);
  printf(", rhs ");
  tool_print_safely(stdout, report->rhs);
  printf(", device %s\n", report->device);
  printf("options read:\n");
  status = print_options(&(struct view){context, settings->options, report->effective, defaults}, "", 0);
  karst_options_destroy(defaults);
  if (status) return tool_fail_library(context, status);
  printf("made of them:\n");
  print_numbers(report);
  return goes_by_levels(&report->values) ? print_order(context, solver) : TOOL_GO_ON;
}
