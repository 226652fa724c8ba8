/* large.cu - DILU and its sweeps as in factor.cu and sweep.cu, for blocks of any size. Thread blocks take the block
 * rows in level order; all are resident together. In the sweeps the unknowns carry their own flag. The factorization
 * waits until the rows that it needs are marked as done. */
#include "gpu/dilu/dilu_cuda.h"

#include "gpu/block_inverse.h"
#include "gpu/reduce.h"
#include "gpu/ilu/pivot_repair.h"

namespace
{

enum { THREADS = KARST_ILU_THREADS, MOST = 2048 };

/* How many threads share the columns of a scalar row in a sweep. */
__host__ __device__ int parts_of(int b) { return b < THREADS ? THREADS / b : 1; }

/* The columns of a product that are in shared memory together: all if b is at most 45. */
__host__ __device__ int columns_of(int b) { return b >= MOST ? 1 : MOST / b < b ? MOST / b : b; }

/* The first entry of a slot, and the number of its entries with the padding. */
struct entries {
  int64_t first;
  int64_t length;
};

__device__ entries entries_of(const karst_triangle &t, karst_index slot)
{
  const karst_index slice = slot / t.group;
  return {t.start[slice] * t.group + slot % t.group, t.start[slice + 1] - t.start[slice]};
}

/* Adds block times x to the partial sums. Thread v handles row v % b, and every parts-th of its columns; x in shared
 * memory. */
__device__ void add_product(int b, const double *block, const double *x, double *partial)
{
  const int parts = parts_of(b);
  for (int v = threadIdx.x; v < parts * b; v += THREADS) {
    const int r = v % b;
    double sum = 0;
    for (int c = v / b; c < b; c += parts) sum += block[(int64_t)c * b + r] * x[c];
    partial[v] += sum;
  }
}

__device__ double sum_parts(int b, int r, const double *partial)
{
  double sum = 0;
  for (int part = 0; part < parts_of(b); part++) sum += partial[part * b + r];
  return sum;
}

__device__ void clear(int count, double *list)
{
  for (int v = threadIdx.x; v < count; v += THREADS) list[v] = 0;
}

/* The vectors are absent beforehand. */
template <bool upper>
__global__ void __launch_bounds__(THREADS)
    sweep_large(const karst_triangle t, int b, const double *A, const double *D, const double *in, double *out)
{
  extern __shared__ double shared[]; /* [b] an operand, [b parts_of(b)] partial sums */
  double *x = shared, *partial = shared + b;
  const int length = b * parts_of(b);
  for (int64_t slot = blockIdx.x; slot < t.rows; slot += gridDim.x) {
    const entries all = entries_of(t, (karst_index)slot);
    const int64_t row = t.row[slot], from = (upper ? (int64_t)t.other[slot] : row) * b;
    clear(length, partial);
    for (int64_t e = upper ? 1 : 0; e < all.length; e++) {
      const int64_t number = all.first + e * t.group, source = t.source[number];
      if (source < 0) break; /* the padding comes last */
      __syncthreads();
      for (int c = threadIdx.x; c < b; c += THREADS) {
        const double *place = t.x + (int64_t)t.column[number] * b + c;
        do x[c] = karst_look(place);
        while (karst_is_absent(x[c]));
      }
      __syncthreads();
      add_product(b, A + source * b * b, x, partial);
    }
    __syncthreads();
    for (int r = threadIdx.x; r < b; r += THREADS) {
      const double sum = sum_parts(b, r, partial);
      x[r] = upper ? sum : in[from + r] - sum;
    }
    __syncthreads();
    clear(length, partial);
    add_product(b, D + row * b * b, x, partial); /* a thread adds to sums that it has cleared itself */
    __syncthreads();
    for (int r = threadIdx.x; r < b; r += THREADS) {
      const double product = sum_parts(b, r, partial), result = upper ? in[from + r] - product : product;
      karst_publish(&t.x[slot * b + r], result);
      if (upper) out[row * b + r] = result;
    }
    __syncthreads();
  }
}

/* Waits for a row. Afterwards its values can be read. */
__device__ void await_row(const int *done)
{
  if (threadIdx.x == 0)
    while (!*(const volatile int *)done) continue;
  __syncthreads();
  __threadfence();
}

/* Subtracts left times inverse times (right + R (sum - right)) from block, and tracks its size (lib/backend/dense.h).
 * It works in groups of columns; line holds the product of the last two factors. right and sum may be NULL, for
 * zeros. */
__device__ void subtract(int b, const double *left, const double *inverse, const double *right, double modified,
                         const double *sum, double *block, double *size, double *line)
{
  const int most = columns_of(b);
  for (int first = 0; first < b; first += most) {
    const int count = min(most, b - first);
    for (int v = threadIdx.x; v < count * b; v += THREADS) {
      const int r = v % b;
      const int64_t column = (int64_t)(first + v / b) * b;
      double entry = 0;
      for (int s = 0; s < b; s++) {
        double factor = right ? right[column + s] : 0;
        if (sum) factor += modified * (sum[column + s] - factor);
        entry += __ldcg(&inverse[(int64_t)s * b + r]) * factor;
      }
      line[v] = entry;
    }
    __syncthreads();
    for (int v = threadIdx.x; v < count * b; v += THREADS) {
      const int r = v % b;
      double entry = 0;
      for (int s = 0; s < b; s++) entry += left[(int64_t)s * b + r] * line[v / b * b + s];
      const double difference = block[(int64_t)first * b + v] - entry;
      block[(int64_t)first * b + v] = difference;
      size[(int64_t)first * b + v] += fabs(difference);
    }
    __syncthreads();
  }
}

/* The size of a row for the shift: the largest entry of D_i and of the row's blocks of E and F. */
__device__ double largest_of_row(int b, const karst_dilu_matrix &m, karst_index row, karst_index diagonal,
                                 const double *block, double *line)
{
  const int64_t bb = (int64_t)b * b;
  double largest = 0;
  for (karst_index number = m.start[row]; number < m.start[row + 1]; number++) {
    const double *entry = number == diagonal ? block : m.value + number * bb;
    for (int64_t v = threadIdx.x; v < bb; v += THREADS) largest = fmax(largest, fabs(entry[v]));
  }
  return karst_cuda_block_largest(largest, line);
}

__global__ void __launch_bounds__(THREADS) factor_large(const karst_dilu_cuda plan, const karst_dilu_matrix m)
{
  extern __shared__ double line[]; /* factor_bytes(b) */
  const karst_triangle &t = plan.lower;
  const int b = plan.block_size;
  const int64_t bb = (int64_t)b * b;
  for (int64_t slot = blockIdx.x; slot < t.rows; slot += gridDim.x) {
    const entries all = entries_of(t, (karst_index)slot);
    const karst_index row = t.row[slot], diagonal = plan.diagonal[slot];
    double *block = m.inverse + row * bb, *size = plan.size + 2 * blockIdx.x * bb, *kept = size + bb;
    for (int64_t v = threadIdx.x; v < bb; v += THREADS) {
      block[v] = diagonal >= 0 ? m.value[diagonal * bb + v] : 0;
      size[v] = fabs(block[v]);
    }
    __syncthreads();
    for (int64_t e = 0; e < all.length; e++) {
      const int64_t number = all.first + e * t.group;
      const karst_index pivot = plan.pivot[number], mirror = plan.mirror[number];
      if (pivot < 0 || (mirror < 0 && !plan.modified)) continue;
      await_row(&plan.done[pivot]);
      subtract(b, m.value + t.source[number] * bb, m.inverse + pivot * bb, mirror >= 0 ? m.value + mirror * bb : NULL,
               m.modified, plan.modified ? plan.sum + pivot * bb : NULL, block, size, line);
    }
    const double largest = m.shift > 0 ? largest_of_row(b, m, row, diagonal, block, line) : 0;
    for (int64_t v = threadIdx.x; v < bb; v += THREADS) kept[v] = block[v];
    const karst_reason reason = karst_cuda_invert(b, block, kept, size, line);
    __syncthreads();
    if (reason != KARST_SOUND) {
      const double replacement =
          karst_ilu_replace_pivot(reason, m.shift, largest, row, threadIdx.x == 0, plan.statistics);
      for (int64_t v = threadIdx.x; v < bb; v += THREADS) block[v] = v / b == v % b ? replacement : 0;
    }
    __threadfence();
    __syncthreads();
    if (threadIdx.x == 0) *(volatile int *)&plan.done[row] = 1;
  }
}

size_t sweep_bytes(int b) { return (size_t)b * (size_t)(1 + parts_of(b)) * sizeof(double); }

size_t factor_bytes(int b)
{
  const size_t columns = (size_t)b * (size_t)columns_of(b), line = columns > THREADS ? columns : (size_t)THREADS;
  const size_t work = line * sizeof(double), inversion = karst_cuda_invert_shared(b);
  return work > inversion ? work : inversion;
}

} // namespace

