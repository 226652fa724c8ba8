/* csr.c - sorts entries into CSR, in place.
 *
 * Entries move to their rows by swaps: a bucket sort that follows the cycles of its permutation (the American flag sort
 * of McIlroy, Bostic and McIlroy, Engineering radix sort, 1993). Then each row is sorted by columns. The sort needs one
 * index a row of work space, and moves nothing when the entries are in order. */
#include "config.h"

#include "format/format.h"

#include <string.h>

static void swap_entries(karst_index *column, double *value, int64_t i, int64_t j)
{
  karst_index c = column[i];
  column[i] = column[j];
  column[j] = c;
  double v = value[i];
  value[i] = value[j];
  value[j] = v;
}

/* Turns the counts of entries into row starts and moves each entry to its row. next: [rows] work space. */
static void sort_into_rows(karst_index rows, karst_index *row_start, karst_index *next, karst_index *row,
                           karst_index *column, double *value)
{
  for (karst_index i = 0; i < rows; i++) {
    row_start[i + 1] += row_start[i];
    next[i] = row_start[i];
  }
  for (karst_index i = 0; i < rows; i++)
    while (next[i] < row_start[i + 1]) {
      karst_index here = next[i], home = row[here];
      if (home != i) {
        karst_index there = next[home];
        row[here] = row[there];
        row[there] = home;
        swap_entries(column, value, here, there);
      }
      next[home]++;
    }
}

/* Restores the heap property of count entries at entry i, whose children may be larger. */
static void sift_down(karst_index *column, double *value, int64_t i, int64_t count)
{
  for (int64_t child; (child = 2 * i + 1) < count; i = child) {
    if (child + 1 < count && column[child + 1] > column[child]) child++;
    if (column[child] <= column[i]) return;
    swap_entries(column, value, i, child);
  }
}

/* Sorts a long row by heap sort, which takes O(n log n) in the worst case and no memory. */
static void sort_long_row(karst_index *column, double *value, int64_t count)
{
  for (int64_t i = count / 2; i-- > 0;) sift_down(column, value, i, count);
  for (int64_t last = count; last-- > 1;) {
    swap_entries(column, value, 0, last);
    sift_down(column, value, 0, last);
  }
}

static void sort_short_row(karst_index *column, double *value, int64_t count)
{
  for (int64_t i = 1; i < count; i++)
    for (int64_t j = i; j > 0 && column[j] < column[j - 1]; j--) swap_entries(column, value, j, j - 1);
}

static void sort_row(karst_index *column, double *value, int64_t count)
{
  const int64_t longest_short_row = 48;
  int64_t sorted = 1;
  while (sorted < count && column[sorted - 1] <= column[sorted]) sorted++;
  if (sorted >= count) return;
  if (count <= longest_short_row)
    sort_short_row(column, value, count);
  else
    sort_long_row(column, value, count);
}

void karst_csr_sort_rows(karst_index rows, const karst_index *row_start, karst_index *column, double *value,
                         karst_index *repeated)
{
  *repeated = -1;
  for (karst_index i = 0; i < rows; i++) {
    const karst_index count = row_start[i + 1] - row_start[i];
    if (count > 1)
      sort_row(column + row_start[i], value + row_start[i], count); /* a file of no entries has no arrays */
    for (karst_index k = row_start[i] + 1; k < row_start[i + 1] && *repeated < 0; k++)
      if (column[k] == column[k - 1]) *repeated = k;
  }
}

/* Returns whether each row's columns ascend strictly, as they do in most files. */
static bool is_sorted(karst_index rows, const karst_index *row_start, const karst_index *column)
{
  for (karst_index i = 0; i < rows; i++)
    for (karst_index k = row_start[i] + 1; k < row_start[i + 1]; k++)
      if (column[k] <= column[k - 1]) return false;
  return true;
}

karst_status karst_csr_add_up(karst_context *context, karst_index rows, karst_index *row_start, karst_index *column,
                              double *value)
{
  karst_index *at, end = 0; /* [rows] the position of the last entry in each column */
  if (is_sorted(rows, row_start, column)) return KARST_SUCCESS;
  karst_status status = karst_allocate(context, &at, rows, sizeof *at, "adding up a matrix's entries");
  if (status) return status;
  for (karst_index j = 0; j < rows; j++) at[j] = -1;
  for (karst_index i = 0, from = 0; i < rows; i++) {
    const karst_index begin = end, stop = row_start[i + 1];
    for (; from < stop; from++) {
      const karst_index j = column[from];
      if (at[j] >= begin) {
        value[at[j]] += value[from];
        continue;
      }
      at[j] = end;
      column[end] = j;
      value[end++] = value[from];
    }
    row_start[i + 1] = end;
  }
  karst_release(context, at);
  return KARST_SUCCESS;
}

karst_status karst_csr_from_entries(karst_context *context, karst_index rows, karst_index *counts, karst_index *row,
                                    karst_index *column, double *value, karst_index *repeated)
{
  karst_index *next;
  *repeated = -1;
  karst_status status = karst_allocate(context, &next, rows, sizeof *next, "sorting a matrix");
  if (status) return status;
  sort_into_rows(rows, counts, next, row, column, value);
  karst_release(context, next);
  karst_csr_sort_rows(rows, counts, column, value, repeated);
  return KARST_SUCCESS;
}

long long karst_csr_row_of(const karst_index *row_start, int64_t k)
{
  long long row = 0;
  while (row_start[row + 1] <= k) row++;
  return row;
}

void karst_csr_note_repeats(karst_context *context, const char *name, int64_t repeats)
{
  if (repeats > 0)
    karst_notify(context, KARST_MESSAGE_NOTE, "%s: %lld %s the row and column of an earlier one and %s added to it",
                 name, (long long)repeats, repeats == 1 ? "entry has" : "entries have", repeats == 1 ? "is" : "are");
}
