/* auto_steps.h - what tests of the preconditioner auto do with its solvers. */
#ifndef KARST_TESTS_SUPPORT_AUTO_STEPS_H
#define KARST_TESTS_SUPPORT_AUTO_STEPS_H

#include "tests/support/auto_solver.h"

/* A solver of the problem with auto, set up. */
static inline karst_solver *set_up(const struct problem *p, const char *const (*given)[2])
{
  karst_solver *solver = make_solver(p, given);
  tap_need(p->context, karst_solver_setup(solver, p->A), "set-up");
  return solver;
}

/* Whether the choice of auto contains this text. */
static inline bool chooses(const karst_solver *solver, const char *words)
{
  char choice[VALUE];
  return strstr(text_of(solver, "auto_choice", choice), words) != NULL;
}

#endif
