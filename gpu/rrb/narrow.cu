/* narrow.cu - the complete L D L^T of the narrow band of few nodes, by one thread block, and their W = L^-1 as a dense
 * matrix. See rest.h. */
#include "gpu/rrb/rest.h"

namespace
{

enum {
  THREADS = 256,
  PANEL = 32,          /* rows of a triangle of L that is inverted, and the threads of a warp */
  COLUMNS = 8,         /* of the band that are factored, and of W that are made, together */
  NARROW = 48,         /* no band of KARST_RRB_DENSE nodes is wider: 33 on a whole grid, 45 on the black nodes of one */
  WINDOW = 64,         /* NARROW + 2 COLUMNS */
  FACTOR_THREADS = 384 /* threads that factor a band, so that each can have 168 registers */
};

/* Of a row in the window: even, so that a diagonal of the window is spread over all banks of shared memory. */
KARST_INLINE int pitch_of(const karst_rrb_rest_view &v) { return (int)(v.width + 2) / 2 * 2; }

/* Loads row of the band into its place in a window of WINDOW rows; rows past the last are those of a unit matrix. */
__device__ void load_row(const karst_rrb_rest_view &v, double *window, int pitch, int row, int e)
{
  const int width = (int)v.width;
  window[row % WINDOW * pitch + e] = row < v.rest ? v.band[row * (width + 1) + e] : e == width;
}

/* L D L^T of a lower triangle, in a copy in every thread of some warps: l below the diagonal, and 1 / d. diagonal: the
 * diagonal before the factorization. */
__device__ void factor_triangle(const karst_rrb_rest_view &v, int first, bool reports, const double *diagonal,
                                double (&l)[COLUMNS][COLUMNS], double (&over)[COLUMNS])
{
#pragma unroll
  for (int k = 0; k < COLUMNS; k++) {
    over[k] = karst_rrb_invert_pivot(v, first + k, diagonal[first + k], l[k][k], reports);
#pragma unroll
    for (int r = COLUMNS - 1; r > k; r--) {
      const double scaled = l[r][k] * over[k];
#pragma unroll
      for (int c = k + 1; c <= r; c++) l[r][c] -= scaled * l[c][k];
      l[r][k] = scaled;
    }
  }
}

/* The factor of columns first to first + COLUMNS - 1: thread x < width computes that of row first + COLUMNS + x; thread
 * 2 PANEL stores the columns' own rows. */
__device__ void factor_columns(const karst_rrb_rest_view &v, const double *window, int pitch, int first,
                               const double *diagonal, double *inverse, double (*whole)[COLUMNS + 2],
                               double (*scaled)[COLUMNS + 1])
{
  const int width = (int)v.width, stride = width + 1, x = (int)threadIdx.x, row = first + COLUMNS + x;
  double l[COLUMNS][COLUMNS], over[COLUMNS], u[COLUMNS];
#pragma unroll
  for (int r = 0; r < COLUMNS; r++)
#pragma unroll
    for (int c = 0; c <= r; c++) l[r][c] = r - c <= width ? window[(first + r) % WINDOW * pitch + width - (r - c)] : 0;
  factor_triangle(v, first, x == 2 * PANEL, diagonal, l, over);
  if (x == 2 * PANEL) {
#pragma unroll
    for (int r = 0; r < COLUMNS; r++) {
      if (first + r >= v.rest) continue;
      inverse[first + r] = over[r];
#pragma unroll
      for (int c = 0; c <= r; c++)
        if (r - c <= width) v.band[(first + r) * stride + width - (r - c)] = r == c ? over[r] : l[r][c];
    }
  }
  if (x >= width) return;
#pragma unroll
  for (int c = 0; c < COLUMNS; c++) {
    const int apart = COLUMNS + x - c;
    u[c] = apart <= width ? window[row % WINDOW * pitch + width - apart] : 0;
#pragma unroll
    for (int k = 0; k < c; k++) u[c] -= u[k] * l[c][k];
    whole[x][c] = u[c];
    scaled[x][c] = u[c] * over[c];
    if (apart <= width && row < v.rest) v.band[row * stride + width - apart] = u[c] * over[c];
  }
}

/* Factors a narrow band in one thread block, COLUMNS columns at a time, with the rows that they reach in shared memory.
 * Each thread that has a row below factors the triangle of the columns itself, so that no barrier is between them. */
__global__ void __launch_bounds__(FACTOR_THREADS, 1) factor_band(const karst_rrb_rest_view v, double *inverse)
{
  extern __shared__ double copy[];
  __shared__ double whole[NARROW][COLUMNS + 2], scaled[NARROW][COLUMNS + 1], diagonal[KARST_RRB_DENSE + COLUMNS];
  const int rest = (int)v.rest, width = (int)v.width, stride = width + 1, pitch = pitch_of(v), t = (int)threadIdx.x;
  for (int e = t; e < (COLUMNS + width) * stride; e += FACTOR_THREADS) load_row(v, copy, pitch, e / stride, e % stride);
  for (int e = t; e < KARST_RRB_DENSE + COLUMNS; e += FACTOR_THREADS) diagonal[e] = e < rest ? v.size[e] : 1;
  for (int first = 0; first < rest; first += COLUMNS) {
    __syncthreads();
    if (t < 3 * PANEL) factor_columns(v, copy, pitch, first, diagonal, inverse, whole, scaled);
    for (int e = t - 3 * PANEL; e >= 0 && e < COLUMNS * stride; e += FACTOR_THREADS - 3 * PANEL)
      load_row(v, copy, pitch, first + COLUMNS + width + e / stride, e % stride);
    __syncthreads();
    const int x = t % (2 * PANEL);
    if (x >= width) continue;
    double u[COLUMNS];
    for (int c = 0; c < COLUMNS; c++) u[c] = scaled[x][c];
    double *row = copy + (first + COLUMNS + x) % WINDOW * pitch + width - x;
    for (int y = t / (2 * PANEL); y <= x; y += FACTOR_THREADS / (2 * PANEL)) {
      double even = 0, odd = 0;
#pragma unroll
      for (int c = 0; c < COLUMNS; c += 2) {
        even += u[c] * whole[y][c];
        odd += u[c + 1] * whole[y][c + 1];
      }
      row[y] -= even + odd;
    }
  }
}

/* The inverses of the triangles of L on PANEL rows each, a thread block a triangle and a thread a column. */
__global__ void __launch_bounds__(PANEL) invert_corners(const karst_rrb_rest_view v, double *dense)
{
  __shared__ double l[PANEL][PANEL + 1];
  const int rest = (int)v.rest, width = (int)v.width, first = (int)blockIdx.x * PANEL, c = (int)threadIdx.x;
  for (int r = 0; r < PANEL; r++) {
    const bool inside = r > c && r - c <= width && first + r < rest;
    l[r][c] = inside ? v.band[(first + r) * (width + 1) + width - (r - c)] : 0;
  }
  __syncwarp();
  double w[PANEL];
#pragma unroll
  for (int r = 0; r < PANEL; r++) {
    w[r] = r == c;
#pragma unroll
    for (int k = 0; k < r; k++) w[r] -= l[r][k] * w[k];
    if (first + r < rest && first + c < rest) dense[(int64_t)(first + r) * rest + first + c] = w[r];
  }
}

/* Computes COLUMNS columns of W in a thread block, from the triangle of invert_corners on. PANEL rows of W are the
 * inverse of their triangle times the contribution of the rows before and of L left of it. */
__global__ void __launch_bounds__(THREADS) invert_band(const karst_rrb_rest_view v, double *dense)
{
  __shared__ double w[3 * PANEL][COLUMNS], sums[PANEL][COLUMNS], before[PANEL][NARROW + 1], corner[PANEL][PANEL + 1];
  const int rest = (int)v.rest, width = (int)v.width, stride = width + 1, t = (int)threadIdx.x;
  const int r = t / COLUMNS, c = t % COLUMNS, column = (int)blockIdx.x * COLUMNS + c;
  const int begin = (int)blockIdx.x * COLUMNS / PANEL * PANEL;
  for (int e = r; e < 3 * PANEL; e += PANEL) w[e][c] = 0;
  if (begin + r < rest && column < rest) w[(begin + r) % (3 * PANEL)][c] = dense[(int64_t)(begin + r) * rest + column];
  for (int first = begin + PANEL; first < rest; first += PANEL) {
    for (int e = t; e < PANEL * stride; e += THREADS)
      before[e / stride][e % stride] = first + e / stride < rest ? v.band[first * stride + e] : 0;
    for (int e = t; e < PANEL * PANEL; e += THREADS) {
      const int i = first + e / PANEL, k = first + e % PANEL;
      corner[e / PANEL][e % PANEL] = i < rest && k < rest ? dense[(int64_t)i * rest + k] : 0;
    }
    __syncthreads();
    double sum = 0;
    for (int k = r < width ? first + r - width : first; k < first; k++)
      if (k >= begin) sum -= before[r][width - (first + r - k)] * w[k % (3 * PANEL)][c];
    sums[r][c] = sum;
    __syncthreads();
    sum = 0;
    for (int k = 0; k <= r; k++) sum += corner[r][k] * sums[k][c];
    w[(first + r) % (3 * PANEL)][c] = sum;
    if (first + r < rest && column < rest) dense[(int64_t)(first + r) * rest + column] = sum;
    __syncthreads();
  }
}

} // namespace

void karst_rrb_narrow_factor_cuda(cudaStream_t stream, const karst_rrb_rest_view &v, double *inverse, double *dense)
{
  factor_band<<<1, FACTOR_THREADS, WINDOW * pitch_of(v) * sizeof(double), stream>>>(v, inverse);
  invert_corners<<<karst_cuda_grid(v.rest, PANEL), PANEL, 0, stream>>>(v, dense);
  invert_band<<<karst_cuda_grid(v.rest, COLUMNS), THREADS, 0, stream>>>(v, dense);
}
