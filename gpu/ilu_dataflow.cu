/* ilu_dataflow.cu - z = (L D U')^-1 r in two launches:
 *
 *     forward    y_i = r_i - sum_{p < i} L_ip y_p
 *     backward   z_i = D_i^-1 y_i - sum_{j > i} U'_ij z_j
 *
 * One warp takes one task (ilu.h) after another, all warps in level order, and waits for the unknowns that the task
 * needs: they are absent until the warp that makes them has stored them. All warps are resident together and a task
 * needs earlier tasks only, so the first unfinished task can always go on. Values and columns are on their way while a
 * warp waits.
 *
 * Each sweep leaves the other's vector absent: the forward sweep the one that the backward sweep is going to fill, the
 * backward sweep what it has read of the forward sweep's, for the next solve.
 *
 * Every lane waits for one scalar of each neighbour, and the lanes of a block row exchange them by shuffles. */
#include "ilu.h"
#include "dense.h"

/* Neighbours waited for at once. */
template <int B> constexpr int at_once = B <= 2 ? 4 : 3;

template <int B, int K> struct chunk {
  const double *from[K];
  double value[K][B]; /* scalar row r of each block */
};

/* Entries e .. e + K - 1, of which those from end on are zero. */
template <int B, int K>
static __device__ __forceinline__ void fetch(const karst_triangle &t, int64_t e, int64_t end, int q, int r, bool active,
                                             chunk<B, K> &next)
{
  constexpr int R = 32 / B;
#pragma unroll
  for (int k = 0; k < K; k++, e++) {
    bool there = active && e < end;
    next.from[k] = there ? t.x + (int64_t)t.column[e * R + q] * B + r : NULL;
#pragma unroll
    for (int c = 0; c < B; c++) next.value[k][c] = there ? __ldcs(&t.value[(e * B + c) * (R * B) + q * B + r]) : 0;
  }
}

/* The sum over c of value[c] times component c of the x of the lanes' block row. */
template <int B> static __device__ __forceinline__ double product(const double (&value)[B], double x, int q)
{
  double sum = 0;
#pragma unroll
  for (int c = 0; c < B; c++) sum += value[c] * (B > 1 ? __shfl_sync(~0u, x, q * B + c) : x);
  return sum;
}

/* in: r forward, the forward sweep's vector backward. reset: the vector to leave absent. out: z, backward. */
template <int B, bool upper>
static __global__ void __launch_bounds__(KARST_ILU_THREADS)
    sweep(const karst_triangle t, const double *in, double *reset, double *out)
{
  constexpr int R = 32 / B, K = at_once<B>;
  const int lane = (int)threadIdx.x % 32, q = lane / B, r = lane % B;
  const karst_index warps = (karst_index)(gridDim.x * (KARST_ILU_THREADS / 32));
  for (karst_index task = (karst_index)((blockIdx.x * KARST_ILU_THREADS + threadIdx.x) / 32); task < t.tasks;
       task += warps) {
    const karst_index first = t.task[task], last = t.task[task + 1], slice = first / R, slot = slice * R + q;
    const bool active = q < R && slot >= first && slot < last;
    const int64_t end = t.start[slice + 1];
    int64_t e = t.start[slice];
    int64_t row = 0;
    double sum = 0;
    chunk<B, K> now, next;
    fetch<B, K>(t, upper ? e + 1 : e, end, q, r, active, now);
    if (active) row = (int64_t)t.row[slot] * B + r;
    if (upper) {
      double inverse[B];
#pragma unroll
      for (int c = 0; c < B; c++) inverse[c] = active ? __ldcs(&t.value[(e * B + c) * (R * B) + q * B + r]) : 0;
      if (active) {
        int64_t from = (int64_t)t.other[slot] * B + r;
        sum = in[from];
        reset[from] = karst_absent();
      }
      sum = product<B>(inverse, sum, q);
      e++;
    } else if (active) {
      sum = in[row];
      reset[(int64_t)slot * B + r] = karst_absent();
    }
    while (e < end) {
      double x[K];
      e += K;
      if (e < end) fetch<B, K>(t, e, end, q, r, active, next);
      karst_await<K>(now.from, x);
#pragma unroll
      for (int k = 0; k < K; k++) sum -= product<B>(now.value[k], x[k], q);
      now = next;
    }
    if (active) {
      karst_publish(&t.x[(int64_t)slot * B + r], sum);
      if (upper) out[row] = sum;
    }
  }
}

