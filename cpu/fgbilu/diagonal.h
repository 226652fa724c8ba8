/* diagonal.h - how a diagonal block D of fgbilu is kept: as its inverse, or for the style sequential as its LU factors
 * in place, P D = L U with a unit diagonal of L and the reciprocal diagonal of U. */
#ifndef KARST_CPU_FGBILU_DIAGONAL_H
#define KARST_CPU_FGBILU_DIAGONAL_H

#include "lib/backend/dense.h"

/* Replaces a by its LU factors. exchange[c] is the row that step c exchanges with row c. The pivots, their scales and
 * the rule by which a block is singular are those of karst_block_invert_scaled. */
KARST_INLINE karst_reason karst_block_factor(int b, bool pivoting, double *restrict a, double *restrict row_scale,
                                             const double *restrict column_size, int *restrict exchange)
{
  for (int c = 0; c < b; c++) {
    exchange[c] = c;
    if (pivoting)
      exchange[c] = karst_block_pivot(b, c, a, row_scale, column_size[c]);
    else if (!karst_block_pivot_stands(b, fabs(a[c * b + c]) * row_scale[c], column_size[c]))
      exchange[c] = -1;
    if (exchange[c] < 0) return KARST_SINGULAR_BLOCK;
    const double inverse = 1 / a[c * b + c];
    a[c * b + c] = inverse;
    for (int r = c + 1; r < b; r++) a[c * b + r] *= inverse;
    for (int j = c + 1; j < b; j++)
      for (int r = c + 1; r < b; r++) a[j * b + r] -= a[c * b + r] * a[j * b + c];
  }
  for (int i = 0; i < b * b; i++)
    if (!(fabs(a[i]) <= DBL_MAX)) return karst_block_overflow(b);
  return KARST_SOUND;
}

/* x = D^-1 x with the LU factors of D */
KARST_INLINE void karst_block_solve(int b, const double *restrict lu, const int *restrict exchange, double *restrict x)
{
  for (int c = 0; c < b; c++) {
    const double entry = x[exchange[c]];
    x[exchange[c]] = x[c];
    x[c] = entry;
  }
  for (int c = 0; c < b; c++)
    for (int r = c + 1; r < b; r++) x[r] -= lu[c * b + r] * x[c];
  for (int c = b - 1; c >= 0; c--) {
    x[c] *= lu[c * b + c];
    for (int r = 0; r < c; r++) x[r] -= lu[c * b + r] * x[c];
  }
}

#endif
