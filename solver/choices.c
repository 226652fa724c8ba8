/* choices.c - see setup.h: set-ups and updates with auto, which make what it has chosen, measure it and make another
 * choice. */
#include "solver/setup.h"

#include "lib/backend/backend.h"

/* Destroys what was made before, and makes everything for the options. */
static karst_status set_up(karst_solver *solver, const karst_matrix *A, const karst_analysis *analysis)
{
  karst_setup_clear(solver);
  return karst_setup_make(solver, A, analysis);
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
  karst_status status = karst_ranks_agree(context, karst_device_doubles(context, 3 * rows, "a measurement", &x));
  if (!status) context->backend->fill(context, rows, 1, x);
  for (int i = 0; i < 2 && !status; i++) {
    const double begin = solver->clock();
    status = karst_krylov_multiply(krylov, x, x + rows);
    if (!status) status = karst_krylov_precondition(krylov, x + rows, x + 2 * rows);
    if (!status) status = karst_context_synchronize(context);
    *seconds = solver->clock() - begin;
    status = karst_ranks_agree(context, status);
  }
  context->backend->release(context, x);
  return status;
}

/* Lets auto judge what was made. *sound: whether it may be the best. */
static karst_status judge(karst_solver *solver, bool *sound)
{
  karst_auto *automatic = &solver->automatic;
  karst_auto_sample sample = {
      .first = solver->krylov, .krylov = solver->krylov, .setup = solver->time_setup, .update = solver->time_update};
  const bool compared = automatic->role != KARST_AUTO_BEST || automatic->fixed;
  const bool measured = automatic->learns && automatic->ladder.climbs && compared;
  karst_status status = measured ? measure_step(solver, &sample.step) : KARST_SUCCESS;
  if (!status) status = karst_auto_share_sample(solver->context, &sample);
  *sound = !status && karst_auto_judge(automatic, &sample);
  return status;
}

/* Makes everything again for the rung that auto has moved to, unless a measurement shows that it cannot be the best.
 * *other: whether the solver has it; if not, the solver keeps what it had. */
static karst_status exchange(karst_solver *solver, bool *other)
{
  karst_solver before = *solver;
  karst_options *options = NULL;
  *other = false;
  karst_status status = karst_auto_options(&solver->automatic, solver->context, &options);
  status = karst_ranks_agree(solver->context, status);
  if (status) {
    karst_options_destroy(options);
  } else {
    solver->options = options;
    const karst_matrix *A = before.system.original;
    karst_setup_forget(solver);
    karst_methods_read(solver->options, &solver->chosen);
    status = karst_setup_make(solver, A, NULL);
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
  karst_status status = karst_ranks_agree(solver->context, karst_setup_check_ranks(solver, A));
  if (!status) status = karst_auto_begin(solver->given, true, A, automatic);
  if (status || !analysis) return status;
  const karst_methods *made = &analysis->chosen;
  const karst_auto_rung rung = {karst_precond_at(analysis->context, (size_t)made->precond),
                                karst_ordering_table[made->ordering]->name, analysis->level};
  karst_auto_begin_at(automatic, &rung);
  return karst_auto_share_ladder(A, KARST_SUCCESS, automatic);
}

/* Sets up with the rung in use, from the analysis if it is not NULL and for this rung. If it is not, or there is no
 * memory for options, the solver is unchanged. */
static karst_status set_up_choice(karst_solver *solver, const karst_matrix *A, const karst_analysis *analysis,
                                  const karst_auto *automatic)
{
  karst_options *options = NULL;
  karst_methods chosen;
  karst_status status = karst_auto_options(automatic, solver->context, &options);
  if (status) return karst_ranks_agree(solver->context, status);
  karst_methods_read(options, &chosen);
  if (analysis) status = karst_analysis_check(analysis, A, &chosen, options);
  status = karst_ranks_agree(solver->context, status);
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
    status = karst_ranks_agree(solver->context, status);
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
    status = karst_setup_factor(solver);
    other = status == KARST_ERROR_MATRIX && karst_auto_refuse(&solver->automatic);
    if (!other) return status;
  }
  status = exchange(solver, &other);
  if (status && !karst_auto_retreat(&solver->automatic, before, status)) return status;
  return other ? KARST_SUCCESS : karst_setup_factor(solver);
}

karst_status karst_setup_change(karst_solver *solver, int before, bool *other)
{
  const karst_status status = exchange(solver, other);
  return !status || karst_auto_retreat(&solver->automatic, before, status) ? KARST_SUCCESS : status;
}

karst_status karst_setup_update(karst_solver *solver)
{
  return solver->given ? update_choice(solver) : karst_setup_factor(solver);
}
