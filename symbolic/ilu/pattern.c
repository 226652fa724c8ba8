/* pattern.c - transposes, symmetrises and mirrors a square pattern of n rows.
 *
 * All functions take time proportional to n and the number of entries. They sort by transposition: walking the rows of
 * a pattern in ascending order and appending to the rows of its transpose leaves the transpose sorted (Gustavson, ACM
 * Trans. Math. Softw. 4 (1978), "Two fast algorithms for sparse matrices"). */
#include "config.h"

#include "symbolic/symbolic.h"
#include "lib/base/threads.h"

karst_status karst_counts_to_starts(karst_context *context, karst_index n, karst_index *start, const char *what)
{
  int64_t total = 0;
  start[0] = 0;
  for (karst_index i = 1; i <= n; i++) {
    if (start[i] > KARST_INDEX_MAX - total)
      return karst_fail(context, KARST_ERROR_INDEX_OVERFLOW,
                        "%s have more than %lld entries from block row %lld on: configure with --enable-int64", what,
                        (long long)KARST_INDEX_MAX, (long long)(i - 1));
    total += start[i];
    start[i] = (karst_index)total;
  }
  return KARST_SUCCESS;
}

/* Restores row starts that were used as cursors and are each at the end of their row. */
static void rewind_starts(karst_index n, karst_index *start)
{
  for (karst_index i = n; i > 0; i--) start[i] = start[i - 1];
  start[0] = 0;
}

karst_status karst_pattern_transpose(karst_context *context, karst_index n, const karst_index *row_start,
                                     const karst_index *column, karst_index **transposed_start,
                                     karst_index **transposed_column)
{
  karst_index *start = NULL, *transposed = NULL;
  karst_status status;
  *transposed_start = *transposed_column = NULL;
  if ((status = karst_allocate_zero(context, &start, (int64_t)n + 1, sizeof *start, "a transposed pattern")) ||
      (status = karst_allocate(context, &transposed, row_start[n], sizeof *transposed, "a transposed pattern")))
    goto fail;

  /* Every thread reads the whole pattern and keeps the columns of its share. No two threads write to the same place,
   * and the result does not depend on the number of threads. */
  karst_piece counting = karst_begin(context, KARST_KIND_ONCE, row_start[n]);
#pragma omp parallel num_threads(counting.threads)
  {
    const karst_part part = karst_part_begin(&counting, n);
    for (karst_index k = 0; k < row_start[n]; k++)
      if (column[k] >= part.first && column[k] < part.last) start[column[k] + 1]++;
    karst_part_end(&counting, &part);
  }
  karst_end(context, &counting);
  if ((status = karst_counts_to_starts(context, n, start, "the rows of a transposed pattern"))) goto fail;
  karst_piece filling = karst_begin(context, KARST_KIND_ONCE, row_start[n]);
#pragma omp parallel num_threads(filling.threads)
  {
    const karst_part part = karst_part_begin(&filling, n);
    for (karst_index i = 0; i < n; i++)
      for (karst_index k = row_start[i]; k < row_start[i + 1]; k++)
        if (column[k] >= part.first && column[k] < part.last) transposed[start[column[k]]++] = i;
    karst_part_end(&filling, &part);
  }
  karst_end(context, &filling);
  rewind_starts(n, start);
  *transposed_start = start;
  *transposed_column = transposed;
  return KARST_SUCCESS;

fail:
  karst_release(context, start);
  karst_release(context, transposed);
  return status;
}

bool karst_pattern_is_symmetric(karst_context *context, karst_index n, const karst_index *row_start,
                                const karst_index *column)
{
  int64_t missing = 0, excess = 0; /* entries above the diagonal without a mirror image, and those more than below it */
  karst_piece piece = karst_begin(context, KARST_KIND_ONCE, row_start[n]);
#pragma omp parallel num_threads(piece.threads) reduction(+ : missing, excess)
  {
    const karst_part part = karst_part_begin(&piece, n);
    for (karst_index i = part.first; i < part.last && missing == 0; i++)
      for (karst_index k = row_start[i]; k < row_start[i + 1]; k++) {
        const karst_index j = column[k];
        excess += j > i ? 1 : j < i ? -1 : 0;
        missing += j > i && karst_find_column(column, row_start[j], row_start[j + 1], i) < 0;
      }
    karst_part_end(&piece, &part);
  }
  karst_end(context, &piece);
  return missing == 0 && excess == 0;
}

/* Column i of row j is met when row i is walked, and rows are walked in order. */
karst_status karst_pattern_mirror(karst_context *context, karst_index n, const karst_index *row_start,
                                  const karst_index *column, karst_index **mirror)
{
  karst_index *image = NULL, *next = NULL; /* next: [n] the first entry of each row whose image has not been met yet */
  karst_status status;
  *mirror = NULL;
  if ((status = karst_allocate(context, &image, row_start[n], sizeof *image, "the mirror image of a pattern")) ||
      (status = karst_allocate(context, &next, n, sizeof *next, "the mirror image of a pattern")))
    goto finish;
  for (karst_index i = 0; i < n; i++) next[i] = row_start[i];
  for (karst_index i = 0; i < n; i++)
    for (karst_index k = row_start[i]; k < row_start[i + 1]; k++) image[k] = next[column[k]]++;
  *mirror = image;
  image = NULL;

finish:
  karst_release(context, image);
  karst_release(context, next);
  return status;
}

