/* ilu.c - see ilu.h: the pattern, level sets and plan of triangular factors on the pattern of block ILU(k). */
#include "ilu.h"

#include "symbolic.h"

const struct karst_ilu_kernels *karst_ilu_kernels(const karst_context *context)
{
  static const struct karst_ilu_kernels *const table[KARST_BACKEND_COUNT] = {
      [KARST_BACKEND_CPU] = &karst_ilu_kernels_cpu,
      [KARST_BACKEND_CUDA] = &karst_ilu_kernels_cuda,
  };
  return table[context->backend->kind];
}

karst_status karst_ilu_make_pattern(const karst_precond *p, karst_ilu *ilu)
{
  const karst_matrix *A = p->A;
  karst_ilu_pattern pattern; /* which ilu takes over */
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

karst_status karst_ilu_make_plan(karst_precond *p, const karst_matrix *A, karst_ilu *ilu)
{
  karst_context *context = p->context;
  karst_levels lower = {0}, upper = {0};
  int64_t blocks = (int64_t)ilu->lower_start[ilu->rows] + ilu->upper_start[ilu->rows];
  karst_status status = karst_levels_create(context, ilu->rows, ilu->lower_start, ilu->lower_column, true, &lower);
  if (!status) status = karst_levels_create(context, ilu->rows, ilu->upper_start, ilu->upper_column, false, &upper);
  karst_ilu_analysis analysis = {.A = A,
                                 .trisolve = p->options.trisolve,
                                 .trisolve_sweeps = p->options.trisolve_sweeps,
                                 .lower = {lower.count, lower.level_start, lower.row},
                                 .upper = {upper.count, upper.level_start, upper.row}};
  if (!status) status = karst_ilu_kernels(context)->plan(context, &analysis, ilu);
  p->levels_lower = lower.count;
  p->levels_upper = upper.count;
  p->factor_entries = karst_block_offset(ilu->block_size, blocks + ilu->rows);
  p->memory = (blocks + 2 * ((int64_t)ilu->rows + 1)) * (int64_t)sizeof(karst_index) + ilu->plan_memory;
  karst_levels_destroy(context, &lower);
  karst_levels_destroy(context, &upper);
  return status;
}

void karst_ilu_report(karst_precond *p, const karst_factor_outcome *outcome)
{
  p->reason = outcome->reason;
  p->block_row = outcome->block_row;
  p->shifted = outcome->shifted;
}

void karst_ilu_destroy(karst_context *context, karst_ilu *ilu)
{
  karst_ilu_kernels(context)->plan_destroy(context, ilu);
  karst_release(context, ilu->lower_start);
  karst_release(context, ilu->lower_column);
  karst_release(context, ilu->upper_start);
  karst_release(context, ilu->upper_column);
}
