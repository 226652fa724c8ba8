/* dilu.c - DILU, block ILU that changes the diagonal blocks alone (D-ILU in Barrett and others: Templates for the
 * Solution of Linear Systems, SIAM 1994; Luo, Edwards, Luo, Mueller on structured grids), on any pattern:
 *
 *     factorization   M = (D + E) D^-1 (D + F),  D_i = A_ii - sum_{k < i} E_ik D_k^-1 F_ki    the kernel table
 *     apply           (D + E) y = r,  z = y - D^-1 F z                                        the kernel table
 *
 * where E and F are the strict triangles of A in the order of its rows. The factorization stores one block a row, D^-1;
 * apply reads E and F from A itself. So if A gets new values and the factorization is kept, M mixes D of the old values
 * with E and F of the new ones; not so with factor-precision float, whose factorization copies E and F. A GPU that
 * solves by tiles stores E D^-1 and D^-1 F instead, as block ILU does.
 *
 * The option modified, R, subtracts from D_i R times the excess of M's block row sum over that of A: for R = 1 the sums
 * are equal. On a 7-point grid D is that of ILU(0). */
#include "lib/backend/dilu_kernels.h"
#include "precond/ilu_settings.h"

static karst_status analyse(karst_precond *p)
{
  karst_context *context = p->context;
  karst_dilu_analysis *analysis;
  if (!context->backend->dilu)
    return karst_fail(context, KARST_ERROR_NOT_BUILT, "dilu is not available on %s", context->backend->name);
  karst_status status = karst_allocate_zero(context, &analysis, 1, sizeof *analysis, "DILU");
  if (status) return status;
  p->analysis->data = analysis;
  analysis->modified = karst_ilu_settings_of(p)->modified != 0;
  analysis->single = karst_precision_is_single(p->settings);
  return context->backend->dilu->analyse(context, p->A, analysis);
}

static void forget(karst_context *context, void *analysis)
{
  if (!analysis) return;
  context->backend->dilu->analysis_destroy(context, analysis);
  karst_release(context, analysis);
}

static const char *differ(const void *settings, const void *others)
{
  const karst_ilu_settings *mine = settings, *theirs = others;
  if (mine->precision != theirs->precision) return "factor-precision";
  return (mine->modified != 0) != (theirs->modified != 0) ? "modified" : NULL;
}

static karst_status setup(karst_precond *p)
{
  const karst_dilu_analysis *analysis = p->analysis->data;
  karst_dilu *dilu;
  karst_status status = karst_allocate_zero(p->context, &dilu, 1, sizeof *dilu, "DILU");
  if (status) return status;
  p->data = dilu;
  dilu->analysis = analysis;
  status = p->context->backend->dilu->plan(p->context, dilu);
  p->factor_entries = karst_block_offset(analysis->block_size, analysis->rows);
  p->memory = analysis->plan_memory + dilu->plan_memory;
  p->traffic.update = karst_traffic_of(karst_entries(p->A) + p->factor_entries, 0);
  const double bytes = (double)karst_entries(p->A) * (analysis->single ? sizeof(float) : sizeof(double));
  p->traffic.apply = bytes + karst_traffic_of(2 * karst_matrix_rows(p->A), karst_matrix_blocks(p->A));
  if (!status) status = karst_precision_put(p, bytes);
  if (!status) status = karst_precond_put(p, "levels_lower", "level sets", (double)analysis->levels_lower);
  return status ? status : karst_precond_put(p, "levels_upper", "level sets", (double)analysis->levels_upper);
}

static karst_status update(karst_precond *p)
{
  const karst_ilu_settings *settings = karst_ilu_settings_of(p);
  karst_factor_outcome outcome = {KARST_SOUND, -1, 0};
  const karst_status status =
      p->context->backend->dilu->factor(p->context, p->A, settings->shift, settings->modified, p->data, &outcome);
  return karst_ilu_report(p, status, &outcome);
}

static karst_status apply(const karst_precond *p, const double *r, double *z)
{
  p->context->backend->dilu->solve(p->context, p->A, p->data, r, z);
  return KARST_SUCCESS;
}

static void destroy(karst_precond *p)
{
  if (!p->data) return;
  p->context->backend->dilu->plan_destroy(p->context, p->data);
  karst_release(p->context, p->data);
}

extern const struct karst_precond_ops karst_precond_dilu;

static const karst_option *const rows[] = {karst_shift_rows, karst_modified_rows, karst_precision_rows, NULL};

const struct karst_precond_ops karst_precond_dilu = {
    .name = "dilu",
    .help = "block ILU that changes the diagonal blocks alone: less memory and cheaper updates than iluk",
    .details = "On 7-point grids it equals iluk with level 0. With the ordering tiles or colour on a GPU it takes as "
               "much memory as iluk with level 0 and solves as fast.",
    .needs_diagonal = true,
    .options = rows,
    .settings = sizeof(karst_ilu_settings),
    .order = KARST_ORDER_SWEEPS,
    .automatic = KARST_AUTO_LEVEL_0,
    .by_tiles = KARST_ILU_SLICE_LARGEST,
    .fetches = true,
    .analyse = analyse,
    .forget = forget,
    .differ = differ,
    .setup = setup,
    .update = update,
    .apply = apply,
    .destroy = destroy,
};
