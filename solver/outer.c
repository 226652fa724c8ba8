/* outer.c - see outer.h. A driver solves one of four systems for the caller, each a table of four functions:
 *
 *     plain      A x = b, in the caller's own arrays
 *     ordered    P A P' (P x) = P b, its block rows in another order
 *     scaled     the same with scaled rows or unknowns, so that its residuals have another norm than the caller's
 *     reduced    S y = g, for the unknowns y that the preconditioner's exact elimination leaves; it makes g from b
 *
 * b and the start are copied to the driver's system once, before the driver begins. x is copied back once, after it has
 * ended; from a scaled or a reduced system it is copied back each time that the driver needs the caller's residual. A
 * solve that ends before its first iteration, or with its start, does not change the bits of the caller's x. */
#include "solver/outer.h"

#include "lib/ranks/halo.h"
#include "lib/vector/norm.h"
#include "solver/next.h"

#include <math.h>

struct outer;

/* A function that has nothing to do is NULL. */
struct outer_ops {
  bool scaled; /* the residuals of the driver's system have another norm than the caller's */
  /* Sets driver_b and driver_x, to the system's right-hand side and start. */
  void (*start)(struct outer *outer);
  /* Updates the caller's x from the driver's and measures its residual as karst_residual_norm does. NULL: the driver's
   * residual is the caller's. */
  karst_status (*measure)(const struct outer *outer, const double *x, double target, bool bounded, bool *precise,
                          double *norm, double *error);
  /* Makes the caller's x from the driver's at the end of a solve that has returned status. Returns status or its own
   * error. */
  karst_status (*finish)(const struct outer *outer, karst_status status, karst_result *result);
  /* Converts block rows in the result to the caller's. */
  karst_status (*explain)(const struct outer *outer, karst_result *result, karst_fault *fault);
};

struct outer {
  const struct outer_ops *ops;
  const karst_solver *solver;
  const karst_krylov *krylov; /* the driver */
  const double *b;            /* [rows] the caller's */
  double *x;                  /* [rows] the caller's */
  const double *driver_b;     /* as long as a vector of the driver's system */
  double *driver_x;           /* of the same length */
};

karst_status karst_outer_norm(const karst_solver *solver, const double *x, double *norm)
{
  karst_context *context = solver->context;
  const int64_t rows = karst_matrix_rows(solver->system.original);
  double square;
  karst_sums_dots(context, rows, 1, &x, x, solver->norm2);
  const karst_status status = karst_ranks_download(context, 1, solver->norm2, &square);
  return status ? status : karst_norm_of_square(context, rows, x, square, norm);
}

/* Returns the solver's own work space, or vectors of the driver if the solver has none. */
static karst_residual_space space_of(const karst_solver *solver)
{
  const karst_krylov *krylov = solver->krylov;
  return solver->residual ? (karst_residual_space){solver->residual, solver->size, solver->norm2}
                          : (karst_residual_space){krylov->work.r, krylov->work.vector[0], solver->norm2};
}

karst_status karst_outer_residual(const karst_solver *solver, const double *b, const double *x, double *norm)
{
  const karst_residual_space space = space_of(solver);
  bool precise = false;
  double error;
  return solver->caller.residual(&solver->caller, b, x, -1, false, &space, &precise, norm, &error);
}

static karst_status measure_caller(const struct outer *outer, double target, bool bounded, bool *precise, double *norm,
                                   double *error)
{
  const karst_operator *caller = &outer->solver->caller;
  const karst_residual_space space = space_of(outer->solver);
  return caller->residual(caller, outer->b, outer->x, target, bounded, &space, precise, norm, error);
}

static void start_system(struct outer *outer)
{
  const karst_system *system = &outer->solver->system;
  karst_system_enter(system, outer->b, outer->x);
  outer->driver_b = system->rhs;
  outer->driver_x = system->solution;
}

/* The start is restored as the caller gave it, because scaling has rounded it. */
static void leave_system(const struct outer *outer, const double *x)
{
  const karst_solver *solver = outer->solver;
  if (outer->krylov->kept_start)
    karst_system_restore(&solver->system, x, outer->x);
  else
    karst_system_leave(&solver->system, x, solver->residual, outer->x);
}

static karst_status measure_system(const struct outer *outer, const double *x, double target, bool bounded,
                                   bool *precise, double *norm, double *error)
{
  if (outer->krylov->iterations > 0) leave_system(outer, x);
  return measure_caller(outer, target, bounded, precise, norm, error);
}

static karst_status finish_system(const struct outer *outer, karst_status status, karst_result *result)
{
  (void)result;
  leave_system(outer, outer->driver_x);
  return status;
}

static karst_status explain_system(const struct outer *outer, karst_result *result, karst_fault *fault)
{
  const karst_system *system = &outer->solver->system;
  const karst_halo *halo = system->original->halo;
  (void)fault;
  const karst_index first = karst_halo_global(halo, 0), row = result->block_row - first;
  const bool own = result->block_row >= first && row < system->original->block_rows;
  result->block_row = own ? karst_system_original_row(system, row) : -1;
  return halo ? karst_halo_first(halo, KARST_SUCCESS, &result->block_row) : KARST_SUCCESS;
}

static void start_reduced(struct outer *outer)
{
  const karst_reduced *reduced = &outer->solver->reduced;
  karst_reduced_enter(reduced, outer->b, outer->x);
  outer->driver_b = reduced->rhs;
  outer->driver_x = reduced->solution;
}

/* Makes the caller's x from a start that the driver keeps: the start with its eliminated unknowns computed, or as the
 * caller gave it if that is better. Both residuals are computed precisely, because rounding must not hide which one is
 * smaller. */
