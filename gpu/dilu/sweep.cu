/* sweep.cu - z = M^-1 r in two launches:
 *
 *     forward    y_i = D_i^-1 (r_i - sum_{k < i} E_ik y_k)
 *     backward   z_i = y_i - D_i^-1 sum_{j > i} F_ij z_j
 *
 * Warps take tasks in level order and wait for unknowns that carry their own flag, all as in gpu/ilu/dataflow.cu, which
 * says why that ends and how each sweep leaves the other's vector absent. E and F are read where they stand in A. So
 * there is one more load on the way to a value, the number of its block. A warp therefore has under way, of its
 * tasks 0, 1, 2, ...
 *
 *     task i + 2   its record
 *     task i + 1   columns and blocks of its first neighbours, its rows
 *     task i       values, D^-1, r or y; then the neighbours' unknowns, for which it waits
 *
 * D_i^-1 multiplies the sum over the neighbours, of which each lane has a scalar row; the lanes of a block row exchange
 * these by shuffles. */
#include "dilu.h"
#include "dense.h"

namespace
{

template <int B> constexpr int at_once = KARST_ILU_NEIGHBOURS_AT_ONCE(B);

/* What a lane does of a task: row r of the block row that is number q of its slice, in that slot, and of its neighbours
 * every PARTS-th from number part on. */
struct place {
  int part, q, r;
  bool active;
  karst_index slot;
};

/* Slots of neighbours and blocks of A, both -1 where there is none. */
template <int B> struct links {
  karst_index column[at_once<B>], source[at_once<B>];
};

template <int B> struct chunk {
  const double *from[at_once<B>];
  double value[at_once<B>][B]; /* scalar row r of each block */
};

/* What stands behind a record: where the task works, the first links, and the row, or upward its slot forward. */
template <int B> struct work {
  place at;
  int64_t e, end;
  links<B> first;
  karst_index row, other;
};

/* How pieces of tasks are shared out: a warp takes ROWS block rows at a time. */
template <int B, int PARTS> struct layout {
  static constexpr int R = 32 / B, ROWS = 32 / (B * PARTS), PIECES = (R + ROWS - 1) / ROWS;
};

template <int B, int PARTS>
__device__ __forceinline__ place find_place(const karst_dilu_task &task, int64_t piece, bool there)
{
  using all = layout<B, PARTS>;
  const int lane = (int)threadIdx.x % 32;
  place at = {lane / (all::ROWS * B), lane % (all::ROWS * B) / B, lane % B, false, 0};
  if (all::PIECES > 1) at.q += (int)(piece % all::PIECES) * all::ROWS;
  at.slot = task.first / all::R * all::R + at.q;
  at.active = there && at.part < PARTS && at.q < all::R && at.slot >= task.first && at.slot < task.end;
  return at;
}

/* The lane's links among entries e, e + 1, ..., of which those from end on do not exist. */
template <int B, int PARTS>
__device__ __forceinline__ links<B> fetch_links(const karst_triangle &t, int64_t e, int64_t end, const place &at)
{
  constexpr int R = 32 / B;
  links<B> found;
  if (PARTS > 1) e += at.part;
#pragma unroll
  for (int k = 0; k < at_once<B>; k++, e += PARTS) {
    const bool there = at.active && e < end;
    found.column[k] = there ? t.column[e * R + at.q] : -1;
    found.source[k] = there ? t.source[e * R + at.q] : -1;
  }
  return found;
}

template <int B>
__device__ __forceinline__ void fetch(const karst_triangle &t, const double *A, const links<B> &link, int r,
                                      chunk<B> &next)
{
#pragma unroll
  for (int k = 0; k < at_once<B>; k++) {
    const bool there = link.source[k] >= 0;
    next.from[k] = there ? t.x + (int64_t)link.column[k] * B + r : NULL;
#pragma unroll
    for (int c = 0; c < B; c++) next.value[k][c] = there ? __ldg(A + (int64_t)link.source[k] * (B * B) + c * B + r) : 0;
  }
}

template <int B, int PARTS, bool upper>
__device__ __forceinline__ work<B> find_work(const karst_triangle &t, const karst_dilu_task &task, int64_t piece,
                                             bool there)
{
  work<B> found;
  found.at = find_place<B, PARTS>(task, piece, there);
  found.e = task.begin + (upper ? 1 : 0);
  found.end = task.stop;
  found.first = fetch_links<B, PARTS>(t, found.e, found.end, found.at);
  const bool first = found.at.active && (PARTS == 1 || found.at.part == 0);
  found.row = first ? t.row[found.at.slot] : 0;
  found.other = upper && first ? t.other[found.at.slot] : 0;
  return found;
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
__global__ void __launch_bounds__(KARST_ILU_THREADS)
    sweep(const karst_triangle t, const karst_dilu_task *tasks, const double *__restrict__ A,
          const double *__restrict__ D, const double *in, double *reset, double *out)
{
  constexpr int PIECES = layout<B, PARTS>::PIECES, ROWS = layout<B, PARTS>::ROWS, K = at_once<B>;
  const int lane = (int)threadIdx.x % 32, base = lane - lane % B;
  using number = typename std::conditional<PIECES == 1, karst_index, int64_t>::type;
  const number warps = (number)(gridDim.x * (KARST_ILU_THREADS / 32)), pieces = (number)t.tasks * PIECES;
  number piece = (number)((blockIdx.x * KARST_ILU_THREADS + threadIdx.x) / 32);
  work<B> now = find_work<B, PARTS, upper>(t, karst_dilu_find_task(tasks, t.tasks, piece / PIECES), piece, true);
  karst_dilu_task ahead = karst_dilu_find_task(tasks, t.tasks, ((int64_t)piece + warps) / PIECES);
  for (; piece < pieces; piece += warps) {
    const place at = now.at;
    const bool first = at.active && (PARTS == 1 || at.part == 0);
    const int64_t row = (int64_t)now.row * B + at.r, end = now.end;
    int64_t e = now.e;
    double inverse[B], sum = 0, right = 0;
    chunk<B> values, next;
    fetch<B>(t, A, now.first, at.r, values);
#pragma unroll
    for (int c = 0; c < B; c++) inverse[c] = first ? __ldg(D + (int64_t)now.row * (B * B) + c * B + at.r) : 0;
    if (first) {
      const int64_t from = upper ? (int64_t)now.other * B + at.r : row;
      right = in[from];
      reset[upper ? from : (int64_t)at.slot * B + at.r] = karst_absent();
    }
    links<B> link = fetch_links<B, PARTS>(t, e + K * PARTS, end, at);
    now = find_work<B, PARTS, upper>(t, ahead, (int64_t)piece + warps, (int64_t)piece + warps < pieces);
    ahead = karst_dilu_find_task(tasks, t.tasks, ((int64_t)piece + 2 * (int64_t)warps) / PIECES);
    while (e < end) {
      double x[K];
      e += K * PARTS;
      if (e < end) {
        fetch<B>(t, A, link, at.r, next);
        link = fetch_links<B, PARTS>(t, e + K * PARTS, end, at);
      }
      karst_await<K>(values.from, x);
#pragma unroll
      for (int k = 0; k < K; k++) sum += product<B>(values.value[k], x[k], base);
      values = next;
    }
#pragma unroll
    for (int distance = PARTS / 2; distance > 0; distance /= 2)
      sum += __shfl_down_sync(~0u, sum, (unsigned)(distance * ROWS * B));
    sum = upper ? right - product<B>(inverse, sum, base) : product<B>(inverse, right - sum, base);
    if (first) {
      karst_publish(&t.x[(int64_t)at.slot * B + at.r], sum);
      if (upper) out[row] = sum;
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

/* NULL for block sizes without an instance. */
const void *kernel_for(int block_size, int parts, bool upper)
{
  const void *kernel = NULL;
  karst_cuda_instance(block_size, [&](auto size) {
    constexpr int B = decltype(size)::value;
    if constexpr (B > 0) kernel = upper ? sweep_by<B, true>(parts) : sweep_by<B, false>(parts);
  });
  return kernel;
}

/* Lanes and blocks of threads of one of the two sweeps. */
karst_status analyse_sweep(karst_context *context, int b, bool upper, int64_t levels, karst_triangle *t, int *grid)
{
  const int64_t neighbours = t->blocks - (upper ? t->slots : 0); /* of all rows */
  t->parts = karst_ilu_choose_parts(b, t->slots, neighbours);
  const int rows = 32 / (b * t->parts); /* of a warp */
  const int64_t pieces = (t->group + rows - 1) / rows;
  return karst_ilu_resident_cuda(context, kernel_for(b, t->parts, upper), 0, KARST_ILU_HELD_SLICES, pieces * t->tasks,
                                 levels, grid);
}

} // namespace

karst_status karst_dilu_analyse_sweeps_cuda(karst_context *context, const karst_dilu_analysis *analysis,
                                            karst_dilu_cuda *plan)
{
  const int b = plan->block_size;
  karst_status status = analyse_sweep(context, b, false, analysis->levels_lower, &plan->lower, &plan->lower_grid);
  if (!status) status = analyse_sweep(context, b, true, analysis->levels_upper, &plan->upper, &plan->upper_grid);
  return status;
}

void karst_dilu_sweep_cuda(karst_context *context, const karst_dilu_cuda *plan, const double *A, const double *inverse,
                           const double *r, double *z)
{
  cudaStream_t stream = karst_cuda_of(context)->stream;
  karst_triangle lower = plan->lower, upper = plan->upper;
  const karst_dilu_task *lower_task = plan->lower_task, *upper_task = plan->upper_task;
  const double *y = lower.x;
  const int b = plan->block_size;
  void *down[] = {&lower, &lower_task, &A, &inverse, &r, &upper.x, &z};
  void *up[] = {&upper, &upper_task, &A, &inverse, &y, &lower.x, &z};
  cudaLaunchCooperativeKernel(kernel_for(b, lower.parts, false), dim3((unsigned)plan->lower_grid),
                              dim3(KARST_ILU_THREADS), down, 0, stream);
  cudaLaunchCooperativeKernel(kernel_for(b, upper.parts, true), dim3((unsigned)plan->upper_grid),
                              dim3(KARST_ILU_THREADS), up, 0, stream);
}
