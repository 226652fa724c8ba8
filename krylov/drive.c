/* drive.c - shared by all Krylov drivers: the true residual, and the decision to stop.
 *
 *     repeat
 *       r = b - A x, computed from x
 *       stop if |r| is not finite, is at most a target, or cannot be lowered further
 *       let the method improve x (its cycle)
 *
 * A method's recursive residual only ends its cycle: the solve has converged only if r is small enough. If a recursive
 * residual was wrong, the solve continues as iterative refinement (Wilkinson, Rounding Errors in Algebraic Processes,
 * 1963; Demmel, Hida, Kahan, Li, Mukherjee and Riedy, ACM Trans. Math. Softw. 32 (2006), 325-351): r is computed to
 * twice the working precision, and a cycle makes a correction d from zero, so that x = x + d is rounded once. That
 * reaches targets at the level of the rounding errors of x.
 *
 * The x with the smallest true residual between cycles is kept, and the caller gets it if the last x is worse. */
#include "lib/method/krylov.h"
#include "lib/vector/norm.h"

#include <float.h>
#include <math.h>
#include <stdio.h>

enum { IDLE_LIMIT = 3 /* cycles in a row without gain: stagnation */ };

/* A cycle that claimed to have converged has gained if the true residual is below gain_claimed times the best so far.
 * Another cycle has gained if the norm that the method lowers is below gain_unclaimed times its least. The first test
 * detects rounding, the second a restarted method that stands still, but not a slow one. */
static const double gain_claimed = 0.99, gain_unclaimed = 1 - 1e-6;

/* A recursive residual that has fallen to the part rounding of its start is only rounding. One that has grown to
 * divergence times the least true residual has diverged: the corrections have destroyed every digit of the x that had
 * it, and the recurrence is no longer the residual of any x (Sleijpen and van der Vorst, Computing 56 (1996), 141-163).
 * No solve that converged was seen to grow by more than 1e6 (doc/design.md). */
static const double rounding = 64 * DBL_EPSILON, divergence = 1 / DBL_EPSILON;

/* The norm that the method lowers and is judged by, of the residual at the start of a cycle. */
static double norm_at_start(const karst_krylov *k) { return k->test.by_precond ? k->now.merit : k->residual; }

/* Takes the first decision of a rank, in their order, that is not to go on. */
static void share_decision(karst_krylov *k)
{
  karst_decision *const all = (void *)k->context->ranks->words;
  const karst_status status = karst_ranks_gather(k->context, &k->monitor.decision, sizeof *all, all);
  k->monitor.decision = status ? KARST_STOP : KARST_GO_ON;
  for (int r = karst_context_ranks(k->context) - 1; r >= 0 && !status; r--)
    if (all[r] != KARST_GO_ON) k->monitor.decision = all[r];
}

static void call_monitor(karst_krylov *k, double residual)
{
  if (k->monitor.function) k->monitor.decision = k->monitor.function(k->monitor.user, k->iterations, residual);
  if (k->monitor.of_a_rank) share_decision(k);
}

bool karst_krylov_step(karst_krylov *k, double residual, double goal)
{
  k->iterations++;
  k->claims.made = residual <= goal;
  k->claims.diverged = residual > k->test.divergent;
  call_monitor(k, residual);
  return k->claims.made || k->claims.diverged || k->monitor.decision != KARST_GO_ON ||
         residual <= rounding * norm_at_start(k) || k->iterations >= k->limits->max_iterations;
}

/* A monitor that returns anything but a decision has a mistake, which fails the solve. */
static karst_status check_decision(const karst_krylov *k)
{
  if (k->monitor.decision == KARST_GO_ON || k->monitor.decision == KARST_ACCEPT || k->monitor.decision == KARST_STOP)
    return KARST_SUCCESS;
  return karst_fail(k->context, KARST_ERROR_ARGUMENT,
                    "the monitor returned %d after iteration %d, which is not a karst_decision",
                    (int)k->monitor.decision, k->iterations);
}

