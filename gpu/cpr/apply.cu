/* apply.cu - what CPR does in each iteration on the GPU, beside its two stages: r_p = W^T r, s = r - A E z_p and
 * z = z + E z_p.
 *
 * For small blocks, neighbouring threads read neighbouring elements into shared memory, where a thread for each element
 * of the result adds up its products. */
#include "gpu/cpr/cpr_cuda.h"

namespace
{

enum {
  THREADS = 256,
  EACH = 8 /* elements of pressure columns that a thread loads before it uses the first */,
  RESIDENT = 5 /* thread blocks of a multiprocessor at least */
};

/* A thread block has the block rows that it has threads for, and takes ROOM of their blocks at a time. */
template <int B>
__global__ void __launch_bounds__(THREADS, RESIDENT)
    subtract_small(karst_index rows, const karst_index *__restrict__ start, const karst_index *__restrict__ column,
                   const float *__restrict__ value, const double *unit, const double *r, const double *__restrict__ z_p,
                   double *s)
{
  constexpr int ROWS = THREADS / B, ROOM = THREADS * EACH / B, COLUMNS = (ROOM + THREADS - 1) / THREADS;
  __shared__ float a[THREADS * EACH];
  __shared__ double z[COLUMNS * THREADS];
  karst_cuda_begin();
  const int t = (int)threadIdx.x, e = t % B;
  const int64_t first = (int64_t)blockIdx.x * ROWS, i = first + t / B;
  const bool mine = t < ROWS * B && i < rows;
  const int64_t begin = start[first];
  const karst_index count = (karst_index)(start[min(first + ROWS, (int64_t)rows)] - begin);
  const karst_index end = mine ? (karst_index)(start[i + 1] - begin) : 0;
  karst_index k = mine ? (karst_index)(start[i] - begin) : 0;
  const double right = mine ? r[i * B + e] : 0;
  double sum = 0;
  for (karst_index base = 0; base < count; base += ROOM) {
    const karst_index many = min(count - base, (karst_index)ROOM);
    karst_index from[COLUMNS];
    float v[EACH];
#pragma unroll
    for (int u = 0; u < COLUMNS; u++) from[u] = t + u * THREADS < many ? column[begin + base + t + u * THREADS] : -1;
#pragma unroll
    for (int u = 0; u < EACH; u++) v[u] = t + u * THREADS < many * B ? value[(begin + base) * B + t + u * THREADS] : 0;
#pragma unroll
    for (int u = 0; u < COLUMNS; u++) z[t + u * THREADS] = from[u] >= 0 ? z_p[from[u]] : 0;
#pragma unroll
    for (int u = 0; u < EACH; u++) a[t + u * THREADS] = v[u];
    __syncthreads();
    const karst_index stop = min(end, base + ROOM);
#pragma unroll 4
    for (; k < stop; k++) sum += (double)a[(k - base) * B + e] * z[k - base];
    __syncthreads();
  }
  if (mine) s[i * B + e] = right - *unit * sum;
}

__global__ void __launch_bounds__(1024)
    subtract_large(int b, karst_index rows, const karst_index *__restrict__ start,
                   const karst_index *__restrict__ column, const float *__restrict__ value, const double *unit,
                   const double *r, const double *__restrict__ z_p, double *s)
{
  karst_index i;
  int e;
  karst_cuda_begin();
  if (!karst_cuda_row(b, rows, &i, &e)) return;
  double sum = 0;
#pragma unroll 4
  for (karst_index k = start[i]; k < start[i + 1]; k++) sum += (double)value[(int64_t)k * b + e] * z_p[column[k]];
  s[(int64_t)i * b + e] = r[(int64_t)i * b + e] - *unit * sum;
}

/* r_p = W^T r: neighbouring threads multiply neighbouring elements, and a thread for each cell adds up its products. */
template <int B>
__global__ void __launch_bounds__(KARST_CUDA_THREADS)
    restrict_small(karst_index rows, const double *__restrict__ weight, const double *__restrict__ r,
                   double *__restrict__ r_p)
{
  enum { CELLS = KARST_CUDA_THREADS };
  __shared__ double product[CELLS * B];
  karst_cuda_begin();
  const int t = (int)threadIdx.x;
  const int64_t first = (int64_t)blockIdx.x * CELLS, left = (rows - first) * B;
  double w[B], v[B];
#pragma unroll
  for (int e = 0; e < B; e++) {
    const int at = e * CELLS + t;
    w[e] = at < left ? weight[first * B + at] : 0;
    v[e] = at < left ? r[first * B + at] : 0;
  }
#pragma unroll
  for (int e = 0; e < B; e++) product[e * CELLS + t] = w[e] * v[e];
  __syncthreads();
  double sum = 0;
#pragma unroll
  for (int e = 0; e < B; e++) sum += product[t * B + e];
  if (first + t < rows) r_p[first + t] = sum;
}

/* The same for large blocks: a warp for each cell. */
__global__ void __launch_bounds__(KARST_CUDA_THREADS)
    restrict_large(int b, karst_index rows, const double *__restrict__ weight, const double *__restrict__ r,
                   double *__restrict__ r_p)
{
  karst_cuda_begin();
  const int64_t i = ((int64_t)blockIdx.x * blockDim.x + threadIdx.x) / 32;
  double sum = 0;
#pragma unroll 8
  for (int e = (int)threadIdx.x % 32; e < b && i < rows; e += 32) sum += weight[i * b + e] * r[i * b + e];
  sum = karst_cuda_warp_sum(sum);
  if (threadIdx.x % 32 == 0 && i < rows) r_p[i] = sum;
}

__global__ void __launch_bounds__(KARST_CUDA_THREADS)
    prolong_cells(int b, int pressure, karst_index rows, const double *__restrict__ z_p, double *__restrict__ z)
{
  karst_cuda_begin();
  const int64_t i = (int64_t)blockIdx.x * blockDim.x + threadIdx.x;
  if (i < rows) z[i * b + pressure] += z_p[i];
}

} // namespace

