/* fgbilu.c - block ILU(0) on structured 7-point grids (Luo, Edwards, Luo, Mueller: A fine-grained block ILU scheme on
 * regular structures for GPGPUs). It factors only the diagonal blocks D:
 *
 *     M = (D + E) D^-1 (D + F),   D_i = A_ii - sum_{j < i} E_ij D_j^-1 F_ji,
 *
 *     y = D^-1 (r - E y),   z = y - D^-1 F z
 *
 * where E and F are the blocks of A below and above its diagonal, in the order of the cells of the grid. On such a grid
 * M is that of ILU(0). The factor is one block a cell; every apply reads E and F from the matrix.
 *
 * Faults and wells couple cells without a common face. M leaves these blocks out, A = S + R with the remainder R, and R
 * acts in the residual alone. On 13 systems of a faulted field, where R has a ninth of the couplings, this takes 1.1
 * times the iterations of ILU(0). R lumped into the diagonal blocks takes 4 to 40 times as many, and R in the factor,
 * where it joins cells of different hyperplanes, would save a tenth at most. */
#include "lib/backend/fgbilu_kernels.h"
#include "lib/vector/sums.h"
#include "precond/ilu_settings.h"
#include "symbolic/symbolic.h"

#include <math.h>

struct settings {
  int precision;
  int style; /* a karst_fgbilu_style */
  int pivoting;
};

/* The state of a preconditioner. */
struct state {
  karst_fgbilu fgbilu;
  double share;  /* of the remainder in the sum of the couplings' absolute values, by the first values; or NaN */
  double *space; /* to measure it in the first update: [3 rows + 2], device memory; else NULL */
};

static void forget(karst_context *context, void *data)
{
  karst_fgbilu_analysis *analysis = data;
  if (!analysis) return;
  context->backend->fgbilu->analysis_destroy(context, analysis);
  karst_structured_destroy(context, &analysis->cells);
  karst_release(context, analysis);
}

static karst_status analyse(karst_precond *p)
{
  karst_context *context = p->context;
  const struct settings *settings = p->settings;
  karst_fgbilu_analysis *analysis;
  if (!context->backend->fgbilu)
    return karst_fail(context, KARST_ERROR_NOT_BUILT, "fgbilu is not available on %s", context->backend->name);
  karst_status status = karst_allocate_zero(context, &analysis, 1, sizeof *analysis, "fgbilu");
  if (status) return status;
  p->analysis->data = analysis;
  analysis->block_size = p->A->block_size;
  analysis->blocks = karst_matrix_blocks(p->A);
  analysis->single = karst_precision_is_single(settings);
  status = karst_structured_create(context, p->A, &analysis->cells);
  if (status) return status;
  const karst_index *size = analysis->cells.size;
  analysis->hyperplanes = size[0] - 1 + (size[1] - 1) + size[2];
  return context->backend->fgbilu->analyse(context, p->A, (karst_fgbilu_style)settings->style, analysis);
}

static const char *differ(const void *settings, const void *others)
{
  const struct settings *mine = settings, *theirs = others;
  if (mine->precision != theirs->precision) return "factor-precision";
  return mine->style == theirs->style ? NULL : "fgbilu-style";
}

static karst_status setup(karst_precond *p)
{
  const struct settings *settings = p->settings;
  const karst_fgbilu_analysis *analysis = p->analysis->data;
  const int64_t cells = karst_grid_cells(analysis->cells.size);
  struct state *state;
  karst_status status = karst_allocate_zero(p->context, &state, 1, sizeof *state, "fgbilu");
  if (status) return status;
  p->data = state;
  state->share = NAN;
  karst_fgbilu *fgbilu = &state->fgbilu;
  fgbilu->analysis = analysis;
  fgbilu->pivoting = settings->pivoting;
  status = p->context->backend->fgbilu->plan(p->context, fgbilu);
  p->factor_entries = karst_block_offset(analysis->block_size, analysis->cells.rows);
  p->memory = cells * (int64_t)(sizeof(uint64_t) + (analysis->cells.row ? sizeof(karst_index) : 0)) +
              analysis->plan_memory + fgbilu->plan_memory;
  p->traffic.update = karst_traffic_of(karst_entries(p->A) + p->factor_entries, 0);
  const double bytes = (double)karst_entries(p->A) * (analysis->single ? sizeof(float) : sizeof(double));
  p->traffic.apply = bytes + karst_traffic_of(2 * karst_matrix_rows(p->A), 0);
  if (!status) status = karst_precision_put(p, bytes);
  if (!status) status = karst_precond_put(p, "hyperplanes", "level sets", (double)analysis->hyperplanes);
  if (!status) status = karst_precond_put_text(p, "style_used", analysis->style);
  if (status || analysis->cells.remainder == 0) return status;
  status =
      karst_device_doubles(p->context, 3 * (int64_t)analysis->cells.rows + 2, "the remainder of fgbilu", &state->space);
  if (status) return status;
  return karst_precond_put(p, "remainder_couplings", "without a common face", (double)analysis->cells.remainder);
}

