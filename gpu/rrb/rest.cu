/* rest.cu - the nodes that remain after the last level of the repeated red-black method: their band, its complete L D
 * L^T, and the solve. narrow.cu handles few nodes; the band of more is factored in panels of columns. See
 * cpu/rrb/rrb_cpu.h for the storage of the band. */
#include "gpu/rrb/rest.h"

namespace
{

enum {
  THREADS = 256,
  LARGE = 1024, /* threads of kernels with a single thread block */
  PANEL = 32    /* columns, and the threads of a warp */
};

KARST_INLINE int64_t number_of(const karst_rrb_rest_view &v, karst_index i, karst_index j)
{
  return karst_rrb_rest_number(v.shape.size, v.levels, i, j);
}

/* The node of grid levels / 2 for a thread; false if it is not a remaining node. */
KARST_INLINE bool is_left(const karst_rrb_rest_view &v, int64_t node, karst_index *i, karst_index *j)
{
  const karst_index nx = v.shape.size[0];
  *j = (karst_index)(node / nx);
  *i = (karst_index)(node % nx);
  return *j < v.shape.size[1] && (v.levels % 2 == 0 || (*i + *j) % 2 == 0);
}

KARST_INLINE void place_node(const karst_rrb_rest_view &v, karst_index i, karst_index j, int64_t *place)
{
  place[number_of(v, i, j)] = karst_rrb_element(&v.shape, 1, i, j);
}

/* Puts the diagonal entry of a node and its couplings with later nodes into a band of zeros. A place without a node has
 * no couplings, and diagonal entry 1. */
KARST_INLINE void gather_node(const karst_rrb_rest_view &v, karst_index i, karst_index j)
{
  const bool black = v.levels % 2 != 0;
  const int straight[] = {KARST_RRB_EAST, KARST_RRB_NORTH, KARST_RRB_NORTH_EAST, KARST_RRB_NORTH_WEST};
  const int skew[] = {KARST_RRB_SKEW_EAST, KARST_RRB_SKEW_NORTH, KARST_RRB_SKEW_NORTH_EAST, KARST_RRB_SKEW_NORTH_WEST};
  const int step = black ? 2 : 1, di[] = {step, 0, 1, -1}, dj[] = {0, step, 1, 1};
  const double *at = v.stencil + karst_rrb_element(&v.shape, KARST_RRB_PARTS, i, j);
  const int64_t q = number_of(v, i, j), stride = v.width + 1;
  const double diagonal = karst_rrb_has_node(&v.nodes, v.shape.size, v.levels / 2, i, j) ? at[0] : 1;
  v.band[q * stride + v.width] = v.size[q] = diagonal;
#pragma unroll
  for (int c = 0; c < KARST_RRB_COUPLINGS; c++) {
    const karst_index beside = i + di[c], above = j + dj[c];
    if (beside < 0 || beside >= v.shape.size[0] || above >= v.shape.size[1]) continue;
    const int64_t other = number_of(v, beside, above), low = q < other ? q : other, high = q < other ? other : q;
    v.band[high * stride + v.width - (high - low)] = at[(black ? skew[c] : straight[c]) * v.shape.array];
  }
}

__global__ void __launch_bounds__(THREADS) place_nodes(const karst_rrb_rest_view v, int64_t *place)
{
  karst_index i, j;
  if (is_left(v, blockIdx.x * (int64_t)THREADS + threadIdx.x, &i, &j)) place_node(v, i, j, place);
}

__global__ void __launch_bounds__(THREADS) gather_nodes(const karst_rrb_rest_view v)
{
  karst_index i, j;
  if (is_left(v, blockIdx.x * (int64_t)THREADS + threadIdx.x, &i, &j)) gather_node(v, i, j);
}

/* Columns first to first + PANEL - 1 of their own rows, by one thread block of PANEL x PANEL threads. */
__global__ void __launch_bounds__(LARGE) factor_corner(const karst_rrb_rest_view v, int64_t first, double *inverse)
{
  __shared__ double a[PANEL][PANEL + 1], size[PANEL];
  const int c = (int)threadIdx.x % PANEL, r = (int)threadIdx.x / PANEL;
  const int64_t row = first + r, apart = r - c;
  const bool mine = row < v.rest && apart >= 0 && apart <= v.width;
  double *at = v.band + row * (v.width + 1) + v.width - apart;
  const int columns = v.rest - first < PANEL ? (int)(v.rest - first) : PANEL;
  a[r][c] = mine ? *at : 0;
  if (r == c && mine) size[r] = v.size[row];
  for (int k = 0; k < columns; k++) {
    __syncthreads();
    const double over = karst_rrb_invert_pivot(v, first + k, size[k], a[k][k], threadIdx.x == 0);
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
__global__ void __launch_bounds__(THREADS) factor_below(const karst_rrb_rest_view v, int64_t first)
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

/* Subtracts the contribution of the columns from the rows and columns after them, a tile a thread block. */
__global__ void __launch_bounds__(THREADS) subtract_panel(const karst_rrb_rest_view v, int64_t first)
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
__device__ double solve_corner_down(const karst_rrb_rest_view &v, int64_t first, double y)
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

__device__ double solve_corner_up(const karst_rrb_rest_view &v, int64_t first, double y)
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
__global__ void __launch_bounds__(LARGE)
    solve_band(const karst_rrb_rest_view v, const int64_t *place, double *x, double *left)
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

karst_rrb_rest_view view_of(const karst_rrb *rrb)
{
  const karst_rrb_cuda *plan = karst_rrb_cuda_of(rrb);
  const int m = rrb->levels / 2;
  const karst_rrb_shape &shape = rrb->shape[m];
  const double *stencil = rrb->levels % 2 ? plan->arrays.skew[m] : plan->arrays.straight[m];
  return {shape, karst_rrb_nodes_of(rrb), rrb->levels, stencil, rrb->rest, rrb->rest_band, plan->band, plan->left};
}

unsigned blocks_of(const karst_rrb_rest_view &v)
{
  return karst_cuda_grid((int64_t)v.shape.size[0] * v.shape.size[1], THREADS);
}

void factor_panels(cudaStream_t stream, const karst_rrb_rest_view &v, double *inverse)
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
  const karst_rrb_rest_view v = view_of(rrb);
  place_nodes<<<blocks_of(v), THREADS, 0, karst_cuda_of(context)->stream>>>(v, karst_rrb_cuda_of(rrb)->place);
}

void karst_rrb_rest_factor_cuda(karst_context *context, const karst_rrb *rrb)
{
  const karst_rrb_cuda *plan = karst_rrb_cuda_of(rrb);
  const cudaStream_t stream = karst_cuda_of(context)->stream;
  const karst_rrb_rest_view v = view_of(rrb);
  cudaMemsetAsync(v.band, 0, (size_t)v.rest * (size_t)(v.width + 1) * sizeof(double), stream);
  gather_nodes<<<blocks_of(v), THREADS, 0, stream>>>(v);
  if (plan->dense)
    karst_rrb_narrow_factor_cuda(stream, v, plan->inverse, plan->dense);
  else
    factor_panels(stream, v, plan->inverse);
}

void karst_rrb_rest_solve_cuda(karst_context *context, const karst_rrb *rrb)
{
  const karst_rrb_cuda *plan = karst_rrb_cuda_of(rrb);
  double *x = plan->arrays.vector[rrb->levels / 2];
  if (plan->dense)
    karst_rrb_dense_solve_cuda(context, rrb);
  else
    solve_band<<<1, LARGE, 0, karst_cuda_of(context)->stream>>>(view_of(rrb), plan->place, x, plan->left);
}
