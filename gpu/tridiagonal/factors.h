/* factors.h - kept factors of block-tridiagonal systems: row after row
 *
 *     F_k = D_k f_k - L_k F_(k-1),     u_k = F_k - W_k u_(k+1)
 *
 * with D_k = (b_k - a_k W_(k-1))^-1, L_k = D_k a_k, W_k = D_k c_k. The product D_k f_k waits for no other row, so that
 * the way from one row to the next is one product. The interiors of pieces (tridiagonal_cuda.h) have factors of the
 * same form; L of their first row and W of their last one multiply the unknowns of separators. */
#ifndef KARST_GPU_TRIDIAGONAL_FACTORS_H
#define KARST_GPU_TRIDIAGONAL_FACTORS_H

#include "gpu/tridiagonal/pieces.h"

template <class K, typename T = typename K::number>
__global__ void __launch_bounds__(K::THREADS, K::RESIDENT)
    karst_tri_factor(karst_tri_systems<T> s, karst_tri_cut cut, karst_tri_factors<T> to, T *scratch)
{
  K k(s.m, scratch);
  typename K::matrix C, L, size, none;
  typename K::augmented X, newX, D;
  typename K::whole A;
  k.take(C), k.take(L), k.take(size), k.take(none), k.take(X), k.take(newX), k.take(D), k.take(A);
#pragma unroll 1
  for (int64_t base = (int64_t)blockIdx.x * K::WORKERS; base < s.systems * cut.pieces;
       base += (int64_t)gridDim.x * K::WORKERS) {
    const karst_tri_walk<K> walk(k, cut, s.systems, s.rows, base);
    bool failed = false;
    k.zero(X);
#pragma unroll 1
    for (int64_t i = 0; i < walk.steps; i++) {
      const int64_t offset = walk.offset(i), row = walk.piece.first + offset, g = walk.piece.row + offset;
      karst_tri_expect(k, s, walk, i);
      k.read(L, s.lower, g, row > 0);
      k.read(C, s.upper, g, row < s.rows - 1);
      karst_tri_enter_row(k, s, g, row, X, A, D, size);
      const karst_reason reason = k.template solve<true>(D, size, C, L, newX);
      karst_tri_record_step(k, s, walk, i, reason, failed);
      k.keep(walk.works(i), X, newX);
      k.write_matrix(X, to.W.of(walk.index), i - walk.idle, walk.works(i));
      k.write_matrix(L, to.L.of(walk.index), i - walk.idle, walk.works(i));
      k.identity(C, 1);
      k.template solve<false>(D, size, C, none, newX);
      k.write_matrix(newX, to.D.of(walk.index), i - walk.idle, walk.works(i));
    }
  }
}

/* What a substitution needs. bounded: the separators of the solution have their values; else they count as zero. */
template <typename T> struct karst_tri_substitution {
  int64_t systems, rows;
  int m;
  karst_tri_rows<const T> right;
  karst_tri_rows<T> solution; /* may be right */
  bool bounded;
};

/* Threads that share the rows of a block: M lanes of a warp, or the thread block for any m. */
template <typename T, int M> struct karst_tri_row_lanes {
  static constexpr int TEAMS = 32 / M, THREADS = 128, WORKERS = TEAMS * THREADS / 32;
  int r, first;
  bool spare;
  T mine; /* element r of the vector that the lanes multiply by */

  __device__ karst_tri_row_lanes(int, T)
  {
    const int t = (int)threadIdx.x % 32;
    spare = t / M >= TEAMS;
    r = t % M;
    first = t / M * M;
    mine = 0;
  }
  __device__ int local() const { return spare ? 1 << 30 : (int)threadIdx.x / 32 * TEAMS + (int)threadIdx.x % 32 / M; }
  static constexpr bool UNIFORM = true;
  /* sum - a v, where v is the vector of mine */
  __device__ T subtract_product(T sum, const T (&a)[M]) const
  {
#pragma unroll
    for (int j = 0; j < M; j++) sum -= a[j] * (M == 1 ? mine : __shfl_sync(~0u, mine, spare ? 0 : first + j));
    return sum;
  }
};

