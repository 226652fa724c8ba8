/* solve.c - one solve: the outcomes that b alone decides, the driver (through outer.c), the second driver or auto's
 * next rung if that fails, and the explanation of the outcome.
 *
 * A solve allocates nothing with three exceptions: the solver auto continues with gmres (next.c), the preconditioner
 * auto continues with another rung (setup.c), and on a GPU a search through the elements of a vector takes up to 1 MiB
 * of host memory. */
#include "lib/base/clock.h"
#include "lib/base/number.h"
#include "lib/vector/norm.h"
#include "lib/vector/vector.h"
#include "solver/next.h"
#include "solver/outer.h"
#include "solver/setup.h"

#include <float.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

/* Continues with the second of two drivers from the x of the first, which has failed. If there is no memory for it, the
 * outcome stays that of the first. */
static karst_status go_on(karst_solver *solver, const double *b, double *x, double rtol_target, karst_result *result,
                          karst_fault *fault)
{
  const int before = result->iterations;
  karst_status status = karst_next_begin(solver, result);
  if (status) return status == KARST_ERROR_NO_MEMORY ? KARST_SUCCESS : status;
  karst_notify(solver->context, KARST_MESSAGE_PHASE, "solve (%s)", solver->running->ops->name);
  status = karst_outer_solve(solver, b, x, rtol_target, result, fault);
  result->iterations += before;
  return status;
}

static bool wells_are_sound(const karst_solver *solver)
{
  return !solver->wells || solver->wells->reason == KARST_SOUND;
}

/* Composes the sentence of karst_solver_explain. */
static void explain(karst_solver *solver, const karst_result *result, const karst_fault *fault)
{
  char *text = solver->explanation;
  size_t size = sizeof solver->explanation;
  long long row = (long long)result->block_row;
  const karst_precond *precond = solver->precond;
  const bool factored = precond->reason == KARST_SOUND;
  if (!factored && result->reason == KARST_INDEFINITE_PRECOND)
    snprintf(text, size, "not solved: the preconditioner is not positive definite");
  else if (result->reason == KARST_CONVERGED_PRECONDITIONED)
    karst_print(
        text, size,
        "converged in the preconditioned norm after %d iteration%s: the M^-1 norm of the true residual is %.3e of "
        "that at the start; the true residual itself is %.3e, %.3e of the right-hand side's norm",
        result->iterations, result->iterations == 1 ? "" : "s",
        isgreater(solver->running->test.start_merit, 0) ? solver->running->now.merit / solver->running->test.start_merit
                                                        : 0,
        result->residual, result->relative_residual);
  else if (result->reason == KARST_CONVERGED_ROUNDING)
    karst_print(
        text, size,
        "converged to rounding after %d iteration%s: each component of the true residual is within the rounding "
        "errors of computing it; its norm is %.3e, %.3e of the right-hand side's norm",
        result->iterations, result->iterations == 1 ? "" : "s", result->residual, result->relative_residual);
  else if (result->reason > 0)
    karst_print(text, size, "%s after %d iteration%s: the true residual is %.3e, %.3e of the right-hand side's norm",
                result->reason == KARST_CONVERGED_MONITOR ? "accepted by the monitor" : "converged", result->iterations,
                result->iterations == 1 ? "" : "s", result->residual, result->relative_residual);
  else if (!wells_are_sound(solver))
    snprintf(text, size, "not solved: %s", solver->wells->explanation);
  else if (result->reason == KARST_SINGULAR_BLOCK && row < 0)
    snprintf(text, size, "not solved: a pivot block is singular");
  else if (result->reason == KARST_SINGULAR_BLOCK)
    snprintf(text, size, "not solved: the pivot block of block row %lld is singular", row);
  else if (result->reason == KARST_NOT_FINITE && row >= 0)
    snprintf(text, size, "not solved: a NaN or an infinity was first seen in %s, block row %lld", fault->what, row);
  else if (result->reason == KARST_NOT_FINITE)
    snprintf(text, size, "not solved: a NaN or an infinity was first seen in %s", fault->what);
  else if (!factored && result->reason == KARST_OUT_OF_RANGE && row < 0)
    snprintf(text, size, "not solved: float cannot hold the factors");
  else if (!factored && result->reason == KARST_OUT_OF_RANGE)
    snprintf(text, size, "not solved: float cannot hold the factors of block row %lld", row);
  else if (result->reason == KARST_OUT_OF_RANGE)
    karst_print(text, size, "not solved: %s is %.3e, which double precision cannot square; the system should be scaled",
                fault->what, fault->norm);
  else
    karst_print(text, size,
                "not converged after %d iteration%s: %s; the true residual is %.3e, %.3e of the right-hand side's norm",
                result->iterations, result->iterations == 1 ? "" : "s", karst_reason_text(result->reason),
                result->residual, result->relative_residual);
  size_t length = strlen(text);
  if (solver->running == solver->next)
    karst_print(text + length, size - length, "; %s went on where %s had ended after %d: %s", solver->next->ops->name,
                solver->krylov->ops->name, solver->failed.iterations, karst_reason_text(solver->failed.reason));
  length = strlen(text);
  if (!factored && result->reason == precond->reason && precond->explanation[0])
    snprintf(text + length, size - length, ": %s", precond->explanation);
}

