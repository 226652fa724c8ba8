/* solve.cu - z = T^-1 r with the factors of lines on the GPU, in one launch, and the residual between two colours.
 *
 * Each step of a line waits for the one before, but only for its vector: what a step reads from memory is loaded some
 * steps ahead, so that a chain of short products remains. */
#include "gpu/launch.h"
#include "gpu/lines/lines_cuda.h"

namespace
{

enum { THREADS = 64 /* of a thread block: the warps are few */, WARP = 32 };

/* Steps whose data are loaded at once. Warps of larger blocks are more, and their loads larger. */
template <int B> constexpr int AHEAD = B == 1 ? 8 : B <= 3 ? 4 : B <= 5 ? 2 : 1;

/* A lane of a warp that follows a slice. */
struct lane {
  int line, r, base; /* its line, scalar row, and the lane with row 0 of the line */
  bool used;         /* the warp has fewer lines than lanes for them */
};

template <int B> __device__ __forceinline__ lane this_lane(const karst_lines_view &m)
{
  const int number = (int)threadIdx.x % WARP, line = number / B;
  return {line, number % B, number - number % B, line < m.width};
}

/* Returns the block row of a lane's line at a step, or -1. */
__device__ __forceinline__ karst_index row_at(const karst_lines_view &m, const lane &mine, karst_index step,
                                              karst_index first, karst_index last)
{
  return mine.used && step >= first && step < last ? m.row[(int64_t)step * m.width + mine.line] : -1;
}

/* Loads the lane's row of a block, or zeros. */
template <int B>
__device__ __forceinline__ void load_row(const karst_lines_view &m, const double *__restrict__ factor, const lane &mine,
                                         karst_index step, bool active, double *to)
{
  const double *from = factor + karst_lines_block(m, B, step, mine.line) + mine.r;
#pragma unroll
  for (int c = 0; c < B; c++) to[c] = active ? __ldcs(from + c * m.width * B) : 0;
}

/* Returns sum over c of a[c] x_c, with x_c in the lanes of the line. */
template <int B> __device__ __forceinline__ double multiply(const lane &mine, const double *a, double x)
{
  double sum = 0;
#pragma unroll
  for (int c = 0; c < B; c++) sum += a[c] * (B == 1 ? x : __shfl_sync(0xffffffff, x, mine.base + c));
  return sum;
}

/* Steps first .. last - 1 upwards: z_k = P_k r_k - Q_k z_{k-1}. */
template <int B>
__device__ __forceinline__ void go_forward(const karst_lines_view &m, const lane &mine, karst_index first,
                                           karst_index last, const double *r, double *z)
{
  karst_index row[AHEAD<B>];
  double y = 0;
#pragma unroll
  for (int s = 0; s < AHEAD<B>; s++) row[s] = row_at(m, mine, first + s, first, last);
  for (karst_index begin = first; begin < last; begin += AHEAD<B>) {
    double P[AHEAD<B>][B], Q[AHEAD<B>][B], right[AHEAD<B>];
    karst_index here[AHEAD<B>];
#pragma unroll
    for (int s = 0; s < AHEAD<B>; s++) {
      here[s] = row[s];
      right[s] = here[s] >= 0 ? r[(int64_t)here[s] * B + mine.r] : 0;
      load_row<B>(m, m.P, mine, begin + s, here[s] >= 0, P[s]);
      load_row<B>(m, m.Q, mine, begin + s, here[s] >= 0, Q[s]);
      row[s] = row_at(m, mine, begin + AHEAD<B> + s, first, last);
    }
#pragma unroll
    for (int s = 0; s < AHEAD<B>; s++) right[s] = multiply<B>(mine, P[s], right[s]);
#pragma unroll
    for (int s = 0; s < AHEAD<B>; s++) {
      y = right[s] - multiply<B>(mine, Q[s], y);
      if (here[s] >= 0) z[(int64_t)here[s] * B + mine.r] = y;
    }
  }
}

/* Steps last - 1 .. first downwards: z_k = z_k - W_k z_{k+1}. Each lane reads what it has written. */
template <int B>
__device__ __forceinline__ void go_back(const karst_lines_view &m, const lane &mine, karst_index first,
                                        karst_index last, double *z)
{
  karst_index row[AHEAD<B>];
  double x = 0;
#pragma unroll
  for (int s = 0; s < AHEAD<B>; s++) row[s] = row_at(m, mine, last - 1 - s, first, last);
  for (karst_index end = last; end > first; end -= end - first > AHEAD<B> ? AHEAD<B> : end - first) {
    double W[AHEAD<B>][B], right[AHEAD<B>];
    karst_index here[AHEAD<B>];
#pragma unroll
    for (int s = 0; s < AHEAD<B>; s++) {
      here[s] = row[s];
      right[s] = here[s] >= 0 ? z[(int64_t)here[s] * B + mine.r] : 0;
      load_row<B>(m, m.W, mine, end - 1 - s, here[s] >= 0, W[s]);
      row[s] = row_at(m, mine, end - 1 - AHEAD<B> - s, first, last);
    }
#pragma unroll
    for (int s = 0; s < AHEAD<B>; s++) {
      const double sum = right[s] - multiply<B>(mine, W[s], x);
      if (here[s] >= 0) z[(int64_t)here[s] * B + mine.r] = x = sum;
    }
  }
}

template <int B> __global__ void __launch_bounds__(THREADS) solve(const karst_lines_view m, const double *r, double *z)
{
  karst_cuda_begin();
  const int64_t warp = (blockIdx.x * (int64_t)THREADS + threadIdx.x) / WARP;
  if (warp >= m.slices) return;
  const lane mine = this_lane<B>(m);
  const karst_index slice = m.first + (karst_index)warp, first = m.step[slice], last = m.step[slice + 1];
  go_forward<B>(m, mine, first, last, r, z);
  go_back<B>(m, mine, first, last, z);
}

/* A warp has a line, and its lanes the scalar rows of a block in turn. shared: [3][b] */
__global__ void __launch_bounds__(WARP) solve_large(const karst_lines_view m, const double *r, double *z)
{
  extern __shared__ double shared[];
  karst_cuda_begin();
  const int b = m.b, lane = (int)threadIdx.x;
  const karst_index slice = m.first + (karst_index)blockIdx.x, first = m.step[slice], last = m.step[slice + 1];
  double *right = shared, *y = shared + b, *next = shared + 2 * b;
  for (int c = lane; c < b; c += WARP) y[c] = 0;
  for (karst_index k = first; k < last; k++) {
    const int64_t row = (int64_t)m.row[k] * b, at = karst_cuda_offset(b, k);
    for (int c = lane; c < b; c += WARP) right[c] = r[row + c];
    __syncwarp();
    for (int e = lane; e < b; e += WARP) {
      double sum = 0;
      for (int c = 0; c < b; c++) sum += m.P[at + c * b + e] * right[c] - m.Q[at + c * b + e] * y[c];
      z[row + e] = next[e] = sum;
    }
    __syncwarp();
    double *const kept = y;
    y = next;
    next = kept;
  }
  for (karst_index k = last - 1; k-- > first;) { /* y has the last z */
    const int64_t row = (int64_t)m.row[k] * b, at = karst_cuda_offset(b, k);
    for (int e = lane; e < b; e += WARP) {
      double sum = z[row + e];
      for (int c = 0; c < b; c++) sum -= m.W[at + c * b + e] * y[c];
      z[row + e] = next[e] = sum;
    }
    __syncwarp();
    double *const kept = y;
    y = next;
    next = kept;
  }
}

/* A thread has a scalar row. */
template <int B>
__global__ void __launch_bounds__(B ? KARST_CUDA_THREADS : 1024)
    subtract(int size, karst_index rows, const karst_index *__restrict__ start, const karst_index *__restrict__ column,
             const double *__restrict__ value, const unsigned char *__restrict__ colour, const double *__restrict__ r,
             double *z)
{
  const int b = B ? B : size;
  karst_index i;
  int e;
  karst_cuda_begin();
  if (!karst_cuda_row(b, rows, &i, &e) || colour[i] == 0) return;
  double sum = r[(int64_t)i * b + e];
  for (karst_index k = start[i]; k < start[i + 1]; k++) {
    const karst_index j = column[k];
    if (colour[j] != 0) continue;
    const double *block = value + karst_cuda_offset(b, k) + e;
#pragma unroll 8
    for (int c = 0; c < b; c++) sum -= block[c * b] * z[(int64_t)j * b + c];
  }
  z[(int64_t)i * b + e] = sum;
}

} // namespace

