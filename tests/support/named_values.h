/* named_values.h - reads a named value of a preconditioner or a solver. */
#ifndef KARST_TESTS_SUPPORT_NAMED_VALUES_H
#define KARST_TESTS_SUPPORT_NAMED_VALUES_H

#include "karst.h"

#include <string.h>

/* The number that is reported under a name; -1 if the name is missing or has a text. */
static inline double tap_precond_number(const karst_precond *precond, const char *name)
{
  karst_value value;
  for (size_t i = 0; karst_precond_report(precond, i, &value); i++)
    if (strcmp(value.name, name) == 0 && !value.text) return value.number;
  return -1;
}

static inline double tap_solver_number(const karst_solver *solver, const char *name)
{
  karst_value value;
  for (size_t i = 0; karst_solver_report(solver, i, &value); i++)
    if (strcmp(value.name, name) == 0 && !value.text) return value.number;
  return -1;
}

/* The text that is reported under a name; "" if there is none. It lasts as long as the report. */
static inline const char *tap_solver_text(const karst_solver *solver, const char *name)
{
  karst_value value;
  for (size_t i = 0; karst_solver_report(solver, i, &value); i++)
    if (strcmp(value.name, name) == 0 && value.text) return value.text;
  return "";
}

#endif