/* Records in k->fault where a NaN or an infinity was first seen; iteration 0: before the first iteration. */
static void record_not_finite(karst_krylov *k, const char *what, int iteration, karst_index block_row)
{
  if (iteration > 0) {
    snprintf(k->fault.text, sizeof k->fault.text, "%s of iteration %d", what, iteration);
    what = k->fault.text;
  }
  k->fault.what = what;
  k->fault.block_row = block_row;
}

/* Finds the first scalar of device memory that is not finite; *where is -1 if all are finite. */
static karst_status find_element(karst_krylov *k, const double *values, int64_t count, int64_t *where)
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

/* Sets the norm of the residual to NaN if x has a NaN or an infinity, even in an element that no row reads. It searches
 * the elements only if the sum of their squares is not finite. */
static karst_status check_unread(karst_krylov *k)
{
  int64_t where;
  double square, *place = k->work.norm2 + 1;
  karst_sums_dots(k->context, k->n, 1, (const double *const *)&k->x, k->x, place);
  karst_status status = karst_ranks_download(k->context, 1, place, &square);
  if (status || isfinite(square)) return status;
  status = find_element(k, k->x, k->n, &where);
  if (status || where < 0) return status;
  k->residual = k->now.norm = NAN;
  if (k->iterations > 0) record_not_finite(k, "the solution", k->iterations, block_row_of(k, where));
  return KARST_SUCCESS;
}

/* Sets the merit to sqrt(r'M^-1 r). It is a NaN if M is not positive definite, which the next cycle finds too, if the
 * factorization has failed, and if the square overflows, because rtol times an infinity cannot be reached. */
static karst_status measure_by_precond(karst_krylov *k)
{
  double square = NAN, *place = k->work.norm2 + 1;
  karst_status status = KARST_SUCCESS;
  if (k->M->reason == KARST_SOUND) {
    status = karst_krylov_precondition_dot(k, k->work.r, k->work.vector[0], place);
    if (!status) status = karst_ranks_download(k->context, 1, place, &square);
  }
  k->now.merit = isfinite(square) && (square > 0 || k->residual == 0) ? sqrt(square) : NAN;
  return status;
}

/* Whether the solve has converged by its true residual. A merit that is a NaN is compared without raising an exception:
 * it ends the solve with a reason. */
static bool has_converged(const karst_krylov *k)
{
  return k->now.norm <= k->test.norm || (k->test.by_precond && islessequal(k->now.merit, k->test.merit));
}

/* Estimates the norm of the driver's residual at which the caller's is at the target, from the ratio of both. */
static double find_target(const karst_krylov *k)
{
  if (!k->outer || !k->outer->norm) return k->test.norm;
  return k->now.norm > k->test.norm ? k->residual * (k->test.norm / k->now.norm) : k->residual;
}

/* Computes r = b - A x, its norm, and the norm of the caller's residual. The method's own vectors are free between
 * cycles. The bound of the rounding errors is computed if the cycle claims to have converged, if a decision can depend
 * on it, and if the norm is at most the target. */
static karst_status compute_residual(karst_krylov *k, bool precise)
{
  const karst_residual_space space = {k->work.r, k->work.vector[0], k->work.norm2};
  const double certain = k->outer ? -1 : k->test.norm; /* only the norm that is judged has to be */
  const bool bounded = k->claims.made || k->iterations > 0 || k->test.by_precond;
  k->now.precise = precise;
  k->is_up = false;
  karst_status status = k->A.residual(&k->A, k->b, k->x, certain, bounded && !k->outer, &space, &k->now.precise,
                                      &k->residual, &k->now.error);
  k->now.norm = k->residual;
  if (!status && k->outer) {
    k->now.precise = precise;
    status =
        k->outer->measure(k->outer->user, k->x, k->test.norm, bounded, &k->now.precise, &k->now.norm, &k->now.error);
    k->is_up = status == KARST_SUCCESS;
  }
  if (!status && k->A.unread) status = check_unread(k);
  k->test.target = find_target(k);
  k->now.merit = k->now.norm;
  return !status && k->test.by_precond ? measure_by_precond(k) : status;
}

