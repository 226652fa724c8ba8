/* apply.cu - what CPR does in each iteration on the GPU, beside its two stages: r_p = W^T r, s = r - A E z_p and
 * z = z + E z_p.
 *
 * subtract reads the pressure columns once. A lane of a warp has row e of every LANES-th block of a block row, so that
 * neighbours read neighbouring floats. */
#include "gpu/cpr/cpr_cuda.h"

namespace
{

enum {
  THREADS = 128,
  AHEAD = 4,     /* blocks that a lane loads before it uses the first */
  MOST_LANES = 8 /* for the blocks of a row */
};

template <int B, int LANES>
__global__ void __launch_bounds__(THREADS)
    subtract_small(karst_index rows, const karst_index *__restrict__ start, const karst_index *__restrict__ column,
                   const float *__restrict__ value, const double *unit, const double *r, const double *__restrict__ z_p,
                   double *s)
{
  constexpr int WIDTH = B * LANES, WARP_ROWS = 32 / WIDTH;
  karst_cuda_begin();
  const int lane = (int)threadIdx.x % 32, e = lane % B, turn = lane % WIDTH / B;
  const int64_t i = ((int64_t)blockIdx.x * (THREADS / 32) + threadIdx.x / 32) * WARP_ROWS + lane / WIDTH;
  const bool mine = lane < WARP_ROWS * WIDTH && i < rows;
  const int64_t end = mine ? start[i + 1] : 0;
  double sum = 0;
#pragma unroll 1
  for (int64_t k = mine ? start[i] + turn : 0; k < end; k += LANES * AHEAD) {
    karst_index from[AHEAD];
    float a[AHEAD];
    double z[AHEAD];
#pragma unroll
    for (int u = 0; u < AHEAD; u++) {
      const int64_t at = k + u * LANES;
      from[u] = at < end ? column[at] : 0;
      a[u] = at < end ? value[at * B + e] : 0;
    }
#pragma unroll
    for (int u = 0; u < AHEAD; u++) z[u] = k + u * LANES < end ? z_p[from[u]] : 0;
#pragma unroll
    for (int u = 0; u < AHEAD; u++) sum += (double)a[u] * z[u];
  }
#pragma unroll
  for (int distance = LANES / 2; distance > 0; distance /= 2) sum += __shfl_down_sync(0xffffffff, sum, distance * B);
  if (mine && turn == 0) s[i * B + e] = r[i * B + e] - *unit * sum;
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

/* Launches the instance that has lanes for rows of this mean length. */
template <int B, int LANES, typename... P>
void launch_small(const karst_cuda *cuda, int64_t blocks, karst_index rows, P... arguments)
{
  constexpr int ROWS = 32 / (B * LANES) * (THREADS / 32);
  if constexpr (LANES < MOST_LANES && 2 * LANES * B <= 32)
    if (blocks > (int64_t)rows * LANES * AHEAD) {
      launch_small<B, 2 * LANES>(cuda, blocks, rows, arguments...);
      return;
    }
  karst_cuda_launch_after(cuda, subtract_small<B, LANES>, karst_cuda_grid(rows, ROWS), THREADS, rows, arguments...);
}

/* r_p = W^T r: products of neighbouring elements by neighbouring threads, and their sum by a thread for each cell, which
 * reads them in shared memory. */
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
      launch_small<B, 1>(cuda, A->blocks, rows, start, column, value, unit, r, z_p, s);
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
