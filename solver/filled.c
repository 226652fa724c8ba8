/* filled.c - makes a matrix with room for the fill of incomplete factors. Its pattern is that of L + U of ILU(k), found
 * on the host; the values of A are copied to their positions on the device. The file is not in lib/, because that room
 * does not call symbolic/. */
#include "lib/grid/grid.h"
#include "symbolic/symbolic.h"

/* Makes the matrix with undefined values. (*position)[k]: the number of its block for block k of A, [blocks of A] in
 * host memory. */
static karst_status make_joined(const karst_matrix *A, int level, karst_index **position, karst_matrix **filled)
{
  karst_context *context = A->context;
  karst_ilu_pattern pattern;
  karst_index *row_start, *column;
  *position = NULL;
  karst_status status = karst_ilu_symbolic(context, A->block_rows, A->row_start, A->column, level, &pattern);
  if (status) return status;
  status = karst_ilu_pattern_join(context, &pattern, A->row_start, A->column, &row_start, &column, position);
  karst_ilu_pattern_destroy(context, &pattern);
  if (status) return status;
  return karst_matrix_adopt(context, A->block_rows, A->block_size, A->rows_unpadded, row_start, column, NULL, filled);
}

karst_status karst_matrix_create_filled(const karst_matrix *A, int level, karst_matrix **filled)
{
  karst_index *position;
  if (filled) *filled = NULL;
  if (!A || !filled) return karst_missing(A ? A->context : NULL, A ? "the place for the matrix" : "the matrix");
  if (level < 0) return karst_fail(A->context, KARST_ERROR_ARGUMENT, "level %d of ILU(k) is negative", level);
  karst_status status = karst_matrix_check_whole(A, "the fill is that of");
  if (!status) status = karst_matrix_check_diagonal(A);
  if (status) return status;
  status = make_joined(A, level, &position, filled);
  if (!status) status = karst_matrix_spread_values(A, position, *filled);
  if (!status) status = karst_matrix_copy_grid(A, NULL, *filled);
  karst_release(A->context, position);
  if (!status) return KARST_SUCCESS;
  karst_matrix_destroy(*filled);
  *filled = NULL;
  return status;
}
