/* fallback_inverse.h - replaces the inverse of a singular D_i, in lanes that each have a scalar row. */
#ifndef KARST_GPU_DILU_FALLBACK_INVERSE_H
#define KARST_GPU_DILU_FALLBACK_INVERSE_H

#include "gpu/dilu/dilu_cuda.h"

#include "gpu/ilu/pivot_repair.h"
#include "gpu/ilu/warp_inverse.h"

/* Reports the row of a block outside the diagonal that has a NaN or infinite entry; then nonfinite is not 0. */
static __device__ __forceinline__ void karst_dilu_check(const karst_dilu_cuda &plan, karst_index row, double nonfinite)
{
  if (nonfinite != 0) karst_ilu_report_row(plan.statistics, row, KARST_FAULT_ROW_NOT_FINITE);
}

/* Returns the diagonal of the replacement of a singular block's inverse, and reports the block. The size of a row is
 * the largest entry of D_i and of the row's blocks of E and F. own: the largest entry of the lane's row of D_i. */
template <int B>
static __device__ __noinline__ double
karst_dilu_replace(karst_reason reason, const karst_index *start, const double *value, double shift, karst_ilu_place at,
                   karst_index row, karst_index diagonal, double own, karst_ilu_statistics_cuda *statistics)
{
  double largest = 0, all = 0;
  if (at.active && shift > 0) {
    largest = own;
    for (karst_index block = start[row]; block < start[row + 1]; block++)
      for (int c = 0; c < B; c++)
        if (block != diagonal) largest = fmax(largest, fabs(value[(int64_t)block * (B * B) + c * B + at.r]));
  }
  for (int j = 0; j < B; j++) all = fmax(all, __shfl_sync(~0u, largest, at.q * B + j));
  if (!at.active || reason == KARST_SOUND) return 0;
  return karst_ilu_replace_pivot(reason, shift, all, row, at.r == 0, statistics);
}

#endif
