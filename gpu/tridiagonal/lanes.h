/* lanes.h - whole systems in one pass over memory: split inside a thread block, for blocks that a lane holds in its
 * registers. After Laszlo, Giles and Appleyard, Manycore algorithms for batch scalar and block tridiagonal solvers, ACM
 * TOMS 42, 2016, who do so for scalars.
 *
 * A lane takes a piece of R consecutive rows, the last of a system perhaps fewer. All rows of a thread block are first
 * copied to shared memory, where W, P and F of a row take the place of its c, a and f (tridiagonal_cuda.h). The last row
 * of each piece is a separator; the separators of a system are solved by PCR, each lane with its own in registers, and
 * exchanged in the places of their rows. Then each lane finds the unknowns of its interior.
 *
 *     copy    a  b  c  f   of R rows                                      | all lanes of a warp, coalesced
 *     down    W  P  F      of R - 1 rows; equation of the separator       | each lane
 *     up      H  Q  G      of the first row, for the lane before          | each lane
 *     PCR     log2(pieces) steps                                          | the lanes of a system
 *     up      u            of R - 1 rows                                  | each lane
 *     copy    u                                                           | all lanes of a warp, coalesced
 *
 * The systems may be interiors of pieces whose separators are known. WARP: the lanes of a system are in one warp. */
#ifndef KARST_GPU_TRIDIAGONAL_LANES_H
#define KARST_GPU_TRIDIAGONAL_LANES_H

#include "gpu/queue.h"
#include "gpu/tridiagonal/lane_worker.h"
#include "gpu/tridiagonal/tridiagonal_cuda.h"

template <typename T, int M, int R, bool AOS> struct karst_tri_slots {
  static constexpr int SQUARE = M * M, ROW = 3 * SQUARE + M;
  static constexpr int STRIDE = (R * ROW) | 1; /* scalars of a lane; odd, so that lanes are in different banks */
  static constexpr int LOWER = 0, DIAGONAL = SQUARE, UPPER = 2 * SQUARE, RIGHT = 3 * SQUARE;

  /* Entry e of row i of an array of ENTRIES a row. */
  template <int ENTRIES> static __device__ __forceinline__ int at(int i, int e)
  {
    return AOS ? i * ENTRIES + e : e * R + i;
  }
  template <int ARRAY, typename X> static __device__ __forceinline__ void read(X &x, const T *slots, int i, bool there)
  {
#pragma unroll
    for (int e = 0; e < SQUARE; e++) x.at[e] = there ? slots[ARRAY * R + at<SQUARE>(i, e)] : 0;
  }
  template <int ARRAY, typename X> static __device__ __forceinline__ void write(const X &x, T *slots, int i)
  {
#pragma unroll
    for (int e = 0; e < SQUARE; e++) slots[ARRAY * R + at<SQUARE>(i, e)] = x.at[e];
  }
  template <typename X> static __device__ __forceinline__ void read_vector(X &x, const T *slots, int i)
  {
#pragma unroll
    for (int r = 0; r < M; r++) x.at[SQUARE + r] = slots[RIGHT * R + at<M>(i, r)];
  }
  template <typename X> static __device__ __forceinline__ void write_vector(const X &x, T *slots, int i)
  {
#pragma unroll
    for (int r = 0; r < M; r++) slots[RIGHT * R + at<M>(i, r)] = x.at[SQUARE + r];
  }

  /* Calls f(place in the slots of the warp, scalar offset in the array) for the scalars of an array that the warp's
   * lanes have rows of. packed: 32 times the first row, from row on, plus the number of rows, of each lane. */
  template <int ENTRIES, typename F>
  static __device__ __forceinline__ void each(int packed, int64_t row, int array, int64_t element, F f)
  {
    const int lane = (int)threadIdx.x % 32;
    constexpr int RUN = AOS ? R * ENTRIES : R;
#pragma unroll
    for (int e = 0; e < (AOS ? 1 : ENTRIES); e++)
#pragma unroll
      for (int i = 0; i < RUN; i++) {
        const int number = i * 32 + lane, piece = number / RUN, within = number % RUN;
        const int of = __shfl_sync(~0u, packed, piece);
        if ((AOS ? within / ENTRIES : within) >= of % 32) continue;
        const int64_t first = row + of / 32;
        f(piece * STRIDE + array * R + e * R + within, AOS ? first * ENTRIES + within : e * element + first + within);
      }
  }
  template <int ENTRIES>
  static __device__ __forceinline__ void load(T *slots, int packed, int64_t row, int array,
                                              karst_tri_rows<const T> from)
  {
    each<ENTRIES>(packed, row, array, from.element,
                  [&](int to, int64_t at) { karst_queue_number(slots + to, from.at + at); });
  }
};

