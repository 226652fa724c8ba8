/* sets.cu - bins of rows, thread blocks and memory of the longest rows, for kernels that collect columns in sets. */
#include "gpu/amg/sets.h"

namespace
{

enum { THREADS = 256 };

/* The thread blocks that take all rows. */
template <int BIN> int64_t blocks_for(karst_index rows)
{
  using bin = karst_amg_bin<BIN>;
  return karst_cuda_grid(rows, bin::THREADS / bin::LANES);
}

/* Sums and maxima of integers have no order. */
__global__ void __launch_bounds__(THREADS)
    add_up(karst_index rows, const karst_index *__restrict__ number, karst_index most, karst_amg_tally *tally)
{
  using group = karst_amg_group<THREADS>;
  unsigned bin[KARST_AMG_BINS] = {};
  unsigned long long longest = 0, sum = 0;
  for (int64_t i = blockIdx.x * (int64_t)THREADS + threadIdx.x; i < rows; i += gridDim.x * (int64_t)THREADS) {
    const karst_index bound = min(number[i], most);
    const int mine = karst_amg_bin_of(bound);
    for (int k = 0; k < KARST_AMG_BINS; k++) bin[k] += bound > 0 && k == mine;
    longest = max(longest, (unsigned long long)bound);
    sum += (unsigned long long)number[i];
  }
  for (int k = 0; k < KARST_AMG_BINS; k++) {
    const unsigned all = group::sum(bin[k]);
    if (threadIdx.x == 0 && all > 0) atomicAdd(tally->bin + k, (unsigned long long)all);
  }
  longest = group::largest(longest);
  sum = group::sum(sum);
  if (threadIdx.x > 0 || longest == 0) return;
  atomicMax(&tally->longest, longest);
  atomicAdd(&tally->sum, sum);
}

int64_t lesser(int64_t a, int64_t b) { return a < b ? a : b; }

} // namespace

karst_status karst_amg_add_up_cuda(karst_context *context, karst_index rows, const karst_index *number,
                                   karst_index most, karst_amg_tally *tally)
{
  const int64_t grid = lesser(karst_cuda_grid(rows, THREADS), KARST_CUDA_SUMS);
  return karst_cuda_compute(context, 1, "the rows of a level", tally, [&](karst_amg_tally *memory) {
    add_up<<<(unsigned)grid, THREADS, 0, karst_cuda_of(context)->stream>>>(rows, number, most, memory);
  });
}

karst_status karst_amg_take_sets_cuda(karst_context *context, karst_index rows, const karst_amg_tally *tally,
                                      karst_amg_sets *sets)
{
  enum { SHARE = 16 /* thread blocks of a multiprocessor */, MOST = 1 << 26 /* elements for the long rows */ };
  enum { LAST = KARST_AMG_BINS - 1 };
  const int64_t all[] = {blocks_for<0>(rows), blocks_for<1>(rows), blocks_for<2>(rows), blocks_for<3>(rows)};
  int64_t most = (int64_t)SHARE * karst_cuda_of(context)->multiprocessors, room = 1;
  *sets = {};
  for (int bin = 0; bin < LAST; bin++) sets->blocks[bin] = tally->bin[bin] > 0 ? (unsigned)lesser(all[bin], most) : 0;
  if ((int64_t)tally->longest < karst_amg_bin<LAST - 1>::MOST) return KARST_SUCCESS; /* no row is postponed */
  while (room <= (int64_t)tally->longest) room *= 2;
  if (room > KARST_INDEX_MAX / 4)
    return karst_fail(context, KARST_ERROR_INDEX_OVERFLOW, "a row of the next level may have %llu entries",
                      tally->longest);
  if ((int64_t)tally->longest >= karst_amg_bin<LAST>::MOST)
    most = lesser(most, 3 * room < MOST ? MOST / (3 * room) : 1);
  else
    room = 0;
  sets->room = (karst_index)room;
  sets->blocks[LAST] = (unsigned)lesser(all[LAST], most);
  return room == 0
             ? KARST_SUCCESS
             : karst_cuda_take_work(context, 3 * room * sets->blocks[LAST], "the columns of long rows", &sets->memory);
}
