/* setup.c - see setup.h: the pattern halves and the numeric halves. */
#include "solver/setup.h"

#include "lib/base/clock.h"
#include "lib/backend/backend.h"
#include "solver/auto/order.h"

#include <math.h>

karst_status karst_setup_check(const karst_solver *solver)
{
  const struct karst_krylov_ops *krylov = karst_krylov_table[solver->chosen.solver];
  const struct karst_precond_ops *precond = karst_precond_at(solver->context, (size_t)solver->chosen.precond);
  karst_status status = karst_options_check(solver->context, solver->options, krylov->options, krylov->name);
  return status ? status : karst_precond_check_options(solver->context, precond, solver->options);
}

void karst_setup_forget(karst_solver *solver)
{
  solver->krylov = solver->next = solver->running = NULL;
  solver->reduced = (karst_reduced){0};
  solver->precond = NULL;
  solver->apart = NULL;
  solver->parts = NULL;
  solver->product = (karst_product){.multiply = solver->product.multiply, .user = solver->product.user};
  solver->system = (karst_system){0};
  solver->lagging = false;
  solver->norm2 = solver->residual = solver->size = NULL;
}

void karst_setup_clear(karst_solver *solver)
{
  karst_krylov_destroy(solver->krylov);
  karst_krylov_destroy(solver->next);
  karst_reduced_release(&solver->reduced);
  karst_precond_destroy(solver->precond);
  karst_matrix_destroy(solver->apart);
  karst_parts_release(solver->parts);
  karst_product_release(&solver->product);
  karst_system_destroy(&solver->system);
  solver->context->backend->release(solver->context, solver->norm2);
  solver->context->backend->release(solver->context, solver->residual);
  solver->context->backend->release(solver->context, solver->size);
  karst_setup_forget(solver);
}

/* Sets the operator of the caller's system and returns that of the solver's. The two share what the pattern shows:
 * ordering and scaling change neither the lengths of rows nor which of them have a diagonal block. */
static karst_operator choose_operators(karst_solver *solver)
{
  if (solver->product.multiply) {
    solver->caller = karst_product_of_caller(&solver->product);
    return karst_product_of_system(&solver->product);
  }
  solver->caller =
      karst_operator_of_matrix(solver->system.original, solver->wells ? &solver->system.caller_wells : NULL);
  karst_operator system = solver->caller;
  system.data = solver->system.matrix;
  if (solver->wells) system.wells = &solver->system.wells;
  return system;
}

/* Whether the driver may use the preconditioner's exact elimination, which must be of the caller's own matrix. */
static bool may_reduce(const karst_solver *solver)
{
  return karst_krylov_table[solver->chosen.solver]->reduces && karst_reduced_exists(solver->precond) &&
         !solver->system.copy && !solver->apart && !solver->wells && !solver->context->ranks;
}

/* Whether the driver uses it now. */
static bool can_reduce(const karst_solver *solver)
{
  return may_reduce(solver) && !solver->product.multiply && !solver->lagging;
}

/* Makes the driver, and the reduced system if it uses that. On failure it makes neither. */
static karst_status make_driver(const karst_solver *solver, const karst_operator *system, karst_reduced *reduced,
                                karst_krylov **krylov)
{
  const struct karst_krylov_ops *ops = karst_krylov_table[solver->chosen.solver];
  *reduced = (karst_reduced){0};
  *krylov = NULL;
  karst_status status = can_reduce(solver) ? karst_reduced_create(solver->precond, reduced) : KARST_SUCCESS;
  if (status) return status;
  karst_operator A = *system;
  if (reduced->precond) {
    A = karst_reduced_operator(reduced);
    A.data = &solver->reduced; /* the caller moves *reduced there */
  }
  status = karst_krylov_create(ops, solver->options, &solver->limits, &A, solver->precond, krylov);
  if (status) karst_reduced_release(reduced);
  return status;
}

/* Chooses the operators again. Makes another driver if its system becomes the reduced one or no longer is. */
static karst_status change_driver(karst_solver *solver)
{
  karst_reduced reduced;
  karst_krylov *krylov;
  const karst_operator system = choose_operators(solver);
  if (can_reduce(solver) == karst_solver_is_reduced(solver)) {
    if (!karst_solver_is_reduced(solver)) solver->krylov->A = system;
    return KARST_SUCCESS;
  }
  const karst_status status = make_driver(solver, &system, &reduced, &krylov);
  if (status) return status;
  karst_krylov_destroy(solver->krylov);
  karst_reduced_release(&solver->reduced);
  solver->krylov = solver->running = krylov;
  solver->reduced = reduced;
  return KARST_SUCCESS;
}

