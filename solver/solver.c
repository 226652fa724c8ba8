/* solver.c - the solver as an object: ordering and scaling, preconditioner, Krylov method.
 *
 * setup runs the pattern half of each and then update; update runs the numeric halves; solve allocates nothing. */
#include "clock.h"
#include "krylov.h"
#include "options.h"
#include "system.h"
#include "vector.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

struct karst_solver {
  karst_context *context;
  karst_options options;
  karst_system system;
  karst_precond *precond;
  karst_krylov *krylov;
  double *norm2;    /* one scalar, device memory */
  double *residual; /* [rows] device memory: the caller's true residual where the system is scaled; else NULL */
  karst_monitor_function monitor;
  void *monitor_user;
  double time_transfer, time_solve;
  char explanation[320];
};

karst_status karst_solver_create(karst_context *context, const karst_options *options, karst_solver **solver)
{
  karst_options own;
  if (solver) *solver = NULL;
  if (!context || !solver) return KARST_ERROR_ARGUMENT;
  karst_options_default(&own);
  if (options) own = *options;
  karst_status status = karst_options_normalise(context, &own);
  if (!status) status = karst_allocate_zero(context, solver, 1, sizeof **solver, "a solver");
  if (status) return status;
  (*solver)->context = context;
  (*solver)->options = own;
  context->objects++;
  return KARST_SUCCESS;
}

/* Back to the state after create. */
static void clear(karst_solver *solver)
{
  karst_krylov_destroy(solver->krylov);
  karst_precond_destroy(solver->precond);
  karst_system_destroy(&solver->system);
  solver->context->backend->release(solver->context, solver->norm2);
  solver->context->backend->release(solver->context, solver->residual);
  solver->krylov = NULL;
  solver->precond = NULL;
  solver->norm2 = solver->residual = NULL;
}

void karst_solver_destroy(karst_solver *solver)
{
  if (!solver) return;
  karst_context *context = solver->context;
  clear(solver);
  karst_release(context, solver);
  context->objects--;
}

void karst_solver_set_monitor(karst_solver *solver, karst_monitor_function function, void *user)
{
  if (!solver) return;
  solver->monitor = function;
  solver->monitor_user = user;
}

static bool is_scaled(const karst_solver *solver) { return strcmp(solver->options.scale, "none") != 0; }

karst_status karst_solver_setup(karst_solver *solver, const karst_matrix *A)
{
  if (!solver || !A) return KARST_ERROR_ARGUMENT;
  karst_context *context = solver->context;
  if (A->context != context) return karst_fail(context, KARST_ERROR_ARGUMENT, "the matrix belongs to another context");
  clear(solver);
  karst_status status = karst_precond_check(&solver->options, A);
  if (!status) status = karst_system_setup(context, &solver->options, A, &solver->system);
  if (!status) {
    karst_tell(context, KARST_MESSAGE_PHASE, "symbolic (%s)", solver->options.precond);
    status = karst_precond_prepare(context, &solver->options, solver->system.matrix, &solver->precond);
  }
  if (!status)
    status = karst_krylov_create(context, &solver->options, solver->system.matrix, solver->precond, &solver->krylov);
  if (!status) status = karst_device_doubles(context, 1, "a norm", &solver->norm2);
  if (!status && is_scaled(solver))
    status = karst_device_doubles(context, karst_matrix_rows(A), "the true residual", &solver->residual);
  if (!status) status = karst_solver_update(solver);
  if (status) clear(solver);
  return status;
}

/* Nothing can be done before setup has succeeded. */
static karst_status check_ready(const karst_solver *solver)
{
  if (solver->krylov) return KARST_SUCCESS;
  return karst_fail(solver->context, KARST_ERROR_ARGUMENT, "the solver has not been set up");
}

karst_status karst_solver_update(karst_solver *solver)
{
  double begin = karst_clock();
  if (!solver) return KARST_ERROR_ARGUMENT;
  karst_status status = check_ready(solver);
  if (status) return status;
  karst_tell(solver->context, KARST_MESSAGE_PHASE, "factor (%s)", solver->options.precond);
  status = karst_system_update(&solver->system);
  solver->time_transfer = karst_clock() - begin;
  if (!status) status = karst_precond_update(solver->precond);
  return status;
}

