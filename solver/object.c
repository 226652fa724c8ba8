/* object.c - the solver as an object: ordering and scaling, preconditioner, Krylov method.
 *
 * setup runs the pattern half of each and then update; update runs the numeric halves. setup.c makes these parts, and
 * solve.c uses them. */
#include "solver/solver.h"

#include "lib/base/clock.h"
#include "solver/next.h"
#include "solver/setup.h"

static const karst_option *const limit_rows[] = {karst_krylov_limits_rows, NULL};

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
  (*solver)->clock = karst_clock;
  (*solver)->options = own;
  karst_methods_read(own, &(*solver)->chosen);
  karst_options_read(own, limit_rows, &(*solver)->limits);
  karst_count_object(context, 1);
  status = karst_setup_check(*solver);
  if (!status && karst_auto_is_chosen(context, &(*solver)->chosen))
    status = karst_options_copy(context, own, &(*solver)->given);
  if (!status) return KARST_SUCCESS;
  karst_solver_destroy(*solver);
  *solver = NULL;
  return status;
}

/* Lets the ranks agree on a call. */
static karst_status enter(const karst_solver *solver, karst_status status)
{
  return solver ? karst_ranks_enter(solver->context, status) : status;
}

static karst_status agree(const karst_solver *solver, karst_status status)
{
  return karst_ranks_agree(solver->context, status);
}

karst_status karst_solver_set_tolerances(karst_solver *solver, double rtol, double atol, int max_iterations)
{
  if (!solver) return KARST_ERROR_ARGUMENT;
  karst_status status = karst_solver_check_idle(solver);
  const double number[] = {rtol, atol, max_iterations};
  const karst_krylov_limits before = solver->limits;
  for (int i = 0; i < 3 && !status; i++)
    status = karst_option_check_number(solver->context, &karst_krylov_limits_rows[i], number[i]);
  status = enter(solver, status);
  if (status) return status;
  solver->limits = (karst_krylov_limits){rtol, atol, max_iterations};
  if (solver->krylov) solver->krylov->limits = &solver->limits;
  if (solver->krylov) status = agree(solver, karst_krylov_limit(&solver->krylov, solver->options));
  if (status) solver->limits = before;
  if (!solver->krylov) return status;
  if (max_iterations != before.max_iterations) karst_next_clear(solver); /* it may need more vectors now */
  solver->running = solver->krylov;
  return status;
}

void karst_solver_destroy(karst_solver *solver)
{
  if (!solver) return;
  karst_context *context = solver->context;
  karst_setup_clear(solver);
  karst_options_destroy(solver->options);
  karst_options_destroy(solver->given);
  karst_release(context, solver);
  karst_count_object(context, -1);
}

void karst_solver_monitor(karst_solver *solver, karst_monitor_function function, void *user)
{
  if (!solver) return;
  solver->monitor = function;
  solver->monitor_user = user;
}

/* The caller's operator stands for the whole system. */
static karst_status refuse_both(const karst_solver *solver)
{
  return karst_fail(solver->context, KARST_ERROR_ARGUMENT,
                    "a solver has either an operator of the caller's or wells beside its matrix: remove one with NULL");
}

karst_status karst_solver_set_operator(karst_solver *solver, karst_multiply_function multiply, void *user)
{
  if (!solver) return KARST_ERROR_ARGUMENT;
  karst_status status = karst_solver_check_idle(solver);
  if (!status && multiply && solver->wells) status = refuse_both(solver);
  return status ? status : karst_setup_set_operator(solver, multiply, user);
}

karst_status karst_solver_set_wells(karst_solver *solver, const karst_wells *wells)
{
  if (!solver) return KARST_ERROR_ARGUMENT;
  karst_status status = karst_solver_check_idle(solver);
  if (!status && wells && wells->context != solver->context)
    status = karst_fail(solver->context, KARST_ERROR_ARGUMENT, "the wells belong to another context");
  if (!status && wells && solver->product.multiply) status = refuse_both(solver);
  if (status) return status;
  karst_setup_clear(solver);
  solver->wells = wells;
  return KARST_SUCCESS;
}

static karst_status check_setup(const karst_solver *solver, const karst_matrix *A)
{
  if (!solver || !A) return karst_missing(solver ? solver->context : NULL, "the matrix");
  if (A->context != solver->context)
    return karst_fail(solver->context, KARST_ERROR_ARGUMENT, "the matrix belongs to another context");
  return karst_solver_check_idle(solver);
}

/* A number that hardly two sets of options share, whatever the order in which they were set. */
static int64_t number_of(const karst_options *options)
{
  const char *name, *text;
  uint64_t sum = 0;
  for (int i = 0; options && karst_options_at(options, i, &name, &text); i++) {
    uint64_t hash = 14695981039346656037U; /* FNV-1a */
    for (const char *c = name; *c; c++) hash = (hash ^ (unsigned char)*c) * 1099511628211U;
    hash *= 31;
    for (const char *c = text; *c; c++) hash = (hash ^ (unsigned char)*c) * 1099511628211U;
    sum += hash >> 2;
  }
  return (int64_t)(sum >> 1);
}

