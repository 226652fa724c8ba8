/* ends.h - Thomas's algorithm from both ends of a system at once, for blocks of a lane or of a team of lanes. One warp of
 * a thread block goes down from the first rows of a few systems, the other one up from their last rows,
 *
 *     u_k = F_k - W_k u_(k+1)   above the middle,     u_k = F_k - V_k u_(k-1)   below it,
 *
 * and where they meet a row has both neighbours eliminated. That takes no more work than from one end, and half the
 * steps. W, V and F are kept in shared memory for the way back, so that a, b, c and f are read once and u is written
 * once.
 *
 *     warp 0      row 0      row 1      row 2  ...     middle row     u of the rows before it, upward
 *     warp 1      row n-1    row n-2    ...            nothing        u of the rows after it, downward
 *
 * While a row is eliminated, the numbers of the next one or two are on their way to registers. The systems may be
 * interiors of pieces whose separators are known. */
#ifndef KARST_GPU_TRIDIAGONAL_ENDS_H
#define KARST_GPU_TRIDIAGONAL_ENDS_H

#include "gpu/tridiagonal/lane_worker.h"
#include "gpu/tridiagonal/team_worker.h"
#include "gpu/tridiagonal/tridiagonal_cuda.h"

#include <type_traits>

enum { KARST_TRI_ENDS_THREADS = 64 };

/* Who solves a system of blocks of size M, and what its lanes keep of a row: W and F. A row of all systems of a thread
 * block is an array [KEPT][pitch], in which lanes lie side by side. */
template <typename T, int M> struct karst_tri_ends_shape {
  static constexpr bool TEAM = M > KARST_TRI_LANES;
  using K = std::conditional_t<TEAM, karst_team_worker<T, M, 1>, karst_lane_worker<T, M>>;
  static constexpr int WIDTH = TEAM ? M + 1 : 1, MOST = 32 / WIDTH; /* lanes of a system, systems of a warp */
  static constexpr int KEPT = M * (M + 1) / WIDTH, AHEAD = M == 2 ? 2 : 1;

  /* Odd, so that the rows of a block are in different banks. */
  static __host__ __device__ constexpr int pitch(int systems) { return systems * WIDTH | 1; }
  /* Scalars of shared memory that the workers have for themselves. */
  static __host__ __device__ constexpr int own()
  {
    if constexpr (TEAM)
      return KARST_TRI_ENDS_THREADS / 32 * K::PLACES * K::EACH;
    else
      return 0;
  }
};

/* Loads COUNT scalars, or zeros. AOS: they lie one after the other; if COUNT is even, from a multiple of twice their
 * size. */
template <int COUNT, bool AOS, typename T>
static __device__ __forceinline__ void karst_tri_load_row(T *to, const T *from, int64_t element, bool there)
{
#pragma unroll
  for (int r = 0; r < COUNT; r++) to[r] = 0;
  if (!there) return;
  if constexpr (AOS && COUNT % 2 == 0) {
    karst_tri_load_pairs(*reinterpret_cast<T(*)[COUNT]>(to), from);
  } else {
#pragma unroll
    for (int r = 0; r < COUNT; r++) to[r] = from[AOS ? r : r * element];
  }
}

