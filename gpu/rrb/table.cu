/* table.cu - the CUDA instance of the kernels of the repeated red-black method: its table, its memory, and the outcome
 * of a factorization. */
#include "gpu/rrb/apply.h"

namespace
{

/* Allocates the arrays from faults to left together, as doubles. */
karst_status take_rest(karst_context *context, karst_rrb *rrb, karst_rrb_cuda *plan)
{
  const int64_t rest = rrb->rest, width = (int64_t)rrb->rest_band + 1;
  const int64_t dense = rest <= KARST_RRB_DENSE ? rest * rest : 0;
  if (width > INT64_MAX / 16 / (rest + 4))
    return karst_fail(context, KARST_ERROR_NO_MEMORY, "out of device memory: rrb leaves %lld nodes, in a band of %lld",
                      (long long)rest, (long long)rrb->rest_band);
  const int64_t count = 2 + 3 * rest + rest * width + dense;
  karst_status status = karst_device_doubles(context, count, "what rrb leaves", &plan->memory);
  if (status) return status;
  rrb->plan_memory += count * (int64_t)sizeof(double);
  context->backend->fill(context, count, 0, plan->memory);
  plan->faults = reinterpret_cast<unsigned long long *>(plan->memory);
  plan->place = reinterpret_cast<int64_t *>(plan->memory + 2);
  plan->inverse = plan->memory + 2 + rest;
  plan->left = plan->inverse + rest;
  plan->band = plan->left + rest;
  plan->dense = dense > 0 ? plan->band + rest * width : nullptr;
  return KARST_SUCCESS;
}

/* Makes the flags of the nodes that have a block row, in device memory. */
karst_status take_there(karst_context *context, karst_rrb *rrb, karst_rrb_cuda *plan)
{
  const int64_t nodes = (int64_t)rrb->size[0] * rrb->size[1];
  unsigned char *there;
  karst_status status = karst_allocate_zero(context, &there, nodes, sizeof *there, "the nodes of rrb");
  if (status) return status;
  for (karst_index row = 0; row < rrb->rows; row++) there[rrb->cell[row]] = 1;
  status = karst_cuda_take(context, nodes, "the nodes of rrb", &plan->there, &rrb->plan_memory);
  if (!status) status = context->backend->upload(context, plan->there, there, (size_t)nodes);
  karst_release(context, there);
  return status;
}

karst_status take_cells(karst_context *context, karst_rrb *rrb, karst_rrb_cuda *plan)
{
  if (!rrb->cell || rrb->rows == 0) return KARST_SUCCESS;
  karst_status status = karst_device_indices(context, rrb->rows, rrb->cell, "the cells of rrb", &plan->cell);
  if (status) return status;
  rrb->plan_memory += rrb->rows * (int64_t)sizeof *plan->cell;
  return rrb->rows < rrb->size[0] * rrb->size[1] ? take_there(context, rrb, plan) : KARST_SUCCESS;
}

karst_status plan(karst_context *context, const karst_matrix *A, karst_rrb *rrb)
{
  (void)A;
  karst_rrb_cuda *made;
  karst_status status = karst_allocate_zero(context, &made, 1, sizeof *made, "rrb");
  if (status) return status;
  rrb->plan = made;
  rrb->plan_memory = 0;
  status = karst_rrb_arrays_create(context, rrb, &made->arrays);
  rrb->plan_memory += made->arrays.bytes;
  if (!status) status = take_rest(context, rrb, made);
  if (!status) status = take_cells(context, rrb, made);
  if (!status) karst_rrb_rest_place_cuda(context, rrb);
  karst_rrb_coarse_prepare_cuda(made);
  const int64_t nodes = rrb->grouped < rrb->grids ? karst_rrb_nodes_kernels_cuda.elements(rrb) : 0;
  if (!status && nodes > 0) status = karst_device_doubles(context, nodes, "rrb", &made->nodes);
  if (!status && nodes > 0) {
    context->backend->fill(context, nodes, 0, made->nodes);
    rrb->plan_memory += nodes * (int64_t)sizeof(double);
  }
  return status;
}

void plan_destroy(karst_context *context, karst_rrb *rrb)
{
  karst_rrb_cuda *made = karst_rrb_cuda_of(rrb);
  if (!made) return;
  karst_cuda_release(context, made->nodes, made->there, made->cell, made->memory);
  if (made->arrays.memory) karst_rrb_arrays_destroy(context, &made->arrays);
  karst_release(context, made);
  rrb->plan = nullptr;
}

/* The node of grid 0 that is number q of the remaining ones. */
karst_index left_node(const karst_rrb *rrb, karst_index q)
{
  karst_index i, j;
  const int m = rrb->levels / 2;
  karst_rrb_rest_node(rrb, q, &i, &j);
  return (karst_index)(((int64_t)j << m) * rrb->size[0] + ((int64_t)i << m));
}

void report(const karst_rrb *rrb, const unsigned long long found[2], karst_rrb_outcome *outcome)
{
  if (found[0] != ~0ULL) {
    outcome->unsymmetric = (karst_index)found[0];
    return;
  }
  if (found[1] == ~0ULL) return;
  const int level = (int)(found[1] >> KARST_RRB_LEVEL_SHIFT);
  const karst_index node = (karst_index)((found[1] & ((1ULL << KARST_RRB_LEVEL_SHIFT) - 1)) >> 1);
  outcome->reason = found[1] % 2 ? KARST_INDEFINITE_PRECOND : KARST_NOT_FINITE;
  outcome->level = level; /* 0 for an entry of A that is not finite */
  outcome->node = level > rrb->levels ? left_node(rrb, node) : node;
}

karst_status factor(karst_context *context, const karst_matrix *A, karst_rrb *rrb, karst_rrb_outcome *outcome)
{
  const karst_rrb_cuda *plan = karst_rrb_cuda_of(rrb);
  unsigned long long found[2] = {~0ULL, ~0ULL};
  *outcome = {KARST_SOUND, 0, -1, -1};
  cudaMemsetAsync(plan->faults, 0xff, sizeof found, karst_cuda_of(context)->stream);
  karst_rrb_load_cuda(context, A, rrb);
  karst_rrb_eliminate_cuda(context, rrb);
  karst_rrb_rest_factor_cuda(context, rrb);
  if (rrb->grouped < rrb->grids) karst_rrb_nodes_kernels_cuda.spread(context, rrb);
  const karst_status status = context->backend->download(context, found, plan->faults, sizeof found);
  if (!status) report(rrb, found, outcome);
  return status;
}

} // namespace

extern "C" {
extern const struct karst_rrb_kernels karst_rrb_kernels_cuda;
const struct karst_rrb_kernels karst_rrb_kernels_cuda = {
    karst_cuda_entry<karst_rrb_inspect_cuda>::call,
    karst_cuda_entry<plan>::call,
    karst_cuda_entry<plan_destroy>::call,
    karst_cuda_entry<factor>::call,
    karst_cuda_entry<karst_rrb_solve_cuda>::call,
    karst_cuda_entry<karst_rrb_enter_cuda>::call,
    karst_cuda_entry<karst_rrb_leave_cuda>::call,
    karst_cuda_entry<karst_rrb_multiply_cuda>::call,
    karst_cuda_entry<karst_rrb_solve_reduced_cuda>::call,
};
}