/* Finds whether working precision cannot distinguish the residual from zero. A solve that is judged relative to its
 * start can then gain nothing, for example if it starts from its last solution. Not checked with an rtol of 0, nor if
 * |r| exceeds rtol |b|: with an x that has grown along a null space any residual is rounding. */
static karst_status check_rounding(karst_krylov *k, double rtol_target)
{
  const karst_residual_space space = {k->work.r, k->work.vector[0], k->work.norm2};
  k->claims.rounding = false;
  if (!k->test.by_precond || k->limits->rtol == 0 || !isfinite(k->now.norm) || has_converged(k)) return KARST_SUCCESS;
  if (!islessequal(k->now.norm, rtol_target)) return KARST_SUCCESS;
  if (!k->now.precise && k->now.norm > 2 * k->now.error) return KARST_SUCCESS;
  if (k->outer) return k->outer->is_rounding(k->outer->user, &k->claims.rounding);
  return k->A.is_rounding ? k->A.is_rounding(&k->A, k->b, k->x, &space, &k->claims.rounding) : KARST_SUCCESS;
}

/* Computes the true residual after a cycle and checks the cycle's claim by it. Once a recursive residual has been
 * wrong, the true one is computed precisely. */
static karst_status check_claim(karst_krylov *k)
{
  karst_status status = compute_residual(k, k->claims.wrong > 0);
  if (status || !k->claims.made || has_converged(k)) return status;
  return k->claims.wrong++ == 0 && !k->now.precise ? compute_residual(k, true) : status;
}

/* Returns the norm of the recursive residual that should bring the true one to target: smaller with each false
 * claim. */
static double goal_for(const karst_krylov *k, double target)
{
  return k->claims.wrong > 1 ? target * pow(0.1, k->claims.wrong - 1) : target;
}

karst_status karst_krylov_compare(karst_krylov *k, double residual, const double *r)
{
  double norm;
  karst_status status = k->outer->norm(k->outer->user, r, &norm);
  k->test.compared_at = residual;
  if (!status && norm > 0) k->test.goal = goal_for(k, residual * (k->test.norm / norm));
  return status;
}

/* Searches the vectors of an iteration for the first one with an element that is not finite. */
static karst_status search_vectors(karst_krylov *k, int count, const karst_krylov_vector *vectors, int iteration)
{
  for (int i = 0; i < count && !k->fault.what; i++) {
    int64_t where;
    karst_status status = find_element(k, vectors[i].values, k->n, &where);
    if (status) return status;
    if (where >= 0) record_not_finite(k, vectors[i].what, iteration, block_row_of(k, where));
  }
  return KARST_SUCCESS;
}

/* Names a residual that is not finite though its vectors are: by the product if the operator has no numbers to
 * check. */
static const char *name_residual(const karst_krylov *k, const char *name)
{
  return k->A.find_not_finite ? name : k->A.product;
}

/* Finds why the residual of the start, or the target, is not finite. */
static karst_status search_start(karst_krylov *k)
{
  const karst_krylov_vector given[] = {{"the right-hand side", k->b}, {"the start", k->x}};
  const karst_krylov_vector computed[] = {{name_residual(k, "the residual of the start"), k->work.r}};
  karst_index block_row = -1;
  karst_status status = search_vectors(k, 2, given, 0);
  if (!status && !k->fault.what && k->A.find_not_finite) status = k->A.find_not_finite(&k->A, &block_row);
  if (!status && block_row >= 0) record_not_finite(k, "the matrix", 0, block_row);
  if (!status) status = search_vectors(k, 1, computed, 0);
  if (!status && !k->fault.what)
    record_not_finite(
        k, isfinite(k->residual) ? "the norm of the right-hand side" : "the norm of the residual of the start", 0, -1);
  return status;
}

/* Finds the block row in which the preconditioner has met a value that is not finite. */
static karst_status search_factors(karst_krylov *k)
{
  karst_index block_row;
  karst_status status = karst_precond_find_not_finite(k->M, &block_row);
  if (status) return status;
  if (block_row >= 0)
    record_not_finite(k, "the matrix", 0, block_row);
  else
    record_not_finite(k, "the factors of the preconditioner", 0, k->M->block_row);
  return KARST_SUCCESS;
}

