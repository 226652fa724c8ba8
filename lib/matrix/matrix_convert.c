/* matrix_convert.c - makes the same matrix with another block size: gathers scalars into blocks or splits blocks into
 * scalars.
 *
 * Gathering merges the b sorted scalar rows of a block row: the block columns come out sorted, without a marker array
 * or a sort, in time proportional to b times the blocks. */
#include "lib/grid/grid.h"

#include <string.h>

/* The b scalar rows of one block row are merged; each has a position that moves on. */
typedef struct merge {
  const karst_index *row_start, *column; /* the scalar matrix */
  karst_layout layout;                   /* of the block matrix */
  int b;
  karst_index *next; /* [b] the entry of each scalar row that comes next */
  karst_index *end;  /* [b] one past the last entry of each scalar row */
} merge;

static void merge_begin(merge *m, karst_index block_row, int64_t rows)
{
  for (int r = 0; r < m->b; r++) {
    int64_t row = karst_layout_first(m->layout, block_row) + r;
    m->next[r] = row < rows ? m->row_start[row] : 0;
    m->end[r] = row < rows ? m->row_start[row + 1] : 0;
  }
}

/* Returns the next block column of the block row, or -1 at its end. */
static karst_index merge_peek(const merge *m)
{
  karst_index nearest = -1; /* the smallest scalar column that comes next */
  for (int r = 0; r < m->b; r++)
    if (m->next[r] < m->end[r]) {
      karst_index candidate = m->column[m->next[r]];
      if (nearest < 0 || candidate < nearest) nearest = candidate;
    }
  return nearest < 0 ? -1 : karst_layout_block_row(m->layout, nearest);
}

/* Moves past the entries of a block column and stores them in block, unless that is NULL. */
static void merge_take(merge *m, karst_index block_column, const double *scalar_value, double *block)
{
  const int64_t first = karst_layout_first(m->layout, block_column);
  const int64_t end = karst_layout_first(m->layout, block_column + 1);
  for (int r = 0; r < m->b; r++)
    for (; m->next[r] < m->end[r] && m->column[m->next[r]] < end; m->next[r]++)
      if (block) block[(m->column[m->next[r]] - first) * m->b + r] = scalar_value[m->next[r]];
}

/* Returns the number of blocks of block row i, and stores them in column and value unless column is NULL. */
static int64_t gather_row(merge *m, karst_index i, int64_t rows, const double *scalar_value, karst_index *column,
                          double *value)
{
  int64_t count = 0, bb = (int64_t)m->b * m->b, padding = karst_layout_first(m->layout, i + 1) - rows;
  karst_index block_column, last = -1;
  merge_begin(m, i, rows);
  while ((block_column = merge_peek(m)) >= 0) {
    double *block = column ? value + count * bb : NULL;
    if (block) memset(block, 0, (size_t)bb * sizeof *block);
    merge_take(m, block_column, scalar_value, block);
    if (column) column[count] = block_column;
    last = block_column;
    count++;
  }
  if (padding <= 0) return count;
  if (last != i) { /* i is the last block row, whose diagonal block comes last */
    if (column) column[count] = i;
    if (column) memset(value + count * bb, 0, (size_t)bb * sizeof *value);
    count++;
  }
  if (column)
    for (int64_t r = m->b - padding; r < m->b; r++) value[(count - 1) * bb + r * m->b + r] = 1;
  return count;
}

static karst_status merge_open(karst_context *context, const karst_matrix *A, int b, merge *m)
{
  const karst_layout layout = karst_layout_over(A->block_rows, b);
  *m = (merge){.row_start = A->row_start, .column = A->column, .layout = layout, .b = b};
  karst_status status = karst_allocate(context, &m->next, 2 * b, sizeof *m->next, "a row's positions");
  if (!status) m->end = m->next + b;
  return status;
}

karst_status karst_matrix_count_blocks(const karst_matrix *scalar, int b, int64_t *blocks)
{
  int64_t rows = scalar->block_rows;
  merge m;
  *blocks = 0;
  karst_status status = merge_open(scalar->context, scalar, b, &m);
  if (status) return status;
  for (karst_index i = 0; i < m.layout.block_rows; i++) *blocks += gather_row(&m, i, rows, NULL, NULL, NULL);
  karst_release(scalar->context, m.next);
  return KARST_SUCCESS;
}

