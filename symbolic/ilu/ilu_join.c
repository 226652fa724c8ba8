/* ilu_join.c - joins the patterns of L and U into that of one matrix, for a library that keeps both factors in one
 * array. Row i is row i of L, the diagonal and row i of U. The joined pattern contains A's, and position says where
 * each block of A is in it. */
#include "symbolic/symbolic.h"

/* Appends row i of the joined pattern at entry end. */
static void join_row(const karst_ilu_pattern *pattern, karst_index i, karst_index end, karst_index *joined)
{
  for (karst_index k = pattern->lower_start[i]; k < pattern->lower_start[i + 1]; k++)
    joined[end++] = pattern->lower_column[k];
  joined[end++] = i;
  for (karst_index k = pattern->upper_start[i]; k < pattern->upper_start[i + 1]; k++)
    joined[end++] = pattern->upper_column[k];
}

karst_status karst_ilu_pattern_join(karst_context *context, const karst_ilu_pattern *pattern,
                                    const karst_index *row_start, const karst_index *column, karst_index **joined_start,
                                    karst_index **joined_column, karst_index **position)
{
  const char *what = "the pattern of the factors";
  karst_index n = pattern->rows, *start = NULL, *joined = NULL, *at = NULL;
  *joined_start = *joined_column = *position = NULL;
  karst_status status = karst_allocate(context, &start, (int64_t)n + 1, sizeof *start, what);
  if (status) return status;
  for (karst_index i = 0; i < n; i++)
    start[i + 1] = pattern->lower_start[i + 1] - pattern->lower_start[i] + 1 +
                   (pattern->upper_start[i + 1] - pattern->upper_start[i]);
  status = karst_counts_to_starts(context, n, start, "the factors");
  if (!status) status = karst_allocate(context, &joined, start[n], sizeof *joined, what);
  if (!status) status = karst_allocate(context, &at, row_start[n], sizeof *at, what);
  if (status) {
    karst_release(context, start);
    karst_release(context, joined);
    return status;
  }
  for (karst_index i = 0; i < n; i++) {
    karst_index k = start[i];
    join_row(pattern, i, k, joined);
    for (karst_index entry = row_start[i]; entry < row_start[i + 1]; entry++) {
      while (joined[k] < column[entry]) k++;
      at[entry] = k;
    }
  }
  *joined_start = start;
  *joined_column = joined;
  *position = at;
  return KARST_SUCCESS;
}
