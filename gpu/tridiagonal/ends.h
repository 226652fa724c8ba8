/* ends.h - Thomas's algorithm from both ends of a system at once, for blocks of a team of lanes. One warp of a thread
 * block goes down from the first rows of a few systems, the other one up from their last rows,
 *
 *     u_k = F_k - W_k u_(k+1)   above the middle,     u_k = F_k - V_k u_(k-1)   below it,
 *
 * and where they meet a row has both neighbours eliminated. That takes no more work than from one end, and half the
 * steps. W, V and F are kept for the way back, so that a, b, c and f are read once and u is written once.
 *
 *     warp 0      row 0      row 1      row 2  ...     middle row     u of the rows before it, upward
 *     warp 1      row n-1    row n-2    ...            nothing        u of the rows after it, downward
 *
 * Rows around the middle, which are kept last and read first, are kept in shared memory, as many as have room there.
 * The others are kept in global memory; the level 2 cache holds a part of them. So as many thread blocks are resident
 * as there are registers for, whatever the length of the systems.
 *
 * While a row is eliminated, the next one is copied to shared memory, where lanes find the columns of its blocks. On
 * the way back the numbers of the next few rows are on their way to registers. The systems may be interiors of pieces
 * whose separators are known. */
#ifndef KARST_GPU_TRIDIAGONAL_ENDS_H
#define KARST_GPU_TRIDIAGONAL_ENDS_H

#include "gpu/queue.h"
#include "gpu/tridiagonal/team_worker.h"
#include "gpu/tridiagonal/tridiagonal_cuda.h"

enum { KARST_TRI_ENDS_THREADS = 64 };

/* What the lanes of a team keep of a row: a column each of W and F. A row of all systems of a thread block is an array
 * [M][pitch], in which lanes lie side by side. */
template <typename T, int M> struct karst_tri_ends_shape {
  using K = karst_team_worker<T, M, 0>;
  static constexpr int WIDTH = M + 1, MOST = 32 / WIDTH; /* lanes of a system, systems of a warp */
  static constexpr int BACK = M == 4 ? 4 : 2; /* rows that are on their way at a time when the unknowns are found */
  /* A row of a team in shared memory: the block towards the eliminated rows, b, the block towards the others, and f.
   * Their columns are at multiples of 16 bytes, and the rows of neighbouring teams in different banks. */
  static constexpr int COLUMN = (M + K::UNIT - 1) / K::UNIT * K::UNIT, BLOCK = M * COLUMN;
  static constexpr int NEAR = 0, DIAGONAL = BLOCK, FAR = 2 * BLOCK, RIGHT = 3 * BLOCK;
  static constexpr int ROW = ((RIGHT + COLUMN) / K::UNIT | 1) * K::UNIT;
  /* Scalars of shared memory that the workers have for themselves, and with the rows. */
  static constexpr int WORKERS = KARST_TRI_ENDS_THREADS / 32 * K::PLACES * K::EACH;
  static constexpr int OWN = WORKERS + KARST_TRI_ENDS_THREADS / 32 * MOST * ROW;

  /* Odd, so that the rows of a block are in different banks. */
  static __host__ __device__ constexpr int pitch(int systems) { return systems * WIDTH | 1; }
};

