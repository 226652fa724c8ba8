/* warp_inverse.h - inverts blocks that the lanes of a warp hold, a scalar row each; and solves for a row of the inverse
 * in a lane that holds the whole block, if no rows have to be exchanged. */
#ifndef KARST_GPU_ILU_WARP_INVERSE_H
#define KARST_GPU_ILU_WARP_INVERSE_H

#include "gpu/ilu/ilu_cuda.h"
#include "lib/backend/dense.h"

#include "gpu/size.h"

struct karst_ilu_place {
  int q, r;
  bool active;
  unsigned group; /* the lanes of its block row */
};

static __device__ __forceinline__ bool karst_any_of_group(const karst_ilu_place &at, bool mine)
{
  return (__ballot_sync(~0u, mine) & at.group) != 0;
}

/* The same for a block of one scalar row, without an exchange with other lanes. */
template <int B> static __device__ __forceinline__ bool karst_any_of_block(const karst_ilu_place &at, bool mine)
{
  return B == 1 ? mine : karst_any_of_group(at, mine);
}

/* 1 / x for x well inside the range of normal numbers. The compiler's division has a branch for the others. */
static __device__ __forceinline__ double karst_reciprocal(double x)
{
  double y;
  asm("rcp.approx.ftz.f64 %0, %1;" : "=d"(y) : "d"(x));
  double e = fma(-x, y, 1.0);
  e = fma(e, e, e);
  y = fma(e, y, y);
  return fma(fma(-x, y, 1.0), y, y);
}

/* The scales by which pivots are chosen and judged, where a lane has a row of the block's sizes. */
template <int B> struct karst_ilu_scales {
  double row_scale; /* 1 over the largest of the lane's row */
  int column[B];    /* the high word of the largest size of each column, with the rows scaled */
};

/* Makes column[c] the largest word[c] of the lanes of a block. */
template <int B>
static __device__ __forceinline__ void karst_ilu_largest(const karst_ilu_place &at, const int (&word)[B],
                                                         int (&column)[B])
{
#pragma unroll
  for (int c = 0; c < B; c++) {
    column[c] = B == 1 ? word[c] : 0;
#pragma unroll
    for (int j = 0; j < B && B > 1; j++) column[c] = max(column[c], __shfl_sync(~0u, word[c], at.q * B + j));
  }
}

/* Measures the blocks that the warp holds as karst_block_equilibrate does. size: of the lane's row (gpu/size.h). */
template <int B>
static __device__ __forceinline__ karst_ilu_scales<B> karst_ilu_measure(const karst_ilu_place &at,
                                                                        const float (&size)[B])
{
  karst_ilu_scales<B> found;
  int word[B], scaled[B], row = 0;
#pragma unroll
  for (int c = 0; c < B; c++) {
    word[c] = scaled[c] = karst_size_word(size[c]);
    row = max(row, word[c]);
  }
  found.row_scale = B > 1 ? 1 / fmax(karst_size_number(row), DBL_MIN) : 1;
#pragma unroll
  for (int c = 0; c < B && B > 1; c++) scaled[c] = __double2hiint(karst_size_number(word[c]) * found.row_scale);
  karst_ilu_largest<B>(at, scaled, found.column);
  return found;
}

/* Inverts the blocks that the warp holds by the first attempt of karst_block_inverse. A pivot is accepted if it exceeds
 * rounding times the size of its column. */