/* The same for any block size. Beyond 32 a warp makes 32 scalar rows of a block row. The vectors are made absent
 * beforehand. */
template <bool upper>
static __global__ void __launch_bounds__(KARST_ILU_THREADS)
    sweep_any(const karst_triangle t, int b, const double *in, double *out)
{
  const int width = b < 32 ? b : 32, parts = (b + 31) / 32;
  const int lane = (int)threadIdx.x % 32, q = lane / width;
  const int64_t warps = (int64_t)gridDim.x * (KARST_ILU_THREADS / 32), stride = (int64_t)t.group * b;
  for (int64_t item = ((int64_t)blockIdx.x * KARST_ILU_THREADS + threadIdx.x) / 32; item < (int64_t)t.tasks * parts;
       item += warps) {
    const karst_index task = (karst_index)(item / parts);
    const karst_index first = t.task[task], last = t.task[task + 1], slice = first / t.group,
                      slot = slice * t.group + q;
    const int component = lane % width, r = (int)(item % parts) * 32 + component;
    const bool here = q < t.group && slot >= first && slot < last, active = here && r < b;
    const double *value = t.value + q * b + r;
    double sum = active && !upper ? in[(int64_t)t.row[slot] * b + r] : 0;
    for (int64_t e = t.start[slice]; e < t.start[slice + 1]; e++) {
      const bool diagonal = upper && e == t.start[slice];
      int64_t block = here ? (diagonal ? t.other[slot] : t.column[e * t.group + q]) : t.slots;
      for (int begin = 0; begin < b; begin += width) {
        const double *from[1] = {here && begin + component < b ? t.x + block * b + begin + component : NULL};
        double x[1];
        if (diagonal)
          x[0] = from[0] ? in[block * b + begin + component] : 0;
        else
          karst_await<1>(from, x);
        for (int c = 0; c < width && begin + c < b; c++) {
          double entry = active ? value[(e * b + begin + c) * stride] : 0;
          entry *= __shfl_sync(~0u, x[0], q * width + c);
          sum += diagonal ? entry : -entry;
        }
      }
    }
    if (active) {
      karst_publish(&t.x[(int64_t)slot * b + r], sum);
      if (upper) out[(int64_t)t.row[slot] * b + r] = sum;
    }
  }
}

const void *karst_ilu_sweep_kernel_cuda(int block_size, bool upper)
{
#define FORWARD(B) (const void *)sweep<B, false>,
#define BACKWARD(B) (const void *)sweep<B, true>,
  static const void *const forwards[] = {(const void *)sweep_any<false>, KARST_BLOCK_SIZES(FORWARD)};
  static const void *const backwards[] = {(const void *)sweep_any<true>, KARST_BLOCK_SIZES(BACKWARD)};
#undef FORWARD
#undef BACKWARD
  int instance = block_size <= KARST_BLOCK_SIZE_LARGEST_INSTANCE ? block_size : 0;
  return upper ? backwards[instance] : forwards[instance];
}

static void launch(karst_context *context, const void *kernel, int grid, void **arguments)
{
  cudaLaunchCooperativeKernel(kernel, dim3((unsigned)grid), dim3(KARST_ILU_THREADS), arguments, 0,
                              karst_cuda_of(context)->stream);
}

void karst_ilu_solve_dataflow_cuda(karst_context *context, const karst_ilu_cuda *plan, const double *r, double *z)
{
  cudaStream_t stream = karst_cuda_of(context)->stream;
  karst_triangle lower = plan->lower, upper = plan->upper;
  int b = plan->block_size;
  const double *y = lower.x;
  const void *forward = karst_ilu_sweep_kernel_cuda(b, false), *backward = karst_ilu_sweep_kernel_cuda(b, true);
  if (b <= KARST_BLOCK_SIZE_LARGEST_INSTANCE) {
    void *down[] = {&lower, &r, &upper.x, &z}, *up[] = {&upper, &y, &lower.x, &z};
    launch(context, forward, plan->lower_grid, down);
    launch(context, backward, plan->upper_grid, up);
  } else {
    size_t bytes = (size_t)lower.slots * (size_t)b * sizeof(double);
    void *down[] = {&lower, &b, &r, &z}, *up[] = {&upper, &b, &y, &z};
    cudaMemsetAsync(lower.x, 0xff, bytes, stream);
    cudaMemsetAsync(upper.x, 0xff, bytes, stream);
    launch(context, forward, plan->lower_grid, down);
    launch(context, backward, plan->upper_grid, up);
  }
}
