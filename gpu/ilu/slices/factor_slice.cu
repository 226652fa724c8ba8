/* factor_slice.cu - block ILU on a given pattern (Yang, Liu, He, Chen, Algorithm 4) in one launch, for blocks up to 6
 * wide:
 *
 *     a_ij = A_ij - sum_{p < min(i, j)} a_ip U'_pj,    L_ip = a_ip D_p^-1,    D_i = a_ii,    U'_ij = D_i^-1 a_ij
 *
 * One warp takes one task of L (ilu_cuda.h) after another, in level order. The blocks of D^-1 and U' are absent until
 * they are stored, and a warp waits for those that it needs, as in the sweeps. So that a block is stored once and
 * complete, each is summed up over its own list of products (lists.cu).
 *
 * Lane q b + r holds scalar row r of the blocks of block row q; the rows of other blocks come by shuffles. */
#include "gpu/ilu/pivot_repair.h"
#include "gpu/ilu/warp_inverse.h"

namespace
{

/* Products fetched at once, and blocks of U' that are ready before the pivot is inverted, so that they follow it
 * without delay. Registers limit both. */
enum { EARLY = 3 };
template <int B> constexpr int products_at_once = B == 1 ? 8 : B == 2 ? 4 : B <= 5 ? 3 : 2;

/* Subtracts left times right from acc, where the lanes hold their rows of all three. */
template <int B>
__device__ __forceinline__ void subtract_product(const double (&left)[B], const double (&right)[B], int q,
                                                 double (&acc)[B])
{
#pragma unroll
  for (int c = 0; c < B; c++)
#pragma unroll
    for (int d = 0; d < B; d++) acc[d] -= left[c] * (B > 1 ? __shfl_sync(~0u, right[d], q * B + c) : right[d]);
}

template <int B>
__device__ __forceinline__ void multiply(const double (&left)[B], const double (&right)[B], int q, double (&out)[B])
{
  double minus[B];
#pragma unroll
  for (int d = 0; d < B; d++) minus[d] = 0;
  subtract_product<B>(left, right, q, minus);
#pragma unroll
  for (int d = 0; d < B; d++) out[d] = -minus[d];
}

/* Makes a_ij in acc for a block of t: A's block, less the products of its list. wanted: this lane's block row has the
 * block. If MEASURED, size becomes the sizes of the sums (gpu/size.h). */
template <int B, bool MEASURED>
__device__ void accumulate_block(const karst_triangle &lower, const karst_triangle &upper, const karst_triangle &t,
                                 const double *A, int64_t block, bool wanted, const karst_ilu_place &at,
                                 double (&acc)[B], float (&size)[B])
{
  constexpr int K = products_at_once<B>;
  const karst_index source = wanted ? t.source[block] : -1;
  karst_index n = wanted ? t.list[block] : 0;
  const karst_index end = wanted ? t.list[block + 1] : 0, products = end - n;
#pragma unroll
  for (int c = 0; c < B; c++) {
    acc[c] = source >= 0 ? A[(int64_t)source * B * B + c * B + at.r] : 0;
    if (MEASURED) size[c] = karst_size(acc[c]);
  }
  for (; __any_sync(~0u, n < end); n += K) {
    const double *from[K * B];
    double left[K][B], right[K * B];
#pragma unroll
    for (int k = 0; k < K; k++) {
      const bool there = n + k < end;
      karst_ilu_product product = {0, 0};
      if (there) product = t.product[n + k];
#pragma unroll
      for (int c = 0; c < B; c++) {
        left[k][c] = there ? *karst_ilu_element<B>(lower, product.left, at.r, c) : 0;
        from[k * B + c] = there ? karst_ilu_element<B>(upper, product.right, at.r, c) : NULL;
      }
    }
    karst_await<K * B>(from, right);
#pragma unroll
    for (int k = 0; k < K; k++) {
      double row[B];
#pragma unroll
      for (int c = 0; c < B; c++) row[c] = right[k * B + c];
      subtract_product<B>(left[k], row, at.q, acc);
#pragma unroll
      for (int c = 0; c < B && MEASURED; c++) size[c] = karst_size_after(size[c], acc[c]);
    }
  }
#pragma unroll
  for (int c = 0; c < B && MEASURED; c++) size[c] = karst_size_of_many(size[c], (int)products);
}

/* The same for a block that is not measured. */
template <int B>
__device__ void accumulate(const karst_triangle &lower, const karst_triangle &upper, const karst_triangle &t,
                           const double *A, int64_t block, bool wanted, const karst_ilu_place &at, double (&acc)[B])
{
  float size[B];
  accumulate_block<B, false>(lower, upper, t, A, block, wanted, at, acc, size);
}

/* Prefetches the inputs of a row's blocks except the factors, before the waiting begins: the loads of accumulate depend
 * on each other. Returns a number that is not negative, so that the compiler keeps the loads. */
template <int B>
__device__ karst_index touch_row(const karst_triangle &t, const double *A, int64_t block, karst_index length,
                                 const karst_ilu_place &at)
{
  constexpr int R = 32 / B;
  karst_index all = 0;
  for (karst_index e = 0; e < length; e++) {
    const int64_t number = block + (int64_t)e * R;
    const karst_index source = t.source[number], end = t.list[number + 1];
    for (karst_index n = t.list[number]; n < end; n++) all |= t.product[n].left;
    if (source >= 0) asm volatile("prefetch.global.L1 [%0];" ::"l"(A + (int64_t)source * B * B + at.r));
  }
  return all;
}

/* Returns the largest absolute entry of the lanes' block rows of A - L U, for the shift. That is rare, so the sums
 * are all made again. */
template <int B>
__device__ double largest_of_row(const karst_triangle &lower, const karst_triangle &upper, const double *A,
                                 int64_t lower_block, karst_index lower_length, int64_t upper_block,
                                 karst_index upper_length, const karst_ilu_place &at)
{
  constexpr int R = 32 / B;
  double acc[B], largest = 0, all = 0;
  for (karst_index e = 0; e < lower_length; e++)
#pragma unroll
    for (int c = 0; c < B; c++)
      if (at.active) largest = fmax(largest, fabs(*karst_ilu_element<B>(lower, lower_block + (int64_t)e * R, at.r, c)));
  for (karst_index e = 0; __any_sync(~0u, e < upper_length); e++) {
    accumulate<B>(lower, upper, upper, A, upper_block + (int64_t)e * R, e < upper_length, at, acc);
#pragma unroll
    for (int c = 0; c < B; c++) largest = fmax(largest, fabs(acc[c]));
  }
#pragma unroll
  for (int j = 0; j < B; j++) all = fmax(all, __shfl_sync(~0u, largest, at.q * B + j));
  return all;
}

template <int B>
__device__ __forceinline__ void publish_row(const karst_triangle &t, int64_t block, const karst_ilu_place &at,
                                            bool wanted, const double (&row)[B])
{
#pragma unroll
  for (int c = 0; c < B; c++)
    if (wanted) karst_publish(karst_ilu_element<B>(t, block, at.r, c), row[c]);
}

/* Returns 0 unless an entry is NaN or infinite. */
template <int B> __device__ __forceinline__ double nonfinite(const double (&row)[B])
{
  double sum = 0;
#pragma unroll
  for (int c = 0; c < B; c++) sum += row[c] * 0;
  return sum;
}

/* The least number of thread blocks that fit on a multiprocessor; 0: the compiler decides. For b = 5 it then uses so
 * few registers that it has to spill some. */
template <int B> constexpr int least_blocks = B == 5 ? 2 : 0;

template <int B>
__global__ void __launch_bounds__(KARST_ILU_THREADS, least_blocks<B>)
    factor(const karst_triangle lower, const karst_triangle upper, const double *A, double shift,
           karst_ilu_statistics_cuda *statistics)
{
  constexpr int R = 32 / B;
  const int lane = (int)threadIdx.x % 32;
  const karst_index warps = (karst_index)(gridDim.x * (KARST_ILU_THREADS / 32));
  karst_ilu_place at = {lane / B, lane % B, false, 0};
  at.group = ((B < 32 ? 1u << B : 0u) - 1) << (at.q * B);
  for (karst_index task = (karst_index)((blockIdx.x * KARST_ILU_THREADS + threadIdx.x) / 32); task < lower.tasks;
       task += warps) {
    const karst_index first = lower.task[task], last = lower.task[task + 1], slice = first / R, slot = slice * R + at.q;
    at.active = at.q < R && slot >= first && slot < last;
    const karst_index other = at.active ? lower.other[slot] : 0, row = at.active ? lower.row[slot] : 0;
    const int64_t lower_block = lower.start[slice] * R + at.q, upper_block = upper.start[other / R] * R + other % R;
    const karst_index lower_length = (karst_index)(lower.start[slice + 1] - lower.start[slice]);
    const karst_index upper_length = at.active ? (karst_index)(upper.start[other / R + 1] - upper.start[other / R]) : 0;
    double acc[B], early[EARLY][B], inverse[B], out[B], bad = 0;
    float size[B]; /* of the diagonal block */

    if (at.active && (touch_row<B>(lower, A, lower_block, lower_length, at) |
                      touch_row<B>(upper, A, upper_block, upper_length, at)) < 0)
      at.active = false;

    for (karst_index e = 0; e < lower_length; e++) {
      const int64_t block = lower_block + (int64_t)e * R;
      accumulate<B>(lower, upper, lower, A, block, at.active, at, acc);
#pragma unroll
      for (int c = 0; c < B; c++)
        if (at.active) *karst_ilu_element<B>(lower, block, at.r, c) = acc[c];
    }
    /* The neighbours eliminated next come last. */
#pragma unroll
    for (int k = 0; k < EARLY; k++)
      accumulate<B>(lower, upper, upper, A, upper_block + (int64_t)(upper_length - 1 - k) * R, upper_length - 1 - k > 0,
                    at, early[k]);
    accumulate_block<B, true>(lower, upper, upper, A, upper_block, at.active, at, inverse, size);
    const karst_reason reason = karst_ilu_invert<B>(at, size, inverse);
    if (__any_sync(~0u, at.active && reason != KARST_SOUND)) {
      const double largest =
          shift > 0 ? largest_of_row<B>(lower, upper, A, lower_block, lower_length, upper_block, upper_length, at) : 0;
      const bool reports = at.active && at.r == 0 && reason != KARST_SOUND;
      const double replacement = karst_ilu_replace_pivot(reason, shift, largest, row, reports, statistics);
#pragma unroll
      for (int c = 0; c < B; c++)
        if (reason != KARST_SOUND) inverse[c] = c == at.r ? replacement : 0;
    }
#pragma unroll
    for (int k = 0; k < EARLY; k++) {
      const bool wanted = upper_length - 1 - k > 0;
      multiply<B>(inverse, early[k], at.q, out);
      publish_row<B>(upper, upper_block + (int64_t)(upper_length - 1 - k) * R, at, wanted, out);
      if (wanted) bad += nonfinite<B>(out);
    }
    publish_row<B>(upper, upper_block, at, at.active, inverse);
    for (karst_index e = upper_length - 1 - EARLY; __any_sync(~0u, e > 0); e--) {
      const int64_t block = upper_block + (int64_t)e * R;
      accumulate<B>(lower, upper, upper, A, block, e > 0, at, acc);
      multiply<B>(inverse, acc, at.q, out);
      publish_row<B>(upper, block, at, e > 0, out);
      if (e > 0) bad += nonfinite<B>(out);
    }
    for (karst_index e = 0; e < lower_length; e++) {
      const int64_t block = lower_block + (int64_t)e * R;
      const karst_index pivot = at.active ? lower.column[block] : lower.slots;
      const bool there = pivot < lower.slots;
      const karst_index pivot_slot = there ? lower.other[pivot] : 0;
      const int64_t pivot_block = upper.start[pivot_slot / R] * R + pivot_slot % R;
      const double *from[B];
      double right[B];
#pragma unroll
      for (int c = 0; c < B; c++) {
        from[c] = there ? karst_ilu_element<B>(upper, pivot_block, at.r, c) : NULL;
        acc[c] = there ? *karst_ilu_element<B>(lower, block, at.r, c) : 0;
      }
      karst_await<B>(from, right);
      multiply<B>(acc, right, at.q, out);
#pragma unroll
      for (int c = 0; c < B; c++)
        if (there) *karst_ilu_element<B>(lower, block, at.r, c) = out[c];
      bad += nonfinite<B>(out);
    }
    if (karst_any_of_group(at, bad != 0) && at.active && at.r == 0)
      karst_ilu_report_row(statistics, row, KARST_FAULT_ROW_NOT_FINITE);
  }
}

const void *kernel_for(int block_size)
{
  static const void *const table[KARST_ILU_SLICE_LARGEST + 1] = {NULL,
                                                                 (const void *)factor<1>,
                                                                 (const void *)factor<2>,
                                                                 (const void *)factor<3>,
                                                                 (const void *)factor<4>,
                                                                 (const void *)factor<5>,
                                                                 (const void *)factor<6>};
  return table[block_size];
}

karst_status analyse_slices(karst_context *context, const karst_matrix *A, const karst_ilu_pattern_cuda *pattern,
                            const karst_ilu_shape *shape, karst_ilu_analysis *analysis)
{
  (void)A;
  karst_ilu_cuda *plan = karst_ilu_cuda_of(analysis);
  const karst_status status = karst_ilu_list_by_blocks_cuda(context, pattern, analysis);
  if (status) return status;
  return karst_ilu_resident_cuda(context, kernel_for(shape->block_size), 0, KARST_ILU_HELD_SLICES, plan->lower.tasks,
                                 shape->levels, &plan->factor_grid);
}

void launch_slices(karst_context *context, const karst_matrix *A, double shift, const karst_ilu_cuda *plan)
{
  karst_ilu_launch_cuda(context, kernel_for(plan->block_size), A, shift, plan);
}

} // namespace

const karst_ilu_factor_variant karst_ilu_factor_slice_cuda = {analyse_slices, NULL, launch_slices, NULL, NULL, false};
