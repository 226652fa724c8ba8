/* warp_scan.h - sums over the lanes of a warp before each lane, by CUB. For integers, as CUB chooses the order of
 * the additions. */
#ifndef KARST_GPU_WARP_SCAN_H
#define KARST_GPU_WARP_SCAN_H

#include <cub/warp/warp_scan.cuh>

/* Returns the sum over the lanes before this one, and in *sum that over all. The whole warp calls it. */
template <typename number> static __device__ __forceinline__ number karst_cuda_sum_before(number mine, number *sum)
{
  using scan = cub::WarpScan<number>;
  __shared__ typename scan::TempStorage empty; /* for whole warps exchange by shuffles */
  number before;
  scan(empty).ExclusiveSum(mine, before, *sum);
  return before;
}

#endif