karst_status karst_setup_set_operator(karst_solver *solver, karst_multiply_function multiply, void *user)
{
  karst_status status =
      multiply && solver->krylov ? karst_product_prepare(&solver->product, &solver->system) : KARST_SUCCESS;
  if (status) return status;
  const karst_product before = solver->product;
  solver->product.multiply = multiply;
  solver->product.user = multiply ? user : NULL;
  if (solver->krylov) status = change_driver(solver);
  if (status) {
    solver->product.multiply = before.multiply;
    solver->product.user = before.user;
    choose_operators(solver);
  }
  if (!solver->product.multiply) karst_product_release(&solver->product);
  return status;
}

/* Makes the matrix for a preconditioner that keeps parts of the grid apart. */
static karst_status make_parts(karst_solver *solver, const karst_analysis *analysis)
{
  karst_status status = KARST_SUCCESS;
  if (solver->chosen.parts == 1) return KARST_SUCCESS;
  if (analysis)
    solver->parts = karst_parts_hold(analysis->parts);
  else
    status = karst_parts_create(solver->chosen.parts, &solver->system, &solver->parts);
  return status ? status : karst_parts_copy(solver->parts, &solver->system, &solver->apart);
}

/* Refuses wells of another matrix, and what would scale A alone. */
static karst_status check_wells(const karst_solver *solver, const karst_matrix *A)
{
  const karst_wells *wells = solver->wells;
  if (wells->block_rows != A->block_rows || wells->block_size != A->block_size)
    return karst_fail(solver->context, KARST_ERROR_ARGUMENT,
                      "the wells are for %lld block rows of %d, and the matrix has %lld of %d",
                      (long long)wells->block_rows, wells->block_size, (long long)A->block_rows, A->block_size);
  if (solver->chosen.scale == KARST_SCALE_NONE) return KARST_SUCCESS;
  return karst_fail(solver->context, KARST_ERROR_OPTION,
                    "a matrix with wells beside it does not allow scale, which would have to scale B and C too");
}

karst_status karst_setup_check_ranks(const karst_solver *solver, const karst_matrix *A)
{
  const char *what = NULL;
  if (!solver->context->ranks) return KARST_SUCCESS;
  if (!A->halo)
    return karst_fail(solver->context, KARST_ERROR_ARGUMENT,
                      "the matrix is that of one rank, and the solver is for all ranks: "
                      "karst_matrix_create_distributed makes a matrix of all");
  if (solver->chosen.parts > 1) what = "a preconditioner that keeps parts of the grid apart";
  if (solver->wells) what = "wells beside it";
  if (!what) return KARST_SUCCESS;
  return karst_fail(solver->context, KARST_ERROR_OPTION, "a distributed matrix does not allow %s", what);
}

/* Lets the ranks agree on a step of a set-up or an update. */
static karst_status agree(const karst_solver *solver, karst_status status)
{
  return karst_ranks_agree(solver->context, status);
}

/* Makes the system and the preconditioner, from the analysis if it is not NULL. */
static karst_status make_system(karst_solver *solver, const karst_matrix *A, const karst_analysis *analysis)
{
  karst_context *context = solver->context;
  const struct karst_precond_ops *precond = karst_precond_at(context, (size_t)solver->chosen.precond);
  karst_ordering_choice ordering = {.ops = karst_ordering_table[solver->chosen.ordering],
                                    .settings = solver->chosen.of_ordering};
  const karst_scale scale = (karst_scale)solver->chosen.scale;
  karst_precond_analysis *analysed = analysis ? analysis->precond : NULL;
  karst_order_needs needs = {.distance = 1};
  karst_status status = karst_setup_check_ranks(solver, A);
  if (!status) status = karst_precond_check(precond, solver->options, A);
  if (!status) status = karst_order_find_needs(context, precond, solver->options, &needs);
  if (!status) ordering.distance = needs.distance;
  if (!status && ordering.ops->compute) status = karst_precond_check_order(precond, solver->options, A);
  if (!status && precond->sums_equations && scale != KARST_SCALE_NONE)
    status = karst_fail(context, KARST_ERROR_OPTION,
                        "%s combines the equations of a cell as the simulator scaled them: it does not allow scale, "
                        "but has cpr-balance",
                        precond->name);
  if (!status && solver->wells) status = check_wells(solver, A);
  if (!status && precond->for_symmetric && scale == KARST_SCALE_BLOCK)
    karst_notify(context, KARST_MESSAGE_WARNING,
                 "%s is for symmetric matrices, and block scaling makes them unsymmetric", precond->name);
  if (!status)
    status =
        karst_system_setup(&ordering, scale, A, solver->wells, analysis ? analysis->ordered : NULL, &solver->system);
  if (!status) status = make_parts(solver, analysis);
  status = agree(solver, status);
  if (status) return status;
  if (!analysed) karst_notify(context, KARST_MESSAGE_PHASE, "symbolic (%s)", precond->name);
  const karst_matrix *matrix = solver->apart ? solver->apart : solver->system.matrix;
  status = karst_precond_prepare_with(precond, solver->options, matrix, solver->wells ? &solver->system.wells : NULL,
                                      analysed, false, &solver->precond);
  return status;
}

