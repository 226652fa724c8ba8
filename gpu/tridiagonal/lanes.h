/* lanes.h - whole systems in one pass over memory: split inside a thread block, for blocks that a lane holds in its
 * registers. After Laszlo, Giles and Appleyard, Manycore algorithms for batch scalar and block tridiagonal solvers, ACM
 * TOMS 42, 2016, who do so for scalars.
 *
 * A lane takes a piece of R consecutive rows, the last of a system perhaps fewer. All rows of a warp are first copied to
 * shared memory (lane_tile.h), where W, P and F of a row take the place of its c, a and f (tridiagonal_cuda.h). The last
 * row of each piece is a separator; the separators of a system are solved by PCR, each lane with its own in registers.
 * Then each lane finds the unknowns of its interior.
 *
 *     copy    a  b  c  f   of R rows                                       | all lanes of a warp, coalesced
 *     down    W  P  F      of R - 1 rows, and H Q G of the first, for the
 *                          lane before; equation of the separator          | each lane
 *     PCR     log2(pieces) steps                                           | the lanes of a system
 *     up      u            of R - 1 rows                                   | each lane
 *     copy    u                                                            | all lanes of a warp, coalesced
 *
 * The systems may be interiors of pieces whose separators are known. Or the separators of these pieces are to be found:
 * then the first and the last lane keep their couplings to them through PCR, and the equations of the separators are
 * stored. WARP: the lanes of a system are in one warp. */
#ifndef KARST_GPU_TRIDIAGONAL_LANES_H
#define KARST_GPU_TRIDIAGONAL_LANES_H

#include "gpu/tridiagonal/lane_tile.h"
#include "gpu/tridiagonal/lane_worker.h"

