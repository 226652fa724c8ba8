/* round.h - rounds the values of a factorization to float, for the sweeps of factor-precision float. */
#ifndef KARST_CPU_ROUND_H
#define KARST_CPU_ROUND_H

#include "lib/backend/dense.h"

/* Rounds count numbers. Returns false if one is too large for float, or not finite. */
KARST_INLINE bool karst_round_values(int64_t count, const double *restrict from, float *restrict to)
{
  float not_finite = 0; /* stays 0 unless a number is NaN or infinite */
#pragma omp simd reduction(+ : not_finite)
  for (int64_t v = 0; v < count; v++) {
    to[v] = karst_round(from[v]);
    not_finite += to[v] * 0;
  }
  return not_finite == 0;
}

/* Rounds an inverse block. Also returns false if a row or a column of it becomes 0: M^-1 would be singular. */
KARST_INLINE bool karst_round_inverse(int b, const double *from, float *to)
{
  bool holds = karst_round_values((int64_t)b * b, from, to);
  for (int k = 0; k < b; k++) {
    float row = 0, column = 0;
    for (int c = 0; c < b; c++) row += fabsf(to[c * b + k]);
    for (int r = 0; r < b; r++) column += fabsf(to[k * b + r]);
    holds = holds && row > 0 && column > 0;
  }
  return holds;
}

#endif
