/* tridiagonal_block.h - what the backends share of block-tridiagonal systems: when a block is singular, and which
 * failure of a batch is reported.
 *
 * A block is judged as dense.h judges it. It comes with its size: |b_k| entry by entry, and |b| once more after each
 * block product that a method subtracts from it. Cyclic reduction therefore keeps the sizes of its blocks beside them
 * from one step to the next. In a batch in float a rounding error is FLT_EPSILON.
 *
 * A backend may eliminate a block of floats in float or in double, because both find that the same pivots stand,
 * unless one is within a few rounding errors of the threshold. The functions here take double: a float is converted
 * exactly, no scale of rows or columns overflows, and the second attempt, which few blocks need, has no copy for float.
 */
#ifndef KARST_LIB_BACKEND_TRIDIAGONAL_BLOCK_H
#define KARST_LIB_BACKEND_TRIDIAGONAL_BLOCK_H

#include "lib/backend/dense.h"

/* The rounding error of a batch over that of double. dense.h compares a pivot with a multiple of the size of its column
 * that is meant for double, so that the size is multiplied by this. It is a power of 2. */
KARST_INLINE double karst_tridiagonal_coarseness(bool single) { return single ? (double)FLT_EPSILON / DBL_EPSILON : 1; }

/* Computes inverse = a^-1 with row exchanges, as karst_block_inverse does, for a batch in float or in double. inverse
 * overlaps neither a nor size. a, size, inverse: [m*m]; work: [2 m]; pivot: [m]. The inverse of a block that is not
 * sound is undefined. */
KARST_INLINE karst_reason karst_tridiagonal_invert(int m, bool single, const double *a, const double *size,
                                                   double *inverse, double *work, int *pivot)
{
  karst_reason reason = KARST_SINGULAR_BLOCK;
  KARST_ROLLED
  for (int attempt = 0; attempt < KARST_BLOCK_ATTEMPTS && reason != KARST_SOUND; attempt++) {
    reason = karst_block_measure(m, attempt, size, work, work + m);
    if (reason != KARST_SOUND) return reason;
    for (int c = 0; c < m; c++) work[m + c] *= karst_tridiagonal_coarseness(single);
    for (int i = 0; i < m * m; i++) inverse[i] = a[i];
    reason = karst_block_invert_scaled(m, inverse, work, work + m, pivot);
  }
  for (int i = 0; i < m * m && single && reason == KARST_SOUND; i++)
    if (karst_overflows(inverse[i])) reason = karst_block_overflow(m);
  return reason;
}

/* The failure of a block as a number, so that the smallest number of a batch is the failure that is reported: that of
 * the first system, in it that of the first step of the method, and among the blocks that are inverted in the same step
 * the first row. Later steps of a failed system work on undefined numbers. Steps count from 0 to 63; a method that goes
 * from row to row has one. */
enum { KARST_TRIDIAGONAL_STEPS = 64 };
#define KARST_TRIDIAGONAL_NO_FAILURE UINT64_MAX

KARST_INLINE uint64_t karst_tridiagonal_failure(int64_t rows, int64_t system, int step, int64_t row,
                                                karst_reason reason)
{
  const uint64_t place = ((uint64_t)system * KARST_TRIDIAGONAL_STEPS + (uint64_t)step) * (uint64_t)rows + (uint64_t)row;
  return 2 * place + (reason == KARST_NOT_FINITE);
}

/* Sets what karst_tridiagonal_outcome reports, unless nothing failed. */
KARST_INLINE void karst_tridiagonal_failed(int64_t rows, uint64_t failure, karst_reason *reason, int64_t *system,
                                           karst_index *row)
{
  if (failure == KARST_TRIDIAGONAL_NO_FAILURE) return;
  const uint64_t place = failure / 2;
  *reason = failure % 2 ? KARST_NOT_FINITE : KARST_SINGULAR_BLOCK;
  *system = (int64_t)(place / (uint64_t)rows / KARST_TRIDIAGONAL_STEPS);
  *row = (karst_index)(place % (uint64_t)rows);
}

#endif