/* Rows whose numbers are loaded at once, so that many loads are under way. */
template <int M> __host__ __device__ constexpr int karst_tri_ahead() { return M <= 2 ? 8 : M <= 4 ? 4 : 2; }

/* Loads a lane's row of a block. */
template <typename T, int M>
static __device__ __forceinline__ void karst_tri_row(T (&to)[M], const karst_tri_kept<T> &from, int64_t piece,
                                                     int64_t i, int r)
{
  const T *at = from.at + piece * from.piece + i * from.row + r * from.element;
#pragma unroll
  for (int j = 0; j < M; j++) to[j] = __ldcs(at + j * M * from.element);
}

template <typename T, int M>
__global__ void __launch_bounds__(128)
    karst_tri_substitute_lanes(karst_tri_substitution<T> s, karst_tri_cut cut, karst_tri_factors<T> of)
{
  using K = karst_tri_row_lanes<T, M>;
  constexpr int AHEAD = karst_tri_ahead<M>();
  K k(M, 0);
#pragma unroll 1
  for (int64_t base = (int64_t)blockIdx.x * K::WORKERS; base < s.systems * cut.pieces;
       base += (int64_t)gridDim.x * K::WORKERS) {
    const karst_tri_walk<K> walk(k, cut, s.systems, s.rows, base);
    const int64_t step = s.solution.element;
    T *const u = s.solution.at + walk.piece.row * s.solution.row + k.r * step;
    const T *const f = s.right.at + walk.piece.row * s.right.row;
    k.mine = 0;
    const bool there = walk.live && walk.piece.count > 0; /* else there is nothing to load, or others store it */
    if (s.bounded && walk.live && walk.piece.first > 0) k.mine = u[-s.solution.row];
#pragma unroll 1
    for (int64_t start = 0; start < walk.steps; start += AHEAD) {
      T sum[AHEAD], L[AHEAD][M];
#pragma unroll
      for (int n = 0; n < AHEAD; n++) {
        const int64_t i = start + n < walk.steps ? start + n : walk.steps - 1, offset = walk.offset(i);
        T D[M];
        sum[n] = 0;
        if (there) {
          karst_tri_row(D, of.D, walk.index, offset, k.r);
          karst_tri_row(L[n], of.L, walk.index, offset, k.r);
#pragma unroll
          for (int j = 0; j < M; j++) sum[n] += D[j] * f[offset * s.right.row + j * s.right.element];
        }
      }
      __syncwarp(); /* all lanes have read f, which may be where they write */
#pragma unroll
      for (int n = 0; n < AHEAD; n++) {
        const bool works = walk.works(start + n) && start + n < walk.steps;
        const T next = k.subtract_product(sum[n], L[n]);
        if (works) {
          k.mine = next;
          u[walk.offset(start + n) * s.solution.row] = next;
        }
      }
    }
    k.mine = s.bounded && walk.live ? u[walk.piece.count * s.solution.row] : 0;
#pragma unroll 1
    for (int64_t start = 0; start < walk.steps; start += AHEAD) {
      T sum[AHEAD], W[AHEAD][M];
#pragma unroll
      for (int n = 0; n < AHEAD; n++) {
        const int64_t i = start + n < walk.steps ? walk.steps - 1 - start - n : 0, offset = walk.offset(i);
        sum[n] = 0;
        if (there) {
          karst_tri_row(W[n], of.W, walk.index, offset, k.r);
          sum[n] = u[offset * s.solution.row];
        }
      }
#pragma unroll
      for (int n = 0; n < AHEAD; n++) {
        const int64_t i = walk.steps - 1 - start - n;
        const T next = k.subtract_product(sum[n], W[n]);
        if (i >= 0 && walk.works(i)) {
          k.mine = next;
          u[walk.offset(i) * s.solution.row] = next;
        }
      }
    }
  }
}

