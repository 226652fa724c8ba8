/* solver.c - the solver as an object: ordering and scaling, preconditioner, Krylov method.
 *
 * setup runs the pattern half of each and then update; update runs the numeric halves; solve.c uses what they made. */
#include "solver.h"

#include "clock.h"
#include "options.h"

#include <string.h>

karst_status karst_solver_create(karst_context *context, const karst_options *options, karst_solver **solver)
{
  karst_options own;
  if (solver) *solver = NULL;
  if (!context || !solver) return karst_missing(context, "the place for the solver");
  karst_options_default(&own);
  if (options) own = *options;
  karst_status status = karst_options_normalise(context, &own);
  if (!status) status = karst_allocate_zero(context, solver, 1, sizeof **solver, "a solver");
  if (status) return status;
  (*solver)->context = context;
  (*solver)->options = own;
  (*solver)->scaled = strcmp(own.scale, "none") != 0;
  karst_count_object(context, 1);
  return KARST_SUCCESS;
}

karst_status karst_solver_set_tolerances(karst_solver *solver, double rtol, double atol, int max_iterations)
{
  if (!solver) return KARST_ERROR_ARGUMENT;
  karst_options options = solver->options;
  options.rtol = rtol;
  options.atol = atol;
  options.max_iterations = max_iterations;
  karst_status status = karst_options_normalise(solver->context, &options);
  if (!status && solver->krylov) status = karst_krylov_limit(&solver->krylov, &options);
  if (!status) solver->options = options;
  return status;
}

/* Back to the state after create. */
static void clear(karst_solver *solver)
{
  karst_krylov_destroy(solver->krylov);
  karst_precond_destroy(solver->precond);
  karst_system_destroy(&solver->system);
  solver->context->backend->release(solver->context, solver->norm2);
  solver->context->backend->release(solver->context, solver->residual);
  solver->context->backend->release(solver->context, solver->size);
  solver->krylov = NULL;
  solver->precond = NULL;
  solver->norm2 = solver->residual = solver->size = NULL;
}

void karst_solver_destroy(karst_solver *solver)
{
  if (!solver) return;
  karst_context *context = solver->context;
  clear(solver);
  karst_release(context, solver);
  karst_count_object(context, -1);
}

void karst_solver_set_monitor(karst_solver *solver, karst_monitor_function function, void *user)
{
  if (!solver) return;
  solver->monitor = function;
  solver->monitor_user = user;
}

karst_status karst_solver_setup(karst_solver *solver, const karst_matrix *A)
{
  if (!solver || !A) return karst_missing(solver ? solver->context : NULL, "the matrix");
  karst_context *context = solver->context;
  if (A->context != context) return karst_fail(context, KARST_ERROR_ARGUMENT, "the matrix belongs to another context");
  clear(solver);
  karst_status status = karst_precond_check(&solver->options, A);
  if (!status) status = karst_system_setup(context, &solver->options, A, &solver->system);
  if (!status) {
    karst_tell(context, KARST_MESSAGE_PHASE, "symbolic (%s)", solver->options.precond);
    status = karst_precond_prepare(context, &solver->options, solver->system.matrix, &solver->precond);
  }
  if (!status)
    status = karst_krylov_create(context, &solver->options, solver->system.matrix, solver->precond, &solver->krylov);
  if (!status) status = karst_device_doubles(context, 2, "a norm", &solver->norm2);
  if (!status && solver->scaled)
    status = karst_device_doubles(context, karst_matrix_rows(A), "the true residual", &solver->residual);
  if (!status && solver->scaled)
    status = karst_device_doubles(context, karst_matrix_rows(A), "the true residual's error", &solver->size);
  if (!status) status = karst_solver_update(solver);
  if (status) clear(solver);
  return status;
}

karst_status karst_solver_check_ready(const karst_solver *solver)
{
  if (solver->krylov) return KARST_SUCCESS;
  return karst_fail(solver->context, KARST_ERROR_ARGUMENT, "the solver has not been set up");
}

karst_status karst_solver_update(karst_solver *solver)
{
  double begin = karst_clock();
  if (!solver) return KARST_ERROR_ARGUMENT;
  karst_status status = karst_solver_check_ready(solver);
  if (status) return status;
  karst_tell(solver->context, KARST_MESSAGE_PHASE, "factor (%s)", solver->options.precond);
  solver->generation = -1; /* unless all goes well, nothing is ready for a solve */
  status = karst_system_update(&solver->system);
  solver->time_transfer = karst_clock() - begin;
  if (!status) status = karst_precond_update(solver->precond);
  if (!status) solver->generation = solver->system.original->generation;
  return status;
}

karst_status karst_solver_get_info(const karst_solver *solver, karst_solver_info *info)
{
  if (!solver || !info) return karst_missing(solver ? solver->context : NULL, "the place for the information");
  *info = (karst_solver_info){0};
  karst_status status = karst_solver_check_ready(solver);
  if (status) return status;
  karst_precond_get_info(solver->precond, info);
  info->memory += solver->system.memory + solver->krylov->memory_size +
                  (solver->residual ? 2 * karst_matrix_rows(solver->system.original) * (int64_t)sizeof(double) : 0);
  info->time_order = solver->system.time_order;
  info->time_transfer = solver->time_transfer;
  info->time_solve = solver->time_solve;
  return KARST_SUCCESS;
}
