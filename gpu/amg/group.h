/* group.h - threads that work on one row together: LANES threads of a warp, or a whole thread block if LANES is larger.
 * Their sums have an order that depends only on LANES.
 *
 * Groups that wait for their own threads part, and then a warp executes each instruction once for each of its groups.
 * So in kernels with much to do for a row all groups of a warp call these functions together (WHOLE), some of them with
 * nothing to add, as long as one has a use for it (any). */
#ifndef KARST_GPU_AMG_GROUP_H
#define KARST_GPU_AMG_GROUP_H

#include "gpu/amg/amg_cuda.h"

template <int LANES, bool WHOLE = false> struct karst_amg_group {
  enum { WARP = 32 };

  static __device__ __forceinline__ int lane() { return LANES <= WARP ? (int)threadIdx.x % LANES : (int)threadIdx.x; }

  /* The threads of the warp that belong to the group, */
  static __device__ __forceinline__ unsigned own()
  {
    if (LANES >= WARP) return 0xffffffffu;
    return ((1u << (LANES % WARP)) - 1) << ((int)threadIdx.x % WARP / LANES * LANES);
  }

  /* and those that wait for one another. */
  static __device__ __forceinline__ unsigned mask() { return WHOLE ? 0xffffffffu : own(); }

  static __device__ __forceinline__ void sync()
  {
    if (LANES <= WARP)
      __syncwarp(mask());
    else
      __syncthreads();
  }

  /* Whether the condition holds in one of the threads of the warp, which go on together; LANES = 1: in this one. */
  static __device__ __forceinline__ bool any(bool holds) { return LANES > 1 ? __any_sync(mask(), holds) : holds; }

  /* The value of a lane of the group's threads in this warp. */
  template <typename T> static __device__ __forceinline__ T pass(T value, int from)
  {
    return __shfl_sync(mask(), value, from, LANES < WARP ? LANES : WARP);
  }

  /* The sum over the group, in all of its threads. */
  template <typename T> static __device__ __forceinline__ T sum(T value)
  {
    for (int distance = (LANES < WARP ? LANES : WARP) / 2; distance > 0; distance /= 2)
      value += __shfl_xor_sync(mask(), value, distance);
    if (LANES <= WARP) return value;
    __shared__ T part[WARP];
    __syncthreads();
    if (threadIdx.x % WARP == 0) part[threadIdx.x / WARP] = value;
    __syncthreads();
    value = 0;
    for (int w = 0; w < LANES / WARP; w++) value += part[w];
    return value;
  }

  template <typename T> static __device__ __forceinline__ T largest(T value)
  {
    for (int distance = (LANES < WARP ? LANES : WARP) / 2; distance > 0; distance /= 2) {
      const T other = __shfl_xor_sync(mask(), value, distance);
      value = other > value ? other : value;
    }
    if (LANES <= WARP) return value;
    __shared__ T part[WARP];
    __syncthreads();
    if (threadIdx.x % WARP == 0) part[threadIdx.x / WARP] = value;
    __syncthreads();
    value = part[0];
    for (int w = 1; w < LANES / WARP; w++) value = part[w] > value ? part[w] : value;
    return value;
  }

  /* The sum over the lanes before this one, and in *all that over the group; LANES <= 32. */
  static __device__ __forceinline__ karst_index sum_before(karst_index value, karst_index *all)
  {
    karst_index sum = value;
    for (int distance = 1; distance < LANES; distance *= 2) {
      const karst_index other = __shfl_up_sync(mask(), sum, distance, LANES);
      if (lane() >= distance) sum += other;
    }
    *all = __shfl_sync(mask(), sum, LANES - 1, LANES);
    return sum - value;
  }

  /* The lanes before this one for which the condition holds, and in *all those of the group. */
  static __device__ __forceinline__ karst_index count_before(bool holds, karst_index *all)
  {
    const unsigned found = __ballot_sync(mask(), holds) & own();
    const int before = __popc(found & ((1u << threadIdx.x % WARP) - 1)), many = __popc(found);
    *all = many;
    if (LANES <= WARP) return before;
    __shared__ int part[WARP];
    __syncthreads();
    if (threadIdx.x % WARP == 0) part[threadIdx.x / WARP] = many;
    __syncthreads();
    karst_index sum = before;
    *all = 0;
    for (int w = 0; w < LANES / WARP; w++) {
      if (w < (int)threadIdx.x / WARP) sum += part[w];
      *all += part[w];
    }
    return sum;
  }
};

#endif