/* Makes the Krylov method on them, and the work space of the solver itself. */
static karst_status make_krylov(karst_solver *solver)
{
  karst_context *context = solver->context;
  const int64_t rows = karst_matrix_rows(solver->system.original);
  karst_status status =
      solver->product.multiply ? karst_product_prepare(&solver->product, &solver->system) : KARST_SUCCESS;
  if (status) return status;
  const karst_operator system = choose_operators(solver);
  status = make_driver(solver, &system, &solver->reduced, &solver->krylov);
  solver->running = solver->krylov;
  if (!status) status = karst_device_doubles(context, 2, "a norm", &solver->norm2);
  const bool judges = karst_solver_is_scaled(solver) || may_reduce(solver);
  if (!status && judges) status = karst_device_doubles(context, rows, "the true residual", &solver->residual);
  if (!status && judges) status = karst_device_doubles(context, rows, "the true residual's error", &solver->size);
  return status;
}

/* Updates the ordered and scaled copy of the matrix's values, and the copy without couplings between parts. After a
 * failure the solver cannot solve. */
static karst_status take_values(karst_solver *solver)
{
  const double begin = karst_clock();
  solver->generation = -1;
  karst_status status = karst_system_update(&solver->system);
  if (!status && solver->apart) karst_parts_update(solver->parts, &solver->system, solver->apart);
  solver->time_transfer = karst_clock() - begin;
  if (!status) solver->generation = solver->system.original->generation;
  return status;
}

karst_status karst_setup_factor(karst_solver *solver)
{
  const karst_precond *precond = solver->precond;
  const double begin = solver->clock();
  karst_notify(solver->context, KARST_MESSAGE_PHASE, "factor (%s)", precond->ops->name);
  solver->factored = false;
  solver->lagging = false;
  karst_status status = agree(solver, take_values(solver));
  if (!status) status = karst_precond_update(solver->precond);
  if (!status) status = agree(solver, change_driver(solver));
  if (status) {
    solver->generation = -1;
    return status;
  }
  solver->time_update = solver->clock() - begin;
  solver->factored = solver->system.reason == KARST_SOUND && solver->precond->reason == KARST_SOUND;
  return solver->given ? agree(solver, karst_auto_report(&solver->automatic, solver->precond)) : KARST_SUCCESS;
}

karst_status karst_setup_make(karst_solver *solver, const karst_matrix *A, const karst_analysis *analysis)
{
  const double begin = solver->clock();
  karst_status status = make_system(solver, A, analysis);
  if (!status) status = agree(solver, make_krylov(solver));
  if (!status) status = karst_setup_factor(solver);
  if (status) {
    karst_setup_clear(solver);
    return status;
  }
  const bool alone = !solver->precond->ops->choose && solver->precond->stages == 0;
  solver->time_setup = solver->clock() - begin - (alone ? solver->time_update : 0);
  if (!alone) solver->time_update = NAN; /* it has made structure, too */
  return KARST_SUCCESS;
}

karst_status karst_setup_keep(karst_solver *solver)
{
  karst_status status = take_values(solver);
  if (!status) status = karst_precond_keep(solver->precond);
  status = agree(solver, status);
  if (status) return status;
  solver->lagging = true;
  solver->automatic.due = false;
  status = agree(solver, change_driver(solver));
  if (status) solver->generation = -1;
  return status;
}
