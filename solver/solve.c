/* solve.c - one solve: the caller's vectors into the solver's order and scaling, the Krylov method, and back.
 *
 * Allocates nothing, but where the solver auto goes on with gmres (next.c), where the preconditioner auto goes on with
 * another choice (setup.c), and on a GPU up to 1 MiB of host memory where the elements of a vector are looked at. */
#include "solver/setup.h"
#include "lib/base/clock.h"
#include "solver/next.h"
#include "lib/vector/norm.h"
#include "lib/base/number.h"
#include "solver/solver.h"
#include "lib/vector/vector.h"

#include <float.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

/* |x|; not finite where an element is not, or the norm is too large. */
static karst_status norm_of(const karst_solver *solver, const double *x, double *norm)
{
  karst_context *context = solver->context;
  int64_t rows = karst_matrix_rows(solver->system.original);
  double square;
  karst_sums_dots(context, rows, 1, &x, x, solver->norm2);
  karst_status status = context->backend->download(context, &square, solver->norm2, sizeof square);
  return status ? status : karst_norm_of_square(context, rows, x, square, norm);
}

/* The outer system of a driver that works on a scaled one, or on a reduced one. */
struct outer {
  const karst_solver *solver;
  const double *b;
  double *x; /* the caller's, which each measurement after the start's brings up to date: where the driver has measured
              * the x that it ends with, nothing is left to be done */
};

/* The norm of the caller's residual, as in karst_residual_norm. */
static karst_status measure_caller(const struct outer *outer, double target, bool bounded, bool *precise, double *norm,
                                   double *error)
{
  const karst_solver *solver = outer->solver;
  const karst_residual_space space = {solver->residual, solver->size, solver->norm2};
  return solver->caller.residual(&solver->caller, outer->b, outer->x, target, bounded, &space, precise, norm, error);
}

/* The caller's x from the ordered and scaled system's. */
static void leave_system(const struct outer *outer, const double *x)
{
  const karst_solver *solver = outer->solver;
  if (solver->running->kept_start)
    karst_system_restore(&solver->system, x, outer->x);
  else
    karst_system_leave(&solver->system, x, solver->residual, outer->x);
}

static karst_status measure(void *user, const double *x, double target, bool bounded, bool *precise, double *norm,
                            double *error)
{
  const struct outer *outer = user;
  if (outer->solver->running->iterations > 0) leave_system(outer, x);
  return measure_caller(outer, target, bounded, precise, norm, error);
}

static karst_status outer_norm(void *user, const double *r, double *norm)
{
  const struct outer *outer = user;
  karst_system_unscale(&outer->solver->system, r, outer->solver->residual);
  return norm_of(outer->solver, outer->solver->residual, norm);
}

static karst_status is_rounding(void *user, bool *yes)
{
  const struct outer *outer = user;
  const karst_solver *solver = outer->solver;
  const karst_residual_space space = {solver->residual, solver->size, solver->norm2};
  *yes = false;
  if (!solver->caller.is_rounding) return KARST_SUCCESS;
  return solver->caller.is_rounding(&solver->caller, outer->b, outer->x, &space, yes);
}

/* The caller's x from the reduced start: with what was eliminated computed, or as it was where that is better. Both
 * residuals are computed precisely, for rounding must not hide which one is. */
static karst_status settle_start(const struct outer *outer, const double *reduced_x, double *norm, double *error)
{
  const karst_reduced *reduced = &outer->solver->reduced;
  double start_norm;
  bool precise = true;
  karst_reduced_restore(reduced, outer->x);
  karst_status status = measure_caller(outer, -1, false, &precise, &start_norm, error);
  if (status) return status;
  karst_reduced_leave(reduced, outer->b, reduced_x, outer->x);
  status = measure_caller(outer, -1, false, &precise, norm, error);
  if (!status && *norm <= start_norm) return KARST_SUCCESS;
  karst_reduced_restore(reduced, outer->x);
  *norm = start_norm;
  return status;
}

/* The caller's norm of a reduced system, whose start is the caller's x as it is: what was eliminated counts too. Where
 * the rest of the start needs no iteration, leave makes a solution of it, unless what it replaces is not finite, which
 * is for the caller to know. */