karst_status karst_krylov_find_not_finite(karst_krylov *k, int count, const karst_krylov_vector *vectors,
                                          karst_reason *reason)
{
  *reason = KARST_NOT_FINITE;
  karst_status status = search_vectors(k, count, vectors, k->iterations + 1);
  if (!status && !k->fault.what) record_not_finite(k, "a scalar product", k->iterations + 1, -1);
  return status;
}

/* Counts how many cycles in a row have gained nothing, including the one that has ended. */
static void count_idle(karst_krylov *k)
{
  bool gained = k->claims.made ? isless(k->now.merit, gain_claimed * k->best.measured.merit)
                               : k->claims.lowered < gain_unclaimed * k->claims.lowest;
  k->claims.idle = gained ? 0 : k->claims.idle + 1;
  k->claims.lowest = fmin(k->claims.lowered, k->claims.lowest);
}

/* Returns the least norm that must be distinguished from zero on the way to the target. */
static double least_norm(const karst_krylov *k) { return fmax(k->test.target, DBL_EPSILON * k->residual); }

/* Whether double precision holds the squares of the norms down to the target. The solver has checked its own target. If
 * the driver's residual is zero and the caller's is not, the difference is rounding. */
static bool is_measurable(const karst_krylov *k)
{
  if (k->residual > karst_norm_largest) return false;
  if (k->outer && !k->outer->norm && k->residual == 0) return true;
  return !k->outer || least_norm(k) >= karst_norm_smallest;
}

/* Records in k->fault which norm cannot be squared. */
static void record_out_of_range(karst_krylov *k)
{
  const bool large = k->residual > karst_norm_largest;
  k->fault.what = !large               ? "the residual norm to reach in the system as it is scaled"
                  : k->iterations == 0 ? "the norm of the residual of the start"
                                       : "the norm of the residual";
  k->fault.norm = large ? k->residual : least_norm(k);
}

/* Returns the reason to stop by the true residual, after a cycle that ended with cycle_reason, or KARST_SOUND.
 * rtol_target is not finite if the right-hand side or its norm is not. */
static karst_reason find_reason(const karst_krylov *k, double rtol_target, double atol_target,
                                karst_reason cycle_reason)
{
  if (!isfinite(k->residual) || !isfinite(k->now.norm) || !isfinite(rtol_target)) return KARST_NOT_FINITE;
  if (k->claims.rounding) return KARST_CONVERGED_ROUNDING;
  if (k->test.by_precond && has_converged(k))
    return k->now.norm <= atol_target && atol_target > 0 ? KARST_CONVERGED_ATOL : KARST_CONVERGED_PRECONDITIONED;
  if (has_converged(k)) return atol_target > rtol_target ? KARST_CONVERGED_ATOL : KARST_CONVERGED_RTOL;
  if (k->monitor.decision != KARST_GO_ON)
    return k->monitor.decision == KARST_ACCEPT ? KARST_CONVERGED_MONITOR : KARST_STOPPED;
  if (k->claims.diverged || isgreater(k->now.merit, divergence * k->best.measured.merit)) return KARST_DIVERGED;
  if (!is_measurable(k)) return KARST_OUT_OF_RANGE;
  if (cycle_reason != KARST_SOUND) return cycle_reason;
  if (k->iterations >= k->limits->max_iterations) return KARST_ITERATION_LIMIT;
  if (k->residual == 0) return KARST_STAGNATED; /* a cycle cannot begin */
  return k->claims.idle >= IDLE_LIMIT ? KARST_STAGNATED : KARST_SOUND;
}

/* Runs a cycle that makes a correction to the best x, from zero; k->x is that best x. */
static karst_status refine(karst_krylov *k, karst_reason *reason)
{
  const struct karst_backend *backend = k->context->backend;
  backend->fill(k->context, k->n, 0, k->x);
  k->base = k->best.x;
  karst_status status = k->ops->cycle(k, reason);
  k->base = NULL;
  backend->combine(k->context, k->n, 1, 1, k->work.one, (const double *const *)&k->best.x, NULL, k->x, NULL);
  return status;
}

