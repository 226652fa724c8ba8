/* solve_view.c - what --view prints: everything that was chosen, as PETSc's -ksp_view does. */
#include "solve.h"
#include "text.h"

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

/* Prints an option and says whether its value is the default. Returns its value. */
static const char *print_option(const karst_options *options, const karst_options *defaults, const char *name,
                                const karst_option_info *info, int depth)
{
  const char *value = tool_option_text(options, name);
  printf("%*s%-*s ", 2 + 2 * depth, "", 28 - 2 * depth, name);
  tool_print_safely(stdout, *value ? value : "none");
  printf("%s\n", is_same(info->kind, value, tool_option_text(defaults, name)) ? " (default)" : "");
  return value;
}

/* Prints the options of a preconditioner and, deeper by one, those of the ones inside it. With the stage "" these are
 * the options of the solver too. */
static void print_options(const karst_context *context, const karst_options *options, const karst_options *defaults,
                          const char *stage, int depth)
{
  karst_option_info info;
  const char *text;
  char name[256];
  for (size_t i = 0; karst_options_info(context, i, &info); i++) {
    snprintf(name, sizeof name, "%s%s", stage, info.name);
    if (karst_options_get(options, name, &text) || !karst_options_used(options, name)) continue;
    if (*stage && strcmp(info.name, "precond") == 0) continue; /* printed as the stage itself */
    if (info.experiment && is_same(info.kind, text, tool_option_text(defaults, name))) continue;
    print_option(options, defaults, name, &info, depth);
    if (info.kind != KARST_OPTION_PRECOND || depth == DEEPEST) continue;
    snprintf(name, sizeof name, "%s%s.", stage, info.name);
    print_options(context, options, defaults, name, depth + 1);
  }
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

int solve_print_view(karst_context *context, const struct solve_report *report)
{
  const struct solve_settings *settings = report->settings;
  karst_options *defaults;
  const karst_status status = karst_options_create(context, &defaults);
  if (status) return tool_fail_library(context, status);
  printf("\nview: matrix ");
  tool_print_safely(stdout, settings->matrix);
  printf(", rhs ");
  tool_print_safely(stdout, report->rhs);
  printf(", device %s\n", report->device);
  printf("options read:\n");
  print_options(context, settings->options, defaults, "", 0);
  printf("made of them:\n");
  print_numbers(report);
  karst_options_destroy(defaults);
  return TOOL_GO_ON;
}
