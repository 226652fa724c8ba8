/* sweep_pivot.h - the operations of parilu and paric on pivots on the GPU. A singular pivot gives NaN. */
#ifndef KARST_GPU_SWEEPS_SWEEP_PIVOT_H
#define KARST_GPU_SWEEPS_SWEEP_PIVOT_H

#include "gpu/sweeps/sweeps_cuda.h"

/* Returns x / pivot, for b = 1. */
static __device__ __forceinline__ double karst_parilu_divide(double x, double pivot)
{
  return fabs(pivot) > 0 && fabs(pivot) <= DBL_MAX ? x / pivot : karst_parilu_nan();
}

/* Returns the Cholesky factor of x, for b = 1. */
static __device__ __forceinline__ double karst_parilu_root(double x)
{
  return x > 0 && x <= DBL_MAX ? sqrt(x) : karst_parilu_nan();
}

template <int B> static __device__ __forceinline__ void karst_parilu_fill_nan_cuda(double (&block)[B * B])
{
#pragma unroll
  for (int v = 0; v < B * B; v++) block[v] = karst_parilu_nan();
}

/* Makes the inverse of a diagonal block. For paric it is the inverse of the Cholesky factor, which takes the place
 * of the block first unless the block is factored. */
template <int B, bool symmetric>
static __device__ __forceinline__ void karst_parilu_pivot(bool factored, double (&block)[B * B],
                                                          double (&inverse)[B * B])
{
  if constexpr (symmetric) {
    if (!factored && !karst_block_cholesky(B, block)) karst_parilu_fill_nan_cuda<B>(block);
    if (!karst_block_invert_lower(B, block, inverse)) karst_parilu_fill_nan_cuda<B>(inverse);
  } else {
    double work[2 * B];
    int exchanged[B];
    if (karst_block_inverse(B, block, block, inverse, work, exchanged) != KARST_SOUND)
      karst_parilu_fill_nan_cuda<B>(inverse);
  }
}

#endif
