/* matrix_diagonal.c - makes the matrix that has a diagonal block in each block row. The pattern is made on the host;
 * the values move within their memory. */
#include "lib/grid/grid.h"

/* Returns the number of blocks of block row i before its diagonal. */
static karst_index before_diagonal(const karst_matrix *A, karst_index i)
{
  karst_index k = A->row_start[i];
  while (k < A->row_start[i + 1] && A->column[k] < i) k++;
  return k - A->row_start[i];
}

/* Returns whether the block of block row i after the first count ones is its diagonal block. */
static bool is_diagonal(const karst_matrix *A, karst_index i, karst_index count)
{
  const karst_index k = A->row_start[i] + count;
  return k < A->row_start[i + 1] && A->column[k] == i;
}

static int64_t count_missing(const karst_matrix *A)
{
  int64_t missing = 0;
  for (karst_index i = 0; i < A->block_rows; i++) missing += !is_diagonal(A, i, before_diagonal(A, i));
  return missing;
}

/* Stores the new pattern, and in position[k] the place of block k of A in it. */
static void extend(const karst_matrix *A, karst_index *row_start, karst_index *column, karst_index *position)
{
  karst_index end = 0;
  for (karst_index i = 0; i < A->block_rows; i++) {
    const karst_index first = A->row_start[i], before = before_diagonal(A, i);
    const bool missing = !is_diagonal(A, i, before);
    row_start[i] = end;
    for (karst_index k = first; k < A->row_start[i + 1]; k++) {
      if (missing && k == first + before) column[end++] = i;
      position[k] = end;
      column[end++] = A->column[k];
    }
    if (missing && first + before == A->row_start[i + 1]) column[end++] = i;
  }
  row_start[A->block_rows] = end;
}

/* Makes the matrix on the new pattern, with undefined values. */
static karst_status make_extended(const karst_matrix *A, int64_t blocks, karst_index *position, karst_matrix **result)
{
  karst_context *context = A->context;
  karst_index *row_start = NULL, *column = NULL;
  karst_status status =
      karst_allocate(context, &row_start, (int64_t)A->block_rows + 1, sizeof *row_start, "the matrix's row starts");
  if (!status) status = karst_allocate(context, &column, blocks, sizeof *column, "the matrix's columns");
  if (status) {
    karst_release(context, row_start);
    return status;
  }
  extend(A, row_start, column, position);
  return karst_matrix_adopt(context, A->block_rows, A->block_size, A->rows_unpadded, row_start, column, NULL, result);
}

karst_status karst_matrix_insert_diagonal(const karst_matrix *A, karst_matrix **result, karst_index *inserted)
{
  karst_index *position = NULL;
  if (result) *result = NULL;
  if (inserted) *inserted = 0;
  if (!A || !result) return karst_missing(A ? A->context : NULL, A ? "the place for the matrix" : "the matrix");
  const int64_t old = A->row_start[A->block_rows], missing = count_missing(A);
  karst_status status = karst_matrix_check_whole(A, "the diagonal is inserted into");
  if (status) return status;
  if (missing > KARST_INDEX_MAX - old)
    return karst_fail(A->context, KARST_ERROR_INDEX_OVERFLOW,
                      "%lld blocks and %lld on the diagonal are more than the index type can count", (long long)old,
                      (long long)missing);
  status = karst_allocate(A->context, &position, old, sizeof *position, "the places of blocks");
  if (!status) status = make_extended(A, old + missing, position, result);
  if (!status) status = karst_matrix_spread_values(A, position, *result);
  if (!status) status = karst_matrix_copy_grid(A, NULL, *result);
  karst_release(A->context, position);
  if (status) {
    karst_matrix_destroy(*result);
    *result = NULL;
    return status;
  }
  (*result)->entries = A->entries;
  if (inserted) *inserted = (karst_index)missing;
  return KARST_SUCCESS;
}
