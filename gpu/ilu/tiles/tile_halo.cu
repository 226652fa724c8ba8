/* tile_halo.cu - finds for each tile its halo, the rows of other tiles that it needs, and the tiles that it waits for
 * (tile_sweep.h), by sorting pairs of tile and row. */
#include "gpu/ilu/tiles/tile_sweep.h"
#include "gpu/warp_scan.h"

#include <cub/device/device_radix_sort.cuh>
#include <cub/device/device_select.cuh>

namespace
{

enum { THREADS = 256 };

const char *const what = "the tiles of block ILU";

typedef unsigned long long pair;

/* Reserves count places for this lane, by adding to *taken, and returns the first. The whole warp calls it. */
__device__ unsigned long long take_places(unsigned count, unsigned long long *taken)
{
  unsigned long long all, first = 0;
  const unsigned long long before = karst_cuda_sum_before<unsigned long long>(count, &all);
  if (threadIdx.x % 32 == 0 && all > 0) first = atomicAdd(taken, all);
  return __shfl_sync(~0u, first, 0) + before;
}

/* Stores the pairs of all rows, in any order and with repetitions; counts them if pair is NULL. */
__global__ void find_pairs(karst_ilu_tiling_cuda t, int row_bits, unsigned long long *count, pair *pair)
{
  const int64_t i = blockIdx.x * (int64_t)blockDim.x + threadIdx.x;
  const bool there = i < t.rows;
  const karst_index tile = there ? t.tiles.owner[i] : 0;
  const karst_index begin = there ? t.row_start[i] : 0, end = there ? t.row_start[i + 1] : 0;
  unsigned mine = 0;
  for (karst_index k = begin; k < end; k++) mine += t.tiles.owner[t.column[k]] != tile;
  unsigned long long at = take_places(mine, count);
  if (!pair || mine == 0) return;
  for (karst_index k = begin; k < end; k++)
    if (t.tiles.owner[t.column[k]] != tile)
      pair[at++] = (unsigned long long)tile << row_bits | (unsigned long long)t.column[k];
}

/* Marks the first pair of each tile with each other tile. */
__global__ void mark_waits(karst_ilu_halos_cuda halos, const karst_index *owner)
{
  const int64_t k = blockIdx.x * (int64_t)blockDim.x + threadIdx.x;
  if (k > halos.count) return;
  const int bits = halos.row_bits;
  const pair rows = ((pair)1 << bits) - 1, here = k < halos.count ? halos.pair[k] : 0;
  const pair before = k > 0 ? halos.pair[k - 1] : 0;
  halos.number[k] =
      k < halos.count && (k == 0 || here >> bits != before >> bits || owner[here & rows] != owner[before & rows]);
}

int bits_of(int64_t largest)
{
  int bits = 1;
  while (largest >> bits) bits++;
  return bits;
}

/* Sorts the pairs, which have that many bits, and removes repetitions. sorted: room for as many pairs. */
karst_status sort_pairs(karst_context *context, int bits, pair *sorted, unsigned long long *kept,
                        karst_ilu_halos_cuda *halos)
{
  cudaStream_t stream = karst_cuda_of(context)->stream;
  size_t sorting = 0, selecting = 0;
  void *work;
  unsigned long long count;
  pair *found = halos->pair;
  cub::DeviceRadixSort::SortKeys(NULL, sorting, found, sorted, halos->count, 0, bits, stream);
  cub::DeviceSelect::Unique(NULL, selecting, sorted, found, kept, halos->count, stream);
  karst_status status = karst_cuda_work_take(context, (sorting > selecting ? sorting : selecting) + 1, what, &work);
  if (status) return status;
  cudaError_t error = cub::DeviceRadixSort::SortKeys(work, sorting, found, sorted, halos->count, 0, bits, stream);
  if (error == cudaSuccess)
    error = cub::DeviceSelect::Unique(work, selecting, sorted, found, kept, halos->count, stream);
  status = karst_cuda_status(context, error, what);
  if (!status) status = context->backend->download(context, &count, kept, sizeof count);
  if (!status) halos->count = (int64_t)count;
  karst_cuda_work_release(context, work);
  return status;
}

/* number: work space for one count. */
karst_status find_and_sort(karst_context *context, const karst_ilu_tiling_cuda *t, unsigned long long *number,
                           karst_ilu_halos_cuda *halos)
{
  cudaStream_t stream = karst_cuda_of(context)->stream;
  const unsigned grid = karst_cuda_grid(t->rows, THREADS);
  unsigned long long count;
  pair *sorted;
  halos->row_bits = bits_of(t->rows);
  cudaMemsetAsync(number, 0, sizeof *number, stream);
  find_pairs<<<grid, THREADS, 0, stream>>>(*t, halos->row_bits, number, NULL);
  karst_status status = context->backend->download(context, &count, number, sizeof count);
  halos->count = (int64_t)count;
  if (!status) status = karst_cuda_take_work(context, halos->count, what, &halos->pair);
  if (status || count == 0) return status;
  status = karst_cuda_take_work(context, halos->count, what, &sorted);
  if (status) return status;
  cudaMemsetAsync(number, 0, sizeof *number, stream);
  find_pairs<<<grid, THREADS, 0, stream>>>(*t, halos->row_bits, number, halos->pair);
  status = sort_pairs(context, halos->row_bits + bits_of(t->tiles.count), sorted, number, halos);
  karst_cuda_work_release(context, sorted);
  return status;
}

} // namespace

karst_status karst_ilu_find_halos_cuda(karst_context *context, const karst_ilu_tiling_cuda *t,
                                       karst_ilu_halos_cuda *halos)
{
  unsigned long long *number;
  karst_status status = karst_cuda_take_work(context, 1, what, &number);
  if (status) return status;
  status = find_and_sort(context, t, number, halos);
  karst_cuda_work_release(context, number);
  if (!status) status = karst_cuda_take_work(context, halos->count + 1, what, &halos->number);
  if (status) return status;
  mark_waits<<<karst_cuda_grid(halos->count + 1, THREADS), THREADS, 0, karst_cuda_of(context)->stream>>>(
      *halos, t->tiles.owner);
  return karst_ilu_sum_indices_cuda(context, halos->count + 1, halos->number);
}

void karst_ilu_release_halos_cuda(karst_context *context, karst_ilu_halos_cuda *halos)
{
  karst_cuda_work_release(context, halos->pair, halos->number);
}
