/* plan.c - the table of the CPU's kernels of the repeated red-black method, its memory, and its look at the pattern. */
#include "rrb.h"

static karst_status inspect(karst_context *context, const karst_matrix *A, const karst_rrb *rrb,
                            karst_rrb_pattern *pattern)
{
  (void)context;
  (void)A;
  (void)rrb;
  *pattern = (karst_rrb_pattern){false, {-1, -1}};
  return KARST_SUCCESS;
}

static karst_status plan(karst_context *context, const karst_matrix *A, karst_rrb *rrb)
{
  (void)A;
  karst_rrb_cpu *plan;
  karst_status status = karst_allocate_zero(context, &plan, 1, sizeof *plan, "rrb");
  if (status) return status;
  rrb->plan = plan;
  return karst_rrb_arrays_create(context, rrb, &plan->arrays);
}

static void plan_destroy(karst_context *context, karst_rrb *rrb)
{
  karst_rrb_cpu *plan = rrb->plan;
  if (!plan) return;
  karst_rrb_arrays_destroy(context, &plan->arrays);
  karst_release(context, plan);
}

const struct karst_rrb_kernels karst_rrb_kernels_cpu = {
    .inspect = inspect,
    .plan = plan,
    .plan_destroy = plan_destroy,
    .factor = karst_rrb_factor_cpu,
    .solve = karst_rrb_solve_cpu,
    .enter = karst_rrb_enter_cpu,
    .leave = karst_rrb_leave_cpu,
    .multiply = karst_rrb_multiply_cpu,
    .solve_reduced = karst_rrb_solve_reduced_cpu,
};
