/* ilu_work.c - estimates the work of a factorization on a pattern. */
#include "config.h"

#include "symbolic.h"

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