static karst_status measure_reduced(void *user, const double *x, double target, bool bounded, bool *precise,
                                    double *norm, double *error)
{
  const struct outer *outer = user;
  const karst_solver *solver = outer->solver;
  const karst_krylov *krylov = solver->running;
  bool settles = krylov->kept_start;
  if (!settles) {
    if (krylov->iterations > 0) karst_reduced_leave(&solver->reduced, outer->b, x, outer->x);
    const karst_status status = measure_caller(outer, target, bounded, precise, norm, error);
    settles = krylov->iterations == 0 && solver->precond->reason == KARST_SOUND && isfinite(*norm) && *norm > target &&
              krylov->residual <= target;
    if (status || !settles) return status;
  }
  *precise = true;
  return settle_start(outer, x, norm, error);
}

/* What the sentence of a solve needs besides the result: what a NaN was first seen in, or which norm it was that cannot
 * be squared. */
struct finding {
  const char *what;
  double norm;
};

/* Names the row of a start that is not finite in unknowns that a reduced system lacks. */
static karst_status check_start(const karst_solver *solver, const double *x, karst_result *result,
                                struct finding *found)
{
  karst_survey survey;
  karst_status status = karst_survey_elements(solver->context, karst_matrix_rows(solver->system.original), x, &survey);
  if (status || survey.finite) return status;
  result->block_row = karst_layout_block_row(karst_matrix_layout(solver->system.original), survey.where);
  found->what = "the start";
  return KARST_SUCCESS;
}

/* The reduced system knows only a part of the caller's x. Where its start is the best, the caller's may be so or
 * not. */
static karst_status solve_reduced(karst_solver *solver, const double *b, double *x, double rtol_target,
                                  karst_result *result)
{
  const karst_reduced *reduced = &solver->reduced;
  karst_krylov *krylov = solver->running;
  struct outer outer = {solver, b, x};
  const karst_krylov_outer caller = {&outer, measure_reduced, NULL, is_rounding};
  krylov->outer = &caller;
  karst_reduced_enter(reduced, b, x);
  const karst_status status =
      karst_krylov_solve(krylov, reduced->rhs, reduced->solution, rtol_target, solver->limits.atol, result);
  krylov->outer = NULL;
  if (krylov->iterations == 0 || krylov->measured) return status;
  if (!krylov->kept_start) {
    karst_reduced_leave(reduced, b, reduced->solution, x);
    return status;
  }
  double error;
  if (!status) return settle_start(&outer, reduced->solution, &result->residual, &error);
  karst_reduced_restore(reduced, x);
  return status;
}

/* A solve that ends before its first iteration, or with its start, leaves the caller's x as it is: scaling would round
 * it. */
static karst_status solve_system(karst_solver *solver, const double *b, double *x, double rtol_target,
                                 karst_result *result)
{
  const karst_system *system = &solver->system;
  karst_krylov *krylov = solver->running;
  struct outer outer = {solver, b, x};
  const karst_krylov_outer scaled = {&outer, measure, outer_norm, is_rounding};
  const double atol = solver->limits.atol;
  karst_next_set_monitor(solver);
  if (karst_solver_is_reduced(solver)) return solve_reduced(solver, b, x, rtol_target, result);
  if (!system->copy) return karst_krylov_solve(krylov, b, x, rtol_target, atol, result);
  krylov->outer = karst_solver_is_scaled(solver) ? &scaled : NULL;
  karst_system_enter(system, b, x);
  karst_status status = karst_krylov_solve(krylov, system->rhs, system->solution, rtol_target, atol, result);
  krylov->outer = NULL;
  if (krylov->iterations == 0 || krylov->measured) return status;
  leave_system(&outer, system->solution);
  return status;
}

/* The second of two drivers goes on from the x of the first, which has failed. Where there is no memory for it, the
 * outcome is the first one's. */
static karst_status go_on(karst_solver *solver, const double *b, double *x, double rtol_target, karst_result *result)
{
  const int before = result->iterations;
  karst_status status = karst_next_begin(solver, result);
  if (status) return status == KARST_ERROR_NO_MEMORY ? KARST_SUCCESS : status;
  karst_tell(solver->context, KARST_MESSAGE_PHASE, "solve (%s)", solver->running->ops->name);
  status = solve_system(solver, b, x, rtol_target, result);
  result->iterations += before;
  return status;
}

