/* permute.c - permutes a square pattern of n rows, row by row with the context's threads.
 *
 * Columns that ascend in a row of A are in another order in P A P^T, but mostly in the same one as in the row before,
 * because the rows of a tile or of a line of cells are similar. So the columns of a short row are written in the order
 * of the row before and sorted by insertion, which then has little to do. */
#include "config.h"

#include "symbolic/symbolic.h"
#include "lib/base/threads.h"

enum { SHORT = 32 }; /* entries of the longest row that is sorted by insertion */

/* Reports the first invalid entry of the permutation, if any. inverse: [n], from karst_permutation_invert. */
static karst_status find_fault(karst_context *context, karst_index n, const karst_index *permutation,
                               karst_index *inverse)
{
  for (karst_index i = 0; i < n; i++) inverse[i] = -1;
  for (karst_index i = 0; i < n; i++) {
    const karst_index from = permutation[i];
    if (from < 0 || from >= n)
      return karst_fail(context, KARST_ERROR_ARGUMENT, "entry %lld of the permutation is %lld, not among 0 .. %lld",
                        (long long)i, (long long)from, (long long)n - 1);
    if (inverse[from] >= 0)
      return karst_fail(context, KARST_ERROR_ARGUMENT, "entries %lld and %lld of the permutation are both %lld",
                        (long long)inverse[from], (long long)i, (long long)from);
    inverse[from] = i;
  }
  return KARST_SUCCESS;
}

/* Counts the entries whose inverse is another entry. If there are none, all entries differ. */
static karst_index count_repeated(karst_context *context, karst_index n, const karst_index *permutation,
                                  const karst_index *inverse)
{
  karst_index repeated = 0;
  karst_piece piece = karst_begin(context, KARST_KIND_ONCE, n);
#pragma omp parallel num_threads(piece.threads) reduction(+ : repeated)
  {
    const karst_part part = karst_part_begin(&piece, n);
    for (karst_index i = part.first; i < part.last; i++) repeated += inverse[permutation[i]] != i;
    karst_part_end(&piece, &part);
  }
  karst_end(context, &piece);
  return repeated;
}

karst_status karst_permutation_invert(karst_context *context, karst_index n, const karst_index *permutation,
                                      karst_index *inverse)
{
  karst_index faults = 0;
  karst_piece piece = karst_begin(context, KARST_KIND_ONCE, n);
#pragma omp parallel num_threads(piece.threads) reduction(+ : faults)
  {
    const karst_part part = karst_part_begin(&piece, n);
    for (karst_index i = part.first; i < part.last; i++) {
      const karst_index from = permutation[i];
      if (from < 0 || from >= n)
        faults++;
      else
        __atomic_store_n(&inverse[from], i, __ATOMIC_RELAXED); /* by two threads if an entry comes twice */
    }
    karst_part_end(&piece, &part);
  }
  karst_end(context, &piece);
  if (faults == 0) faults = count_repeated(context, n, permutation, inverse);
  return faults > 0 ? find_fault(context, n, permutation, inverse) : KARST_SUCCESS;
}

/* The entries of a row: their columns, and which entries of A they are. */
struct row {
  karst_index length, *column, *block;
};

/* Moves entry e down the heap of the first count entries, whose largest column is the first. */
static void sift_entry(const struct row *row, karst_index e, karst_index count)
{
  const karst_index column = row->column[e], block = row->block[e];
  for (karst_index child; e < count / 2; e = child) {
    child = 2 * e + 1;
    if (child + 1 < count && row->column[child + 1] > row->column[child]) child++;
    if (row->column[child] <= column) break;
    row->column[e] = row->column[child];
    row->block[e] = row->block[child];
  }
  row->column[e] = column;
  row->block[e] = block;
}

/* Sorts a long row by its columns (heap sort: Williams, "Algorithm 232", Comm. ACM 7 (1964)). */
static void sort_long(const struct row *row)
{
  for (karst_index e = row->length / 2; e-- > 0;) sift_entry(row, e, row->length);
  for (karst_index last = row->length; last-- > 1;) {
    const karst_index column = row->column[0], block = row->block[0];
    row->column[0] = row->column[last];
    row->block[0] = row->block[last];
    row->column[last] = column;
    row->block[last] = block;
    sift_entry(row, 0, last);
  }
}