static karst_status norm_of(karst_solver *solver, const double *x, double *norm)
{
  karst_context *context = solver->context;
  double norm2;
  context->backend->dots(context, karst_matrix_rows(solver->system.original), 1, &x, x, solver->norm2);
  karst_status status = context->backend->download(context, &norm2, solver->norm2, sizeof norm2);
  *norm = sqrt(norm2);
  return status;
}

/* The norm of b - A x for the caller's system. */
static karst_status true_residual(karst_solver *solver, const double *b, const double *x, double *norm)
{
  karst_context *context = solver->context;
  double norm2;
  context->backend->residual(context, solver->system.original, b, x, solver->residual, solver->norm2);
  karst_status status = context->backend->download(context, &norm2, solver->norm2, sizeof norm2);
  *norm = sqrt(norm2);
  return status;
}

/* The caller's own system, or one that is only ordered: norms are the same in both. */
static karst_status solve_unscaled(karst_solver *solver, const double *b, double *x, double rtol_target,
                                   karst_result *result)
{
  const karst_system *system = &solver->system;
  if (!system->copy) return karst_krylov_solve(solver->krylov, b, x, rtol_target, solver->options.atol, result);
  karst_system_enter(system, b, x);
  karst_status status =
      karst_krylov_solve(solver->krylov, system->rhs, system->solution, rtol_target, solver->options.atol, result);
  karst_system_leave(system, x);
  return status;
}

/* A scaled system has another norm: it is solved to the same reduction, the caller's residual is computed, and what is
 * missing is asked for again, a little more each time. */
static karst_status solve_scaled(karst_solver *solver, const double *b, double *x, double rtol_target,
                                 karst_result *result)
{
  enum { PASSES = 12 };
  const karst_system *system = &solver->system;
  karst_krylov *krylov = solver->krylov;
  double target = fmax(rtol_target, solver->options.atol), safety = 1, residual, scaled_residual;
  int iterations = 0;
  karst_status status = true_residual(solver, b, x, &residual);
  for (int pass = 0; pass < PASSES && !status; pass++, safety *= 0.5) {
    karst_system_enter(system, b, x);
    solver->context->backend->residual(solver->context, system->matrix, system->rhs, system->solution, solver->residual,
                                       solver->norm2);
    status =
        solver->context->backend->download(solver->context, &scaled_residual, solver->norm2, sizeof scaled_residual);
    if (status) break;
    double reduction = residual > 0 ? fmin(safety * target / residual, 1) : 1;
    krylov->options.max_iterations = solver->options.max_iterations - iterations;
    status = karst_krylov_solve(krylov, system->rhs, system->solution, reduction * sqrt(scaled_residual), 0, result);
    if (status) break;
    iterations += result->iterations;
    karst_system_leave(system, x);
    status = true_residual(solver, b, x, &residual);
    if (residual <= target || result->reason < 0) break;
  }
  krylov->options.max_iterations = solver->options.max_iterations;
  result->iterations = iterations;
  result->residual = residual;
  if (residual <= rtol_target)
    result->reason = KARST_CONVERGED_RTOL;
  else if (residual <= target)
    result->reason = KARST_CONVERGED_ATOL;
  else if (result->reason > 0)
    result->reason = KARST_STAGNATED;
  return status;
}

/* The sentence of karst_solver_explain. */
static void explain(karst_solver *solver, const karst_result *result)
{
  char *text = solver->explanation;
  size_t size = sizeof solver->explanation;
  const char *what = karst_reason_text(result->reason);
  if (result->reason > 0)
    snprintf(text, size, "converged after %d iterations: the true residual is %.3e, %.3e of the right-hand side's norm",
             result->iterations, result->residual, result->relative_residual);
  else if (result->reason == KARST_SINGULAR_BLOCK)
    snprintf(text, size, "not solved: the pivot block of block row %lld is singular", (long long)result->block_row);
  else if (result->reason == KARST_NOT_FINITE && result->block_row >= 0)
    snprintf(text, size, "not solved: a NaN or an infinity was first seen in %s, block row %lld",
             solver->krylov->not_finite_in ? solver->krylov->not_finite_in : "the matrix",
             (long long)result->block_row);
  else if (result->reason == KARST_NOT_FINITE)
    snprintf(text, size, "not solved: a NaN or an infinity was first seen in %s",
             solver->krylov->not_finite_in ? solver->krylov->not_finite_in : "the matrix");
  else
    snprintf(text, size,
             "not converged after %d iterations: %s; the true residual is %.3e, %.3e of the right-hand side's norm",
             result->iterations, what, result->residual, result->relative_residual);
}