/* The sentence of karst_solver_explain. */
static void explain(karst_solver *solver, const karst_result *result, const struct finding *found)
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
        isgreater(solver->running->start_merit, 0) ? solver->running->merit / solver->running->start_merit : 0,
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
  else if (result->reason == KARST_SINGULAR_BLOCK)
    snprintf(text, size, "not solved: the pivot block of block row %lld is singular", row);
  else if (result->reason == KARST_NOT_FINITE && row >= 0)
    snprintf(text, size, "not solved: a NaN or an infinity was first seen in %s, block row %lld", found->what, row);
  else if (result->reason == KARST_NOT_FINITE)
    snprintf(text, size, "not solved: a NaN or an infinity was first seen in %s", found->what);
  else if (result->reason == KARST_OUT_OF_RANGE)
    karst_print(text, size, "not solved: %s is %.3e, which double precision cannot square; the system should be scaled",
                found->what, found->norm);
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
  if (!status && !karst_system_is_current(&solver->system))
    status = karst_fail(solver->context, KARST_ERROR_ARGUMENT,
                        "the referenced values have been written since the solver's last setup or update: "
                        "karst_matrix_values_changed and karst_solver_update were not called");
  return status;
}

/* The outcome where b says it all: it is not finite, or of a size whose norm, or the norm to reach, has a square that
 * double precision cannot hold, so that a residual would look converged that is not. Else result->reason stays. */
static karst_status judge_rhs(const karst_solver *solver, const double *b, double rhs_norm, double target,
                              karst_result *result, struct finding *found)
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
    *found = (struct finding){large ? "the norm of the right-hand side" : "the residual norm to reach",
                              large ? rhs_norm : fmax(target, DBL_EPSILON * rhs_norm)};
    return KARST_SUCCESS;
  }
  result->block_row = karst_layout_block_row(karst_matrix_layout(solver->system.original), survey.where);
  found->what = "the right-hand side";
  return KARST_SUCCESS;
}

/* The norm of b - A x as it is computed, for the caller's system. */
static karst_status plain_residual(const karst_solver *solver, const double *b, const double *x, double *norm)
{
  const karst_residual_space own = {solver->krylov->r, solver->krylov->vector[0], solver->norm2};
  const karst_residual_space space =
      solver->residual ? (karst_residual_space){solver->residual, solver->size, solver->norm2} : own;
  bool precise = false;
  double error;
  return solver->caller.residual(&solver->caller, b, x, -1, false, &space, &precise, norm, &error);
}

/* b = 0: x = 0, and converged, unless an entry of A is not finite, which is left to the driver. */
static karst_status answer_zero(const karst_solver *solver, const double *b, double *x, karst_result *result)
{
  double norm;
  solver->context->backend->fill(solver->context, karst_matrix_rows(solver->system.original), 0, x);
  karst_status status = plain_residual(solver, b, x, &norm);
  if (!status && norm == 0) result->reason = KARST_CONVERGED_RTOL;
  return status;
}

/* Fills the result, and what its sentence needs. */
static karst_status solve(karst_solver *solver, const double *b, double *x, karst_result *result, struct finding *found)
{
  const karst_system *system = &solver->system;
  double rhs_norm;
  solver->krylov->report.count = 0;
  karst_next_share(solver);
  karst_status status = norm_of(solver, b, &rhs_norm);
  if (status) return status;
  const bool sound = system->reason == KARST_SOUND && solver->precond->reason == KARST_SOUND;
  if (rhs_norm == 0 && sound) status = answer_zero(solver, b, x, result);
  if (status || result->reason != KARST_SOUND) return status;
  const double rtol_target = fmin(solver->limits.rtol * rhs_norm, DBL_MAX);
  if (rhs_norm != 0 && sound)
    status = judge_rhs(solver, b, rhs_norm, fmax(rtol_target, solver->limits.atol), result, found);
  if (status || result->reason != KARST_SOUND) return status;
  if (system->reason != KARST_SOUND) {
    result->reason = system->reason;
    result->block_row = system->block_row;
    status = plain_residual(solver, b, x, &result->residual);
  } else {
    status = solve_system(solver, b, x, rtol_target, result);
    if (!status && karst_next_is_due(solver, result)) status = go_on(solver, b, x, rtol_target, result);
    result->block_row = karst_system_original_row(system, result->block_row);
    if (solver->running->not_finite_in) found->what = solver->running->not_finite_in;
    if (result->reason == KARST_OUT_OF_RANGE)
      *found = (struct finding){solver->running->out_of_range, solver->running->out_of_range_norm};
    const bool doubtful = karst_solver_is_reduced(solver) && result->reason == KARST_NOT_FINITE &&
                          result->block_row < 0 && result->iterations == 0;
    if (!status && doubtful) status = check_start(solver, x, result, found);
  }
  result->relative_residual = result->residual == 0 ? 0 : rhs_norm == 0 ? INFINITY : result->residual / rhs_norm;
  return status;
}

