/* coarse.cu - all grids from one on, and the remaining nodes, both ways in one launch. Their vectors fit into the
 * shared memory of a multiprocessor, where a level costs a barrier instead of a launch. The factors come from the L2
 * cache.
 *
 * If more than REST nodes remain, one multiprocessor takes too long to read W: 158 us for 1024 nodes on an H200.
 * Separate launches, for each way of a grid and each half of W, take 18 us for 64 x 64 nodes, one by one. A cluster of
 * 16 thread blocks was estimated at 10 us: six barriers of 1 us, and W read by 16 of them. */
#include "gpu/rrb/apply.h"

namespace
{

enum {
  THREADS = 1024,
  GRIDS = 24,
  LINE = 128,           /* bytes of the cache */
  REST = 256,           /* nodes that are left, at most */
  ELEMENTS = 10 * 1024, /* of all vectors; 64 x 64 nodes and what follows from them have fewer */
  R1 = KARST_RRB_FACTOR_R1 * KARST_RRB_PARTS,
  R2 = KARST_RRB_FACTOR_R2 * KARST_RRB_PARTS,
  B1 = KARST_RRB_FACTOR_B1 * KARST_RRB_PARTS
};

struct grid {
  int pitch, array, offset; /* offset: of its vector in shared memory */
  const void *factor;
};

struct hierarchy {
  int grids, rest, elements;
  bool odd; /* the last grid has one level, and the remaining nodes are its black ones */
  grid at[GRIDS];
  double *vector; /* of the first grid */
  const int64_t *place;
  const double *dense, *inverse;
};

template <typename F> __device__ __forceinline__ void reds_forward(const grid &g, double *vector)
{
  const int w = g.pitch, array = g.array;
  double *v = vector + g.offset;
  for (int p = w + (int)threadIdx.x; p < array; p += THREADS) {
    const F *l1 = static_cast<const F *>(g.factor) + R1 * array + p, *l2 = l1 + (R2 - R1) * array;
    const double *r1 = v + KARST_RRB_R1 * array + p, *r2 = v + KARST_RRB_R2 * array + p;
    const double b2 = l1[0] * r1[0] + l1[array - 1] * r1[-1] + l2[2 * array] * r2[0] + l2[3 * array - w] * r2[-w];
    const double b1 = l1[3 * array] * r1[0] + l1[2 * array + w] * r1[w] + l2[array] * r2[0] + l2[1] * r2[1];
    v[p] -= b2;
    v[array + p] -= b1;
  }
}

/* The place of b2's place p in the vector of the next grid. */
__device__ __forceinline__ int next_place(const grid &g, const grid &next, int p)
{
  const int J = p / g.pitch - 1, I = p % g.pitch;
  return next.offset + next.pitch + karst_rrb_group_of(I, J) * next.array + (J >> 1) * next.pitch + (I >> 1);
}

template <typename F> __device__ __forceinline__ void blacks_forward(const grid &g, const grid &next, double *vector)
{
  const int w = g.pitch, array = g.array;
  for (int p = w + (int)threadIdx.x; p < array; p += THREADS) {
    const F *l = static_cast<const F *>(g.factor) + B1 * array + p;
    const double *b2 = vector + g.offset + p, *b1 = b2 + array;
    vector[next_place(g, next, p)] =
        b2[0] - (l[0] * b1[0] + l[array - 1] * b1[-1] + l[2 * array - w] * b1[-w] + l[3 * array - w - 1] * b1[-w - 1]);
  }
}

template <typename F> __device__ __forceinline__ void blacks_backward(const grid &g, const grid &next, double *vector)
{
  const int w = g.pitch, array = g.array;
  for (int p = w + (int)threadIdx.x; p < array; p += THREADS) {
    const F *l = static_cast<const F *>(g.factor) + B1 * array + p;
    double *b2 = vector + g.offset + p, *b1 = b2 + array;
    const double sw = vector[next_place(g, next, p)], se = vector[next_place(g, next, p + 1)];
    const double nw = vector[next_place(g, next, p + w)], ne = vector[next_place(g, next, p + w + 1)];
    *b2 = sw;
    *b1 = l[KARST_RRB_INVERSE * array] * *b1 - (l[0] * sw + l[array] * se + l[2 * array] * nw + l[3 * array] * ne);
  }
}

template <typename F> __device__ __forceinline__ void reds_backward(const grid &g, double *vector)
{
  const int w = g.pitch, array = g.array;
  double *v = vector + g.offset;
  for (int p = w + (int)threadIdx.x; p < array; p += THREADS) {
    const F *l1 = static_cast<const F *>(g.factor) + R1 * array + p, *l2 = l1 + (R2 - R1) * array;
    const double *b2 = v + p, *b1 = b2 + array;
    double *r1 = v + KARST_RRB_R1 * array + p, *r2 = v + KARST_RRB_R2 * array + p;
    *r1 = l1[KARST_RRB_INVERSE * array] * *r1 -
          (l1[0] * b2[0] + l1[array] * b2[1] + l1[2 * array] * b1[-w] + l1[3 * array] * b1[0]);
    *r2 = l2[KARST_RRB_INVERSE * array] * *r2 -
          (l2[0] * b1[-1] + l2[array] * b1[0] + l2[2 * array] * b2[0] + l2[3 * array] * b2[w]);
  }
}

/* x = W^T D^-1 W x with y as work space, both in shared memory; sums: [THREADS] in shared memory. */
__device__ void solve_rest(int rest, const double *__restrict__ W, const double *__restrict__ inverse, double *x,
                           double *y, double *sums)
{
  const int t = (int)threadIdx.x, lane = t % 32;
  for (int q = t / 32; q < rest; q += THREADS / 32) { /* a warp takes a row */
    double sum = 0;
#pragma unroll 4
    for (int c = lane; c < q; c += 32) sum += W[(int64_t)q * rest + c] * x[c];
    sum = karst_rrb_warp_sum(sum);
    if (lane == 0) y[q] = inverse[q] * (x[q] + sum);
  }
  __syncthreads();
  const int width = (rest + 31) / 32 * 32, parts = THREADS / width, c = t % width, part = t / width;
  double sum = 0; /* threads side by side take columns, and several parts of the rows */
  if (c < rest && part < parts) {
#pragma unroll 8
    for (int q = c + 1 + part; q < rest; q += parts) sum += W[(int64_t)q * rest + c] * y[q];
  }
  sums[t] = sum;
  __syncthreads();
  if (t < rest) {
    sum = y[t];
    for (int s = 0; s < parts; s++) sum += sums[s * width + t];
    x[t] = sum;
  }
  __syncthreads();
}

__device__ __forceinline__ void prefetch(const void *from, int64_t bytes)
{
  const char *at = static_cast<const char *>(from);
  for (int64_t b = (int64_t)threadIdx.x * LINE; b < bytes; b += (int64_t)THREADS * LINE) karst_rrb_prefetch(at + b);
}

/* The finer grids have evicted all factors from the cache; without a prefetch each level would wait for the memory. */
template <typename F> __device__ __forceinline__ void prefetch_factors(const hierarchy &h)
{
  for (int k = 0; k < h.grids; k++) {
    const int arrays = KARST_RRB_FACTORS * KARST_RRB_PARTS;
    prefetch(h.at[k].factor, (h.at[k].pitch + (int64_t)arrays * h.at[k].array) * (int)sizeof(F));
  }
  prefetch(h.dense, (int64_t)h.rest * h.rest * (int)sizeof(double));
  prefetch(h.inverse, (int64_t)h.rest * (int)sizeof(double));
}

template <typename F> __global__ void __launch_bounds__(THREADS, 1) solve_all(const hierarchy h)
{
  extern __shared__ double vector[];
  double *x = vector + h.elements, *y = x + THREADS, *sums = y + THREADS;
  const int t = (int)threadIdx.x, first = h.at[0].pitch + KARST_RRB_GROUPS * h.at[0].array;
  prefetch_factors<F>(h);
  karst_rrb_wait();
  for (int p = t; p < h.elements; p += THREADS) vector[p] = p < first ? h.vector[p] : 0;
  __syncthreads();
  for (int k = 0; k < h.grids; k++) {
    reds_forward<F>(h.at[k], vector);
    __syncthreads();
    if (k == h.grids - 1 && h.odd) break;
    blacks_forward<F>(h.at[k], h.at[k + 1], vector);
    __syncthreads();
  }
  double *left = vector + h.at[h.odd ? h.grids - 1 : h.grids].offset;
  if (t < h.rest) x[t] = left[h.place[t]];
  __syncthreads();
  solve_rest(h.rest, h.dense, h.inverse, x, y, sums);
  if (t < h.rest) left[h.place[t]] = x[t];
  __syncthreads();
  for (int k = h.grids - 1; k >= 0; k--) {
    if (k < h.grids - 1 || !h.odd) blacks_backward<F>(h.at[k], h.at[k + 1], vector);
    __syncthreads();
    reds_backward<F>(h.at[k], vector);
    __syncthreads();
  }
  for (int p = t; p < first; p += THREADS) h.vector[p] = vector[p];
}

/* The number of the last grid that has a vector in use. */
int last_grid(const karst_rrb *rrb) { return rrb->levels / 2; }

} // namespace

