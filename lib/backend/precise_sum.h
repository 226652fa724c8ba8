/* precise_sum.h - sums of products to twice the working precision, for the CPU and for a thread of a GPU (Ogita, Rump
 * and Oishi, as in cpu/residual.c). fma(a, x, 0) is a product that no compiler contracts with the sum that follows. */
#ifndef KARST_LIB_BACKEND_PRECISE_SUM_H
#define KARST_LIB_BACKEND_PRECISE_SUM_H

#include "lib/base/inline.h"

#include <math.h>

/* The sum is sum + error. */
typedef struct karst_precise_sum {
  double sum, error;
} karst_precise_sum;

KARST_INLINE void karst_precise_add(karst_precise_sum *s, double a, double x)
{
  const double product = fma(a, x, 0.0), product_error = fma(a, x, -product);
  const double next = s->sum + product, part = next - s->sum;
  s->error += (s->sum - (next - part)) + (product - part) + product_error;
  s->sum = next;
}

#endif
