/* solve.cu - the preconditioner, launch by launch: finer grids have a launch each way, and the others have one
 * together. The reduced system of a 5-point stencil begins with level 2. A vector of two groups has the layout of the
 * first two of vector[0], so that the general form continues with it after its own first level. */
#include "gpu/rrb/apply.h"

namespace
{

/* vector[levels / 2] = M^-1 vector on the remaining nodes. */
void solve_rest(karst_context *context, const karst_rrb *rrb)
{
  if (rrb->rest > 0) karst_rrb_rest_solve_cuda(context, rrb);
}

/* vector[m] = M^-1 vector from grid m > 0 on. */
void solve_grids(karst_context *context, const karst_rrb *rrb)
{
  const karst_rrb_arrays *arrays = &karst_rrb_cuda_of(rrb)->arrays;
  const bool nodes = rrb->grouped < rrb->grids;
  const int coarse = nodes ? rrb->grouped : karst_rrb_coarse_begin_cuda(rrb), pairs = rrb->levels / 2;
  const int end = coarse < pairs ? coarse : pairs; /* grids 1 to end - 1 have launches of their own */
  const bool odd = rrb->levels % 2 != 0;
  for (int m = 1; m < end; m++) karst_rrb_pairs_forward_cuda(context, rrb, m);
  if (nodes)
    karst_rrb_nodes_kernels_cuda.grids(context, rrb);
  else if (coarse <= rrb->grids)
    karst_rrb_coarse_cuda(context, rrb, coarse);
  else {
    if (odd) karst_rrb_reds_forward_cuda(context, rrb, pairs, arrays->vector[pairs]);
    solve_rest(context, rrb);
    if (odd) karst_rrb_reds_backward_cuda(context, rrb, pairs);
  }
  for (int m = end - 1; m > 0; m--) karst_rrb_pairs_backward_cuda(context, rrb, m);
}

void copy(karst_context *context, int64_t elements, const double *from, double *to)
{
  cudaMemcpyAsync(to, from, (size_t)elements * sizeof *to, cudaMemcpyDeviceToDevice, karst_cuda_of(context)->stream);
}

} // namespace

void karst_rrb_solve_reduced_cuda(karst_context *context, const karst_rrb *rrb, const double *r, double *z, double *dot)
{
  if (rrb->grouped == 0 && rrb->grids > 0) {
    karst_rrb_nodes_kernels_cuda.solve_reduced(context, rrb, r, z, dot);
    return;
  }
  double *vector = karst_rrb_cuda_of(rrb)->arrays.vector[0];
  if (rrb->levels == 1) { /* all black nodes remain */
    if (r != vector) copy(context, rrb->reduced, r, vector);
    solve_rest(context, rrb);
    if (z != vector) copy(context, rrb->reduced, vector, z);
    if (dot) karst_dots_cuda(context, rrb->reduced, 1, &r, z, dot);
    return;
  }
  karst_rrb_fine_forward_cuda(context, rrb, r);
  solve_grids(context, rrb);
  karst_rrb_fine_backward_cuda(context, rrb, r, z, dot);
}

void karst_rrb_solve_cuda(karst_context *context, const karst_rrb *rrb, const double *r, double *z)
{
  if (rrb->grouped == 0 && rrb->grids > 0) {
    karst_rrb_nodes_kernels_cuda.solve(context, rrb, r, z);
    return;
  }
  double *vector = karst_rrb_cuda_of(rrb)->arrays.vector[0];
  karst_rrb_scatter_cuda(context, rrb, KARST_RRB_GROUPS, r, vector);
  if (rrb->levels == 0)
    solve_rest(context, rrb);
  else {
    karst_rrb_reds_forward_cuda(context, rrb, 0, vector);
    karst_rrb_solve_reduced_cuda(context, rrb, vector, vector, NULL);
    karst_rrb_reds_backward_cuda(context, rrb, 0);
  }
  karst_rrb_gather_cuda(context, rrb, vector, z);
}

void karst_rrb_enter_cuda(karst_context *context, const karst_rrb *rrb, const double *b, const double *x,
                          double *reduced_b, double *reduced_x)
{
  if (rrb->grouped == 0 && rrb->grids > 0) {
    karst_rrb_nodes_kernels_cuda.enter(context, rrb, b, x, reduced_b, reduced_x);
    return;
  }
  const cudaStream_t stream = karst_cuda_of(context)->stream;
  const size_t bytes = (size_t)rrb->reduced * sizeof(double);
  cudaMemsetAsync(reduced_b, 0, bytes, stream);
  cudaMemsetAsync(reduced_x, 0, bytes, stream);
  karst_rrb_scatter_cuda(context, rrb, KARST_RRB_GROUPS, b, karst_rrb_cuda_of(rrb)->arrays.vector[0]);
  karst_rrb_reds_forward_cuda(context, rrb, 0, reduced_b);
  karst_rrb_scatter_cuda(context, rrb, 2, x, reduced_x);
}

void karst_rrb_leave_cuda(karst_context *context, const karst_rrb *rrb, const double *b, const double *reduced_x,
                          double *x)
{
  if (rrb->grouped == 0 && rrb->grids > 0) {
    karst_rrb_nodes_kernels_cuda.leave(context, rrb, b, reduced_x, x);
    return;
  }
  double *vector = karst_rrb_cuda_of(rrb)->arrays.vector[0];
  karst_rrb_scatter_cuda(context, rrb, KARST_RRB_GROUPS, b, vector);
  copy(context, rrb->reduced, reduced_x, vector);
  karst_rrb_reds_backward_cuda(context, rrb, 0);
  karst_rrb_gather_cuda(context, rrb, vector, x);
}
