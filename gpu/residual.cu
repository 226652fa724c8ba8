/* residual.cu - verifies convergence. A thread computes one scalar row. These kernels are called rarely and were never
 * tuned.
 *
 * One computes |b| + |A| |x|, which bounds the rounding errors of b - A x. The other computes b - A x to twice the
 * working precision. Its sums are those of cpu/residual.c, in the same order; the intrinsics keep the compiler from
 * contracting a product with a sum. */
#include "gpu/cuda.h"

static __global__ void size_rows(int b, karst_index rows, const karst_index *__restrict__ start,
                                 const karst_index *__restrict__ column, const double *__restrict__ value,
                                 const double *__restrict__ right, const double *__restrict__ x,
                                 double *__restrict__ size)
{
  karst_index i;
  int r;
  if (!karst_cuda_row(b, rows, &i, &r)) return;
  const int64_t at = (int64_t)i * b + r;
  double sum = fabs(right[at]);
  for (karst_index k = start[i]; k < start[i + 1]; k++)
    for (int c = 0; c < b; c++)
      sum += fabs(value[karst_cuda_offset(b, k) + (int64_t)c * b + r] * x[(int64_t)column[k] * b + c]);
  size[at] = sum;
}

static __global__ void residual_rows(int b, karst_index rows, const karst_index *__restrict__ start,
                                     const karst_index *__restrict__ column, const double *__restrict__ value,
                                     const double *__restrict__ right, const double *__restrict__ x,
                                     double *__restrict__ result)
{
  karst_index i;
  int r;
  if (!karst_cuda_row(b, rows, &i, &r)) return;
  const int64_t at = (int64_t)i * b + r;
  double sum = right[at], error = 0;
  for (karst_index k = start[i]; k < start[i + 1]; k++)
    for (int c = 0; c < b; c++) {
      const double a = -value[karst_cuda_offset(b, k) + (int64_t)c * b + r], factor = x[(int64_t)column[k] * b + c];
      const double product = __dmul_rn(a, factor), product_error = __fma_rn(a, factor, -product);
      const double next = __dadd_rn(sum, product), part = __dsub_rn(next, sum);
      const double sum_error = __dadd_rn(__dsub_rn(sum, __dsub_rn(next, part)), __dsub_rn(product, part));
      error = __dadd_rn(error, __dadd_rn(sum_error, product_error));
      sum = next;
    }
  result[at] = sum + error;
}

void karst_residual_bounded_cuda(karst_context *context, const karst_matrix *A, const double *b, const double *x,
                                 double *r, double *size, double *norm2)
{
  const karst_cuda *cuda = karst_cuda_of(context);
  const double *const vector = size;
  karst_residual_cuda(context, A, b, x, r, norm2);
  if (A->block_rows > 0)
    size_rows<<<karst_cuda_row_grid(A->block_rows, A->block_size), karst_cuda_row_threads(A->block_size), 0,
                cuda->stream>>>(A->block_size, A->block_rows, A->device_row_start, A->device_column, A->value, b, x,
                                size);
  karst_dots_cuda(context, karst_matrix_rows(A), 1, &vector, size, norm2 + 1);
}

void karst_residual_precise_cuda(karst_context *context, const karst_matrix *A, const double *b, const double *x,
                                 double *r, double *norm2)
{
  const karst_cuda *cuda = karst_cuda_of(context);
  const double *const vector = r;
  if (A->block_rows > 0)
    residual_rows<<<karst_cuda_row_grid(A->block_rows, A->block_size), karst_cuda_row_threads(A->block_size), 0,
                    cuda->stream>>>(A->block_size, A->block_rows, A->device_row_start, A->device_column, A->value, b, x,
                                    r);
  if (norm2) karst_dots_cuda(context, karst_matrix_rows(A), 1, &vector, r, norm2);
}
