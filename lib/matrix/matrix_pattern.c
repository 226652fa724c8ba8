/* matrix_pattern.c - checks patterns, fetches them to the host, and searches them for the diagonal and the widest
 * row. */
#include "lib/matrix/matrix.h"

#include "lib/base/search.h"
#include "lib/base/threads.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

__attribute__((format(printf, 2, 3))) static bool name_fault(char fault[KARST_FAULT_SIZE], const char *format, ...)
{
  va_list arguments;
  va_start(arguments, format);
  vsnprintf(fault, KARST_FAULT_SIZE, format, arguments);
  va_end(arguments);
  return false;
}

bool karst_rows_are_valid(karst_index block_rows, karst_index columns, karst_index first, const karst_index *row_start,
                          const karst_index *column, char fault[KARST_FAULT_SIZE])
{
  if (row_start[0] != 0) return name_fault(fault, "the row starts begin with %lld, not 0", (long long)row_start[0]);
  for (karst_index i = 0; i < block_rows; i++)
    if (row_start[i + 1] < row_start[i])
      return name_fault(fault, "block row %lld ends at %lld, before its start %lld", (long long)first + i,
                        (long long)row_start[i + 1], (long long)row_start[i]);
  for (karst_index i = 0; i < block_rows; i++)
    for (karst_index k = row_start[i]; k < row_start[i + 1]; k++) {
      const long long row = (long long)first + i, here = (long long)column[k];
      if (column[k] < 0 || column[k] >= columns)
        return name_fault(fault, "block row %lld has an entry in column %lld of %lld", row, here, (long long)columns);
      if (k > row_start[i] && column[k] == column[k - 1])
        return name_fault(fault, "block row %lld has two entries in column %lld", row, here);
      if (k > row_start[i] && column[k] < column[k - 1])
        return name_fault(fault, "block row %lld is not sorted: column %lld follows %lld", row, here,
                          (long long)column[k - 1]);
    }
  return true;
}

bool karst_pattern_is_valid(karst_index block_rows, const karst_index *row_start, const karst_index *column,
                            char fault[KARST_FAULT_SIZE])
{
  return karst_rows_are_valid(block_rows, block_rows, 0, row_start, column, fault);
}

karst_status karst_matrix_check(karst_context *context, karst_index block_rows, const karst_index *row_start,
                                const karst_index *column)
{
  char fault[KARST_FAULT_SIZE];
  if (!context) return KARST_ERROR_ARGUMENT;
  if (block_rows < 0)
    return karst_fail(context, KARST_ERROR_ARGUMENT, "a matrix of %lld block rows", (long long)block_rows);
  if (!row_start || (!column && block_rows > 0 && row_start[block_rows] > 0))
    return karst_fail(context, KARST_ERROR_ARGUMENT, "the matrix's pattern is NULL");
  if (!karst_pattern_is_valid(block_rows, row_start, column, fault))
    return karst_fail(context, KARST_ERROR_MATRIX, "%s", fault);
  return KARST_SUCCESS;
}

karst_status karst_matrix_check_whole(const karst_matrix *matrix, const char *what)
{
  if (!matrix->halo) return KARST_SUCCESS;
  return karst_fail(matrix->context, KARST_ERROR_ARGUMENT, "the matrix is spread over ranks, and %s a whole one", what);
}

/* Copies indices to the host, unless they are there. */
static karst_status fetch_indices(karst_context *context, int64_t count, const karst_index *memory, const char *what,
                                  karst_index **host)
{
  void *seen = NULL;
  if (*host) return KARST_SUCCESS;
  const karst_status status = context->backend->view(context, memory, (size_t)count * sizeof *memory, what, &seen);
  *host = seen;
  return status;
}

