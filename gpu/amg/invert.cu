/* invert.cu - the dense inverse of the last level by Gauss-Jordan elimination in place, as in cpu/amg/invert.c, which
 * explains the choice of pivots and what is pinned.
 *
 * One thread block inverts, in shared memory if that has room for the matrix (160 rows on an H100), else in global
 * memory. A step is a search for the pivot, which also copies the column, an exchange of rows, which makes the scaled
 * pivot row, and an update of all elements. */
#include "gpu/amg/group.h"

namespace
{

enum { THREADS = 1024, WARP = 32, WARPS = THREADS / WARP, COLUMNS = KARST_AMG_DENSE };

const char *const what = "the inverse of a level";

/* The state that is always in shared memory. */
struct elimination {
  double row[COLUMNS];    /* the pivot row, scaled */
  double column[COLUMNS]; /* the column before the update */
  double sum[COLUMNS];    /* of each row of |A| */
  int origin[COLUMNS];    /* the row of A that is at each place */
  int where[COLUMNS];     /* the place of each row of A */
  double largest[WARPS], above[WARPS];
  int at[WARPS];
};

/* A pivot, the same in all threads. */
struct choice {
  int row, own; /* its row, and the one that holds the equation of its number, or k if a row above does */
  double size;  /* of it */
  double above; /* the largest of the numbers above it in its column, and 1 */
};

template <typename T> __device__ void spread(const karst_amg_view<T> &A, double *dense, int pitch, elimination &all)
{
  using warp = karst_amg_group<WARP>;
  const int n = (int)A.rows, t = (int)threadIdx.x;
  for (int v = t; v < n * pitch; v += THREADS) dense[v] = 0;
  __syncthreads();
  for (int i = t / WARP; i < n; i += WARPS) {
    double sum = 0;
    for (karst_index e = A.start[i] + warp::lane(); e < A.start[i + 1]; e += WARP) {
      dense[i * pitch + (int)A.column[e]] = A.value[e];
      sum += fabs((double)A.value[e]);
    }
    sum = warp::sum(sum);
    if (warp::lane() == 0) all.sum[i] = sum;
  }
  if (t < n) all.origin[t] = all.where[t] = t;
  __syncthreads();
}

__device__ __forceinline__ bool is_better(double a, int at, double b, int bt) { return a > b || (a == b && at < bt); }

/* Copies column k, and chooses its pivot. */
__device__ choice find_pivot(int n, int k, const double *dense, int pitch, elimination &all)
{
  const int t = (int)threadIdx.x;
  double largest = -1, above = 1;
  int at = k;
  if (t < n) {
    const double value = dense[t * pitch + k];
    all.column[t] = value;
    if (t >= k && fabs(value) >= 0) largest = fabs(value), at = t;
    if (t < k) above = fmax(above, fabs(value));
  }
  for (int distance = WARP / 2; distance > 0; distance /= 2) {
    const double other = __shfl_down_sync(0xffffffffu, largest, distance);
    const int other_at = __shfl_down_sync(0xffffffffu, at, distance);
    if (is_better(other, other_at, largest, at)) largest = other, at = other_at;
    above = fmax(above, __shfl_down_sync(0xffffffffu, above, distance));
  }
  if (t % WARP == 0) {
    all.largest[t / WARP] = largest;
    all.above[t / WARP] = above;
    all.at[t / WARP] = at;
  }
  __syncthreads();
  for (int w = 0; w < WARPS; w++) {
    if (w == 0 || is_better(all.largest[w], all.at[w], largest, at)) largest = all.largest[w], at = all.at[w];
    above = fmax(above, all.above[w]);
  }
  const int own = all.where[k] >= k ? all.where[k] : k;
  if (all.where[k] >= k && fabs(all.column[own]) >= 0.1 * largest) at = own;
  return {at, own, fabs(all.column[at]), above};
}

/* Returns |u|'|A||v| for a pivot of unknown k, in all threads. */
template <typename T>
__device__ double perturbation(const karst_amg_view<T> &A, int k, int row, const double *dense, int pitch,
                               const elimination &all)
{
  double sum = 0;
  for (int m = (int)threadIdx.x / WARP; m <= k; m += WARPS) {
    const double u = m == k ? 1 : fabs(dense[row * pitch + m]);
    const int i = all.origin[m == k ? row : m];
    for (karst_index e = A.start[i] + (int)threadIdx.x % WARP; e < A.start[i + 1] && u > 0; e += WARP) {
      const karst_index j = A.column[e];
      if (j <= k) sum += u * fabs((double)A.value[e]) * (j == k ? 1 : fabs(all.column[j]));
    }
  }
  return karst_amg_group<THREADS>::sum(sum);
}

/* Whether a pivot exceeds what rounding may have made of 0. A bound of the perturbation mostly decides. */
template <typename T>
__device__ bool is_sound(const karst_amg_view<T> &A, int k, const choice &pivot, const double *dense, int pitch,
                         double rounding, const elimination &all)
{
  const int t = (int)threadIdx.x;
  const double u = t < k ? fabs(dense[pivot.row * pitch + t]) : t == k ? 1 : 0;
  const double bound = u > 0 ? u * all.sum[all.origin[t == k ? pivot.row : t]] : 0;
  if (pivot.size > 2 * rounding * pivot.above * karst_amg_group<THREADS>::sum(bound)) return true;
  return pivot.size > rounding * perturbation(A, k, pivot.row, dense, pitch, all);
}

/* Exchanges rows k and row, and eliminates unknown k, or drops it if it is pinned. */
__device__ void eliminate(int n, int k, int row, bool pinned, double *dense, int pitch, elimination &all)
{
  const int t = (int)threadIdx.x;
  const double inverse = pinned ? 0 : 1 / all.column[row];
  if (t < n) {
    all.row[t] = pinned ? 0 : t == k ? inverse : dense[row * pitch + t] * inverse;
    dense[row * pitch + t] = dense[k * pitch + t];
  }
  __syncthreads();
  if (t == 0) {
    const int other = all.origin[k];
    all.column[row] = all.column[k];
    all.origin[k] = all.origin[row];
    all.origin[row] = other;
    all.where[all.origin[k]] = k;
    all.where[all.origin[row]] = row;
  }
  __syncthreads();
  for (int i = t / WARP; i < n; i += WARPS) {
    const double factor = pinned ? 0 : all.column[i];
    double *to = dense + i * pitch;
    for (int j = t % WARP; j < n; j += WARP) to[j] = i == k ? all.row[j] : (j == k ? 0 : to[j]) - factor * all.row[j];
  }
  __syncthreads();
}

/* global: [rows * pitch] where dynamic shared memory has no room, else NULL. */
template <typename T>
__global__ void __launch_bounds__(THREADS)
    invert(karst_amg_view<T> A, double *global, int pitch, T *inverse, karst_amg_scalars *s)
{
  extern __shared__ double own_dense[];
  __shared__ elimination all;
  double *dense = global ? global : own_dense;
  const int n = (int)A.rows;
  const double rounding = n * karst_amg_epsilon<T>();
  int pinned = 0;
  spread(A, dense, pitch, all);
  for (int k = 0; k < n; k++) {
    const choice pivot = find_pivot(n, k, dense, pitch, all);
    const bool sound = is_sound(A, k, pivot, dense, pitch, rounding, all);
    pinned += !sound;
    eliminate(n, k, sound ? pivot.row : pivot.own, !sound, dense, pitch, all);
  }
  for (int v = (int)threadIdx.x; v < n * n; v += THREADS) {
    const int i = v / n, j = v % n;
    inverse[(int64_t)i * n + all.origin[j]] = (T)dense[i * pitch + j];
  }
  if (threadIdx.x == 0) s->pinned = pinned;
}

/* An odd pitch, so that the elements of a column are in different banks. */
int pitch_of(karst_index rows) { return (int)rows | 1; }

template <typename T> void launch(karst_context *context, const karst_amg *amg)
{
  const karst_amg_cuda *plan = karst_amg_cuda_of(amg);
  const karst_amg_matrix *A = &amg->level[amg->levels - 1].A;
  const int pitch = pitch_of(A->rows), shared = plan->dense ? 0 : (int)A->rows * pitch * (int)sizeof(double);
  cudaFuncSetAttribute(invert<T>, cudaFuncAttributeMaxDynamicSharedMemorySize, shared);
  invert<<<1, THREADS, (size_t)shared, karst_cuda_of(context)->stream>>>(karst_amg_view_of<T>(A), plan->dense, pitch,
                                                                         static_cast<T *>(amg->inverse), plan->scalars);
}

} // namespace

