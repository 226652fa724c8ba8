/* solve.c - one solve: the caller's vectors into the solver's order and scaling, the Krylov method, and back.
 *
 * Allocates nothing, but for the look at a right-hand side whose norm cannot be trusted. */
#include "clock.h"
#include "solver.h"
#include "vector.h"

#include <float.h>
#include <math.h>
#include <stdio.h>

/* Norms outside have squares, or their parts have, that double precision cannot hold. */
static const double smallest_norm = 1e-145, largest_norm = 1e150;

static karst_status download_norm(const karst_solver *solver, double *norm)
{
  double norm2;
  karst_status status = solver->context->backend->download(solver->context, &norm2, solver->norm2, sizeof norm2);
  *norm = sqrt(norm2);
  return status;
}

static karst_status norm_of(const karst_solver *solver, const double *x, double *norm)
{
  karst_context *context = solver->context;
  context->backend->dots(context, karst_matrix_rows(solver->system.original), 1, &x, x, solver->norm2);
  return download_norm(solver, norm);
}

/* The norm of b - A x for the caller's system; precise: to twice the working precision. */
static karst_status true_residual(const karst_solver *solver, bool precise, const double *b, const double *x,
                                  double *norm)
{
  karst_context *context = solver->context;
  const struct karst_backend *backend = context->backend;
  (precise ? backend->residual_precise : backend->residual)(context, solver->system.original, b, x, solver->residual,
                                                            solver->norm2);
  return download_norm(solver, norm);
}

/* Whether b is finite and not zero. Looks at each entry, on the host. */
static karst_status is_ordinary(const karst_solver *solver, const karst_vector *b, bool *ordinary)
{
  double *host;
  bool finite = true, zero = true;
  karst_status status = karst_allocate(solver->context, &host, b->length, sizeof *host, "the right-hand side");
  if (status) return status;
  status = karst_vector_get(b, b->length, host);
  for (int64_t i = 0; i < b->length; i++) {
    finite = finite && isfinite(host[i]);
    zero = zero && host[i] == 0;
  }
  karst_release(solver->context, host);
  *ordinary = finite && !zero;
  return status;
}

/* KARST_OUT_OF_RANGE where norms of this size would lie: a residual whose square underflows looks converged. A b that
 * is zero or not finite is left to the method. */
static karst_status check_range(const karst_solver *solver, const karst_vector *b, double rhs_norm, double target,
                                karst_result *result)
{
  bool norm_trusted = rhs_norm >= smallest_norm && rhs_norm <= largest_norm, ordinary = true;
  if (norm_trusted && fmax(target, DBL_EPSILON * rhs_norm) >= smallest_norm) return KARST_SUCCESS;
  karst_status status = norm_trusted ? KARST_SUCCESS : is_ordinary(solver, b, &ordinary);
  if (!status && ordinary) {
    result->reason = KARST_OUT_OF_RANGE;
    result->residual = NAN;
  }
  return status;
}

/* The caller's own system, or one that is only ordered: norms are the same in both. */
static karst_status solve_unscaled(karst_solver *solver, const double *b, double *x, double rtol_target,
                                   karst_result *result)
{
  const karst_system *system = &solver->system;
  solver->krylov->monitor = solver->monitor;
  solver->krylov->monitor_user = solver->monitor_user;
  if (!system->copy) return karst_krylov_solve(solver->krylov, b, x, rtol_target, solver->options.atol, result);
  karst_system_enter(system, b, x);
  karst_status status =
      karst_krylov_solve(solver->krylov, system->rhs, system->solution, rtol_target, solver->options.atol, result);
  karst_system_leave(system, x);
  return status;
}

/* Passes iterations on to the caller's monitor, numbered through all passes of solve_scaled. */
struct relay {
  const karst_solver *solver;
  int before;
};

static void relay_iteration(void *user, int iteration, double residual)
{
  const struct relay *relay = user;
  if (relay->solver->monitor && (iteration > 0 || relay->before == 0))
    relay->solver->monitor(relay->solver->monitor_user, relay->before + iteration, residual);
}

/* One pass: from the caller's x, the scaled residual is reduced by the given factor. */
static karst_status solve_pass(karst_solver *solver, const double *b, double *x, double reduction, karst_result *result)
{
  const karst_system *system = &solver->system;
  karst_context *context = solver->context;
  double scaled;
  karst_system_enter(system, b, x);
  context->backend->residual(context, system->matrix, system->rhs, system->solution, solver->residual, solver->norm2);
  karst_status status = download_norm(solver, &scaled);
  if (status) return status;
  if (scaled * fmax(reduction, DBL_EPSILON) < smallest_norm || scaled > largest_norm) {
    *result = (karst_result){.reason = KARST_OUT_OF_RANGE, .block_row = -1};
    return KARST_SUCCESS;
  }
  status = karst_krylov_solve(solver->krylov, system->rhs, system->solution, reduction * scaled, 0, result);
  if (!status) karst_system_leave(system, x);
  return status;
}

/* A scaled system has another norm: it is solved to the same reduction, the caller's residual is computed, and what is
 * missing is asked for again, a little more each time. */