/* Writes the entries of a short row in an order, and returns whether they ascend in it. from: its columns in A; the
 * first one is entry first. */
static bool fill_in_order(const struct row *row, const karst_index *from, karst_index first, const karst_index *inverse,
                          const uint8_t order[SHORT])
{
  karst_index before = -1;
  for (karst_index e = 0; e < row->length; e++) {
    const karst_index column = inverse[from[order[e]]];
    if (column < before) return false;
    before = row->column[e] = column;
    row->block[e] = first + order[e];
  }
  return true;
}

/* Fills a row of at most SHORT entries. order: [length] the order in which the entries are written; on return their
 * ascending order. */
static void fill_short(const struct row *row, const karst_index *from, karst_index first, const karst_index *inverse,
                       uint8_t order[SHORT])
{
  if (fill_in_order(row, from, first, inverse, order)) return;
  for (karst_index e = 0; e < row->length; e++) {
    const uint8_t next = order[e];
    const karst_index column = inverse[from[next]];
    karst_index at = e;
    for (; at > 0 && row->column[at - 1] > column; at--) {
      row->column[at] = row->column[at - 1];
      order[at] = order[at - 1];
    }
    row->column[at] = column;
    order[at] = next;
  }
  for (karst_index e = 0; e < row->length; e++) row->block[e] = first + order[e];
}

static void fill_long(const struct row *row, const karst_index *from, karst_index first, const karst_index *inverse)
{
  for (karst_index e = 0; e < row->length; e++) {
    row->column[e] = inverse[from[e]];
    row->block[e] = first + e;
  }
  sort_long(row);
}

/* Fills the rows of one thread, whose starts are known. all: the entries of all rows. */
static void fill_rows(const karst_index *row_start, const karst_index *from, const karst_index *permutation,
                      const karst_index *inverse, karst_index begin, karst_index end, const karst_index *start,
                      const struct row *all)
{
  uint8_t order[SHORT] = {0};
  karst_index ordered = 0; /* the length of the row that order is of */
  for (karst_index i = begin; i < end; i++) {
    const karst_index first = row_start[permutation[i]];
    const struct row row = {start[i + 1] - start[i], all->column + start[i], all->block + start[i]};
    if (row.length > SHORT) {
      fill_long(&row, from + first, first, inverse);
      continue;
    }
    for (karst_index e = 0; e < row.length && row.length != ordered; e++) order[e] = (uint8_t)e;
    ordered = row.length;
    fill_short(&row, from + first, first, inverse, order);
  }
}

karst_status karst_pattern_permute(karst_context *context, karst_index n, const karst_index *row_start,
                                   const karst_index *column, const karst_index *permutation,
                                   karst_index **permuted_start, karst_index **permuted_column, karst_index **source)
{
  const char *what = "a permuted pattern";
  const karst_index entries = row_start[n];
  karst_index *inverse = NULL, *start = NULL, *permuted = NULL, *block = NULL;
  karst_status status;
  *permuted_start = *permuted_column = *source = NULL;
  if ((status = karst_allocate(context, &inverse, n, sizeof *inverse, what)) ||
      (status = karst_allocate(context, &start, (int64_t)n + 1, sizeof *start, what)) ||
      (status = karst_allocate(context, &permuted, entries, sizeof *permuted, what)) ||
      (status = karst_allocate(context, &block, entries, sizeof *block, what)) ||
      (status = karst_permutation_invert(context, n, permutation, inverse)))
    goto finish;
  for (karst_index i = 0; i < n; i++) start[i + 1] = row_start[permutation[i] + 1] - row_start[permutation[i]];
  if ((status = karst_counts_to_starts(context, n, start, "the rows of a permuted pattern"))) goto finish;
  const struct row all = {entries, permuted, block};
  karst_piece piece = karst_begin(context, KARST_KIND_ONCE, entries);
#pragma omp parallel num_threads(piece.threads)
  {
    const karst_part part = karst_part_rows(&piece, n, start);
    fill_rows(row_start, column, permutation, inverse, part.first, part.last, start, &all);
    karst_part_end(&piece, &part);
  }
  karst_end(context, &piece);
  *permuted_start = start;
  *permuted_column = permuted;
  *source = block;
  start = permuted = block = NULL;

finish:
  karst_release(context, inverse);
  karst_release(context, start);
  karst_release(context, permuted);
  karst_release(context, block);
  return status;
}
