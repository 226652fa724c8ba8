/* parilu.c - block ILU and block incomplete Cholesky by fixed-point sweeps (Chow, Anzt, Dongarra: Asynchronous
 * Iterative Algorithm for Computing Incomplete Factorizations on GPUs; Chow, Patel: Fine-Grained Parallel Incomplete LU
 * Factorization, SIAM J. Sci. Comput. 37 (2015)), on the pattern S of ILU(k), block by block:
 *
 *     parilu   A ~ L U       L_ij = (A_ij - sum_{k<j} L_ik U_kj) U_jj^-1,    U_ij = A_ij - sum_{k<i} L_ik U_kj
 *     paric    A ~ L L^T     L_ij = (A_ij - sum_{k<j} L_ik L_jk^T) L_jj^-T,  L_ii L_ii^T = A_ii - sum_{k<i} L_ik L_ik^T
 *
 * All blocks of S are updated at once (Algorithm 1), a few times. Then U = D U' is split and applied as by iluk.
 *
 * The papers scale A symmetrically to a unit diagonal first. That does not change the iteration: with diagonal R and C
 * (by blocks), A -> R A C takes each iterate to L -> R L R^-1, U -> R U C. So scaling changes only the initial guess
 * and the unit of the residual norm, and no scaled matrix is needed: the scaled guess, mapped back, has U_ij = A_ij and
 * L_ij = A_ij A_jj^-1, and the factors found are those of A itself.
 *
 * New values start from the last factors. If the nonlinear residual norm |(A - L U)_S|_F has grown, or a number is not
 * finite, the factors are computed exactly instead, with a warning and a count in the report. */
#include "precond/parilu_setup.h"

#include <math.h>

extern const struct karst_precond_ops karst_precond_parilu, karst_precond_paric;

static karst_status analyse(karst_precond *p)
{
  karst_context *context = p->context;
  karst_sweeps_analysis *analysis;
  if (!context->backend->parilu || !context->backend->ilu)
    return karst_fail(context, KARST_ERROR_NOT_BUILT, "%s is not available on %s", p->ops->name,
                      context->backend->name);
  karst_status status = karst_allocate_zero(context, &analysis, 1, sizeof *analysis, "the sweeps");
  if (status) return status;
  p->analysis->data = analysis;
  return karst_sweeps_analyse(p, p->ops == &karst_precond_paric, analysis);
}

static void forget(karst_context *context, void *analysis)
{
  if (!analysis) return;
  karst_sweeps_analysis_destroy(context, analysis);
  karst_release(context, analysis);
}

static karst_status setup(karst_precond *p)
{
  karst_context *context = p->context;
  karst_sweeps *sweeps;
  karst_status status = karst_allocate_zero(context, &sweeps, 1, sizeof *sweeps, "the sweeps");
  if (status) return status;
  p->data = sweeps;
  if (!karst_sweeps_settings_of(p)->scaled)
    karst_notify(context, KARST_MESSAGE_WARNING, "%s starts from the unscaled matrix: its sweeps may diverge",
                 p->ops->name);
  return karst_sweeps_setup(p, p->analysis->data, sweeps);
}

/* Whether the sweeps have come closer to the factors, or as close as rounding allows; warns if they have not. */
static bool have_converged(const karst_precond *p, double before, double after)
{
  const double small = 1e-10 * sqrt((double)karst_matrix_rows(p->A)); /* each scaled diagonal entry counts 1 */
  const int sweeps = karst_sweeps_settings_of(p)->sweeps;
  if (!isfinite(after))
    karst_notify(p->context, KARST_MESSAGE_WARNING,
                 "%s: after %d sweep%s the factors are not finite; they are computed exactly instead", p->ops->name,
                 sweeps, sweeps == 1 ? "" : "s");
  else if (isfinite(before) && after > before && after > small)
    karst_notify(
        p->context, KARST_MESSAGE_WARNING,
        "%s: %d sweep%s made the nonlinear residual norm grow from %.3g to %.3g; the factors are computed exactly "
        "instead",
        p->ops->name, sweeps, sweeps == 1 ? "" : "s", before, after);
  else
    return true;
  return false;
}