static karst_status check_arguments(const karst_solver *solver, const karst_vector *b, const karst_vector *x)
{
  const karst_matrix *A = solver->system.original;
  int64_t rows = karst_matrix_rows(A);
  if (b->context != solver->context || x->context != solver->context)
    return karst_fail(solver->context, KARST_ERROR_ARGUMENT, "a vector belongs to another context");
  if (b->length != rows || x->length != rows)
    return karst_fail(solver->context, KARST_ERROR_ARGUMENT,
                      "the matrix has %lld rows, the right-hand side %lld and the solution %lld", (long long)rows,
                      (long long)b->length, (long long)x->length);
  if (karst_vectors_overlap(b, x))
    return karst_fail(solver->context, KARST_ERROR_ARGUMENT, "the right-hand side and the solution overlap in memory");
  if (A->references_value && karst_memory_overlaps(x->values, x->length, A->source, karst_entries(A)))
    return karst_fail(solver->context, KARST_ERROR_ARGUMENT,
                      "the solution overlaps the values that the matrix refers to");
  karst_status status = karst_matrix_check_generation(A, solver->generation, "solver");
  if (!status && !wells_are_sound(solver) && solver->wells->bad < 0)
    status = karst_fail(solver->context, KARST_ERROR_ARGUMENT, "%s", solver->wells->explanation);
  if (!status && solver->wells && solver->wells->generation != solver->system.wells_generation)
    status = karst_fail(solver->context, KARST_ERROR_ARGUMENT,
                        "the values of the wells were updated, and karst_solver_update was not called");
  if (!status && !karst_system_is_current(&solver->system))
    status = karst_fail(solver->context, KARST_ERROR_ARGUMENT,
                        "the referenced values have been written since the solver's last setup or update: "
                        "karst_matrix_values_changed and karst_solver_update were not called");
  return status;
}

/* Sets the outcome if b decides it: if b is not finite, or double precision cannot hold the square of its norm or of
 * the norm to reach, so that a solve could seem to have converged. Else result->reason stays. */
static karst_status check_rhs(const karst_solver *solver, const double *b, double rhs_norm, double target,
                              karst_result *result, karst_fault *fault)
{
  karst_survey survey;
  if (rhs_norm <= karst_norm_largest && fmax(target, DBL_EPSILON * rhs_norm) >= karst_norm_smallest)
    return KARST_SUCCESS;
  karst_status status = karst_survey_elements(solver->context, karst_matrix_rows(solver->system.original), b, &survey);
  if (status) return status;
  result->residual = result->relative_residual = NAN;
  result->reason = survey.finite ? KARST_OUT_OF_RANGE : KARST_NOT_FINITE;
  if (survey.finite) {
    const bool large = !(rhs_norm <= karst_norm_largest);
    *fault = (karst_fault){large ? "the norm of the right-hand side" : "the residual norm to reach",
                           large ? rhs_norm : fmax(target, DBL_EPSILON * rhs_norm)};
    return KARST_SUCCESS;
  }
  result->block_row = karst_layout_block_row(karst_matrix_layout(solver->system.original), survey.where);
  fault->what = "the right-hand side";
  return KARST_SUCCESS;
}

