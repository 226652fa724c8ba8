/* weigh.cu - the weights of the smoother, and the dense inverse of the last level by Gauss-Jordan elimination in place,
 * as in cpu/amg/invert.c, which explains the choice of pivots.
 *
 * One thread block inverts, in shared memory if that has room for the matrix (160 rows on an H100), else in global
 * memory. A step is a search for the pivot, which also copies the column, an exchange of rows, which makes the scaled
 * pivot row, and an update of all elements. */
#include "gpu/amg/group.h"

#include <cmath>

namespace
{

enum { THREADS = 256, INVERT = 1024, COLUMNS = KARST_AMG_DENSE };

template <int LANES, typename T>
__global__ void weigh_rows(karst_amg_view<T> A, bool l1, T *weight, karst_amg_scalars *s)
{
  using group = karst_amg_group<LANES>;
  const int64_t i = (blockIdx.x * (int64_t)THREADS + threadIdx.x) / LANES;
  if (i >= A.rows) return;
  double diagonal = 0, others = 0;
  for (karst_index e = A.start[i] + group::lane(); e < A.start[i + 1]; e += LANES) {
    if (A.column[e] == i)
      diagonal = A.value[e];
    else
      others += fabs((double)A.value[e]);
  }
  others = group::sum(others);
  const int negative = group::sum(signbit(diagonal) ? 1 : 0); /* in a sum with 0, -0 would lose its sign */
  diagonal = copysign(group::sum(fabs(diagonal)), negative ? -1.0 : 1.0);
  if (group::lane() > 0) return;
  const double d = l1 ? diagonal + copysign(others, diagonal) : diagonal, w = d == 0 ? 0 : 1 / d;
  weight[i] = fabs(w) <= karst_amg_limit<T>() ? (T)w : (T)0;
  if (!(fabs(diagonal) + others <= DBL_MAX)) s->faults = 1;
}

/* The state of the elimination that is always in shared memory. */
struct elimination {
  double row[COLUMNS];    /* the pivot row, scaled */
  double factor[COLUMNS]; /* the column before the update */
  double size[COLUMNS];   /* of each column of A */
  int origin[COLUMNS];    /* the row of A that is at each place */
  int where[COLUMNS];     /* the place of each row of A */
  double largest[INVERT / 32];
  int at[INVERT / 32];
};

template <typename T> __device__ void spread(const karst_amg_view<T> &A, double *dense, int pitch, elimination &all)
{
  const int n = (int)A.rows, t = (int)threadIdx.x;
  for (int v = t; v < n * pitch; v += INVERT) dense[v] = 0;
  __syncthreads();
  for (int i = t / 32; i < n; i += INVERT / 32)
    for (karst_index e = A.start[i] + t % 32; e < A.start[i + 1]; e += 32)
      dense[i * pitch + (int)A.column[e]] = A.value[e];
  __syncthreads();
  for (int j = t; j < n; j += INVERT) {
    double size = 0;
    for (int i = 0; i < n; i++) size = fmax(size, fabs(dense[i * pitch + j]));
    all.size[j] = size;
    all.origin[j] = all.where[j] = j;
  }
  __syncthreads();
}

__device__ __forceinline__ bool is_better(double a, int at, double b, int bt) { return a > b || (a == b && at < bt); }

/* Copies column k, and returns the row of its pivot, or -1, in all threads; *own: as in cpu/amg/invert.c. */
__device__ int find_pivot(int n, int k, const double *dense, int pitch, double rounding, elimination &all, int *own)
{
  enum { WARPS = INVERT / 32 };
  const int t = (int)threadIdx.x;
  double largest = -1;
  int at = n;
  if (t < n) {
    const double value = dense[t * pitch + k];
    all.factor[t] = value;
    if (t >= k && fabs(value) >= 0) largest = fabs(value), at = t;
  }
  for (int distance = 16; distance > 0; distance /= 2) {
    const double other = __shfl_down_sync(0xffffffffu, largest, distance);
    const int other_at = __shfl_down_sync(0xffffffffu, at, distance);
    if (is_better(other, other_at, largest, at)) largest = other, at = other_at;
  }
  if (t % 32 == 0) {
    all.largest[t / 32] = largest;
    all.at[t / 32] = at;
  }
  __syncthreads();
  largest = -1;
  at = n;
  for (int w = 0; w < WARPS; w++)
    if (is_better(all.largest[w], all.at[w], largest, at)) largest = all.largest[w], at = all.at[w];
  *own = all.where[k] >= k ? all.where[k] : k;
  if (!(largest > rounding * all.size[k])) return -1;
  return all.where[k] >= k && fabs(all.factor[*own]) >= 0.1 * largest ? *own : at;
}

/* Exchanges rows k and pivot, and eliminates unknown k, or drops it if it is pinned. */
__device__ void eliminate(int n, int k, int pivot, bool pinned, double *dense, int pitch, elimination &all)
{
  const int t = (int)threadIdx.x;
  const double inverse = pinned ? 0 : 1 / all.factor[pivot];
  if (t < n) {
    all.row[t] = pinned ? 0 : t == k ? inverse : dense[pivot * pitch + t] * inverse;
    dense[pivot * pitch + t] = dense[k * pitch + t];
  }
  __syncthreads();
  if (t == 0) {
    const int other = all.origin[k];
    all.factor[pivot] = all.factor[k];
    all.origin[k] = all.origin[pivot];
    all.origin[pivot] = other;
    all.where[all.origin[k]] = k;
    all.where[all.origin[pivot]] = pivot;
  }
  __syncthreads();
  for (int i = t / 32; i < n; i += INVERT / 32) {
    const double factor = pinned ? 0 : all.factor[i];
    double *row = dense + i * pitch;
    for (int j = t % 32; j < n; j += 32) row[j] = i == k ? all.row[j] : (j == k ? 0 : row[j]) - factor * all.row[j];
  }
  __syncthreads();
}

/* global: [rows * pitch] where dynamic shared memory has no room, else NULL. */
template <typename T>
__global__ void __launch_bounds__(INVERT)
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
    int own;
    const int pivot = find_pivot(n, k, dense, pitch, rounding, all, &own);
    pinned += pivot < 0;
    eliminate(n, k, pivot < 0 ? own : pivot, pivot < 0, dense, pitch, all);
  }
  for (int v = (int)threadIdx.x; v < n * n; v += INVERT) {
    const int i = v / n, j = v % n;
    inverse[(int64_t)all.origin[j] * n + i] = (T)dense[i * pitch + j];
  }
  if (threadIdx.x == 0) s->pinned = pinned;
}

