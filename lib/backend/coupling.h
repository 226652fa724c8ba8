/* coupling.h - how strongly two block rows couple in both directions, for all backends. */
#ifndef KARST_LIB_BACKEND_COUPLING_H
#define KARST_LIB_BACKEND_COUPLING_H

#include "lib/backend/dense.h"

#include <float.h>

/* Returns the strength of the coupling of rows i and j. With x = A_ii^-1 A_ij and y = A_jj^-1 A_ji it is
 *
 *     sqrt(sum_c max(0, x_cc y_cc)) + w max_c (|x_cc| + |y_cc|)
 *
 * over the b unknowns c, the same in any units of equations and unknowns. Row c of A_ii^-1 is the quasi-IMPES weights
 * of unknown c. So the first term is the coupling of the pressures, which hold each other in both directions, while
 * what flows couples one way, with a product near zero; no one has to say which unknown the pressure is. The second
 * term, with w = 1/100, tells weak couplings from each other, and the strong ones where there is no pressure. An
 * unknown alone (b = 1) is held by its flow as well: w = 1/2. a_ji is NULL if the entry is missing. A strength that is
 * not finite counts as zero. */
KARST_INLINE float karst_coupling(int b, const double *inverse_i, const double *a_ij, const double *inverse_j,
                                  const double *a_ji)
{
  const double one_way = b > 1 ? 0.01 : 0.5;
  double both = 0, most = 0;
  for (int c = 0; c < b; c++) {
    double x = 0, y = 0;
    for (int r = 0; r < b; r++) x += inverse_i[c + b * r] * a_ij[r + b * c];
    for (int r = 0; r < b && a_ji; r++) y += inverse_j[c + b * r] * a_ji[r + b * c];
    if (x * y > 0) both += x * y;
    if (fabs(x) + fabs(y) > most) most = fabs(x) + fabs(y);
  }
  const float strength = (float)(sqrt(both) + one_way * most);
  return strength <= FLT_MAX ? strength : 0;
}

#endif
