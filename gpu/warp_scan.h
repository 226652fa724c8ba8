/* warp_scan.h - sums over the lanes of a warp before each lane, by CUB. For integers, as CUB chooses the order of
 * the additions. */
#ifndef KARST_GPU_WARP_SCAN_H
#define KARST_GPU_WARP_SCAN_H

#include <cub/warp/warp_scan.cuh>

/* Returns the sum of what the lanes before this one have, and in *sum that of all. The whole warp calls it. */
template <typename number> static __device__ __forceinline__ number karst_cuda_sum_before(number mine, number *sum)
{
  using scan = cub::WarpScan<number>;
  __shared__ typename scan::TempStorage none; /* empty, for whole warps exchange by shuffles */
  number before;
  scan(none).ExclusiveSum(mine, before, *sum);
  return before;
}

#endif
