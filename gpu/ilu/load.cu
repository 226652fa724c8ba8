/* load.cu - loads finished factors into the slices of the triangular solves: L as it is, D_i^-1 from U_ii = D_i, and
 * U'_ij = D_i^-1 U_ij (Yang, Liu, He, Chen, equation (5)). D_i is judged as the sum A_ii - sum_k L_ik U_ki, which it
 * approximates. Rows are independent. */
#include "gpu/ilu/pivot_repair.h"

#include "gpu/block_inverse.h"

namespace
{

enum { THREADS = 128 };

/* A slot of a triangle. */
struct place {
  int64_t slice, q;
  int64_t block;  /* the number of its first block */
  int64_t stride; /* from a column of a block to the next */
};

__device__ __forceinline__ place place_of(const karst_triangle &t, int b, int64_t slot)
{
  const int64_t slice = slot / t.group, q = slot % t.group;
  return {slice, q, t.start[slice] * t.group + q, (int64_t)t.group * b};
}

/* Returns the place of element (0,0) of entry e, which is counted over all slices. */
__device__ __forceinline__ double *entry_at(const karst_triangle &t, int b, const place &at, int64_t e)
{
  return t.value + e * b * at.stride + at.q * b;
}

/* The triangles without values, and the values of A and of the factors, which have one pattern. */
struct loading {
  karst_triangle lower, upper;
  const double *A, *value;
};

/* Calls visit(left, right) for each product of D_i, which is in that slot of upper, with the numbers of its factors. */
template <typename visitor> __device__ void each_product(const loading &from, int64_t slot, visitor visit)
{
  const karst_triangle &lower = from.lower, &upper = from.upper;
  const int64_t own = upper.other[slot], own_slice = own / lower.group, first = lower.start[own_slice] * lower.group;
  const int64_t end = lower.start[own_slice + 1] * lower.group;
  for (int64_t left = first + own % lower.group; left < end; left += lower.group) {
    const karst_index pivot = lower.column[left];
    if (pivot == lower.slots) continue;
    const int64_t other = lower.other[pivot], slice = other / upper.group, last = upper.start[slice + 1] * upper.group;
    for (int64_t right = upper.start[slice] * upper.group + other % upper.group; right < last; right += upper.group)
      if (upper.column[right] == slot) visit(lower.source[left], upper.source[right]);
  }
}

/* Computes the size of element r, c of D_i. The last of its partial sums is the element itself, pivot. */
__device__ double size_of_element(const loading &from, int b, int64_t slot, karst_index diagonal, double pivot, int r,
                                  int c)
{
  double sum = from.A[karst_cuda_offset(b, diagonal) + c * b + r], size = fabs(pivot);
  each_product(from, slot, [&](karst_index left, karst_index right) {
    const double *row = from.value + karst_cuda_offset(b, left) + r;
    const double *column = from.value + karst_cuda_offset(b, right) + c * b;
    size += fabs(sum);
    for (int k = 0; k < b; k++) sum -= row[k * b] * column[k];
  });
  return size;
}

/* Makes D^-1, a block by each thread. A block that has no inverse becomes 0. */
template <int B>
__global__ void __launch_bounds__(THREADS) invert_small(const loading from, karst_ilu_statistics_cuda *statistics)
{
  const karst_triangle &upper = from.upper;
  const int64_t slot = blockIdx.x * (int64_t)THREADS + threadIdx.x;
  double block[B * B], sum[B * B], size[B * B], inverse[B * B], work[2 * B];
  int pivot[B];
  if (slot >= upper.rows) return;
  const place at = place_of(upper, B, slot);
  const int64_t diagonal = karst_cuda_offset(B, upper.source[at.block]);
  double *to = entry_at(upper, B, at, upper.start[at.slice]);
#pragma unroll
  for (int v = 0; v < B * B; v++) {
    block[v] = from.value[diagonal + v];
    sum[v] = from.A[diagonal + v];
    size[v] = fabs(block[v]);
  }
  each_product(from, slot, [&](karst_index left, karst_index right) {
    karst_block_add_size(B, sum, size);
    karst_block_subtract_multiply(B, from.value + karst_cuda_offset(B, left), from.value + karst_cuda_offset(B, right),
                                  sum);
  });
  const karst_reason reason = karst_block_inverse(B, block, size, inverse, work, pivot);
  if (reason != KARST_SOUND) karst_ilu_report_pivot(statistics, upper.row[slot], reason);
#pragma unroll
  for (int v = 0; v < B * B; v++) to[v / B * at.stride + v % B] = reason == KARST_SOUND ? inverse[v] : 0;
}

/* Makes D^-1, a block by each thread block. If its columns are apart in the slice, it is inverted in shared memory
 * first. sizes: [gridDim.x b*b] */
__global__ void __launch_bounds__(KARST_CUDA_THREADS)
    invert_large(const loading from, int b, double *sizes, karst_ilu_statistics_cuda *statistics)
{
  extern __shared__ double shared[];
  const karst_triangle &upper = from.upper;
  double *size = sizes + karst_cuda_offset(b, blockIdx.x);
  for (int64_t slot = blockIdx.x; slot < upper.rows; slot += gridDim.x) {
    const place at = place_of(upper, b, slot);
    const double *from_diagonal = from.value + karst_cuda_offset(b, upper.source[at.block]);
    double *to = entry_at(upper, b, at, upper.start[at.slice]), *block = upper.group > 1 ? shared : to;
    for (int v = (int)threadIdx.x; v < b * b; v += (int)blockDim.x) {
      block[v] = from_diagonal[v];
      size[v] = size_of_element(from, b, slot, upper.source[at.block], block[v], v % b, v / b);
    }
    __syncthreads();
    const karst_reason reason =
        karst_cuda_invert(b, block, from_diagonal, size, upper.group > 1 ? shared + b * b : shared);
    __syncthreads();
    for (int v = (int)threadIdx.x; v < b * b; v += (int)blockDim.x)
      to[v / b * at.stride + v % b] = reason == KARST_SOUND ? block[v] : 0;
    if (threadIdx.x == 0 && reason != KARST_SOUND) karst_ilu_report_pivot(statistics, upper.row[slot], reason);
    __syncthreads();
  }
}

/* Stores L, or U' = D^-1 U. A thread makes one scalar row. */
template <int B, bool is_upper>
__global__ void __launch_bounds__(THREADS)
    load_rows(const karst_triangle t, int size, const double *value, karst_ilu_statistics_cuda *statistics)
{
  const int b = B ? B : size;
  const int64_t number = blockIdx.x * (int64_t)THREADS + threadIdx.x, slot = number / b;
  const int r = (int)(number % b);
  double nonfinite = 0; /* stays 0 unless an element is NaN or infinite */
  if (slot >= t.rows) return;
  const place at = place_of(t, b, slot);
  const int64_t first = t.start[at.slice], end = t.start[at.slice + 1];
  const double *inverse = entry_at(t, b, at, first) + r;
  for (int64_t e = first + (is_upper ? 1 : 0); e < end; e++) {
    const karst_index source = t.source[at.block + (e - first) * t.group];
    const double *from = value + karst_cuda_offset(b, source);
    double *to = entry_at(t, b, at, e) + r;
    for (int c = 0; c < b; c++) {
      double element = 0;
      if (source >= 0 && !is_upper) element = from[c * b + r];
      if (source >= 0 && is_upper)
        for (int k = 0; k < b; k++) element += inverse[k * at.stride] * from[c * b + k];
      to[c * at.stride] = element;
      nonfinite += element * 0;
    }
  }
  if (nonfinite != 0) karst_ilu_report_row(statistics, t.row[slot], KARST_FAULT_ROW_NOT_FINITE);
}

} // namespace

