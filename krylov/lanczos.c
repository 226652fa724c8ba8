/* lanczos.c - see lanczos.h. */
#include "krylov/lanczos.h"

#include <float.h>
#include <math.h>

/* Counts the eigenvalues below a number by the signs of the Sturm sequence's ratios. A smaller ratio is replaced by
 * -least, so that dividing the squares of beside by it does not overflow, as in LAPACK's dlaebz. */
static int count_below(int count, const double *diagonal, const double *beside, double number, double least)
{
  int below = 0;
  double ratio = 1;
  for (int i = 0; i < count; i++) {
    const double square = i > 0 ? beside[i - 1] * beside[i - 1] : 0;
    ratio = diagonal[i] - number - (square > 0 ? square / ratio : 0);
    if (fabs(ratio) <= least) ratio = -least;
    below += ratio < 0;
  }
  return below;
}

/* Returns the smallest number, to rounding, with at least wanted eigenvalues below it, between low, which has fewer,
 * and high. */
static double bisect(int count, const double *diagonal, const double *beside, int wanted, double low, double high)
{
  double least = DBL_MIN;
  for (int i = 0; i + 1 < count; i++) least = fmax(least, DBL_MIN * (beside[i] * beside[i]));
  for (;;) {
    const double middle = low + (high - low) / 2;
    if (!(low < middle && middle < high) || high - low <= DBL_EPSILON * fabs(middle)) return middle;
    if (count_below(count, diagonal, beside, middle, least) >= wanted)
      high = middle;
    else
      low = middle;
  }
}

void karst_lanczos_extremes(int count, const double *diagonal, const double *beside, double *least, double *largest)
{
  double low = INFINITY, high = -INFINITY, sum = 0;
  for (int i = 0; i < count; i++) { /* Gershgorin's discs */
    const double radius = (i > 0 ? fabs(beside[i - 1]) : 0) + (i + 1 < count ? fabs(beside[i]) : 0);
    low = fmin(low, diagonal[i] - radius);
    high = fmax(high, diagonal[i] + radius);
    sum += fabs(diagonal[i]) + radius;
  }
  *least = *largest = NAN;
  if (!isfinite(sum)) return;
  *least = bisect(count, diagonal, beside, 1, low, high);
  *largest = bisect(count, diagonal, beside, count, low, high);
}
