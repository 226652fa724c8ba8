/* weigh.cu - the weights of CPR on the GPU. The blocks of a column are summed in the order of their rows.
 *
 * Blocks with an instance: a thread block sums the columns of some cells, an element of a sum a thread, so that
 * neighbours read neighbouring elements, and then inverts each sum by one thread. Larger ones: a thread block for each
 * cell. */
#include "gpu/block_inverse.h"
#include "gpu/cpr/cpr_cuda.h"

namespace
{

enum {
  THREADS = 128,
  CELLS = 32 /* of a thread block; for b = 8 their sums take 32 KiB of shared memory */
};

/* The arguments of all kernels. */
struct task {
  karst_index rows;
  int b, pressure;
  karst_cpr_weights weights;
  const karst_index *start, *block, *diagonal; /* of the plan */
  const double *value;                         /* of A */
  const double *given;                         /* [b*b*rows] for true-IMPES */
  const double *parts;                         /* of column sums, from other ranks; or NULL */
  const karst_index *part_start, *part;        /* of the columns; or NULL */
  double *weight;
  karst_cpr_found *found;
  double *room; /* [grid 3 b*b] */
};

/* Sums element v of the blocks of column j, and its size (lib/backend/dense.h). */
__device__ __forceinline__ void sum_column(const task &t, int64_t bb, int64_t j, int64_t v, double *sum, double *size)
{
  const karst_index end = t.start[j + 1];
  double s = 0, z = 0;
#pragma unroll 4
  for (karst_index e = t.start[j]; e < end; e++) {
    s += t.value[t.block[e] * bb + v];
    z += fabs(s);
  }
  if (t.parts)
    for (karst_index e = t.part_start[j]; e < t.part_start[j + 1]; e++) { /* each comes with its own size */
      const double *part = t.parts + 2 * bb * t.part[e];
      s += part[v];
      z += part[bb + v] + fabs(s);
    }
  *sum = s;
  *size = z;
}

__device__ __forceinline__ void report(karst_cpr_found *found, int happened)
{
  if (happened & KARST_CPR_CELL_GUARDED) atomicAdd(&found->guarded, 1ull);
  if (happened & KARST_CPR_CELL_SINGULAR) atomicAdd(&found->singular, 1ull);
  if (happened & KARST_CPR_CELL_SUSPECT) atomicAdd(&found->suspect, 1ull);
}

template <int B> __global__ void __launch_bounds__(THREADS) weigh_small(task t)
{
  enum { BB = B * B };
  __shared__ double sum[CELLS * BB], size[CELLS * BB];
  const int64_t first = (int64_t)blockIdx.x * CELLS, i = first + threadIdx.x;
  if (t.weights == KARST_CPR_COLUMN_SUM)
    for (int v = (int)threadIdx.x; v < CELLS * BB; v += THREADS)
      if (first + v / BB < t.rows) sum_column(t, BB, first + v / BB, v % BB, &sum[v], &size[v]);
  __syncthreads();
  if (threadIdx.x >= CELLS || i >= t.rows) return;
  const double *own = t.value + karst_cuda_offset(B, t.diagonal[i]), *block = own, *sizes = own;
  double inverse[BB], work[2 * B], weight[B];
  int pivot[B];
  if (t.weights == KARST_CPR_TRUE_IMPES) block = sizes = t.given + karst_cuda_offset(B, i);
  if (t.weights == KARST_CPR_COLUMN_SUM) {
    block = sum + threadIdx.x * BB;
    sizes = size + threadIdx.x * BB;
  }
  report(t.found, karst_cpr_weigh_cell(B, t.pressure, block, sizes, own, inverse, work, pivot, weight));
#pragma unroll
  for (int r = 0; r < B; r++) t.weight[i * B + r] = weight[r];
}

/* Inverts a block in work space by all threads of the thread block. shared: karst_cuda_invert_shared(b) bytes. */
__device__ __forceinline__ karst_reason invert(int b, const double *from, const double *sizes, double *inverse,
                                               void *shared)
{
  __syncthreads();
  for (int v = (int)threadIdx.x; v < b * b; v += (int)blockDim.x) inverse[v] = from[v];
  __syncthreads();
  return karst_cuda_invert(b, inverse, from, sizes, shared);
}

__global__ void __launch_bounds__(KARST_CUDA_THREADS) weigh_large(task t)
{
  extern __shared__ double shared[];
  const int b = t.b;
  const int64_t bb = (int64_t)b * b;
  double *inverse = t.room + 3 * bb * blockIdx.x, *sum = inverse + bb, *size = sum + bb;
  for (int64_t i = blockIdx.x; i < t.rows; i += gridDim.x) {
    const double *own = t.value + karst_cuda_offset(b, t.diagonal[i]), *block = own, *sizes = own;
    double *weight = t.weight + i * b;
    int happened = 0;
    bool done = false;
    if (t.weights == KARST_CPR_TRUE_IMPES) block = sizes = t.given + karst_cuda_offset(b, i);
    if (t.weights == KARST_CPR_COLUMN_SUM) {
      for (int64_t v = threadIdx.x; v < bb; v += blockDim.x) sum_column(t, bb, i, v, &sum[v], &size[v]);
      block = sum;
      sizes = size;
    }
    for (int attempt = block == own; attempt < 2 && !done; attempt++) {
      const karst_reason reason = invert(b, attempt == 0 ? block : own, attempt == 0 ? sizes : own, inverse, shared);
      done = __syncthreads_or(threadIdx.x == 0 &&
                              karst_cpr_attempt(b, t.pressure, attempt, reason, inverse, own, weight, &happened));
    }
    if (threadIdx.x > 0) continue;
    if (!done) karst_cpr_take_equation(b, t.pressure, weight);
    report(t.found, happened);
  }
}

/* Keeps the first block row with a number that is not finite, a warp a row. start: NULL, or the rows are those of a
 * matrix with width numbers a block, which are looked at if there is a suspect. */
__global__ void __launch_bounds__(KARST_CUDA_THREADS)
    find_bad(karst_index rows, const karst_index *start, int64_t width, const double *value, karst_cpr_found *found)
{
  if (start && found->suspect == 0) return;
  const int64_t warps = (int64_t)gridDim.x * (blockDim.x / 32);
  for (int64_t i = ((int64_t)blockIdx.x * blockDim.x + threadIdx.x) / 32; i < rows; i += warps) {
    const int64_t end = width * (start ? (int64_t)start[i + 1] : i + 1);
    bool finite = true;
    for (int64_t v = width * (start ? (int64_t)start[i] : i) + threadIdx.x % 32; v < end; v += 32)
      finite = finite && fabs(value[v]) <= DBL_MAX;
    if (!finite) atomicMin(&found->bad, (unsigned long long)i);
  }
}

task task_of(const karst_matrix *A, const karst_cpr *cpr, karst_cpr_weights weights, const double *given,
             const double *parts)
{
  const karst_cpr_cuda *plan = karst_cpr_cuda_of(cpr);
  const karst_columns *columns = parts ? cpr->columns : NULL;
  return {cpr->rows,
          cpr->block_size,
          cpr->pressure,
          weights,
          plan->start,
          plan->block,
          plan->diagonal,
          A->value,
          given,
          parts,
          columns ? columns->part_start : NULL,
          columns ? columns->part : NULL,
          cpr->weight,
          plan->found,
          plan->room};
}

} // namespace

