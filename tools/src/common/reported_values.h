/* reported_values.h - copies of the named values that a solver reports, which stay valid when the solver continues or
 * is destroyed. */
#ifndef KARST_TOOLS_SRC_COMMON_REPORTED_VALUES_H
#define KARST_TOOLS_SRC_COMMON_REPORTED_VALUES_H

#include "karst.h"

#include <stdbool.h>

/* One block of memory holds the values and, behind them, their texts. Zero is an empty list. */
struct tool_values {
  size_t count;
  karst_value *value; /* [count] */
};

/* Takes what the solver reports in place of what values has. False: no memory, and values is empty. */
bool tool_values_take(struct tool_values *values, const karst_solver *solver);
/* Leaves an empty list. */
void tool_values_free(struct tool_values *values);

/* The number that a solver reports under a name; absent where it reports none, or a text. */
double tool_solver_number(const karst_solver *solver, const char *name, double absent);

/* Copies the text that a preconditioner reports under a name into a place of size bytes; "" where it reports none. */
void tool_precond_report(const karst_precond *precond, const char *name, char *text, size_t size);

/* The value of a name, or NULL. */
karst_value *tool_value(const struct tool_values *values, const char *name);
/* The number of a name; absent if the name has no value or a text. */
double tool_value_number(const struct tool_values *values, const char *name, double absent);
/* The text of a name; NULL if the name has no value or a number. */
const char *tool_value_text(const struct tool_values *values, const char *name);

#endif
