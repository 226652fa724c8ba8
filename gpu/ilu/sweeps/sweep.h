/* sweep.h - the kernel of a triangular sweep whose unknowns carry their own flag (ilu_cuda.h): for dataflow.cu, and for
 * long.cu if some rows are much longer than the others.
 *
 * Every lane waits for one scalar of a neighbour, and the lanes of a block row exchange them by shuffles. Rows of many
 * neighbours are shared by several lanes, so that all are waited for at once: a warp then takes a piece of a task.
 * Values and columns are on their way while a warp waits.
 *
 * All warps of a block of threads make a row that is longer still; the other rows of its slice then end with the
 * longest of them. Units (long.h) then list what each warp does. */
#ifndef KARST_GPU_ILU_SWEEPS_SWEEP_H
#define KARST_GPU_ILU_SWEEPS_SWEEP_H

#include "lib/backend/dense.h"
#include "gpu/ilu/ilu_cuda.h"
#include "gpu/ilu/sweeps/long.h"
#include "gpu/ilu/sweeps/sweep_parts.h"

namespace
{

template <int B, typename T> struct chunk {
  const double *from[at_once<B>];
  T value[at_once<B>][B]; /* scalar row r of each block */
};

/* A lane's part of a task: row r of block row q of the slice, and every PARTS-th neighbour of that row from number part
 * on. */
struct lane_place {
  int part, q, r;
  bool active;
};

/* The values as doubles. They are converted before the unknowns are waited for. */
template <int B, typename T> struct converted {
  double value[at_once<B>][B];
  __device__ __forceinline__ converted(const chunk<B, T> &from)
  {
#pragma unroll
    for (int k = 0; k < at_once<B>; k++)
#pragma unroll
      for (int c = 0; c < B; c++) value[k][c] = from.value[k][c];
  }
};

/* The lane's neighbours among entries e, e + 1, ...; those from end on are zero. */
template <int B, int PARTS, typename T>
__device__ __forceinline__ void fetch(const karst_triangle &t, int64_t e, int64_t end, const lane_place &at,
                                      chunk<B, T> &next)
{
  constexpr int R = 32 / B;
  if (PARTS > 1) e += at.part;
#pragma unroll
  for (int k = 0; k < at_once<B>; k++, e += PARTS) {
    const bool there = at.active && e < end;
    next.from[k] = there ? t.x + (int64_t)t.column[e * R + at.q] * B + at.r : NULL;
#pragma unroll
    for (int c = 0; c < B; c++)
      next.value[k][c] = there ? __ldcs(&karst_ilu_values<T>(t)[(e * B + c) * (R * B) + at.q * B + at.r]) : 0;
  }
}

template <typename... rounds>
constexpr int sweep_threads = sizeof...(rounds) > 0 ? (int)KARST_ILU_LONG_THREADS : (int)KARST_ILU_THREADS;

/* Returns the first term of a row's sum, in the row's first lanes: r forward, D^-1 y backward. Leaves the row's place
 * in reset absent. e: the first entry of the row; row: the scalar row. */
template <int B, bool upper, bool LONG, typename T>
__device__ __forceinline__ double start_sum(const karst_triangle &t, karst_index slot, int64_t e, const lane_place &at,
                                            bool first, int64_t row, const double *in, double *reset)
{
  constexpr int R = 32 / B;
  const int lane = (int)threadIdx.x % 32, base = lane - lane % B;
  double sum = 0;
  if (upper) {
    T inverse[B];
#pragma unroll
    for (int c = 0; c < B; c++)
      inverse[c] = first ? __ldcs(&karst_ilu_values<T>(t)[(e * B + c) * (R * B) + at.q * B + at.r]) : 0;
    if (first) {
      const int64_t from = (int64_t)t.other[slot] * B + at.r;
      sum = in[from];
      if (!LONG || reset) reset[from] = karst_absent();
    }
    sum = product<B>(inverse, sum, base);
  } else if (first) {
    sum = in[row];
    if (!LONG || reset) reset[(int64_t)slot * B + at.r] = karst_absent();
  }
  return sum;
}

/* Makes the row in a slot with all warps of the block, which call this together. partial: [WARPS * B] shared memory,
 * which the call after the next may use again: warps are at most one call apart. */
template <int B, bool upper, typename T>
__device__ __forceinline__ void long_row(const karst_triangle &t, karst_index slot, int64_t neighbours,
                                         const double *in, double *reset, double *out, double *partial)
{
  constexpr int R = 32 / B, WARPS = KARST_ILU_LONG_WARPS, PARTS = WARPS * R, K = at_once<B>;
  const int lane = (int)threadIdx.x % 32, base = lane - lane % B, warp = (int)threadIdx.x / 32;
  const lane_place at = {warp * R + lane / B, (int)(slot % R), lane % B, lane < R * B};
  const bool first = warp == 0 && lane < B;
  const int64_t start = t.start[slot / R], end = start + (upper ? 1 : 0) + neighbours;
  int64_t e = end - neighbours;
  chunk<B, T> now, next;
  fetch<B, PARTS>(t, e, end, at, now);
  const int64_t row = first ? (int64_t)t.row[slot] * B + at.r : 0;
  double sum = start_sum<B, upper, true, T>(t, slot, start, at, first, row, in, reset);
  while (e < end) {
    double x[K];
    e += K * PARTS;
    if (e < end) fetch<B, PARTS>(t, e, end, at, next);
    const converted<B, T> ready(now);
    karst_await<K>(now.from, x);
#pragma unroll
    for (int k = 0; k < K; k++) sum -= product<B>(ready.value[k], x[k], base);
    now = next;
  }
  sum = sum_of_groups<B>(sum);
  if (lane < B) partial[warp * B + lane] = sum;
  __syncthreads();
  if (first) {
    double all[WARPS];
#pragma unroll
    for (int w = 0; w < WARPS; w++) all[w] = partial[w * B + lane];
#pragma unroll
    for (int distance = WARPS / 2; distance > 0; distance /= 2)
#pragma unroll
      for (int w = 0; w < distance; w++) all[w] += all[w + distance];
    karst_publish(&t.x[(int64_t)slot * B + at.r], all[0]);
    if (upper && out) out[row] = all[0];
  }
}

/* The first warp's first unit, one past the last, and the units themselves. */
__device__ __forceinline__ int64_t first_unit(const karst_ilu_rounds &r) { return r.first * KARST_ILU_LONG_WARPS; }
__device__ __forceinline__ int64_t last_unit(const karst_ilu_rounds &r) { return r.last * KARST_ILU_LONG_WARPS; }
__device__ __forceinline__ karst_ilu_unit unit_of(int64_t n, const karst_ilu_rounds &r) { return r.unit[n]; }

/* The least number of thread blocks that fit on a multiprocessor; 0: the compiler decides. Of the codes that nvcc 13
 * generates for different values, these ran fastest on an H200, by a fifth and more. */
template <int B, int PARTS, typename... rounds> constexpr int least_blocks()
{
  if (sizeof...(rounds) > 0) return 0;
  if (PARTS > 1) return B == 1 ? 8 : B <= 3 ? 6 : B == 4 ? 5 : B <= 7 ? 1 : 0;
  return B == 3 || B == 5 || B == 8 ? 1 : 0;
}

/* T: of the values. in: r forward, the forward sweep's vector backward. reset: the vector to leave absent. out: z,
 * backward. list: a karst_ilu_rounds if there are long rows, else nothing; with it reset and out may be NULL. */
template <int B, int PARTS, bool upper, typename T, typename... rounds>
__global__ void __launch_bounds__(sweep_threads<rounds...>, (least_blocks<B, PARTS, rounds...>()))
    sweep(const karst_triangle t, const double *in, double *reset, double *out, const rounds... list)
{
  constexpr bool LONG = sizeof...(rounds) > 0;
  constexpr int R = 32 / B, ROWS = 32 / (B * PARTS), PIECES = (R + ROWS - 1) / ROWS, K = at_once<B>;
  const int lane = (int)threadIdx.x % 32, base = lane - lane % B;
  [[maybe_unused]] int number_of_long = 0;
  using number = typename std::conditional<PIECES == 1 && !LONG, karst_index, int64_t>::type;
  const number warps = (number)(gridDim.x * (sweep_threads<rounds...> / 32));
  number next_piece = (number)((blockIdx.x * sweep_threads<rounds...> + threadIdx.x) / 32);
  number pieces = (number)t.tasks * PIECES;
  if constexpr (LONG) {
    next_piece += first_unit(list...);
    pieces = last_unit(list...);
  }
  lane_place at = {lane / (ROWS * B), lane % (ROWS * B) / B, lane % B, false};
  for (number piece = next_piece; piece < pieces; piece += warps) {
    [[maybe_unused]] karst_ilu_unit unit = {};
    karst_index begin, stop;
    if constexpr (LONG) {
      __shared__ double partial[2][KARST_ILU_LONG_WARPS * B];
      unit = unit_of(piece, list...);
      if (unit.begin < 0) continue;
      if (unit.length < 0) {
        long_row<B, upper, T>(t, unit.begin, -(int64_t)unit.length, in, reset, out, partial[number_of_long++ % 2]);
        continue;
      }
      begin = unit.begin;
      stop = unit.stop;
    } else {
      const karst_index task = (karst_index)(piece / PIECES);
      begin = t.task[task];
      stop = t.task[task + 1];
    }
    const karst_index slice = begin / R;
    if (PIECES > 1) at.q = (LONG ? unit.piece : (int)(piece % PIECES)) * ROWS + lane % (ROWS * B) / B;
    const karst_index slot = slice * R + at.q;
    at.active = at.part < PARTS && at.q < R && slot >= begin && slot < stop;
    if (LONG) at.active = at.active && (unit.left_out >> at.q & 1) == 0;
    if (PIECES > 1 && !__any_sync(~0u, at.active)) continue;
    const bool first = at.active && (PARTS == 1 || at.part == 0);
    const int64_t end = LONG ? t.start[slice] + unit.length : t.start[slice + 1];
    int64_t e = t.start[slice];
    int64_t row = 0;
    chunk<B, T> now, next;
    fetch<B, PARTS>(t, upper ? e + 1 : e, end, at, now);
    if (first) row = (int64_t)t.row[slot] * B + at.r;
    double sum = start_sum<B, upper, LONG, T>(t, slot, e, at, first, row, in, reset);
    if (upper) e++;
    while (e < end) {
      double x[K];
      e += K * PARTS;
      if (e < end) fetch<B, PARTS>(t, e, end, at, next);
      const converted<B, T> ready(now);
      karst_await<K>(now.from, x);
#pragma unroll
      for (int k = 0; k < K; k++) sum -= product<B>(ready.value[k], x[k], base);
      now = next;
    }
#pragma unroll
    for (int distance = PARTS / 2; distance > 0; distance /= 2)
      sum += __shfl_down_sync(~0u, sum, (unsigned)(distance * ROWS * B));
    if (first) {
      karst_publish(&t.x[(int64_t)slot * B + at.r], sum);
      if (upper && (!LONG || out)) out[row] = sum;
    }
  }
}

} // namespace

#endif
