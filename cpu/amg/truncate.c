/* truncate.c - keeps the largest entries of a row of an interpolation: a heap of those kept, with the smallest at its
 * top. Of equal ones the lower column is kept. */
#include "cpu/amg/amg_cpu.h"

#include <math.h>

/* A row under way. */
struct row {
  karst_index *column;
  double *weight;
};

/* Whether entry m is kept rather than entry n. */
static bool is_larger(const struct row *row, karst_index m, karst_index n)
{
  const double a = fabs(row->weight[m]), b = fabs(row->weight[n]);
  return a > b || (a == b && row->column[m] < row->column[n]);
}

static void exchange_entries(const struct row *row, karst_index m, karst_index n)
{
  const karst_index column = row->column[m];
  const double weight = row->weight[m];
  row->column[m] = row->column[n];
  row->weight[m] = row->weight[n];
  row->column[n] = column;
  row->weight[n] = weight;
}

/* Moves entry n down the heap of the first count entries. */
static void sift(const struct row *row, karst_index n, karst_index count)
{
  for (karst_index child = 2 * n + 1; child < count; n = child, child = 2 * n + 1) {
    if (child + 1 < count && is_larger(row, child, child + 1)) child++;
    if (!is_larger(row, n, child)) return;
    exchange_entries(row, n, child);
  }
}

/* Leaves the most largest weights in front and scales them so that the sum of all stays. */
static void truncate_row(const struct row *row, karst_index most, double limit, karst_index count)
{
  double all = 0, kept = 0, largest = 0;
  for (karst_index n = 0; n < count; n++) all += row->weight[n];
  for (karst_index n = most / 2; n-- > 0;) sift(row, n, most);
  for (karst_index n = most; n < count; n++) {
    if (!is_larger(row, n, 0)) continue;
    exchange_entries(row, n, 0);
    sift(row, 0, most);
  }
  for (karst_index n = 0; n < most; n++) {
    kept += row->weight[n];
    largest = fmax(largest, fabs(row->weight[n]));
  }
  if (kept == 0 || !(fabs(all / kept) * largest <= limit)) return;
  for (karst_index n = 0; n < most; n++) row->weight[n] *= all / kept;
}

/* NOLINTBEGIN(readability-non-const-parameter): both are changed through row */
karst_index karst_amg_truncate_cpu(karst_index most, double limit, karst_index count, karst_index *column,
                                   double *weight)
/* NOLINTEND(readability-non-const-parameter) */
{
  const struct row row = {column, weight};
  if (count > most) truncate_row(&row, most, limit, count);
  if (count > most) count = most;
  for (karst_index m = 1; m < count; m++)
    for (karst_index n = m; n > 0 && column[n] < column[n - 1]; n--) exchange_entries(&row, n, n - 1);
  return count;
}
