/* blocks.c - finds that a scalar matrix is made of blocks, from its pattern alone.
 *
 * Full blocks of size b stand where each change of the pattern from a row to the next, and each begin and end of a run
 * of adjacent columns in a row, is at a multiple of b. The largest such b is the greatest common divisor of all of them
 * and of the number of rows, which takes one pass over the pattern. A dense matrix changes nowhere and is one block. */
#include "config.h"

#include "format/format.h"

enum { LEAST = 2, MOST = 8, FEWEST = 4 }; /* sizes of blocks that are told, and of block rows */

static karst_index divide(karst_index a, karst_index b)
{
  while (b != 0) {
    const karst_index rest = a % b;
    a = b;
    b = rest;
  }
  return a;
}

/* Whether row i has the columns of the row before it. */
static bool is_repeated(const karst_matrix *A, karst_index i)
{
  const karst_index begin = A->row_start[i], length = A->row_start[i + 1] - begin, before = A->row_start[i - 1];
  if (begin - before != length) return false;
  for (karst_index k = 0; k < length; k++)
    if (A->column[begin + k] != A->column[before + k]) return false;
  return true;
}

/* Divides size by the begins and ends of the runs of row i. */
static karst_index divide_by_runs(const karst_matrix *A, karst_index i, karst_index size)
{
  const karst_index begin = A->row_start[i], end = A->row_start[i + 1];
  for (karst_index k = begin; k < end && size >= LEAST; k++) {
    const karst_index j = A->column[k];
    if (k == begin || A->column[k - 1] != j - 1) size = divide(size, j);
    if (k + 1 == end || A->column[k + 1] != j + 1) size = divide(size, j + 1);
  }
  return size;
}

int karst_blocks_find(const karst_matrix *A)
{
  karst_index size = A->block_rows;
  bool any = false;
  if (A->block_size != 1) return 0;
  for (karst_index i = 0; i < A->block_rows && size >= LEAST; i++) {
    if (i > 0 && is_repeated(A, i)) continue;
    any = any || A->row_start[i + 1] > A->row_start[i];
    size = divide_by_runs(A, i, divide(size, i));
  }
  return any && size >= LEAST && size <= MOST && A->block_rows / size >= FEWEST ? (int)size : 0;
}

void karst_blocks_note(const karst_matrix *A, const char *path)
{
  const int size = karst_blocks_find(A);
  if (size > 0)
    karst_tell(A->context, KARST_MESSAGE_NOTE,
               "%s: it looks like blocks of %d, as rows and columns come in equal patterns: --block %d", path, size,
               size);
}
