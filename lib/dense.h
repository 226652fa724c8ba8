/* dense.h - operations on one dense b-by-b block, stored column by column.
 *
 * Each is an inline function of b. The compiler unrolls a call with a constant b; a call with a variable b serves every
 * other size. KARST_BLOCK_SIZES lists the constants worth an instance. */
#ifndef KARST_LIB_DENSE_H
#define KARST_LIB_DENSE_H

#include "inline.h"
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

/* gcc unrolls loops of 8 only on request; without unrolling, the sums of a block of 8 would be in memory. */
#ifdef __CUDACC__
#define KARST_UNROLL
#else
#define KARST_UNROLL _Pragma("GCC unroll 8")
#endif

/* y -= a x */
KARST_INLINE void karst_block_subtract_product(int b, const double *restrict a, const double *restrict x,
                                               double *restrict y)
{
  KARST_UNROLL
  for (int c = 0; c < b; c++)
    for (int r = 0; r < b; r++) y[r] -= a[c * b + r] * x[c];
}

/* y += a x */
KARST_INLINE void karst_block_add_product(int b, const double *restrict a, const double *restrict x, double *restrict y)
{
  KARST_UNROLL
  for (int c = 0; c < b; c++)
    for (int r = 0; r < b; r++) y[r] += a[c * b + r] * x[c];
}

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

/* Computes row_scale[r] = 1 / the largest entry of row r, and column_size[c] = the largest entry of column c of the
 * scaled block. A row of zeros is singular. */
KARST_INLINE karst_reason karst_block_equilibrate(int b, const double *a, double *row_scale, double *column_size)
{
  for (int r = 0; r < b; r++) row_scale[r] = 0;
  for (int c = 0; c < b; c++)
    for (int r = 0; r < b; r++) {
      double size = fabs(a[c * b + r]);
      if (!(size <= DBL_MAX)) return KARST_NOT_FINITE;
      if (size > row_scale[r]) row_scale[r] = size;
    }
  for (int r = 0; r < b; r++) {
    if (row_scale[r] == 0) return KARST_SINGULAR_BLOCK;
    row_scale[r] = 1 / row_scale[r];
  }
  for (int c = 0; c < b; c++) {
    column_size[c] = 0;
    for (int r = 0; r < b; r++) {
      double size = fabs(a[c * b + r]) * row_scale[r];
      if (size > column_size[c]) column_size[c] = size;
    }
  }
  return KARST_SOUND;
}

/* A block is singular if a pivot is lost in the rounding errors of its row and column. With the rows scaled to largest
 * entry 1, no candidate in column c then exceeds 16 b epsilon times the largest entry that the column had before
 * elimination; this constant is the 16. The test does not depend on the units of the equations or of the unknowns. For
 * b = 1 only 0 is singular.
 *
 * All inversions judge by this number. They are one algorithm, karst_block_invert below, which the threads of a GPU run
 * that have a block each. For threads that share a block gpu/invert.h has it as a template, and
 * gpu/ilu/invert.h once more for the lanes of a warp. */
enum { KARST_PIVOT_ROUNDINGS = 16 };

KARST_INLINE double karst_block_rounding(int b) { return KARST_PIVOT_ROUNDINGS * b * DBL_EPSILON; }

/* Whether a pivot can be divided by. size: its scaled size. column_size: that of its column. */
KARST_INLINE bool karst_block_pivot_stands(int b, double size, double column_size)
{
  return size > (b > 1 ? karst_block_rounding(b) * column_size : 0);
}

/* What is wrong with a block of finite entries whose pivots stand and whose inverse has an entry that is not finite. */
KARST_INLINE karst_reason karst_block_overflow(int b) { return b == 1 ? KARST_NOT_FINITE : KARST_SINGULAR_BLOCK; }

/* Exchanges row c, and its scale, with the one that has the largest scaled entry in column c among the rows from c on.
 * Returns that row, or -1 where the entry is lost in rounding. */
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

/* Replaces a by its inverse, by Gauss-Jordan elimination with implicitly scaled partial pivoting. work: 2 b scalars,
 * pivot: b integers. Returns KARST_SOUND, or KARST_SINGULAR_BLOCK or KARST_NOT_FINITE with a in an undefined state. */
KARST_INLINE karst_reason karst_block_invert(int b, double *restrict a, double *restrict work, int *restrict pivot)
{
  double *row_scale = work, *column_size = work + b;
  karst_reason reason = karst_block_equilibrate(b, a, row_scale, column_size);
  if (reason != KARST_SOUND) return reason;
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

/* Does the same without row exchanges: a pivot that cannot be divided by makes the block singular. work: 2 b
 * scalars. */
KARST_INLINE karst_reason karst_block_invert_unpivoted(int b, double *restrict a, double *restrict work)
{
  double *row_scale = work, *column_size = work + b;
  karst_reason reason = karst_block_equilibrate(b, a, row_scale, column_size);
  if (reason != KARST_SOUND) return reason;
  for (int c = 0; c < b; c++) {
    if (!karst_block_pivot_stands(b, fabs(a[c * b + c]) * row_scale[c], column_size[c])) return KARST_SINGULAR_BLOCK;
    karst_block_eliminate(b, c, a);
  }
  for (int i = 0; i < b * b; i++)
    if (!(fabs(a[i]) <= DBL_MAX)) return karst_block_overflow(b);
  return KARST_SOUND;
}

/* Replaces a, of which only the lower triangle is read, by its Cholesky factor C, a = C C^T, with zeros above the
 * diagonal. Returns false if a is not positive definite or not finite; a is then in an undefined state. */
KARST_INLINE bool karst_block_cholesky(int b, double *restrict a)
{
  for (int c = 0; c < b; c++) {
    double pivot = a[c * b + c];
    for (int k = 0; k < c; k++) pivot -= a[k * b + c] * a[k * b + c];
    if (!(pivot > 0 && pivot <= DBL_MAX)) return false;
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