/* Measures the best x, which is not k->x, with a bound of its error. */
static karst_status measure_best(karst_krylov *k, bool precise)
{
  double *x = k->x;
  k->x = k->best.x;
  k->kept_start = k->best.iteration == 0;
  const karst_status status = compute_residual(k, precise);
  k->x = x;
  k->kept_start = k->is_up = false;
  if (!status) k->best.measured = k->now;
  return status;
}

/* Whether rounding errors could hide which of x and the best x is better. The errors of sqrt(r'M^-1 r) have no
 * bound. */
static bool is_unclear(const karst_krylov *k)
{
  if (!isfinite(k->now.merit) || isinf(k->best.measured.merit) || (k->now.precise && k->best.measured.precise))
    return false;
  return k->test.by_precond || fabs(k->now.merit - k->best.measured.merit) <= k->now.error + k->best.measured.error;
}

/* Computes the bound of the best x's error if it is needed: the start is measured without it. */
static karst_status bound_best(karst_krylov *k)
{
  if (k->test.by_precond || !isinf(k->best.measured.error) || !is_unclear(k)) return KARST_SUCCESS;
  const karst_status status = measure_best(k, false);
  return status ? status : compute_residual(k, k->claims.wrong > 0);
}

/* Finds whether x, made by a cycle or given by the caller, has a smaller merit than the best so far. If rounding could
 * hide the answer, both norms are computed precisely: with a large x the rounding errors of b - A x can exceed the
 * gain. */
static karst_status compare_with_best(karst_krylov *k)
{
  karst_status status = bound_best(k);
  if (!status && is_unclear(k)) {
    if (!k->best.measured.precise) status = measure_best(k, true);
    if (!status) status = compute_residual(k, true);
  }
  k->best.outdated = !status && isfinite(k->now.merit) && k->now.merit < k->best.measured.merit;
  return status;
}

/* Copies the best x to that of the next cycle, and computes its residual. */
static karst_status return_to_best(karst_krylov *k)
{
  k->context->backend->copy(k->context, k->n, k->best.x, k->x);
  k->kept_start = k->best.iteration == 0;
  const karst_status status = compute_residual(k, k->claims.wrong > 0);
  k->kept_start = false;
  return status;
}

/* Keeps x if it is the best so far, and lets the method improve it; a refinement improves the best x. */
static karst_status run_cycle(karst_krylov *k, karst_reason *reason)
{
  const bool refines = k->claims.wrong > 0;
  if (k->best.outdated) {
    k->context->backend->copy(k->context, k->n, k->x, k->best.x);
    k->best.iteration = k->iterations;
    k->best.measured = k->now;
  } else if (refines) {
    const karst_status status = return_to_best(k);
    if (status) return status;
  }
  k->claims.made = k->claims.diverged = k->is_up = false;
  k->claims.lowered = k->test.compared_at = k->residual;
  k->test.goal = goal_for(k, k->test.by_precond ? k->test.merit : k->test.target);
  k->test.goal_atol = goal_for(k, k->test.target);
  k->test.divergent = divergence * norm_at_start(k) * fmin(k->best.measured.merit / k->now.merit, 1);
  *reason = KARST_SOUND;
  return refines ? refine(k, reason) : k->ops->cycle(k, reason);
}

static void take_best(karst_krylov *k)
{
  k->context->backend->copy(k->context, k->n, k->best.x, k->x);
  k->now = k->best.measured;
  k->kept_start = k->best.iteration == 0;
  k->is_up = false;
}

static void fall_back_on_best(karst_krylov *k)
{
  if (!isinf(k->best.measured.merit) && !k->best.outdated && !has_converged(k) && !k->claims.rounding) take_best(k);
}

/* After a failed call, perhaps in the middle of a cycle: sets x to the best known, which may be the cycle's x. If the
 * residual cannot be computed, x becomes the best between cycles. */
