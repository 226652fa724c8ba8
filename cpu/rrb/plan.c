/* plan.c - the table of the CPU's kernels of the repeated red-black method, and its memory. */
#include "cpu/rrb/rrb_cpu.h"

/* Makes the band of the remaining nodes, and finds the place of each. */
static karst_status plan_rest(karst_context *context, karst_rrb *rrb)
{
  karst_rrb_cpu *plan = rrb->plan;
  const karst_rrb_shape *shape = &rrb->shape[rrb->levels / 2];
  int64_t elements;
  if (__builtin_mul_overflow((int64_t)rrb->rest, (int64_t)rrb->rest_band + 1, &elements))
    return karst_fail(context, KARST_ERROR_NO_MEMORY,
                      "rrb: the band of the %lld nodes that are left has more elements than can be counted",
                      (long long)rrb->rest);
  karst_status status = karst_allocate(context, &plan->band, elements, sizeof *plan->band, "the band of rrb");
  if (!status) status = karst_allocate(context, &plan->left, rrb->rest, sizeof *plan->left, "rrb");
  if (!status) status = karst_allocate(context, &plan->place, rrb->rest, sizeof *plan->place, "rrb");
  if (status) return status;
  for (karst_index q = 0; q < rrb->rest; q++) {
    karst_index i, j;
    karst_rrb_rest_node(rrb, q, &i, &j);
    plan->place[q] = karst_rrb_element(shape, 1, i, j);
  }
  rrb->plan_memory += (elements + 2 * (int64_t)rrb->rest) * (int64_t)sizeof(double);
  return KARST_SUCCESS;
}

/* Finds the block row of each node, if the matrix has a map. */
static karst_status plan_rows(karst_context *context, karst_rrb *rrb)
{
  const karst_grid grid = {{rrb->size[0], rrb->size[1], 1}, rrb->cell};
  if (grid.cell) rrb->plan_memory += karst_grid_cells(grid.size) * (int64_t)sizeof(karst_index);
  return karst_grid_map_cells(context, &grid, rrb->rows, &((karst_rrb_cpu *)rrb->plan)->row);
}

/* Lines of a narrow grid are long, and its rows too few for many threads. */
static karst_status plan_lines(karst_context *context, const karst_matrix *A, karst_rrb *rrb)
{
  karst_rrb_cpu *plan = rrb->plan;
  const karst_index shares = rrb->shape[0].coarse[1] / KARST_RRB_LEAST_ROWS;
  plan->threads = karst_threads_worth(context, karst_entries(A));
  if (shares < plan->threads) plan->threads = shares > 1 ? (int)shares : 1;
  const int64_t elements = karst_rrb_line_elements(rrb) * plan->threads;
  rrb->plan_memory += elements * (int64_t)sizeof(double);
  return karst_allocate_zero(context, &plan->lines, elements, sizeof *plan->lines, "the lines of rrb");
}

static karst_status make_plan(karst_context *context, const karst_matrix *A, karst_rrb *rrb)
{
  karst_rrb_cpu *plan;
  karst_status status = karst_allocate_zero(context, &plan, 1, sizeof *plan, "rrb");
  if (status) return status;
  rrb->plan = plan;
  rrb->plan_memory = 0;
  if (!karst_rrb_is_naive(rrb)) status = karst_rrb_arrays_create(context, rrb, &plan->arrays);
  if (!status) rrb->plan_memory += plan->arrays.bytes;
  if (!status) status = plan_rows(context, rrb);
  if (!status) status = plan_lines(context, A, rrb);
  if (status) return status;
  if (rrb->grouped == rrb->grids) return plan_rest(context, rrb);
  status = karst_rrb_naive_kernels.create(context, rrb, &plan->naive);
  if (!status) rrb->plan_memory += plan->naive->bytes;
  return status;
}

static void plan_destroy(karst_context *context, karst_rrb *rrb)
{
  karst_rrb_cpu *plan = rrb->plan;
  if (!plan) return;
  karst_rrb_arrays_destroy(context, &plan->arrays);
  if (plan->naive) karst_rrb_naive_kernels.destroy(context, plan->naive);
  karst_release(context, plan->band);
  karst_release(context, plan->left);
  karst_release(context, plan->place);
  karst_release(context, plan->lines);
  karst_release(context, plan->row);
  karst_release(context, plan);
  rrb->plan = NULL;
}

const struct karst_rrb_kernels karst_rrb_kernels_cpu = {
    .inspect = karst_rrb_inspect_cpu,
    .plan = make_plan,
    .plan_destroy = plan_destroy,
    .factor = karst_rrb_factor_cpu,
    .solve = karst_rrb_solve_cpu,
    .enter = karst_rrb_enter_cpu,
    .leave = karst_rrb_leave_cpu,
    .multiply = karst_rrb_multiply_cpu,
    .solve_reduced = karst_rrb_solve_reduced_cpu,
};
