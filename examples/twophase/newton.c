/* newton.c - a fully implicit time step by Newton's method, x = x - J^-1 R, with inexact linear solves: a residual that
 * has fallen from |R'| to |R| asks for the relative tolerance 0.9 (|R| / |R'|)^2 (Eisenstat, Walker, SIAM J. Sci.
 * Comput. 17, 1996). */
#include "twophase.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

static const int most_iterations = 15;
static const double most_change = 0.2;       /* of a saturation in an iteration */
static const double tightest = 1e-6;         /* relative tolerance of a linear solve */
static const double cell_tolerance = 1e-7;   /* of the error of a balance: in each cell, of its pore volume */
static const double total_tolerance = 1e-12; /* of the sum over all cells, of all pore volumes: errors add up */
static const double well_tolerance = 1e-6;   /* bar, m3/day */

double newton_clock(void)
{
  struct timespec now;
  timespec_get(&now, TIME_UTC);
  return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

karst_status newton_create(const karst_options *options, struct newton *n)
{
  const struct reservoir *r = n->reservoir;
  const size_t length = 2 * (size_t)r->rows;
  n->x = calloc(5 * length + 4 * (size_t)r->row_start[r->rows], sizeof(double)); /* with all arrays that follow */
  if (!n->x) return karst_context_fail(n->context, KARST_ERROR_NO_MEMORY, "not enough memory for this grid");
  n->start = n->x + length, n->amount = n->start + length, n->residual = n->amount + length;
  n->change = n->residual + length, n->value = n->change + length;
  flow_start(r, n->x);
  karst_status status = karst_vector_create(n->context, (int64_t)length, &n->b);
  if (!status) status = karst_vector_create(n->context, (int64_t)length, &n->dx);
  if (!status)
    status = karst_matrix_create_pattern(n->context, r->rows, 2, r->row_start, r->column, KARST_REFERENCE, &n->A);
  if (!status) status = karst_solver_create(n->context, options, &n->solver);
  return status ? status : karst_solver_setup(n->solver, n->A);
}

void newton_destroy(struct newton *n)
{
  karst_solver_destroy(n->solver);
  karst_matrix_destroy(n->A);
  karst_vector_destroy(n->dx), karst_vector_destroy(n->b);
  free(n->x);
}

static bool converged(const struct newton *n, double dt)
{
  const struct reservoir *r = n->reservoir;
  double total[PHASES] = {0, 0}, volume = 0;
  bool good = true; /* false where something is a NaN, too */
  for (karst_index k = 0; k < 2 * r->rows && good; k++) {
    const bool cell = k < 2 * r->cells;
    good = fabs(n->residual[k]) <= (cell ? cell_tolerance * r->pore_volume[k / 2] / dt : well_tolerance);
    if (cell) total[k % 2] += dt * n->residual[k], volume += r->pore_volume[k / 2] / 2;
  }
  return good && fabs(total[WATER]) <= total_tolerance * volume && fabs(total[OIL]) <= total_tolerance * volume;
}

/* Solves J dx = R up to a residual of rtol |R|. */
static karst_status solve(struct newton *n, double rtol, karst_result *result)
{
  const double begin = newton_clock();
  karst_status status = karst_matrix_update_values(n->A, n->value);
  if (!status) status = karst_solver_update(n->solver);
  if (!status) status = karst_context_synchronize(n->context);
  n->update_seconds += newton_clock() - begin;
  if (!status) status = karst_solver_set_tolerances(n->solver, rtol, 0, n->most_linear);
  if (!status) status = karst_vector_fill(n->dx, 0);
  if (!status) status = karst_solver_solve(n->solver, n->b, n->dx, result);
  if (!status) status = karst_vector_get(n->dx, karst_vector_length(n->dx), n->change);
  n->linear_seconds += newton_clock() - begin;
  n->linear += result->iterations;
  return status;
}

karst_status newton_step(struct newton *n, double dt, double outflow[PHASES], const char **failure)
{
  const struct reservoir *r = n->reservoir;
  const size_t bytes = sizeof(double) * 2 * (size_t)r->rows;
  const karst_index spoilt = 4 * r->row_start[r->cells / 2], end = 4 * r->row_start[r->cells / 2 + 1];
  double norm = 0, norm_before = 0, rtol = n->loosest, total[PHASES];
  karst_result result = {.reason = KARST_SOUND};
  karst_status status = KARST_SUCCESS;
  memcpy(n->start, n->x, bytes);
  flow_amount(r, n->x, n->amount, total);
  *failure = NULL;
  for (int k = 0; !status && !*failure; k++, norm_before = norm) {
    flow_assemble(r, n->x, n->amount, dt, n->residual, n->value, outflow);
    if (converged(n, dt)) return KARST_SUCCESS;
    if (++n->iterations == n->fail_nan) n->value[spoilt] = NAN;
    for (karst_index v = spoilt; v < end && n->iterations == n->fail_singular; v++) n->value[v] = 0;
    status = karst_vector_set(n->b, 2 * (int64_t)r->rows, n->residual);
    if (!status) status = karst_vector_norm(n->b, &norm);
    if (k > 0) rtol = fmin(n->loosest, fmax(0.9 * pow(norm / norm_before, 2), tightest));
    if (!status) status = solve(n, rtol, &result);
    if (result.reason < 0) *failure = karst_solver_explain(n->solver);
    if (k == most_iterations) *failure = "Newton's method has not converged";
    for (karst_index u = 0; u < 2 * r->rows; u++) {
      const bool limited = u < 2 * r->cells && u % 2 == SATURATION;
      const double change = limited ? fmin(fmax(n->change[u], -most_change), most_change) : n->change[u];
      n->x[u] = limited ? fmin(fmax(n->x[u] - change, 0), 1) : n->x[u] - change;
    }
  }
  memcpy(n->x, n->start, bytes);
  return status;
}