/* A system of a team, from one of its ends. Rows are counted from there. */
template <typename T, int M, bool AOS> struct karst_tri_end {
  using S = karst_tri_ends_shape<T, M>;
  using K = typename S::K;
  /* A lane's row of W and F, on the way back. */
  struct kept_row {
    T at[M + 1];
  };

  const karst_tri_systems<T> &s;
  K k;
  karst_tri_piece of;
  T *row;           /* [ROW] shared memory */
  T *inner, *outer; /* where rows around the middle are kept, and the others */
  int pitch, inner_first, inner_rows;
  bool down, team, mine, separated; /* team: the lane is in one; mine: there is a system */
  int middle, rows, steps, idle;    /* idle: first steps that do nothing: all lanes take the same number of steps */

  /* group: of plan.per systems. */
  __device__ karst_tri_end(const karst_tri_systems<T> &systems, const karst_tri_cut &cut,
                           const karst_tri_ends_plan &plan, T *global, int64_t group)
      : s(systems), k(M, nullptr), pitch(S::pitch(plan.per)), inner_rows(plan.inner), separated(cut.separated),
        steps((int)(cut.length - (cut.separated ? 1 : 0)) / 2)
  {
    extern __shared__ double karst_tri_shared[];
    const int t = (int)threadIdx.x % 32;
    const int64_t all = s.systems * cut.pieces, index = group * plan.per + t / S::WIDTH;
    const bool there = t / S::WIDTH < plan.per && index < all;
    of = karst_tri_find(cut, s.rows, there ? index : group * plan.per); /* spare teams read what the first one does */
    mine = there && of.count > 0;
    const int place = mine ? t / S::WIDTH * S::WIDTH : 0;
    team = t / S::WIDTH < S::MOST;
    T *const own = reinterpret_cast<T *>(karst_tri_shared);
    row = own + S::WORKERS + ((int)threadIdx.x / 32 * S::MOST + (team ? t / S::WIDTH : S::MOST - 1)) * S::ROW;
    inner = own + S::OWN + place;
    outer = global + place;
    down = threadIdx.x < 32;
    middle = (int)of.count / 2;
    rows = down ? middle : (int)of.count - 1 - middle;
    idle = steps - rows;
    inner_first = middle > inner_rows / 2 ? middle - inner_rows / 2 : 0;
  }
  /* The row of the piece at a step; after the last step the middle one. */
  __device__ int at(int step) const
  {
    const int i = step > idle ? step - idle : 0;
    return step >= steps ? middle : down || of.count == 0 ? i : (int)of.count - 1 - i;
  }
  __device__ T *kept_of(int at) const
  {
    const int after = at - inner_first;
    const bool in = after >= 0 && after < inner_rows;
    const int place = in ? after : after < 0 ? at : at - inner_rows;
    return (in ? inner : outer) + (int64_t)place * (M * pitch);
  }

  /* Queues the copy of COUNT scalars, or of zeros. AOS: they lie one after the other and, if COUNT is even, from a
   * multiple of twice their size. */
  template <int COUNT> __device__ __forceinline__ void queue(T *to, const T *from, int64_t element, bool there) const
  {
    constexpr int EACH = AOS && COUNT % 2 == 0 ? 2 : 1;
#pragma unroll
    for (int e = 0; e < COUNT; e += EACH * S::WIDTH) {
      const int at = e + EACH * k.lane;
      if (team && at < COUNT)
        karst_queue_copy<EACH *(int)sizeof(T)>(S::COLUMN == M ? to + at : to + at / M * S::COLUMN + at % M, there,
                                               from + (AOS ? at : at * element));
    }
  }
  __device__ __forceinline__ void fetch(int at) const
  {
    const int64_t g = of.row + at, place = of.first + at;
    const bool above = place > 0, below = place < s.rows - 1;
    const karst_tri_rows<const T> &near = down ? s.lower : s.upper, &far = down ? s.upper : s.lower;
    const int64_t step = near.element, block = g * (AOS ? M * M : near.row);
    queue<M * M>(row + S::NEAR, near.at + block, step, down ? above : below);
    queue<M * M>(row + S::DIAGONAL, s.diagonal.at + block, step, true);
    queue<M * M>(row + S::FAR, far.at + block, step, down ? below : above);
    queue<M>(row + S::RIGHT, s.right.at + g * (AOS ? M : s.right.row), step, true);
  }

  __device__ __forceinline__ void add_product(typename K::augmented &D, typename K::matrix &size, int block,
                                              const typename K::augmented &X) const
  {
#pragma unroll
    for (int c = 0; c < M; c++) {
      T column[M];
      K::load(column, row + block + c * S::COLUMN);
#pragma unroll
      for (int r = 0; r < M; r++) D.at[r] -= column[r] * X.at[c];
    }
    K::add_size(size, D);
  }

  /* [b | f] of the row at hand and its far block C without what is eliminated, and the sizes of b. X: W or V and F of
   * the row before it. In the middle row, which has both neighbours eliminated, no unknown is left. */
  __device__ __forceinline__ void enter(int at, bool last, typename K::augmented &X, typename K::augmented &D,
                                        typename K::matrix &size, typename K::matrix &C) const
  {
    K::zero(size), K::zero(C);
    K::load(D.at, row + (k.lane < M ? S::DIAGONAL + k.lane * S::COLUMN : S::RIGHT));
    if (s.size.at)
      k.read(size, s.size, of.row + at, true);
    else
      K::add_size(size, D);
    add_product(D, size, S::NEAR, X);
    if (!last) {
      K::load(C.at, row + S::FAR + (k.lane < M ? k.lane * S::COLUMN : 0));
      return;
    }
    K::zero(X);
    if (mine && at + 1 < of.count) {
      const T *from = kept_of(at + 1);
#pragma unroll
      for (int r = 0; r < M; r++) X.at[r] = from[r * pitch + k.lane];
    } else if (separated) {
      k.read_vector(X, karst_tri_const(s.solution), of.row + of.count);
    }
    add_product(D, size, S::FAR, X);
  }

  /* Eliminates all rows of this end, and then the middle row. */
  __device__ __forceinline__ void go()
  {
    typename K::augmented X;
    bool failed = false;
    K::zero(X);
    if (separated && down && of.first > 0) k.read_vector(X, karst_tri_const(s.solution), of.row - 1);
    if (separated && !down) k.read_vector(X, karst_tri_const(s.solution), of.row + of.count);
    fetch(at(0));
#pragma unroll 1
    for (int i = 0; i <= steps; i++) {
      const int place = at(i);
      const bool last = i == steps, works = mine && (last ? down : i >= idle);
      typename K::augmented D, newX;
      typename K::matrix size, C, none;
      K::zero(none);
      karst_await_copies();
      if (last) __syncthreads();
      __syncwarp();
      enter(place, last, X, D, size, C);
      __syncwarp();
      if (!last) fetch(at(i + 1));
      const karst_reason reason = k.template solve<false>(D, size, C, none, newX);
      K::keep(works, X, newX);
      if (works) {
        T *to = kept_of(place);
#pragma unroll
        for (int r = 0; r < M; r++) to[r * pitch + k.lane] = X.at[r];
      }
      if (reason == KARST_SOUND || !works || failed) continue;
      if (k.first()) karst_tri_record(s, of.system, of.first + place, last ? 1 : 0, reason);
      failed = true;
    }
    if (down) k.write_vector(X, s.solution, of.row + middle, mine);
  }

  /* The row of the piece at a step back. */
  __device__ int at_back(int step) const { return middle + (down ? -step : step); }
  __device__ bool works_back(int step) const { return mine && k.lane < M && step <= rows; }
  __device__ __forceinline__ void fetch_back(kept_row &to, int step) const
  {
    const bool works = works_back(step);
    const T *from = kept_of(works ? at_back(step) : middle) + (works ? k.lane : 0) * pitch;
#pragma unroll
    for (int c = 0; c <= M; c++) to.at[c] = works ? from[c] : 0;
  }

  /* The unknowns of this end's rows, from the middle on. */
  __device__ __forceinline__ void come_back()
  {
    const int first_lane = (int)threadIdx.x % 32 - k.lane;
    kept_row ahead[S::BACK];
    T v = 0;
    if (mine && k.lane < M) v = kept_of(middle)[k.lane * pitch + M];
#pragma unroll
    for (int a = 0; a < S::BACK; a++) fetch_back(ahead[a], 1 + a);
#pragma unroll 1
    for (int start = 1; start <= steps; start += S::BACK)
#pragma unroll
      for (int a = 0; a < S::BACK; a++) {
        const int i = start + a;
        const kept_row row = ahead[a];
        T sum[2] = {row.at[M], 0};
        fetch_back(ahead[a], i + S::BACK);
#pragma unroll
        for (int c = 0; c < M; c++) sum[c % 2] -= row.at[c] * __shfl_sync(~0u, v, (first_lane + c) % 32);
        if (!works_back(i)) continue;
        v = sum[0] + sum[1];
        s.solution.at[(of.row + at_back(i)) * s.solution.row + k.lane * s.solution.element] = v;
      }
  }
};

/* outer: [thread blocks][plan.outer]. The least number of thread blocks, 1, keeps the compiler from saving
 * registers. */
template <typename T, int M, bool AOS>
__global__ void __launch_bounds__(KARST_TRI_ENDS_THREADS, 1)
    karst_tri_from_ends(karst_tri_systems<T> s, karst_tri_cut cut, karst_tri_ends_plan plan, T *outer, int64_t groups)
{
#pragma unroll 1
  for (int64_t group = blockIdx.x; group < groups; group += gridDim.x) {
    karst_tri_end<T, M, AOS> end(s, cut, plan, outer + blockIdx.x * plan.outer, group);
    end.go();
    __syncthreads();
    end.come_back();
    __syncthreads();
  }
}

#endif
