/* rest.c - L D L^T of the nodes that remain after the last level, a banded matrix, and its solution. Row q of the band
 * has L(q, q - width .. q - 1), then 1 / d_q. */
#include "cpu/rrb/rrb_cpu.h"

#include <math.h>

enum { LANES = 8 };

/* a . b in eight independent sums, which processors add at the same time. */
KARST_INLINE double dot(karst_index n, const double *a, const double *b)
{
  double sum[LANES] = {0}, rest = 0;
  karst_index i = 0;
  for (; i + LANES <= n; i += LANES)
    for (int lane = 0; lane < LANES; lane++) sum[lane] += a[i + lane] * b[i + lane];
  for (; i < n; i++) rest += a[i] * b[i];
  return ((sum[0] + sum[4]) + (sum[1] + sum[5])) + ((sum[2] + sum[6]) + (sum[3] + sum[7])) + rest;
}

/* The row of the band, so that row[k] is column k. */
KARST_INLINE int64_t row_at(karst_index width, karst_index q) { return (int64_t)q * (width + 1) + width - q; }

/* Factors row q from the rows before it, beginning with u_k = L(q, k) d_k = a(q, k) - sum over p < k of u_p L(k, p).
 * Returns d_q, or 0 if it is lost in rounding. */
KARST_KERNEL static double karst_rrb_rest_row(karst_index width, double *band, karst_index q)
{
  const karst_index first = q > width ? q - width : 0;
  double *row = band + row_at(width, q);
  for (karst_index k = first; k < q; k++) {
    const karst_index from = k - first > width ? k - width : first;
    row[k] -= dot(k - from, row + from, band + row_at(width, k) + from);
  }
  double d = row[q], size = fabs(d);
  for (karst_index k = first; k < q; k++) {
    const double u = row[k];
    row[k] = u * band[row_at(width, k) + k];
    d -= u * row[k];
    size += fabs(u * row[k]);
  }
  return karst_rrb_sum(d, size);
}

karst_index karst_rrb_rest_factor_cpu(karst_index rows, karst_index width, double *band)
{
  for (karst_index q = 0; q < rows; q++) {
    const double d = karst_rrb_rest_row(width, band, q);
    band[row_at(width, q) + q] = isfinite(d) ? 1 / d : NAN;
    if (!(d > 0) || !isfinite(d)) return q;
  }
  return -1;
}

KARST_KERNEL static void solve_band(karst_index rows, karst_index width, const double *band, double *x)
{
  for (karst_index q = 0; q < rows; q++) {
    const karst_index first = q > width ? q - width : 0;
    x[q] -= dot(q - first, band + row_at(width, q) + first, x + first);
  }
  for (karst_index q = 0; q < rows; q++) x[q] *= band[row_at(width, q) + q];
  for (karst_index q = rows - 1; q > 0; q--) {
    const karst_index first = q > width ? q - width : 0;
    const double *row = band + row_at(width, q);
    const double last = x[q];
    for (karst_index k = first; k < q; k++) x[k] -= row[k] * last;
  }
}

void karst_rrb_rest_solve_cpu(karst_index rows, karst_index width, const double *band, double *x)
{
  solve_band(rows, width, band, x);
}
