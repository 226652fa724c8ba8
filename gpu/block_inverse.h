/* block_inverse.h - karst_block_inverse of lib/backend/dense.h for threads that share a block: Gauss-Jordan elimination
 * with implicitly scaled partial pivoting, in place. A thread that has a block to itself calls lib/backend/dense.h.
 * ilu/warp_inverse.h repeats the steps for lanes that hold a row each, and has another method for lanes that hold a
 * whole block without exchanges. fgbilu/acc.cu, baselines/fgbilu_cl.cu and fgbilu/tiles_factor.cu, which do not
 * exchange rows, have the steps too.
 *
 * The template karst_cuda_attempt is the algorithm. Its argument, a holder, holds the block and does the steps. The
 * holder depends on where the block is and which threads share it:
 *
 *     karst_block_in_memory   all threads of a thread block, in memory (below)
 *     block_in_tile           a warp, two elements a lane, in registers (ilu/slices/factor_mma.cu)
 *     block_unpivoted         the first, without row exchanges (fgbilu/tiles_factor_large.cu)
 *
 * A holder has these members, and all threads that share the block call each of the functions:
 *
 *     size()             returns the block size b.
 *     finite()           returns whether all entries are finite. It is called first and last.
 *     measure(attempt)   finds the scales of the rows and the largest sizes of the scaled columns, as
 *                        karst_block_measure does. It may return false for a row of zeros.
 *     choose(c)          finds the pivot of column c and returns whether it stands (karst_block_pivot_stands).
 *     eliminate(c)       takes one step of the elimination with that pivot.
 *     reorder()          moves rows and columns of the inverse from the order of the pivots to their own.
 *     restore()          restores the block, for karst_cuda_invert, which makes both attempts in memory.
 *     SIZE               is b if that is a constant, else 1.
 *     ALONE              whether the threads may return as soon as their block is known to be singular. They
 *                        may not if other lanes of their warp work on other blocks. */
#ifndef KARST_GPU_BLOCK_INVERSE_H
#define KARST_GPU_BLOCK_INVERSE_H

#include "gpu/cuda.h"

template <typename holder> static __device__ __forceinline__ karst_reason karst_cuda_attempt(holder &block, int attempt)
{
  const bool finite = block.finite();
  if (holder::ALONE && !finite) return KARST_NOT_FINITE;
  bool regular = block.measure(attempt);
  if (holder::ALONE && !regular) return KARST_SINGULAR_BLOCK;
#pragma unroll(holder::SIZE)
  for (int c = 0; c < block.size(); c++) {
    if (!block.choose(c)) regular = false;
    if (holder::ALONE && !regular) return KARST_SINGULAR_BLOCK;
    block.eliminate(c);
  }
  block.reorder();
  const bool overflow = !block.finite();
  if (!finite) return KARST_NOT_FINITE;
  if (!regular) return KARST_SINGULAR_BLOCK;
  return overflow ? karst_block_overflow(block.size()) : KARST_SOUND;
}

/* karst_block_balance, which is rare. Not inlined, so that it takes no registers from the rest. */
static inline __device__ __noinline__ void karst_cuda_balance(int b, const double *size, double *row_scale,
                                                              double *column_size)
{
  karst_block_balance(b, size, row_scale, column_size);
}

/* Bytes of shared memory that the inversion of a b-by-b block in memory needs. */
static inline __host__ __device__ size_t karst_cuda_invert_shared(int b)
{
  return (size_t)(b + b % 2) * (4 * sizeof(double) + sizeof(int));
}

/* Element (r,c) is at[c * stride + r]. The arrays after its size are in shared memory. */
struct karst_block_in_memory {
  static constexpr bool ALONE = true;
  static constexpr int SIZE = 1;
  int b;
  double *at;
  int stride;          /* b in a contiguous block, more in the slices of the factors */
  const double *kept;  /* [b*b] a copy of the block, contiguous, for the second attempt */
  const double *sizes; /* [b*b] see lib/backend/dense.h; kept may be its own */
  bool measured;       /* whether sizes have been looked at */
  double *row_scale;   /* [b] the largest size of each row; after measure, its scale */
  double *column_size; /* [b] the largest size of each column with the rows scaled */
  double *factor;      /* [b] the column that is eliminated */
  double *pivot_row;   /* [b] divided by the pivot */
  int *pivot;          /* [b] the row exchanged with each, -1 if the pivot is lost */

  /* shared: karst_cuda_invert_shared(b) bytes. */
  __device__ karst_block_in_memory(int width, double *block, int step, const double *same, const double *size,
                                   void *shared)
      : b(width), at(block), stride(step), kept(same), sizes(size), measured(false)
  {
    const int length = b + b % 2; /* even: the last of an array is read together with what follows it */
    row_scale = static_cast<double *>(shared);
    column_size = row_scale + length;
    factor = column_size + length;
    pivot_row = factor + length;
    pivot = reinterpret_cast<int *>(pivot_row + length);
  }

  __device__ int size() const { return b; }

