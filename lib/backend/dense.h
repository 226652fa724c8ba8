/* dense.h - operations on one dense b-by-b block, stored column by column.
 *
 * Each is an inline function of b. The compiler unrolls a call with a constant b; a call with a variable b serves every
 * other size. KARST_BLOCK_SIZES lists the constants worth an instance. */
#ifndef KARST_LIB_BACKEND_DENSE_H
#define KARST_LIB_BACKEND_DENSE_H

#include "lib/base/inline.h"
#include "karst.h"

#include <float.h>
#include <math.h>
#include <stdbool.h>

/* nvcc compiles as C++, which lacks restrict. */
#ifdef __cplusplus
#define restrict __restrict__
#endif

/* Expands M(b) for each block size with its own instance. All other sizes use the generic instance. */
#define KARST_BLOCK_SIZES(M) M(1) M(2) M(3) M(4) M(5) M(6) M(7) M(8)
#define KARST_BLOCK_SIZE_LARGEST_INSTANCE 8

/* gcc unrolls loops of 8 only on request, and with -O2, which packages are built with, any inner loop; without
 * unrolling, the sums of a block would be in memory. */
#ifdef __CUDACC__
#define KARST_UNROLL
#define KARST_ROLLED _Pragma("unroll 1")
#else
#define KARST_UNROLL _Pragma("GCC unroll 8")
#define KARST_ROLLED _Pragma("GCC unroll 1")
#endif

/* Rounds a value of a factor to float. What float holds with fewer digits becomes 0, because processors take long for
 * it. Written so that a loop has no branch. */
KARST_INLINE float karst_round(double x)
{
  union {
    float number;
    int32_t bits;
  } rounded;
  rounded.number = (float)x;
  rounded.bits &= -(int32_t)((rounded.bits & 0x7f800000) != 0);
  return rounded.number;
}

/* Whether a number is finite, and too large for float. */
KARST_INLINE bool karst_overflows(double x) { return fabs(x) > (double)FLT_MAX && fabs(x) <= DBL_MAX; }

/* y -= a x, and y += a x, for a block of type T */
#define KARST_BLOCK_PRODUCT(NAME, T, PLUS)                                                                             \
  KARST_INLINE void NAME(int b, const T *restrict a, const double *restrict x, double *restrict y)                     \
  {                                                                                                                    \
    KARST_UNROLL                                                                                                       \
    for (int c = 0; c < b; c++) {                                                                                      \
      KARST_UNROLL                                                                                                     \
      for (int r = 0; r < b; r++) y[r] PLUS(double) a[c * b + r] * x[c];                                               \
    }                                                                                                                  \
  }
KARST_BLOCK_PRODUCT(karst_block_subtract_product, double, -=)
KARST_BLOCK_PRODUCT(karst_block_add_product, double, +=)
KARST_BLOCK_PRODUCT(karst_block_subtract_product_float, float, -=)
KARST_BLOCK_PRODUCT(karst_block_add_product_float, float, +=)
#undef KARST_BLOCK_PRODUCT

/* c = x y for blocks; c overlaps neither. */
KARST_INLINE void karst_block_multiply(int b, const double *restrict x, const double *restrict y, double *restrict c)
{
  for (int j = 0; j < b; j++) {
    for (int r = 0; r < b; r++) c[j * b + r] = 0;
    for (int k = 0; k < b; k++)
      for (int r = 0; r < b; r++) c[j * b + r] += x[k * b + r] * y[j * b + k];
  }
}

/* c -= x y for blocks */
KARST_INLINE void karst_block_subtract_multiply(int b, const double *restrict x, const double *restrict y,
                                                double *restrict c)
{
  for (int j = 0; j < b; j++)
    for (int k = 0; k < b; k++)
      for (int r = 0; r < b; r++) c[j * b + r] -= x[k * b + r] * y[j * b + k];
}