/* Any block size: a thread block takes a piece. Shared memory: three vectors. */
template <typename T>
__global__ void __launch_bounds__(128)
    karst_tri_substitute_any(karst_tri_substitution<T> s, karst_tri_cut cut, karst_tri_factors<T> of)
{
  extern __shared__ double karst_tri_shared[];
  const int m = s.m, t = (int)threadIdx.x, threads = (int)blockDim.x;
  T *v = reinterpret_cast<T *>(karst_tri_shared), *f = v + m, *next = f + m;
  const auto load = [&](T *to, const T *from, int64_t step, bool there) {
    for (int r = t; r < m; r += threads) to[r] = there ? from[r * step] : 0;
    __syncthreads();
  };
#pragma unroll 1
  for (int64_t p = blockIdx.x; p < s.systems * cut.pieces; p += gridDim.x) {
    const karst_tri_piece piece = karst_tri_find(cut, s.rows, p);
    const T *L = of.L.at + p * of.L.piece, *D = of.D.at + p * of.D.piece, *W = of.W.at + p * of.W.piece;
    T *u = s.solution.at + piece.row * s.solution.row;
    const int64_t step = s.solution.element;
    __syncthreads();
    load(v, u - s.solution.row, step, s.bounded && piece.first > 0);
#pragma unroll 1
    for (int64_t i = 0; i < piece.count; i++) {
      load(f, s.right.at + (piece.row + i) * s.right.row, s.right.element, true);
      for (int r = t; r < m; r += threads) {
        T sum = 0;
        for (int j = 0; j < m; j++)
          sum += D[i * of.D.row + (int64_t)(j * m + r) * of.D.element] * f[j] -
                 L[i * of.L.row + (int64_t)(j * m + r) * of.L.element] * v[j];
        next[r] = sum;
      }
      __syncthreads();
      for (int r = t; r < m; r += threads) u[i * s.solution.row + r * step] = v[r] = next[r];
      __syncthreads();
    }
    load(v, u + piece.count * s.solution.row, step, s.bounded);
#pragma unroll 1
    for (int64_t i = piece.count - 1; i >= 0; i--) {
      for (int r = t; r < m; r += threads) {
        T sum = u[i * s.solution.row + r * step];
        for (int j = 0; j < m; j++) sum -= W[i * of.W.row + (int64_t)(j * m + r) * of.W.element] * v[j];
        next[r] = sum;
      }
      __syncthreads();
      for (int r = t; r < m; r += threads) u[i * s.solution.row + r * step] = v[r] = next[r];
      __syncthreads();
    }
  }
}

/* The right-hand sides of separators: f_l - a_l y_(l-1) - c_l y_(l+1), with y the solution of the interiors for
 * separators of zero. lower, upper: a and c of the separators. A thread takes an element. */
template <typename T>
__global__ void __launch_bounds__(KARST_CUDA_THREADS)
    karst_tri_condense(karst_tri_substitution<T> s, karst_tri_cut cut, karst_tri_rows<const T> lower,
                       karst_tri_rows<const T> upper, karst_tri_rows<T> reduced)
{
  const int64_t item = (int64_t)blockIdx.x * blockDim.x + threadIdx.x, p = item / s.m;
  const int r = (int)(item % s.m);
  if (p >= s.systems * cut.pieces) return;
  const karst_tri_piece piece = karst_tri_find(cut, s.rows, p);
  const int64_t row = piece.first + piece.count, g = piece.row + piece.count;
  T sum = s.right.at[g * s.right.row + r * s.right.element];
  const bool before = piece.count > 0, after = row + 1 < s.rows && (cut.length > 1 && row + 2 < s.rows);
  for (int j = 0; j < s.m; j++) {
    const T *a = lower.at + p * lower.row + (int64_t)(j * s.m + r) * lower.element;
    const T *c = upper.at + p * upper.row + (int64_t)(j * s.m + r) * upper.element;
    if (before) sum -= *a * s.solution.at[(g - 1) * s.solution.row + j * s.solution.element];
    if (after) sum -= *c * s.solution.at[(g + 1) * s.solution.row + j * s.solution.element];
  }
  reduced.at[p * reduced.row + r * reduced.element] = sum;
}

#endif
