/* listed_row.h - sums a block row from lists of its products (gpu/ilu/slices/lists.cu), by a thread block, once the
 * rows that it needs are marked as done. One thread makes an element, product after product. */
#ifndef KARST_GPU_ILU_SEARCH_LISTED_ROW_H
#define KARST_GPU_ILU_SEARCH_LISTED_ROW_H

#include "gpu/ilu/search/large_row.h"

namespace
{

enum { LISTED_THREADS = KARST_ILU_THREADS };

/* Puts a_ij into its place: A's block, less the products of its list. Its sizes go to size unless that is NULL. */
__device__ void accumulate(const karst_triangle &lower, const karst_triangle &upper, const karst_triangle &t, int b,
                           const double *A, int64_t number, double *size)
{
  const int64_t bb = (int64_t)b * b;
  const block_view to = block_at(t, b, number);
  const karst_index source = t.source[number];
  for (int64_t v = threadIdx.x; v < bb; v += LISTED_THREADS) {
    const int64_t r = v % b, c = v / b;
    double sum = source >= 0 ? A[source * bb + v] : 0, sizes = fabs(sum);
    for (karst_index n = t.list[number]; n < t.list[number + 1]; n++) {
      const block_view left = block_at(lower, b, t.product[n].left), right = block_at(upper, b, t.product[n].right);
      const double *column = right.at + c * right.stride;
      for (int s = 0; s < b; s++) sum -= left.at[s * left.stride + r] * __ldcg(&column[s]);
      sizes += fabs(sum);
    }
    to.at[c * to.stride + r] = sum;
    if (size) size[v] = sizes;
  }
  __syncthreads();
}

/* Waits for the rows that this one needs; afterwards their values can be read. */
__device__ void await_rows(const karst_triangle &lower, int64_t block, int64_t length, const int *done)
{
  for (int64_t e = threadIdx.x; e < length; e += LISTED_THREADS) {
    const karst_index pivot = lower.column[block + e * lower.group];
    if (pivot == lower.slots) continue;
    while (!*(const volatile int *)&done[pivot]) continue;
  }
  __threadfence();
  __syncthreads();
}

/* Subtracts R times the dropped products of the row in a slot from its diagonal block, and updates the block's sizes.
 * The threads have elements as in accumulate. */
__device__ void subtract_dropped_listed(const karst_triangle &lower, const karst_triangle &upper, int b,
                                        karst_index slot, const karst_ilu_dropped_list &dropped, double modified,
                                        block_view to, double *size)
{
  for (int64_t v = threadIdx.x; v < (int64_t)b * b; v += LISTED_THREADS) {
    const int64_t r = v % b, c = v / b;
    double sum = 0, sizes = 0;
    for (int64_t n = dropped.list[slot]; n < dropped.list[slot + 1]; n++) {
      const block_view left = block_at(lower, b, dropped.product[n].left),
                       right = block_at(upper, b, dropped.product[n].right);
      const double *column = right.at + c * right.stride;
      for (int s = 0; s < b; s++) sum += left.at[s * left.stride + r] * __ldcg(&column[s]);
      sizes += fabs(sum);
    }
    to.at[c * to.stride + r] -= modified * sum;
    size[v] += modified * sizes + fabs(to.at[c * to.stride + r]);
  }
  __syncthreads();
}

/* Makes the sums of all blocks of a row. */
template <bool MODIFIED>
__device__ __forceinline__ void sum_listed(const large_call &f, const large_row &row,
                                           const karst_ilu_dropped_list &dropped)
{
  await_rows(f.lower, row.lower, row.lower_length, f.done);
  for (int64_t e = 0; e < row.lower_length; e++)
    accumulate(f.lower, f.upper, f.lower, f.b, f.A, row.lower + e * f.lower.group, NULL);
  for (int64_t e = 0; e < row.upper_length; e++)
    accumulate(f.lower, f.upper, f.upper, f.b, f.A, row.upper + e * f.upper.group, e > 0 ? NULL : size_here(f));
  if (MODIFIED)
    subtract_dropped_listed(f.lower, f.upper, f.b, row.slot, dropped, f.modified, block_at(f.upper, f.b, row.upper),
                            size_here(f));
}

} // namespace

#endif