/* c -= x y^T for blocks */
KARST_INLINE void karst_block_subtract_multiply_transposed(int b, const double *restrict x, const double *restrict y,
                                                           double *restrict c)
{
  for (int k = 0; k < b; k++)
    for (int j = 0; j < b; j++)
      for (int r = 0; r < b; r++) c[j * b + r] -= x[k * b + r] * y[k * b + j];
}

/* c = x y^T for blocks; c overlaps neither. */
KARST_INLINE void karst_block_multiply_transposed(int b, const double *restrict x, const double *restrict y,
                                                  double *restrict c)
{
  for (int i = 0; i < b * b; i++) c[i] = 0;
  for (int k = 0; k < b; k++)
    for (int j = 0; j < b; j++)
      for (int r = 0; r < b; r++) c[j * b + r] += x[k * b + r] * y[k * b + j];
}

/* Returns the largest absolute entry, ignoring NaNs. */
KARST_INLINE double karst_block_norm(int b, const double *a)
{
  double largest = 0;
  for (int i = 0; i < b * b; i++) {
    double size = fabs(a[i]);
    if (size > largest) largest = size;
  }
  return largest;
}

/* size += |a|, entry by entry. A factorization that sums a pivot block carries its size beside it: |a| of the block
 * that it starts from, and |a| once more after each block product that it subtracts, or adds. */
KARST_INLINE void karst_block_add_size(int b, const double *restrict a, double *restrict size)
{
  for (int i = 0; i < b * b; i++) size[i] += fabs(a[i]);
}

/* When a block is singular.
 *
 * A pivot block is compared with the rounding errors in it, not with its own size: 7 - 35 / 5 is 0, and -4e-15 in
 * doubles. So the block comes with its size, an array like it. If nothing was summed, size is the block itself. If the
 * block is the sum of a block and n products, size is the sum of the absolute values of all n + 1 partial sums,
 * including the block. Half an epsilon times this, times a small constant, bounds the rounding errors of the sum for
 * any number of products (Higham: Accuracy and Stability of Numerical Algorithms, section 3.3, running error analysis).
 * It is not finite if an entry is not. It does not include errors in the products themselves, from an earlier pivot
 * that had lost digits.
 *
 * A block is singular if a pivot of its elimination is lost in these errors: with its rows scaled as below, no
 * candidate in column c exceeds 16 b epsilon times the largest scaled size in the column. The constant below is the 16.
 * For b = 1 this is |d| <= 16 epsilon size, so that only 0 is singular if nothing was summed. The test does not depend
 * on the units of the equations or of the unknowns.
 *
 * Rows are scaled in two ways, and a block is sound if either keeps all pivots: first by their largest entries, and
 * then balanced (karst_block_balance). If the columns differ much in size, the largest entry of a row is in the same
 * column in nearly all rows and does not show the size of the others; an entry near 0 in that column spoils the row.
 * Balancing treats rows and columns equally, but each nonzero entry counts equally too. Blocks of simulators have
 * pressures and saturations 2^20 to 2^56 apart, and beside 1e-3 an entry of 1e-35, which is a zero derivative with
 * rounding errors.
 *
 * All inversions use these numbers and the same algorithm: karst_block_inverse below, for GPU threads with a block each
 * too. gpu/block_inverse.h has it as a template for threads that share a block, and gpu/ilu/warp_inverse.h for the
 * lanes of a warp. */
enum { KARST_PIVOT_ROUNDINGS = 16 };

KARST_INLINE double karst_block_rounding(int b) { return KARST_PIVOT_ROUNDINGS * b * DBL_EPSILON; }

/* Whether a pivot is large enough to divide by. candidate: its absolute value times its row's scale. column_size: that
 * of its column. */
KARST_INLINE bool karst_block_pivot_stands(int b, double candidate, double column_size)
{
  return candidate > karst_block_rounding(b) * column_size;
}

enum { KARST_BLOCK_ATTEMPTS = 2 };

/* mean[i] = the mean of the binary exponents of the nonzero entries in line i of size, minus those in other. The
 * entries of a line are step apart, the lines are next apart. */
