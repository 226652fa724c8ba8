/* drive.c - what all Krylov drivers have in common: the true residual, and when to stop.
 *
 *     repeat
 *       r = b - A x, computed from x
 *       stop if |r| is not finite, is at most a target, or nothing can be gained any more
 *       let the method improve x (its cycle)
 *
 * A method's own recursive residual ends its cycle and no more: a solve has converged only when r says so. Where it has
 * lied, the solve goes on as iterative refinement (Wilkinson, Rounding Errors in Algebraic Processes, 1963; Demmel,
 * Hida, Kahan, Li, Mukherjee and Riedy, ACM Trans. Math. Softw. 32 (2006), 325-351): r is computed to twice the
 * working precision, and a cycle makes a correction d from zero, so that x = x + d is rounded once. That reaches
 * targets at the level of the rounding errors of x.
 *
 * The x with the smallest true residual between cycles is kept, and is what the caller gets when the last one is
 * worse. */
#include "lib/method/krylov.h"
#include "lib/vector/norm.h"

#include <float.h>
#include <math.h>
#include <stdio.h>

enum { IDLE_LIMIT = 3 /* cycles in a row without gain: stagnation */ };

/* A cycle has gained something when it lowered the true residual to less than this part of the best so far, for one
 * that claimed to have converged; for another, the norm that the method lowers. The first catches rounding, the second
 * a restarted method that stands still, and not one that is slow. */
static const double gain_claimed = 0.99, gain_unclaimed = 1 - 1e-6;

/* A recursive residual that has fallen to this part of where it began is rounding. One that has grown to so many times
 * the least true residual that is kept has diverged: the corrections have wiped out every digit of the x that had it,
 * and what the recurrence may still lower is no longer the residual of an x (Sleijpen and van der Vorst, Computing 56
 * (1996), 141-163). No solve that converged has been seen to grow by more than 1e6 (doc/design.md). */
static const double rounding = 64 * DBL_EPSILON, divergence = 1 / DBL_EPSILON;

/* The norm that the method lowers and is judged by, of the residual at the start of a cycle. */
static double norm_at_start(const karst_krylov *k) { return k->by_precond ? k->merit : k->residual; }

static void ask_monitor(karst_krylov *k, double residual)
{
  if (k->monitor) k->decision = k->monitor(k->monitor_user, k->iterations, residual);
}

bool karst_krylov_step(karst_krylov *k, double residual, double goal)
{
  k->iterations++;
  k->claimed = residual <= goal;
  k->diverged = residual > k->divergent;
  ask_monitor(k, residual);
  return k->claimed || k->diverged || k->decision != KARST_GO_ON || residual <= rounding * norm_at_start(k) ||
         k->iterations >= k->limits->max_iterations;
}

/* A value that is no decision is a mistake in the monitor, of which nothing can be made. */
static karst_status check_decision(const karst_krylov *k)
{
  if (k->decision == KARST_GO_ON || k->decision == KARST_ACCEPT || k->decision == KARST_STOP) return KARST_SUCCESS;
  return karst_fail(k->context, KARST_ERROR_ARGUMENT,
                    "the monitor returned %d after iteration %d, which is no karst_decision", (int)k->decision,
                    k->iterations);
}

/* Puts on record where a NaN or an infinity was first seen; iteration 0: before the first. */
static void record(karst_krylov *k, const char *what, int iteration, karst_index block_row)
{
  if (iteration > 0) {
    snprintf(k->not_finite_text, sizeof k->not_finite_text, "%s of iteration %d", what, iteration);
    what = k->not_finite_text;
  }
  k->not_finite_in = what;
  k->not_finite_row = block_row;
}

/* The first scalar of device memory that is not finite, or -1. */
static karst_status find_not_finite(karst_krylov *k, const double *values, int64_t count, int64_t *where)
{
  karst_survey survey;
  karst_status status = karst_survey_elements(k->context, count, values, &survey);
  *where = survey.where;
  return status;
}

static karst_index block_row_of(const karst_krylov *k, int64_t element)
{
  return k->A.block_row ? k->A.block_row(&k->A, element) : karst_layout_block_row(k->A.layout, element);
}

/* What is NaN or infinite in x makes the residual so too, also where no row reads it. Its elements are looked at only
 * where the sum of their squares is not finite. */
static karst_status look_at_unread(karst_krylov *k)
{
  int64_t where;
  double square, *place = k->norm2 + 1;
  karst_sums_dots(k->context, k->n, 1, (const double *const *)&k->x, k->x, place);
  karst_status status = k->context->backend->download(k->context, &square, place, sizeof square);
  if (status || isfinite(square)) return status;
  status = find_not_finite(k, k->x, k->n, &where);
  if (status || where < 0) return status;
  k->residual = k->judged = NAN;
  if (k->iterations > 0) record(k, "the solution", k->iterations, block_row_of(k, where));
  return KARST_SUCCESS;
}