/* Measures the remainder, and releases the work space of that. */
static karst_status measure(karst_precond *p)
{
  struct state *state = p->data;
  karst_context *context = p->context;
  const int64_t rows = state->fgbilu.analysis->cells.rows;
  const double *const sums[2] = {state->space, state->space + rows};
  double *ones = state->space + 2 * rows, *result = ones + rows, sum[2];
  context->backend->fgbilu->measure(context, p->A, state->fgbilu.analysis, state->space, state->space + rows);
  context->backend->fill(context, rows, 1, ones);
  context->backend->dots(context, rows, 2, sums, ones, result); /* of this rank alone */
  const karst_status status = context->backend->download(context, sum, result, sizeof sum);
  if (status) return status;
  context->backend->release(context, state->space);
  state->space = NULL;
  state->share = sum[1] > 0 ? sum[0] / sum[1] : 0;
  return KARST_SUCCESS;
}

static karst_status update(karst_precond *p)
{
  struct state *state = p->data;
  karst_factor_outcome outcome = {KARST_SOUND, -1, 0};
  karst_status status = state->space ? measure(p) : KARST_SUCCESS;
  if (!status) status = p->context->backend->fgbilu->factor(p->context, p->A, &state->fgbilu, &outcome);
  karst_ilu_take_outcome(p, &outcome);
  if (status || isnan(state->share)) return status;
  return karst_precond_put(p, "remainder_share", "of the couplings", state->share);
}

static karst_status apply(const karst_precond *p, const double *r, double *z)
{
  const struct state *state = p->data;
  p->context->backend->fgbilu->solve(p->context, p->A, &state->fgbilu, r, z);
  return KARST_SUCCESS;
}

static void destroy(karst_precond *p)
{
  struct state *state = p->data;
  if (!state) return;
  p->context->backend->fgbilu->plan_destroy(p->context, &state->fgbilu);
  p->context->backend->release(p->context, state->space);
  karst_release(p->context, state);
}

static const char *style_name(size_t i)
{
  static const char *const names[] = {[KARST_FGBILU_AUTO] = "auto",
                                      [KARST_FGBILU_SEQUENTIAL] = "sequential",
                                      [KARST_FGBILU_WAVEFRONT] = "wavefront",
                                      [KARST_FGBILU_LINES] = "lines",
                                      [KARST_FGBILU_ACC] = "acc",
                                      [KARST_FGBILU_CL] = "cl",
                                      [KARST_FGBILU_MIXED] = "mixed",
                                      [KARST_FGBILU_TILES] = "tiles",
                                      NULL};
  return names[i];
}

static const karst_option fgbilu_rows[] = {
    {"fgbilu-style", KARST_OPTION_NAME, true, offsetof(struct settings, style), style_name, 0, "auto",
     "how fgbilu goes through the grid",
     "On a CPU it is sequential (LU factors of the diagonal blocks instead of inverses), wavefront or lines, on a GPU "
     "acc or tiles, and cl or mixed if the library was configured with --enable-baselines. auto chooses one that suits "
     "the device; style_used in the report says which."},
    {"pivoting", KARST_OPTION_NAME, false, offsetof(struct settings, pivoting), karst_no_or_yes, 0, "yes",
     "whether fgbilu exchanges rows when it inverts a block",
     "With no, a block that needs row exchanges counts as singular."},
    {0},
};

static const karst_option *const rows[] = {karst_precision_rows, fgbilu_rows, NULL};

extern const struct karst_precond_ops karst_precond_fgbilu;

const struct karst_precond_ops karst_precond_fgbilu = {
    .name = "fgbilu",
    .help = "block ILU(0) on 7-point grids, which factors the diagonal blocks alone",
    .details = "The grid is that of the matrix, or is found from the pattern; a matrix without either is refused with "
               "KARST_ERROR_MATRIX. Missing couplings, holes and any numbering of the block rows are allowed, and the "
               "order of elimination is always that of the cells. Couplings of cells without a common face, as across "
               "a fault or by a well, are not part of M; the report has their number and share. More than a quarter of "
               "them is refused. Apply reads the other blocks from the matrix: after karst_solver_keep or "
               "karst_precond_keep it mixes the diagonal blocks of the last factorization with the couplings of the "
               "new values.",
    .needs_diagonal = true,
    .needs_grid = true,
    .needs_faces = true,
    .options = rows,
    .settings = sizeof(struct settings),
    .automatic = KARST_AUTO_LEVEL_0,
    .analyse = analyse,
    .forget = forget,
    .differ = differ,
    .setup = setup,
    .update = update,
    .apply = apply,
    .destroy = destroy,
};
