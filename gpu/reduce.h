/* reduce.h - sums over the threads of a thread block, in a fixed order, and over thread blocks; maxima. */
#ifndef KARST_GPU_REDUCE_H
#define KARST_GPU_REDUCE_H

#include "gpu/launch.h"

/* The sum over a warp, in its first lane. */
static __device__ __forceinline__ double karst_cuda_warp_sum(double value)
{
  for (int distance = 16; distance > 0; distance /= 2) value += __shfl_down_sync(0xffffffff, value, distance);
  return value;
}

/* Returns in thread v < count the sum of value[v] over the THREADS threads of a block, which all call it, once in a
 * kernel; count <= BATCH <= THREADS. Other threads get 0. */
template <int BATCH, int THREADS>
static __device__ __forceinline__ double karst_cuda_block_sum(int count, const double *value)
{
  enum { WARPS = THREADS / 32 };
  __shared__ double part[BATCH][WARPS];
  const int t = (int)threadIdx.x;
  for (int v = 0; v < BATCH; v++) {
    const double sum = karst_cuda_warp_sum(value[v]);
    if (t % 32 == 0) part[v][t / 32] = sum;
  }
  __syncthreads();
  double sum = 0;
  for (int w = 0; t < count && w < WARPS; w++) sum += part[t][w];
  return sum;
}

enum { KARST_CUDA_PARTS = KARST_CUDA_BATCH * KARST_CUDA_SUMS / 2 };

/* Returns the largest of the values of a block's threads, whose number is a power of two. part: [threads] shared
 * memory. Ties and NaN do not matter to the callers. */
static __device__ __forceinline__ double karst_cuda_block_largest(double value, double *part)
{
  const int t = (int)threadIdx.x;
  __syncthreads();
  part[t] = value;
  for (int half = (int)blockDim.x / 2; half > 0; half /= 2) {
    __syncthreads();
    if (t < half) part[t] = fmax(part[t], part[t + half]);
  }
  __syncthreads();
  const double largest = part[0];
  __syncthreads();
  return largest;
}

/* sums.cu: result[v] = the sum of parts numbers, which begin at partial[v * parts] in the work space of the reductions;
 * count <= 2, parts <= KARST_CUDA_PARTS. */
void karst_cuda_add_parts(const struct karst_cuda *cuda, unsigned parts, int count, double *result);

#endif
