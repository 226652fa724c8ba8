/* diagonal.cu - finds and inverts diagonal blocks on the GPU, and multiplies a vector by them. */
#include "gpu/block_inverse.h"
#include "gpu/launch.h"
#include "lib/base/search.h"

namespace
{

/* Keeps in *first the first block row without a diagonal block. */
__global__ void __launch_bounds__(KARST_CUDA_THREADS)
    find_missing(karst_index rows, const karst_index *start, const karst_index *column, unsigned long long *first)
{
  const int64_t i = (int64_t)blockIdx.x * blockDim.x + threadIdx.x;
  if (i < rows && karst_find_column(column, start[i], start[i + 1], (karst_index)i) < 0)
    atomicMin(first, (unsigned long long)i);
}

/* Keeps in *first the first singular block row and the reason: the smallest row * 256 - reason, where reasons are
 * negative. */
__device__ void record(unsigned long long *first, int64_t row, karst_reason reason)
{
  if (reason != KARST_SOUND) atomicMin(first, (unsigned long long)(row * 256 - reason));
}

/* Threads of a thread block of invert_small, where each thread inverts a block, which takes many registers. */
enum { INVERTED = 128 };

template <int B>
__global__ void __launch_bounds__(INVERTED)
    invert_small(karst_index rows, const karst_index *diagonal, const double *value, double *inverse,
                 unsigned long long *first)
{
  const int64_t i = (int64_t)blockIdx.x * blockDim.x + threadIdx.x;
  double block[B * B], inverted[B * B], work[2 * B];
  int pivot[B];
  if (i >= rows) return;
  const double *from = value + karst_cuda_offset(B, diagonal[i]);
  double *to = inverse + karst_cuda_offset(B, i);
#pragma unroll
  for (int e = 0; e < B * B; e++) block[e] = from[e];
  record(first, i, karst_block_inverse(B, block, block, inverted, work, pivot));
#pragma unroll
  for (int e = 0; e < B * B; e++) to[e] = inverted[e];
}

/* Each thread block inverts one block. */
__global__ void __launch_bounds__(KARST_CUDA_THREADS)
    invert_large(int b, const karst_index *diagonal, const double *value, double *inverse, unsigned long long *first)
{
  extern __shared__ double shared[];
  const int64_t i = blockIdx.x;
  const double *from = value + karst_cuda_offset(b, diagonal[i]);
  double *to = inverse + karst_cuda_offset(b, i);
  for (int e = (int)threadIdx.x; e < b * b; e += (int)blockDim.x) to[e] = from[e];
  __syncthreads();
  karst_reason reason = karst_cuda_invert(b, to, from, from, shared);
  if (threadIdx.x == 0) record(first, i, reason);
}

template <int B>
__global__ void __launch_bounds__(B ? KARST_CUDA_THREADS : 1024)
    multiply(int size, karst_index count, const double *__restrict__ S, const double *__restrict__ x,
             double *__restrict__ y)
{
  const int b = B ? B : size;
  karst_index i;
  int r;
  karst_cuda_begin();
  if (!karst_cuda_row(b, count, &i, &r)) return;
  const double *block = S + karst_cuda_offset(b, i) + r;
  double sum = 0;
#pragma unroll 8
  for (int c = 0; c < b; c++) sum += block[c * b] * x[(int64_t)i * b + c];
  y[(int64_t)i * b + r] = sum;
}

} // namespace

karst_status karst_missing_diagonal_cuda(karst_context *context, const karst_matrix *A, karst_index *block_row)
{
  const karst_cuda *cuda = karst_cuda_of(context);
  if (cudaPeekAtLastError() != cudaSuccess) return KARST_ERROR_DEVICE;
  unsigned long long *first = (unsigned long long *)cuda->partial, found = (unsigned long long)A->block_rows;
  karst_status status = karst_upload_cuda(context, first, &found, sizeof found);
  if (status) return status;
  find_missing<<<karst_cuda_grid(A->block_rows, KARST_CUDA_THREADS), KARST_CUDA_THREADS, 0, cuda->stream>>>(
      A->block_rows, A->device_row_start, A->device_column, first);
  status = karst_download_cuda(context, &found, first, sizeof found);
  *block_row = (karst_index)found;
  return status;
}

karst_status karst_invert_diagonal_cuda(karst_context *context, const karst_matrix *A, const karst_index *diagonal,
                                        double *inverse, karst_reason *reason, karst_index *block_row)
{
  const karst_cuda *cuda = karst_cuda_of(context);
  const karst_index rows = A->block_rows;
  const int b = A->block_size;
  unsigned long long *first = (unsigned long long *)cuda->partial, found;
  if (rows == 0) return KARST_SUCCESS;
  cudaMemsetAsync(first, 0xff, sizeof *first, cuda->stream);
  karst_cuda_instance(b, [&](auto size) {
    constexpr int B = decltype(size)::value;
    if constexpr (B > 0)
      invert_small<B>
          <<<karst_cuda_grid(rows, INVERTED), INVERTED, 0, cuda->stream>>>(rows, diagonal, A->value, inverse, first);
    else
      invert_large<<<(unsigned)rows, KARST_CUDA_THREADS, karst_cuda_invert_shared(b), cuda->stream>>>(
          b, diagonal, A->value, inverse, first);
  });
  karst_status status = karst_download_cuda(context, &found, first, sizeof found);
  if (status || found == ~0ULL) return status;
  *block_row = (karst_index)(found / 256);
  *reason = static_cast<karst_reason>(-(int)(found % 256));
  return KARST_SUCCESS;
}

void karst_multiply_diagonal_cuda(karst_context *context, karst_index count, int b, const double *S, const double *x,
                                  double *y)
{
  const karst_cuda *cuda = karst_cuda_of(context);
  karst_cuda_instance(b, [&](auto size) {
    karst_cuda_launch(cuda, multiply<decltype(size)::value>, karst_cuda_row_grid(count, b), karst_cuda_row_threads(b),
                      b, count, S, x, y);
  });
}
