/* rrb.h - the inside of the CUDA kernels of the repeated red-black method: what load.cu, eliminate.cu and rest.cu make,
 * and solve.cu applies. */
#ifndef KARST_GPU_RRB_RRB_H
#define KARST_GPU_RRB_RRB_H

#include "gpu/cuda.h"

extern "C" {
#include "rrb_kernels.h"
}

enum { KARST_RRB_DENSE = 1024 /* nodes: what is left is kept as a dense inverse factor where it is no more */ };

typedef struct karst_rrb_cuda {
  karst_rrb_arrays arrays;
  const karst_index *cell;     /* [rows] rrb->cell in device memory, or NULL */
  unsigned long long *finding; /* [2] device memory: what an inspection or a factorization has found first */
  int64_t *place;              /* [rest] the element of vector[levels / 2] that each node left is */
  double *dense;               /* rest <= KARST_RRB_DENSE: [rest rest] W = L^-1, unit lower triangular, row after row */
  double *band;                /* else [rest (rest_band + 1)] as in cpu/rrb/rrb.h */
  double *inverse;             /* [rest] 1 / d where dense; M^-1 = W^T D^-1 W on what is left */
  double *left;                /* [rest] work space */
  double *nodes;               /* [karst_rrb_nodes_elements_cuda] zero at first: what nodes.cu stores, or NULL */
} karst_rrb_cuda;

static inline karst_rrb_cuda *karst_rrb_cuda_of(const karst_rrb *rrb)
{
  return static_cast<karst_rrb_cuda *>(rrb->plan);
}

/* load.cu */
karst_status karst_rrb_inspect_cuda(karst_context *context, const karst_matrix *A, const karst_rrb *rrb,
                                    karst_rrb_pattern *pattern);
/* Fills arrays.first, and the parts of arrays.schur that A has; finds values that are not symmetric. */
void karst_rrb_load_cuda(karst_context *context, const karst_matrix *A, const karst_rrb *rrb);
/* eliminate.cu: all levels after the loading, up to the stencil of what is left. */
void karst_rrb_eliminate_cuda(karst_context *context, const karst_rrb *rrb);
/* rest.cu: dense and inverse, or band; and vector[levels / 2] = M^-1 vector on what is left, in place. */
void karst_rrb_rest_factor_cuda(karst_context *context, const karst_rrb *rrb);
void karst_rrb_rest_solve_cuda(karst_context *context, const karst_rrb *rrb);

/* nodes.cu: the elements of nodes, and the factors brought there from their groups: with grouped < grids. */
int64_t karst_rrb_nodes_elements_cuda(const karst_rrb *rrb);
void karst_rrb_spread_cuda(karst_context *context, const karst_rrb *rrb);

/* solve.cu */
void karst_rrb_solve_cuda(karst_context *context, const karst_rrb *rrb, const double *r, double *z);
void karst_rrb_enter_cuda(karst_context *context, const karst_rrb *rrb, const double *b, const double *x,
                          double *reduced_b, double *reduced_x);
void karst_rrb_leave_cuda(karst_context *context, const karst_rrb *rrb, const double *b, const double *reduced_x,
                          double *x);
void karst_rrb_multiply_cuda(karst_context *context, const karst_rrb *rrb, const double *x, double *y, double *dot);
void karst_rrb_solve_reduced_cuda(karst_context *context, const karst_rrb *rrb, const double *r, double *z,
                                  double *dot);

#endif
