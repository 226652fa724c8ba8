/* solve_refusal.c - see solve_refusal.h. */
#include "tools/src/solve/solve_refusal.h"

#include <stdio.h>
#include <string.h>

void refusal_note_missing(karst_context *reader, const karst_matrix *whole, const struct solve_report *report,
                          char text[REFUSAL_SIZE])
{
  char hint[SOLVE_HINT_SIZE];
  if (!whole || !karst_matrix_check_diagonal(whole)) return;
  hint_for_refusal(reader, whole, report->settings->stored_triangle, hint);
  snprintf(text, REFUSAL_SIZE, "%s; %s", karst_context_error(reader), hint);
}

/* What to try if a method finds no grid. A rank has the grid of its own rows alone. */
static const char *grid_hint(const struct solve_report *report)
{
  if (report->ranks <= 1) return "give it with --grid NXxNYxNZ, and its active cells with --actnum FILE";
  if (strcmp(report->partition, "even") != 0)
    return "a rank looks for a grid in its own rows, which the partition has taken from all over: try --partition even";
  return "a rank looks for a grid in its own rows: try a number of ranks that divides the layers of the grid, or its "
         "lines if it has one layer";
}

int refusal_report(karst_context *context, karst_status status, const karst_matrix *A, const char *noted,
                   const struct solve_report *report)
{
  char hint[SOLVE_HINT_SIZE] = "", text[REFUSAL_SIZE];
  const char *about = report->settings->matrix;
  const bool missing = status == KARST_ERROR_MATRIX && strstr(karst_context_error(context), "no diagonal");
  if (missing && *noted) return tool_fail_about(context, karst_context_fail(context, status, noted), about);
  if (missing && !report->settings->ranks) hint_for_refusal(context, A, report->settings->stored_triangle, hint);
  if (status == KARST_ERROR_MATRIX && strstr(karst_context_error(context), "no grid in natural order"))
    snprintf(hint, sizeof hint, "%s", grid_hint(report));
  if (!*hint) return tool_fail_about(context, status, about);
  snprintf(text, sizeof text, "%s; %s", karst_context_error(context), hint);
  return tool_fail_about(context, karst_context_fail(context, status, text), about);
}
