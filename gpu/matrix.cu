/* matrix.cu - block CSR matrix times vector on the GPU: y = A x, or y = right - A x. Three kernels, by block size:
 *
 * 1: a thread block takes as many rows as it has threads and streams their entries through. First each thread
 * multiplies entries, wherever they come to lie, by their scalars of x, so that neighbours read neighbouring values and
 * many loads are under way at once; then each thread adds up one row's products, from shared memory. Long rows take
 * several chunks. After Greathouse and Daga, Efficient Sparse Matrix-Vector Multiplication on GPUs using the CSR
 * Storage Format, SC14 (CSR-stream).
 *
 * 2 to 8: a few lanes of a warp for each scalar row take the row's blocks in turn. The lanes of a block row read whole
 * blocks together; what one load leaves of a cache line the next ones find there.
 *
 * Larger: one thread for each scalar row, which is long enough for that.
 *
 * A row is summed in an order that depends on its length alone. */
#include "cuda.h"

enum {
  THREADS = KARST_CUDA_THREADS,
  DEPTH = 8, /* entries that a thread multiplies in a chunk: rows of a 7-point stencil make one chunk */
  AHEAD = 4, /* of which it loads this many before it uses the first */
  LANES = 4  /* for each scalar row of small blocks; a power of two */
};

static __global__ void __launch_bounds__(THREADS)
    multiply_scalar(karst_index rows, const karst_index *__restrict__ start, const karst_index *__restrict__ column,
                    const double *__restrict__ value, const double *__restrict__ x, const double *__restrict__ right,
                    double *__restrict__ y)
{
  enum { CHUNK = THREADS * DEPTH };
  __shared__ double product[CHUNK];
  const int t = (int)threadIdx.x;
  const int64_t first = (int64_t)blockIdx.x * THREADS, i = first + t; /* 64 bits: sums beyond the last row or entry */
  const int64_t tile_end = start[rows - first < THREADS ? rows : first + THREADS];
  const int64_t begin = i < rows ? start[i] : tile_end, end = i < rows ? start[i + 1] : tile_end;
  double sum = 0;
  for (int64_t chunk = start[first]; chunk < tile_end; chunk += CHUNK) {
    const int entries = tile_end - chunk < CHUNK ? (int)(tile_end - chunk) : CHUNK;
#pragma unroll
    for (int depth = 0; depth < DEPTH; depth += AHEAD) {
      double a[AHEAD];
      karst_index from[AHEAD];
#pragma unroll
      for (int s = 0; s < AHEAD; s++) {
        const int p = (depth + s) * THREADS + t;
        from[s] = p < entries ? column[chunk + p] : 0;
        a[s] = p < entries ? value[chunk + p] : 0;
      }
#pragma unroll
      for (int s = 0; s < AHEAD; s++) {
        const int p = (depth + s) * THREADS + t;
        if (p < entries) product[p] = a[s] * x[from[s]];
      }
    }
    __syncthreads();
    const int low = begin > chunk ? (int)(begin - chunk) : 0, high = end - chunk < CHUNK ? (int)(end - chunk) : CHUNK;
    for (int p = low; p < high; p++) sum += product[p];
    __syncthreads();
  }
  if (i < rows) y[i] = right ? right[i] - sum : sum;
}

template <int B>
static __global__ void __launch_bounds__(THREADS)
    multiply_small(karst_index rows, const karst_index *__restrict__ start, const karst_index *__restrict__ column,
                   const double *__restrict__ value, const double *__restrict__ x, const double *__restrict__ right,
                   double *__restrict__ y)
{
  enum { WIDTH = B * LANES, ROWS = 32 / WIDTH }; /* lanes of a block row, block rows of a warp */
  const int lane = (int)threadIdx.x % 32, r = lane % B, turn = lane % WIDTH / B;
  const int64_t i = ((int64_t)blockIdx.x * (THREADS / 32) + threadIdx.x / 32) * ROWS + lane / WIDTH;
  const bool mine = lane < ROWS * WIDTH && i < rows;
  double sum = 0;
  if (mine) {
    const int64_t end = start[i + 1];
#pragma unroll 1 /* registers are better spent on more warps */
    for (int64_t k = start[i] + turn; k < end; k += LANES) {
      const double *block = value + karst_cuda_offset(B, k) + r, *part = x + (int64_t)column[k] * B;
#pragma unroll
      for (int c = 0; c < B; c++) sum += block[c * B] * part[c];
    }
  }
#pragma unroll
  for (int distance = LANES / 2; distance > 0; distance /= 2) sum += __shfl_down_sync(0xffffffff, sum, distance * B);
  if (!mine || turn > 0) return;
  const int64_t at = i * B + r;
  y[at] = right ? right[at] - sum : sum;
}

static __global__ void __launch_bounds__(1024)
    multiply_large(int b, karst_index rows, const karst_index *__restrict__ start,
                   const karst_index *__restrict__ column, const double *__restrict__ value,
                   const double *__restrict__ x, const double *__restrict__ right, double *__restrict__ y)
{
  karst_index i;
  int r;
  if (!karst_cuda_row(b, rows, &i, &r)) return;
  double sum = 0;
  for (karst_index k = start[i]; k < start[i + 1]; k++) {
    const double *block = value + karst_cuda_offset(b, k) + r, *part = x + (int64_t)column[k] * b;
#pragma unroll 8
    for (int c = 0; c < b; c++) sum += block[c * b] * part[c];
  }
  const int64_t at = (int64_t)i * b + r;
  y[at] = right ? right[at] - sum : sum;
}

static void multiply(karst_context *context, const karst_matrix *A, const double *x, const double *right, double *y)
{
  const karst_cuda *cuda = karst_cuda_of(context);
  const karst_index rows = A->block_rows, *start = A->device_row_start, *column = A->device_column;
  const int b = A->block_size;
  if (rows == 0) return;
  karst_cuda_instance(b, [&](auto size) {
    constexpr int B = decltype(size)::value;
    if constexpr (B == 1)
      multiply_scalar<<<karst_cuda_grid(rows, THREADS), THREADS, 0, cuda->stream>>>(rows, start, column, A->value, x,
                                                                                    right, y);
    else if constexpr (B > 1)
      multiply_small<B><<<karst_cuda_grid(rows, 32 / (B * LANES) * (THREADS / 32)), THREADS, 0, cuda->stream>>>(
          rows, start, column, A->value, x, right, y);
    else
      multiply_large<<<karst_cuda_row_grid(rows, b), karst_cuda_row_threads(b), 0, cuda->stream>>>(
          b, rows, start, column, A->value, x, right, y);
  });
}

void karst_multiply_cuda(karst_context *context, const karst_matrix *A, const double *x, double *y)
{
  multiply(context, A, x, NULL, y);
}

void karst_residual_cuda(karst_context *context, const karst_matrix *A, const double *b, const double *x, double *r,
                         double *norm2)
{
  const double *const vector = r;
  multiply(context, A, x, b, r);
  if (norm2) karst_dots_cuda(context, (int64_t)A->block_rows * A->block_size, 1, &vector, r, norm2);
}
