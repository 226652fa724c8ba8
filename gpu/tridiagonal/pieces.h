/* pieces.h - the elimination of pieces of systems, row after row (tridiagonal_cuda.h), for each kind of worker. A
 * worker takes a piece.
 *
 * Workers of one warp take the same number of steps. A shorter piece begins with steps that leave its numbers as they
 * are. */
#ifndef KARST_GPU_TRIDIAGONAL_PIECES_H
#define KARST_GPU_TRIDIAGONAL_PIECES_H

#include "gpu/tridiagonal/tridiagonal_cuda.h"

/* Reads [b | f] and the size of b. */
template <class K, typename T>
static __device__ __forceinline__ void karst_tri_read_diagonal(const K &k, const karst_tri_systems<T> &s, int64_t g,
                                                               typename K::augmented &d, typename K::matrix &size)
{
  k.read(d, s.diagonal, s.right, g);
  if (s.size.at) {
    k.read(size, s.size, g, true);
  } else {
    k.zero(size);
    k.add_size(size, d);
  }
}

/* A worker's piece and its steps. */
template <class K> struct karst_tri_walk {
  karst_tri_piece piece;
  int64_t index, steps, idle; /* the first idle steps do nothing */
  bool live;

  __device__ karst_tri_walk(const K &k, karst_tri_cut cut, int64_t systems, int64_t rows, int64_t base)
  {
    const int64_t all = systems * cut.pieces;
    index = base + k.local();
    live = index < all;
    if (!live) index = all - 1;
    piece = karst_tri_find(cut, rows, index);
    steps = K::UNIFORM ? cut.length - (cut.separated ? 1 : 0) : piece.count;
    idle = steps - piece.count;
  }
  __device__ bool works(int64_t i) const { return live && i >= idle; }
  __device__ int64_t offset(int64_t i) const { return i > idle ? i - idle : 0; }
};

/* Reads row g of all systems, row of its own, and eliminates the row before it, of which X = [W | F]: A = a,
 * D = [b - a W | f - a F], and the size of b - a W. */
template <class K, typename T>
static __device__ __forceinline__ void
karst_tri_enter_row(const K &k, const karst_tri_systems<T> &s, int64_t g, int64_t row, const typename K::augmented &X,
                    typename K::whole &A, typename K::augmented &D, typename K::matrix &size)
{
  k.read(A, s.lower, g, row > 0);
  karst_tri_read_diagonal(k, s, g, D, size);
  k.subtract(D, A, X);
  k.add_size(size, D);
}

/* Asks for the row of a step that is a few steps ahead of step i. */
template <class K, typename T>
static __device__ __forceinline__ void karst_tri_expect(const K &k, const karst_tri_systems<T> &s,
                                                        const karst_tri_walk<K> &walk, int64_t i)
{
  enum { AHEAD = 2 };
  const int64_t g = walk.piece.row + walk.offset(i + AHEAD < walk.steps ? i + AHEAD : walk.steps - 1);
  k.expect(s.lower, g);
  k.expect(s.diagonal, s.right, g);
  k.expect(s.upper, g);
}

/* Records how step i of a piece went, unless an earlier one has failed. */
template <class K, typename T>
static __device__ __forceinline__ void karst_tri_record_step(const K &k, const karst_tri_systems<T> &s,
                                                             const karst_tri_walk<K> &walk, int64_t i,
                                                             karst_reason reason, bool &failed)
{
  if (reason == KARST_SOUND || !walk.works(i)) return;
  if (!failed && k.first()) karst_tri_record(s, walk.piece.system, walk.piece.first + walk.offset(i), 0, reason);
  failed = true;
}

/* Eliminates the interiors of pieces, and stores the equations of the separators but for the part of the next piece. */
template <class K, typename T = typename K::number>
__global__ void __launch_bounds__(K::THREADS, K::RESIDENT)
    karst_tri_reduce(karst_tri_systems<T> s, karst_tri_cut cut, karst_tri_reduced<T> to, T *scratch)
{
  K k(s.m, scratch);
  typename K::matrix P, newP, Q, C, size;
  typename K::augmented X, newX, D, E, newE; /* X = [W | F], D = [b | f], E = [H | G] */
  typename K::whole A, H;
  k.take(P), k.take(newP), k.take(Q), k.take(C), k.take(size);
  k.take(X), k.take(newX), k.take(D), k.take(E), k.take(newE);
  k.take(A), k.take(H);
#pragma unroll 1
  for (int64_t base = (int64_t)blockIdx.x * K::WORKERS; base < s.systems * cut.pieces;
       base += (int64_t)gridDim.x * K::WORKERS) {
    const karst_tri_walk<K> walk(k, cut, s.systems, s.rows, base);
    bool failed = false;
    k.zero(X), k.zero(Q);
    k.identity(P, -1), k.identity(E, -1);
#pragma unroll 1
    for (int64_t i = 0; i < walk.steps; i++) {
      const int64_t offset = walk.offset(i), row = walk.piece.first + offset, g = walk.piece.row + offset;
      karst_tri_expect(k, s, walk, i);
      k.read(C, s.upper, g, row < s.rows - 1);
      karst_tri_enter_row(k, s, g, row, X, A, D, size);
      k.zero(newP);
      k.subtract(newP, A, P);
      const karst_reason reason = k.template solve<true>(D, size, C, newP, newX);
      karst_tri_record_step(k, s, walk, i, reason, failed);
      k.spread(H, E);
      k.keep(true, newE, E);
      k.zero_matrix(newE);
      k.subtract(newE, H, newX);
      k.keep(walk.works(i), E, newE);
      k.keep(walk.works(i), X, newX);
      k.keep(walk.works(i), P, newP);
      k.keep(true, newP, Q);
      k.subtract(newP, H, P);
      k.keep(walk.works(i), Q, newP);
    }
    const int64_t row = walk.piece.first + walk.piece.count, g = walk.piece.row + walk.piece.count;
    karst_tri_enter_row(k, s, g, row, X, A, D, size);
    k.zero(newP);
    k.subtract(newP, A, P);
    k.write_matrix(newP, to.lower, walk.index, walk.live);
    k.write_matrix(D, to.diagonal, walk.index, walk.live);
    k.write_vector(D, to.right, walk.index, walk.live);
    k.write_matrix(size, to.size, walk.index, walk.live);
    k.write_matrix(E, to.H, walk.index, walk.live);
    k.write_vector(E, to.G, walk.index, walk.live);
    k.write_matrix(Q, to.Q, walk.index, walk.live);
  }
}