static karst_auto_sample sample_of(const karst_solver *solver, const karst_result *result, double seconds)
{
  return (karst_auto_sample){.A = solver->system.matrix,
                             .first = solver->krylov,
                             .krylov = solver->running,
                             .result = result,
                             .time_update = solver->time_transfer + solver->precond->time_factor,
                             .time_solve = seconds};
}

/* One solve with the choice at hand. *goes_on: of auto, another choice is to go on from its x, which is made; or this
 * one, where that could not be made and this one was broken off. */
static karst_status attempt(karst_solver *solver, const karst_vector *b, karst_vector *x, karst_result *result,
                            struct finding *found, bool *goes_on)
{
  const double begin = karst_clock();
  solver->running = solver->krylov; /* what the solve begins with, by which it is priced */
  const int most = solver->limits.max_iterations - solver->before, done = solver->before, rung = solver->automatic.at;
  karst_auto_sample sample = sample_of(solver, NULL, 0);
  *goes_on = false;
  *result = (karst_result){.reason = KARST_SOUND, .block_row = -1};
  *found = (struct finding){"the matrix", NAN};
  solver->allowed = solver->limits;
  solver->allowed.max_iterations = solver->given ? karst_auto_allow(&solver->automatic, &sample, most) : most;
  karst_tell(solver->context, KARST_MESSAGE_PHASE, "solve (%s)", solver->krylov->ops->name);
  karst_status status = solve(solver, b->values, x->values, result, found);
  const karst_status waited = karst_context_synchronize(solver->context); /* x may be scattered after the last look */
  if (!status) status = waited;
  solver->before = done + result->iterations;
  if (status || !solver->given || solver->system.reason != KARST_SOUND) return status;
  sample = sample_of(solver, result, karst_clock() - begin);
  if (!karst_auto_measure(&solver->automatic, &sample, solver->allowed.max_iterations, most)) return KARST_SUCCESS;
  status = karst_choice_change(solver, rung, goes_on);
  if (*goes_on || status) return status;
  solver->automatic.due = false; /* so that it is not broken off again */
  *goes_on = solver->allowed.max_iterations < most && result->reason == KARST_ITERATION_LIMIT;
  return KARST_SUCCESS;
}

karst_status karst_solver_solve(karst_solver *solver, const karst_vector *b, karst_vector *x, karst_result *result)
{
  double begin = karst_clock();
  struct finding found = {"the matrix", NAN};
  bool goes_on = true;
  if (!solver || !b || !x || !result)
    return karst_missing(solver ? solver->context : NULL,
                         result ? "a vector of the solve" : "the place for the result");
  *result = (karst_result){.reason = KARST_SOUND, .block_row = -1};
  karst_status status = karst_solver_check_ready(solver);
  if (!status) status = karst_solver_check_idle(solver);
  if (!status) status = check_arguments(solver, b, x);
  if (status) return status;
  solver->busy = "a solve";
  solver->before = 0;
  for (solver->goes_on = false; !status && goes_on; solver->goes_on = true)
    status = attempt(solver, b, x, result, &found, &goes_on);
  solver->busy = NULL;
  result->iterations = solver->before;
  if (status) {
    result->reason = KARST_SOUND;
    snprintf(solver->explanation, sizeof solver->explanation, "not solved: the call failed");
  } else {
    explain(solver, result, &found);
  }
  solver->time_solve = karst_clock() - begin;
  return status;
}

const char *karst_solver_explain(const karst_solver *solver) { return solver ? solver->explanation : ""; }