/* A lane and its piece. */
template <typename T, int M, int R, bool AOS, bool WARP> struct karst_tri_lane {
  using K = karst_lane_worker<T, M>;
  using S = karst_tri_tile<T, M, R, AOS>;
  static constexpr int SQUARE = M * M;
  static constexpr int EQUATION = 2 * SQUARE + M; /* scalars that lanes exchange at a time */
  static_assert(2 * EQUATION <= R * SQUARE, "they have the place of b, and one set is written while one is read");

  const karst_tri_systems<T> &s;
  karst_tri_piece of; /* the system, or the interior of a piece of it */
  bool live;
  int lane, lanes, first, count; /* its number, lanes of the system, its rows */
  S tile;
  int begin;      /* its first row in the tile */
  int64_t row;    /* the first row of the tile, of all systems */
  int64_t before; /* the same, of its system */
  T *mine;        /* its chunk, for what it exchanges */
  int exchanges = 0;
  bool failed = false;
  typename K::matrix P, C, Q, size;
  typename K::augmented X, D, E; /* [W | F], [b | f], [H | G] */

  __device__ __forceinline__ karst_tri_lane(const karst_tri_systems<T> &systems, karst_tri_cut cut,
                                            karst_tri_spread spread, T *slots)
      : s(systems)
  {
    const int t = (int)threadIdx.x, place = WARP ? t % 32 : t, groups = WARP ? (int)blockDim.x / 32 : 1;
    const int64_t index = ((int64_t)blockIdx.x * groups + (WARP ? t / 32 : 0)) * spread.per + place / spread.lanes;
    const int64_t all = s.systems * cut.pieces;
    live = place / spread.lanes < spread.per && index < all;
    of = karst_tri_find(cut, s.rows, live ? index : all - 1);
    lane = place % spread.lanes;
    first = lane * R;
    count = !live || first >= of.count ? 0 : of.count - first < R ? (int)of.count - first : R;
    lanes = ((int)of.count + R - 1) / R; /* the last piece of a system may be shorter */
    row = __shfl_sync(~0u, of.row + first, 0);
    before = __shfl_sync(~0u, of.first + first, 0);
    begin = count > 0 ? (int)(of.row + first - row) : 0;
    const unsigned owners = __ballot_sync(~0u, count > 0);
    tile.rows = __shfl_sync(~0u, begin + count, owners ? 31 - __clz((int)owners) : 0);
    tile.chunks = slots + t / 32 * 32 * S::STRIDE;
    mine = slots + t * S::STRIDE + S::DIAGONAL;
  }
  __device__ __forceinline__ bool own() const { return count > 0; }
  __device__ __forceinline__ int last() const { return count - 1; }

  static __device__ __forceinline__ void meet()
  {
    if (WARP)
      __syncwarp();
    else
      __syncthreads();
  }

  __device__ __forceinline__ void judge(karst_reason reason, int i, int step)
  {
    if (reason != KARST_SOUND && !failed) karst_tri_record(s, of.system, of.first + first + i, step, reason);
    failed = failed || reason != KARST_SOUND;
  }

  /* The tile is complete for the warp when this returns. */
  __device__ __forceinline__ void load()
  {
    const karst_tri_ends firsts(before, s.rows), lasts(before + 1, s.rows);
    tile.template load<SQUARE>(S::LOWER, s.lower, row, firsts);
    tile.template load<SQUARE>(S::DIAGONAL, s.diagonal, row);
    tile.template load<SQUARE>(S::UPPER, s.upper, row, lasts);
    tile.template load<M>(S::RIGHT, s.right, row);
    K::zero(C);
    if (own() && of.first + first == 0) S::template write<S::LOWER>(C, tile.row((unsigned)begin));
    if (own() && of.first + first + count == s.rows)
      S::template write<S::UPPER>(C, tile.row((unsigned)(begin + last())));
    karst_await_copies();
    __syncwarp();
  }

  /* [D | C] and P of row i, from X and P of the row before. */
  __device__ __forceinline__ void begin_row(int i)
  {
    const karst_tri_tile_row<T> at = tile.row((unsigned)(begin + i));
    typename K::matrix A;
    S::template read<S::LOWER>(A, at);
    S::template read<S::DIAGONAL>(D, at);
    S::read_vector(D, at);
    S::template read<S::UPPER>(C, at);
    if (s.size.at)
      K::read(size, s.size, of.row + first + i, true);
    else
      K::set_size(size, D);
    K::subtract(D, A, X);
    K::add_size(size, D);
    const typename K::matrix P_before = P;
    K::zero(P);
    K::subtract(P, A, P_before);
  }

  /* Eliminates the interior. P, X: of the row before the piece, P = -1 for the separator before. KEEP: for up. */
  template <bool KEEP> __device__ __forceinline__ void down()
  {
    K::identity(E, -1), K::zero(Q);
#pragma unroll 1
    for (int i = 0; i < last(); i++) {
      begin_row(i);
      judge(K::template solve<true>(D, size, C, P, X), i, 0);
      if (KEEP) {
        const karst_tri_tile_row<T> at = tile.row((unsigned)(begin + i));
        S::template write<S::UPPER>(X, at);
        S::template write<S::LOWER>(P, at);
        S::write_vector(X, at);
      }
      follow();
    }
    if (own()) begin_row(last());
  }

  /* The equation of the first row, u = G - H u_i - Q u_before, after u_i = F - W u_(i+1) - P u_before. */
  __device__ __forceinline__ void follow()
  {
    typename K::matrix H;
    K::spread(H, E);
    K::zero_matrix(E);
    K::subtract(E, H, X);
    K::subtract(Q, H, P);
  }

  /* Sets aside left, right and the vector of right for other lanes; all lanes do so together. */
  __device__ __forceinline__ void offer(const typename K::matrix &left, const typename K::augmented &right)
  {
    T *const to = mine + exchanges % 2 * EQUATION;
    if (own()) {
#pragma unroll
      for (int e = 0; e < SQUARE; e++) to[e] = left.at[e];
#pragma unroll
      for (int e = 0; e < SQUARE + M; e++) to[SQUARE + e] = right.at[e];
    }
    meet();
  }
  /* Reads what the lane at a distance has set aside; all lanes take before they offer again. */
  __device__ __forceinline__ const T *offered(int distance) const
  {
    return mine + distance * S::STRIDE + exchanges % 2 * EQUATION;
  }
  template <typename X1> static __device__ __forceinline__ void take(X1 &x, const T *from)
  {
#pragma unroll
    for (int e = 0; e < SQUARE; e++) x.at[e] = from[e];
  }
  static __device__ __forceinline__ void take_vector(typename K::augmented &x, const T *from)
  {
#pragma unroll
    for (int r = 0; r < M; r++) x.at[SQUARE + r] = from[2 * SQUARE + r];
  }

  /* The equation of the separator, u + P u_before + X.matrix u_after = X.vector. */
  __device__ __forceinline__ void link()
  {
    __syncwarp(); /* b is not needed any more */
    offer(Q, E);
    if (own()) {
      if (lane < lanes - 1) {
        const T *const from = offered(1);
        typename K::augmented next;
        typename K::matrix H;
        take(next, from), take_vector(next, from);
        K::subtract(D, C, next);
        take(H, from + SQUARE);
        const typename K::matrix C_before = C;
        K::zero(C);
        K::subtract(C, C_before, H);
      }
      K::add_size(size, D);
      judge(K::template solve<true>(D, size, C, P, X), last(), 1);
    }
    exchanges++;
  }

  /* Eliminates the separators at a distance. */
  __device__ __forceinline__ void reach_out(int reach, int step)
  {
    offer(P, X);
    if (own()) {
      typename K::augmented other;
      typename K::matrix A, B;
      K::identity(D, 1), K::identity(size, 1);
#pragma unroll
      for (int r = 0; r < M; r++) D.at[SQUARE + r] = X.at[SQUARE + r];
      K::spread(C, X);
      if (lane >= reach) {
        const T *const from = offered(-reach);
        take(B, from), take(other, from + SQUARE), take_vector(other, from);
        K::subtract(D, P, other);
        A = P;
        K::zero(P);
        K::subtract(P, A, B);
      }
      K::add_size(size, D);
      if (lane + reach < lanes) {
        const T *const from = offered(reach);
        take(other, from), take_vector(other, from), take(B, from + SQUARE);
        K::subtract(D, C, other);
        A = C;
        K::zero(C);
        K::subtract(C, A, B);
      }
      K::add_size(size, D);
      judge(K::template solve<true>(D, size, C, P, X), last(), step);
    }
    exchanges++;
  }

  /* A scalar of the row after the system, a separator: the warp's lanes have its a, b and f together. */
  __device__ __forceinline__ T separator_scalar() const
  {
    const int64_t g = of.row + of.count;
    const auto at = [g](const karst_tri_rows<const T> &rows, int e) {
      return rows.at[g * rows.row + e * rows.element];
    };
    if (!live || lane >= EQUATION) return 0;
    if (lane < SQUARE) return at(s.lower, lane);
    return lane < 2 * SQUARE ? at(s.diagonal, lane - SQUARE) : at(s.right, lane - 2 * SQUARE);
  }

  /* Stores what the interior leaves for the separators, once PCR has found its first and last separator of lanes from
   * those around it. Their places in the chunks are not needed any more. */
  __device__ __forceinline__ void condense(const karst_tri_reduced<T> &to, int64_t index, T scalar)
  {
    T *const place = tile.chunks + S::UPPER;
    if (lane < EQUATION) place[lane] = scalar;
    __syncwarp();
    if (lane == (lanes > 0 ? lanes - 1 : 0)) {
      typename K::matrix A, left;
      take(A, place), take(D, place + SQUARE), take_vector(D, place);
      K::zero(left);
      if (s.size.at)
        K::read(size, s.size, of.row + of.count, true);
      else
        K::set_size(size, D);
      K::subtract(D, A, X);
      K::add_size(size, D);
      K::subtract(left, A, P);
      K::write_matrix(left, to.lower, index, live);
      K::write_matrix(D, to.diagonal, index, live);
      K::write_vector(D, to.right, index, live);
      K::write_matrix(size, to.size, index, live);
    }
    if (lane == 0) {
      if (own()) follow();
      K::write_matrix(E, to.H, index, live);
      K::write_vector(E, to.G, index, live);
      K::write_matrix(Q, to.Q, index, live);
    }
  }

  /* Finds the unknowns of the interior. */
  __device__ __forceinline__ void up()
  {
    offer(P, X);
    K::zero(E);
    if (!own()) return;
    if (lane > 0) take_vector(E, offered(-1));
    S::write_vector(X, tile.row((unsigned)(begin + last())));
#pragma unroll 1
    for (int i = last() - 1; i >= 0; i--) {
      const karst_tri_tile_row<T> at = tile.row((unsigned)(begin + i));
      typename K::matrix W, B;
      S::template read<S::UPPER>(W, at);
      S::template read<S::LOWER>(B, at);
      S::read_vector(D, at);
      K::subtract_vector(D, B, E);
      K::subtract_vector(D, W, X);
#pragma unroll
      for (int r = 0; r < M; r++) X.at[SQUARE + r] = D.at[SQUARE + r];
      S::write_vector(X, at);
    }
  }
};

