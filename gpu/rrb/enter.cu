/* enter.cu - vectors over the block rows of A to the groups of grid 0, and back. */
#include "gpu/rrb/apply.h"

namespace
{

enum { ROWS = 4 /* block rows of a thread */ };

struct groups {
  int64_t pitch, array;
  unsigned nx;
};

/* The element of node j nx + i; *group is its group. */
__device__ __forceinline__ int64_t element(const groups &g, int64_t node, int *group)
{
  const int64_t j = (uint64_t)node >> 32 ? node / g.nx : (unsigned)node / g.nx, i = node - j * g.nx;
  *group = karst_rrb_group_of(i, j);
  return g.pitch + *group * g.array + (j >> 1) * g.pitch + (i >> 1);
}

__global__ void __launch_bounds__(KARST_CUDA_THREADS)
    scatter(const groups g, int64_t rows, const karst_index *__restrict__ cell, int count, const double *x,
            double *vector)
{
  const int64_t first = (int64_t)blockIdx.x * KARST_CUDA_THREADS * ROWS + threadIdx.x;
  karst_rrb_wait();
#pragma unroll
  for (int s = 0; s < ROWS; s++) {
    const int64_t row = first + s * KARST_CUDA_THREADS;
    if (row >= rows) break;
    int group;
    const int64_t to = element(g, cell ? cell[row] : row, &group);
    if (group < count) vector[to] = x[row];
  }
}

__global__ void __launch_bounds__(KARST_CUDA_THREADS)
    gather(const groups g, int64_t rows, const karst_index *__restrict__ cell, const double *vector, double *x)
{
  const int64_t first = (int64_t)blockIdx.x * KARST_CUDA_THREADS * ROWS + threadIdx.x;
  karst_rrb_wait();
#pragma unroll
  for (int s = 0; s < ROWS; s++) {
    const int64_t row = first + s * KARST_CUDA_THREADS;
    if (row >= rows) break;
    int group;
    x[row] = vector[element(g, cell ? cell[row] : row, &group)];
  }
}

groups groups_of(const karst_rrb *rrb) { return {rrb->shape[0].pitch, rrb->shape[0].array, (unsigned)rrb->size[0]}; }

unsigned grid_of(const karst_rrb *rrb) { return karst_cuda_grid(rrb->rows, KARST_CUDA_THREADS * ROWS); }

} // namespace

void karst_rrb_scatter_cuda(karst_context *context, const karst_rrb *rrb, int count, const double *x, double *vector)
{
  karst_rrb_launch(context, rrb, scatter, grid_of(rrb), KARST_CUDA_THREADS, 0, groups_of(rrb), rrb->rows,
                   karst_rrb_cuda_of(rrb)->cell, count, x, vector);
}

void karst_rrb_gather_cuda(karst_context *context, const karst_rrb *rrb, const double *vector, double *x)
{
  karst_rrb_launch(context, rrb, gather, grid_of(rrb), KARST_CUDA_THREADS, 0, groups_of(rrb), rrb->rows,
                   karst_rrb_cuda_of(rrb)->cell, vector, x);
}