/* sqrt(r'M^-1 r); a NaN where M is not positive definite, as the next cycle finds too, or there is none, and where the
 * square overflows, for rtol times an infinity is no norm to reach. */
static karst_status measure_by_precond(karst_krylov *k)
{
  double square = NAN, *place = k->norm2 + 1;
  karst_status status = KARST_SUCCESS;
  if (k->M->reason == KARST_SOUND) {
    status = karst_krylov_precondition_dot(k, k->r, k->vector[0], place);
    if (!status) status = k->context->backend->download(k->context, &square, place, sizeof square);
  }
  k->merit = isfinite(square) && (square > 0 || k->residual == 0) ? sqrt(square) : NAN;
  return status;
}

/* Whether the true residual says that the solve has converged. A merit that is a NaN, of an M that is not positive
 * definite, is compared without raising an exception: it ends the solve with a reason. */
static bool has_converged(const karst_krylov *k)
{
  return k->judged <= k->wanted || (k->by_precond && islessequal(k->merit, k->wanted_merit));
}

/* The norm of the driver's residual at which the caller's is at the target, as far as the ratio of both tells. */
static double find_target(const karst_krylov *k)
{
  if (!k->outer || !k->outer->norm) return k->wanted;
  return k->judged > k->wanted ? k->residual * (k->wanted / k->judged) : k->residual;
}

/* r = b - A x and its norm, and the caller's. The method's own vectors are free between cycles. How far rounding may be
 * from the norm that is judged is found where x claims to have converged, where something can depend on it, and where
 * the norm is at most the target. */
static karst_status compute_residual(karst_krylov *k, bool precise)
{
  const karst_residual_space space = {k->r, k->vector[0], k->norm2};
  const double certain = k->outer ? -1 : k->wanted; /* only the norm that is judged has to be */
  const bool bounded = k->claimed || k->iterations > 0 || k->by_precond;
  k->precise = precise;
  k->measured = false;
  karst_status status =
      k->A.residual(&k->A, k->b, k->x, certain, bounded && !k->outer, &space, &k->precise, &k->residual, &k->error);
  k->judged = k->residual;
  if (!status && k->outer) {
    k->precise = precise;
    status = k->outer->measure(k->outer->user, k->x, k->wanted, bounded, &k->precise, &k->judged, &k->error);
    k->measured = status == KARST_SUCCESS;
  }
  if (!status && k->A.unread) status = look_at_unread(k);
  k->target = find_target(k);
  k->merit = k->judged;
  return !status && k->by_precond ? measure_by_precond(k) : status;
}

/* Whether nothing in working precision tells the residual from zero: a solve that is judged relative to its start has
 * nothing left to gain then, which is what one finds that starts from its last answer. With an rtol of 0 it is not
 * judged so, nor where |r| exceeds rtol |b|: with an x that has grown along a null space any residual is rounding. */
static karst_status look_for_rounding(karst_krylov *k, double rtol_target)
{
  const karst_residual_space space = {k->r, k->vector[0], k->norm2};
  k->rounding = false;
  if (!k->by_precond || k->limits->rtol == 0 || !isfinite(k->judged) || has_converged(k)) return KARST_SUCCESS;
  if (!islessequal(k->judged, rtol_target)) return KARST_SUCCESS;
  if (!k->precise && k->judged > 2 * k->error) return KARST_SUCCESS;
  if (k->outer) return k->outer->is_rounding(k->outer->user, &k->rounding);
  return k->A.is_rounding ? k->A.is_rounding(&k->A, k->b, k->x, &space, &k->rounding) : KARST_SUCCESS;
}

/* The true residual after a cycle, whose claim to have converged is judged by it; precisely once a recursive residual
 * has been found wrong. */
static karst_status check_claim(karst_krylov *k)
{
  karst_status status = compute_residual(k, k->false_claims > 0);
  if (status || !k->claimed || has_converged(k)) return status;
  return k->false_claims++ == 0 && !k->precise ? compute_residual(k, true) : status;
}

/* A norm of the recursive residual that should bring the true one to target: less of it with each false claim. */
static double goal_for(const karst_krylov *k, double target)
{
  return k->false_claims > 1 ? target * pow(0.1, k->false_claims - 1) : target;
}