KARST_INLINE void karst_block_mean_exponents(int b, const double *size, int next, int step, const double *other,
                                             double *mean)
{
  for (int i = 0; i < b; i++) {
    double sum = 0;
    int count = 0;
    for (int k = 0; k < b; k++) {
      const double entry = fabs(size[i * next + k * step]);
      if (entry == 0) continue;
      sum += ilogb(entry) - other[k];
      count++;
    }
    mean[i] = count > 0 ? sum / count : 0;
  }
}

/* The second attempt multiplies the threshold by this margin. A block that only this attempt accepts has clear pivots.
 * A singular block with a small pivot can leave its last pivot above the plain threshold, and two attempts would accept
 * it more often than one. */
#define KARST_BLOCK_MARGIN 0x1p10

/* Scales the rows of a block whose columns may differ much in size: rows by their largest entry after the columns are
 * scaled; columns by the geometric means of their entries, which do not depend on the units of the rows: columns, rows,
 * and columns again, because entries of 0 are left out of a mean. Scales are powers of 2. On entry row_scale has the
 * reciprocals of the largest entries. column_size includes the margin. */
KARST_RARE void karst_block_balance(int b, const double *size, double *row_scale, double *column_size)
{
  enum { LARGEST = 1022 };
  for (int r = 0; r < b; r++) row_scale[r] = -ilogb(row_scale[r]);
  karst_block_mean_exponents(b, size, b, 1, row_scale, column_size);
  karst_block_mean_exponents(b, size, 1, b, column_size, row_scale);
  karst_block_mean_exponents(b, size, b, 1, row_scale, column_size);
  for (int r = 0; r < b; r++) {
    double largest = -LARGEST;
    for (int c = 0; c < b; c++) {
      const double entry = fabs(size[c * b + r]);
      if (entry != 0 && ilogb(entry) - column_size[c] > largest) largest = ilogb(entry) - column_size[c];
    }
    row_scale[r] = ldexp(1.0, -(int)(largest < LARGEST ? largest : LARGEST));
  }
  for (int c = 0; c < b; c++) {
    column_size[c] = 0;
    for (int r = 0; r < b; r++) {
      const double entry = fabs(size[c * b + r]) * row_scale[r];
      if (entry > column_size[c]) column_size[c] = entry;
    }
    column_size[c] *= KARST_BLOCK_MARGIN;
  }
}

/* Computes row_scale[r] = 1 / the largest entry of row r of size, and column_size[c] = the largest entry of column c of
 * the scaled block. A row of zeros is singular. */
KARST_INLINE karst_reason karst_block_equilibrate(int b, const double *size, double *row_scale, double *column_size)
{
  for (int r = 0; r < b; r++) row_scale[r] = 0;
  for (int c = 0; c < b; c++)
    for (int r = 0; r < b; r++) {
      const double entry = fabs(size[c * b + r]);
      if (!(entry <= DBL_MAX)) return KARST_NOT_FINITE;
      if (entry > row_scale[r]) row_scale[r] = entry;
    }
  if (b == 1) {
    column_size[0] = row_scale[0];
    row_scale[0] = 1;
    return KARST_SOUND;
  }
  for (int r = 0; r < b; r++) {
    if (row_scale[r] == 0) return KARST_SINGULAR_BLOCK;
    row_scale[r] = 1 / (row_scale[r] > DBL_MIN ? row_scale[r] : DBL_MIN); /* never infinite */
  }
  for (int c = 0; c < b; c++) {
    column_size[c] = 0;
    for (int r = 0; r < b; r++) {
      const double entry = fabs(size[c * b + r]) * row_scale[r];
      if (entry > column_size[c]) column_size[c] = entry;
    }
  }
  return KARST_SOUND;
}

/* Computes the scales of an attempt, number 0 or 1. */
KARST_INLINE karst_reason karst_block_measure(int b, int attempt, const double *size, double *row_scale,
                                              double *column_size)
{
  const karst_reason reason = karst_block_equilibrate(b, size, row_scale, column_size);
  if (reason == KARST_SOUND && attempt > 0) karst_block_balance(b, size, row_scale, column_size);
  return reason;
}