/* An odd pitch, so that the elements of a column are in different banks. */
int pitch_of(karst_index rows) { return (int)rows | 1; }

template <typename T> void launch_weigh(karst_context *context, karst_amg *amg)
{
  const karst_amg_cuda *plan = karst_amg_cuda_of(amg);
  cudaStream_t stream = karst_cuda_of(context)->stream;
  for (int l = 0; l < amg->levels; l++) {
    const karst_amg_matrix *A = &amg->level[l].A;
    karst_amg_with_lanes(karst_amg_lanes(A->entries, A->rows, 4, 32), [&](auto lanes) {
      weigh_rows<lanes.value><<<karst_cuda_grid((int64_t)A->rows * lanes.value, THREADS), THREADS, 0, stream>>>(
          karst_amg_view_of<T>(A), amg->l1, static_cast<T *>(amg->level[l].weight), plan->scalars);
    });
  }
  if (!amg->inverse) return;
  const karst_amg_matrix *last = &amg->level[amg->levels - 1].A;
  const int pitch = pitch_of(last->rows);
  const int shared = plan->dense ? 0 : (int)last->rows * pitch * (int)sizeof(double);
  cudaFuncSetAttribute(invert<T>, cudaFuncAttributeMaxDynamicSharedMemorySize, shared);
  invert<<<1, INVERT, (size_t)shared, stream>>>(karst_amg_view_of<T>(last), plan->dense, pitch,
                                                static_cast<T *>(amg->inverse), plan->scalars);
}

} // namespace

/* Takes the memory of the inverse. */
karst_status karst_amg_invert_prepare_cuda(karst_context *context, karst_amg *amg)
{
  karst_amg_cuda *plan = karst_amg_cuda_of(amg);
  const int64_t rows = amg->level[amg->levels - 1].A.rows, scalar = amg->single ? sizeof(float) : sizeof(double);
  const int64_t bytes = rows * pitch_of((karst_index)rows) * (int64_t)sizeof(double);
  int most = 0;
  karst_status status = KARST_SUCCESS;
  if (rows > KARST_AMG_DENSE) return status;
  cudaDeviceGetAttribute(&most, cudaDevAttrMaxSharedMemoryPerBlockOptin, karst_cuda_of(context)->device);
  if (bytes > most - (int64_t)sizeof(elimination)) {
    status = karst_amg_take_cuda(context, amg, bytes / (int64_t)sizeof(double), "the inverse of a level", &plan->dense);
    amg->plan_memory += bytes;
  }
  amg->plan_memory += rows * rows * scalar;
  if (!status)
    status =
        karst_amg_take_bytes_cuda(context, amg, (rows * rows + 1) * scalar, "the inverse of a level", &amg->inverse);
  return status;
}

karst_status karst_amg_weigh_cuda(karst_context *context, karst_amg *amg, karst_amg_outcome *outcome)
{
  karst_amg_scalars *s = karst_amg_cuda_of(amg)->scalars, found;
  cudaMemsetAsync(&s->faults, 0, sizeof s->faults, karst_cuda_of(context)->stream);
  cudaMemsetAsync(&s->pinned, 0, sizeof s->pinned, karst_cuda_of(context)->stream);
  if (amg->single)
    launch_weigh<float>(context, amg);
  else
    launch_weigh<double>(context, amg);
  const karst_status status = context->backend->download(context, &found, s, sizeof found);
  if (status) return status;
  *outcome = {found.faults ? KARST_NOT_FINITE : KARST_SOUND, -1, found.faults ? 0 : found.pinned};
  return status;
}