static karst_status check_vectors(const karst_solver *solver, const karst_vector *b, const karst_vector *x)
{
  int64_t rows = karst_matrix_rows(solver->system.original);
  if (b->context != solver->context || x->context != solver->context)
    return karst_fail(solver->context, KARST_ERROR_ARGUMENT, "a vector belongs to another context");
  if (b->length != rows || x->length != rows)
    return karst_fail(solver->context, KARST_ERROR_ARGUMENT,
                      "the matrix has %lld rows, the right-hand side %lld and the solution %lld", (long long)rows,
                      (long long)b->length, (long long)x->length);
  if (b->values == x->values && rows > 0)
    return karst_fail(solver->context, KARST_ERROR_ARGUMENT,
                      "the right-hand side and the solution are the same vector");
  return KARST_SUCCESS;
}

karst_status karst_solver_solve(karst_solver *solver, const karst_vector *b, karst_vector *x, karst_result *result)
{
  double begin = karst_clock(), rhs_norm;
  if (!solver || !b || !x || !result) return KARST_ERROR_ARGUMENT;
  *result = (karst_result){.reason = KARST_SOUND, .block_row = -1};
  karst_status status = check_ready(solver);
  if (!status) status = check_vectors(solver, b, x);
  if (!status) status = norm_of(solver, b->values, &rhs_norm);
  if (status) return status;
  karst_tell(solver->context, KARST_MESSAGE_PHASE, "solve (%s)", solver->options.solver);
  solver->krylov->monitor = solver->monitor;
  solver->krylov->monitor_user = solver->monitor_user;
  double rtol_target = solver->options.rtol * rhs_norm;
  if (solver->system.reason != KARST_SOUND) {
    status = true_residual(solver, b->values, x->values, &result->residual);
    result->reason = solver->system.reason;
    result->block_row = solver->system.block_row;
  } else {
    status = is_scaled(solver) ? solve_scaled(solver, b->values, x->values, rtol_target, result)
                               : solve_unscaled(solver, b->values, x->values, rtol_target, result);
    result->block_row = karst_system_original_row(&solver->system, result->block_row);
  }
  result->relative_residual = result->residual == 0 ? 0 : result->residual / rhs_norm;
  explain(solver, result);
  solver->time_solve = karst_clock() - begin;
  return status;
}

const char *karst_solver_explain(const karst_solver *solver) { return solver ? solver->explanation : ""; }

karst_status karst_solver_get_info(const karst_solver *solver, karst_solver_info *info)
{
  if (!solver || !info) return KARST_ERROR_ARGUMENT;
  *info = (karst_solver_info){0};
  karst_status status = check_ready(solver);
  if (status) return status;
  const karst_matrix *A = solver->system.original;
  const karst_precond *p = solver->precond;
  int64_t entries = karst_block_offset(A->block_size, karst_matrix_blocks(A));
  info->factor_entries = p->factor_entries;
  info->fill = entries > 0 ? (double)p->factor_entries / (double)entries : 0;
  info->levels_lower = p->levels_lower;
  info->levels_upper = p->levels_upper;
  info->shifted = p->shifted;
  info->memory = p->memory + solver->system.memory + solver->krylov->memory_size +
                 (solver->residual ? karst_matrix_rows(A) * (int64_t)sizeof(double) : 0);
  info->time_order = solver->system.time_order;
  info->time_symbolic = p->time_symbolic;
  info->time_factor = p->time_factor;
  info->time_transfer = solver->time_transfer;
  info->time_solve = solver->time_solve;
  return KARST_SUCCESS;
}
