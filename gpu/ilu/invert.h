/* invert.h - blocks held by the lanes of a warp, a scalar row by each, and their inverses. */
#ifndef KARST_GPU_ILU_INVERT_H
#define KARST_GPU_ILU_INVERT_H

#include "ilu.h"
#include "dense.h"

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

/* Inverts the blocks that the warp holds, a scalar row in each lane, as karst_block_invert of lib/dense.h does; the
 * whole warp takes all steps. The reason is that of the lane's block.
 *
 * The template of gpu/invert.h with a holder for lanes makes the same steps, but nvcc 13 orders them so that the
 * factorization of a whole row (factor_row.cu) takes 3 to 7 % longer for b = 4 to 6 on an H200. */
template <int B>
static __device__ __forceinline__ karst_reason karst_ilu_invert(const karst_ilu_place &at, double (&a)[B])
{
  const int base = at.q * B;
  double row_scale = 0, column_size[B];
  bool singular = false, finite = true;
  int pivot[B];
#pragma unroll
  for (int c = 0; c < B; c++) {
    finite = finite && fabs(a[c]) <= DBL_MAX;
    row_scale = fmax(row_scale, fabs(a[c]));
  }
  const bool not_finite = karst_any_of_group(at, !finite);
  singular = karst_any_of_group(at, row_scale == 0);
  row_scale = B > 1 ? 1 / row_scale : 1; /* of b = 1 any number but 0 will do */
#pragma unroll
  for (int c = 0; c < B; c++) {
    column_size[c] = 0;
    if (B > 1)
#pragma unroll
      for (int j = 0; j < B; j++)
        column_size[c] = fmax(column_size[c], __shfl_sync(~0u, fabs(a[c]) * row_scale, base + j));
  }
#pragma unroll
  for (int c = 0; c < B; c++) {
    double best_size = -1, pivot_row[B];
    int best = c;
#pragma unroll
    for (int j = c; j < B; j++) {
      double size = B > 1 ? __shfl_sync(~0u, fabs(a[c]) * row_scale, base + j) : fabs(a[c]) * row_scale;
      if (size > best_size) {
        best = j;
        best_size = size;
      }
    }
    if (!karst_block_pivot_stands(B, best_size, column_size[c])) singular = true;
    pivot[c] = best;
    const int from = base + (at.r == c ? best : at.r == best ? c : at.r);
#pragma unroll
    for (int j = 0; j < B && c < B - 1; j++) a[j] = __shfl_sync(~0u, a[j], from);
    if (c < B - 1) row_scale = __shfl_sync(~0u, row_scale, from);
#pragma unroll
    for (int j = 0; j < B; j++) pivot_row[j] = B > 1 ? __shfl_sync(~0u, a[j], base + c) : a[j];
    const double inverse = 1 / pivot_row[c], factor = a[c];
    pivot_row[c] = 1;
    if (at.r != c) a[c] = 0;
#pragma unroll
    for (int j = 0; j < B; j++) {
      pivot_row[j] *= inverse;
      a[j] = at.r == c ? pivot_row[j] : a[j] - factor * pivot_row[j];
    }
  }
#pragma unroll
  for (int c = B - 1; c >= 0; c--)
#pragma unroll
    for (int j = c + 1; j < B; j++) {
      const double at_c = a[c], at_j = a[j];
      a[c] = pivot[c] == j ? at_j : at_c;
      a[j] = pivot[c] == j ? at_c : at_j;
    }
  finite = true;
#pragma unroll
  for (int c = 0; c < B; c++) finite = finite && fabs(a[c]) <= DBL_MAX;
  const bool overflow = karst_any_of_group(at, !finite);
  if (not_finite) return KARST_NOT_FINITE;
  if (singular) return KARST_SINGULAR_BLOCK;
  if (overflow) return karst_block_overflow(B);
  return KARST_SOUND;
}

#endif
