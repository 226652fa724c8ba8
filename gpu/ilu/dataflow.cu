/* dataflow.cu - z = (L D U')^-1 r in two launches:
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
 * Every lane waits for one scalar of a neighbour, and the lanes of a block row exchange them by shuffles. Rows of many
 * neighbours are shared by several lanes, so that all are waited for at once: a warp then takes a piece of a task. */
#include "ilu.h"
#include "dense.h"

namespace
{

template <int B> constexpr int at_once = KARST_ILU_NEIGHBOURS_AT_ONCE(B);

/* Blocks of threads that a multiprocessor is to have room for, 0: as the compiler likes. Of the code that nvcc 13 makes
 * from the one and the other, these ran fastest on an H200, by a fifth and more. */
template <int B, int PARTS> constexpr int least_blocks()
{
  if (PARTS > 1) return B == 1 ? 8 : B <= 3 ? 6 : B == 4 ? 5 : B <= 7 ? 1 : 0;
  return B == 3 || B == 5 || B == 8 ? 1 : 0;
}

template <int B> struct chunk {
  const double *from[at_once<B>];
  double value[at_once<B>][B]; /* scalar row r of each block */
};

/* What a lane does of a task: row r of the block row that is number q of its slice, and of its neighbours every
 * PARTS-th from number part on. */
struct place {
  int part, q, r;
  bool active;
};

/* The lane's neighbours among entries e, e + 1, ..., of which those from end on are zero. */
template <int B, int PARTS>
__device__ __forceinline__ void fetch(const karst_triangle &t, int64_t e, int64_t end, const place &at, chunk<B> &next)
{
  constexpr int R = 32 / B;
  if (PARTS > 1) e += at.part;
#pragma unroll
  for (int k = 0; k < at_once<B>; k++, e += PARTS) {
    const bool there = at.active && e < end;
    next.from[k] = there ? t.x + (int64_t)t.column[e * R + at.q] * B + at.r : NULL;
#pragma unroll
    for (int c = 0; c < B; c++)
      next.value[k][c] = there ? __ldcs(&t.value[(e * B + c) * (R * B) + at.q * B + at.r]) : 0;
  }
}

/* The sum over c of value[c] times component c of the x of the lanes' block row, the first of which is base. */
template <int B> __device__ __forceinline__ double product(const double (&value)[B], double x, int base)
{
  double sum = 0;
#pragma unroll
  for (int c = 0; c < B; c++) sum += value[c] * (B > 1 ? __shfl_sync(~0u, x, base + c) : x);
  return sum;
}

/* in: r forward, the forward sweep's vector backward. reset: the vector to leave absent. out: z, backward. */
template <int B, int PARTS, bool upper>
__global__ void __launch_bounds__(KARST_ILU_THREADS, (least_blocks<B, PARTS>()))
    sweep(const karst_triangle t, const double *in, double *reset, double *out)
{
  constexpr int R = 32 / B, ROWS = 32 / (B * PARTS), PIECES = (R + ROWS - 1) / ROWS, K = at_once<B>;
  const int lane = (int)threadIdx.x % 32, base = lane - lane % B;
  using number = typename std::conditional<PIECES == 1, karst_index, int64_t>::type;
  const number warps = (number)(gridDim.x * (KARST_ILU_THREADS / 32)), pieces = (number)t.tasks * PIECES;
  place at = {lane / (ROWS * B), lane % (ROWS * B) / B, lane % B, false};
  for (number piece = (number)((blockIdx.x * KARST_ILU_THREADS + threadIdx.x) / 32); piece < pieces; piece += warps) {
    const karst_index task = (karst_index)(piece / PIECES), begin = t.task[task], stop = t.task[task + 1];
    const karst_index slice = begin / R;
    if (PIECES > 1) at.q = (int)(piece % PIECES) * ROWS + lane % (ROWS * B) / B;
    const karst_index slot = slice * R + at.q;
    at.active = at.part < PARTS && at.q < R && slot >= begin && slot < stop;
    if (PIECES > 1 && !__any_sync(~0u, at.active)) continue;
    const bool first = at.active && (PARTS == 1 || at.part == 0);
    const int64_t end = t.start[slice + 1];
    int64_t e = t.start[slice];
    int64_t row = 0;
    double sum = 0;
    chunk<B> now, next;
    fetch<B, PARTS>(t, upper ? e + 1 : e, end, at, now);
    if (first) row = (int64_t)t.row[slot] * B + at.r;
    if (upper) {
      double inverse[B];
#pragma unroll
      for (int c = 0; c < B; c++) inverse[c] = first ? __ldcs(&t.value[(e * B + c) * (R * B) + at.q * B + at.r]) : 0;
      if (first) {
        int64_t from = (int64_t)t.other[slot] * B + at.r;
        sum = in[from];
        reset[from] = karst_absent();
      }
      sum = product<B>(inverse, sum, base);
      e++;
    } else if (first) {
      sum = in[row];
      reset[(int64_t)slot * B + at.r] = karst_absent();
    }
    while (e < end) {
      double x[K];
      e += K * PARTS;
      if (e < end) fetch<B, PARTS>(t, e, end, at, next);
      karst_await<K>(now.from, x);
#pragma unroll
      for (int k = 0; k < K; k++) sum -= product<B>(now.value[k], x[k], base);
      now = next;
    }
#pragma unroll
    for (int distance = PARTS / 2; distance > 0; distance /= 2)
      sum += __shfl_down_sync(~0u, sum, (unsigned)(distance * ROWS * B));
    if (first) {
      karst_publish(&t.x[(int64_t)slot * B + at.r], sum);
      if (upper) out[row] = sum;
    }
  }
}

/* The same for any block size. Beyond 32 a warp makes 32 scalar rows of a block row. The vectors are made absent
 * beforehand. */
template <bool upper>
__global__ void __launch_bounds__(KARST_ILU_THREADS)
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

/* The instance for so many parts, a power of two; block rows take no more lanes than a warp has. */
template <int B, bool upper, int PARTS = KARST_ILU_PARTS> const void *sweep_by(int parts)
{
  if constexpr (PARTS > 1) {
    if constexpr (B * PARTS <= 32)
      if (parts == PARTS) return (const void *)sweep<B, PARTS, upper>;
    return sweep_by<B, upper, PARTS / 2>(parts);
  }
  return (const void *)sweep<B, 1, upper>;
}

const void *kernel_for(int block_size, int parts, bool upper)
{
  const void *kernel = NULL;
  karst_cuda_instance(block_size, [&](auto size) {
    constexpr int B = decltype(size)::value;
    if constexpr (B == 0)
      kernel = upper ? (const void *)sweep_any<true> : (const void *)sweep_any<false>;
    else
      kernel = upper ? sweep_by<B, true>(parts) : sweep_by<B, false>(parts);
  });
  return kernel;
}

/* sweep_state */
struct dataflow_state {
  int lower_grid, upper_grid; /* blocks of threads that are resident together */
};

/* Lanes and blocks of threads of one of the two sweeps. */
karst_status analyse_sweep(karst_context *context, int b, bool upper, int64_t levels, karst_triangle *t, int *grid)
{
  const int64_t neighbours = t->blocks - (upper ? t->slots : 0); /* of all rows */
  t->parts = karst_ilu_choose_parts(b, t->slots, neighbours);
  const int rows = b * t->parts < 32 ? 32 / (b * t->parts) : 1; /* of a warp */
  const int64_t pieces = b > KARST_BLOCK_SIZE_LARGEST_INSTANCE ? (b + 31) / 32 : (t->group + rows - 1) / rows;
  return karst_ilu_resident_cuda(context, kernel_for(b, t->parts, upper), 0, KARST_ILU_HELD_SLICES, pieces * t->tasks,
                                 levels, grid);
}

karst_status analyse_dataflow(karst_context *context, const karst_ilu_pattern_cuda *pattern,
                              karst_ilu_analysis *analysis)
{
  karst_ilu_cuda *plan = karst_ilu_cuda_of(analysis);
  const int b = plan->block_size;
  dataflow_state *state;
  karst_status status = karst_allocate_zero(context, &state, 1, sizeof *state, "the plan of block ILU");
  if (status) return status;
  plan->sweep_state = state;
  status = analyse_sweep(context, b, false, pattern->lower.count, &plan->lower, &state->lower_grid);
  if (!status) status = analyse_sweep(context, b, true, pattern->upper.count, &plan->upper, &state->upper_grid);
  return status;
}

void launch(karst_context *context, const void *kernel, int grid, void **arguments)
{
  cudaLaunchCooperativeKernel(kernel, dim3((unsigned)grid), dim3(KARST_ILU_THREADS), arguments, 0,
                              karst_cuda_of(context)->stream);
}

void solve_dataflow(karst_context *context, const karst_ilu_cuda *plan, const double *r, double *z)
{
  const dataflow_state *state = static_cast<const dataflow_state *>(plan->sweep_state);
  cudaStream_t stream = karst_cuda_of(context)->stream;
  karst_triangle lower = plan->lower, upper = plan->upper;
  int b = plan->block_size;
  const double *y = lower.x;
  const void *forward = kernel_for(b, lower.parts, false), *backward = kernel_for(b, upper.parts, true);
  if (b <= KARST_BLOCK_SIZE_LARGEST_INSTANCE) {
    void *down[] = {&lower, &r, &upper.x, &z}, *up[] = {&upper, &y, &lower.x, &z};
    launch(context, forward, state->lower_grid, down);
    launch(context, backward, state->upper_grid, up);
  } else {
    size_t bytes = (size_t)lower.slots * (size_t)b * sizeof(double);
    void *down[] = {&lower, &b, &r, &z}, *up[] = {&upper, &b, &y, &z};
    cudaMemsetAsync(lower.x, 0xff, bytes, stream);
    cudaMemsetAsync(upper.x, 0xff, bytes, stream);
    launch(context, forward, state->lower_grid, down);
    launch(context, backward, state->upper_grid, up);
  }
}

void forget_dataflow(karst_context *context, karst_ilu_cuda *plan) { karst_release(context, plan->sweep_state); }

} // namespace

const karst_ilu_sweep_variant karst_ilu_sweep_dataflow_cuda = {
    "dataflow", analyse_dataflow, forget_dataflow, solve_dataflow, NULL, NULL};
