/* pivots.cu - the inverse diagonal blocks that a pass of parilu or paric multiplies by, and the Cholesky factors of
 * paric, for b > 1. A thread makes a block, or a thread block a large block. */
#include "gpu/sweeps/sweep_pivot.h"

#include "gpu/block_inverse.h"

namespace
{

template <int B, bool symmetric>
__global__ void __launch_bounds__(KARST_PARILU_THREADS)
    pivots_small(karst_index rows, const karst_index *diagonal, const double *from, bool factored, double *value,
                 double *inverse)
{
  const int64_t i = blockIdx.x * (int64_t)blockDim.x + threadIdx.x;
  double block[B * B], inverted[B * B];
  if (i >= rows) return;
  const int64_t at = karst_cuda_offset(B, diagonal[i]);
#pragma unroll
  for (int v = 0; v < B * B; v++) block[v] = from[at + v];
  karst_parilu_pivot<B, symmetric>(factored, block, inverted);
#pragma unroll
  for (int v = 0; v < B * B; v++) {
    if (symmetric && !factored) value[at + v] = block[v];
    inverse[karst_cuda_offset(B, i) + v] = inverted[v];
  }
}

/* karst_block_cholesky by all threads of a thread block, which all get the result. */
__device__ bool cholesky(int b, double *a)
{
  const int t = (int)threadIdx.x, threads = (int)blockDim.x;
  for (int c = 0; c < b; c++) {
    const double pivot = a[c * b + c], root = sqrt(pivot);
    const int left = b - c - 1;
    if (!(pivot > 0 && pivot <= DBL_MAX)) return false;
    __syncthreads();
    for (int r = t; r < b; r += threads) a[c * b + r] = r < c ? 0 : r == c ? root : a[c * b + r] / root;
    __syncthreads();
    for (int v = t; v < left * left; v += threads) {
      const int r = c + 1 + v % left, j = c + 1 + v / left;
      if (r >= j) a[j * b + r] -= a[c * b + r] * a[c * b + j];
    }
    __syncthreads();
  }
  return true;
}

/* karst_block_invert_lower by all threads of a thread block. A thread makes whole columns. */
__device__ bool invert_lower(int b, const double *l, double *inverse)
{
  bool sound = true;
  for (int c = (int)threadIdx.x; c < b; c += (int)blockDim.x)
    sound = sound && fabs(l[c * b + c]) > 0 && fabs(l[c * b + c]) <= DBL_MAX;
  if (!__syncthreads_and(sound)) return false;
  for (int c = (int)threadIdx.x; c < b; c += (int)blockDim.x) {
    double *column = inverse + c * b;
    for (int r = 0; r < c; r++) column[r] = 0;
    column[c] = 1 / l[c * b + c];
    for (int r = c + 1; r < b; r++) {
      double entry = 0;
      for (int k = c; k < r; k++) entry -= l[k * b + r] * column[k];
      column[r] = entry / l[r * b + r];
    }
  }
  return true;
}

__device__ void fill_nan(int b, double *block)
{
  __syncthreads();
  for (int v = (int)threadIdx.x; v < b * b; v += (int)blockDim.x) block[v] = karst_parilu_nan();
  __syncthreads();
}

template <bool symmetric>
__global__ void __launch_bounds__(KARST_CUDA_THREADS)
    pivots_large(int b, const karst_index *diagonal, const double *from, bool factored, double *value, double *inverse)
{
  extern __shared__ double shared[];
  const int64_t i = blockIdx.x, at = karst_cuda_offset(b, diagonal[i]);
  double *made = symmetric ? value + at : inverse + karst_cuda_offset(b, i);
  if (made != from + at)
    for (int v = (int)threadIdx.x; v < b * b; v += (int)blockDim.x) made[v] = from[at + v];
  __syncthreads();
  if (symmetric) {
    if (!factored && !cholesky(b, made)) fill_nan(b, made);
    double *inverted = inverse + karst_cuda_offset(b, i);
    if (!invert_lower(b, made, inverted)) fill_nan(b, inverted);
  } else if (karst_cuda_invert(b, made, from + at, from + at, shared) != KARST_SOUND) {
    fill_nan(b, made);
  }
}

} // namespace

void karst_parilu_pivots_cuda(karst_context *context, const karst_parilu *parilu, const double *from, bool factored)
{
  const karst_index rows = parilu->F->block_rows, *diagonal = parilu->diagonal;
  const int b = parilu->F->block_size;
  double *value = parilu->value, *inverse = parilu->inverse;
  cudaStream_t stream = karst_cuda_of(context)->stream;
  const unsigned grid = karst_cuda_grid(rows, KARST_PARILU_THREADS);
  karst_cuda_instance(b, [&](auto size) {
    constexpr int B = decltype(size)::value;
    if constexpr (B > 1) {
      if (parilu->symmetric)
        pivots_small<B, true>
            <<<grid, KARST_PARILU_THREADS, 0, stream>>>(rows, diagonal, from, factored, value, inverse);
      else
        pivots_small<B, false>
            <<<grid, KARST_PARILU_THREADS, 0, stream>>>(rows, diagonal, from, factored, value, inverse);
    } else if constexpr (B == 0) {
      if (parilu->symmetric)
        pivots_large<true>
            <<<(unsigned)rows, KARST_CUDA_THREADS, 0, stream>>>(b, diagonal, from, factored, value, inverse);
      else
        pivots_large<false><<<(unsigned)rows, KARST_CUDA_THREADS, karst_cuda_invert_shared(b), stream>>>(
            b, diagonal, from, factored, value, inverse);
    }
  });
}
