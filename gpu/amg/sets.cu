/* sets.cu - bins of rows, thread blocks and memory of the longest rows, for kernels that collect columns in sets. */
#include "gpu/amg/sets.h"
#include "gpu/ilu/ilu_cuda.h"

namespace
{

enum { THREADS = 256 };

const char *const what = "the rows of a level";

/* Adds up the numbers, and lists the rows of each bin, from least on, unless list is empty. Sums and
 * maxima of integers have no order, and neither has the list of a bin. */
__global__ void __launch_bounds__(THREADS)
    sort_rows(karst_index rows, const karst_index *__restrict__ number, int least, karst_amg_sets sets)
{
  using group = karst_amg_group<THREADS>;
  __shared__ unsigned long long begin[KARST_AMG_BINS];
  const int64_t i = blockIdx.x * (int64_t)THREADS + threadIdx.x;
  const unsigned long long mine = i < rows ? (unsigned long long)number[i] : 0, longest = group::largest(mine);
  const unsigned long long sum = group::sum(mine);
  if (longest == 0) return;
  if (threadIdx.x == 0) {
    atomicMax(&sets.tally->longest, longest);
    atomicAdd(&sets.tally->sum, sum);
  }
  if (!sets.list[0]) return;
  const int bin = mine > 0 ? max(karst_amg_bin_of((int64_t)mine), least) : -1;
  karst_index at = 0, all;
  for (int k = 0; k < KARST_AMG_BINS; k++) {
    const karst_index before = group::count_before(bin == k, &all);
    if (bin == k) at = before;
    if (threadIdx.x == 0 && all > 0) begin[k] = atomicAdd(sets.tally->bin + k, (unsigned long long)all);
  }
  __syncthreads();
  if (bin >= 0) sets.list[0][bin * (int64_t)rows + (int64_t)begin[bin] + at] = (karst_index)i;
}

int64_t lesser(int64_t a, int64_t b) { return a < b ? a : b; }

/* The last bin in which the lanes of all rows fit on the device: the rows of a small level get many. */
template <int BIN = KARST_AMG_BINS - 1> int least_bin(const struct karst_cuda *cuda, karst_index rows)
{
  enum { RESIDENT = 2048 /* threads of a multiprocessor */ };
  if constexpr (BIN > 0)
    if ((int64_t)rows * karst_amg_bin<BIN>::LANES > (int64_t)RESIDENT * cuda->multiprocessors)
      return least_bin<BIN - 1>(cuda, rows);
  return BIN;
}

/* Launches the kernel, and begins to download what it finds. */
karst_status begin(karst_context *context, karst_index rows, const karst_index *number, const karst_amg_sets &sets,
                   karst_amg_tally *found)
{
  cudaStream_t stream = karst_cuda_of(context)->stream;
  cudaMemsetAsync(sets.tally, 0, sizeof *sets.tally, stream);
  sort_rows<<<karst_cuda_grid(rows, THREADS), THREADS, 0, stream>>>(rows, number,
                                                                    least_bin(karst_cuda_of(context), rows), sets);
  return karst_download_begin_cuda(context, found, sets.tally, sizeof *found);
}

/* The thread blocks of the bins: none for one that has no rows and gets none from the bin before. */
template <int BIN = 0> void set_blocks(karst_index rows, int64_t longest, int64_t most, karst_amg_sets *sets)
{
  using bin = karst_amg_bin<BIN>;
  bool gets = sets->found.bin[BIN] > 0;
  if constexpr (BIN > 0) gets |= sets->blocks[BIN - 1] > 0 && longest >= karst_amg_bin<BIN - 1>::MOST;
  sets->blocks[BIN] = gets ? (unsigned)lesser(karst_cuda_grid(rows, bin::THREADS / bin::LANES), most) : 0;
  if constexpr (BIN + 1 < KARST_AMG_BINS) set_blocks<BIN + 1>(rows, longest, most, sets);
}

} // namespace

karst_status karst_amg_sum_rows_cuda(karst_context *context, karst_amg_matrix *matrix)
{
  karst_amg_sets sets = {};
  karst_amg_tally found = {};
  karst_status status = karst_cuda_take_work(context, 1, what, &sets.tally);
  if (!status) status = begin(context, matrix->rows, matrix->row_start, sets, &found);
  if (!status) {
    status = karst_ilu_sum_indices_cuda(context, (int64_t)matrix->rows + 1, matrix->row_start);
    const karst_status end = karst_download_end_cuda(context);
    if (!status) status = end;
  }
  karst_cuda_work_release(context, sets.tally);
  matrix->entries = (int64_t)found.sum;
  matrix->longest = (karst_index)found.longest;
  return status;
}

karst_status karst_amg_sort_rows_cuda(karst_context *context, karst_index rows, const karst_index *number,
                                      karst_index columns, karst_amg_sets *sets)
{
  enum { SHARE = 16 /* thread blocks of a multiprocessor */, MOST = 1 << 26 /* elements for the long rows */ };
  enum { LAST = KARST_AMG_BINS - 1 };
  int64_t room = 1;
  karst_status status = karst_cuda_take_work(context, 1, what, &sets->tally);
  if (!status) status = karst_cuda_take_work(context, KARST_AMG_BINS * (int64_t)rows, what, &sets->list[0]);
  if (status) return status;
  for (int bin = 1; bin <= LAST; bin++) sets->list[bin] = sets->list[bin - 1] + rows;
  status = begin(context, rows, number, *sets, &sets->found);
  if (!status) status = karst_download_end_cuda(context);
  if (status) return status;
  const int64_t longest = lesser((int64_t)sets->found.longest, columns);
  set_blocks(rows, longest, (int64_t)SHARE * karst_cuda_of(context)->multiprocessors, sets);
  if (longest < karst_amg_bin<LAST>::MOST) return KARST_SUCCESS;
  while (room <= longest) room *= 2;
  if (room > KARST_INDEX_MAX / 4)
    return karst_fail(context, KARST_ERROR_INDEX_OVERFLOW, "a row of the next level may have %lld entries",
                      (long long)longest);
  sets->room = (karst_index)room;
  sets->blocks[LAST] = (unsigned)lesser(sets->blocks[LAST], 3 * room < MOST ? MOST / (3 * room) : 1);
  return karst_cuda_take_work(context, 3 * room * sets->blocks[LAST], what, &sets->memory);
}
