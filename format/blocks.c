/* blocks.c - finds the block size of a scalar matrix from its pattern.
 *
 * A matrix consists of full blocks of size b if these positions are multiples of b: the rows that differ in pattern
 * from the row before, and the begin and end of each run of adjacent columns. The largest such b is the greatest common
 * divisor of all these positions and the number of rows. One pass over the pattern finds it. A dense matrix is a single
 * block. */
#include "config.h"

#include "format/format.h"

enum { LEAST = 2, MOST = 8, FEWEST = 4 }; /* block sizes that are reported, and block rows */

/* Returns the greatest common divisor. */
static karst_index common_divisor(karst_index a, karst_index b)
{
  while (b != 0) {
    const karst_index rest = a % b;
    a = b;
    b = rest;
  }
  return a;
}

/* Returns whether row i has the same columns as row i - 1. */
static bool is_repeated(const karst_matrix *A, karst_index i)
{
  const karst_index begin = A->row_start[i], length = A->row_start[i + 1] - begin, before = A->row_start[i - 1];
  if (begin - before != length) return false;
  for (karst_index k = 0; k < length; k++)
    if (A->column[begin + k] != A->column[before + k]) return false;
  return true;
}

/* Returns the greatest common divisor of size and the begins and ends of the runs of row i. */
static karst_index divisor_with_runs(const karst_matrix *A, karst_index i, karst_index size)
{
  const karst_index begin = A->row_start[i], end = A->row_start[i + 1];
  for (karst_index k = begin; k < end && size >= LEAST; k++) {
    const karst_index j = A->column[k];
    if (k == begin || A->column[k - 1] != j - 1) size = common_divisor(size, j);
    if (k + 1 == end || A->column[k + 1] != j + 1) size = common_divisor(size, j + 1);
  }
  return size;
}

/* Returns the size of the full blocks that make up a scalar matrix; 0: it has no blocks. */
static int find_blocks(const karst_matrix *A)
{
  karst_index size = A->block_rows;
  bool any = false;
  if (A->block_size != 1) return 0;
  for (karst_index i = 0; i < A->block_rows && size >= LEAST; i++) {
    if (i > 0 && is_repeated(A, i)) continue;
    any = any || A->row_start[i + 1] > A->row_start[i];
    size = divisor_with_runs(A, i, common_divisor(size, i));
  }
  return any && size >= LEAST && size <= MOST && A->block_rows / size >= FEWEST ? (int)size : 0;
}

void karst_blocks_note(const karst_matrix *A, const char *path)
{
  const int size = find_blocks(A);
  if (size > 0)
    karst_notify(A->context, KARST_MESSAGE_NOTE,
                 "%s: it looks like blocks of %d, as rows and columns come in equal patterns: --block %d", path, size,
                 size);
}