void karst_ilu_load_cuda(karst_context *context, const double *A, const double *value, const karst_ilu_cuda *plan)
{
  const karst_triangle &lower = plan->lower, &upper = plan->upper;
  const loading from = {lower, upper, A, value};
  cudaStream_t stream = karst_cuda_of(context)->stream;
  const int b = plan->block_size;
  const unsigned grid = karst_cuda_grid((int64_t)lower.rows * b, THREADS);
  karst_cuda_instance(b, [&](auto size) {
    constexpr int B = decltype(size)::value;
    if constexpr (B > 0) {
      invert_small<B><<<karst_cuda_grid(upper.rows, THREADS), THREADS, 0, stream>>>(from, plan->statistics);
    } else {
      const size_t block = upper.group > 1 ? (size_t)karst_block_offset(b, 1) * sizeof(double) : 0;
      /* A block of this size is factored by large_row.h, whose work space has room for the sizes of factor_grid. */
      const unsigned rows = (unsigned)(upper.rows < plan->factor_grid ? upper.rows : plan->factor_grid);
      invert_large<<<rows, KARST_CUDA_THREADS, block + karst_cuda_invert_shared(b), stream>>>(
          from, b, static_cast<double *>(plan->factor_work), plan->statistics);
    }
    load_rows<B, false><<<grid, THREADS, 0, stream>>>(lower, b, value, plan->statistics);
    load_rows<B, true><<<grid, THREADS, 0, stream>>>(upper, b, value, plan->statistics);
  });
}