void karst_rrb_coarse_prepare_cuda(karst_rrb_cuda *plan)
{
  int device = 0, most = 0;
  cudaFuncAttributes code = {};
  cudaGetDevice(&device);
  cudaDeviceGetAttribute(&most, cudaDevAttrMaxSharedMemoryPerBlockOptin, device);
  plan->overlaps = cudaFuncGetAttributes(&code, solve_all<double>) == cudaSuccess && code.ptxVersion >= 90;
  const int wanted = (ELEMENTS + 3 * THREADS) * (int)sizeof(double);
  most -= (int)code.sharedSizeBytes;
  if (most > wanted) most = wanted;
  cudaFuncSetAttribute(solve_all<double>, cudaFuncAttributeMaxDynamicSharedMemorySize, most);
  cudaFuncSetAttribute(solve_all<float>, cudaFuncAttributeMaxDynamicSharedMemorySize, most);
  plan->shared = most / (int)sizeof(double) - 3 * THREADS;
}

int karst_rrb_coarse_begin_cuda(const karst_rrb *rrb)
{
  const int last = last_grid(rrb), floor = last - GRIDS + 2 > 1 ? last - GRIDS + 2 : 1;
  int64_t elements = 0;
  int m = last + 1;
  if (rrb->rest > REST) return rrb->grids + 1;
  while (m > floor) {
    elements += karst_rrb_elements(&rrb->shape[m - 1], KARST_RRB_GROUPS);
    if (elements > karst_rrb_cuda_of(rrb)->shared) break;
    m--;
  }
  return m <= last ? m : rrb->grids + 1;
}

void karst_rrb_coarse_cuda(karst_context *context, const karst_rrb *rrb, int m)
{
  const karst_rrb_cuda *made = karst_rrb_cuda_of(rrb);
  const int last = last_grid(rrb);
  hierarchy h = {};
  h.grids = rrb->grids - m;
  h.rest = (int)rrb->rest;
  h.odd = rrb->levels % 2 != 0;
  for (int k = m; k <= last; k++) {
    const karst_rrb_shape *shape = &rrb->shape[k];
    h.at[k - m] = {(int)shape->pitch, (int)shape->array, h.elements, k < rrb->grids ? made->arrays.factor[k] : NULL};
    h.elements += (int)karst_rrb_elements(shape, KARST_RRB_GROUPS);
  }
  h.vector = made->arrays.vector[m];
  h.place = made->place;
  h.dense = made->dense;
  h.inverse = made->inverse;
  const auto kernel = rrb->single ? solve_all<float> : solve_all<double>;
  const int shared = (h.elements + 3 * THREADS) * (int)sizeof(double);
  karst_rrb_launch(context, rrb, kernel, 1, THREADS, shared, h);
}