  /* Each thread looks at whole rows. Sizes are not finite if the entries are not; the largest are kept for measure. */
  __device__ bool finite()
  {
    const double *from = measured ? at : sizes;
    const int step = measured ? stride : b;
    bool all = true;
    for (int r = (int)threadIdx.x; r < b; r += (int)blockDim.x) {
      double largest = 0;
      for (int c = 0; c < b; c++) {
        const double entry = fabs(from[c * step + r]);
        all = all && entry <= DBL_MAX;
        if (entry > largest) largest = entry;
      }
      row_scale[r] = largest;
    }
    return __syncthreads_and(all);
  }

  __device__ bool measure(int attempt)
  {
    bool regular = true;
    measured = true;
    for (int r = (int)threadIdx.x; r < b; r += (int)blockDim.x) {
      regular = regular && row_scale[r] > 0;
      row_scale[r] = 1 / fmax(row_scale[r], DBL_MIN);
    }
    if (!__syncthreads_and(regular)) return false;
    for (int c = (int)threadIdx.x; c < b; c += (int)blockDim.x) {
      double largest = 0;
      for (int r = 0; r < b; r++) {
        const double entry = fabs(sizes[c * b + r]) * row_scale[r];
        if (entry > largest) largest = entry;
      }
      column_size[c] = largest;
    }
    __syncthreads();
    if (attempt == 0) return true;
    if (threadIdx.x == 0) karst_cuda_balance(b, sizes, row_scale, column_size);
    __syncthreads();
    return true;
  }

  /* The first warp finds the first of the largest candidates. */
  __device__ bool choose(int c)
  {
    if (threadIdx.x < 32) {
      int best = c;
      double best_size = -1;
      for (int r = c + (int)threadIdx.x; r < b; r += 32) {
        const double candidate = fabs(at[c * stride + r]) * row_scale[r];
        if (candidate > best_size) {
          best = r;
          best_size = candidate;
        }
      }
      for (int distance = 16; distance > 0; distance /= 2) {
        const int other = __shfl_xor_sync(0xffffffff, best, distance);
        const double other_size = __shfl_xor_sync(0xffffffff, best_size, distance);
        if (other_size > best_size || (other_size == best_size && other < best)) {
          best = other;
          best_size = other_size;
        }
      }
      if (threadIdx.x == 0) pivot[c] = karst_block_pivot_stands(b, best_size, column_size[c]) ? best : -1;
    }
    __syncthreads();
    return pivot[c] >= 0;
  }

  __device__ void eliminate(int c)
  {
    const int t = (int)threadIdx.x, threads = (int)blockDim.x, best = pivot[c];
    const double inverse = 1 / at[c * stride + best];
    if (t == 0) { /* no thread looks at the scales before the next choose */
      const double scale = row_scale[c];
      row_scale[c] = row_scale[best];
      row_scale[best] = scale;
    }
    for (int r = t; r < b; r += threads) factor[r] = at[c * stride + (r == best ? c : r)];
    __syncthreads();
    for (int j = t; j < b; j += threads) {
      pivot_row[j] = (j == c ? 1 : at[j * stride + best]) * inverse;
      at[j * stride + best] = at[j * stride + c];
    }
    __syncthreads();
    for (int k = t; k < b * b; k += threads) {
      const int j = k / b, r = k % b;
      double *entry = at + j * stride + r;
      *entry = r == c ? pivot_row[j] : (j == c ? 0 : *entry) - factor[r] * pivot_row[j];
    }
    __syncthreads();
  }

  __device__ void restore()
  {
    __syncthreads();
    for (int v = (int)threadIdx.x; v < b * b; v += (int)blockDim.x) at[v / b * stride + v % b] = kept[v];
    measured = false;
    __syncthreads();
  }

  /* The row exchanges become column exchanges of the inverse, in reverse order. */
  __device__ void reorder()
  {
    for (int r = (int)threadIdx.x; r < b; r += (int)blockDim.x)
      for (int c = b - 1; c >= 0; c--) {
        const double entry = at[c * stride + r];
        at[c * stride + r] = at[pivot[c] * stride + r];
        at[pivot[c] * stride + r] = entry;
      }
  }
};

/* Replaces a block in memory by its inverse. Its kept copy and its sizes stay as they are. */
template <typename holder> static __device__ __forceinline__ karst_reason karst_cuda_invert(holder &block)
{
  karst_reason reason = KARST_SINGULAR_BLOCK;
#pragma unroll 1
  for (int attempt = 0; attempt < KARST_BLOCK_ATTEMPTS && reason == KARST_SINGULAR_BLOCK; attempt++) {
    if (attempt > 0) block.restore();
    reason = karst_cuda_attempt(block, attempt);
  }
  return reason;
}

/* Inverts a contiguous block by all threads of a thread block. same: a copy of the block; sizes: [b*b], may be same;
 * shared: karst_cuda_invert_shared(b) bytes. */
static __device__ inline karst_reason karst_cuda_invert(int b, double *a, const double *same, const double *sizes,
                                                        void *shared)
{
  karst_block_in_memory block(b, a, b, same, sizes, shared);
  return karst_cuda_invert(block);
}

#endif
