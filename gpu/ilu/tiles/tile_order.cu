/* tile_order.cu - the tiles of the kernels, from those that an ordering has made (lib/backend/tiling.h), and the order
 * in which the steps of a sweep take their rows: level set after level set inside the tile, where only neighbours in
 * the tile count.
 *
 * A warp takes one tile of the kernels. Small tiles of one colour are joined to keep its lanes busy; large ones are cut
 * so that their rows fit into shared memory. The rows of a tile stay consecutive, so that taking the tiles one by one
 * keeps the order of elimination, whatever rows the fill connects. */
#include "gpu/ilu/tiles/tile_sweep.h"
#include "gpu/warp_scan.h"

namespace
{

enum { THREADS = 256, WARPS = THREADS / 32 };

const char *const what = "the tiles of block ILU";

/* Rows of a tile of the kernels. Tiles of fewer than least rows are joined until they have that many, up to joined
 * rows, because the largest tile determines the shared memory of all. Tiles of more than most rows are cut. */
struct tile_limits {
  karst_index least, joined, most;
};

/* Returns how many rows of average length a tile may have so that its values fit into shared memory. */
karst_index most_rows(const karst_ilu_analysis *analysis)
{
  enum { MOST_BYTES = 48 * 1024 };
  const int64_t b = analysis->block_size, rows = analysis->rows;
  const int64_t longer =
      analysis->lower_blocks > analysis->upper_blocks ? analysis->lower_blocks : analysis->upper_blocks;
  const int64_t bytes = ((longer + rows - 1) / rows + 1) * b * b * (int64_t)sizeof(double), most = MOST_BYTES / bytes;
  return (karst_index)(most < 1 ? 1 : most * b < KARST_ILU_TILE_ROWS ? most : KARST_ILU_TILE_ROWS / b);
}

tile_limits limits_for(const karst_ilu_analysis *analysis)
{
  enum { LEAST = 128 };
  const karst_tiling *tiling = analysis->tiling;
  const int b = analysis->block_size;
  tile_limits limits = {LEAST / b, 0, most_rows(analysis)};
  for (karst_index tile = 0; tile < tiling->tiles; tile++) {
    const karst_index rows = tiling->start[tile + 1] - tiling->start[tile];
    if (rows > limits.joined) limits.joined = rows;
  }
  if (limits.joined < limits.least) limits.joined = 2 * limits.least;
  if (limits.joined > limits.most) limits.joined = limits.most;
  return limits;
}

/* Cuts rows begin .. end - 1 evenly into tiles of at most most rows, and appends their starts. Returns the new
 * count. */
karst_index cut(karst_index begin, karst_index end, karst_index most, karst_index count, karst_index *start)
{
  const int64_t pieces = ((int64_t)end - begin + most - 1) / most;
  for (int64_t piece = 0; piece < pieces; piece++)
    start[count++] = (karst_index)(begin + piece * ((int64_t)end - begin) / pieces);
  return count;
}

/* start: room for the tiles of the tiling and for all that cutting adds. Returns how many tiles there are. */
karst_index cut_tiles(const karst_tiling *tiling, const tile_limits &limits, karst_index *start)
{
  karst_index count = 0;
  for (karst_index colour = 0; colour < tiling->colours; colour++) {
    const karst_index end = tiling->colour_start[colour + 1];
    for (karst_index tile = tiling->colour_start[colour]; tile < end;) {
      const karst_index first = tiling->start[tile++];
      while (tile < end && tiling->start[tile] - first < limits.least &&
             tiling->start[tile + 1] - first <= limits.joined)
        tile++;
      count = cut(first, tiling->start[tile], limits.most, count, start);
    }
  }
  start[count] = tiling->start[tiling->tiles];
  return count;
}

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

} // namespace

karst_status karst_ilu_cut_tiles_cuda(karst_context *context, const karst_ilu_analysis *analysis,
                                      karst_ilu_tiles_cuda *tiles)
{
  const karst_tiling *tiling = analysis->tiling;
  const tile_limits limits = limits_for(analysis);
  const int64_t most = (int64_t)tiling->tiles + (int64_t)analysis->rows / limits.most + 2;
  karst_index *start;
  karst_status status = karst_allocate(context, &start, most, sizeof *start, what);
  if (status) return status;
  tiles->count = cut_tiles(tiling, limits, start);
  status = karst_cuda_upload_work(context, (int64_t)tiles->count + 1, start, what, &tiles->start);
  karst_release(context, start);
  if (!status) status = karst_cuda_take_work(context, analysis->rows, what, &tiles->owner);
  if (!status)
    find_owners<<<karst_cuda_grid(tiles->count, WARPS), THREADS, 0, karst_cuda_of(context)->stream>>>(*tiles);
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
