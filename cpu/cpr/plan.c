/* plan.c - the plan of CPR on the CPU: the blocks of each block column, and memory; and the table of the kernels. */
#include "cpu/cpr/cpr_cpu.h"

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
      (status = take(context, rows, sizeof *plan->row_sum, &plan->row_sum, cpr)) ||
      (status = take(context, rows, sizeof *plan->scale[0], &plan->scale[0], cpr)) ||
      (status = take(context, rows, sizeof *plan->scale[1], &plan->scale[1], cpr)) || threads == 0)
    return status;
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
  if (!status) list_columns(A, made);
  return status;
}

static void plan_destroy(karst_context *context, karst_cpr *cpr)
{
  karst_cpr_plan *plan = cpr->plan;
  context->backend->release(context, cpr->weight);
  context->backend->release(context, cpr->column);
  if (!plan) return;
  void *const memory[] = {plan->start,    plan->block,    plan->row,  plan->diagonal, plan->row_sum,
                          plan->scale[0], plan->scale[1], plan->room, plan->pivot};
  for (size_t i = 0; i < sizeof memory / sizeof *memory; i++) context->backend->release(context, memory[i]);
  karst_release(context, plan);
}

const struct karst_cpr_kernels karst_cpr_kernels_cpu = {
    .plan = plan,
    .plan_destroy = plan_destroy,
    .weigh = karst_cpr_weigh_cpu,
    .pressure = karst_cpr_pressure_cpu,
    .couple = karst_cpr_couple_cpu,
    .restrict_residual = karst_cpr_restrict_cpu,
    .subtract = karst_cpr_subtract_cpu,
    .prolong = karst_cpr_prolong_cpu,
};