static karst_status solve_scaled(karst_solver *solver, const double *b, double *x, double rtol_target,
                                 karst_result *result)
{
  enum { PASSES = 12 };
  karst_krylov *krylov = solver->krylov;
  struct relay relay = {solver, 0};
  double target = fmax(rtol_target, solver->options.atol), safety = 1, residual;
  krylov->monitor = relay_iteration;
  krylov->monitor_user = &relay;
  karst_status status = true_residual(solver, false, b, x, &residual);
  for (int pass = 0; pass < PASSES && !status; pass++, safety *= 0.5) {
    double reduction = residual > target ? safety * target / residual : 1;
    krylov->options.max_iterations = solver->options.max_iterations - relay.before;
    status = solve_pass(solver, b, x, reduction, result);
    if (status) break;
    relay.before += result->iterations;
    status = true_residual(solver, pass > 0, b, x, &residual);
    if (residual <= target || result->reason < 0) break;
  }
  krylov->options.max_iterations = solver->options.max_iterations;
  krylov->monitor = NULL;
  result->iterations = relay.before;
  result->residual = residual;
  if (residual <= rtol_target)
    result->reason = KARST_CONVERGED_RTOL;
  else if (residual <= target)
    result->reason = KARST_CONVERGED_ATOL;
  else if (result->reason > 0)
    result->reason = KARST_STAGNATED;
  return status;
}

/* The sentence of karst_solver_explain. place: what a NaN was first seen in. */
static void explain(karst_solver *solver, const karst_result *result, const char *place)
{
  char *text = solver->explanation;
  size_t size = sizeof solver->explanation;
  long long row = (long long)result->block_row;
  if (result->reason > 0)
    snprintf(text, size, "converged after %d iterations: the true residual is %.3e, %.3e of the right-hand side's norm",
             result->iterations, result->residual, result->relative_residual);
  else if (result->reason == KARST_SINGULAR_BLOCK)
    snprintf(text, size, "not solved: the pivot block of block row %lld is singular", row);
  else if (result->reason == KARST_NOT_FINITE && row >= 0)
    snprintf(text, size, "not solved: a NaN or an infinity was first seen in %s, block row %lld", place, row);
  else if (result->reason == KARST_NOT_FINITE)
    snprintf(text, size, "not solved: a NaN or an infinity was first seen in %s", place);
  else if (result->reason == KARST_OUT_OF_RANGE)
    snprintf(text, size,
             "not solved: the right-hand side or the residual to reach is so small or large that its norm "
             "cannot be computed; the system should be scaled");
  else
    snprintf(text, size,
             "not converged after %d iterations: %s; the true residual is %.3e, %.3e of the right-hand side's norm",
             result->iterations, karst_reason_text(result->reason), result->residual, result->relative_residual);
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
  if (b->values == x->values && rows > 0)
    return karst_fail(solver->context, KARST_ERROR_ARGUMENT,
                      "the right-hand side and the solution are the same vector");
  if (A->generation != solver->generation)
    return karst_fail(solver->context, KARST_ERROR_ARGUMENT,
                      "the matrix has new values since the solver's last setup or update");
  return KARST_SUCCESS;
}

/* Fills the result; place: see explain. */
static karst_status solve(karst_solver *solver, const karst_vector *b, karst_vector *x, double rhs_norm,
                          karst_result *result, const char **place)
{
  const karst_system *system = &solver->system;
  double rtol_target = solver->options.rtol * rhs_norm;
  karst_status status = check_range(solver, b, rhs_norm, fmax(rtol_target, solver->options.atol), result);
  if (status || result->reason == KARST_OUT_OF_RANGE) return status;
  if (system->reason != KARST_SOUND) {
    result->reason = system->reason;
    result->block_row = system->block_row;
    return true_residual(solver, false, b->values, x->values, &result->residual);
  }
  status = (solver->scaled ? solve_scaled : solve_unscaled)(solver, b->values, x->values, rtol_target, result);
  result->block_row = karst_system_original_row(system, result->block_row);
  if (solver->krylov->not_finite_in) *place = solver->krylov->not_finite_in;
  return status;
}

karst_status karst_solver_solve(karst_solver *solver, const karst_vector *b, karst_vector *x, karst_result *result)
{
  double begin = karst_clock(), rhs_norm;
  const char *place = "the matrix";
  if (!solver || !b || !x || !result)
    return karst_missing(solver ? solver->context : NULL,
                         result ? "a vector of the solve" : "the place for the result");
  *result = (karst_result){.reason = KARST_SOUND, .block_row = -1};
  karst_status status = karst_solver_check_ready(solver);
  if (!status) status = check_arguments(solver, b, x);
  if (!status) status = norm_of(solver, b->values, &rhs_norm);
  if (status) return status;
  karst_tell(solver->context, KARST_MESSAGE_PHASE, "solve (%s)", solver->options.solver);
  status = solve(solver, b, x, rhs_norm, result, &place);
  result->relative_residual = result->residual == 0 ? 0 : result->residual / rhs_norm;
  explain(solver, result, place);
  solver->time_solve = karst_clock() - begin;
  return status;
}

const char *karst_solver_explain(const karst_solver *solver) { return solver ? solver->explanation : ""; }
