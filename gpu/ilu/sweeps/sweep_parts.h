/* sweep_parts.h - for sweeps in which PARTS lanes each take every PARTS-th neighbour of a scalar row: sweep.h and
 * gpu/dilu/sweep.cu; and for single rows of gpu/ilu/tiles/tile_sweep.cu. */
#ifndef KARST_GPU_ILU_SWEEPS_SWEEP_PARTS_H
#define KARST_GPU_ILU_SWEEPS_SWEEP_PARTS_H

#include "gpu/ilu/ilu_cuda.h"

namespace
{

/* Neighbours that a lane waits for at once. */
template <int B> constexpr int at_once = KARST_ILU_NEIGHBOURS_AT_ONCE(B);

/* Returns the sum over c of value[c] times component c of x, which lane base + c holds. */
template <int B, typename T> __device__ __forceinline__ double product(const T (&value)[B], double x, int base)
{
  double sum = 0;
#pragma unroll
  for (int c = 0; c < B; c++) sum += (double)value[c] * (B > 1 ? __shfl_sync(~0u, x, base + c) : x);
  return sum;
}

/* Adds up the sums of the R groups of B lanes; the result is in the first group. */
template <int B> __device__ __forceinline__ double sum_of_groups(double sum)
{
  constexpr int R = 32 / B;
  const int group = (int)threadIdx.x % 32 / B;
#pragma unroll
  for (int distance = 16; distance > 0; distance /= 2) {
    if (distance >= R) continue;
    const double other = __shfl_down_sync(~0u, sum, (unsigned)(distance * B));
    if (group + distance < R) sum += other;
  }
  return sum;
}

/* Returns the instance for that many parts, a power of two; a block row takes no more lanes than a warp has. kernel_of
 * is called with the number as a constant. */
template <int B, int PARTS = KARST_ILU_PARTS, typename instances>
const void *sweep_by(int parts, const instances &kernel_of)
{
  if constexpr (B * PARTS <= 32)
    if (parts == PARTS) return kernel_of(std::integral_constant<int, PARTS>());
  if constexpr (PARTS > 2) return sweep_by<B, PARTS / 2>(parts, kernel_of);
  return kernel_of(std::integral_constant<int, 1>());
}

/* Chooses how many lanes share the neighbours of a row in one of the two sweeps, and how many blocks of threads take
 * part. kernel_for(b, parts, upper): the kernel; single: whether it reads values in float. */
template <typename instances>
karst_status analyse_sweep(karst_context *context, const instances &kernel_for, int b, bool upper, bool single,
                           int64_t levels, karst_triangle *t, int *grid)
{
  const int64_t neighbours = t->blocks - (upper ? t->slots : 0); /* of all rows */
  t->parts = karst_ilu_choose_parts(b, t->slots, neighbours);
  const int rows = b * t->parts < 32 ? 32 / (b * t->parts) : 1; /* of a warp */
  const int64_t pieces = karst_ilu_has_instance(b, single) ? (t->group + rows - 1) / rows : (b + 31) / 32;
  return karst_ilu_resident_cuda(context, kernel_for(b, t->parts, upper), 0, KARST_ILU_HELD_SLICES, pieces * t->tasks,
                                 levels, grid);
}

} // namespace

#endif
