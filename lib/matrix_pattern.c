/* matrix_pattern.c - a pattern that several matrices share, each with values of its own. */
#include "matrix.h"

karst_status karst_matrix_adopt_pattern(karst_context *context, karst_index block_rows, int block_size,
                                        karst_index *row_start, karst_index *column, karst_matrix **pattern)
{
  const int64_t rows = (int64_t)block_rows + 1;
  karst_status status = karst_allocate_zero(context, pattern, 1, sizeof **pattern, "a pattern");
  if (status) {
    karst_release(context, row_start);
    karst_release(context, column);
    return status;
  }
  karst_matrix *made = *pattern;
  *made = (karst_matrix){.context = context,
                         .block_rows = block_rows,
                         .block_size = block_size,
                         .rows_unpadded = (int64_t)block_rows * block_size,
                         .row_start = row_start,
                         .column = column,
                         .device_row_start = row_start,
                         .device_column = column,
                         .owns_pattern = true};
  karst_count_object(context, 1);
  made->entries = karst_entries(made);
  if (context->backend->host_memory) return KARST_SUCCESS;
  made->device_row_start = made->device_column = NULL;
  status = karst_device_indices(context, rows, row_start, "the matrix's row starts", &made->device_row_start);
  if (!status)
    status =
        karst_device_indices(context, karst_matrix_blocks(made), column, "the matrix's columns", &made->device_column);
  if (status) {
    karst_matrix_destroy(made);
    *pattern = NULL;
  }
  return status;
}

karst_status karst_matrix_on_pattern(const karst_matrix *pattern, int64_t rows_unpadded, const char *what,
                                     karst_matrix **matrix)
{
  karst_context *context = pattern->context;
  const int64_t entries = karst_entries(pattern);
  karst_status status = karst_allocate(context, matrix, 1, sizeof **matrix, "a matrix");
  if (status) return status;
  karst_matrix *made = *matrix;
  *made = *pattern;
  made->rows_unpadded = rows_unpadded;
  made->owns_pattern = false;
  made->borrows_device_pattern = true;
  karst_count_object(context, 1);
  if (context->backend->host_memory) /* a matrix there has its values from karst_allocate */
    status = karst_allocate(context, &made->value, entries, sizeof *made->value, what);
  else
    status = karst_device_doubles(context, entries, what, &made->value);
  if (status) {
    karst_matrix_destroy(made);
    *matrix = NULL;
  }
  return status;
}
