/* teams.h - Thomas's algorithm from both ends of a system at once, for blocks of a team of lanes (team_worker.h). One
 * warp of a thread block goes down from the first rows of a few systems, the other one up from their last rows,
 *
 *     u_k = F_k - W_k u_(k+1)   above the middle,     u_k = F_k - V_k u_(k-1)   below it,
 *
 * and where they meet a row has both neighbours eliminated. That takes no more work than from one end, and half the
 * steps. W, V and F are kept in shared memory for the way back, so that a, b, c and f are read once and u is written
 * once; where systems are too long for that, in global memory.
 *
 *     warp 0      row 0      row 1      row 2  ...     middle row     u of the rows before it, upward
 *     warp 1      row n-1    row n-2    ...            waits          u of the rows after it, downward
 *
 * While a row is eliminated, the numbers of the next one are on their way to registers. The systems may be interiors of
 * pieces whose separators are known. */
#ifndef KARST_GPU_TRIDIAGONAL_TEAMS_H
#define KARST_GPU_TRIDIAGONAL_TEAMS_H

#include "gpu/tridiagonal/team_worker.h"
#include "gpu/tridiagonal/tridiagonal_cuda.h"

/* A lane's part of a row: its column of the block towards the eliminated rows, of b and of the block towards the others.
 * The last lane has f in place of b. */
template <typename T, int M> struct karst_tri_parts {
  T near[M], own[M], far[M];
};

/* Loads M scalars. AOS: one after the other; if M is even, from a multiple of twice their size. */
template <typename T, int M, bool AOS>
static __device__ __forceinline__ void karst_tri_column(T (&to)[M], const T *from, int64_t element)
{
  if constexpr (AOS && M % 2 == 0) {
    karst_tri_load_pairs(to, from);
  } else {
#pragma unroll
    for (int r = 0; r < M; r++) to[r] = from[AOS ? r : r * element];
  }
}

/* A team's place in its system. Rows are counted from the end that the team comes from; idle: first steps that do
 * nothing, for the teams of a warp take the same number of steps. */
struct karst_tri_march {
  karst_tri_piece of;
  int64_t middle, rows, idle;
  bool down;

  __device__ karst_tri_march(const karst_tri_piece &piece, bool goes_down, int64_t steps) : of(piece), down(goes_down)
  {
    middle = of.count / 2;
    rows = down ? middle : of.count - 1 - middle;
    idle = steps - rows;
  }
  /* The row of the piece at step i. */
  __device__ int64_t at(int64_t i) const
  {
    const int64_t j = i > idle ? i - idle : 0;
    return down || of.count == 0 ? j : of.count - 1 - j;
  }
};

/* Fetches a lane's part of row at of a piece. */
template <typename T, int M, bool AOS>
static __device__ __forceinline__ void karst_tri_fetch(const karst_tri_systems<T> &s, const karst_tri_march &march,
                                                       int lane, int64_t at, karst_tri_parts<T, M> &parts)
{
  const int64_t g = march.of.row + at, row = march.of.first + at;
  const int column = lane < M ? lane * M : 0;
  const karst_tri_rows<const T> &near = march.down ? s.lower : s.upper, &far = march.down ? s.upper : s.lower;
  const bool first = row > 0, last = row < s.rows - 1;
  if (AOS) {
    karst_tri_column<T, M, true>(parts.near, near.at + g * (M * M) + column, 1);
    karst_tri_column<T, M, true>(parts.own, lane < M ? s.diagonal.at + g * (M * M) + column : s.right.at + g * M, 1);
    karst_tri_column<T, M, true>(parts.far, far.at + g * (M * M) + column, 1);
  } else {
    const int64_t step = near.element;
    karst_tri_column<T, M, false>(parts.near, near.at + g * near.row + column * step, step);
    karst_tri_column<T, M, false>(
        parts.own, lane < M ? s.diagonal.at + g * near.row + column * step : s.right.at + g * s.right.row, step);
    karst_tri_column<T, M, false>(parts.far, far.at + g * near.row + column * step, step);
  }
#pragma unroll
  for (int r = 0; r < M; r++) {
    parts.near[r] = (march.down ? first : last) ? parts.near[r] : 0;
    parts.far[r] = (march.down ? last : first) ? parts.far[r] : 0;
  }
}

enum { KARST_TRI_TEAM_THREADS = 64 };