karst_status karst_krylov_compare(karst_krylov *k, double residual, const double *r)
{
  double norm;
  karst_status status = k->outer->norm(k->outer->user, r, &norm);
  k->compared_at = residual;
  if (!status && norm > 0) k->goal = goal_for(k, residual * (k->wanted / norm));
  return status;
}

static karst_status blame_vectors(karst_krylov *k, int count, const karst_krylov_suspect *suspect, int iteration)
{
  for (int i = 0; i < count && !k->not_finite_in; i++) {
    int64_t where;
    karst_status status = find_not_finite(k, suspect[i].values, k->n, &where);
    if (status) return status;
    if (where >= 0) record(k, suspect[i].what, iteration, block_row_of(k, where));
  }
  return KARST_SUCCESS;
}

/* Of a residual of what is finite. */
static const char *name_residual(const karst_krylov *k, const char *name)
{
  return k->A.find_not_finite ? name : k->A.product;
}

/* The residual of the start or the target is not finite. */
static karst_status blame_start(karst_krylov *k)
{
  const karst_krylov_suspect given[] = {{"the right-hand side", k->b}, {"the start", k->x}};
  const karst_krylov_suspect computed[] = {{name_residual(k, "the residual of the start"), k->r}};
  karst_index block_row = -1;
  karst_status status = blame_vectors(k, 2, given, 0);
  if (!status && !k->not_finite_in && k->A.find_not_finite) status = k->A.find_not_finite(&k->A, &block_row);
  if (!status && block_row >= 0) record(k, "the matrix", 0, block_row);
  if (!status) status = blame_vectors(k, 1, computed, 0);
  if (!status && !k->not_finite_in)
    record(k, isfinite(k->residual) ? "the norm of the right-hand side" : "the norm of the residual of the start", 0,
           -1);
  return status;
}

/* The preconditioner met something that is not finite when it was set up. */
static karst_status blame_factors(karst_krylov *k)
{
  karst_index block_row;
  karst_status status = karst_precond_find_not_finite(k->M, &block_row);
  if (status) return status;
  if (block_row >= 0)
    record(k, "the matrix", 0, block_row);
  else
    record(k, "the factors of the preconditioner", 0, k->M->block_row);
  return KARST_SUCCESS;
}

karst_status karst_krylov_blame(karst_krylov *k, int count, const karst_krylov_suspect *suspect, karst_reason *reason)
{
  *reason = KARST_NOT_FINITE;
  karst_status status = blame_vectors(k, count, suspect, k->iterations + 1);
  if (!status && !k->not_finite_in) record(k, "a scalar product", k->iterations + 1, -1);
  return status;
}

/* Counts how many cycles in a row have gained nothing, the one just ended included. */
static void judge_progress(karst_krylov *k)
{
  bool gained =
      k->claimed ? isless(k->merit, gain_claimed * k->best_merit) : k->measure < gain_unclaimed * k->best_measure;
  k->idle = gained ? 0 : k->idle + 1;
  k->best_measure = fmin(k->measure, k->best_measure);
}

/* The least norm that has to be told from zero on the way to the target. */
static double least_norm(const karst_krylov *k) { return fmax(k->target, DBL_EPSILON * k->residual); }

/* Whether the norms down to the target have squares that can be held; the caller has seen to that of his own target. A
 * residual of zero that is not zero to him is rounding away from what he wants. */
static bool is_measurable(const karst_krylov *k)
{
  if (k->residual > karst_norm_largest) return false;
  if (k->outer && !k->outer->norm && k->residual == 0) return true;
  return !k->outer || least_norm(k) >= karst_norm_smallest;
}

/* Puts on record which norm cannot be squared. */
static void record_out_of_range(karst_krylov *k)
{
  const bool large = k->residual > karst_norm_largest;
  k->out_of_range = !large               ? "the residual norm to reach in the system as it is scaled"
                    : k->iterations == 0 ? "the norm of the residual of the start"
                                         : "the norm of the residual";
  k->out_of_range_norm = large ? k->residual : least_norm(k);
}

/* Whether to stop at the true residual, after a cycle that ended for cycle_reason. rtol_target is not finite where the
 * right-hand side or its norm is not. */