/* Completes the equations of the separators. A worker takes one. */
template <class K, typename T = typename K::number>
__global__ void __launch_bounds__(K::THREADS, K::RESIDENT)
    karst_tri_assemble(karst_tri_systems<T> s, karst_tri_cut cut, karst_tri_reduced<T> to, T *scratch)
{
  K k(s.m, scratch);
  typename K::matrix upper, next, size;
  typename K::augmented D, X;
  typename K::whole C;
  k.take(upper), k.take(next), k.take(size), k.take(D), k.take(X), k.take(C);
  const int64_t all = s.systems * cut.pieces;
#pragma unroll 1
  for (int64_t base = (int64_t)blockIdx.x * K::WORKERS; base < all; base += (int64_t)gridDim.x * K::WORKERS) {
    const int64_t mine = base + k.local(), j = mine < all ? mine : all - 1, system = j / cut.pieces;
    const bool live = mine < all, there = j % cut.pieces < cut.pieces - 1;
    const int64_t row = there ? (j % cut.pieces + 1) * cut.length - 1 : s.rows - 1, other = there ? j + 1 : j;
    k.read(C, s.upper, system * s.rows + row, there);
    k.read(D, karst_tri_const(to.diagonal), karst_tri_const(to.right), j);
    k.read(size, karst_tri_const(to.size), j, true);
    k.read(X, karst_tri_const(to.Q), karst_tri_const(to.G), other);
    k.read(next, karst_tri_const(to.H), other, there);
    if (!there) k.zero(X);
    k.subtract(D, C, X);
    k.add_size(size, D);
    k.zero(upper);
    k.subtract(upper, C, next);
    k.write_matrix(D, to.diagonal, j, live);
    k.write_vector(D, to.right, j, live);
    k.write_matrix(size, to.size, j, live);
    k.write_matrix(upper, to.upper, j, live);
  }
}

/* Solves pieces, or the interiors of pieces whose separators have their solution, by Thomas's algorithm. W: kept for
 * the way back. F is kept in the solution. */
template <class K, typename T = typename K::number>
__global__ void __launch_bounds__(K::THREADS, K::RESIDENT)
    karst_tri_sweep(karst_tri_systems<T> s, karst_tri_cut cut, karst_tri_kept<T> W, T *scratch)
{
  K k(s.m, scratch);
  typename K::matrix C, size, none;
  typename K::augmented X, newX, D;
  typename K::whole A;
  k.take(C), k.take(size), k.take(none), k.take(X), k.take(newX), k.take(D), k.take(A);
  k.zero(none);
#pragma unroll 1
  for (int64_t base = (int64_t)blockIdx.x * K::WORKERS; base < s.systems * cut.pieces;
       base += (int64_t)gridDim.x * K::WORKERS) {
    const karst_tri_walk<K> walk(k, cut, s.systems, s.rows, base);
    const karst_tri_rows<T> kept = W.of(walk.index);
    bool failed = false;
    k.zero(X);
    if (cut.separated && walk.piece.first > 0) k.read_vector(X, karst_tri_const(s.solution), walk.piece.row - 1);
#pragma unroll 1
    for (int64_t i = 0; i < walk.steps; i++) {
      const int64_t offset = walk.offset(i), row = walk.piece.first + offset, g = walk.piece.row + offset;
      karst_tri_expect(k, s, walk, i);
      k.read(C, s.upper, g, row < s.rows - 1);
      karst_tri_enter_row(k, s, g, row, X, A, D, size);
      const karst_reason reason = k.template solve<false>(D, size, C, none, newX);
      karst_tri_record_step(k, s, walk, i, reason, failed);
      k.keep(walk.works(i), X, newX);
      k.write_matrix(X, kept, i, walk.works(i));
      k.write_vector(X, s.solution, g, walk.works(i));
    }
    k.zero(X);
    if (cut.separated) k.read_vector(X, karst_tri_const(s.solution), walk.piece.row + walk.piece.count);
#pragma unroll 1
    for (int64_t i = walk.steps - 1; i >= 0; i--) {
      const int64_t g = walk.piece.row + walk.offset(i);
      k.read(A, karst_tri_const(kept), i, walk.works(i));
      k.keep(true, newX, X);
      k.read_vector(newX, karst_tri_const(s.solution), g);
      k.subtract_vector(newX, A, X);
      k.keep(walk.works(i), X, newX);
      k.write_vector(X, s.solution, g, walk.works(i));
    }
  }
}

#endif
