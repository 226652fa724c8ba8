/* match.h - finds the products of a block (i,j): the common columns of row i of L and column j of U (for paric row j of
 * L), ascending. It searches the longer of the two for the entries of the shorter one. */
#ifndef KARST_GPU_SWEEPS_MATCH_H
#define KARST_GPU_SWEEPS_MATCH_H

#include "lib/base/search.h"
#include "gpu/sweeps/sweeps_cuda.h"

#ifdef __CUDACC__
/* The state of a search: the entries of the shorter one still to be searched for, and the range of the longer one. */
struct karst_parilu_match {
  karst_index next, end, first, last;
  bool by_row; /* row i is the shorter one */
};

static __device__ __forceinline__ karst_parilu_match karst_parilu_match_start(const karst_parilu_pattern_cuda &S,
                                                                              karst_index i, karst_index j)
{
  const karst_index row = S.start[i], row_end = S.diagonal[i];
  const karst_index other = S.upper.start ? S.upper.start[j] : S.start[j];
  const karst_index other_end = S.upper.start ? S.upper.start[j + 1] : S.diagonal[j];
  if (row_end - row <= other_end - other) return {row, row_end, other, other_end, true};
  return {other, other_end, row, row_end, false};
}

/* Returns the column numbers of row i, or the numbers of the other one. */
static __device__ __forceinline__ const karst_index *karst_parilu_numbers(const karst_parilu_pattern_cuda &S,
                                                                          bool of_row)
{
  return of_row || !S.upper.start ? S.column : S.upper.row;
}

static __device__ __forceinline__ karst_parilu_product karst_parilu_product_of(const karst_parilu_pattern_cuda &S,
                                                                               bool by_row, karst_index shorter,
                                                                               karst_index longer)
{
  const karst_index left = by_row ? shorter : longer, right = by_row ? longer : shorter;
  return {left, S.upper.start ? S.upper.block[right] : right};
}

/* Calls visit(product) for each product until it returns false. */
template <typename visitor>
static __device__ void karst_parilu_each_product(const karst_parilu_pattern_cuda &S, karst_index i, karst_index j,
                                                 visitor visit)
{
  karst_parilu_match m = karst_parilu_match_start(S, i, j);
  const karst_index *shorter = karst_parilu_numbers(S, m.by_row), *longer = karst_parilu_numbers(S, !m.by_row);
  for (; m.next < m.end; m.next++) {
    const karst_index k = shorter[m.next];
    m.first = karst_lower_bound(longer, m.first, m.last, k);
    if (m.first == m.last) return;
    if (longer[m.first] == k && !visit(karst_parilu_product_of(S, m.by_row, m.next, m.first))) return;
  }
}

/* Finds the next products by searching for 32 entries at a time, while there is room for as many products, which is 32
 * at least. Returns how many it has found. All lanes of a warp take part, with the same arguments. */
static __device__ __forceinline__ int karst_parilu_match_next(const karst_parilu_pattern_cuda &S, int room,
                                                              karst_parilu_match &m, karst_parilu_product *found)
{
  const karst_index *shorter = karst_parilu_numbers(S, m.by_row), *longer = karst_parilu_numbers(S, !m.by_row);
  const unsigned lane = threadIdx.x % 32;
  int count = 0;
  while (m.next < m.end && count + 32 <= room) {
    const karst_index left = m.end - m.next, entry = m.next + (karst_index)lane;
    const bool looks = (karst_index)lane < left;
    const karst_index place = looks ? karst_find_column(longer, m.first, m.last, shorter[entry]) : -1;
    const unsigned all = __ballot_sync(~0u, place >= 0);
    if (place >= 0)
      found[count + __popc(all & ((1u << lane) - 1))] = karst_parilu_product_of(S, m.by_row, entry, place);
    count += __popc(all);
    m.next += left < 32 ? left : 32;
  }
  return count;
}

/* Returns the state of a lane's search. */
static __device__ __forceinline__ karst_parilu_match karst_parilu_match_of(const karst_parilu_match &mine, int lane)
{
  return {__shfl_sync(~0u, mine.next, lane), __shfl_sync(~0u, mine.end, lane), __shfl_sync(~0u, mine.first, lane),
          __shfl_sync(~0u, mine.last, lane), __shfl_sync(~0u, (int)mine.by_row, lane) != 0};
}

/* Counts the products of each lane's block, up to most. If there are many entries to search for, all lanes search.
 * Called by whole warps; there: whether the lane has a block. */
static __device__ __forceinline__ int karst_parilu_count_products(const karst_parilu_pattern_cuda &S, karst_index i,
                                                                  karst_index j, bool there, int most)
{
  enum { FEW = 32 };
  karst_parilu_match mine = {};
  int count = 0;
  if (there) mine = karst_parilu_match_start(S, i, j);
  const bool many = mine.end - mine.next > FEW;
  if (there && !many) karst_parilu_each_product(S, i, j, [&](karst_parilu_product) { return ++count < most; });
  for (unsigned waiting = __ballot_sync(~0u, many); waiting != 0; waiting &= waiting - 1) {
    const int of = __ffs((int)waiting) - 1;
    const karst_parilu_match m = karst_parilu_match_of(mine, of);
    const karst_index *shorter = karst_parilu_numbers(S, m.by_row), *longer = karst_parilu_numbers(S, !m.by_row);
    int found = 0;
    for (karst_index k = m.next; k < m.end && found < most; k += 32) {
      const karst_index entry = k + (karst_index)(threadIdx.x % 32);
      const bool hit = entry < m.end && karst_find_column(longer, m.first, m.last, shorter[entry]) >= 0;
      found += __popc(__ballot_sync(~0u, hit));
    }
    if ((int)(threadIdx.x % 32) == of) count = min(found, most);
  }
  return count;
}
#endif

#endif