/* The reason for a block of finite entries with accepted pivots whose inverse has an entry that is not finite. */
KARST_INLINE karst_reason karst_block_overflow(int b) { return b == 1 ? KARST_NOT_FINITE : KARST_SINGULAR_BLOCK; }

/* Exchanges row c, and its scale, with the row from c on that has the largest scaled entry in column c. Returns that
 * row, or -1 if the entry is lost in rounding. column_size: that of column c. */
KARST_INLINE int karst_block_pivot(int b, int c, double *a, double *row_scale, double column_size)
{
  int best = c;
  double best_size = -1;
  for (int r = c; r < b; r++) {
    double size = fabs(a[c * b + r]) * row_scale[r];
    if (size > best_size) {
      best = r;
      best_size = size;
    }
  }
  if (!karst_block_pivot_stands(b, best_size, column_size)) return -1;
  if (best == c) return c;
  double scale = row_scale[c];
  row_scale[c] = row_scale[best];
  row_scale[best] = scale;
  for (int j = 0; j < b; j++) {
    double entry = a[j * b + c];
    a[j * b + c] = a[j * b + best];
    a[j * b + best] = entry;
  }
  return best;
}

/* Does one step of Gauss-Jordan elimination in place: column c becomes a column of the partial inverse. */
KARST_INLINE void karst_block_eliminate(int b, int c, double *a)
{
  double inverse = 1 / a[c * b + c];
  a[c * b + c] = 1;
  for (int j = 0; j < b; j++) a[j * b + c] *= inverse;
  for (int r = 0; r < b; r++) {
    if (r == c) continue;
    double factor = a[c * b + r];
    a[c * b + r] = 0;
    for (int j = 0; j < b; j++) a[j * b + r] -= factor * a[j * b + c];
  }
}

/* Replaces a by its inverse, by Gauss-Jordan elimination with implicitly scaled partial pivoting. */
KARST_INLINE karst_reason karst_block_invert_scaled(int b, double *restrict a, double *restrict row_scale,
                                                    const double *restrict column_size, int *restrict pivot)
{
  for (int c = 0; c < b; c++) {
    pivot[c] = karst_block_pivot(b, c, a, row_scale, column_size[c]);
    if (pivot[c] < 0) return KARST_SINGULAR_BLOCK;
    karst_block_eliminate(b, c, a);
  }
  /* The row exchanges of a are column exchanges of its inverse, in reverse order. */
  for (int c = b - 1; c >= 0; c--)
    if (pivot[c] != c)
      for (int r = 0; r < b; r++) {
        double entry = a[c * b + r];
        a[c * b + r] = a[pivot[c] * b + r];
        a[pivot[c] * b + r] = entry;
      }
  for (int i = 0; i < b * b; i++)
    if (!(fabs(a[i]) <= DBL_MAX)) return karst_block_overflow(b);
  return KARST_SOUND;
}

/* Does what karst_block_invert_scaled does without row exchanges. */
KARST_INLINE karst_reason karst_block_invert_unpivoted(int b, double *a, const double *row_scale,
                                                       const double *column_size)
{
  for (int c = 0; c < b; c++) {
    if (!karst_block_pivot_stands(b, fabs(a[c * b + c]) * row_scale[c], column_size[c])) return KARST_SINGULAR_BLOCK;
    karst_block_eliminate(b, c, a);
  }
  for (int i = 0; i < b * b; i++)
    if (!(fabs(a[i]) <= DBL_MAX)) return karst_block_overflow(b);
  return KARST_SOUND;
}

/* Computes inverse = a^-1, with or without row exchanges. inverse overlaps neither a nor size. size: [b*b] see above;
 * it may be a. row_scale, column_size: work space of b scalars each; pivot: b integers. Returns KARST_SOUND, or
 * KARST_SINGULAR_BLOCK or KARST_NOT_FINITE with inverse undefined. */