/* per: systems of a thread block; memory: for the kept numbers, room scalars a system, or NULL. */
template <typename T, int M, bool AOS>
__global__ void __launch_bounds__(KARST_TRI_TEAM_THREADS, 1)
    karst_tri_teams(karst_tri_systems<T> s, karst_tri_cut cut, int per, T *memory)
{
  using K = karst_team_worker<T, M, 1>;
  constexpr int KEPT = M * (M + 1); /* [row][column]: W or V, and F */
  extern __shared__ double karst_tri_shared[];
  K k(M, nullptr);
  const int lane = k.lane, team = (int)threadIdx.x % 32 / K::LANES, place = team < per ? team : 0;
  const bool down = threadIdx.x < 32;
  const int64_t longest = cut.length - (cut.separated ? 1 : 0), all = s.systems * cut.pieces, steps = longest / 2;
  T *const kept = memory ? memory + ((int64_t)blockIdx.x * per + place) * longest * KEPT
                         : reinterpret_cast<T *>(karst_tri_shared) + 2 * K::PLACES * K::EACH + place * longest * KEPT;
  typename K::matrix C, size, none;
  typename K::augmented X, newX, D;
  typename K::whole A;
  karst_tri_parts<T, M> parts;
  k.take(A);
  K::zero(none);
#pragma unroll 1
  for (int64_t base = (int64_t)blockIdx.x * per; base < all; base += (int64_t)gridDim.x * per) {
    const bool there = team < per && team < K::TEAMS && base + team < all;
    const karst_tri_march march(karst_tri_find(cut, s.rows, there ? base + team : all - 1), down, steps);
    const karst_tri_piece &of = march.of;
    const bool mine = there && of.count > 0;
    bool failed = false;
    const auto judge = [&](karst_reason reason, bool works, int step, int64_t at) {
      if (reason == KARST_SOUND || !works) return;
      if (!failed && lane == 0) karst_tri_record(s, of.system, of.first + at, step, reason);
      failed = true;
    };
    const auto begin_size = [&](int64_t at) {
      K::zero(size);
      if (s.size.at)
        k.read(size, s.size, of.row + at, true);
      else
        K::add_size(size, D);
    };
    K::zero(X);
    if (cut.separated && down && of.first > 0) k.read_vector(X, karst_tri_const(s.solution), of.row - 1);
    if (cut.separated && !down) k.read_vector(X, karst_tri_const(s.solution), of.row + of.count);
    karst_tri_fetch<T, M, AOS>(s, march, lane, march.at(0), parts);
#pragma unroll 1
    for (int64_t i = 0; i < steps; i++) {
      const bool works = mine && i >= march.idle;
      const int64_t at = march.at(i);
#pragma unroll
      for (int r = 0; r < M; r++) D.at[r] = parts.own[r], C.at[r] = parts.far[r], newX.at[r] = parts.near[r];
      k.spread(A, newX);
      karst_tri_fetch<T, M, AOS>(s, march, lane, i + 1 < steps ? march.at(i + 1) : march.middle, parts);
      begin_size(at);
      k.subtract(D, A, X);
      K::add_size(size, D);
      judge(k.template solve<false>(D, size, C, none, newX), works, 0, at);
      K::keep(works, X, newX);
      if (works)
#pragma unroll
        for (int r = 0; r < M; r++) kept[at * KEPT + r * (M + 1) + lane] = X.at[r];
    }
    __syncthreads();
    if (down) { /* the middle row: both of its neighbours are eliminated */
#pragma unroll
      for (int r = 0; r < M; r++) D.at[r] = parts.own[r], C.at[r] = parts.far[r], newX.at[r] = parts.near[r];
      if (steps == 0) {
        karst_tri_fetch<T, M, AOS>(s, march, lane, march.middle, parts);
#pragma unroll
        for (int r = 0; r < M; r++) D.at[r] = parts.own[r], C.at[r] = parts.far[r], newX.at[r] = parts.near[r];
      }
      k.spread(A, newX);
      begin_size(march.middle);
      k.subtract(D, A, X);
      K::add_size(size, D);
      k.spread(A, C);
      K::zero(X);
      if (mine && march.middle + 1 < of.count)
#pragma unroll
        for (int r = 0; r < M; r++) X.at[r] = kept[(march.middle + 1) * KEPT + r * (M + 1) + lane];
      else if (cut.separated)
        k.read_vector(X, karst_tri_const(s.solution), of.row + of.count);
      k.subtract(D, A, X);
      K::add_size(size, D);
      K::zero(C);
      judge(k.template solve<false>(D, size, C, none, newX), mine, 1, march.middle);
      if (mine && lane == M)
#pragma unroll
        for (int r = 0; r < M; r++) kept[march.middle * KEPT + r * (M + 1) + M] = newX.at[r];
      k.write_vector(newX, s.solution, of.row + march.middle, mine);
    }
    __syncthreads();
    const int r = lane < M ? lane : 0, first_lane = team * K::LANES;
    T v = mine ? kept[march.middle * KEPT + r * (M + 1) + M] : 0;
#pragma unroll 1
    for (int64_t i = 1; i <= steps; i++) {
      const bool works = mine && i <= march.rows;
      const int64_t at = works ? march.middle + (down ? -i : i) : 0;
      const T *from = kept + at * KEPT + r * (M + 1);
      T sum = works ? from[M] : 0;
#pragma unroll
      for (int c = 0; c < M; c++) {
        const T other = __shfl_sync(~0u, v, (first_lane + c) % 32);
        if (works) sum -= from[c] * other;
      }
      v = works ? sum : v;
      if (works && lane < M) s.solution.at[(of.row + at) * s.solution.row + r * s.solution.element] = v;
    }
    __syncthreads();
  }
}

#endif
