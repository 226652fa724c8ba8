/* auto_solver.h - solvers with the preconditioner auto for gallery matrices, and texts of their reports. */
#ifndef KARST_TESTS_SUPPORT_AUTO_SOLVER_H
#define KARST_TESTS_SUPPORT_AUTO_SOLVER_H

#include "tests/support/named_values.h"
#include "tests/support/problem.h"

#include <stdio.h>

enum { VALUE = 128 }; /* bytes for a text of a report */

static inline karst_options *make_options(karst_context *context, const char *const (*given)[2])
{
  karst_options *options = options_of(context, PAIRS("precond", "auto", "solver", "gmres"));
  for (; given && (*given)[0]; given++)
    tap_need(context, karst_options_set(options, (*given)[0], (*given)[1]), "option");
  return options;
}

static inline karst_solver *make_solver(const struct problem *p, const char *const (*given)[2])
{
  karst_solver *solver;
  karst_options *options = make_options(p->context, given);
  tap_need(p->context, karst_solver_create(p->context, options, &solver), "solver");
  karst_options_destroy(options);
  return solver;
}

/* Copies a text of the solver's report, "" where there is none. */
static inline const char *text_of(const karst_solver *solver, const char *name, char text[VALUE])
{
  snprintf(text, VALUE, "%s", tap_solver_text(solver, name));
  return text;
}

#define GIVEN(...)                                                                                                     \
  (const char *const[][2])                                                                                             \
  {                                                                                                                    \
    __VA_ARGS__, { NULL, NULL }                                                                                        \
  }

#endif
