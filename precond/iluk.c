/* iluk.c - decoupled block ILU(k) (Yang, Liu, He, Chen: Decoupled Block-Wise ILU(k) Preconditioner on GPU).
 *
 *     pattern         ILU(k) fill of the block pattern by levels          Algorithm 3, symbolic/
 *     factorization   A ~ L U in place on the filled pattern              Algorithm 4, the kernel table
 *     split           U = D U' with the inverse blocks of D kept          equation (5)
 *     apply           L y = r,  z = D^-1 y,  U' x = z                     Algorithm 7, the kernel table
 *
 * The pattern is computed once; new values repeat only the factorization. */
#include "precond/ilu_settings.h"

static karst_status analyse(karst_precond *p)
{
  karst_context *context = p->context;
  karst_ilu_analysis *analysis;
  if (!context->backend->ilu)
    return karst_fail(context, KARST_ERROR_NOT_BUILT, "iluk is not available on %s", context->backend->name);
  karst_status status = karst_allocate_zero(context, &analysis, 1, sizeof *analysis, "block ILU");
  if (status) return status;
  p->analysis->data = analysis;
  status = karst_ilu_make_pattern(p, analysis);
  return status ? status : karst_ilu_analyse(p, p->A, analysis);
}

static void forget(karst_context *context, void *analysis)
{
  if (!analysis) return;
  karst_ilu_analysis_destroy(context, analysis);
  karst_release(context, analysis);
}

static karst_status setup(karst_precond *p)
{
  karst_ilu *ilu;
  karst_status status = karst_allocate_zero(p->context, &ilu, 1, sizeof *ilu, "block ILU");
  if (status) return status;
  p->data = ilu;
  return karst_ilu_make_plan(p, p->analysis->data, ilu);
}

static karst_status update(karst_precond *p)
{
  karst_factor_outcome outcome = {KARST_SOUND, -1, 0};
  const karst_ilu_settings *settings = karst_ilu_settings_of(p);
  const karst_status status =
      p->context->backend->ilu->factor(p->context, p->A, settings->shift, settings->modified, p->data, &outcome);
  return karst_ilu_report(p, status, &outcome);
}

static karst_status apply(const karst_precond *p, const double *r, double *z)
{
  p->context->backend->ilu->solve(p->context, p->data, r, z);
  return KARST_SUCCESS;
}

static void destroy(karst_precond *p)
{
  if (!p->data) return;
  p->context->backend->ilu->plan_destroy(p->context, p->data);
  karst_release(p->context, p->data);
}

extern const struct karst_precond_ops karst_precond_iluk;

static const karst_option *const rows[] = {karst_level_rows,    karst_ilu_rows,       karst_shift_rows,
                                           karst_modified_rows, karst_precision_rows, NULL};

const struct karst_precond_ops karst_precond_iluk = {
    .name = "iluk",
    .help = "block ILU(k), with fill of the option level",
    .needs_diagonal = true,
    .options = rows,
    .settings = sizeof(karst_ilu_settings),
    .order = KARST_ORDER_SWEEPS,
    .automatic = KARST_AUTO_LEVELS,
    .fetches = true,
    .analyse = analyse,
    .forget = forget,
    .differ = karst_ilu_differ,
    .setup = setup,
    .update = update,
    .apply = apply,
    .destroy = destroy,
};