KARST_INLINE karst_reason karst_block_inverse_by(int b, bool pivoting, const double *a, const double *size,
                                                 double *inverse, double *row_scale, double *column_size, int *pivot)
{
  karst_reason reason = KARST_SINGULAR_BLOCK;
  KARST_ROLLED
  for (int attempt = 0; attempt < KARST_BLOCK_ATTEMPTS && reason != KARST_SOUND; attempt++) {
    reason = karst_block_measure(b, attempt, size, row_scale, column_size);
    if (reason != KARST_SOUND) return reason;
    for (int i = 0; i < b * b; i++) inverse[i] = a[i];
    reason = pivoting ? karst_block_invert_scaled(b, inverse, row_scale, column_size, pivot)
                      : karst_block_invert_unpivoted(b, inverse, row_scale, column_size);
  }
  return reason;
}

/* The same with row exchanges. work: 2 b scalars. */
KARST_INLINE karst_reason karst_block_inverse(int b, const double *a, const double *size, double *inverse, double *work,
                                              int *pivot)
{
  return karst_block_inverse_by(b, true, a, size, inverse, work, work + b, pivot);
}

/* Replaces a by its Cholesky factor C, a = C C^T, with zeros above the diagonal; only the lower triangle is read.
 * Returns false, with a undefined, if a is not finite, or not positive definite beyond the rounding errors of its
 * elimination. */
KARST_INLINE bool karst_block_cholesky(int b, double *restrict a)
{
  for (int c = 0; c < b; c++) {
    const double size = a[c * b + c];
    double pivot = size;
    for (int k = 0; k < c; k++) pivot -= a[k * b + c] * a[k * b + c];
    if (!(pivot > karst_block_rounding(b) * size && pivot <= DBL_MAX)) return false;
    pivot = sqrt(pivot);
    for (int r = 0; r < c; r++) a[c * b + r] = 0;
    a[c * b + c] = pivot;
    for (int r = c + 1; r < b; r++) {
      double entry = a[c * b + r];
      for (int k = 0; k < c; k++) entry -= a[k * b + r] * a[k * b + c];
      a[c * b + r] = entry / pivot;
    }
  }
  return true;
}

/* Computes inverse = l^-1 for a lower triangular block, whose part above the diagonal is not read. Returns false if the
 * diagonal has a zero or a number that is not finite. */
KARST_INLINE bool karst_block_invert_lower(int b, const double *restrict l, double *restrict inverse)
{
  for (int c = 0; c < b; c++) {
    if (!(fabs(l[c * b + c]) > 0 && fabs(l[c * b + c]) <= DBL_MAX)) return false;
    for (int r = 0; r < c; r++) inverse[c * b + r] = 0;
    inverse[c * b + c] = 1 / l[c * b + c];
    for (int r = c + 1; r < b; r++) {
      double entry = 0;
      for (int k = c; k < r; k++) entry -= l[k * b + r] * inverse[c * b + k];
      inverse[c * b + r] = entry / l[r * b + r];
    }
  }
  return true;
}

/* Returns the Euclidean norm of b entries of a, step apart. */
KARST_INLINE double karst_block_line_norm(int b, const double *a, int step)
{
  double largest = 0, sum = 0;
  for (int k = 0; k < b; k++)
    if (fabs(a[k * step]) > largest) largest = fabs(a[k * step]);
  if (largest == 0) return 0;
  for (int k = 0; k < b; k++) sum += a[k * step] / largest * (a[k * step] / largest);
  return largest * sqrt(sum);
}

/* For each row and each column of a, computes 1 over the square root of its Euclidean norm, or 1 if the norm is 0. */
KARST_INLINE void karst_block_weights(int b, const double *restrict a, double *restrict row, double *restrict column)
{
  for (int i = 0; i < b; i++) {
    double across = karst_block_line_norm(b, a + i, b), down = karst_block_line_norm(b, a + i * b, 1);
    row[i] = across > 0 ? 1 / sqrt(across) : 1;
    column[i] = down > 0 ? 1 / sqrt(down) : 1;
  }
}

#endif
