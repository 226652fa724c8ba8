/* pivot_repair.h - how a factorization reports rows that fail, and the replacement of a singular pivot block: with a
 * shift R a multiple of the unit matrix, R times the largest absolute entry of the block row of A - L U, or of A if the
 * row is zero. */
#ifndef KARST_GPU_ILU_PIVOT_REPAIR_H
#define KARST_GPU_ILU_PIVOT_REPAIR_H

#include "gpu/ilu/ilu_cuda.h"

#ifdef __CUDACC__
/* Reports a row. The first of all rows is kept; of its faults, the one with the smallest number. */
static __device__ __forceinline__ void karst_ilu_report_row(karst_ilu_statistics_cuda *statistics, karst_index row,
                                                            karst_ilu_fault fault)
{
  atomicMin(&statistics->first, 4 * (unsigned long long)row + fault);
}

/* Reports the row of a singular pivot, with the reason. */
static __device__ __forceinline__ void karst_ilu_report_pivot(karst_ilu_statistics_cuda *statistics, karst_index row,
                                                              karst_reason reason)
{
  karst_ilu_report_row(statistics, row,
                       reason == KARST_SINGULAR_BLOCK ? KARST_FAULT_SINGULAR : KARST_FAULT_PIVOT_NOT_FINITE);
}

/* Returns the diagonal elements of the replacement of a singular pivot's inverse, or 0 if it is not replaced. One
 * thread of the row reports that. largest: the row's largest absolute entry; unused without a shift. */
static __device__ __forceinline__ double karst_ilu_replace_pivot(karst_reason reason, double shift, double largest,
                                                                 karst_index row, bool reports,
                                                                 karst_ilu_statistics_cuda *statistics)
{
  if (largest == 0) largest = statistics->norm;
  const bool replace = reason == KARST_SINGULAR_BLOCK && shift > 0 && largest > 0;
  if (reports && replace) atomicAdd(&statistics->shifted, 1ull);
  if (reports && !replace) karst_ilu_report_pivot(statistics, row, reason);
  return replace ? 1 / (shift * largest) : 0;
}
#endif

#endif
