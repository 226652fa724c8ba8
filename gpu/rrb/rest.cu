/* rest.cu - what is left after the last level of the repeated red-black method: its band, the complete L D L^T of it,
 * and its solution. Few nodes are factored by one thread block, and their W = L^-1 is kept as a dense matrix; of more
 * the band is factored in panels of columns. See cpu/rrb/rrb.h for the storage of the band. */
#include "rrb.h"

namespace
{

enum {
  THREADS = 256,
  LARGE = 1024, /* threads of the thread blocks that are alone */
  PANEL = 32,   /* columns, and the threads of a warp */
  COLUMNS = 8,  /* of a narrow band that are factored, and of W that are made, together */
  NARROW = 48,  /* no band of KARST_RRB_DENSE nodes is wider: 33 on a whole grid, 45 on the black nodes of one */
  WINDOW = 64,  /* NARROW + 2 COLUMNS */
  CREW = 384    /* threads that factor a narrow band, so that each can have 168 registers */
};

/* What is left: its nodes on grid levels / 2, its stencil, and its band. */
struct rest_view {
  karst_rrb_shape shape;
  karst_rrb_nodes nodes;
  int levels, axis; /* axis: that along which nodes are numbered first, as karst_rrb_rest_node has it */
  const double *stencil;
  int64_t rest, width;
  double *band;
};

/* Of a row in the window: even, so that a diagonal of the window is spread over all banks of shared memory. */
KARST_INLINE int pitch_of(const rest_view &v) { return (int)(v.width + 2) / 2 * 2; }

/* The number of node (i, j) among those left. */
KARST_INLINE int64_t number_of(const rest_view &v, karst_index i, karst_index j)
{
  const int64_t length = v.shape.size[v.axis], place = v.axis == 0 ? i : j, line = v.axis == 0 ? j : i;
  if (v.levels % 2 == 0) return line * length + place;
  return line / 2 * length + (line % 2 ? length / 2 + length % 2 : 0) + place / 2;
}

/* The node of grid levels / 2 that a thread has; false where there is none that is left. */
KARST_INLINE bool is_left(const rest_view &v, int64_t node, karst_index *i, karst_index *j)
{
  const karst_index nx = v.shape.size[0];
  *j = (karst_index)(node / nx);
  *i = (karst_index)(node % nx);
  return *j < v.shape.size[1] && (v.levels % 2 == 0 || (*i + *j) % 2 == 0);
}

KARST_INLINE int group_of(karst_index i, karst_index j)
{
  return i % 2 ? (j % 2 ? KARST_RRB_B1 : KARST_RRB_R1) : (j % 2 ? KARST_RRB_R2 : KARST_RRB_B2);
}

KARST_INLINE void place_node(const rest_view &v, karst_index i, karst_index j, int64_t *place)
{
  place[number_of(v, i, j)] = karst_rrb_array(&v.shape, group_of(i, j)) + i / 2 + j / 2 * v.shape.pitch;
}

/* Puts the diagonal entry of a node and its couplings with nodes further on into a band of zeros. A place without a
 * node is alone, with diagonal entry 1. */
KARST_INLINE void gather_node(const rest_view &v, karst_index i, karst_index j)
{
  const bool black = v.levels % 2 != 0;
  const int straight[] = {KARST_RRB_EAST, KARST_RRB_NORTH, KARST_RRB_NORTH_EAST, KARST_RRB_NORTH_WEST};
  const int skew[] = {KARST_RRB_SKEW_EAST, KARST_RRB_SKEW_NORTH, KARST_RRB_SKEW_NORTH_EAST, KARST_RRB_SKEW_NORTH_WEST};
  const int step = black ? 2 : 1, di[] = {step, 0, 1, -1}, dj[] = {0, step, 1, 1};
  const double *at =
      v.stencil + karst_rrb_array(&v.shape, KARST_RRB_PARTS * group_of(i, j)) + i / 2 + j / 2 * v.shape.pitch;
  const int64_t q = number_of(v, i, j), stride = v.width + 1;
  v.band[q * stride + v.width] = karst_rrb_has_node(&v.nodes, v.shape.size, v.levels / 2, i, j) ? at[0] : 1;
#pragma unroll
  for (int c = 0; c < KARST_RRB_COUPLINGS; c++) {
    const karst_index beside = i + di[c], above = j + dj[c];
    if (beside < 0 || beside >= v.shape.size[0] || above >= v.shape.size[1]) continue;
    const int64_t other = number_of(v, beside, above), low = q < other ? q : other, high = q < other ? other : q;
    v.band[high * stride + v.width - (high - low)] = at[(black ? skew[c] : straight[c]) * v.shape.array];
  }
}

__global__ void __launch_bounds__(THREADS) place_nodes(const rest_view v, int64_t *place)
{
  karst_index i, j;
  if (is_left(v, blockIdx.x * (int64_t)THREADS + threadIdx.x, &i, &j)) place_node(v, i, j, place);
}

__global__ void __launch_bounds__(THREADS) gather_nodes(const rest_view v)
{
  karst_index i, j;
  if (is_left(v, blockIdx.x * (int64_t)THREADS + threadIdx.x, &i, &j)) gather_node(v, i, j);
}

/* 1 / d, 0 where the pivot of node q is bad. The first one of a thread that comes by ascending q is reported. */
__device__ double invert_pivot(const rest_view &v, int64_t q, double d, bool reports)
{
  if (karst_rrb_is_pivot(d)) return 1 / d;
  if (reports && *v.nodes.finding >> KARST_RRB_LEVEL_SHIFT > (unsigned)v.levels + 1)
    *v.nodes.finding = karst_rrb_finding(v.levels + 1, q, karst_rrb_is_finite(d));
  return 0;
}

/* Loads row of the band into its place in a window of WINDOW rows; rows past the last are those of a unit matrix. */
__device__ void load_row(const rest_view &v, double *window, int pitch, int row, int e)
{
  const int width = (int)v.width;
  window[row % WINDOW * pitch + e] = row < v.rest ? v.band[row * (width + 1) + e] : e == width;
}

/* L D L^T of a lower triangle that every thread of some warps has: l below the diagonal, and 1 / d. */
__device__ void factor_triangle(const rest_view &v, int first, bool reports, double (&l)[COLUMNS][COLUMNS],
                                double (&over)[COLUMNS])
{
#pragma unroll
  for (int k = 0; k < COLUMNS; k++) {
    over[k] = invert_pivot(v, first + k, l[k][k], reports);
#pragma unroll
    for (int r = COLUMNS - 1; r > k; r--) {
      const double scaled = l[r][k] * over[k];
#pragma unroll
      for (int c = k + 1; c <= r; c++) l[r][c] -= scaled * l[c][k];
      l[r][k] = scaled;
    }
  }
}

/* The factor of columns first to first + COLUMNS - 1: thread x < width makes that of row first + COLUMNS + x, thread
 * 2 PANEL stores their own rows. */
__device__ void factor_columns(const rest_view &v, const double *window, int pitch, int first, double *inverse,
                               double (*whole)[COLUMNS + 2], double (*scaled)[COLUMNS + 1])
{
  const int width = (int)v.width, stride = width + 1, x = (int)threadIdx.x, row = first + COLUMNS + x;
  double l[COLUMNS][COLUMNS], over[COLUMNS], u[COLUMNS];
#pragma unroll
  for (int r = 0; r < COLUMNS; r++)
#pragma unroll
    for (int c = 0; c <= r; c++) l[r][c] = r - c <= width ? window[(first + r) % WINDOW * pitch + width - (r - c)] : 0;
  factor_triangle(v, first, x == 2 * PANEL, l, over);
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
__global__ void __launch_bounds__(CREW, 1) factor_band(const rest_view v, double *inverse)
{
  extern __shared__ double copy[];
  __shared__ double whole[NARROW][COLUMNS + 2], scaled[NARROW][COLUMNS + 1];
  const int rest = (int)v.rest, width = (int)v.width, stride = width + 1, pitch = pitch_of(v), t = (int)threadIdx.x;
  for (int e = t; e < (COLUMNS + width) * stride; e += CREW) load_row(v, copy, pitch, e / stride, e % stride);
  for (int first = 0; first < rest; first += COLUMNS) {
    __syncthreads();
    if (t < 3 * PANEL) factor_columns(v, copy, pitch, first, inverse, whole, scaled);
    for (int e = t - 3 * PANEL; e >= 0 && e < COLUMNS * stride; e += CREW - 3 * PANEL)
      load_row(v, copy, pitch, first + COLUMNS + width + e / stride, e % stride);
    __syncthreads();
    const int x = t % (2 * PANEL);
    if (x >= width) continue;
    double u[COLUMNS];
    for (int c = 0; c < COLUMNS; c++) u[c] = scaled[x][c];
    double *row = copy + (first + COLUMNS + x) % WINDOW * pitch + width - x;
    for (int y = t / (2 * PANEL); y <= x; y += CREW / (2 * PANEL)) {
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
__global__ void __launch_bounds__(PANEL) invert_corners(const rest_view v, double *dense)
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

/* COLUMNS columns of W by a thread block, from the triangle that invert_corners has made of them on: PANEL rows of W
 * are the inverse of their triangle times what L before it and the rows before give. */
__global__ void __launch_bounds__(THREADS) invert_band(const rest_view v, double *dense)
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

/* Columns first to first + PANEL - 1 of their own rows, by one thread block of PANEL x PANEL threads. */
__global__ void __launch_bounds__(LARGE) factor_corner(const rest_view v, int64_t first, double *inverse)
{
  __shared__ double a[PANEL][PANEL + 1];
  const int c = (int)threadIdx.x % PANEL, r = (int)threadIdx.x / PANEL;
  const int64_t row = first + r, apart = r - c;
  const bool mine = row < v.rest && apart >= 0 && apart <= v.width;
  double *at = v.band + row * (v.width + 1) + v.width - apart;
  const int columns = v.rest - first < PANEL ? (int)(v.rest - first) : PANEL;
  a[r][c] = mine ? *at : 0;
  for (int k = 0; k < columns; k++) {
    __syncthreads();
    const double over = invert_pivot(v, first + k, a[k][k], threadIdx.x == 0);
    const double change = r > k && c > k ? a[r][k] * over * a[c][k] : 0;
    __syncthreads();
    a[r][c] -= change;
    if (c == k) a[r][k] = r == k ? over : a[r][k] * over;
  }
  __syncthreads();
  if (mine) *at = a[r][c];
  if (r == c && row < v.rest) inverse[row] = a[r][r];
}

/* The same columns of the rows below, a row a thread. */
__global__ void __launch_bounds__(THREADS) factor_below(const rest_view v, int64_t first)
{
  __shared__ double a[PANEL][PANEL + 1];
  const int64_t stride = v.width + 1;
  for (int e = (int)threadIdx.x; e < PANEL * PANEL; e += THREADS) {
    const int r = e / PANEL, c = e % PANEL;
    a[r][c] = r >= c && r - c <= v.width ? v.band[(first + r) * stride + v.width - (r - c)] : 0;
  }
  __syncthreads();
  const int64_t row = first + PANEL + blockIdx.x * (int64_t)THREADS + threadIdx.x;
  if (row >= v.rest || row >= first + PANEL + v.width) return;
  double *at = v.band + row * stride + v.width - (row - first); /* of column first, where the band begins so early */
  double u[PANEL];
#pragma unroll
  for (int c = 0; c < PANEL; c++) {
    const bool inside = row - first - c <= v.width;
    double sum = inside ? at[c] : 0;
#pragma unroll
    for (int k = 0; k < c; k++) sum -= u[k] * a[c][k];
    u[c] = sum;
    if (inside) at[c] = sum * a[c][c];
  }
}

/* Subtracts what the columns are in the rows and columns after them, a tile a thread block. */
__global__ void __launch_bounds__(THREADS) subtract_panel(const rest_view v, int64_t first)
{
  __shared__ double left[PANEL][PANEL + 1], right[PANEL][PANEL + 1];
  const int64_t stride = v.width + 1, rows = first + PANEL + blockIdx.x * (int64_t)PANEL;
  const int64_t columns = first + PANEL + blockIdx.y * (int64_t)PANEL;
  if (columns > rows) return;
  const int c = (int)threadIdx.x % PANEL;
  const double pivot = 1 / v.band[(first + c) * stride + v.width];
  for (int r = (int)threadIdx.x / PANEL; r < PANEL; r += THREADS / PANEL) {
    const int64_t a = rows + r, b = columns + r, da = a - first - c, db = b - first - c;
    left[r][c] = a < v.rest && da <= v.width ? v.band[a * stride + v.width - da] : 0;
    right[r][c] = b < v.rest && db <= v.width ? v.band[b * stride + v.width - db] * pivot : 0;
  }
  __syncthreads();
  for (int r = (int)threadIdx.x / PANEL; r < PANEL; r += THREADS / PANEL) {
    const int64_t apart = rows + r - (columns + c);
    if (rows + r >= v.rest || apart < 0 || apart > v.width) continue;
    double sum = 0;
    for (int k = 0; k < PANEL; k++) sum += left[r][k] * right[c][k];
    v.band[(rows + r) * stride + v.width - apart] -= sum;
  }
}

__device__ double sum_warp(double x)
{
  for (int apart = PANEL / 2; apart > 0; apart /= 2) x += __shfl_xor_sync(~0U, x, apart);
  return x;
}

/* Within the PANEL rows from first on, forward: y = L^-1 y by one warp, which has a row a lane. */
__device__ double solve_corner_down(const rest_view &v, int64_t first, double y)
{
  const int lane = (int)threadIdx.x % PANEL;
  const double *row = v.band + (first + lane) * (v.width + 1) + v.width - lane;
  for (int k = 0; k < PANEL - 1; k++) {
    const bool coupled = lane > k && lane - k <= v.width && first + lane < v.rest;
    const double l = coupled ? row[k] : 0;
    y -= l * __shfl_sync(~0U, y, k);
  }
  return y;
}

__device__ double solve_corner_up(const rest_view &v, int64_t first, double y)
{
  const int lane = (int)threadIdx.x % PANEL;
  const double *column = v.band + first * (v.width + 1) + v.width + lane;
  for (int k = PANEL - 1; k > 0; k--) {
    const bool coupled = lane < k && k - lane <= v.width && first + k < v.rest;
    const double l = coupled ? column[k * v.width] : 0; /* entry (first + k, first + lane) */
    y -= l * __shfl_sync(~0U, y, k);
  }
  return y;
}

/* x = M^-1 x of a band of any width in one thread block. Forward a warp sums a row up to its panel; backward a panel is
 * subtracted from the rows before it, a row a thread. */
__global__ void __launch_bounds__(LARGE) solve_band(const rest_view v, const int64_t *place, double *x, double *left)
{
  __shared__ double panel[PANEL];
  const int t = (int)threadIdx.x, lane = t % PANEL, warp = t / PANEL;
  const int64_t stride = v.width + 1, last = (v.rest - 1) / PANEL * PANEL;
  for (int64_t first = 0; first <= last; first += PANEL) {
    const int64_t row = first + warp, begin = row > v.width ? row - v.width : 0;
    double sum = 0;
    if (row < v.rest)
      for (int64_t c = begin + lane; c < first; c += PANEL) sum += v.band[row * stride + v.width - (row - c)] * left[c];
    sum = sum_warp(sum);
    if (lane == 0) panel[warp] = row < v.rest ? x[place[row]] - sum : 0;
    __syncthreads();
    if (warp == 0) {
      const double y = solve_corner_down(v, first, panel[lane]);
      if (first + lane < v.rest) left[first + lane] = y;
    }
    __syncthreads();
  }
  for (int64_t q = t; q < v.rest; q += LARGE) left[q] *= v.band[q * stride + v.width];
  for (int64_t first = last; first >= 0; first -= PANEL) {
    __syncthreads();
    if (warp == 0) {
      const double z = solve_corner_up(v, first, first + lane < v.rest ? left[first + lane] : 0);
      panel[lane] = z;
      if (first + lane < v.rest) x[place[first + lane]] = z;
    }
    __syncthreads();
    const int64_t begin = first > v.width ? first - v.width : 0;
    for (int64_t c = begin + t; c < first; c += LARGE) {
      double sum = 0;
      for (int k = 0; k < PANEL; k++)
        if (first + k < v.rest && first + k - c <= v.width)
          sum += v.band[(first + k) * stride + v.width - (first + k - c)] * panel[k];
      left[c] -= sum;
    }
  }
}

rest_view see(const karst_rrb *rrb)
{
  const karst_rrb_cuda *plan = karst_rrb_cuda_of(rrb);
  const int m = rrb->levels / 2;
  const karst_rrb_shape &shape = rrb->shape[m];
  const double *stencil = rrb->levels % 2 ? plan->arrays.skew[m] : plan->arrays.straight[m];
  return {shape,     karst_rrb_nodes_of(rrb), rrb->levels, shape.size[0] <= shape.size[1] ? 0 : 1, stencil,
          rrb->rest, rrb->rest_band,          plan->band};
}

unsigned blocks_of(const rest_view &v) { return karst_cuda_grid((int64_t)v.shape.size[0] * v.shape.size[1], THREADS); }

void factor_panels(cudaStream_t stream, const rest_view &v, double *inverse)
{
  for (int64_t first = 0; first < v.rest; first += PANEL) {
    const int64_t below = v.rest - first - PANEL < v.width ? v.rest - first - PANEL : v.width;
    factor_corner<<<1, LARGE, 0, stream>>>(v, first, inverse);
    if (below <= 0) continue;
    const unsigned tiles = karst_cuda_grid(below, PANEL);
    factor_below<<<karst_cuda_grid(below, THREADS), THREADS, 0, stream>>>(v, first);
    subtract_panel<<<dim3(tiles, tiles), THREADS, 0, stream>>>(v, first);
  }
}

} // namespace

void karst_rrb_rest_place_cuda(karst_context *context, const karst_rrb *rrb)
{
  const rest_view v = see(rrb);
  place_nodes<<<blocks_of(v), THREADS, 0, karst_cuda_of(context)->stream>>>(v, karst_rrb_cuda_of(rrb)->place);
}

void karst_rrb_rest_factor_cuda(karst_context *context, const karst_rrb *rrb)
{
  const karst_rrb_cuda *plan = karst_rrb_cuda_of(rrb);
  const cudaStream_t stream = karst_cuda_of(context)->stream;
  const rest_view v = see(rrb);
  const size_t bytes = (size_t)v.rest * (size_t)(v.width + 1) * sizeof(double);
  cudaMemsetAsync(v.band, 0, bytes, stream);
  gather_nodes<<<blocks_of(v), THREADS, 0, stream>>>(v);
  if (!plan->dense) {
    factor_panels(stream, v, plan->inverse);
    return;
  }
  factor_band<<<1, CREW, WINDOW * pitch_of(v) * sizeof(double), stream>>>(v, plan->inverse);
  invert_corners<<<karst_cuda_grid(v.rest, PANEL), PANEL, 0, stream>>>(v, plan->dense);
  invert_band<<<karst_cuda_grid(v.rest, COLUMNS), THREADS, 0, stream>>>(v, plan->dense);
}

void karst_rrb_rest_solve_cuda(karst_context *context, const karst_rrb *rrb)
{
  const karst_rrb_cuda *plan = karst_rrb_cuda_of(rrb);
  const cudaStream_t stream = karst_cuda_of(context)->stream;
  double *x = plan->arrays.vector[rrb->levels / 2];
  if (!plan->dense) {
    solve_band<<<1, LARGE, 0, stream>>>(see(rrb), plan->place, x, plan->left);
    return;
  }
  karst_rrb_dense_solve_cuda(context, rrb);
}