static void recover_best(karst_krylov *k)
{
  k->claims.made = false;
  if (isinf(k->best.measured.merit)) return; /* no cycle has run */
  if (compute_residual(k, k->claims.wrong > 0) != KARST_SUCCESS || compare_with_best(k) != KARST_SUCCESS ||
      !k->best.outdated)
    take_best(k);
}

/* Measures a solve that ends without convergence precisely once more: rounding may have hidden that it has
 * converged. */
static karst_status look_again(karst_krylov *k, double rtol_target, double atol_target, karst_reason *reason)
{
  karst_status status = KARST_SUCCESS;
  if (*reason > 0 || *reason == KARST_NOT_FINITE || *reason == KARST_OUT_OF_RANGE || k->M->reason != KARST_SOUND)
    return KARST_SUCCESS;
  if (!k->now.precise) status = compute_residual(k, true);
  if (!status) status = check_rounding(k, rtol_target);
  if (!status && (has_converged(k) || k->claims.rounding)) *reason = find_reason(k, rtol_target, atol_target, *reason);
  return status;
}

karst_status karst_krylov_solve(karst_krylov *k, const double *b, double *x, double rtol_target, double atol_target,
                                karst_result *result)
{
  karst_reason reason = k->M->reason, cycle_reason = KARST_SOUND;
  k->b = b;
  k->x = x;
  k->test.by_precond = k->ops->by_precond && k->ops->by_precond(k);
  k->test.norm = k->test.by_precond ? atol_target : fmax(rtol_target, atol_target);
  k->test.merit = NAN;
  k->iterations = k->claims.wrong = k->claims.idle = 0;
  k->claims.made = k->claims.diverged = k->kept_start = k->claims.rounding = false;
  k->best.measured.merit = k->best.measured.norm = k->claims.lowest = INFINITY;
  k->report.count = 0;
  k->monitor.decision = KARST_GO_ON;
  k->fault.what = NULL;
  k->fault.block_row = -1;
  *result = (karst_result){.block_row = -1};

  karst_status status = compute_residual(k, false);
  if (!status) status = compare_with_best(k);
  k->test.start_merit = k->now.merit;
  k->test.merit = k->limits->rtol * k->test.start_merit;
  if (status) k->now.norm = NAN;
  if (!status) call_monitor(k, k->outer && !k->outer->norm ? k->now.merit : norm_at_start(k));
  if (!status) status = check_decision(k);
  if (!status && reason == KARST_NOT_FINITE) status = search_factors(k);
  if (!status && reason == KARST_SOUND) status = check_rounding(k, rtol_target);
  if (!status && reason == KARST_SOUND) {
    reason = find_reason(k, rtol_target, atol_target, KARST_SOUND);
    if (reason == KARST_NOT_FINITE) status = search_start(k);
    if (reason == KARST_OUT_OF_RANGE) record_out_of_range(k);
  }
  while (!status && reason == KARST_SOUND) {
    status = run_cycle(k, &cycle_reason);
    if (!status) status = check_decision(k);
    if (!status) status = check_claim(k);
    if (!status) status = check_rounding(k, rtol_target);
    if (!status && !has_converged(k) && !k->claims.rounding) status = compare_with_best(k);
    if (status) break;
    count_idle(k);
    reason = find_reason(k, rtol_target, atol_target, cycle_reason);
    if (reason == KARST_NOT_FINITE && !k->fault.what)
      record_not_finite(k, name_residual(k, "the true residual"), k->iterations, -1);
    if (reason == KARST_OUT_OF_RANGE) record_out_of_range(k);
  }
  if (status) {
    recover_best(k);
    result->iterations = k->iterations;
    result->residual = k->now.norm;
    return status;
  }
  fall_back_on_best(k);
  status = look_again(k, rtol_target, atol_target, &reason);
  if (status) return status;
  result->reason = reason;
  result->iterations = k->iterations;
  result->residual = k->now.norm;
  if (reason == KARST_NOT_FINITE) result->block_row = k->fault.block_row;
  if (reason == k->M->reason && reason != KARST_NOT_FINITE) result->block_row = k->M->block_row;
  return KARST_SUCCESS;
}
