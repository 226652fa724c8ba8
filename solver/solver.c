/* solver.c - the solver as an object: ordering and scaling, preconditioner, Krylov method.
 *
 * setup runs the pattern half of each and then update; update runs the numeric halves; solve.c uses what they made. */
#include "solver.h"

#include "analysis.h"
#include "clock.h"

static const karst_option *const limit_rows[] = {karst_krylov_limits_rows, NULL};

/* Options that are valid each, but not for the methods chosen. */
static karst_status check_chosen(const karst_solver *solver)
{
  const struct karst_krylov_ops *krylov = karst_krylov_table[solver->chosen.solver];
  const struct karst_precond_ops *precond = karst_precond_table[solver->chosen.precond];
  karst_status status = karst_options_check(solver->context, solver->options, krylov->options, krylov->name);
  return status ? status : karst_options_check(solver->context, solver->options, precond->options, precond->name);
}

karst_status karst_solver_create(karst_context *context, const karst_options *options, karst_solver **solver)
{
  karst_options *own = NULL;
  if (solver) *solver = NULL;
  if (!context || !solver) return karst_missing(context, "the place for the solver");
  karst_status status = options ? karst_options_copy(context, options, &own) : KARST_SUCCESS;
  if (!status) status = karst_allocate_zero(context, solver, 1, sizeof **solver, "a solver");
  if (status) {
    karst_options_destroy(own);
    return status;
  }
  (*solver)->context = context;
  (*solver)->options = own;
  karst_methods_read(own, &(*solver)->chosen);
  karst_options_read(own, limit_rows, &(*solver)->limits);
  karst_count_object(context, 1);
  status = check_chosen(*solver);
  if (!status) return KARST_SUCCESS;
  karst_solver_destroy(*solver);
  *solver = NULL;
  return status;
}

karst_status karst_solver_set_tolerances(karst_solver *solver, double rtol, double atol, int max_iterations)
{
  if (!solver) return KARST_ERROR_ARGUMENT;
  karst_status status = karst_solver_check_idle(solver);
  const double number[] = {rtol, atol, max_iterations};
  const karst_krylov_limits before = solver->limits;
  for (int i = 0; i < 3 && !status; i++)
    status = karst_option_check_number(solver->context, &karst_krylov_limits_rows[i], number[i]);
  if (status) return status;
  solver->limits = (karst_krylov_limits){rtol, atol, max_iterations};
  if (solver->krylov) status = karst_krylov_limit(&solver->krylov, solver->options);
  if (status) solver->limits = before;
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
  karst_options_destroy(solver->options);
  karst_release(context, solver);
  karst_count_object(context, -1);
}

void karst_solver_set_monitor(karst_solver *solver, karst_monitor_function function, void *user)
{
  if (!solver) return;
  solver->monitor = function;
  solver->monitor_user = user;
}

/* The pattern halves, with those that the analysis has, which may be NULL. */
static karst_status make_parts(karst_solver *solver, const karst_matrix *A, const karst_analysis *analysis)
{
  karst_context *context = solver->context;
  const struct karst_precond_ops *precond = karst_precond_table[solver->chosen.precond];
  const karst_scale scale = (karst_scale)solver->chosen.scale;
  karst_precond_analysis *analysed = analysis ? analysis->precond : NULL;
  karst_status status = karst_precond_check(precond, A);
  if (!status && precond->for_symmetric && scale == KARST_SCALE_BLOCK)
    karst_tell(context, KARST_MESSAGE_WARNING, "%s is for symmetric matrices, and block scaling makes them unsymmetric",
               precond->name);
  if (!status)
    status = karst_system_setup(karst_ordering_table[solver->chosen.ordering], scale, A,
                                analysis ? analysis->ordered : NULL, &solver->system);
  if (!status) {
    if (!analysed) karst_tell(context, KARST_MESSAGE_PHASE, "symbolic (%s)", precond->name);
    status = karst_precond_prepare_with(precond, solver->options, solver->system.matrix, analysed, &solver->precond);
  }
  if (!status)
    status = karst_krylov_create(karst_krylov_table[solver->chosen.solver], solver->options, &solver->limits,
                                 solver->system.matrix, solver->precond, &solver->krylov);
  if (!status) status = karst_device_doubles(context, 2, "a norm", &solver->norm2);
  if (!status && karst_solver_is_scaled(solver))
    status = karst_device_doubles(context, karst_matrix_rows(A), "the true residual", &solver->residual);
  if (!status && karst_solver_is_scaled(solver))
    status = karst_device_doubles(context, karst_matrix_rows(A), "the true residual's error", &solver->size);
  return status;
}

static karst_status check_setup(const karst_solver *solver, const karst_matrix *A)
{
  if (!solver || !A) return karst_missing(solver ? solver->context : NULL, "the matrix");
  if (A->context != solver->context)
    return karst_fail(solver->context, KARST_ERROR_ARGUMENT, "the matrix belongs to another context");
  return karst_solver_check_idle(solver);
}

static karst_status set_up(karst_solver *solver, const karst_matrix *A, const karst_analysis *analysis)
{
  clear(solver);
  karst_status status = make_parts(solver, A, analysis);
  if (!status) status = karst_solver_update(solver);
  if (status) clear(solver);
  return status;
}

karst_status karst_solver_setup(karst_solver *solver, const karst_matrix *A)
{
  const karst_status status = check_setup(solver, A);
  return status ? status : set_up(solver, A, NULL);
}

karst_status karst_solver_setup_with(karst_solver *solver, const karst_matrix *A, const karst_analysis *analysis)
{
  karst_status status = check_setup(solver, A);
  if (!status && !analysis) status = karst_missing(solver->context, "the analysis");
  if (!status) status = karst_analysis_check(analysis, A, &solver->chosen, solver->options);
  return status ? status : set_up(solver, A, analysis);
}

karst_status karst_solver_get_analysis(const karst_solver *solver, karst_analysis **analysis)
{
  if (analysis) *analysis = NULL;
  if (!solver || !analysis) return karst_missing(solver ? solver->context : NULL, "the place for the analysis");
  const karst_status status = karst_solver_check_ready(solver);
  return status ? status : karst_analysis_create(&solver->system, solver->precond, &solver->chosen, analysis);
}

karst_status karst_solver_check_ready(const karst_solver *solver)
{
  if (solver->krylov) return KARST_SUCCESS;
  return karst_fail(solver->context, KARST_ERROR_ARGUMENT, "the solver has not been set up");
}

karst_status karst_solver_check_idle(const karst_solver *solver)
{
  if (!solver->solving) return KARST_SUCCESS;
  return karst_fail(solver->context, KARST_ERROR_ARGUMENT,
                    "the solver is in the middle of a solve, whose monitor cannot change it");
}

karst_status karst_solver_update(karst_solver *solver)
{
  double begin = karst_clock();
  if (!solver) return KARST_ERROR_ARGUMENT;
  karst_status status = karst_solver_check_ready(solver);
  if (!status) status = karst_solver_check_idle(solver);
  if (status) return status;
  karst_tell(solver->context, KARST_MESSAGE_PHASE, "factor (%s)", solver->precond->ops->name);
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
