/* invert.h - blocks held by the lanes of a warp, a scalar row by each, and their inverses; and rows of inverses for
 * lanes that hold the whole block, where no rows have to be exchanged. */
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

/* The same; of a block of one scalar row without asking other lanes. */
template <int B> static __device__ __forceinline__ bool karst_any_of_block(const karst_ilu_place &at, bool mine)
{
  return B == 1 ? mine : karst_any_of_group(at, mine);
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
  const bool not_finite = karst_any_of_block<B>(at, !finite);
  singular = karst_any_of_block<B>(at, row_scale == 0);
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
  const bool overflow = karst_any_of_block<B>(at, !finite);
  if (not_finite) return KARST_NOT_FINITE;
  if (singular) return KARST_SINGULAR_BLOCK;
  if (overflow) return karst_block_overflow(B);
  return KARST_SOUND;
}

/* 1 / x for x well inside the range of normal numbers. Division as the compiler has it has a branch for the others. */
static __device__ __forceinline__ double karst_reciprocal(double x)
{
  double y;
  asm("rcp.approx.ftz.f64 %0, %1;" : "=d"(y) : "d"(x));
  double e = fma(-x, y, 1.0);
  e = fma(e, e, e);
  y = fma(e, y, y);
  return fma(fma(-x, y, 1.0), y, y);
}

/* Solves y a = (row r of the unit matrix). Returns whether karst_block_invert would surely take the diagonal elements
 * as pivots and find them sound; y is right only then. Sizes of rows are compared by their upper halves, so it takes a
 * margin of 2^-18; rows of extreme size are left to karst_ilu_invert for the sake of the products. */
template <int B> static __device__ __forceinline__ bool karst_ilu_solve_row(double (&a)[B][B], int r, double (&y)[B])
{
  double size[B], margin[B];
  bool sound = true;
#pragma unroll
  for (int i = 0; i < B; i++) {
    int high = 0;
#pragma unroll
    for (int c = 0; c < B; c++) high = max(high, __double2hiint(a[i][c]) & 0x7fffffff);
    sound = sound && high > 0x2b300000 && high < 0x54b00000; /* 2^-333 and 2^332 */
    size[i] = __hiloint2double(high, 0);
    margin[i] = size[i] * (1 - 0x1p-18);
    y[i] = i == r ? 1 : 0;
  }
#pragma unroll
  for (int c = 0; c < B; c++) {
    const double pivot = fabs(a[c][c]);
    sound = sound && pivot > 2 * KARST_PIVOT_ROUNDINGS * B * DBL_EPSILON * size[c];
#pragma unroll
    for (int i = c + 1; i < B; i++) sound = sound && pivot * margin[i] >= fabs(a[i][c]) * size[c];
    const double inverse = karst_reciprocal(a[c][c]);
    y[c] *= inverse;
#pragma unroll
    for (int i = c + 1; i < B; i++) a[i][c] *= inverse;
#pragma unroll
    for (int d = 0; d < B; d++) {
      if (d == c) continue;
      y[d] -= y[c] * a[c][d];
#pragma unroll
      for (int i = c + 1; i < B; i++) a[i][d] -= a[i][c] * a[c][d];
    }
  }
  return sound;
}

#endif