/* A system of a lane or of a team, from one of its ends. Rows are counted from there. */
template <typename T, int M, bool AOS> struct karst_tri_end {
  using S = karst_tri_ends_shape<T, M>;
  using K = typename S::K;
  /* The block towards the eliminated rows, b and f, and the block towards the others. */
  struct parts {
    typename K::matrix near, far;
    typename K::augmented own;
  };

  const karst_tri_systems<T> &s;
  K k;
  typename K::whole A;
  karst_tri_piece of;
  T *kept;
  int pitch, place, lane;
  bool down, mine, separated;        /* mine: there is a system */
  int64_t middle, rows, steps, idle; /* idle: first steps that do nothing: all lanes take the same number of steps */

  __device__ karst_tri_end(const karst_tri_systems<T> &systems, const karst_tri_cut &cut, int per, int64_t most)
      : s(systems), k(M, nullptr), pitch(S::pitch(per)), separated(cut.separated), steps(most)
  {
    extern __shared__ double karst_tri_shared[];
    const int t = (int)threadIdx.x % 32;
    const int64_t all = s.systems * cut.pieces, index = (int64_t)blockIdx.x * per + t / S::WIDTH;
    const bool there = t / S::WIDTH < per && index < all;
    kept = reinterpret_cast<T *>(karst_tri_shared) + S::own();
    of = karst_tri_find(cut, s.rows, there ? index : all - 1);
    mine = there && of.count > 0;
    place = mine ? t / S::WIDTH : 0;
    if constexpr (S::TEAM)
      lane = k.lane;
    else
      lane = 0;
    down = threadIdx.x < 32;
    middle = of.count / 2;
    rows = down ? middle : of.count - 1 - middle;
    idle = steps - rows;
    k.take(A);
  }
  /* The row of the piece at a step; after the last step the middle one. */
  __device__ int64_t at(int64_t step) const
  {
    const int64_t i = step > idle ? step - idle : 0;
    return step >= steps ? middle : down || of.count == 0 ? i : of.count - 1 - i;
  }
  __device__ T *kept_of(int64_t row) const { return kept + (int)row * S::KEPT * pitch + place * S::WIDTH; }

  __device__ __forceinline__ void fetch(parts &to, int64_t at) const
  {
    const int64_t g = of.row + at, row = of.first + at;
    const bool above = row > 0, below = row < s.rows - 1;
    const karst_tri_rows<const T> &near = down ? s.lower : s.upper, &far = down ? s.upper : s.lower;
    if constexpr (S::TEAM) {
      const int64_t step = near.element, column = lane < M ? lane * M * (AOS ? 1 : step) : 0;
      const int64_t block = g * (AOS ? M * M : near.row) + column;
      const T *own = lane < M ? s.diagonal.at + block : s.right.at + g * (AOS ? M : s.right.row);
      karst_tri_load_row<M, AOS>(to.near.at, near.at + block, step, down ? above : below);
      karst_tri_load_row<M, AOS>(to.own.at, own, step, true);
      karst_tri_load_row<M, AOS>(to.far.at, far.at + block, step, down ? below : above);
    } else {
      const int64_t step = near.element, block = g * (AOS ? M * M : near.row);
      karst_tri_load_row<M * M, AOS>(to.near.at, near.at + block, step, down ? above : below);
      karst_tri_load_row<M * M, AOS>(to.own.at, s.diagonal.at + block, step, true);
      karst_tri_load_row<M, AOS>(to.own.at + M * M, s.right.at + g * (AOS ? M : s.right.row), step, true);
      karst_tri_load_row<M * M, AOS>(to.far.at, far.at + block, step, down ? below : above);
    }
  }

  __device__ __forceinline__ void add_product(typename K::augmented &D, typename K::matrix &size,
                                              const typename K::matrix &a, const typename K::augmented &X)
  {
    k.spread(A, a);
    k.subtract(D, A, X);
    K::add_size(size, D);
  }

  /* Eliminates a row. X: W or V and F of the row before it, and then of this row. In the middle row, which has both
   * neighbours eliminated, no unknown is left. */
  __device__ __forceinline__ karst_reason eliminate(const parts &row, int64_t at, bool last, bool works,
                                                    typename K::augmented &X)
  {
    typename K::augmented D = row.own, newX;
    typename K::matrix size, C = row.far, none;
    K::zero(none);
    K::zero(size);
    if (s.size.at)
      k.read(size, s.size, of.row + at, true);
    else
      K::add_size(size, D);
    add_product(D, size, row.near, X);
    if (last) {
      K::zero(X);
      if (mine && at + 1 < of.count) {
        const T *from = kept_of(at + 1);
#pragma unroll
        for (int r = 0; r < S::KEPT; r++) X.at[r] = from[r * pitch + lane];
      } else if (separated) {
        k.read_vector(X, karst_tri_const(s.solution), of.row + of.count);
      }
      add_product(D, size, C, X);
      K::zero(C);
    }
    const karst_reason reason = k.template solve<false>(D, size, C, none, newX);
    K::keep(works, X, newX);
    if (works) {
      T *to = kept_of(at);
#pragma unroll
      for (int r = 0; r < S::KEPT; r++) to[r * pitch + lane] = X.at[r];
    }
    return reason;
  }

  /* All rows of this end, and the middle row after those of both. */
  __device__ __forceinline__ void go()
  {
    typename K::augmented X;
    parts ahead[S::AHEAD];
    bool failed = false;
    K::zero(X);
    if (separated && down && of.first > 0) k.read_vector(X, karst_tri_const(s.solution), of.row - 1);
    if (separated && !down) k.read_vector(X, karst_tri_const(s.solution), of.row + of.count);
#pragma unroll
    for (int a = 0; a < S::AHEAD; a++) fetch(ahead[a], at(a));
#pragma unroll 1
    for (int64_t start = 0; start <= steps; start += S::AHEAD)
#pragma unroll
      for (int a = 0; a < S::AHEAD; a++) {
        const int64_t i = start + a, place_of_row = at(i);
        const bool last = i == steps, works = mine && (last ? down : i >= idle);
        if (i > steps) break;
        const parts row = ahead[a];
        fetch(ahead[a], at(i + S::AHEAD));
        if (last) __syncthreads();
        const karst_reason reason = eliminate(row, place_of_row, last, works, X);
        if (reason == KARST_SOUND || !works || failed) continue;
        if (k.first()) karst_tri_record(s, of.system, of.first + place_of_row, last ? 1 : 0, reason);
        failed = true;
      }
    if (down) k.write_vector(X, s.solution, of.row + middle, mine);
  }

  /* The unknowns of this end's rows, from the middle on. */
  __device__ __forceinline__ void come_back()
  {
    typename K::augmented X;
    const T *from = kept_of(middle);
    const int r = lane < M ? lane : 0, first_lane = (int)threadIdx.x % 32 - lane;
    T v[S::TEAM ? 1 : M];
    if constexpr (S::TEAM) {
      v[0] = mine ? from[r * pitch + M] : 0;
    } else {
#pragma unroll
      for (int i = 0; i < M; i++) v[i] = mine ? from[(M * M + i) * pitch] : 0;
    }
#pragma unroll 1
    for (int64_t i = 1; i <= steps; i++) {
      const bool works = mine && i <= rows;
      const int64_t at = works ? middle + (down ? -i : i) : 0;
      from = kept_of(at);
      if constexpr (S::TEAM) {
        const T *row = from + r * pitch;
        T sum[2] = {works ? row[M] : 0, 0};
#pragma unroll
        for (int c = 0; c < M; c++) {
          const T other = __shfl_sync(~0u, v[0], (first_lane + c) % 32);
          if (works) sum[c % 2] -= row[c] * other;
        }
        v[0] = works ? sum[0] + sum[1] : v[0];
        if (works && lane < M) s.solution.at[(of.row + at) * s.solution.row + r * s.solution.element] = v[0];
      } else if (works) {
#pragma unroll
        for (int j = 0; j < M; j++) X.at[M * M + j] = from[(M * M + j) * pitch];
#pragma unroll
        for (int c = 0; c < M; c++)
#pragma unroll
          for (int j = 0; j < M; j++) X.at[M * M + j] -= from[(c * M + j) * pitch] * v[c];
#pragma unroll
        for (int j = 0; j < M; j++) v[j] = X.at[M * M + j];
        k.write_vector(X, s.solution, of.row + at, true);
      }
    }
  }
};

/* per: systems of a thread block. The least number of thread blocks, 1, keeps the compiler from saving registers. */
template <typename T, int M, bool AOS>
__global__ void __launch_bounds__(KARST_TRI_ENDS_THREADS, 1)
    karst_tri_from_ends(karst_tri_systems<T> s, karst_tri_cut cut, int per)
{
  const int64_t longest = cut.length - (cut.separated ? 1 : 0), steps = longest / 2;
  karst_tri_end<T, M, AOS> end(s, cut, per, steps);
  end.go();
  __syncthreads();
  end.come_back();
}

#endif
