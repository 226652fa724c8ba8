/* tile_order.cu - the tiles of the kernels, from those that an ordering has made (lib/backend/tile_join.h), and the
 * order in which the steps of a sweep take their rows: level set after level set inside the tile, where only neighbours
 * in the tile count. */
#include "gpu/ilu/tiles/tile_sweep.h"
#include "gpu/warp_scan.h"

extern "C" {
#include "lib/backend/tile_join.h"
}

namespace
{

enum { THREADS = 256, WARPS = THREADS / 32 };

const char *const what = "the tiles of block ILU";

/* Returns the level of row i among the rows first .. end - 1 of its tile, or -1 while that of a neighbour is -1. */
__device__ karst_index level_in_tile(const karst_ilu_tiling_cuda &t, karst_index i, karst_index first, karst_index end)
{
  karst_index highest = -1;
  for (karst_index k = t.row_start[i]; k < t.row_start[i + 1]; k++) {
    const karst_index j = t.column[k];
    if (j < first || j >= end) continue;
    const karst_index of = *(const volatile karst_index *)&t.level[j];
    if (of < 0) return -1;
    highest = max(highest, of);
  }
  return highest + 1;
}

/* Finds the levels of the rows inside their tiles, a warp for each tile. level is -1 at first. Of 32 consecutive rows,
 * the level of the first unknown one can always be found. */
__global__ void __launch_bounds__(THREADS) find_levels_in_tiles(const karst_ilu_tiling_cuda t)
{
  const int lane = (int)threadIdx.x % 32;
  const int64_t tile = (int64_t)blockIdx.x * WARPS + threadIdx.x / 32;
  if (tile >= t.tiles.count) return;
  const karst_index first = t.tiles.start[tile], end = t.tiles.start[tile + 1];
  for (karst_index done = 0; done < end - first; done += 32) {
    const karst_index i = t.upper ? end - 1 - done - lane : first + done + lane;
    karst_index mine = done + lane < end - first ? -1 : 0;
    while (__any_sync(~0u, mine < 0)) {
      if (mine < 0) {
        mine = level_in_tile(t, i, first, end);
        if (mine >= 0) *(volatile karst_index *)&t.level[i] = mine;
      }
      __syncwarp();
    }
  }
}

/* How many lanes before this one, and how many in all, have its level. */
struct peers {
  int before, all;
};

__device__ peers find_peers(karst_index level)
{
  const int lane = (int)threadIdx.x % 32;
  peers found = {0, 0};
  for (int other = 0; other < 32; other++) {
    const bool same = __shfl_sync(~0u, level, other) == level;
    found.before += same && other < lane;
    found.all += same;
  }
  return found;
}

/* Sorts the rows of each tile by their levels, ascending in each, a warp for each tile. place [rows], 0 at first: where
 * the next row of each level of the tile goes. */
__global__ void __launch_bounds__(THREADS) sort_tiles(const karst_ilu_tiling_cuda t, karst_index *place)
{
  const int lane = (int)threadIdx.x % 32;
  const int64_t tile = (int64_t)blockIdx.x * WARPS + threadIdx.x / 32;
  if (tile >= t.tiles.count) return;
  const karst_index first = t.tiles.start[tile], rows = t.tiles.start[tile + 1] - first;
  volatile karst_index *next = place + first;
  for (karst_index k = 0; k < rows; k += 32) {
    const karst_index level = k + lane < rows ? t.level[first + k + lane] : -1;
    const peers found = find_peers(level);
    if (level >= 0 && found.before == 0) next[level] += found.all;
    __syncwarp();
  }
  karst_index sum = 0;
  for (karst_index k = 0; k < rows; k += 32) {
    const karst_index count = k + lane < rows ? next[k + lane] : 0;
    karst_index some;
    const karst_index before = karst_cuda_sum_before(count, &some);
    if (k + lane < rows) next[k + lane] = sum + before;
    sum += some;
  }
  __syncwarp();
  for (karst_index k = 0; k < rows; k += 32) {
    const karst_index level = k + lane < rows ? t.level[first + k + lane] : -1;
    const peers found = find_peers(level);
    const karst_index at = level >= 0 ? next[level] : 0;
    __syncwarp();
    if (level >= 0) t.order[first + at + found.before] = (unsigned short)(k + lane);
    if (level >= 0 && found.before == 0) next[level] = at + found.all;
    __syncwarp();
  }
}

__global__ void find_owners(karst_ilu_tiles_cuda tiles)
{
  const int64_t tile = (int64_t)blockIdx.x * WARPS + threadIdx.x / 32;
  if (tile >= tiles.count) return;
  for (karst_index i = tiles.start[tile] + (karst_index)(threadIdx.x % 32); i < tiles.start[tile + 1]; i += 32)
    tiles.owner[i] = (karst_index)tile;
}

/* start: [count + 1] host memory. */
karst_status take_tiles(karst_context *context, karst_index count, const karst_index *start,
                        karst_ilu_tiles_cuda *tiles)
{
  tiles->count = count;
  karst_status status = karst_cuda_upload_work(context, (int64_t)count + 1, start, what, &tiles->start);
  if (!status) status = karst_cuda_take_work(context, start[count], what, &tiles->owner);
  if (!status) find_owners<<<karst_cuda_grid(count, WARPS), THREADS, 0, karst_cuda_of(context)->stream>>>(*tiles);
  return status;
}

} // namespace

