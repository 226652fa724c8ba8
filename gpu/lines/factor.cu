/* factor.cu - the factors of lines on the GPU (lib/backend/lines_kernels.h). A line is a chain of inversions: a thread
 * has a line of small blocks, in registers, and a block of threads a line of large ones, in memory. */
#include "gpu/block_inverse.h"
#include "gpu/lines/lines_cuda.h"

namespace
{

enum { THREADS = 64 /* of a thread block, for small blocks: the lines are few */ };

/* Returns the block with that number, or NULL: there is none. */
__device__ __forceinline__ const double *block_of(int b, const double *value, karst_index number)
{
  return number < 0 ? nullptr : value + karst_cuda_offset(b, number);
}

/* ---- a thread a line ---- */

/* Loads a block, or zeros. Returns 0, or a NaN if it has an entry that is not finite. */
template <int B> __device__ __forceinline__ double load(const double *from, double *to)
{
  double not_finite = 0;
#pragma unroll
  for (int e = 0; e < B * B; e++) {
    to[e] = from ? from[e] : 0;
    not_finite += to[e] * 0;
  }
  return not_finite;
}

/* Stores a block among those of the other lines. Returns as load. */
template <int B> __device__ __forceinline__ double store(const karst_lines_view &m, const double *from, double *to)
{
  double not_finite = 0;
#pragma unroll
  for (int c = 0; c < B; c++)
#pragma unroll
    for (int r = 0; r < B; r++) {
      to[c * m.width * B + r] = from[c * B + r];
      not_finite += from[c * B + r] * 0;
    }
  return not_finite;
}

/* Factors the position of a slot. W has that of the position before, and then its own. */
template <int B>
__device__ __forceinline__ karst_reason factor_slot(const karst_lines_view &m, const double *value, int64_t slot,
                                                    int64_t at, double *W)
{
  double d[B * B], D[B * B], L[B * B], size[B * B], P[B * B], work[2 * B];
  int pivot[B];
  double not_finite = load<B>(block_of(B, value, m.diagonal[slot]), D);
  not_finite += load<B>(block_of(B, value, m.lower[slot]), L);
#pragma unroll
  for (int e = 0; e < B * B; e++) {
    d[e] = D[e];
    size[e] = fabs(D[e]);
  }
  if (m.lower[slot] >= 0) {
    karst_block_subtract_multiply(B, L, W, d);
    karst_block_add_size(B, d, size);
  }
  const karst_reason reason = karst_block_inverse(B, d, size, P, work, pivot);
  double U[B * B];
  not_finite += load<B>(block_of(B, value, m.upper[slot]), U);
  if (not_finite != 0) return KARST_NOT_FINITE;
  if (reason != KARST_SOUND) return reason;
  karst_block_multiply(B, P, U, W);
  karst_block_multiply(B, P, L, d);
  not_finite = store<B>(m, W, m.W + at) + store<B>(m, d, m.Q + at);
  if (m.times_diagonal)
    karst_block_multiply(B, P, D, d);
  else
    for (int e = 0; e < B * B; e++) d[e] = P[e];
  not_finite += store<B>(m, d, m.P + at);
  return not_finite == 0 ? KARST_SOUND : karst_block_overflow(B);
}

template <int B>
__global__ void __launch_bounds__(THREADS)
    factor_small(const karst_lines_view m, const double *__restrict__ value, unsigned long long *first)
{
  const int64_t line = blockIdx.x * (int64_t)THREADS + threadIdx.x;
  const karst_index slice = (karst_index)(line / m.width);
  const int l = (int)(line % m.width);
  double W[B * B];
  if (slice >= m.slices) return;
#pragma unroll
  for (int e = 0; e < B * B; e++) W[e] = 0;
  for (karst_index k = m.step[slice]; k < m.step[slice + 1]; k++) {
    const int64_t slot = (int64_t)k * m.width + l;
    const karst_index row = m.row[slot];
    if (row < 0) return;
    const karst_reason reason = factor_slot<B>(m, value, slot, karst_lines_block(m, B, k, l), W);
    if (reason == KARST_SOUND) continue;
    karst_lines_record(first, row, reason);
    return;
  }
}

/* ---- a block of threads a line ---- */

/* Makes d = D - L W in place and in kept, with its size, for W of the position before. Returns as load, for this
 * thread's elements. */
__device__ double subtract(int b, const double *D, const double *L, const double *U, const double *before, int stride,
                           double *at, double *kept, double *size)
{
  double not_finite = 0;
  for (int e = (int)threadIdx.x; e < b * b; e += (int)blockDim.x) {
    const int r = e % b, c = e / b;
    double sum = D[e], sizes = fabs(sum);
    not_finite += D[e] * 0 + (L ? L[e] * 0 : 0) + (U ? U[e] * 0 : 0);
    if (L) {
      for (int k = 0; k < b; k++) sum -= L[k * b + r] * before[(int64_t)c * stride + k];
      sizes += fabs(sum);
    }
    at[(int64_t)c * stride + r] = kept[e] = sum;
    size[e] = sizes;
  }
  __syncthreads();
  return not_finite;
}

/* to = P x, or 0 without x; columns of P and to are so far apart. Returns as load. */
__device__ double divide(int b, const double *P, int stride, const double *x, double *to, int to_stride)
{
  double not_finite = 0;
  for (int e = (int)threadIdx.x; e < b * b; e += (int)blockDim.x) {
    const int r = e % b, c = e / b;
    double sum = 0;
    for (int k = 0; k < b && x; k++) sum += P[(int64_t)k * stride + r] * x[c * b + k];
    to[(int64_t)c * to_stride + r] = sum;
    not_finite += sum * 0;
  }
  return not_finite;
}

/* Factors the position of a slot, whose blocks begin at P, Q and W. */
__device__ karst_reason factor_large_slot(const karst_lines_view &m, const double *value, int64_t slot, int64_t at,
                                          double *kept, void *shared)
{
  const int b = m.b, stride = m.width * b;
  const double *D = block_of(b, value, m.diagonal[slot]), *L = block_of(b, value, m.lower[slot]),
               *U = block_of(b, value, m.upper[slot]);
  double *P = m.P + at, *W = m.W + at, *size = kept + b * b;
  double not_finite = subtract(b, D, L, U, W - karst_cuda_offset(b, m.width), stride, P, kept, size);
  if (__syncthreads_or(not_finite != 0)) return KARST_NOT_FINITE;
  karst_block_in_memory block(b, P, stride, kept, size, shared);
  const karst_reason reason = karst_cuda_invert(block);
  __syncthreads();
  if (reason != KARST_SOUND) return reason;
  not_finite = divide(b, P, stride, L, m.Q + at, stride) + divide(b, P, stride, U, W, stride);
  if (m.times_diagonal) {
    not_finite += divide(b, P, stride, D, kept, b);
    __syncthreads();
    for (int e = (int)threadIdx.x; e < b * b; e += (int)blockDim.x) P[(int64_t)(e / b) * stride + e % b] = kept[e];
  }
  return __syncthreads_or(not_finite != 0) ? karst_block_overflow(b) : KARST_SOUND;
}

/* space: [gridDim.x][2 b b] */
__global__ void __launch_bounds__(KARST_CUDA_THREADS)
    factor_large(const karst_lines_view m, const double *__restrict__ value, double *space, unsigned long long *first)
{
  extern __shared__ double shared[];
  double *kept = space + 2 * karst_cuda_offset(m.b, blockIdx.x);
  for (int64_t line = blockIdx.x; line < (int64_t)m.slices * m.width; line += gridDim.x) {
    const karst_index slice = (karst_index)(line / m.width);
    const int l = (int)(line % m.width);
    for (karst_index k = m.step[slice]; k < m.step[slice + 1]; k++) {
      const int64_t slot = (int64_t)k * m.width + l;
      const karst_index row = m.row[slot];
      if (row < 0) break;
      const karst_reason reason = factor_large_slot(m, value, slot, karst_lines_block(m, m.b, k, l), kept, shared);
      if (reason == KARST_SOUND) continue;
      if (threadIdx.x == 0) karst_lines_record(first, row, reason);
      break;
    }
  }
}

} // namespace

void karst_lines_factor_small_cuda(karst_context *context, const karst_matrix *A, const karst_lines_factors *factors)
{
  const karst_lines_view m = karst_lines_view_of(factors, 0, factors->lines->slices);
  const unsigned grid = karst_cuda_grid((int64_t)m.slices * m.width, THREADS);
  const cudaStream_t stream = karst_cuda_of(context)->stream;
  karst_cuda_instance(A->block_size, [&](auto size) {
    constexpr int B = decltype(size)::value;
    if constexpr (B > 0 && B <= KARST_LINES_SMALL)
      factor_small<B><<<grid, THREADS, 0, stream>>>(m, A->value, karst_lines_cuda_of(factors)->first);
  });
}

void karst_lines_factor_large_cuda(karst_context *context, const karst_matrix *A, const karst_lines_factors *factors)
{
  const karst_lines_cuda *own = karst_lines_cuda_of(factors);
  const int b = A->block_size;
  factor_large<<<own->blocks, (unsigned)karst_lines_threads_cuda(b), karst_cuda_invert_shared(b),
                 karst_cuda_of(context)->stream>>>(karst_lines_view_of(factors, 0, factors->lines->slices), A->value,
                                                   own->space, own->first);
}
