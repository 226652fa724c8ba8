/* iluk.c - decoupled block ILU(k) (Yang, Liu, He, Chen: Decoupled Block-Wise ILU(k) Preconditioner on GPU).
 *
 *     pattern         ILU(k) fill of the block pattern by levels          Algorithm 3, symbolic/
 *     factorization   A ~ L U in place on the filled pattern              Algorithm 4, the kernel table
 *     split           U = D U' with the inverse blocks of D kept          equation (5)
 *     apply           L y = r,  z = D^-1 y,  U' x = z                     Algorithm 7, the kernel table
 *
 * The pattern half runs once; new values repeat the factorization alone. */
#include "precond.h"

#include "kernels.h"
#include "symbolic.h"

static const struct karst_ilu_kernels *kernels(const karst_context *context)
{
  static const struct karst_ilu_kernels *const table[KARST_BACKEND_COUNT] = {
      [KARST_BACKEND_CPU] = &karst_ilu_kernels_cpu,
      [KARST_BACKEND_CUDA] = &karst_ilu_kernels_cuda,
  };
  return table[context->backend->kind];
}

/* The filled pattern, which ilu takes over. */
static karst_status make_pattern(karst_precond *p, karst_ilu *ilu)
{
  const karst_matrix *A = p->A;
  karst_ilu_pattern pattern;
  karst_status status =
      karst_ilu_symbolic(p->context, A->block_rows, A->row_start, A->column, p->options.level, &pattern);
  if (status) return status;
  ilu->rows = A->block_rows;
  ilu->block_size = A->block_size;
  ilu->lower_start = pattern.lower_start;
  ilu->lower_column = pattern.lower_column;
  ilu->upper_start = pattern.upper_start;
  ilu->upper_column = pattern.upper_column;
  return KARST_SUCCESS;
}

/* The level sets of both triangles, for the report and for the plan of the sweeps. */
static karst_status plan(karst_precond *p, karst_ilu *ilu)
{
  karst_context *context = p->context;
  karst_levels lower = {0}, upper = {0};
  karst_status status = karst_levels_create(context, ilu->rows, ilu->lower_start, ilu->lower_column, true, &lower);
  if (!status) status = karst_levels_create(context, ilu->rows, ilu->upper_start, ilu->upper_column, false, &upper);
  karst_ilu_analysis analysis = {.A = p->A,
                                 .trisolve = p->options.trisolve,
                                 .lower = {lower.count, lower.level_start, lower.row},
                                 .upper = {upper.count, upper.level_start, upper.row}};
  if (!status) status = kernels(context)->plan(context, &analysis, ilu);
  p->levels_lower = lower.count;
  p->levels_upper = upper.count;
  karst_levels_destroy(context, &lower);
  karst_levels_destroy(context, &upper);
  return status;
}

static karst_status setup(karst_precond *p)
{
  karst_context *context = p->context;
  karst_ilu *ilu;
  if (!kernels(context))
    return karst_fail(context, KARST_ERROR_NOT_BUILT, "iluk is not available on %s", context->backend->name);
  karst_status status = karst_allocate_zero(context, &ilu, 1, sizeof *ilu, "block ILU");
  if (status) return status;
  p->data = ilu;
  status = make_pattern(p, ilu);
  if (status) return status;
  int64_t lower = ilu->lower_start[ilu->rows], upper = ilu->upper_start[ilu->rows];
  int64_t bb = (int64_t)ilu->block_size * ilu->block_size;
  status = plan(p, ilu);
  p->factor_entries = bb * (lower + upper + ilu->rows);
  p->memory = (lower + upper + 2 * ((int64_t)ilu->rows + 1)) * (int64_t)sizeof(karst_index) + ilu->plan_memory;
  return status;
}

static karst_status update(karst_precond *p)
{
  karst_factor_outcome outcome = {KARST_SOUND, -1, 0};
  karst_status status = kernels(p->context)->factor(p->context, p->A, p->options.shift, p->data, &outcome);
  p->reason = outcome.reason;
  p->block_row = outcome.block_row;
  p->shifted = outcome.shifted;
  return status;
}

static void apply(const karst_precond *p, const double *r, double *z)
{
  kernels(p->context)->solve(p->context, p->data, r, z);
}

static void destroy(karst_precond *p)
{
  karst_context *context = p->context;
  karst_ilu *ilu = p->data;
  if (!ilu) return;
  kernels(context)->plan_destroy(context, ilu);
  karst_release(context, ilu->lower_start);
  karst_release(context, ilu->lower_column);
  karst_release(context, ilu->upper_start);
  karst_release(context, ilu->upper_column);
  karst_release(context, ilu);
}

extern const struct karst_precond_ops karst_precond_iluk;

const struct karst_precond_ops karst_precond_iluk = {
    .name = "iluk",
    .help = "decoupled block ILU(k), k from the option level",
    .needs_diagonal = true,
    .setup = setup,
    .update = update,
    .apply = apply,
    .destroy = destroy,
};
