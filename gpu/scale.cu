/* scale.cu - scales the rows and columns of a matrix on the GPU. It runs for new values only. */
#include "gpu/cuda.h"

namespace
{

/* A(i,j) = S(i) A(i,j). A warp scales a block row, in which a lane takes whole columns of blocks. */
template <int B>
__global__ void __launch_bounds__(KARST_CUDA_THREADS)
    scale_small(karst_index rows, const karst_index *start, double *value, const double *S)
{
  const int64_t i = ((int64_t)blockIdx.x * blockDim.x + threadIdx.x) / 32;
  if (i >= rows) return;
  const int64_t end = (int64_t)start[i + 1] * B;
  const double *scale = S + karst_cuda_offset(B, i);
  for (int64_t c = (int64_t)start[i] * B + threadIdx.x % 32; c < end; c += 32) {
    double column[B], product[B] = {};
#pragma unroll
    for (int r = 0; r < B; r++) column[r] = value[c * B + r];
    karst_block_add_product(B, scale, column, product);
#pragma unroll
    for (int r = 0; r < B; r++) value[c * B + r] = product[r];
  }
}

/* The same for larger blocks. A thread block scales a block row, column after column. */
__global__ void __launch_bounds__(KARST_CUDA_THREADS)
    scale_large(int b, const karst_index *start, double *value, const double *S)
{
  __shared__ double column[KARST_BLOCK_SIZE_MAX];
  const int64_t i = blockIdx.x, end = (int64_t)start[i + 1] * b;
  const double *scale = S + karst_cuda_offset(b, i);
  for (int64_t c = (int64_t)start[i] * b; c < end; c++) {
    for (int r = (int)threadIdx.x; r < b; r += (int)blockDim.x) column[r] = value[c * b + r];
    __syncthreads();
    for (int r = (int)threadIdx.x; r < b; r += (int)blockDim.x) {
      double sum = 0;
      for (int s = 0; s < b; s++) sum += scale[s * b + r] * column[s];
      value[c * b + r] = sum;
    }
    __syncthreads();
  }
}

/* d[r] = 1 / sqrt|a_rr|. A thread makes one scalar row. */
__global__ void diagonal_scale(int b, karst_index rows, const karst_index *diagonal, const double *value, double *d)
{
  karst_index i;
  int r;
  if (!karst_cuda_row(b, rows, &i, &r)) return;
  double size = fabs(value[karst_cuda_offset(b, diagonal[i]) + (int64_t)r * b + r]);
  d[(int64_t)i * b + r] = size > 0 && size <= DBL_MAX ? 1 / sqrt(size) : 1;
}

/* a_rc = d[r] a_rc d[c]. A thread scales one scalar row. */
__global__ void scale_symmetric(int b, karst_index rows, const karst_index *start, const karst_index *column,
                                double *value, const double *d)
{
  karst_index i;
  int r;
  if (!karst_cuda_row(b, rows, &i, &r)) return;
  const double scale = d[(int64_t)i * b + r];
  for (karst_index k = start[i]; k < start[i + 1]; k++)
    for (int c = 0; c < b; c++)
      value[karst_cuda_offset(b, k) + (int64_t)c * b + r] *= scale * d[(int64_t)column[k] * b + c];
}

} // namespace

void karst_scale_rows_cuda(karst_context *context, karst_matrix *A, const double *S)
{
  const karst_cuda *cuda = karst_cuda_of(context);
  const karst_index rows = A->block_rows;
  const int b = A->block_size;
  if (rows == 0) return;
  karst_cuda_instance(b, [&](auto size) {
    constexpr int B = decltype(size)::value;
    if constexpr (B > 0)
      scale_small<B><<<karst_cuda_grid(rows, KARST_CUDA_THREADS / 32), KARST_CUDA_THREADS, 0, cuda->stream>>>(
          rows, A->device_row_start, A->value, S);
    else
      scale_large<<<(unsigned)rows, KARST_CUDA_THREADS, 0, cuda->stream>>>(b, A->device_row_start, A->value, S);
  });
}

void karst_diagonal_scale_cuda(karst_context *context, const karst_matrix *A, const karst_index *diagonal, double *d)
{
  const int b = A->block_size;
  diagonal_scale<<<karst_cuda_row_grid(A->block_rows, b), karst_cuda_row_threads(b), 0,
                   karst_cuda_of(context)->stream>>>(b, A->block_rows, diagonal, A->value, d);
}

void karst_scale_symmetric_cuda(karst_context *context, karst_matrix *A, const double *d)
{
  const int b = A->block_size;
  scale_symmetric<<<karst_cuda_row_grid(A->block_rows, b), karst_cuda_row_threads(b), 0,
                    karst_cuda_of(context)->stream>>>(b, A->block_rows, A->device_row_start, A->device_column, A->value,
                                                      d);
}
