/* table.cu - the CUDA instance of the kernels of the repeated red-black method: its table and its memory. */
#include "rrb.h"

namespace
{

karst_status plan(karst_context *context, const karst_matrix *A, karst_rrb *rrb)
{
  (void)A;
  karst_rrb_cuda *made;
  karst_status status = karst_allocate_zero(context, &made, 1, sizeof *made, "rrb");
  if (status) return status;
  rrb->plan = made;
  status = karst_rrb_arrays_create(context, rrb, &made->arrays);
  const int64_t nodes = karst_rrb_nodes_elements_cuda(rrb);
  if (!status && nodes > 0) status = karst_device_doubles(context, nodes, "rrb", &made->nodes);
  if (!status && nodes > 0) context->backend->fill(context, nodes, 0, made->nodes);
  return status;
}

void plan_destroy(karst_context *context, karst_rrb *rrb)
{
  karst_rrb_cuda *made = karst_rrb_cuda_of(rrb);
  if (!made) return;
  context->backend->release(context, made->nodes);
  karst_rrb_arrays_destroy(context, &made->arrays);
  karst_release(context, made);
}

karst_status factor(karst_context *context, const karst_matrix *A, karst_rrb *rrb, karst_rrb_outcome *outcome)
{
  *outcome = {KARST_SOUND, 0, -1, -1};
  karst_rrb_load_cuda(context, A, rrb);
  karst_rrb_eliminate_cuda(context, rrb);
  karst_rrb_rest_factor_cuda(context, rrb);
  if (rrb->grouped < rrb->grids) karst_rrb_spread_cuda(context, rrb);
  return KARST_SUCCESS;
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