static karst_status choose_start(const struct outer *outer, const double *x, double *norm, double *error)
{
  const karst_reduced *reduced = &outer->solver->reduced;
  double start_norm;
  bool precise = true;
  karst_reduced_restore(reduced, outer->x);
  karst_status status = measure_caller(outer, -1, false, &precise, &start_norm, error);
  if (status) return status;
  karst_reduced_leave(reduced, outer->b, x, outer->x);
  status = measure_caller(outer, -1, false, &precise, norm, error);
  if (!status && *norm <= start_norm) return KARST_SUCCESS;
  karst_reduced_restore(reduced, outer->x);
  *norm = start_norm;
  return status;
}

/* The start is measured with the caller's eliminated unknowns. If the other unknowns need no iteration, the eliminated
 * ones are computed from them, unless the start has a NaN or infinity there, which is reported. */
static karst_status measure_reduced(const struct outer *outer, const double *x, double target, bool bounded,
                                    bool *precise, double *norm, double *error)
{
  const karst_solver *solver = outer->solver;
  const karst_krylov *krylov = outer->krylov;
  bool chooses = krylov->kept_start;
  if (!chooses) {
    if (krylov->iterations > 0) karst_reduced_leave(&solver->reduced, outer->b, x, outer->x);
    const karst_status status = measure_caller(outer, target, bounded, precise, norm, error);
    chooses = krylov->iterations == 0 && solver->precond->reason == KARST_SOUND && isfinite(*norm) && *norm > target &&
              krylov->residual <= target;
    if (status || !chooses) return status;
  }
  *precise = true;
  return choose_start(outer, x, norm, error);
}

static karst_status finish_reduced(const struct outer *outer, karst_status status, karst_result *result)
{
  const karst_reduced *reduced = &outer->solver->reduced;
  double error;
  if (outer->krylov->kept_start && !status) return choose_start(outer, outer->driver_x, &result->residual, &error);
  if (outer->krylov->kept_start)
    karst_reduced_restore(reduced, outer->x);
  else
    karst_reduced_leave(reduced, outer->b, outer->driver_x, outer->x);
  return status;
}

/* Names the block row of a start that is not finite in eliminated unknowns, which the driver does not see. */
static karst_status explain_reduced(const struct outer *outer, karst_result *result, karst_fault *fault)
{
  const karst_solver *solver = outer->solver;
  const karst_matrix *A = solver->system.original;
  karst_survey survey;
  if (result->reason != KARST_NOT_FINITE || result->block_row >= 0 || result->iterations > 0) return KARST_SUCCESS;
  const karst_status status = karst_survey_elements(solver->context, karst_matrix_rows(A), outer->x, &survey);
  if (status || survey.finite) return status;
  result->block_row = karst_layout_block_row(karst_matrix_layout(A), survey.where);
  fault->what = "the start";
  return KARST_SUCCESS;
}

static const struct outer_ops plain = {.scaled = false};
static const struct outer_ops ordered = {.start = start_system, .finish = finish_system, .explain = explain_system};
static const struct outer_ops scaled = {.scaled = true,
                                        .start = start_system,
                                        .measure = measure_system,
                                        .finish = finish_system,
                                        .explain = explain_system};
static const struct outer_ops reduced = {
    .start = start_reduced, .measure = measure_reduced, .finish = finish_reduced, .explain = explain_reduced};

static const struct outer_ops *find_ops(const karst_solver *solver)
{
  if (karst_solver_is_reduced(solver)) return &reduced;
  if (karst_solver_is_scaled(solver)) return &scaled;
  return solver->system.copy ? &ordered : &plain;
}

static karst_status measure_for_driver(void *user, const double *x, double target, bool bounded, bool *precise,
                                       double *norm, double *error)
{
  const struct outer *outer = user;
  return outer->ops->measure(outer, x, target, bounded, precise, norm, error);
}

static karst_status norm_for_driver(void *user, const double *r, double *norm)
{
  const karst_solver *solver = ((const struct outer *)user)->solver;
  karst_system_unscale(&solver->system, r, solver->residual);
  return karst_outer_norm(solver, solver->residual, norm);
}

static karst_status is_rounding_for_driver(void *user, bool *yes)
{
  const struct outer *outer = user;
  const karst_operator *caller = &outer->solver->caller;
  const karst_residual_space space = space_of(outer->solver);
  *yes = false;
  return caller->is_rounding ? caller->is_rounding(caller, outer->b, outer->x, &space, yes) : KARST_SUCCESS;
}

karst_status karst_outer_solve(karst_solver *solver, const double *b, double *x, double rtol_target,
                               karst_result *result, karst_fault *fault)
{
  karst_krylov *krylov = solver->running;
  const struct outer_ops *ops = find_ops(solver);
  struct outer outer = {.ops = ops, .solver = solver, .krylov = krylov, .b = b, .driver_b = b};
  const karst_krylov_outer view = {&outer, measure_for_driver, ops->scaled ? norm_for_driver : NULL,
                                   is_rounding_for_driver};
  outer.x = outer.driver_x = x;
  karst_next_set_monitor(solver);
  if (ops->start) ops->start(&outer);
  krylov->outer = ops->measure ? &view : NULL;
  karst_status status =
      karst_krylov_solve(krylov, outer.driver_b, outer.driver_x, rtol_target, solver->limits.atol, result);
  krylov->outer = NULL;
  const bool is_up = krylov->iterations == 0 || krylov->is_up; /* the caller's x is what the driver ended with */
  if (ops->finish && !is_up) status = ops->finish(&outer, status, result);
  if (status) return status;
  if (krylov->fault.what) *fault = (karst_fault){krylov->fault.what, krylov->fault.norm};
  return ops->explain ? ops->explain(&outer, result, fault) : KARST_SUCCESS;
}