void karst_lines_launch_cuda(const struct karst_cuda *cuda, const karst_lines_factors *factors, int colour,
                             const double *r, double *z)
{
  const karst_index first = factors->lines->first_slice[colour], end = factors->lines->first_slice[colour + 1];
  const karst_lines_view m = karst_lines_view_of(factors, first, end - first);
  if (m.slices == 0) return;
  karst_cuda_instance(m.b, [&](auto size) {
    constexpr int B = decltype(size)::value;
    if constexpr (B > 0)
      karst_cuda_launch(cuda, solve<B>, karst_cuda_grid((int64_t)m.slices * WARP, THREADS), THREADS, m, r, z);
    else
      karst_cuda_launch_with(cuda, cuda->launch_early, solve_large, (unsigned)m.slices, WARP,
                             3 * (size_t)m.b * sizeof(double), m, r, z);
  });
}

void karst_lines_solve_cuda(karst_context *context, const karst_lines_factors *factors, int colour, const double *r,
                            double *z)
{
  karst_lines_launch_cuda(karst_cuda_of(context), factors, colour, r, z);
}

void karst_lines_residual_cuda(karst_context *context, const karst_matrix *A, const karst_lines_factors *factors,
                               const double *r, double *z)
{
  const karst_cuda *cuda = karst_cuda_of(context);
  const int b = A->block_size;
  karst_cuda_instance(b, [&](auto size) {
    karst_cuda_launch_after(cuda, subtract<decltype(size)::value>, karst_cuda_row_grid(A->block_rows, b),
                            karst_cuda_row_threads(b), b, A->block_rows, A->device_row_start, A->device_column,
                            A->value, factors->lines->device.colour, r, z);
  });
}
