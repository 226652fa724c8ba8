/* sweep.cu - z = M^-1 r in two launches:
 *
 *     forward    y_i = D_i^-1 (r_i - sum_{k < i} E_ik y_k)
 *     backward   z_i = y_i - D_i^-1 sum_{j > i} F_ij z_j
 *
 * Warps take tasks in level order and wait for unknowns that carry their own flag, as in gpu/ilu/sweeps/dataflow.cu;
 * that file says why the waits end and how each sweep leaves the other's vector absent. E and F are read from A, by
 * copies to shared memory (stage.h). A warp has these loads under way for its tasks 0, 1, 2, ...
 *
 *     task i + 3   its record
 *     task i + 2   columns and blocks of its first neighbours, its rows
 *     task i + 1   values of its first neighbours, into shared memory
 *     task i       D^-1, r or y; then the neighbours' unknowns, for which it waits
 *
 * D_i^-1 multiplies the sum over the neighbours. Each lane has a scalar row of the sum; the lanes of a block row
 * exchange these by shuffles. */
#include "lib/backend/dense.h"
#include "gpu/dilu/stage.h"
#include "gpu/ilu/sweeps/sweep_parts.h"

namespace
{

/* The work of a lane on a task: row r of block row q of its slice, in that slot; and every PARTS-th neighbour of that
 * row from number part on. */
struct lane_place {
  int part, q, r;
  bool active;
  karst_index slot;
};

/* Slots of neighbours and blocks of A; both -1 if missing. */
template <int B> struct links {
  karst_index column[at_once<B>], source[at_once<B>];
};

/* What follows from a task's record: its position, the first links, and the row, or upward the row's slot in the
 * forward sweep. */
template <int B> struct work {
  lane_place at;
  int64_t e, end;
  links<B> first;
  karst_index row, other;
};

/* How tasks are divided: a warp takes ROWS block rows at a time, and BLOCKS of their neighbours at once. */
template <int B, int PARTS> struct layout {
  static constexpr int R = 32 / B, ROWS = 32 / (B * PARTS), PIECES = (R + ROWS - 1) / ROWS,
                       BLOCKS = ROWS * PARTS * at_once<B>;
};

/* Shared memory of a warp: the staged blocks, row after row, and their numbers in A. */
template <int B, int PARTS> struct staging {
  double value[layout<B, PARTS>::BLOCKS * karst_dilu_stride<B>];
  karst_index number[layout<B, PARTS>::BLOCKS];
};

template <int B, int PARTS>
__device__ __forceinline__ lane_place find_place(const karst_dilu_task &task, int64_t piece, bool there)
{
  using all = layout<B, PARTS>;
  const int lane = (int)threadIdx.x % 32;
  lane_place at = {lane / (all::ROWS * B), lane % (all::ROWS * B) / B, lane % B, false, 0};
  if (all::PIECES > 1) at.q += (int)(piece % all::PIECES) * all::ROWS;
  at.slot = task.first / all::R * all::R + at.q;
  at.active = there && at.part < PARTS && at.q < all::R && at.slot >= task.first && at.slot < task.end;
  return at;
}

/* The lane's links among entries e, e + 1, ...; those from end on do not exist. */
template <int B, int PARTS>
__device__ __forceinline__ links<B> fetch_links(const karst_triangle &t, int64_t e, int64_t end, const lane_place &at)
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

/* Number k of the lane's blocks in a staging. Surplus lanes use the place of another lane. */
template <int B, int PARTS> __device__ __forceinline__ int block_of(int k)
{
  using all = layout<B, PARTS>;
  const int lane = (int)threadIdx.x % 32, part = min(lane / (all::ROWS * B), PARTS - 1), q = lane % (all::ROWS * B) / B;
  return (q * at_once<B> + k) * PARTS + part;
}

/* Queues the copies of the links' blocks. */
template <int B, int PARTS>
__device__ __forceinline__ void stage(const double *A, const links<B> &link, const lane_place &at,
                                      staging<B, PARTS> &staged)
{
  __syncwarp();
  if (at.part < PARTS && at.r == 0)
#pragma unroll
    for (int k = 0; k < at_once<B>; k++) staged.number[block_of<B, PARTS>(k)] = link.source[k];
  __syncwarp();
  karst_dilu_stage<B, layout<B, PARTS>::BLOCKS>(A, staged.number, staged.value);
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

/* in: r forward, the forward sweep's vector backward. inverse: D^-1. reset: the vector to leave absent. out: z,
 * backward. */
template <int B, int PARTS, bool upper>
__global__ void __launch_bounds__(KARST_ILU_THREADS)
    sweep(const karst_triangle t, const karst_dilu_task *tasks, const double *__restrict__ A,
          const double *__restrict__ inverse, const double *in, double *reset, double *out)
{
  constexpr int PIECES = layout<B, PARTS>::PIECES, ROWS = layout<B, PARTS>::ROWS, K = at_once<B>;
  __shared__ staging<B, PARTS> shared[KARST_ILU_THREADS / 32];
  staging<B, PARTS> &staged = shared[threadIdx.x / 32];
  const int lane = (int)threadIdx.x % 32, base = lane - lane % B;
  using number = typename std::conditional<PIECES == 1, karst_index, int64_t>::type;
  const number warps = (number)(gridDim.x * (KARST_ILU_THREADS / 32)), pieces = (number)t.tasks * PIECES;
  number piece = (number)((blockIdx.x * KARST_ILU_THREADS + threadIdx.x) / 32);
  auto record = [&](int64_t of) { return karst_dilu_find_task(tasks, t.tasks, of / PIECES); };
  auto find = [&](const karst_dilu_task &task, int64_t of) {
    return find_work<B, PARTS, upper>(t, task, of, of < pieces);
  };
  work<B> now = find(record(piece), piece), next = find(record((int64_t)piece + warps), (int64_t)piece + warps);
  karst_dilu_task ahead = record((int64_t)piece + 2 * (int64_t)warps);
  stage<B, PARTS>(A, now.first, now.at, staged);
  for (; piece < pieces; piece += warps) {
    const lane_place at = now.at;
    const bool first = at.active && (PARTS == 1 || at.part == 0);
    const int64_t row = (int64_t)now.row * B + at.r, from = upper ? (int64_t)now.other * B + at.r : row;
    const karst_index slot = upper ? now.other : at.slot;
    double diagonal[B], right = first ? in[from] : 0, sum = 0;
    links<B> link = now.first;
#pragma unroll
    for (int c = 0; c < B; c++)
      diagonal[c] = karst_load_constant(first, inverse + karst_dilu_element<B>(slot, at.r, c));
    if (first) reset[upper ? from : (int64_t)at.slot * B + at.r] = karst_absent();
    work<B> after;
    for (int64_t e = now.e;;) {
      double value[K][B], x[K], part[K];
      const double *place_of[K];
      e += K * PARTS;
      const bool last = e >= now.end;
      karst_await_copies();
      __syncwarp();
#pragma unroll
      for (int k = 0; k < K; k++) {
        place_of[k] = link.source[k] >= 0 ? t.x + (int64_t)link.column[k] * B + at.r : NULL;
#pragma unroll
        for (int c = 0; c < B; c++)
          value[k][c] = staged.value[block_of<B, PARTS>(k) * karst_dilu_stride<B> + c * B + at.r];
      }
      if (last)
        link = next.first;
      else
        link = fetch_links<B, PARTS>(t, e, now.end, at);
      stage<B, PARTS>(A, link, at, staged);
      if (last) {
        after = find(ahead, (int64_t)piece + 2 * (int64_t)warps);
        ahead = record((int64_t)piece + 3 * (int64_t)warps);
      }
      karst_await<K>(place_of, x);
#pragma unroll
      for (int k = 0; k < K; k++) part[k] = product<B>(value[k], x[k], base);
#pragma unroll
      for (int k = 0; k < K; k++) sum += part[k];
      if (last) break;
    }
#pragma unroll
    for (int distance = PARTS / 2; distance > 0; distance /= 2)
      sum += __shfl_down_sync(~0u, sum, (unsigned)(distance * ROWS * B));
    sum = upper ? right - product<B>(diagonal, sum, base) : product<B>(diagonal, right - sum, base);
    if (first) {
      karst_publish(&t.x[(int64_t)at.slot * B + at.r], sum);
      if (upper) out[row] = sum;
    }
    now = next;
    next = after;
  }
}

/* NULL for block sizes without an instance. */
const void *kernel_for(int block_size, int parts, bool upper)
{
  const void *kernel = NULL;
  karst_cuda_instance(block_size, [&](auto size) {
    constexpr int B = decltype(size)::value;
    if constexpr (B > 0)
      kernel = sweep_by<B>(parts, [&](auto of) {
        constexpr int PARTS = decltype(of)::value;
        return upper ? (const void *)sweep<B, PARTS, true> : (const void *)sweep<B, PARTS, false>;
      });
  });
  return kernel;
}

} // namespace

karst_status karst_dilu_analyse_sweeps_cuda(karst_context *context, const karst_dilu_analysis *analysis,
                                            karst_dilu_cuda *plan)
{
  const int b = plan->block_size;
  karst_status status =
      analyse_sweep(context, kernel_for, b, false, false, analysis->levels_lower, &plan->lower, &plan->lower_grid);
  if (!status)
    status =
        analyse_sweep(context, kernel_for, b, true, false, analysis->levels_upper, &plan->upper, &plan->upper_grid);
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
