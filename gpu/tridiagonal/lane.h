/* lane.h - a lane that solves systems together with other lanes (lanes.h): its rows, and its steps. */
#ifndef KARST_GPU_TRIDIAGONAL_LANE_H
#define KARST_GPU_TRIDIAGONAL_LANE_H

#include "gpu/tridiagonal/lane_tile.h"
#include "gpu/tridiagonal/lane_worker.h"

/* Scalars of a thread block's shared memory for so many lanes: their chunks and, if they are more than a warp, places
 * where each exchanges an equation. */
template <typename T, int M, int R, bool AOS, bool WARP> struct karst_tri_lane_memory {
  static constexpr int STRIDE = karst_tri_tile<T, M, R, AOS>::STRIDE;
  static constexpr int EQUATION = 2 * M * M + M;
  static constexpr int EXCHANGE = EQUATION | 1; /* odd, so that lanes use different banks */
  static_assert(2 * EQUATION <= R * M * M, "in a warp they have the place of b, for two exchanges");
  static size_t bytes(int places) { return (size_t)places * (STRIDE + (WARP ? 0 : EXCHANGE)) * sizeof(T); }
};

/* Where a lane works: its system, or the interior of a piece of one, and its rows. */
struct karst_tri_lane_place {
  karst_tri_piece of;
  bool live;
  int lane, lanes, first, count; /* its number, the lanes of the system, its rows */
  int64_t row, before;           /* the first row of the warp's: of all systems, of its system */
  int begin, rows;               /* the lane's first row among the warp's, and how many these are */

  /* group: of spread.per systems. All lanes of the warp call it. */
  __device__ __forceinline__ void find(int64_t systems, int64_t n, karst_tri_cut cut, karst_tri_spread spread,
                                       int64_t group, int place, int R)
  {
    const int64_t index = group * spread.per + place / spread.lanes, all = systems * cut.pieces;
    live = place / spread.lanes < spread.per && index < all;
    of = karst_tri_find(cut, n, live ? index : all - 1);
    lane = place % spread.lanes;
    first = lane * R;
    count = !live || first >= of.count ? 0 : of.count - first < R ? (int)of.count - first : R;
    lanes = ((int)of.count + R - 1) / R; /* the last piece of a system may be shorter */
    row = __shfl_sync(~0u, of.row + first, 0);
    before = __shfl_sync(~0u, of.first + first, 0);
    begin = count > 0 ? (int)(of.row + first - row) : 0;
    const unsigned owners = __ballot_sync(~0u, count > 0);
    rows = __shfl_sync(~0u, begin + count, owners ? 31 - __clz((int)owners) : 0);
  }
  __device__ __forceinline__ bool own() const { return count > 0; }
  __device__ __forceinline__ int last() const { return count - 1; }
};

/* A lane. */
template <typename T, int M, int R, bool AOS, bool WARP> struct karst_tri_lane : karst_tri_lane_place {
  using K = karst_lane_worker<T, M>;
  using S = karst_tri_tile<T, M, R, AOS>;
  using memory = karst_tri_lane_memory<T, M, R, AOS, WARP>;
  static constexpr int SQUARE = M * M, EQUATION = memory::EQUATION;

  const karst_tri_systems<T> &s;
  S tile;
  T *mine; /* where it exchanges */
  int exchanges = 0;
  bool failed = false;
  typename K::matrix P, C, Q, size;
  typename K::augmented X, D, E; /* [W | F], [b | f], [H | G] */

  __device__ __forceinline__ karst_tri_lane(const karst_tri_systems<T> &systems, karst_tri_spread spread, T *slots)
      : s(systems)
  {
    const int t = (int)threadIdx.x;
    tile.chunks = slots + t / 32 * 32 * S::STRIDE;
    mine = WARP ? slots + t * S::STRIDE + S::DIAGONAL : slots + spread.places * S::STRIDE + t * memory::EXCHANGE;
  }
  /* The groups of systems that warps, or thread blocks, take. */
  static __device__ __forceinline__ int64_t group_of(int64_t block)
  {
    return WARP ? block * ((int)blockDim.x / 32) + (int)threadIdx.x / 32 : block;
  }
  __device__ __forceinline__ karst_tri_lane_place find(karst_tri_cut cut, karst_tri_spread spread, int64_t block) const
  {
    karst_tri_lane_place place;
    place.find(s.systems, s.rows, cut, spread, group_of(block), (int)threadIdx.x % (WARP ? 32 : 1024), R);
    return place;
  }

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

  /* Queues the copies of b. All other arrays of the tile may be in use. */
  __device__ __forceinline__ void load_diagonal(const karst_tri_lane_place &place)
  {
    S at = tile;
    at.rows = place.rows;
    at.template load<SQUARE>(S::DIAGONAL, s.diagonal, place.row);
  }
  /* Moves to a place whose b is queued. The tile is complete for the warp when this returns. */
  __device__ __forceinline__ void load(const karst_tri_lane_place &place)
  {
    static_cast<karst_tri_lane_place &>(*this) = place;
    tile.rows = rows;
    failed = false;
    const karst_tri_breaks firsts(before, s.rows), lasts(before + 1, s.rows);
    tile.template load<SQUARE>(S::LOWER, s.lower, row, firsts);
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

  /* Sets aside left, right and the vector of right for other lanes; all lanes do so together, and take before they do
   * so again. In a warp there is room for two exchanges, so that they need not wait for it. */
  __device__ __forceinline__ void offer(const typename K::matrix &left, const typename K::augmented &right)
  {
    if (!WARP) meet();
    if (WARP) exchanges++;
    T *const to = mine + exchanges % 2 * EQUATION;
    if (own()) {
#pragma unroll
      for (int e = 0; e < SQUARE; e++) to[e] = left.at[e];
#pragma unroll
      for (int e = 0; e < SQUARE + M; e++) to[SQUARE + e] = right.at[e];
    }
    meet();
  }
  /* What the lane at a distance has set aside. */
  __device__ __forceinline__ const T *offered(int distance) const
  {
    return mine + distance * (WARP ? S::STRIDE : memory::EXCHANGE) + exchanges % 2 * EQUATION;
  }
  template <typename Y> static __device__ __forceinline__ void take(Y &x, const T *from)
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
    if (WARP) __syncwarp(); /* for the place of b */
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
  }

  /* A scalar of the row after the system, a separator: the warp's lanes have its a, b and f together. */
  __device__ __forceinline__ T separator_scalar(const karst_tri_lane_place &place) const
  {
    const int64_t g = place.of.row + place.of.count;
    const int lane = place.lane;
    const auto at = [g](const karst_tri_rows<const T> &rows, int e) {
      return rows.at[g * rows.row + e * rows.element];
    };
    if (!place.live || lane >= EQUATION) return 0;
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

#endif
