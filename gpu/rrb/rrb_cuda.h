/* rrb_cuda.h - the inside of the CUDA kernels of the repeated red-black method: load.cu, eliminate.cu and rest.cu make
 * it, and solve.cu applies it. */
#ifndef KARST_GPU_RRB_RRB_CUDA_H
#define KARST_GPU_RRB_RRB_CUDA_H

#include "gpu/cuda.h"

#include <cfloat>
#include <cmath>

extern "C" {
#include "lib/backend/rrb_kernels.h"
}

enum { KARST_RRB_DENSE = 1024 /* nodes: if no more remain, they have a dense inverse factor */ };

/* For kernels that check pivots: which nodes exist, and where the first bad pivot is reported. */
typedef struct karst_rrb_nodes {
  karst_index size[2];        /* of grid 0 */
  const unsigned char *there; /* [nodes of grid 0] whether the node has a block row, in device memory; NULL: all have */
  unsigned long long *fault;  /* the least karst_rrb_encode_pivot; all ones: no fault */
} karst_rrb_nodes;

typedef struct karst_rrb_cuda {
  karst_rrb_arrays arrays;
  karst_index *cell;          /* [rows] rrb->cell in device memory, or NULL */
  unsigned char *there;       /* as in karst_rrb_nodes */
  unsigned long long *faults; /* [2] device memory: the first unsymmetric block row, or all ones; and fault of
                               * karst_rrb_nodes */
  int64_t *place;             /* [rest] the element of vector[levels / 2] that each node left is */
  double *dense;              /* rest <= KARST_RRB_DENSE: [rest rest] W = L^-1, unit lower triangular, row after row */
  double *band;               /* [rest (rest_band + 1)] as in cpu/rrb/rrb_cpu.h */
  double *inverse;            /* [rest] 1 / d with dense, where M^-1 = W^T D^-1 W on the remaining nodes */
  double *left;               /* [rest] work space */
  double *memory;             /* faults to left: one allocation */
  double *nodes;              /* the data of baselines/rrb_nodes.cu, zero at first, or NULL */
  int64_t shared;             /* elements that the vectors of coarse.cu may have */
  bool overlaps;              /* whether kernels wait for the one before themselves, so that launches may overlap */
} karst_rrb_cuda;

static inline karst_rrb_cuda *karst_rrb_cuda_of(const karst_rrb *rrb)
{
  return static_cast<karst_rrb_cuda *>(rrb->plan);
}

static inline karst_rrb_nodes karst_rrb_nodes_of(const karst_rrb *rrb)
{
  const karst_rrb_cuda *plan = karst_rrb_cuda_of(rrb);
  return {{rrb->size[0], rrb->size[1]}, plan->there, plan->faults + 1};
}

/* Encodes a bad pivot, so that the least code is the one to report. Level 0 is for entries of A that are not finite.
 * The remaining nodes, on level levels + 1, have their numbers in the order of karst_rrb_rest_node. */
enum { KARST_RRB_LEVEL_SHIFT = 56 };

KARST_INLINE unsigned long long karst_rrb_encode_pivot(int level, int64_t node, bool finite)
{
  return (unsigned long long)level << KARST_RRB_LEVEL_SHIFT | (unsigned long long)node << 1 |
         (unsigned long long)finite;
}

KARST_INLINE bool karst_rrb_is_finite(double d) { return fabs(d) <= DBL_MAX; }

KARST_INLINE bool karst_rrb_is_pivot(double d) { return d > 0 && d <= DBL_MAX; }

KARST_INLINE void karst_rrb_keep_least(unsigned long long *least, unsigned long long found)
{
#ifdef __CUDA_ARCH__
  atomicMin(least, found);
#else
  if (found < *least) *least = found;
#endif
}

/* Whether there is a node (i, j) on grid m, whose axes have size nodes. */
KARST_INLINE bool karst_rrb_has_node(const karst_rrb_nodes *nodes, const karst_index size[2], int m, karst_index i,
                                     karst_index j)
{
  if (i >= size[0] || j >= size[1]) return false;
  return !nodes->there || nodes->there[((int64_t)j << m) * nodes->size[0] + ((int64_t)i << m)];
}

/* load.cu: waits once. */
karst_status karst_rrb_inspect_cuda(karst_context *context, const karst_matrix *A, const karst_rrb *rrb,
                                    karst_rrb_pattern *pattern);
/* Fills arrays.first, and the parts of arrays.schur that A has; finds values that are not symmetric. */
void karst_rrb_load_cuda(karst_context *context, const karst_matrix *A, const karst_rrb *rrb);
/* eliminate.cu: all levels after the loading, up to the stencil of the remaining nodes. */
void karst_rrb_eliminate_cuda(karst_context *context, const karst_rrb *rrb);
/* rest.cu: finds the remaining nodes; makes dense and inverse, or the band alone; and solves vector[levels / 2] = M^-1
 * vector on these nodes, in place. */
void karst_rrb_rest_place_cuda(karst_context *context, const karst_rrb *rrb);
void karst_rrb_rest_factor_cuda(karst_context *context, const karst_rrb *rrb);
void karst_rrb_rest_solve_cuda(karst_context *context, const karst_rrb *rrb);
/* dense.cu: the same with a dense W. */
void karst_rrb_dense_solve_cuda(karst_context *context, const karst_rrb *rrb);

/* coarse.cu: requests the shared memory of its launches from the device, once; and finds out whether launches may
 * overlap. */
void karst_rrb_coarse_prepare_cuda(karst_rrb_cuda *plan);

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
