/* ilu_work.c - estimates the work of a factorization on a pattern, and its number of blocks before the pattern is
 * made. */
#include "config.h"

#include "symbolic/symbolic.h"

double karst_ilu_pattern_products(const karst_ilu_pattern *pattern)
{
  double products = 0;
  for (karst_index i = 0; i < pattern->rows; i++) {
    const karst_index width = 1 + (pattern->lower_start[i + 1] - pattern->lower_start[i]) +
                              (pattern->upper_start[i + 1] - pattern->upper_start[i]);
    for (karst_index k = pattern->lower_start[i]; k < pattern->lower_start[i + 1]; k++) {
      const karst_index p = pattern->lower_column[k],
                        length = 1 + pattern->upper_start[p + 1] - pattern->upper_start[p];
      products += (double)(length < width ? length : width);
    }
  }
  return products;
}

/* Eliminating p gives each row below p that has column p all columns of row p beyond p. */
karst_status karst_ilu_least_blocks(karst_context *context, karst_index n, const karst_index *row_start,
                                    const karst_index *column, double *blocks)
{
  karst_index *below;
  *blocks = 0;
  karst_status status = karst_allocate_zero(context, &below, n, sizeof *below, "a bound of the fill");
  if (status) return status;
  for (karst_index i = 0; i < n; i++)
    for (karst_index k = row_start[i]; k < row_start[i + 1] && column[k] < i; k++) below[column[k]]++;
  for (karst_index p = 0; p < n; p++) {
    karst_index behind = 0;
    for (karst_index k = row_start[p + 1]; k > row_start[p] && column[k - 1] > p; k--) behind++;
    const double least = below[p] < behind ? (double)below[p] : (double)behind; /* which may be diagonal blocks */
    const double found = (double)below[p] * (double)behind - least;
    if (found > *blocks) *blocks = found;
  }
  karst_release(context, below);
  return KARST_SUCCESS;
}