template <typename T, int M, int R, bool AOS, bool WARP>
__global__ void __launch_bounds__(WARP ? 128 : karst_tri_lane_threads(M))
    karst_tri_lanes(karst_tri_systems<T> s, karst_tri_cut cut, karst_tri_spread spread)
{
  using L = karst_tri_lane<T, M, R, AOS, WARP>;
  using K = typename L::K;
  extern __shared__ double karst_tri_shared[];
  L l(s, cut, spread, reinterpret_cast<T *>(karst_tri_shared));
  l.load();
  K::zero(l.X), K::identity(l.P, -1);
  if (l.lane == 0) { /* what is before the system is known, or is not there */
    K::zero(l.P);
    if (cut.separated && l.of.first > 0 && l.live) K::read_vector(l.X, karst_tri_const(s.solution), l.of.row - 1);
  }
  l.template down<true>();
  if (l.own() && l.lane == l.lanes - 1) { /* so is what is after it */
    if (cut.separated) {
      typename K::augmented known;
      K::read_vector(known, karst_tri_const(s.solution), l.of.row + l.of.count);
      K::subtract_vector(l.D, l.C, known);
    }
    K::zero(l.C);
  }
  l.link();
#pragma unroll 1
  for (int reach = 1, step = 2; reach < spread.lanes; reach *= 2) l.reach_out(reach, step++);
  l.up();
  __syncwarp();
  l.tile.store(s.solution, l.row);
}

/* Eliminates interiors, as karst_tri_reduce (pieces.h) does: a warp takes one. */
template <typename T, int M, int R, bool AOS>
__global__ void __launch_bounds__(128) karst_tri_lane_separators(karst_tri_systems<T> s, karst_tri_cut cut,
                                                                 karst_tri_spread spread, karst_tri_reduced<T> to)
{
  using L = karst_tri_lane<T, M, R, AOS, true>;
  using K = typename L::K;
  extern __shared__ double karst_tri_shared[];
  L l(s, cut, spread, reinterpret_cast<T *>(karst_tri_shared));
  const T scalar = l.separator_scalar();
  l.load();
  K::zero(l.X), K::identity(l.P, -1);
  l.template down<false>();
  l.link();
#pragma unroll 1
  for (int reach = 1, step = 2; reach < spread.lanes; reach *= 2) l.reach_out(reach, step++);
  l.condense(to, (int64_t)blockIdx.x * ((int)blockDim.x / 32) + (int)threadIdx.x / 32, scalar);
}

#endif
