/* cusparse.c - cuSPARSE's incomplete LU, the peer of ILU(k) inside NVIDIA's toolkit, for comparison.
 *
 *     pattern         ILU(k) fill of the block pattern by levels          symbolic/; with k = 0 that of A
 *     factorization   A ~ L U in place on it, fill starting from 0        csrilu02, bsrilu02 for b > 1
 *     apply           L y = r,  U z = y                                   SpSV, bsrsv2 for b > 1
 *
 * On the same pattern this is the same M as iluk's, up to rounding. cuSPARSE does not pivot within a block, so that a
 * block whose leading entry is 0 counts as singular; the option shift has no effect. Level sets are not reported:
 * cuSPARSE keeps its own to itself, and finding them here would count as its set-up time. */
#include "cusparse_kernels.h"
#include "ilu.h"
#include "symbolic.h"

struct filled {
  karst_cusparse factors;
  karst_index *row_start, *column; /* the filled pattern, device memory; NULL where it is that of A */
  karst_index *position;           /* [blocks of A] where each stands in it, device memory */
};

static karst_status check_built(karst_context *context)
{
  const struct karst_cusparse_kernels *kernels = context->backend->cusparse;
  if (!kernels)
    return karst_fail(context, KARST_ERROR_NOT_BUILT,
                      "the preconditioner cusparse is not available on %s: it runs on cuda", context->backend->name);
  if (kernels->plan) return KARST_SUCCESS;
  return karst_fail(context, KARST_ERROR_NOT_BUILT,
                    KARST_INDEX_BITS == 64 ? "cuSPARSE's incomplete LU takes 32-bit indices only, and this Karst was "
                                             "built with --enable-int64"
                                           : "this Karst was built without cuSPARSE: configure with --with-cusparse");
}

/* Fill by levels, joined to one pattern and uploaded. */
static karst_status fill_pattern(karst_precond *p, struct filled *filled)
{
  const char *what = "cuSPARSE's pattern";
  karst_context *context = p->context;
  const karst_matrix *A = p->A;
  karst_ilu_pattern pattern;
  karst_index *start, *column, *position;
  karst_status status =
      karst_ilu_symbolic(context, A->block_rows, A->row_start, A->column, karst_ilu_settings_of(p)->level, &pattern);
  if (status) return status;
  status = karst_ilu_pattern_join(context, &pattern, A->row_start, A->column, &start, &column, &position);
  karst_ilu_pattern_destroy(context, &pattern);
  if (status) return status;
  int64_t rows = (int64_t)A->block_rows + 1, blocks = start[A->block_rows], own = karst_matrix_blocks(A);
  status = karst_device_indices(context, rows, start, what, &filled->row_start);
  if (!status) status = karst_device_indices(context, blocks, column, what, &filled->column);
  if (!status) status = karst_device_indices(context, own, position, what, &filled->position);
  karst_release(context, start);
  karst_release(context, column);
  karst_release(context, position);
  filled->factors.blocks = blocks;
  filled->factors.row_start = filled->row_start;
  filled->factors.column = filled->column;
  p->memory = (rows + blocks + own) * (int64_t)sizeof(karst_index);
  return status;
}

static karst_status setup(karst_precond *p)
{
  karst_context *context = p->context;
  const karst_matrix *A = p->A;
  struct filled *filled;
  karst_status status = check_built(context);
  if (!status) status = karst_allocate_zero(context, &filled, 1, sizeof *filled, "cuSPARSE's incomplete LU");
  if (status) return status;
  p->data = filled;
  karst_cusparse *factors = &filled->factors;
  *factors = (karst_cusparse){.rows = A->block_rows,
                              .block_size = A->block_size,
                              .blocks = karst_matrix_blocks(A),
                              .row_start = A->device_row_start,
                              .column = A->device_column};
  if (karst_ilu_settings_of(p)->level > 0) status = fill_pattern(p, filled);
  if (status) return status;
  int64_t entries = karst_block_offset(factors->block_size, factors->blocks), rows = karst_matrix_rows(A);
  status = karst_device_doubles(context, entries, "the factors", &factors->value);
  if (!status) status = karst_device_doubles(context, rows, "a vector of cuSPARSE's solves", &factors->middle);
  if (!status) status = context->backend->cusparse->plan(context, factors);
  p->factor_entries = entries;
  p->memory += (entries + rows) * (int64_t)sizeof(double) + factors->plan_memory;
  return status;
}

static karst_status update(karst_precond *p)
{
  karst_context *context = p->context;
  const struct karst_backend *backend = context->backend;
  struct filled *filled = p->data;
  karst_cusparse *factors = &filled->factors;
  const karst_matrix *A = p->A;
  karst_factor_outcome outcome = {KARST_SOUND, -1, 0};
  if (filled->position) {
    backend->fill(context, p->factor_entries, 0, factors->value);
    backend->scatter(context, (karst_index)karst_matrix_blocks(A), A->block_size * A->block_size, filled->position,
                     A->value, factors->value);
  } else {
    backend->copy(context, p->factor_entries, A->value, factors->value);
  }
  karst_status status = backend->cusparse->factor(context, A, factors, &outcome);
  p->reason = outcome.reason;
  p->block_row = outcome.block_row;
  return status;
}

static karst_status apply(const karst_precond *p, const double *r, double *z)
{
  const struct filled *filled = p->data;
  p->context->backend->cusparse->solve(p->context, &filled->factors, r, z);
  return KARST_SUCCESS;
}

static void destroy(karst_precond *p)
{
  karst_context *context = p->context;
  struct filled *filled = p->data;
  if (!filled) return;
  context->backend->cusparse->plan_destroy(context, &filled->factors);
  context->backend->release(context, filled->factors.value);
  context->backend->release(context, filled->factors.middle);
  context->backend->release(context, filled->row_start);
  context->backend->release(context, filled->column);
  context->backend->release(context, filled->position);
  karst_release(context, filled);
}

extern const struct karst_precond_ops karst_precond_cusparse;

static const karst_option *const rows[] = {karst_level_rows, NULL};

const struct karst_precond_ops karst_precond_cusparse = {
    .name = "cusparse",
    .help = "cuSPARSE's incomplete LU on the pattern of ILU(k), for comparison on a GPU",
    .needs_diagonal = true,
    .options = rows,
    .settings = sizeof(karst_ilu_settings),
    .setup = setup,
    .update = update,
    .apply = apply,
    .destroy = destroy,
};