template <int B>
static __device__ __forceinline__ karst_reason karst_ilu_eliminate(const karst_ilu_place &at, double rounding,
                                                                   const karst_ilu_scales<B> &scales, double (&a)[B])
{
  const int base = at.q * B;
  double row_scale = scales.row_scale;
  bool singular = false, finite = true;
  int pivot[B];
#pragma unroll
  for (int c = 0; c < B; c++) finite = finite && fabs(a[c]) <= DBL_MAX;
  const bool not_finite = karst_any_of_block<B>(at, !finite);
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
    if (!(best_size > rounding * karst_size_number(scales.column[c]))) singular = true;
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

/* A lane's row of a block, with its sizes, and of an inverse. */
template <int B> struct karst_ilu_sized_row {
  double at[B];
  float size[B];
};
template <int B> struct karst_ilu_inverse_row {
  double at[B];
  karst_reason reason;
};

/* karst_block_inverse for any block size, in one copy. */
static __device__ __noinline__ karst_reason karst_ilu_invert_any(int b, const double *block, const double *size,
                                                                 double *inverse, double *work, int *pivot)
{
  return karst_block_inverse(b, block, size, inverse, work, pivot);
}

/* Computes the lane's row of the inverse by karst_block_inverse, with the whole block in each lane. It is rare; it is
 * not inlined, so that it takes no registers from the rest. */
template <int B>
static __device__ __noinline__ karst_ilu_inverse_row<B> karst_ilu_invert_whole(karst_ilu_place at,
                                                                               karst_ilu_sized_row<B> row)
{
  double block[B * B], size[B * B], inverse[B * B], work[2 * B];
  int pivot[B];
  karst_ilu_inverse_row<B> made;
  for (int v = 0; v < B * B; v++) {
    block[v] = __shfl_sync(~0u, row.at[v / B], at.q * B + v % B);
    size[v] = karst_size_number(__shfl_sync(~0u, karst_size_word(row.size[v / B]), at.q * B + v % B));
  }
  made.reason = karst_ilu_invert_any(B, block, size, inverse, work, pivot);
  for (int c = 0; c < B; c++) made.at[c] = inverse[c * B + at.r];
  return made;
}

/* Inverts the blocks again that the first attempt finds singular, if any. row: of the block; a: row of its inverse.
 * Returns the reason of the lane's block. */
template <int B>
static __device__ __forceinline__ karst_reason karst_ilu_invert_again(const karst_ilu_place &at, karst_reason reason,
                                                                      const karst_ilu_sized_row<B> &row, double (&a)[B])
{
  const bool again = at.active && reason == KARST_SINGULAR_BLOCK;
  if (B == 1 || !__any_sync(~0u, again)) return reason;
  const karst_ilu_inverse_row<B> made = karst_ilu_invert_whole<B>(at, row);
#pragma unroll
  for (int c = 0; c < B; c++) a[c] = again ? made.at[c] : a[c];
  return again ? made.reason : reason;
}

/* Inverts the blocks that the warp holds, a scalar row in each lane, as karst_block_inverse of lib/backend/dense.h
 * does; the whole warp takes all steps. size: of the lane's row (gpu/size.h), no less than its entries. The reason is
 * that of the lane's block.
 *
 * The template of gpu/block_inverse.h with a holder for lanes makes the same steps, but nvcc 13 orders them so that the
 * factorization of a whole row (factor_row.cu) takes 3 to 7 % longer for b = 4 to 6 on an H200. */
template <int B>
static __device__ __forceinline__ karst_reason karst_ilu_invert(const karst_ilu_place &at, const float (&size)[B],
                                                                double (&a)[B])
{
  const karst_ilu_scales<B> scales = karst_ilu_measure<B>(at, size);
  karst_ilu_sized_row<B> row;
#pragma unroll
  for (int c = 0; c < B; c++) {
    row.at[c] = a[c];
    row.size[c] = size[c];
  }
  const karst_reason reason = karst_ilu_eliminate<B>(at, karst_block_rounding(B), scales, a);
  return karst_ilu_invert_again<B>(at, reason, row, a);
}

/* The factor by which a pivot must exceed another to be taken without a check of how its block was summed: partial sums
 * up to KARST_SIZE_LOST times their row and their column do not matter then. */
#define KARST_ILU_MARGIN 0x1p21

/* The size of a block that a lane holds whole: the exponents of the largest entries of its columns, and for each row
 * the high word of its largest entry once the columns are scaled by them. */
template <int B> struct karst_ilu_extent {
  int column[B], row[B];
};

/* Whether the partial sums of a block's row were so large that its pivots need a careful check. size: of the row
 * (gpu/size.h); row: the high word of a bound on its entries, with the columns scaled by column. */
template <int B>
static __device__ __forceinline__ bool karst_ilu_is_lost(const float (&size)[B], int row, const int (&column)[B])
{
  bool lost = false;
#pragma unroll
  for (int c = 0; c < B; c++) lost = lost || karst_size_word(size[c]) > row + column[c] + KARST_SIZE_LOST;
  return lost;
}

/* Solves y a = (row r of the unit matrix). Returns whether the diagonal elements certainly are good pivots; y is right
 * only then. With the columns and then the rows scaled to 1, no pivot may be smaller than an element below it. Each
 * must be accepted however the rows were summed, as long as karst_ilu_is_lost finds no row lost: then no partial sum
 * exceeded 2^10 times the row and the column, so that a pivot has to exceed 2^20 times as much as another. Sizes are
 * compared by their high words, which takes a margin of 2^-18. Columns and rows of extreme size are left to
 * karst_ilu_invert, so that products of sizes neither overflow nor underflow. */
template <int B>
static __device__ __forceinline__ bool karst_ilu_solve_row(double (&a)[B][B], int r, karst_ilu_extent<B> &extent,
                                                           double (&y)[B])
{
  enum { LEAST = 0x2b300000, MOST = 0x54b00000 }; /* high words of 2^-333 and 2^332 */
  double size[B], margin[B], least[B];
  bool sound = true;
#pragma unroll
  for (int c = 0; c < B; c++) {
    int high = 0;
#pragma unroll
    for (int i = 0; i < B; i++) high = max(high, __double2hiint(a[i][c]) & 0x7fffffff);
    sound = sound && high > LEAST && high < MOST;
    extent.column[c] = karst_size_exponent(high);
    least[c] = karst_size_number(high) * (KARST_ILU_MARGIN * KARST_PIVOT_ROUNDINGS * B * DBL_EPSILON);
  }
#pragma unroll
  for (int i = 0; i < B; i++) {
    int high = 0;
#pragma unroll
    for (int c = 0; c < B; c++) high = max(high, (__double2hiint(a[i][c]) & 0x7fffffff) - extent.column[c]);
    sound = sound && high > LEAST;
    extent.row[i] = high;
    size[i] = karst_size_number(high);
    margin[i] = size[i] * (1 - 0x1p-18);
    y[i] = i == r ? 1 : 0;
  }
#pragma unroll
  for (int c = 0; c < B; c++) {
    const double pivot = fabs(a[c][c]);
    sound = sound && pivot > least[c] * size[c];
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
