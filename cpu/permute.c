/* permute.c - permutes a matrix's pattern on the CPU, where host arrays are device arrays too. */
#include "cpu/cpu.h"
#include "lib/matrix/matrix.h"
#include "symbolic/symbolic.h"

karst_status karst_permute_cpu(karst_context *context, const karst_matrix *A, const karst_index *permutation,
                               karst_permuted *permuted)
{
  karst_status status = karst_pattern_permute(context, A->block_rows, A->row_start, A->column, permutation,
                                              &permuted->row_start, &permuted->column, &permuted->source);
  permuted->device_row_start = permuted->row_start;
  permuted->device_column = permuted->column;
  permuted->device_source = permuted->source;
  return status;
}