template <typename T, int M, int R, bool AOS, bool WARP>
__global__ void __launch_bounds__(WARP ? 128 : karst_tri_lane_threads(M))
    karst_tri_lanes(karst_tri_systems<T> s, karst_tri_cut cut, karst_tri_spread spread)
{
  using K = karst_lane_worker<T, M>;
  using S = karst_tri_slots<T, M, R, AOS>;
  extern __shared__ double karst_tri_shared[];
  T *slots = reinterpret_cast<T *>(karst_tri_shared), *mine = slots + threadIdx.x * S::STRIDE;
  const int t = (int)threadIdx.x, place = WARP ? t % 32 : t, groups = WARP ? (int)blockDim.x / 32 : 1;
  const int64_t first_system = ((int64_t)blockIdx.x * groups + (WARP ? t / 32 : 0)) * spread.per;
  const int64_t index = first_system + place / spread.lanes, all = s.systems * cut.pieces;
  const bool live = place / spread.lanes < spread.per && index < all;
  const karst_tri_piece of = karst_tri_find(cut, s.rows, live ? index : all - 1);
  const int lane = place % spread.lanes, first = lane * R;
  const int count = !live || first >= of.count ? 0 : of.count - first < R ? (int)of.count - first : R;
  const int lanes = ((int)of.count + R - 1) / R; /* the last system may be shorter */
  const bool bounded = cut.separated, own = count > 0;
  const auto meet = [] {
    if (WARP)
      __syncwarp();
    else
      __syncthreads();
  };

  const int64_t row = karst_tri_find(cut, s.rows, first_system < all ? first_system : all - 1).row;
  const int packed = count > 0 ? (int)(of.row - row + first) * 32 + count : 0;
  T *warp = slots + t / 32 * 32 * S::STRIDE;
  S::template load<M * M>(warp, packed, row, S::LOWER, s.lower);
  S::template load<M * M>(warp, packed, row, S::DIAGONAL, s.diagonal);
  S::template load<M * M>(warp, packed, row, S::UPPER, s.upper);
  S::template load<M>(warp, packed, row, S::RIGHT, s.right);
  typename K::matrix A, P, C, size;
  typename K::augmented X, D;
  K::zero(X), K::identity(P, -1);
  if (lane == 0) { /* what is before the system is known, or is not there */
    K::zero(P);
    if (bounded && of.first > 0 && live) K::read_vector(X, karst_tri_const(s.solution), of.row - 1);
  }
  karst_await_copies();
  __syncwarp();

  bool failed = false;
  const auto judge = [&](karst_reason reason, int i, int step) {
    if (reason != KARST_SOUND && own && !failed) karst_tri_record(s, of.system, of.first + first + i, step, reason);
    failed = failed || reason != KARST_SOUND;
  };
  const auto begin_row = [&](int i) {
    S::template read<S::LOWER>(A, mine, i, of.first + first + i > 0);
    S::template read<S::DIAGONAL>(D, mine, i, true);
    S::read_vector(D, mine, i);
    S::template read<S::UPPER>(C, mine, i, of.first + first + i < s.rows - 1);
    K::zero(size);
    if (s.size.at)
      K::read(size, s.size, of.row + first + i, true);
    else
      K::add_size(size, D);
    K::subtract(D, A, X);
    K::add_size(size, D);
    typename K::matrix before = P;
    K::zero(P);
    K::subtract(P, A, before);
  };
  const int last = own ? count - 1 : 0;
#pragma unroll 1
  for (int i = 0; i < last; i++) {
    begin_row(i);
    judge(K::template solve<true>(D, size, C, P, X), i, 0);
    S::template write<S::UPPER>(X, mine, i);
    S::template write<S::LOWER>(P, mine, i);
    S::write_vector(X, mine, i);
  }
  if (own) {
    begin_row(last);
  } else { /* numbers that do no harm */
    K::identity(D, 1), K::zero(size), K::zero(C);
    K::add_size(size, D);
  }
  if (bounded && lane == lanes - 1 && own) { /* so is what is after it */
    typename K::augmented known;
    K::zero(known);
    K::read_vector(known, karst_tri_const(s.solution), of.row + of.count);
    K::subtract_vector(D, C, known);
  }
  if (lane == lanes - 1) K::zero(C);

  typename K::augmented E; /* [H | G] */
  typename K::matrix Q;
  K::identity(E, -1), K::zero(Q);
#pragma unroll 1
  for (int i = last - 1; i >= 0; i--) {
    typename K::augmented newE;
    typename K::matrix newQ;
    S::template read<S::UPPER>(A, mine, i, true);
    S::template read<S::LOWER>(newQ, mine, i, true);
    K::zero(newE);
    S::read_vector(newE, mine, i);
    K::subtract(newE, A, E);
    K::subtract(newQ, A, Q);
    E = newE, Q = newQ;
  }
  if (own) {
    S::template write<S::LOWER>(Q, mine, last);
    S::template write<S::DIAGONAL>(E, mine, last);
    S::write_vector(E, mine, last);
  }
  meet();
  const bool after = own && lane < lanes - 1;
  const int other = after && first + 2 * R > of.count ? (int)of.count - first - R - 1 : R - 1; /* its separator */
  K::zero(E), K::zero(Q), K::zero(X);
  if (after) {
    S::template read<S::LOWER>(X, mine + S::STRIDE, other, true);
    S::read_vector(X, mine + S::STRIDE, other);
    S::template read<S::DIAGONAL>(Q, mine + S::STRIDE, other, true);
  }
  meet();
  K::subtract(D, C, X);
  K::add_size(size, D);
  A = C;
  K::zero(C);
  K::subtract(C, A, Q);
  judge(K::template solve<true>(D, size, C, P, X), last, 1);

  /* The separator is u + P u_before + X.matrix u_after = X.vector. */
  int step = 2;
#pragma unroll 1
  for (int reach = 1; reach < spread.lanes; reach *= 2) {
    const bool low = own && lane >= reach, high = own && lane + reach < lanes;
    const int far = high && first + (reach + 1) * R > of.count ? (int)of.count - first - reach * R - 1 : R - 1;
    if (own) {
      S::template write<S::LOWER>(P, mine, last);
      S::template write<S::UPPER>(X, mine, last);
      S::write_vector(X, mine, last);
    }
    meet();
    K::identity(D, 1), K::zero(size), K::zero(E);
    K::add_size(size, D);
#pragma unroll
    for (int r = 0; r < M; r++) D.at[M * M + r] = X.at[M * M + r];
    K::zero(C), K::zero(Q);
    A = P;
    K::zero(P);
    if (low) {
      const T *from = mine - reach * S::STRIDE;
      S::template read<S::UPPER>(E, from, R - 1, true);
      S::read_vector(E, from, R - 1);
      S::template read<S::LOWER>(Q, from, R - 1, true);
      K::subtract(D, A, E);
      K::subtract(P, A, Q);
    }
    K::add_size(size, D);
    if (high) {
      const T *from = mine + reach * S::STRIDE;
      K::spread(A, X);
      S::template read<S::LOWER>(E, from, far, true);
      S::read_vector(E, from, far);
      S::template read<S::UPPER>(Q, from, far, true);
      K::subtract(D, A, E);
      K::subtract(C, A, Q);
    }
    K::add_size(size, D);
    meet();
    judge(K::template solve<true>(D, size, C, P, X), last, step++);
  }

  if (own) S::write_vector(X, mine, last);
  meet();
  K::zero(E);
  if (lane > 0 && own) S::read_vector(E, mine - S::STRIDE, R - 1);
#pragma unroll 1
  for (int i = last - 1; i >= 0; i--) {
    S::template read<S::UPPER>(A, mine, i, true);
    S::read_vector(D, mine, i);
    K::subtract_vector(D, A, X);
    S::template read<S::LOWER>(A, mine, i, true);
    K::subtract_vector(D, A, E);
#pragma unroll
    for (int r = 0; r < M; r++) X.at[M * M + r] = D.at[M * M + r];
    S::write_vector(X, mine, i);
  }
  __syncwarp();
  S::template each<M>(packed, row, S::RIGHT, s.solution.element,
                      [&](int from, int64_t at) { s.solution.at[at] = warp[from]; });
}

#endif