karst_status karst_dilu_analyse_large_cuda(karst_context *context, const karst_dilu_analysis *analysis,
                                           karst_dilu_cuda *plan)
{
  /* A row counts as many times as it has warps. */
  const int64_t tasks = (int64_t)analysis->rows * (THREADS / 32);
  const int b = plan->block_size;
  karst_status status =
      karst_ilu_resident_cuda(context, (const void *)sweep_large<false>, sweep_bytes(b), KARST_ILU_HELD_SLICES, tasks,
                              analysis->levels_lower, &plan->lower_grid);
  if (!status)
    status = karst_ilu_resident_cuda(context, (const void *)sweep_large<true>, sweep_bytes(b), KARST_ILU_HELD_SLICES,
                                     tasks, analysis->levels_upper, &plan->upper_grid);
  if (!status)
    status = karst_ilu_resident_cuda(context, (const void *)factor_large, factor_bytes(b), KARST_ILU_HELD_SLICES, tasks,
                                     analysis->levels_lower, &plan->factor_grid);
  return status;
}

void karst_dilu_sweep_large_cuda(karst_context *context, const karst_dilu_cuda *plan, const double *A,
                                 const double *inverse, const double *r, double *z)
{
  cudaStream_t stream = karst_cuda_of(context)->stream;
  karst_triangle lower = plan->lower, upper = plan->upper;
  const double *y = lower.x;
  int b = plan->block_size;
  const size_t bytes = (size_t)lower.slots * (size_t)b * sizeof(double);
  void *down[] = {&lower, &b, &A, &inverse, &r, &z}, *up[] = {&upper, &b, &A, &inverse, &y, &z};
  cudaMemsetAsync(lower.x, 0xff, bytes, stream);
  cudaMemsetAsync(upper.x, 0xff, bytes, stream);
  cudaLaunchCooperativeKernel((const void *)sweep_large<false>, dim3((unsigned)plan->lower_grid), dim3(THREADS), down,
                              sweep_bytes(b), stream);
  cudaLaunchCooperativeKernel((const void *)sweep_large<true>, dim3((unsigned)plan->upper_grid), dim3(THREADS), up,
                              sweep_bytes(b), stream);
}

void karst_dilu_factor_large_cuda(karst_context *context, const karst_dilu_cuda *plan, const karst_dilu_matrix *matrix)
{
  cudaStream_t stream = karst_cuda_of(context)->stream;
  karst_dilu_cuda p = *plan;
  karst_dilu_matrix m = *matrix;
  void *arguments[] = {&p, &m};
  cudaMemsetAsync(p.done, 0, (size_t)p.lower.rows * sizeof *p.done, stream);
  cudaLaunchCooperativeKernel((const void *)factor_large, dim3((unsigned)p.factor_grid), dim3(THREADS), arguments,
                              factor_bytes(p.block_size), stream);
}
