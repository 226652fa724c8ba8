/* setup.c - see setup.h: the pattern halves, the numeric halves, and the choices of auto. */
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

/* Clears the members that set-up sets, without releasing what they point to. */
static void forget(karst_solver *solver)
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
  forget(solver);
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
         !solver->system.copy && !solver->apart && !solver->wells;
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

/* Makes the system and the preconditioner, from the analysis if it is not NULL. */
static karst_status make_system(karst_solver *solver, const karst_matrix *A, const karst_analysis *analysis)
{
  karst_context *context = solver->context;
  const struct karst_precond_ops *precond = karst_precond_at(context, (size_t)solver->chosen.precond);
  const struct karst_krylov_ops *krylov = karst_krylov_table[solver->chosen.solver];
  karst_ordering_choice ordering = {.ops = karst_ordering_table[solver->chosen.ordering],
                                    .settings = solver->chosen.of_ordering};
  const karst_scale scale = (karst_scale)solver->chosen.scale;
  karst_precond_analysis *analysed = analysis ? analysis->precond : NULL;
  karst_order_needs needs = {.distance = 1};
  karst_status status = karst_precond_check(precond, solver->options, A);
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
  if (!status && precond->unsymmetric && krylov->symmetric)
    karst_notify(context, KARST_MESSAGE_WARNING,
                 "%s needs a symmetric preconditioner, and %s is not: use bicgstab or fgmres", krylov->name,
                 precond->name);
  if (!status)
    status =
        karst_system_setup(&ordering, scale, A, solver->wells, analysis ? analysis->ordered : NULL, &solver->system);
  if (!status) status = make_parts(solver, analysis);
  if (status) return status;
  if (!analysed) karst_notify(context, KARST_MESSAGE_PHASE, "symbolic (%s)", precond->name);
  const karst_matrix *matrix = solver->apart ? solver->apart : solver->system.matrix;
  return karst_precond_prepare_with(precond, solver->options, matrix, solver->wells ? &solver->system.wells : NULL,
                                    analysed, &solver->precond);
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

/* The numeric half of set-up. */
static karst_status factor(karst_solver *solver)
{
  const karst_precond *precond = solver->precond;
  const double begin = solver->clock();
  karst_notify(solver->context, KARST_MESSAGE_PHASE, "factor (%s)", precond->ops->name);
  solver->factored = false;
  solver->lagging = false;
  karst_status status = take_values(solver);
  if (!status) status = karst_precond_update(solver->precond);
  if (!status) status = change_driver(solver);
  if (status) {
    solver->generation = -1;
    return status;
  }
  solver->time_update = solver->clock() - begin;
  solver->factored = solver->system.reason == KARST_SOUND && solver->precond->reason == KARST_SOUND;
  return solver->given ? karst_auto_report(&solver->automatic, solver->precond) : KARST_SUCCESS;
}

static karst_status make(karst_solver *solver, const karst_matrix *A, const karst_analysis *analysis)
{
  const double begin = solver->clock();
  karst_status status = make_system(solver, A, analysis);
  if (!status) status = make_krylov(solver);
  if (!status) status = factor(solver);
  if (status) {
    karst_setup_clear(solver);
    return status;
  }
  const bool alone = !solver->precond->ops->choose && solver->precond->stages == 0;
  solver->time_setup = solver->clock() - begin - (alone ? solver->time_update : 0);
  if (!alone) solver->time_update = NAN; /* it has made structure, too */
  return KARST_SUCCESS;
}

/* Destroys what was made before, and makes everything for the options. */
static karst_status set_up(karst_solver *solver, const karst_matrix *A, const karst_analysis *analysis)
{
  karst_setup_clear(solver);
  return make(solver, A, analysis);
}

/* Measures a product and an application of M, the second time, on a vector of ones. */
static karst_status measure_step(karst_solver *solver, double *seconds)
{
  karst_context *context = solver->context;
  const karst_krylov *krylov = solver->krylov;
  const int64_t rows = karst_matrix_rows(solver->system.matrix);
  double *x = NULL;
  *seconds = 0;
  if (karst_solver_is_reduced(solver) || !solver->factored) return KARST_SUCCESS;
  karst_status status = karst_device_doubles(context, 3 * rows, "a measurement", &x);
  if (!status) context->backend->fill(context, rows, 1, x);
  for (int i = 0; i < 2 && !status; i++) {
    const double begin = solver->clock();
    status = krylov->A.multiply(&krylov->A, x, x + rows);
    if (!status) status = karst_precond_run_apply(solver->precond, x + rows, x + 2 * rows);
    if (!status) status = karst_context_synchronize(context);
    *seconds = solver->clock() - begin;
  }
  context->backend->release(context, x);
  return status;
}

/* Lets auto judge what was made. *sound: whether it may be the best. */
static karst_status judge(karst_solver *solver, bool *sound)
{
  karst_auto *automatic = &solver->automatic;
  karst_auto_sample sample = {.A = solver->system.matrix,
                              .first = solver->krylov,
                              .krylov = solver->krylov,
                              .setup = solver->time_setup,
                              .update = solver->time_update};
  const bool compared = automatic->role != KARST_AUTO_BEST || automatic->ladder.rival >= 0;
  const bool measured = automatic->learns && automatic->ladder.climbs && compared;
  const karst_status status = measured ? measure_step(solver, &sample.step) : KARST_SUCCESS;
  *sound = !status && karst_auto_judge(automatic, &sample);
  return status;
}

/* Makes everything again for the rung that auto has moved to, unless a measurement shows that it cannot be the best.
 * *other: whether the solver has it; if not, the solver keeps what it had. */
static karst_status exchange(karst_solver *solver, bool *other)
{
  karst_solver before = *solver;
  *other = false;
  karst_status status = karst_auto_options(&solver->automatic, solver->context, &solver->options);
  if (!status) {
    const karst_matrix *A = before.system.original;
    forget(solver);
    karst_methods_read(solver->options, &solver->chosen);
    status = make(solver, A, NULL);
    if (!status) status = judge(solver, other);
    if (*other) {
      karst_setup_clear(&before);
      karst_options_destroy(before.options);
      return KARST_SUCCESS;
    }
    karst_setup_clear(solver);
    karst_options_destroy(solver->options);
  }
  before.automatic = solver->automatic;
  *solver = before;
  return status;
}

/* Lets auto begin with its choice for A, or with that of an analysis if it may choose it. */
static karst_status choose(const karst_solver *solver, const karst_matrix *A, const karst_analysis *analysis,
                           karst_auto *automatic)
{
  const karst_status status = karst_auto_begin(solver->given, true, A, automatic);
  if (status || !analysis) return status;
  const karst_methods *made = &analysis->chosen;
  const karst_auto_rung rung = {karst_precond_at(analysis->context, (size_t)made->precond),
                                karst_ordering_table[made->ordering]->name, analysis->level};
  karst_auto_begin_at(automatic, &rung);
  return KARST_SUCCESS;
}

/* Sets up with the rung in use, from the analysis if it is not NULL and for this rung. If it is not, or there is no
 * memory for options, the solver is unchanged. */
static karst_status set_up_choice(karst_solver *solver, const karst_matrix *A, const karst_analysis *analysis,
                                  const karst_auto *automatic)
{
  karst_options *options = NULL;
  karst_methods chosen;
  karst_status status = karst_auto_options(automatic, solver->context, &options);
  if (status) return status;
  karst_methods_read(options, &chosen);
  if (analysis) status = karst_analysis_check(analysis, A, &chosen, options);
  if (status) {
    karst_options_destroy(options);
    return status;
  }
  karst_options_destroy(solver->options);
  solver->options = options;
  solver->chosen = chosen;
  solver->automatic = *automatic;
  return set_up(solver, A, analysis);
}

/* Measures the order that may be faster than the one that set-up has taken. After a failure nothing is set up. */
static karst_status measure_orders(karst_solver *solver)
{
  karst_auto *automatic = &solver->automatic;
  const int before = automatic->at;
  bool sound;
  karst_status status = judge(solver, &sound);
  if (status == KARST_ERROR_NO_MEMORY) return KARST_SUCCESS; /* for the vectors of a measurement */
  if (!status && !karst_auto_challenge(automatic)) return KARST_SUCCESS;
  if (!status) {
    status = exchange(solver, &sound);
    if (status && karst_auto_retreat(automatic, before, status)) status = KARST_SUCCESS;
  }
  if (!status) status = karst_auto_report(automatic, solver->precond);
  if (status) karst_setup_clear(solver);
  return status;
}

karst_status karst_setup_all(karst_solver *solver, const karst_matrix *A)
{
  karst_auto automatic;
  if (!solver->given) return set_up(solver, A, NULL);
  karst_status status = choose(solver, A, NULL, &automatic);
  if (status) return status;
  do status = set_up_choice(solver, A, NULL, &automatic);
  while (status == KARST_ERROR_MATRIX && karst_auto_refuse(&automatic));
  return status ? status : measure_orders(solver);
}

karst_status karst_setup_with(karst_solver *solver, const karst_matrix *A, const karst_analysis *analysis)
{
  karst_auto automatic;
  karst_status status;
  if (!solver->given) {
    status = karst_analysis_check(analysis, A, &solver->chosen, solver->options);
    return status ? status : set_up(solver, A, analysis);
  }
  status = choose(solver, A, analysis, &automatic);
  if (!status) status = set_up_choice(solver, A, analysis, &automatic);
  return status == KARST_ERROR_MATRIX ? karst_setup_all(solver, A) : status; /* auto chooses for these values */
}

/* An update with auto, which changes the rung if the last solve or the new values suggest it. A rung that the matrix
 * does not allow, or a trial without enough memory, is skipped. Any other error ends the update, and the next update
 * uses the rung before. */
static karst_status update_choice(karst_solver *solver)
{
  const int before = solver->automatic.at;
  karst_status status = KARST_SUCCESS;
  bool other = karst_auto_advance(&solver->automatic);
  if (!other) {
    status = factor(solver);
    other = status == KARST_ERROR_MATRIX && karst_auto_refuse(&solver->automatic);
    if (!other) return status;
  }
  status = exchange(solver, &other);
  if (status && !karst_auto_retreat(&solver->automatic, before, status)) return status;
  return other ? KARST_SUCCESS : factor(solver);
}

karst_status karst_setup_change(karst_solver *solver, int before, bool *other)
{
  const karst_status status = exchange(solver, other);
  return !status || karst_auto_retreat(&solver->automatic, before, status) ? KARST_SUCCESS : status;
}

karst_status karst_setup_update(karst_solver *solver) { return solver->given ? update_choice(solver) : factor(solver); }

karst_status karst_setup_keep(karst_solver *solver)
{
  karst_status status = take_values(solver);
  if (!status) status = karst_precond_keep(solver->precond);
  if (status) return status;
  solver->lagging = true;
  solver->automatic.due = false;
  status = change_driver(solver);
  if (status) solver->generation = -1;
  return status;
}
