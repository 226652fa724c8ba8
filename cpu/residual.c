/* residual.c - r = b - A x to twice the working precision on the CPU.
 *
 * Each row is a dot product summed with error-free transformations (Ogita, Rump and Oishi, SIAM J. Sci. Comput. 26
 * (2005), 1955-1988: Algorithms 3.1 TwoSum, 3.5 TwoProductFMA and 5.3 Dot2): the rounding errors of products and sums
 * are themselves summed and added at the end. The compiler must not contract sum + product. GCC does not contract a
 * product that an explicit fma uses too, nor clang one with a statement of its own; tests/lib/test_residual.c checks
 * this. */
#include "cpu/cpu.h"
#include "lib/matrix/matrix.h"

#include <math.h>

KARST_KERNEL static void residual_rows(const karst_matrix *A, karst_index first, karst_index last,
                                       const double *restrict b, const double *restrict x, double *restrict r)
{
  const karst_index *start = A->row_start, *column = A->column;
  int size = A->block_size;
  for (karst_index i = first; i < last; i++)
    for (int row = 0; row < size; row++) {
      double sum = b[(int64_t)i * size + row], error = 0;
      for (karst_index k = start[i]; k < start[i + 1]; k++)
        for (int c = 0; c < size; c++) {
          double a = -A->value[karst_block_offset(size, k) + (int64_t)c * size + row];
          double factor = x[(int64_t)column[k] * size + c];
          double product = a * factor, product_error = fma(a, factor, -product);
          double next = sum + product, part = next - sum;
          error += (sum - (next - part)) + (product - part) + product_error;
          sum = next;
        }
      r[(int64_t)i * size + row] = sum + error;
    }
}

void karst_residual_precise_cpu(karst_context *context, const karst_matrix *A, const double *b, const double *x,
                                double *r, double *norm2)
{
  const double *const vector = r;
  karst_piece piece = karst_begin(context, KARST_KIND_PRECISE, karst_entries(A));
#pragma omp parallel num_threads(piece.threads)
  {
    karst_index first = karst_share_rows(A->block_rows, A->row_start, karst_thread(), karst_team());
    karst_index last = karst_share_rows(A->block_rows, A->row_start, karst_thread() + 1, karst_team());
    residual_rows(A, first, last, b, x, r);
  }
  karst_end(context, &piece);
  if (norm2) karst_dots_cpu(context, (int64_t)A->block_rows * A->block_size, 1, &vector, r, norm2);
}