/* Answers b = 0 with x = 0, which has converged unless an entry of A is not finite; the driver reports that. */
static karst_status answer_zero(const karst_solver *solver, const double *b, double *x, karst_result *result)
{
  double norm;
  solver->context->backend->fill(solver->context, karst_matrix_rows(solver->system.original), 0, x);
  karst_status status = karst_outer_residual(solver, b, x, &norm);
  if (!status && norm == 0) result->reason = KARST_CONVERGED_RTOL;
  return status;
}

/* Runs the drivers and fills the result and *fault. */
static karst_status solve(karst_solver *solver, const double *b, double *x, karst_result *result, karst_fault *fault)
{
  const karst_system *system = &solver->system;
  double rhs_norm;
  solver->krylov->report.count = 0;
  if (!wells_are_sound(solver)) { /* there is no operator */
    result->reason = solver->wells->reason;
    result->residual = result->relative_residual = NAN;
    return KARST_SUCCESS;
  }
  karst_next_share(solver);
  karst_status status = karst_outer_norm(solver, b, &rhs_norm);
  if (status) return status;
  const bool sound = system->reason == KARST_SOUND && solver->precond->reason == KARST_SOUND;
  if (rhs_norm == 0 && sound) status = answer_zero(solver, b, x, result);
  if (status || result->reason != KARST_SOUND) return status;
  const double rtol_target = fmin(solver->limits.rtol * rhs_norm, DBL_MAX);
  if (rhs_norm != 0 && sound)
    status = check_rhs(solver, b, rhs_norm, fmax(rtol_target, solver->limits.atol), result, fault);
  if (status || result->reason != KARST_SOUND) return status;
  if (system->reason != KARST_SOUND) {
    result->reason = system->reason;
    result->block_row = system->block_row;
    status = karst_outer_residual(solver, b, x, &result->residual);
  } else {
    status = karst_outer_solve(solver, b, x, rtol_target, result, fault);
    if (!status && karst_next_is_due(solver, result)) status = go_on(solver, b, x, rtol_target, result, fault);
  }
  result->relative_residual = result->residual == 0 ? 0 : rhs_norm == 0 ? INFINITY : result->residual / rhs_norm;
  return status;
}

static karst_auto_sample sample_of(const karst_solver *solver, const karst_result *result, double seconds)
{
  return (karst_auto_sample){.first = solver->krylov,
                             .krylov = solver->running,
                             .result = result,
                             .update = solver->time_update,
                             .solve = seconds};
}

/* Solves with the present rung of auto. *goes_on: another rung, which is made, must continue from its x; or this one,
 * if it was broken off and the other one could not be made. */
