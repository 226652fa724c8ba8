/* plan.c - the analysis of factorization and sweeps on the CPU: their schedules. Also work space, and memory for the
 * values. */
#include "cpu/ilu/ilu_cpu.h"

#include "cpu/cpu.h"

/* Returns the blocks of the longest row of U. *widest: those of the widest row of L, D and U. */
static karst_index measure_rows(const karst_ilu_analysis *ilu, int64_t *widest)
{
  karst_index longest = 0;
  *widest = 1;
  for (karst_index i = 0; i < ilu->rows; i++) {
    const karst_index upper = ilu->upper_start[i + 1] - ilu->upper_start[i];
    const int64_t width = 1 + (ilu->lower_start[i + 1] - ilu->lower_start[i]) + upper;
    if (width > *widest) *widest = width;
    if (upper > longest) longest = upper;
  }
  return longest;
}

/* A thread writes to its row, block and pivots all the time. These begin on a cache line and end with a gap of two
 * lines: the processor fetches lines in pairs, and if two threads shared a pair, they would factor small blocks no
 * faster than one. */
karst_status karst_ilu_workspace_create(karst_context *context, karst_index rows, int b, int64_t widest, int blocks,
                                        karst_ilu_workspace *w)
{
  enum { GAP = 16 };
  const int64_t bb = (int64_t)b * b, row = bb * widest, block = blocks * bb + 2 * b;
  karst_status status = karst_allocate(context, &w->position, rows, sizeof *w->position, "the factorization");
  if (!status) status = karst_device_doubles(context, row + block + b + GAP, "the factorization", &w->row);
  if (status) return status;
  w->block = w->row + row;
  w->pivot = (int *)(void *)(w->block + block);
  for (karst_index i = 0; i < rows; i++) w->position[i] = -1;
  return KARST_SUCCESS;
}

void karst_ilu_workspace_destroy(karst_context *context, karst_ilu_workspace *w)
{
  karst_release(context, w->position);
  context->backend->release(context, w->row);
}

static karst_status make_values(karst_context *context, karst_ilu *ilu)
{
  int64_t bb = (int64_t)ilu->block_size * ilu->block_size;
  int64_t lower = bb * ilu->lower_start[ilu->rows], upper = bb * ilu->upper_start[ilu->rows], diagonal = bb * ilu->rows;
  karst_status status = karst_device_doubles(context, upper, "the upper factor", &ilu->upper);
  if (!status) status = karst_device_doubles(context, diagonal, "the factor's diagonal", &ilu->inverse_diagonal);
  ilu->plan_memory += (upper + diagonal) * (int64_t)sizeof(double);
  if (!ilu->single) {
    ilu->plan_memory += lower * (int64_t)sizeof(double);
    return status ? status : karst_device_doubles(context, lower, "the lower factor", &ilu->lower);
  }
  ilu->plan_memory += (lower + upper + diagonal) * (int64_t)sizeof(float);
  if (!status) status = karst_device_floats(context, lower, "the lower factor", &ilu->lower_float);
  if (!status) status = karst_device_floats(context, upper, "the upper factor", &ilu->upper_float);
  return status ? status
                : karst_device_floats(context, diagonal, "the factor's diagonal", &ilu->inverse_diagonal_float);
}

/* For the report alone: threads work on longer runs of rows than level sets have. */
static karst_status count_levels(karst_context *context, karst_ilu_analysis *ilu)
{
  karst_status status =
      karst_levels_count(context, ilu->rows, ilu->lower_start, ilu->lower_column, true, &ilu->levels_lower);
  if (status) return status;
  return karst_levels_count(context, ilu->rows, ilu->upper_start, ilu->upper_column, false, &ilu->levels_upper);
}