karst_status karst_amg_invert_prepare_cuda(karst_context *context, karst_amg *amg)
{
  karst_amg_cuda *plan = karst_amg_cuda_of(amg);
  const karst_index rows = amg->level[amg->levels - 1].A.rows;
  const int64_t elements = rows * (int64_t)rows, scalar = amg->single ? sizeof(float) : sizeof(double);
  const int64_t dense = rows * (int64_t)pitch_of(rows), bytes = dense * (int64_t)sizeof(double);
  int most = 0;
  if (rows > KARST_AMG_DENSE) return KARST_SUCCESS;
  cudaDeviceGetAttribute(&most, cudaDevAttrMaxSharedMemoryPerBlockOptin, karst_cuda_of(context)->device);
  karst_status status = karst_amg_take_bytes_cuda(context, amg, (elements + 1) * scalar, what, &amg->inverse);
  amg->plan_memory += elements * scalar;
  const int64_t own = sizeof(elimination) + WARPS * sizeof(double); /* with the sums of a group */
  if (status || bytes <= most - own) return status;
  amg->plan_memory += bytes;
  return karst_amg_take_cuda(context, amg, dense, what, &plan->dense);
}

void karst_amg_invert_cuda(karst_context *context, const karst_amg *amg)
{
  if (amg->single)
    launch<float>(context, amg);
  else
    launch<double>(context, amg);
}