static karst_status attempt(karst_solver *solver, const karst_vector *b, karst_vector *x, karst_result *result,
                            karst_fault *fault, bool *goes_on)
{
  const double begin = solver->clock();
  solver->running = solver->krylov; /* the driver that begins prices the solve */
  const int most = solver->limits.max_iterations - solver->before, done = solver->before, rung = solver->automatic.at;
  karst_auto_sample sample = sample_of(solver, NULL, 0);
  *goes_on = false;
  *result = (karst_result){.reason = KARST_SOUND, .block_row = -1};
  *fault = (karst_fault){"the matrix", NAN};
  solver->allowed = solver->limits;
  solver->allowed.max_iterations = solver->given ? karst_auto_allow(&solver->automatic, &sample, most) : most;
  karst_notify(solver->context, KARST_MESSAGE_PHASE, "solve (%s)", solver->krylov->ops->name);
  karst_status status = solve(solver, b->values, x->values, result, fault);
  if (!status) status = karst_context_synchronize(solver->context); /* x may still be scattered */
  status = karst_ranks_agree(solver->context, status);
  solver->before = done + result->iterations;
  const bool sound = solver->system.reason == KARST_SOUND && wells_are_sound(solver);
  if (!status && !solver->lagging && wells_are_sound(solver) && (result->reason < 0 || result->iterations > 0))
    karst_precond_solved(solver->precond, result->reason < 0 ? -1 : result->iterations);
  if (status || !solver->given || !solver->automatic.due || !sound) return status;
  sample = sample_of(solver, result, solver->clock() - begin);
  status = karst_auto_share_sample(solver->context, &sample);
  if (status) return status;
  if (!karst_auto_measure(&solver->automatic, &sample, solver->allowed.max_iterations, most)) return KARST_SUCCESS;
  status = karst_setup_change(solver, rung, goes_on);
  if (*goes_on || status) return status;
  solver->automatic.due = false; /* this rung is not broken off again */
  *goes_on = solver->allowed.max_iterations < most && result->reason == KARST_ITERATION_LIMIT;
  return KARST_SUCCESS;
}

/* What must be the same on all ranks, and whether a rank has a monitor. */
struct terms {
  double rtol, atol;
  int max_iterations, monitored, multiplies; /* it has an operator of the caller's */
};

/* Refuses ranks that would end the solve at different times. */
static karst_status compare_terms(karst_solver *solver)
{
  karst_context *context = solver->context;
  const karst_krylov_limits *limits = &solver->limits;
  const struct terms own = {limits->rtol, limits->atol, limits->max_iterations, solver->monitor != NULL,
                            solver->product.multiply != NULL};
  if (!context->ranks) return KARST_SUCCESS;
  struct terms *const all = (struct terms *)context->ranks->words;
  karst_status status = karst_ranks_gather(context, &own, sizeof own, all);
  solver->monitor_of_a_rank = false;
  for (int r = 0; r < karst_context_ranks(context) && !status; r++) {
    solver->monitor_of_a_rank = solver->monitor_of_a_rank || all[r].monitored;
    if (all[r].rtol != all[0].rtol || all[r].atol != all[0].atol || all[r].max_iterations != all[0].max_iterations)
      status = karst_fail(context, KARST_ERROR_OPTION,
                          "rank %d has other values of rtol, atol or max-iterations than rank 0", r);
    else if (all[r].multiplies != all[0].multiplies)
      status = karst_fail(context, KARST_ERROR_ARGUMENT,
                          "rank %d has an operator instead of the matrix, or has none, other than rank 0", r);
  }
  return status;
}

karst_status karst_solver_solve(karst_solver *solver, const karst_vector *b, karst_vector *x, karst_result *result)
{
  double begin = karst_clock();
  karst_fault fault = {"the matrix", NAN};
  bool goes_on = true;
  if (!solver) return KARST_ERROR_ARGUMENT;
  karst_status status = KARST_SUCCESS;
  if (!b || !x || !result)
    status = karst_missing(solver->context, result ? "a vector of the solve" : "the place for the result");
  else
    *result = (karst_result){.reason = KARST_SOUND, .block_row = -1};
  if (!status) status = karst_solver_check_ready(solver);
  if (!status) status = karst_solver_check_idle(solver);
  if (!status) status = check_arguments(solver, b, x);
  status = karst_ranks_enter(solver->context, status);
  if (!status) status = compare_terms(solver);
  if (status) return status;
  solver->busy = "a solve";
  solver->before = 0;
  for (solver->goes_on = false; !status && goes_on; solver->goes_on = true)
    status = attempt(solver, b, x, result, &fault, &goes_on);
  solver->busy = NULL;
  result->iterations = solver->before;
  if (status) {
    result->reason = KARST_SOUND;
    snprintf(solver->explanation, sizeof solver->explanation, "not solved: the call failed");
  } else {
    explain(solver, result, &fault);
  }
  solver->time_solve = karst_clock() - begin;
  return status;
}

const char *karst_solver_explain(const karst_solver *solver) { return solver ? solver->explanation : ""; }