/* Passes the factors to the triangular solves. */
static karst_status load(karst_precond *p, karst_sweeps *s, karst_factor_outcome *outcome)
{
  karst_context *context = p->context;
  if (s->factors.symmetric) context->backend->parilu->expand(context, &s->factors);
  const double *value = s->factors.symmetric ? s->factors.next : s->factors.value;
  const int sweeps = karst_sweeps_settings_of(p)->sweeps;
  karst_status status = context->backend->ilu->load(context, s->factors.F, value, &s->ilu, outcome);
  if (status) return status;
  if (outcome->reason != KARST_SOUND) {
    karst_notify(context, KARST_MESSAGE_WARNING,
                 "%s: after %d sweep%s the factors cannot be used (%s); they are computed exactly instead",
                 p->ops->name, sweeps, sweeps == 1 ? "" : "s", karst_reason_text(outcome->reason));
    return KARST_SUCCESS;
  }
  s->sound = true;
  if (!s->residual.matrix) return KARST_SUCCESS;
  double norm;
  status = karst_backends[0]->ilu_residual->norm(s->factors.F, value, &s->residual, &norm);
  return status ? status : karst_precond_put(p, "ilu_residual", "", norm);
}

static karst_status update(karst_precond *p)
{
  karst_context *context = p->context;
  karst_sweeps *s = p->data;
  const karst_sweeps_settings *settings = karst_sweeps_settings_of(p);
  const karst_matrix *A = p->A;
  karst_factor_outcome outcome = {KARST_SOUND, -1, 0};
  if (s->made)
    context->backend->scatter(context, (karst_index)karst_matrix_blocks(A), A->block_size * A->block_size,
                              s->analysis->place, A->value, s->made->value);
  if (!s->sound || settings->sweeps == 0) context->backend->parilu->guess(context, settings->scaled, &s->factors);
  s->sound = false;
  double norm[2]; /* the nonlinear residual norms before and after the sweeps */
  karst_status status = context->backend->parilu->sweep(context, settings->sweeps, &s->factors, norm);
  if (!status) status = karst_precond_put(p, "sweep_residual_before", "", norm[0]);
  if (!status) status = karst_precond_put(p, "sweep_residual_after", "", norm[1]);
  if (!status && have_converged(p, norm[0], norm[1])) status = load(p, s, &outcome);
  if (!status && !s->sound) {
    s->fallbacks++;
    status = context->backend->ilu->factor(context, s->factors.F, settings->ilu.shift, 0, &s->ilu, &outcome);
  }
  status = karst_ilu_report(p, status, &outcome);
  return status ? status : karst_precond_put(p, "fallbacks", "factorizations", (double)s->fallbacks);
}

static karst_status apply(const karst_precond *p, const double *r, double *z)
{
  const karst_sweeps *s = p->data;
  p->context->backend->ilu->solve(p->context, &s->ilu, r, z);
  return KARST_SUCCESS;
}

static void destroy(karst_precond *p)
{
  if (!p->data) return;
  karst_sweeps_destroy(p->context, p->data);
  karst_release(p->context, p->data);
}

static const karst_option *const rows[] = {karst_level_rows,     karst_ilu_rows,    karst_shift_rows,
                                           karst_precision_rows, karst_sweeps_rows, NULL};

const struct karst_precond_ops karst_precond_parilu = {
    .name = "parilu",
    .help = "block ILU(k) by fixed-point sweeps",
    .details = "Each sweep updates all blocks of the factors at once, and new values start from the last factors. If "
               "the norm |(A - LU)_S| on the pattern S of the factors grows in the sweeps, or a number is not finite, "
               "the factors are computed exactly instead; a warning says so, and the report counts it as fallbacks.",
    .needs_diagonal = true,
    .options = rows,
    .settings = sizeof(karst_sweeps_settings),
    .order = KARST_ORDER_SWEEPS,
    .analyse = analyse,
    .forget = forget,
    .differ = karst_sweeps_differ,
    .setup = setup,
    .update = update,
    .apply = apply,
    .destroy = destroy,
};

const struct karst_precond_ops karst_precond_paric = {
    .name = "paric",
    .help = "block incomplete Cholesky of level k by fixed-point sweeps, for symmetric positive definite matrices",
    .details = "It works as parilu does. A matrix whose pattern is not symmetric is refused. Set-up warns of values "
               "that are not symmetric, for which it reads them on the host; updates do not check.",
    .needs_diagonal = true,
    .for_symmetric = true,
    .options = rows,
    .settings = sizeof(karst_sweeps_settings),
    .order = KARST_ORDER_SWEEPS,
    .analyse = analyse,
    .forget = forget,
    .differ = karst_sweeps_differ,
    .setup = setup,
    .update = update,
    .apply = apply,
    .destroy = destroy,
};
