/* matrix_cpu.c - block CSR matrix times vector on the CPU. Rows are shared out so that each thread has as many blocks.
 * Each row is summed by one thread in storage order: the same bits for every number of threads. */
#include "cpu.h"
#include "dense.h"
#include "matrix.h"

/* Larger blocks are streams of their own that the processor follows by itself. */
enum { LARGEST_PREFETCHED = 2 };

/* y = A x, or y = right - A x, for block rows first .. last - 1 */
typedef void multiply_rows_function(const karst_matrix *A, karst_index first, karst_index last, const double *x,
                                    const double *right, double *y);

KARST_INLINE void multiply_rows(int b, const karst_matrix *A, karst_index first, karst_index last,
                                const double *restrict x, const double *restrict right, double *restrict y)
{
  const karst_index *start = A->row_start, *column = A->column;
  for (karst_index i = first; i < last; i++) {
    const karst_index blocks = start[i + 1] - start[i];
    double sum[b];
    if (b <= LARGEST_PREFETCHED) {
      karst_prefetch(A->value + karst_block_offset(b, start[i]), karst_block_offset(b, blocks) * 8,
                     KARST_PREFETCH_VALUES);
      karst_prefetch(column + start[i], (int64_t)sizeof *column * blocks, KARST_PREFETCH_COLUMNS);
    }
    for (int r = 0; r < b; r++) sum[r] = 0;
    for (karst_index k = start[i]; k < start[i + 1]; k++)
      karst_block_add_product(b, A->value + karst_block_offset(b, k), x + (int64_t)column[k] * b, sum);
    for (int r = 0; r < b; r++) {
      int64_t at = (int64_t)i * b + r;
      y[at] = right ? right[at] - sum[r] : sum[r];
    }
  }
}

#define INSTANCE(B)                                                                                                    \
  KARST_KERNEL static void multiply_rows_##B(const karst_matrix *A, karst_index first, karst_index last,               \
                                             const double *x, const double *right, double *y)                          \
  {                                                                                                                    \
    multiply_rows(B, A, first, last, x, right, y);                                                                     \
  }
KARST_BLOCK_SIZES(INSTANCE)
#undef INSTANCE

KARST_KERNEL static void multiply_rows_any(const karst_matrix *A, karst_index first, karst_index last, const double *x,
                                           const double *right, double *y)
{
  multiply_rows(A->block_size, A, first, last, x, right, y);
}

static void multiply(karst_context *context, const karst_matrix *A, const double *x, const double *right, double *y)
{
#define ENTRY(B) [B] = multiply_rows_##B,
  static multiply_rows_function *const instance[] = {KARST_BLOCK_SIZES(ENTRY)};
#undef ENTRY
  multiply_rows_function *rows =
      A->block_size <= KARST_BLOCK_SIZE_LARGEST_INSTANCE ? instance[A->block_size] : multiply_rows_any;
  (void)context;
#pragma omp parallel num_threads(karst_threads_for(context, karst_entries(A)))
  {
    karst_index first = karst_share_rows(A->block_rows, A->row_start, karst_thread(), karst_team());
    karst_index last = karst_share_rows(A->block_rows, A->row_start, karst_thread() + 1, karst_team());
    rows(A, first, last, x, right, y);
  }
}

void karst_multiply_cpu(karst_context *context, const karst_matrix *A, const double *x, double *y)
{
  multiply(context, A, x, NULL, y);
}

void karst_residual_cpu(karst_context *context, const karst_matrix *A, const double *b, const double *x, double *r,
                        double *norm2)
{
  const double *const vector = r;
  multiply(context, A, x, b, r);
  if (norm2) karst_dots_cpu(context, (int64_t)A->block_rows * A->block_size, 1, &vector, r, norm2);
}
