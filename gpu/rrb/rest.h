/* rest.h - the parts shared by rest.cu and narrow.cu: the nodes that remain after the last level of the repeated
 * red-black method. */
#ifndef KARST_GPU_RRB_REST_H
#define KARST_GPU_RRB_REST_H

#include "gpu/rrb/rrb_cuda.h"

/* The remaining nodes on grid levels / 2, their stencil, and their band. */
struct karst_rrb_rest_view {
  karst_rrb_shape shape;
  karst_rrb_nodes nodes;
  int levels;
  const double *stencil;
  int64_t rest, width;
  double *band;
  double *size; /* [rest] the diagonal entries before the factorization */
};

/* Returns 1 / d, or 0 if the pivot of node q is bad. diagonal: its entry before the factorization. All contributions
 * that are subtracted from it are positive if the pivots before are, so that d and diagonal show the size of the sum. A
 * thread that visits ascending q reports its first bad pivot. */
static __device__ double karst_rrb_invert_pivot(const karst_rrb_rest_view &v, int64_t q, double diagonal, double rest,
                                                bool reports)
{
  const double inverse = 1 / rest, d = karst_rrb_sum(rest, fabs(diagonal) + fabs(diagonal - rest));
  if (karst_rrb_is_pivot(d)) return inverse;
  if (reports && *v.nodes.fault >> KARST_RRB_LEVEL_SHIFT > (unsigned)v.levels + 1)
    *v.nodes.fault = karst_rrb_encode_pivot(v.levels + 1, q, karst_rrb_is_finite(d));
  return 0;
}

/* narrow.cu: L D L^T of the band of at most KARST_RRB_DENSE nodes, 1 / d apart, and W = L^-1. */
void karst_rrb_narrow_factor_cuda(cudaStream_t stream, const karst_rrb_rest_view &view, double *inverse, double *dense);

#endif
