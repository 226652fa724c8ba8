/* next.c - see next.h. */
#include "solver/next.h"

#include <math.h>
#include <stdlib.h>

static const struct karst_krylov_ops *chosen_ops(const karst_solver *solver)
{
  return karst_krylov_table[solver->chosen.solver];
}

/* Whether the driver that was chosen is made of two. */
static bool is_made_of_two(const karst_solver *solver) { return chosen_ops(solver)->then; }

/* If more iterations are allowed, the first driver may use half of them. */
enum { FEW = 2000 };

void karst_next_share(karst_solver *solver)
{
  solver->running = solver->krylov;
  solver->share = solver->allowed;
  if (is_made_of_two(solver) && solver->share.max_iterations > FEW) solver->share.max_iterations /= 2;
  solver->krylov->limits = &solver->share;
}

/* A solve without a target is meant to end when it stagnates. */
bool karst_next_is_due(const karst_solver *solver, const karst_result *result)
{
  const karst_krylov_limits *limits = &solver->allowed;
  if (!is_made_of_two(solver) || solver->running != solver->krylov) return false;
  if (result->iterations >= limits->max_iterations || (limits->rtol == 0 && limits->atol == 0)) return false;
  switch (result->reason) {
  case KARST_BREAKDOWN_RHO:
  case KARST_BREAKDOWN_ALPHA:
  case KARST_BREAKDOWN_OMEGA:
  case KARST_STAGNATED:
  case KARST_DIVERGED:
  case KARST_ITERATION_LIMIT:
    return true;
  case KARST_NOT_FINITE: /* of an iteration, such as an overflow; x is still finite */
    return result->iterations > 0;
  default:
    return false;
  }
}

/* Returns the restart of the second driver: the option if given, else its own. */
static int restart_of_next(const karst_solver *solver)
{
  const char *given = solver->options ? karst_options_find(solver->options, "restart") : NULL;
  return given ? (int)strtol(given, NULL, 10) : chosen_ops(solver)->then_restart;
}

static karst_status make_next_options(const karst_solver *solver, karst_options **options)
{
  karst_status status = solver->options ? karst_options_copy(solver->context, solver->options, options)
                                        : karst_options_create(solver->context, options);
  if (status) return status;
  status = karst_options_set_integer(*options, "restart", restart_of_next(solver));
  if (!status) return KARST_SUCCESS;
  karst_options_destroy(*options);
  return status;
}

static karst_status make_next(karst_solver *solver)
{
  karst_options *options;
  karst_status status = make_next_options(solver, &options);
  if (status) return status;
  status = karst_krylov_create(chosen_ops(solver)->then, options, &solver->limits, &solver->krylov->A, solver->precond,
                               &solver->next);
  karst_options_destroy(options);
  return status;
}

karst_status karst_next_begin(karst_solver *solver, const karst_result *result)
{
  const karst_status status = karst_ranks_agree(solver->context, solver->next ? KARST_SUCCESS : make_next(solver));
  if (status) return status;
  solver->failed = *result;
  solver->before += result->iterations;
  solver->goes_on = true;
  solver->share = solver->allowed;
  solver->share.max_iterations -= result->iterations;
  solver->next->limits = &solver->share;
  solver->next->A = solver->krylov->A;
  solver->running = solver->next;
  return KARST_SUCCESS;
}

/* A driver that continues starts where the one before has ended; the monitor has already received that norm. */
static karst_decision count_on(void *user, int iteration, double residual)
{
  const karst_solver *solver = user;
  if (iteration == 0) return KARST_GO_ON;
  return solver->monitor(solver->monitor_user, solver->before + iteration, residual);
}

void karst_next_set_monitor(karst_solver *solver)
{
  const bool counts_on = solver->monitor && solver->goes_on;
  solver->running->monitor.function = counts_on ? count_on : solver->monitor;
  solver->running->monitor.user = counts_on ? solver : solver->monitor_user;
  solver->running->monitor.of_a_rank = solver->monitor_of_a_rank;
}

int karst_next_report(const karst_solver *solver, size_t i, karst_value *value)
{
  if (!is_made_of_two(solver) || i > 1 || (i == 1 && solver->running != solver->next)) return 0;
  *value = i == 0 ? (karst_value){.name = "solver_used", .unit = "", .number = NAN, .text = solver->running->ops->name}
                  : (karst_value){.name = "restart_used", .unit = "", .number = restart_of_next(solver)};
  return 1;
}

void karst_next_clear(karst_solver *solver)
{
  karst_krylov_destroy(solver->next);
  solver->next = NULL;
  solver->running = solver->krylov;
}