/* Rows are walked in order, so the images of the entries of a column are found in one walk along that row. */
karst_status karst_pattern_mirror_lower(karst_context *context, karst_index n, const karst_index *row_start,
                                        const karst_index *column, const karst_index *lower_start, karst_index **mirror)
{
  karst_index *image = NULL, *next = NULL; /* next: [n] the first entry of each row that may still be an image */
  karst_status status;
  *mirror = NULL;
  if ((status = karst_allocate(context, &image, lower_start[n], sizeof *image, "the mirror image of a pattern")) ||
      (status = karst_allocate(context, &next, n, sizeof *next, "the mirror image of a pattern")))
    goto finish;
  for (karst_index i = 0; i < n; i++) {
    const karst_index lower = lower_start[i + 1] - lower_start[i];
    next[i] = row_start[i] + lower + 1;
    for (karst_index l = 0; l < lower; l++) {
      const karst_index j = column[row_start[i] + l];
      while (next[j] < row_start[j + 1] && column[next[j]] < i) next[j]++;
      const bool found = next[j] < row_start[j + 1] && column[next[j]] == i;
      image[lower_start[i] + l] = found ? next[j] : -1;
    }
  }
  *mirror = image;
  image = NULL;

finish:
  karst_release(context, image);
  karst_release(context, next);
  return status;
}

/* Merges the ascending columns of row i of A and of A^T, except i, into merged unless that is NULL; returns their
 * number. */
static karst_index merge_sorted_rows(karst_index i, const karst_index *a, const karst_index *a_end,
                                     const karst_index *b, const karst_index *b_end, karst_index *merged)
{
  karst_index count = 0;
  while (a < a_end || b < b_end) {
    karst_index j = b == b_end || (a < a_end && *a < *b) ? *a : *b;
    if (a < a_end && *a == j) a++;
    if (b < b_end && *b == j) b++;
    if (j == i) continue;
    if (merged) merged[count] = j;
    count++;
  }
  return count;
}

/* The same for A and its transpose by rows, which is NULL if A is symmetric. */
static karst_index symmetrise_row(karst_index i, const karst_index *row_start, const karst_index *column,
                                  const karst_index *t_start, const karst_index *t_column, karst_index *merged)
{
  const karst_index *b = t_start ? t_column + t_start[i] : NULL, *b_end = t_start ? t_column + t_start[i + 1] : NULL;
  return merge_sorted_rows(i, column + row_start[i], column + row_start[i + 1], b, b_end, merged);
}

karst_status karst_pattern_symmetrise(karst_context *context, karst_index n, const karst_index *row_start,
                                      const karst_index *column, karst_index **symmetric_start,
                                      karst_index **symmetric_column)
{
  karst_index *t_start = NULL, *t_column = NULL, *start = NULL, *merged = NULL;
  /* Most patterns are symmetric, and a check for that is much faster than making the transpose. */
  const bool symmetric = karst_pattern_is_symmetric(context, n, row_start, column);
  karst_status status = KARST_SUCCESS;
  *symmetric_start = *symmetric_column = NULL;
  if (!symmetric) status = karst_pattern_transpose(context, n, row_start, column, &t_start, &t_column);
  if (status || (status = karst_allocate(context, &start, (int64_t)n + 1, sizeof *start, "a symmetric pattern")))
    goto finish;
  karst_piece counting = karst_begin(context, KARST_KIND_ONCE, row_start[n]);
#pragma omp parallel num_threads(counting.threads)
  {
    const karst_part part = karst_part_begin(&counting, n);
    for (karst_index i = part.first; i < part.last; i++)
      start[i + 1] = symmetrise_row(i, row_start, column, t_start, t_column, NULL);
    karst_part_end(&counting, &part);
  }
  karst_end(context, &counting);
  if ((status = karst_counts_to_starts(context, n, start, "the rows of a symmetric pattern")) ||
      (status = karst_allocate(context, &merged, start[n], sizeof *merged, "a symmetric pattern")))
    goto finish;
  karst_piece filling = karst_begin(context, KARST_KIND_ONCE, row_start[n]);
#pragma omp parallel num_threads(filling.threads)
  {
    const karst_part part = karst_part_begin(&filling, n);
    for (karst_index i = part.first; i < part.last; i++)
      symmetrise_row(i, row_start, column, t_start, t_column, merged + start[i]);
    karst_part_end(&filling, &part);
  }
  karst_end(context, &filling);
  *symmetric_start = start;
  *symmetric_column = merged;
  start = NULL;

finish:
  karst_release(context, t_start);
  karst_release(context, t_column);
  karst_release(context, start);
  return status;
}