static karst_reason judge(const karst_krylov *k, double rtol_target, double atol_target, karst_reason cycle_reason)
{
  if (!isfinite(k->residual) || !isfinite(k->judged) || !isfinite(rtol_target)) return KARST_NOT_FINITE;
  if (k->rounding) return KARST_CONVERGED_ROUNDING;
  if (k->by_precond && has_converged(k))
    return k->judged <= atol_target && atol_target > 0 ? KARST_CONVERGED_ATOL : KARST_CONVERGED_PRECONDITIONED;
  if (has_converged(k)) return atol_target > rtol_target ? KARST_CONVERGED_ATOL : KARST_CONVERGED_RTOL;
  if (k->decision != KARST_GO_ON) return k->decision == KARST_ACCEPT ? KARST_CONVERGED_MONITOR : KARST_STOPPED;
  if (k->diverged || isgreater(k->merit, divergence * k->best_merit)) return KARST_DIVERGED;
  if (!is_measurable(k)) return KARST_OUT_OF_RANGE;
  if (cycle_reason != KARST_SOUND) return cycle_reason;
  if (k->iterations >= k->limits->max_iterations) return KARST_ITERATION_LIMIT;
  if (k->residual == 0) return KARST_STAGNATED; /* a cycle has nothing to begin with */
  return k->idle >= IDLE_LIMIT ? KARST_STAGNATED : KARST_SOUND;
}

/* A cycle that makes a correction to the best x, which x is, from zero. */
static karst_status refine(karst_krylov *k, karst_reason *reason)
{
  const struct karst_backend *backend = k->context->backend;
  backend->fill(k->context, k->n, 0, k->x);
  k->base = k->best;
  karst_status status = k->ops->cycle(k, reason);
  k->base = NULL;
  backend->combine(k->context, k->n, 1, 1, k->one, (const double *const *)&k->best, NULL, k->x, NULL);
  return status;
}

/* What is known of x is kept with it. */
static void keep_best(karst_krylov *k)
{
  k->best_merit = k->merit;
  k->best_judged = k->judged;
  k->best_error = k->error;
  k->best_precise = k->precise;
}

/* The true residual of the best x, which is not x, and a bound of its error. */
static karst_status measure_best(karst_krylov *k, bool precise)
{
  double *x = k->x;
  k->x = k->best;
  k->kept_start = k->best_iteration == 0;
  const karst_status status = compute_residual(k, precise);
  k->x = x;
  k->kept_start = k->measured = false;
  if (!status) keep_best(k);
  return status;
}

/* Whether rounding could hide which of x and the best is the better one. Of its errors in sqrt(r'M^-1 r) there is no
 * bound. */
static bool is_in_doubt(const karst_krylov *k)
{
  if (!isfinite(k->merit) || isinf(k->best_merit) || (k->precise && k->best_precise)) return false;
  return k->by_precond || fabs(k->merit - k->best_merit) <= k->error + k->best_error;
}

/* The start is measured without a bound of its error, which is found now that it is needed. */
static karst_status bound_best(karst_krylov *k)
{
  if (k->by_precond || !isinf(k->best_error) || !is_in_doubt(k)) return KARST_SUCCESS;
  const karst_status status = measure_best(k, false);
  return status ? status : compute_residual(k, k->false_claims > 0);
}

/* Whether x, which a cycle has made or the caller has given, is better than the best so far, by the norm that judges.
 * Where that is in doubt both norms are computed precisely, as the one that is reported: with a large x the rounding
 * errors of b - A x can be larger than what was gained. */
static karst_status weigh(karst_krylov *k)
{
  karst_status status = bound_best(k);
  if (!status && is_in_doubt(k)) {
    if (!k->best_precise) status = measure_best(k, true);
    if (!status) status = compute_residual(k, true);
  }
  k->better = !status && isfinite(k->merit) && k->merit < k->best_merit;
  return status;
}

/* The best becomes x, and its residual that at the start of a cycle. */
static karst_status return_to_best(karst_krylov *k)
{
  k->context->backend->copy(k->context, k->n, k->best, k->x);
  k->kept_start = k->best_iteration == 0;
  const karst_status status = compute_residual(k, k->false_claims > 0);
  k->kept_start = false;
  return status;
}

/* Lets the method improve x, having kept x if it is the best so far. What is refined is the best. */
static karst_status run_cycle(karst_krylov *k, karst_reason *reason)
{
  const bool refines = k->false_claims > 0;
  if (k->better) {
    k->context->backend->copy(k->context, k->n, k->x, k->best);
    k->best_iteration = k->iterations;
    keep_best(k);
  } else if (refines) {
    const karst_status status = return_to_best(k);
    if (status) return status;
  }
  k->claimed = k->diverged = k->measured = false;
  k->measure = k->compared_at = k->residual;
  k->goal = goal_for(k, k->by_precond ? k->wanted_merit : k->target);
  k->goal_atol = goal_for(k, k->target);
  k->divergent = divergence * norm_at_start(k) * fmin(k->best_merit / k->merit, 1);
  *reason = KARST_SOUND;
  return refines ? refine(k, reason) : k->ops->cycle(k, reason);
}