karst_status karst_matrix_fetch_pattern(const karst_matrix *matrix)
{
  karst_matrix *own = (karst_matrix *)matrix, *shape = (karst_matrix *)(matrix->shape ? matrix->shape : matrix);
  karst_context *context = matrix->context;
  if (own->row_start) return KARST_SUCCESS; /* set last */
  karst_status status =
      fetch_indices(context, shape->blocks, shape->device_column, "the matrix's columns", &shape->column);
  if (!status)
    status = fetch_indices(context, (int64_t)shape->block_rows + 1, shape->device_row_start, "the matrix's row starts",
                           &shape->row_start);
  if (status || own == shape) return status;
  own->column = shape->column;
  own->row_start = shape->row_start;
  return KARST_SUCCESS;
}

/* Returns the number of the diagonal block of block row i, or -1. */
static karst_index find_diagonal(const karst_matrix *matrix, karst_index i)
{
  return karst_find_column(matrix->column, matrix->row_start[i], matrix->row_start[i + 1], i);
}

/* Returns the first block row without its diagonal block, or block_rows. The device searches if it has the pattern and
 * can, else the host. */
static karst_index search_missing_diagonal(const karst_matrix *matrix)
{
  const struct karst_backend *backend = matrix->context->backend;
  const karst_index rows = matrix->block_rows;
  karst_index first;
  if (backend->missing_diagonal && matrix->device_column && rows > 0 &&
      !backend->missing_diagonal(matrix->context, matrix, &first))
    return first;
  first = rows;
  karst_piece piece = karst_begin(matrix->context, KARST_KIND_ONCE, rows);
#pragma omp parallel num_threads(piece.threads) reduction(min : first)
  {
    const karst_part part = karst_part_begin(&piece, rows);
    for (karst_index i = part.first; i < part.last; i++)
      if (i < first && find_diagonal(matrix, i) < 0) first = i;
    karst_part_end(&piece, &part);
  }
  karst_end(matrix->context, &piece);
  return first;
}

karst_index karst_matrix_find_missing_diagonal(const karst_matrix *matrix)
{
  int64_t *known = (int64_t *)&matrix->undiagonal, answer = __atomic_load_n(known, __ATOMIC_RELAXED);
  const karst_index rows = matrix->block_rows;
  if (answer == 0) {
    const karst_index first = search_missing_diagonal(matrix);
    answer = 1 + (int64_t)first;
    __atomic_store_n(known, answer, __ATOMIC_RELAXED);
  }
  return answer > rows ? -1 : (karst_index)(answer - 1);
}

karst_index karst_matrix_widest_row(const karst_matrix *matrix)
{
  int64_t *known = (int64_t *)&matrix->widest, answer = __atomic_load_n(known, __ATOMIC_RELAXED);
  const karst_index rows = matrix->block_rows;
  if (answer == 0) {
    karst_index widest = 0;
    for (karst_index i = 0; i < rows; i++) {
      const karst_index width = matrix->row_start[i + 1] - matrix->row_start[i];
      if (width > widest) widest = width;
    }
    answer = 1 + (int64_t)widest;
    __atomic_store_n(known, answer, __ATOMIC_RELAXED);
  }
  return (karst_index)(answer - 1);
}

karst_status karst_matrix_check_diagonal(const karst_matrix *matrix)
{
  if (!matrix) return KARST_ERROR_ARGUMENT;
  const karst_index row = karst_matrix_find_missing_diagonal(matrix);
  if (row < 0) return KARST_SUCCESS;
  return karst_fail(matrix->context, KARST_ERROR_MATRIX, "block row %lld has no diagonal entry",
                    (long long)row + karst_matrix_first_block_row(matrix));
}

karst_status karst_matrix_locate_diagonal(const karst_matrix *matrix, karst_index **diagonal)
{
  karst_context *context = matrix->context;
  karst_index *host;
  *diagonal = NULL;
  karst_status status = karst_matrix_check_diagonal(matrix);
  if (!status) status = karst_matrix_fetch_pattern(matrix);
  if (!status) status = karst_allocate(context, &host, matrix->block_rows, sizeof *host, "the diagonal's positions");
  if (status) return status;
  for (karst_index i = 0; i < matrix->block_rows; i++) host[i] = find_diagonal(matrix, i);
  status = karst_device_indices(context, matrix->block_rows, host, "the diagonal's positions", diagonal);
  karst_release(context, host);
  return status;
}