karst_status karst_ilu_analyse_cpu(karst_context *context, const karst_matrix *A, karst_trisolve trisolve,
                                   karst_ilu_analysis *analysis)
{
  const karst_index rows = analysis->rows;
  const int64_t blocks = rows + analysis->lower_blocks + analysis->upper_blocks;
  const int threads = karst_threads_worth(context, karst_block_offset(analysis->block_size, blocks));
  karst_ilu_plan *made;
  (void)A; /* the analysis has the pattern */
  karst_status status = count_levels(context, analysis);
  if (!status) status = karst_allocate_zero(context, &made, 1, sizeof *made, "block ILU");
  if (status) return status;
  analysis->plan = made;
  made->by_jacobi = trisolve == KARST_TRISOLVE_JACOBI;
  analysis->trisolve = made->by_jacobi ? "jacobi" : "runs";
  status = karst_schedule_create(context, analysis->tiling, rows, analysis->lower_start, analysis->lower_column, true,
                                 threads, &made->lower);
  if (!status)
    status = karst_schedule_create(context, analysis->tiling, rows, analysis->upper_start, analysis->upper_column,
                                   false, threads, &made->upper);
  if (status) return status;
  made->threads = karst_schedule_runs(&made->lower) > 1 || karst_schedule_runs(&made->upper) > 1 ? threads : 1;
  made->searching = karst_ilu_searches(measure_rows(analysis, &made->widest), 1);
  made->modified = analysis->modified;
  analysis->plan_memory = karst_schedule_memory(&made->lower) + karst_schedule_memory(&made->upper);
  return KARST_SUCCESS;
}

void karst_ilu_analysis_destroy_cpu(karst_context *context, karst_ilu_analysis *analysis)
{
  karst_ilu_plan *made = analysis->plan;
  if (!made) return;
  karst_schedule_destroy(context, &made->lower);
  karst_schedule_destroy(context, &made->upper);
  karst_release(context, made);
}

static karst_status make_jacobi(karst_context *context, karst_ilu *ilu)
{
  karst_ilu_plan *made = ilu->plan;
  const int64_t scalars = 2 * (int64_t)ilu->rows * ilu->block_size;
  if (!made->by_jacobi) return KARST_SUCCESS;
  ilu->plan_memory += scalars * (int64_t)sizeof(double);
  return karst_device_doubles(context, scalars, "the triangular solves", &made->jacobi);
}

static karst_status make_row_sums(karst_context *context, karst_ilu *ilu)
{
  karst_ilu_plan *made = ilu->plan;
  const int64_t scalars = karst_block_offset(ilu->block_size, ilu->rows);
  if (!made->modified || !made->searching) return KARST_SUCCESS;
  ilu->plan_memory += scalars * (int64_t)sizeof(double);
  return karst_device_doubles(context, scalars, "the row sums of the upper factor", &made->row_sum);
}

karst_status karst_ilu_plan_cpu(karst_context *context, const karst_ilu_analysis *analysis, int trisolve_sweeps,
                                karst_ilu *ilu)
{
  const karst_index rows = analysis->rows;
  karst_ilu_plan *made;
  *ilu = karst_ilu_on(analysis);
  karst_status status = karst_allocate(context, &made, 1, sizeof *made, "block ILU");
  if (status) return status;
  *made = *(const karst_ilu_plan *)analysis->plan;
  made->jacobi_sweeps = trisolve_sweeps;
  ilu->plan = made;
  status = karst_allocate_zero(context, &made->workspace, made->threads, sizeof *made->workspace, "block ILU");
  for (int t = 0; t < made->threads && !status; t++)
    status = karst_ilu_workspace_create(context, rows, ilu->block_size, made->widest, 2, &made->workspace[t]);
  const int64_t row = karst_block_offset(ilu->block_size, made->widest) * (int64_t)sizeof(double);
  ilu->plan_memory = made->threads * (row + (int64_t)rows * (int64_t)sizeof(karst_index));
  if (!status) status = make_jacobi(context, ilu);
  if (!status) status = make_row_sums(context, ilu);
  return status ? status : make_values(context, ilu);
}

void karst_ilu_plan_destroy_cpu(karst_context *context, karst_ilu *ilu)
{
  karst_ilu_plan *made = ilu->plan;
  context->backend->release(context, ilu->lower);
  context->backend->release(context, ilu->upper);
  context->backend->release(context, ilu->inverse_diagonal);
  context->backend->release(context, ilu->lower_float);
  context->backend->release(context, ilu->upper_float);
  context->backend->release(context, ilu->inverse_diagonal_float);
  if (!made) return;
  for (int t = 0; t < made->threads && made->workspace; t++) karst_ilu_workspace_destroy(context, &made->workspace[t]);
  karst_release(context, made->workspace);
  context->backend->release(context, made->jacobi);
  context->backend->release(context, made->row_sum);
  karst_release(context, made);
}