karst_status karst_compare_options(karst_context *context, const karst_options *options, const char *whose)
{
  const int64_t own = number_of(options);
  int64_t largest = own;
  if (!context->ranks) return KARST_SUCCESS;
  karst_status status = karst_ranks_largest(context, &largest);
  if (!status && own != largest)
    status = karst_fail(context, KARST_ERROR_OPTION, "its %s has other options than that of another rank", whose);
  return karst_ranks_agree(context, status);
}

/* Sets up with an analysis, or with NULL without one. */
static karst_status set_up(karst_solver *solver, const karst_matrix *A, const karst_analysis *analysis)
{
  solver->busy = "a set-up";
  const karst_status status = analysis ? karst_setup_with(solver, A, analysis) : karst_setup_all(solver, A);
  solver->busy = NULL;
  return status;
}

karst_status karst_solver_setup(karst_solver *solver, const karst_matrix *A)
{
  karst_status status = enter(solver, check_setup(solver, A));
  if (!status) status = karst_compare_options(solver->context, solver->options, "solver");
  return status ? status : set_up(solver, A, NULL);
}

karst_status karst_solver_setup_with(karst_solver *solver, const karst_matrix *A, const karst_analysis *analysis)
{
  karst_status status = check_setup(solver, A);
  if (!status && !analysis) status = karst_missing(solver->context, "the analysis");
  status = enter(solver, status);
  if (!status) status = karst_compare_options(solver->context, solver->options, "solver");
  return status ? status : set_up(solver, A, analysis);
}

karst_status karst_solver_get_analysis(const karst_solver *solver, karst_analysis **analysis)
{
  if (analysis) *analysis = NULL;
  if (!solver || !analysis) return karst_missing(solver ? solver->context : NULL, "the place for the analysis");
  const karst_status status = karst_solver_check_ready(solver);
  return status ? status
                : karst_analysis_create(&solver->system, solver->parts, solver->precond, &solver->chosen,
                                        solver->options, analysis);
}

karst_status karst_solver_check_ready(const karst_solver *solver)
{
  if (solver->krylov) return KARST_SUCCESS;
  return karst_fail(solver->context, KARST_ERROR_ARGUMENT, "the solver has not been set up");
}

karst_status karst_solver_check_idle(const karst_solver *solver)
{
  if (!solver->busy) return KARST_SUCCESS;
  return karst_fail(solver->context, KARST_ERROR_ARGUMENT,
                    "the solver is in the middle of %s, and the functions called from it cannot change the solver",
                    solver->busy);
}

karst_status karst_solver_update(karst_solver *solver)
{
  if (!solver) return KARST_ERROR_ARGUMENT;
  karst_status status = karst_solver_check_ready(solver);
  if (!status) status = karst_solver_check_idle(solver);
  status = enter(solver, status);
  if (status) return status;
  solver->busy = "an update";
  status = karst_setup_update(solver);
  solver->busy = NULL;
  return status;
}

karst_status karst_solver_keep(karst_solver *solver)
{
  if (!solver) return KARST_ERROR_ARGUMENT;
  karst_status status = karst_solver_check_ready(solver);
  if (!status) status = karst_solver_check_idle(solver);
  if (!status && !solver->factored)
    status = karst_fail(solver->context, KARST_ERROR_ARGUMENT,
                        "the solver's last factorization failed and cannot be kept: call karst_solver_update");
  status = enter(solver, status);
  return status ? status : karst_setup_keep(solver);
}

karst_status karst_solver_get_info(const karst_solver *solver, karst_solver_info *info)
{
  if (!solver || !info) return karst_missing(solver ? solver->context : NULL, "the place for the information");
  *info = (karst_solver_info){0};
  karst_status status = karst_solver_check_ready(solver);
  if (status) return status;
  karst_precond_get_info(solver->precond, info);
  info->memory += solver->system.memory + solver->krylov->work.bytes + (solver->next ? solver->next->work.bytes : 0) +
                  karst_product_memory(&solver->product) + karst_reduced_memory(&solver->reduced) +
                  (solver->residual ? 2 * karst_matrix_rows(solver->system.original) * (int64_t)sizeof(double) : 0);
  if (solver->apart) { /* it has fewer entries than the caller's matrix */
    info->memory += solver->parts->memory + karst_parts_copy_memory(solver->apart);
    const int64_t entries = karst_entries(solver->system.original);
    info->fill = entries > 0 ? (double)info->factor_entries / (double)entries : 0;
  }
  info->time_order = solver->system.time_order;
  info->time_transfer = solver->time_transfer;
  info->time_solve = solver->time_solve;
  return KARST_SUCCESS;
}

int karst_solver_report(const karst_solver *solver, size_t i, karst_value *value)
{
  if (!solver || !solver->krylov || !value) return 0;
  const karst_report *const of_driver = &solver->running->report;
  const size_t precond = (size_t)solver->precond->report.count, krylov = (size_t)of_driver->count;
  if (i < precond) return karst_precond_report(solver->precond, i, value);
  if (i < precond + krylov) return karst_report_get(of_driver, i - precond, value);
  i -= precond + krylov;
  for (size_t of_next = 0; karst_next_report(solver, of_next, value); of_next++)
    if (i-- == 0) return 1;
  return solver->given ? karst_auto_report_order(&solver->automatic, i, value) : 0;
}
