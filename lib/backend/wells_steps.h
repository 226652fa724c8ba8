/* wells_steps.h - steps of the precise residual with wells that the CPU and a thread of a GPU take alike. */
#ifndef KARST_LIB_BACKEND_WELLS_STEPS_H
#define KARST_LIB_BACKEND_WELLS_STEPS_H

#include "lib/backend/precise_sum.h"
#include "lib/wells/wells.h"

/* Of D^-1 (g - B x): enough for the digits of two numbers if the condition of D is up to about 1e10. */
enum { KARST_WELLS_REFINEMENTS = 4 };

/* Equation e of -B x of a well. */
KARST_INLINE karst_precise_sum karst_wells_precise_product(int b, const karst_well *well, const double *B,
                                                           const karst_index *cell, const double *x, int e)
{
  const int n = well->equations;
  karst_precise_sum s = {0, 0};
  for (karst_index p = 0; p < well->count; p++)
    for (int c = 0; c < b; c++)
      karst_precise_add(&s, -B[well->entry + ((int64_t)p * b + c) * n + e], x[(int64_t)cell[well->first + p] * b + c]);
  return s;
}

/* Element e of inverse t, and of t - D (high + low). */
KARST_INLINE double karst_wells_row_product(int n, const double *inverse, const double *t, int e)
{
  double sum = 0;
  for (int f = 0; f < n; f++) sum += inverse[(int64_t)f * n + e] * t[f];
  return sum;
}

KARST_INLINE double karst_wells_defect(int n, const double *D, karst_precise_sum t, const double *high,
                                       const double *low, int e)
{
  for (int f = 0; f < n; f++) {
    karst_precise_add(&t, -D[(int64_t)f * n + e], high[f]);
    karst_precise_add(&t, -D[(int64_t)f * n + e], low[f]);
  }
  return t.sum + t.error;
}

/* high + low = high + low + correction, with low at most the rounding error of high. */
KARST_INLINE void karst_wells_correct(double correction, double *high, double *low)
{
  const double rest = *low + correction, sum = *high + rest, part = sum - *high;
  *low = (*high - (sum - part)) + (rest - part);
  *high = sum;
}

/* Subtracts the products of row r of C^T w with w = high + low, over the perforations of a cell. */
KARST_INLINE void karst_wells_subtract_precise(int b, const karst_well *well, const karst_index *owner,
                                               const karst_index *list, karst_index count, const double *C,
                                               const double *high, const double *low, int r, karst_precise_sum *s)
{
  for (karst_index k = 0; k < count; k++) {
    const karst_index p = list[k];
    const karst_well *own = well + owner[p];
    const int n = own->equations;
    const double *column = C + own->entry + ((int64_t)(p - own->first) * b + r) * n;
    for (int e = 0; e < n; e++) {
      karst_precise_add(s, -column[e], high[own->unknown + e]);
      karst_precise_add(s, -column[e], low[own->unknown + e]);
    }
  }
}

#endif