karst_status karst_ilu_join_tiles_cuda(karst_context *context, const karst_ilu_analysis *analysis,
                                       karst_ilu_tiles_cuda *tiles)
{
  const int64_t lower = analysis->lower_blocks, upper = analysis->upper_blocks;
  const karst_tile_limits limits =
      karst_tile_limits_for(analysis->tiling, analysis->block_size, lower > upper ? lower : upper);
  karst_index *start;
  karst_status status =
      karst_allocate(context, &start, karst_tile_most(analysis->tiling, &limits), sizeof *start, what);
  if (status) return status;
  status = take_tiles(context, karst_tile_join(analysis->tiling, &limits, start), start, tiles);
  karst_release(context, start);
  return status;
}

karst_status karst_ilu_cut_tiles_cuda(karst_context *context, int b, int64_t shared, const karst_ilu_tile *lower,
                                      const karst_ilu_tile *upper, karst_ilu_tiles_cuda *tiles, bool *cut)
{
  const auto pieces_of = [&](karst_index n) {
    const int64_t below = karst_ilu_tile_bytes(lower[n], b), above = karst_ilu_tile_bytes(upper[n], b);
    const int64_t pieces = ((below > above ? below : above) + shared - 1) / shared;
    return pieces < lower[n].rows ? pieces : lower[n].rows;
  };
  int64_t most = 0;
  for (karst_index n = 0; n < tiles->count; n++) most += pieces_of(n);
  *cut = most > tiles->count;
  if (!*cut) return KARST_SUCCESS;
  karst_index *start, count = 0, end = 0;
  karst_status status = karst_allocate(context, &start, most + 1, sizeof *start, what);
  if (status) return status;
  for (karst_index n = 0; n < tiles->count; n++) {
    end = lower[n].row + lower[n].rows;
    count = karst_tile_cut(lower[n].row, end, pieces_of(n), count, start);
  }
  start[count] = end;
  karst_cuda_work_release(context, tiles->start, tiles->owner);
  *tiles = {};
  status = take_tiles(context, count, start, tiles);
  karst_release(context, start);
  return status;
}

karst_status karst_ilu_order_tiles_cuda(karst_context *context, karst_ilu_tiling_cuda *t)
{
  cudaStream_t stream = karst_cuda_of(context)->stream;
  const unsigned grid = karst_cuda_grid(t->tiles.count, WARPS);
  karst_index *place;
  karst_status status = karst_cuda_take_work(context, t->rows, what, &t->order);
  if (!status) status = karst_cuda_take_work(context, t->rows, what, &t->level);
  if (!status) status = karst_cuda_take_work(context, t->rows, what, &place);
  if (status) return status;
  cudaMemsetAsync(t->level, 0xff, (size_t)t->rows * sizeof *t->level, stream);
  cudaMemsetAsync(place, 0, (size_t)t->rows * sizeof *place, stream);
  find_levels_in_tiles<<<grid, THREADS, 0, stream>>>(*t);
  sort_tiles<<<grid, THREADS, 0, stream>>>(*t, place);
  status = karst_cuda_status(context, cudaStreamSynchronize(stream), what);
  karst_cuda_work_release(context, place);
  return status;
}