void karst_cpr_reset_cuda(karst_context *context, const karst_cpr *cpr)
{
  cudaStream_t stream = karst_cuda_of(context)->stream;
  karst_cpr_found *found = karst_cpr_cuda_of(cpr)->found;
  cudaMemsetAsync(found, 0, sizeof *found, stream);
  cudaMemsetAsync(&found->bad, 0xff, sizeof found->bad, stream);
}

karst_status karst_cpr_report_cuda(karst_context *context, const karst_cpr *cpr, karst_cpr_found *found,
                                   karst_cpr_outcome *outcome)
{
  const karst_status status = karst_download_cuda(context, found, karst_cpr_cuda_of(cpr)->found, sizeof *found);
  if (status || found->bad == ~0ull) return status;
  outcome->reason = KARST_NOT_FINITE;
  outcome->block_row = (karst_index)found->bad;
  return status;
}

karst_status karst_cpr_weigh_cuda(karst_context *context, const karst_matrix *A, karst_cpr_weights weights,
                                  const double *given, const double *parts, karst_cpr *cpr, karst_cpr_outcome *outcome)
{
  const struct karst_cuda *cuda = karst_cuda_of(context);
  const karst_cpr_cuda *plan = karst_cpr_cuda_of(cpr);
  const int b = cpr->block_size;
  const unsigned grid = (unsigned)cuda->multiprocessors * 8;
  const task t = task_of(A, cpr, weights, given, parts);
  karst_cpr_found found = {};
  outcome->reason = KARST_SOUND;
  outcome->block_row = -1;
  karst_cpr_reset_cuda(context, cpr);
  if (weights == KARST_CPR_ROW_SUM) {
    karst_fill_cuda(context, (int64_t)b * t.rows, 1, cpr->weight);
  } else if (weights == KARST_CPR_GIVEN) {
    karst_copy_cuda(context, (int64_t)b * t.rows, given, cpr->weight);
    find_bad<<<grid, KARST_CUDA_THREADS, 0, cuda->stream>>>(t.rows, NULL, b, given, plan->found);
  } else {
    karst_cuda_instance(b, [&](auto size) {
      constexpr int B = decltype(size)::value;
      if constexpr (B > 0)
        weigh_small<B><<<karst_cuda_grid(t.rows, CELLS), THREADS, 0, cuda->stream>>>(t);
      else
        weigh_large<<<(unsigned)plan->groups, KARST_CUDA_THREADS, karst_cuda_invert_shared(b), cuda->stream>>>(t);
    });
    find_bad<<<grid, KARST_CUDA_THREADS, 0, cuda->stream>>>(t.rows, A->device_row_start, (int64_t)b * b, A->value,
                                                            plan->found);
  }
  const karst_status status = karst_cpr_report_cuda(context, cpr, &found, outcome);
  outcome->guarded = (int64_t)found.guarded;
  outcome->singular = (int64_t)found.singular;
  outcome->suspect = (int64_t)found.suspect;
  return status;
}
