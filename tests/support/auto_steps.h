/* auto_steps.h - what tests of auto do with its solvers, on a clock of their own. */
#ifndef KARST_TESTS_SUPPORT_AUTO_STEPS_H
#define KARST_TESTS_SUPPORT_AUTO_STEPS_H

#include "tests/support/auto_solver.h"
#include "solver/solver.h"

/* A clock for one solver at a time. It moves on by an update whenever it is read, and by an iteration at each of the
 * monitor's calls. Both cost as many seconds as the preconditioner has entries over those of the matrix, an iteration
 * one more, for the product. */
static const karst_solver *timed_solver;
static double timed_now;

static inline double timed_factors(void)
{
  const karst_precond *M = timed_solver->precond;
  double entries = M ? (double)M->factor_entries : 0;
  for (int i = 0; M && i < M->stages; i++) entries += (double)M->stage[i]->factor_entries;
  return M ? entries / (double)karst_matrix_entries(M->A) : 0;
}

static inline double timed_clock(void) { return timed_now += timed_factors(); }

static inline karst_decision timed_iteration(void *user, int iteration, double residual)
{
  (void)user;
  (void)residual;
  if (iteration > 0) timed_now += 1 + timed_factors();
  return KARST_GO_ON;
}

/* Gives the solver this clock, from now on the only solver that has it. */
static inline void set_clock(karst_solver *solver)
{
  timed_solver = solver;
  timed_now = 0;
  solver->clock = timed_clock;
  karst_solver_monitor(solver, timed_iteration, NULL);
}

/* A solver of the problem with auto and this clock, set up. */
static inline karst_solver *set_up(const struct problem *p, const char *const (*given)[2])
{
  karst_solver *solver = make_solver(p, given);
  set_clock(solver);
  tap_need(p->context, karst_solver_setup(solver, p->A), "set-up");
  return solver;
}

/* The same without measurements: the choice is that of the rules. */
static inline karst_solver *set_up_by_rules(const struct problem *p, const char *const (*given)[2])
{
  karst_solver *solver = make_solver(p, given);
  tap_need(p->context, karst_options_set(solver->given, "auto-learn", "no"), "auto-learn");
  tap_need(p->context, karst_solver_setup(solver, p->A), "set-up");
  return solver;
}

/* Lets auto believe that block Jacobi would have saved a lot, so that the next update begins a trial of it. */
static inline void promise_jacobi(karst_solver *solver)
{
  karst_auto *automatic = &solver->automatic;
  for (int i = 0; i < automatic->ladder.count; i++)
    if (strcmp(automatic->ladder.rung[i].precond->name, "jacobi") == 0) automatic->figures[i].saved = 1e12;
}

/* Whether the choice of auto contains this text. */
static inline bool chooses(const karst_solver *solver, const char *words)
{
  char choice[VALUE];
  return strstr(text_of(solver, "auto_choice", choice), words) != NULL;
}

#endif
