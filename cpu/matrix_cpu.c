/* matrix_cpu.c - block CSR matrix times vector on the CPU. Threads share the rows so that each has about as many
 * blocks. Each row is summed by one thread in storage order: the same bits for every number of threads. */
#include "cpu/cpu.h"
#include "lib/backend/dense.h"
#include "lib/matrix/matrix.h"

#include <math.h>

/* Larger blocks are streams that the processor prefetches by itself. */
enum { LARGEST_PREFETCHED = 2 };

/* Makes y = A x, or y = right - A x, for block rows first .. last - 1, and size = |right| + |A| |x| unless size is
 * NULL. */
typedef void multiply_rows_function(const karst_matrix *A, karst_index first, karst_index last, const double *x,
                                    const double *right, double *y, double *size);

KARST_INLINE void add_sizes(int b, const double *restrict a, const double *restrict x, double *restrict sum)
{
  for (int c = 0; c < b; c++)
    for (int r = 0; r < b; r++) sum[r] += fabs(a[c * b + r] * x[c]);
}

KARST_INLINE void multiply_rows(int b, const karst_matrix *A, karst_index first, karst_index last,
                                const double *restrict x, const double *restrict right, double *restrict y,
                                double *restrict size)
{
  const karst_index *start = A->row_start, *column = A->column;
  for (karst_index i = first; i < last; i++) {
    const karst_index blocks = start[i + 1] - start[i];
    double sum[b], sizes[b];
    if (b <= LARGEST_PREFETCHED) {
      karst_prefetch(A->value + karst_block_offset(b, start[i]), karst_block_offset(b, blocks) * 8,
                     KARST_PREFETCH_VALUES);
      karst_prefetch(column + start[i], (int64_t)sizeof *column * blocks, KARST_PREFETCH_COLUMNS);
    }
    for (int r = 0; r < b; r++) sum[r] = sizes[r] = 0;
    for (karst_index k = start[i]; k < start[i + 1]; k++) {
      karst_block_add_product(b, A->value + karst_block_offset(b, k), x + (int64_t)column[k] * b, sum);
      if (size) add_sizes(b, A->value + karst_block_offset(b, k), x + (int64_t)column[k] * b, sizes);
    }
    for (int r = 0; r < b; r++) {
      int64_t at = (int64_t)i * b + r;
      y[at] = right ? right[at] - sum[r] : sum[r];
      if (size) size[at] = fabs(right[at]) + sizes[r];
    }
  }
}

#define INSTANCE(B)                                                                                                    \
  KARST_KERNEL static void multiply_rows_##B(const karst_matrix *A, karst_index first, karst_index last,               \
                                             const double *x, const double *right, double *y, double *size)            \
  {                                                                                                                    \
    (void)size;                                                                                                        \
    multiply_rows(B, A, first, last, x, right, y, NULL);                                                               \
  }                                                                                                                    \
  KARST_KERNEL static void bounded_rows_##B(const karst_matrix *A, karst_index first, karst_index last,                \
                                            const double *x, const double *right, double *y, double *size)             \
  {                                                                                                                    \
    multiply_rows(B, A, first, last, x, right, y, size);                                                               \
  }
/* NOLINTNEXTLINE(readability-non-const-parameter): they share a type with those that write to size */
KARST_BLOCK_SIZES(INSTANCE)
#undef INSTANCE

KARST_KERNEL static void multiply_rows_any(const karst_matrix *A, karst_index first, karst_index last, const double *x,
                                           const double *right, double *y, double *size)
{
  multiply_rows(A->block_size, A, first, last, x, right, y, size);
}

static void multiply(karst_context *context, const karst_matrix *A, const double *x, const double *right, double *y,
                     double *size)
{
#define ENTRY(B) [B] = {multiply_rows_##B, bounded_rows_##B},
  static multiply_rows_function *const instance[][2] = {KARST_BLOCK_SIZES(ENTRY)};
#undef ENTRY
  multiply_rows_function *rows =
      A->block_size <= KARST_BLOCK_SIZE_LARGEST_INSTANCE ? instance[A->block_size][size != NULL] : multiply_rows_any;
  karst_piece piece = karst_begin(context, KARST_KIND_PRODUCT, karst_entries(A));
  if (piece.threads == 1)
    rows(A, 0, A->block_rows, x, right, y, size);
  else
#pragma omp parallel num_threads(piece.threads)
  {
    karst_index first = karst_share_rows(A->block_rows, A->row_start, karst_thread(), karst_team());
    karst_index last = karst_share_rows(A->block_rows, A->row_start, karst_thread() + 1, karst_team());
    rows(A, first, last, x, right, y, size);
  }
  karst_end(context, &piece);
}

void karst_multiply_cpu(karst_context *context, const karst_matrix *A, const double *x, double *y)
{
  multiply(context, A, x, NULL, y, NULL);
}

void karst_residual_cpu(karst_context *context, const karst_matrix *A, const double *b, const double *x, double *r,
                        double *norm2)
{
  const double *const vector = r;
  multiply(context, A, x, b, r, NULL);
  if (norm2) karst_dots_cpu(context, (int64_t)A->block_rows * A->block_size, 1, &vector, r, norm2);
}

void karst_residual_bounded_cpu(karst_context *context, const karst_matrix *A, const double *b, const double *x,
                                double *r, double *size, double *norm2)
{
  const double *const vector[] = {r, size};
  multiply(context, A, x, b, r, size);
  for (int i = 0; i < 2; i++)
    karst_dots_cpu(context, (int64_t)A->block_rows * A->block_size, 1, &vector[i], vector[i], &norm2[i]);
}