static void take_best(karst_krylov *k)
{
  k->context->backend->copy(k->context, k->n, k->best, k->x);
  k->merit = k->best_merit;
  k->judged = k->best_judged;
  k->error = k->best_error;
  k->precise = k->best_precise;
  k->kept_start = k->best_iteration == 0;
  k->measured = false;
}

static void fall_back_on_best(karst_krylov *k)
{
  if (!isinf(k->best_merit) && !k->better && !has_converged(k) && !k->rounding) take_best(k);
}

/* The call fails, perhaps in the middle of a cycle: x becomes the best that is known, what the cycle has made of it
 * included. Where not even a residual is to be had, that is the best between cycles. */
static void salvage(karst_krylov *k)
{
  k->claimed = false;
  if (isinf(k->best_merit)) return; /* no cycle has run */
  if (compute_residual(k, k->false_claims > 0) != KARST_SUCCESS || weigh(k) != KARST_SUCCESS || !k->better)
    take_best(k);
}

/* What ends without having converged is looked at precisely once more: rounding may have hidden that it has. */
static karst_status look_again(karst_krylov *k, double rtol_target, double atol_target, karst_reason *reason)
{
  karst_status status = KARST_SUCCESS;
  if (*reason > 0 || *reason == KARST_NOT_FINITE || *reason == KARST_OUT_OF_RANGE || k->M->reason != KARST_SOUND)
    return KARST_SUCCESS;
  if (!k->precise) status = compute_residual(k, true);
  if (!status) status = look_for_rounding(k, rtol_target);
  if (!status && (has_converged(k) || k->rounding)) *reason = judge(k, rtol_target, atol_target, *reason);
  return status;
}

karst_status karst_krylov_solve(karst_krylov *k, const double *b, double *x, double rtol_target, double atol_target,
                                karst_result *result)
{
  karst_reason reason = k->M->reason, cycle_reason = KARST_SOUND;
  k->b = b;
  k->x = x;
  k->by_precond = k->ops->by_precond && k->ops->by_precond(k);
  k->wanted = k->by_precond ? atol_target : fmax(rtol_target, atol_target);
  k->wanted_merit = NAN;
  k->iterations = k->false_claims = k->idle = 0;
  k->claimed = k->diverged = k->kept_start = k->rounding = false;
  k->best_merit = k->best_judged = k->best_measure = INFINITY;
  k->report.count = 0;
  k->decision = KARST_GO_ON;
  k->not_finite_in = NULL;
  k->not_finite_row = -1;
  *result = (karst_result){.block_row = -1};

  karst_status status = compute_residual(k, false);
  if (!status) status = weigh(k);
  k->start_merit = k->merit;
  k->wanted_merit = k->limits->rtol * k->start_merit;
  if (status) k->judged = NAN;
  if (!status) ask_monitor(k, k->outer && !k->outer->norm ? k->merit : norm_at_start(k));
  if (!status) status = check_decision(k);
  if (!status && reason == KARST_NOT_FINITE) status = blame_factors(k);
  if (!status && reason == KARST_SOUND) status = look_for_rounding(k, rtol_target);
  if (!status && reason == KARST_SOUND) {
    reason = judge(k, rtol_target, atol_target, KARST_SOUND);
    if (reason == KARST_NOT_FINITE) status = blame_start(k);
    if (reason == KARST_OUT_OF_RANGE) record_out_of_range(k);
  }
  while (!status && reason == KARST_SOUND) {
    status = run_cycle(k, &cycle_reason);
    if (!status) status = check_decision(k);
    if (!status) status = check_claim(k);
    if (!status) status = look_for_rounding(k, rtol_target);
    if (!status && !has_converged(k) && !k->rounding) status = weigh(k);
    if (status) break;
    judge_progress(k);
    reason = judge(k, rtol_target, atol_target, cycle_reason);
    if (reason == KARST_NOT_FINITE && !k->not_finite_in)
      record(k, name_residual(k, "the true residual"), k->iterations, -1);
    if (reason == KARST_OUT_OF_RANGE) record_out_of_range(k);
  }
  if (status) {
    salvage(k);
    result->iterations = k->iterations;
    result->residual = k->judged;
    return status;
  }
  fall_back_on_best(k);
  status = look_again(k, rtol_target, atol_target, &reason);
  if (status) return status;
  result->reason = reason;
  result->iterations = k->iterations;
  result->residual = k->judged;
  if (reason == KARST_NOT_FINITE) result->block_row = k->not_finite_row;
  if (reason == k->M->reason && reason != KARST_NOT_FINITE) result->block_row = k->M->block_row;
  return KARST_SUCCESS;
}
