/* coupling.h - how strongly two block rows couple in both directions, for all backends. */
#ifndef KARST_LIB_BACKEND_COUPLING_H
#define KARST_LIB_BACKEND_COUPLING_H

#include "lib/backend/dense.h"

#include <float.h>

/* The strength of the coupling of rows i and j, with x = A_ii^-1 A_ij and y = A_jj^-1 A_ji, is
 *
 *     sqrt(sum_c max(0, x_cc y_cc)) + w max_c (|x_cc| + |y_cc|)
 *
 * over the b unknowns c, the same in any units of equations and unknowns. Row c of A_ii^-1 is the quasi-IMPES weights
 * of unknown c. So the first term is the coupling of the pressures, which hold each other in both directions, while
 * what flows couples one way, with a product near zero; no one has to say which unknown the pressure is. The second
 * term, with w = 1/100, tells weak couplings from each other, and the strong ones where there is no pressure. An
 * unknown alone (b = 1) is held by its flow as well: w = 1/2. y = 0 if entry (j,i) is missing. A strength that is not
 * finite counts as zero. */

/* Returns x_cc of a block A_ij. inverse: A_ii^-1. */
KARST_INLINE double karst_coupling_one_way(int b, const double *inverse, const double *block, int c)
{
  double x = 0;
  KARST_UNROLL
  for (int r = 0; r < b; r++) x += inverse[c + b * r] * block[r + b * c];
  return x;
}

/* Adds an unknown to the sum and the maximum, which begin with zero. */
KARST_INLINE void karst_coupling_add(double x, double y, double *both, double *most)
{
  *both += x * y > 0 ? x * y : 0;
  *most = fabs(x) + fabs(y) > *most ? fabs(x) + fabs(y) : *most;
}

KARST_INLINE float karst_coupling_strength(int b, double both, double most)
{
  const float strength = (float)(sqrt(both) + (b > 1 ? 0.01 : 0.5) * most);
  return strength <= FLT_MAX ? strength : 0;
}

#endif
