/* invert.h - blocks held by the lanes of a warp, a scalar row by each, and their inverses. */
#ifndef KARST_GPU_ILU_INVERT_H
#define KARST_GPU_ILU_INVERT_H

#include "ilu.h"

#include "gpu/invert.h"

/* Where a lane works. */
struct karst_ilu_place {
  int q, r;
  bool active;
  unsigned group; /* the lanes of its block row */
};

static __device__ __forceinline__ bool karst_any_of_group(const karst_ilu_place &at, bool mine)
{
  return (__ballot_sync(~0u, mine) & at.group) != 0;
}

/* The block of a group of lanes as a holder for karst_cuda_invert (gpu/invert.h). row is the scalar row that this lane
 * holds. Rows are exchanged between lanes as in lib/dense.h. The whole warp takes all steps. */
template <int B> struct karst_block_in_lanes {
  static constexpr bool ALONE = false;
  static constexpr int SIZE = B;
  const karst_ilu_place at; /* a copy: with a reference, nvcc 13 needs up to 6 registers more */
  double (&row)[B];
  double row_scale, column_size[B];
  int pivot[B];

  __device__ __forceinline__ karst_block_in_lanes(const karst_ilu_place &place, double (&mine)[B])
      : at(place), row(mine)
  {
  }

  static constexpr __device__ int size() { return B; }

  __device__ __forceinline__ bool finite()
  {
    bool all = true;
    row_scale = 0;
#pragma unroll
    for (int c = 0; c < B; c++) {
      all = all && fabs(row[c]) <= DBL_MAX;
      row_scale = fmax(row_scale, fabs(row[c]));
    }
    return !karst_any_of_group(at, !all);
  }

  __device__ __forceinline__ bool measure()
  {
    const int base = at.q * B;
    const bool regular = !karst_any_of_group(at, row_scale == 0);
    row_scale = B > 1 ? 1 / row_scale : 1; /* of b = 1 any number but 0 will do */
#pragma unroll
    for (int c = 0; c < B; c++) {
      column_size[c] = 0;
      if (B > 1)
#pragma unroll
        for (int j = 0; j < B; j++)
          column_size[c] = fmax(column_size[c], __shfl_sync(~0u, fabs(row[c]) * row_scale, base + j));
    }
    return regular;
  }

  __device__ __forceinline__ bool choose(int c)
  {
    double best_size = -1;
    int best = c;
#pragma unroll
    for (int j = c; j < B; j++) {
      const double candidate =
          B > 1 ? __shfl_sync(~0u, fabs(row[c]) * row_scale, at.q * B + j) : fabs(row[c]) * row_scale;
      if (candidate > best_size) {
        best = j;
        best_size = candidate;
      }
    }
    pivot[c] = best;
    return karst_block_pivot_stands(B, best_size, column_size[c]);
  }

  __device__ __forceinline__ void eliminate(int c)
  {
    const int base = at.q * B, best = pivot[c], from = base + (at.r == c ? best : at.r == best ? c : at.r);
    double pivot_row[B];
#pragma unroll
    for (int j = 0; j < B && c < B - 1; j++) row[j] = __shfl_sync(~0u, row[j], from);
    if (c < B - 1) row_scale = __shfl_sync(~0u, row_scale, from);
#pragma unroll
    for (int j = 0; j < B; j++) pivot_row[j] = B > 1 ? __shfl_sync(~0u, row[j], base + c) : row[j];
    const double inverse = 1 / pivot_row[c], factor = row[c];
    pivot_row[c] = 1;
    if (at.r != c) row[c] = 0;
#pragma unroll
    for (int j = 0; j < B; j++) {
      pivot_row[j] *= inverse;
      row[j] = at.r == c ? pivot_row[j] : row[j] - factor * pivot_row[j];
    }
  }

  __device__ __forceinline__ void reorder()
  {
#pragma unroll
    for (int c = B - 1; c >= 0; c--)
#pragma unroll
      for (int j = c + 1; j < B; j++)
        if (pivot[c] == j) {
          const double entry = row[c];
          row[c] = row[j];
          row[j] = entry;
        }
  }
};

/* Inverts the blocks that the warp holds. The reason is that of the lane's block. */
template <int B>
static __device__ __forceinline__ karst_reason karst_ilu_invert(const karst_ilu_place &at, double (&row)[B])
{
  karst_block_in_lanes<B> block(at, row);
  return karst_cuda_invert(block);
}

#endif
