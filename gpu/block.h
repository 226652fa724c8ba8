/* block.h - operations on one large dense block by all threads of a thread block. The small sizes have lib/dense.h. */
#ifndef KARST_GPU_BLOCK_H
#define KARST_GPU_BLOCK_H

#include "cuda.h"

/* Bytes of shared memory that the inversion of a b-by-b block needs. */
static inline size_t karst_cuda_invert_shared(int b)
{
  return (size_t)(b + b % 2) * (4 * sizeof(double) + sizeof(int));
}

/* What the threads that invert a block share. */
struct karst_cuda_inversion {
  double *row_scale;   /* [b] 1 / the largest entry of each row */
  double *column_size; /* [b] the largest entry of each column with the rows scaled */
  double *factor;      /* [b] the column that is eliminated */
  double *pivot_row;   /* [b] divided by the pivot */
  int *pivot;          /* [b] the row exchanged with each */
};

static __device__ inline karst_cuda_inversion karst_cuda_inversion_at(int b, void *shared)
{
  const int stride = b + b % 2; /* even: the last of an array is read together with what follows it */
  double *work = (double *)shared;
  return {work, work + stride, work + 2 * stride, work + 3 * stride, (int *)(work + 4 * stride)};
}

/* Sizes of rows and columns, or why there is no inverse. */
static __device__ inline karst_reason karst_cuda_invert_scale(int b, const double *a, const karst_cuda_inversion &s)
{
  bool finite = true, regular = true;
  for (int r = (int)threadIdx.x; r < b; r += (int)blockDim.x) {
    double largest = 0;
    for (int c = 0; c < b; c++) {
      double size = fabs(a[c * b + r]);
      finite = finite && size <= DBL_MAX;
      if (size > largest) largest = size;
    }
    regular = regular && largest > 0;
    s.row_scale[r] = 1 / largest;
  }
  if (!__syncthreads_and(finite)) return KARST_NOT_FINITE;
  if (!__syncthreads_and(regular)) return KARST_SINGULAR_BLOCK;
  for (int c = (int)threadIdx.x; c < b; c += (int)blockDim.x) {
    double largest = 0;
    for (int r = 0; r < b; r++) {
      double size = fabs(a[c * b + r]) * s.row_scale[r];
      if (size > largest) largest = size;
    }
    s.column_size[c] = largest;
  }
  __syncthreads();
  return KARST_SOUND;
}

/* The first warp finds the pivot of column c: the first of the largest candidates. False: the block is singular. */
static __device__ inline bool karst_cuda_invert_choose(int b, int c, const double *a, const karst_cuda_inversion &s)
{
  if (threadIdx.x < 32) {
    int best = c;
    double best_size = -1;
    for (int r = c + (int)threadIdx.x; r < b; r += 32) {
      double size = fabs(a[c * b + r]) * s.row_scale[r];
      if (size > best_size) {
        best = r;
        best_size = size;
      }
    }
    for (int distance = 16; distance > 0; distance /= 2) {
      int other = __shfl_xor_sync(0xffffffff, best, distance);
      double other_size = __shfl_xor_sync(0xffffffff, best_size, distance);
      if (other_size > best_size || (other_size == best_size && other < best)) {
        best = other;
        best_size = other_size;
      }
    }
    if (threadIdx.x == 0) s.pivot[c] = best_size > (b > 1 ? karst_block_rounding(b) * s.column_size[c] : 0) ? best : -1;
  }
  __syncthreads();
  return s.pivot[c] >= 0;
}

/* karst_block_invert, by all threads of a thread block, which all get its result. shared: karst_cuda_invert_shared(b)
 * bytes. The same pivots and the same rule for singular blocks. */
static __device__ inline karst_reason karst_cuda_invert(int b, double *a, void *shared)
{
  const karst_cuda_inversion s = karst_cuda_inversion_at(b, shared);
  const int t = (int)threadIdx.x, threads = (int)blockDim.x;
  karst_reason reason = karst_cuda_invert_scale(b, a, s);
  if (reason != KARST_SOUND) return reason;
  for (int c = 0; c < b; c++) {
    if (!karst_cuda_invert_choose(b, c, a, s)) return KARST_SINGULAR_BLOCK;
    const int best = s.pivot[c];
    const double inverse = 1 / a[c * b + best];
    if (t == 0) { /* no one looks at the scales now */
      double scale = s.row_scale[c];
      s.row_scale[c] = s.row_scale[best];
      s.row_scale[best] = scale;
    }
    for (int r = t; r < b; r += threads) s.factor[r] = a[c * b + (r == best ? c : r)];
    __syncthreads();
    for (int j = t; j < b; j += threads) {
      s.pivot_row[j] = (j == c ? 1 : a[j * b + best]) * inverse;
      a[j * b + best] = a[j * b + c];
    }
    __syncthreads();
    for (int k = t; k < b * b; k += threads) {
      int j = k / b, r = k % b;
      a[k] = r == c ? s.pivot_row[j] : (j == c ? 0 : a[k]) - s.factor[r] * s.pivot_row[j];
    }
    __syncthreads();
  }
  bool finite = true;
  for (int r = t; r < b; r += threads) {
    for (int c = b - 1; c >= 0; c--) {
      double entry = a[c * b + r];
      a[c * b + r] = a[s.pivot[c] * b + r];
      a[s.pivot[c] * b + r] = entry;
    }
    for (int c = 0; c < b; c++) finite = finite && fabs(a[c * b + r]) <= DBL_MAX;
  }
  if (__syncthreads_and(finite)) return KARST_SOUND;
  return b == 1 ? KARST_NOT_FINITE : KARST_SINGULAR_BLOCK;
}

#endif