void karst_cpr_subtract_cuda(karst_context *context, const karst_matrix *A, const karst_cpr *cpr, const double *r,
                             const double *z_p, double *s)
{
  const karst_cuda *cuda = karst_cuda_of(context);
  const karst_index rows = cpr->rows, *start = A->device_row_start, *column = A->device_column;
  const int b = cpr->block_size;
  const double *unit = karst_cpr_cuda_of(cpr)->unit;
  const float *value = cpr->column;
  karst_cuda_instance(b, [&](auto size) {
    constexpr int B = decltype(size)::value;
    if constexpr (B > 0)
      karst_cuda_launch(cuda, subtract_small<B>, karst_cuda_grid(rows, THREADS / B), THREADS, rows, start, column,
                        value, unit, r, z_p, s);
    else
      karst_cuda_launch_after(cuda, subtract_large, karst_cuda_row_grid(rows, b), karst_cuda_row_threads(b), b, rows,
                              start, column, value, unit, r, z_p, s);
  });
}

void karst_cpr_restrict_cuda(karst_context *context, const karst_cpr *cpr, const double *r, double *r_p)
{
  const karst_cuda *cuda = karst_cuda_of(context);
  const int b = cpr->block_size;
  karst_cuda_instance(b, [&](auto size) {
    constexpr int B = decltype(size)::value;
    if constexpr (B > 0)
      karst_cuda_launch(cuda, restrict_small<B>, karst_cuda_grid(cpr->rows, KARST_CUDA_THREADS), KARST_CUDA_THREADS,
                        cpr->rows, cpr->weight, r, r_p);
    else
      karst_cuda_launch(cuda, restrict_large, karst_cuda_grid((int64_t)cpr->rows * 32, KARST_CUDA_THREADS),
                        KARST_CUDA_THREADS, b, cpr->rows, cpr->weight, r, r_p);
  });
}

void karst_cpr_prolong_cuda(karst_context *context, const karst_cpr *cpr, const double *z_p, double *z)
{
  karst_cuda_launch(karst_cuda_of(context), prolong_cells, karst_cuda_grid(cpr->rows, KARST_CUDA_THREADS),
                    KARST_CUDA_THREADS, cpr->block_size, cpr->pressure, cpr->rows, z_p, z);
}