/* Gathers the scalars of A into blocks of b. */
static karst_status gather_blocks(const karst_matrix *A, const double *scalar_value, int b, karst_matrix **result)
{
  karst_context *context = A->context;
  int64_t rows = A->block_rows, blocks = 0;
  karst_index *row_start = NULL, *column = NULL;
  double *value = NULL;
  merge m;
  karst_status status = merge_open(context, A, b, &m);
  if (status) return status;
  const karst_index block_rows = m.layout.block_rows;
  const int64_t padding = karst_layout_scalars(m.layout) - rows;
  status = karst_allocate(context, &row_start, (int64_t)block_rows + 1, sizeof *row_start, "the matrix's row starts");
  if (status) goto fail;
  for (karst_index i = 0; i < block_rows; i++) {
    row_start[i] = (karst_index)blocks; /* it fits: A has as many entries, except for one block of padding */
    blocks += gather_row(&m, i, rows, NULL, NULL, NULL);
  }
  row_start[block_rows] = (karst_index)blocks;
  status = karst_allocate(context, &column, blocks, sizeof *column, "the matrix's columns");
  if (!status)
    status = karst_allocate(context, &value, blocks, (size_t)b * (size_t)b * sizeof *value, "the matrix's values");
  if (status) goto fail;
  for (karst_index i = 0; i < block_rows; i++)
    gather_row(&m, i, rows, scalar_value, column + row_start[i], value + karst_block_offset(b, row_start[i]));
  karst_release(context, m.next);
  if (padding > 0)
    karst_notify(context, KARST_MESSAGE_NOTE,
                 "%lld rows are not a multiple of the block size %d: padded with %lld unit row%s", (long long)rows, b,
                 (long long)padding, padding == 1 ? "" : "s");
  return karst_matrix_adopt(context, block_rows, b, rows, row_start, column, value, result);

fail:
  karst_release(context, m.next);
  karst_release(context, row_start);
  karst_release(context, column);
  return status;
}

/* Stores row r of block row i in column and value, without the entries in padding columns. Returns their number. */
static int64_t split_row(const karst_matrix *A, const double *block_value, karst_index i, int r, karst_index *column,
                         double *value)
{
  const int b = A->block_size;
  int64_t count = 0;
  for (karst_index k = A->row_start[i]; k < A->row_start[i + 1]; k++) {
    const int64_t first = karst_layout_first(karst_matrix_layout(A), A->column[k]);
    const int width = karst_matrix_height(A, A->column[k]);
    for (int c = 0; c < width; c++) {
      column[count] = (karst_index)(first + c);
      value[count++] = block_value[karst_block_offset(b, k) + c * b + r];
    }
  }
  return count;
}

/* Splits the blocks of A into scalars and leaves out the padding. */
static karst_status split_blocks(const karst_matrix *A, const double *block_value, karst_matrix **result)
{
  karst_context *context = A->context;
  int64_t rows = A->rows_unpadded, entries = karst_entries(A), row = 0, end = 0;
  karst_index *row_start = NULL, *column = NULL;
  double *value = NULL;
  karst_status status = KARST_SUCCESS;
  if (entries != (int64_t)(karst_index)entries || rows != (int64_t)(karst_index)rows)
    return karst_fail(context, KARST_ERROR_INDEX_OVERFLOW, "%lld scalar entries are more than the index type can count",
                      (long long)entries);
  status = karst_allocate(context, &row_start, rows + 1, sizeof *row_start, "the matrix's row starts");
  if (!status) status = karst_allocate(context, &column, entries, sizeof *column, "the matrix's columns");
  if (!status) status = karst_allocate(context, &value, entries, sizeof *value, "the matrix's values");
  if (status) {
    karst_release(context, row_start);
    karst_release(context, column);
    return status;
  }
  for (karst_index i = 0; i < A->block_rows; i++)
    for (int r = 0; r < karst_matrix_height(A, i); r++) {
      row_start[row++] = (karst_index)end;
      end += split_row(A, block_value, i, r, column + end, value + end);
    }
  row_start[rows] = (karst_index)end;
  return karst_matrix_adopt(context, (karst_index)rows, 1, rows, row_start, column, value, result);
}

/* Copies a matrix. The values stay in the same memory. */
static karst_status duplicate(const karst_matrix *A, karst_matrix **result)
{
  karst_status status = karst_matrix_create(A->context, A->block_rows, A->block_size, A->row_start, A->column, A->value,
                                            KARST_COPY, result);
  if (status) return status;
  (*result)->rows_unpadded = A->rows_unpadded;
  (*result)->entries = A->entries;
  status = karst_matrix_copy_grid(A, NULL, *result);
  if (!status) return KARST_SUCCESS;
  karst_matrix_destroy(*result);
  *result = NULL;
  return status;
}

karst_status karst_matrix_convert(const karst_matrix *matrix, int block_size, karst_matrix **result)
{
  karst_matrix *scalar = NULL;
  double *value;
  karst_status status;
  if (result) *result = NULL;
  if (!matrix || !result) return karst_missing(matrix ? matrix->context : NULL, "the place for the matrix");
  if (block_size < 1 || block_size > KARST_BLOCK_SIZE_MAX)
    return karst_fail(matrix->context, KARST_ERROR_ARGUMENT, "block size %d: 1 to %d are possible", block_size,
                      KARST_BLOCK_SIZE_MAX);
  status = karst_matrix_check_whole(matrix, "a conversion takes");
  if (status) return status;
  if (matrix->block_size != 1 && block_size != 1 && block_size != matrix->block_size) {
    status = karst_matrix_convert(matrix, 1, &scalar);
    if (!status) status = karst_matrix_convert(scalar, block_size, result);
    karst_matrix_destroy(scalar);
    return status;
  }
  if (matrix->block_size == block_size) return duplicate(matrix, result);
  status = karst_matrix_host_value(matrix, &value);
  if (status) return status;
  if (block_size == 1)
    status = split_blocks(matrix, value, result);
  else
    status = gather_blocks(matrix, value, block_size, result);
  if (!status) (*result)->entries = matrix->entries;
  karst_matrix_host_value_done(matrix, value);
  return status;
}
