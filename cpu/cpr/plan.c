/* plan.c - the plan of CPR on the CPU: the blocks of each block column, and memory; and the table of the kernels. */
#include "cpu/cpr/cpr_cpu.h"

#include <string.h>

static const char *const what = "CPR";

/* Lists the blocks column by column by counting. start is one ahead until the end. */
static void list_columns(const karst_matrix *A, karst_cpr_plan *plan)
{
  const karst_index rows = A->block_rows;
  karst_index *start = plan->start;
  for (karst_index j = 0; j <= rows; j++) start[j] = 0;
  for (karst_index k = 0; k < A->row_start[rows]; k++)
    if (A->column[k] + 2 <= rows) start[A->column[k] + 2]++;
  for (karst_index j = 2; j <= rows; j++) start[j] += start[j - 1];
  for (karst_index i = 0; i < rows; i++)
    for (karst_index k = A->row_start[i]; k < A->row_start[i + 1]; k++) {
      const karst_index at = start[A->column[k] + 1]++;
      plan->block[at] = k;
      plan->row[at] = i;
      if (A->column[k] == i) plan->diagonal[i] = k;
    }
}

/* The rows of a symmetric pattern's columns are the columns of its rows: keeps one list of them. */
static void share_pattern(karst_context *context, const karst_matrix *A, karst_cpr *cpr)
{
  karst_cpr_plan *plan = cpr->plan;
  const size_t starts = ((size_t)A->block_rows + 1) * sizeof *plan->start, rows = (size_t)A->blocks * sizeof *plan->row;
  plan->symmetric = memcmp(plan->start, A->row_start, starts) == 0 && memcmp(plan->row, A->column, rows) == 0;
  if (!plan->symmetric) return;
  context->backend->release(context, plan->start);
  context->backend->release(context, plan->row);
  plan->start = A->device_row_start;
  plan->row = A->device_column;
  cpr->memory -= (int64_t)(starts + rows);
}

/* Takes device memory and adds its bytes to those of the plan. */
static karst_status take(karst_context *context, int64_t count, size_t size, void *memory, karst_cpr *cpr)
{
  void *taken;
  const size_t bytes = (size_t)(count > 0 ? count : 1) * size;
  const karst_status status = context->backend->allocate(context, bytes, what, &taken);
  *(void **)memory = taken;
  if (!status) cpr->memory += (int64_t)bytes;
  return status;
}

static karst_status take_memory(karst_context *context, const karst_matrix *A, karst_cpr *cpr, karst_cpr_plan *plan)
{
  const int64_t rows = A->block_rows, blocks = A->blocks, b = A->block_size;
  const int64_t threads = b > KARST_BLOCK_SIZE_LARGEST_INSTANCE ? karst_threads_worth(context, karst_entries(A)) : 0;
  plan->threads = (int)threads;
  karst_status status;
  if ((status = take(context, b * rows, sizeof *cpr->weight, &cpr->weight, cpr)) ||
      (status = take(context, b * blocks, sizeof *cpr->column, &cpr->column, cpr)) ||
      (status = take(context, rows + 1, sizeof *plan->start, &plan->start, cpr)) ||
      (status = take(context, blocks, sizeof *plan->block, &plan->block, cpr)) ||
      (status = take(context, blocks, sizeof *plan->row, &plan->row, cpr)) ||
      (status = take(context, rows, sizeof *plan->diagonal, &plan->diagonal, cpr)) ||
      (status = take(context, (b > 2 ? b : 2) * rows, sizeof *cpr->residual, &cpr->residual, cpr)) ||
      (status = take(context, rows, sizeof *cpr->solution, &cpr->solution, cpr)))
    return status;
  if (cpr->columns)
    status = take(context, b * cpr->columns->halo->blocks, sizeof *cpr->ghost_column, &cpr->ghost_column, cpr);
  if (status || threads == 0) return status;
  status = take(context, threads * (3 * b * b + 2 * b), sizeof *plan->room, &plan->room, cpr);
  return status ? status : take(context, threads * b, sizeof *plan->pivot, &plan->pivot, cpr);
}

static karst_status plan(karst_context *context, const karst_matrix *A, karst_cpr *cpr)
{
  karst_cpr_plan *made;
  karst_status status = karst_allocate_zero(context, &made, 1, sizeof *made, what);
  if (status) return status;
  cpr->plan = made;
  cpr->rows = A->block_rows;
  cpr->block_size = A->block_size;
  cpr->memory = 0;
  made->unit = 1;
  status = take_memory(context, A, cpr, made);
  if (status) return status;
  list_columns(A, made);
  share_pattern(context, A, cpr);
  return KARST_SUCCESS;
}

static void plan_destroy(karst_context *context, karst_cpr *cpr)
{
  karst_cpr_plan *plan = cpr->plan;
  if (!plan) return;
  if (plan->symmetric) plan->start = plan->row = NULL;
  void *const memory[] = {cpr->weight, cpr->column, cpr->ghost_column, cpr->residual, cpr->solution, plan->start,
                          plan->block, plan->row,   plan->diagonal,    plan->room,    plan->pivot};
  for (size_t i = 0; i < sizeof memory / sizeof *memory; i++) context->backend->release(context, memory[i]);
  karst_release(context, plan);
}

const struct karst_cpr_kernels karst_cpr_kernels_cpu = {
    .plan = plan,
    .plan_destroy = plan_destroy,
    .weigh = karst_cpr_weigh_cpu,
    .pressure = karst_cpr_pressure_cpu,
    .balance = karst_cpr_balance_cpu,
    .scale = karst_cpr_scale_cpu,
    .couple = karst_cpr_couple_cpu,
    .restrict_residual = karst_cpr_restrict_cpu,
    .subtract = karst_cpr_subtract_cpu,
    .prolong = karst_cpr_prolong_cpu,
    .sum_ghosts = karst_cpr_sum_ghosts_cpu,
    .sum_scales = karst_cpr_sum_scales_cpu,
    .subtract_ghosts = karst_cpr_subtract_ghosts_cpu,
};
