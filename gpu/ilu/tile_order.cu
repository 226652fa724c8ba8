/* tile_order.cu - the slots of triangles whose rows are in tiles (lib/tiling.h): tile after tile, and inside a tile
 * level set after level set, where only neighbours in the tile count. Neighbours in other tiles stand in earlier ones,
 * for tiles are consecutive rows; those of U' are taken from the last to the first. So the order of the slots is one of
 * elimination, whatever the fill ties together.
 *
 * A tile of the kernels is what a warp takes: small tiles of one colour are joined, for a warp has lanes to keep busy,
 * and large ones cut, for their rows are to fit into shared memory. */
#include "ilu.h"

namespace
{

enum { THREADS = 256, WARPS = THREADS / 32 };

const char *const what = "the tiles of block ILU";

/* Rows of one tile of the kernels: at least so many where the tiles of a colour allow, and at most so many. */
struct tile_limits {
  karst_index least, most;
};

tile_limits limits_for(int b) { return {64 / b, KARST_ILU_TILE_ROWS / b}; }

/* Appends the starts of tiles that rows begin .. end - 1 are cut into evenly. */
karst_index cut(karst_index begin, karst_index end, karst_index most, karst_index count, karst_index *start)
{
  const int64_t pieces = ((int64_t)end - begin + most - 1) / most;
  for (int64_t piece = 0; piece < pieces; piece++)
    start[count++] = (karst_index)(begin + piece * ((int64_t)end - begin) / pieces);
  return count;
}

/* start: room for the tiles of the tiling and for all that cutting adds. Returns how many tiles there are. */
karst_index cut_tiles(const karst_tiling *tiling, int b, karst_index *start)
{
  const tile_limits limits = limits_for(b);
  karst_index count = 0;
  for (karst_index colour = 0; colour < tiling->colours; colour++) {
    const karst_index end = tiling->colour_start[colour + 1];
    for (karst_index tile = tiling->colour_start[colour]; tile < end;) {
      const karst_index first = tiling->start[tile++];
      while (tile < end && tiling->start[tile] - first < limits.least && tiling->start[tile + 1] - first <= limits.most)
        tile++;
      count = cut(first, tiling->start[tile], limits.most, count, start);
    }
  }
  start[count] = tiling->start[tiling->tiles];
  return count;
}

/* One of the triangles, whose rows are eliminated ascending or descending. */
struct triangle_rows {
  const karst_index *start, *column;
  bool upper;
};

/* Returns the level of row i among the rows first .. end - 1 of its tile, or -1 while that of a neighbour is -1. */
__device__ karst_index level_in_tile(const triangle_rows &t, karst_index i, karst_index first, karst_index end,
                                     const karst_index *level)
{
  karst_index highest = -1;
  for (karst_index k = t.start[i]; k < t.start[i + 1]; k++) {
    const karst_index j = t.column[k];
    if (j < first || j >= end) continue;
    const karst_index of = *(const volatile karst_index *)&level[j];
    if (of < 0) return -1;
    highest = max(highest, of);
  }
  return highest + 1;
}

/* Finds the levels of the rows inside their tiles, a warp for each tile, and how many there are in each. level [rows]
 * is -1 at first. Of 32 rows after another the first whose level is not known can always be found. */
__global__ void __launch_bounds__(THREADS)
    find_levels_in_tiles(karst_index tiles, const karst_index *tile_start, triangle_rows t, karst_index *level,
                         karst_index *height)
{
  const int lane = (int)threadIdx.x % 32;
  const int64_t tile = (int64_t)blockIdx.x * WARPS + threadIdx.x / 32;
  if (tile >= tiles) return;
  const karst_index first = tile_start[tile], end = tile_start[tile + 1];
  karst_index highest = 0;
  for (karst_index done = 0; done < end - first; done += 32) {
    const karst_index i = t.upper ? end - 1 - done - lane : first + done + lane;
    const bool active = done + lane < end - first;
    karst_index mine = active ? -1 : 0;
    while (__any_sync(~0u, mine < 0)) {
      if (mine < 0) {
        mine = level_in_tile(t, i, first, end, level);
        if (mine >= 0) *(volatile karst_index *)&level[i] = mine;
      }
      __syncwarp();
    }
    if (active) highest = max(highest, mine);
  }
  for (int distance = 16; distance > 0; distance /= 2) highest = max(highest, __shfl_xor_sync(~0u, highest, distance));
  /* The tiles of U' are counted from the last one. */
  if (lane == 0) height[t.upper ? tiles - 1 - tile : tile] = highest + 1;
}

/* Adds to the levels in a tile those of all tiles before it; group: their sums. */
__global__ void number_groups(karst_index tiles, const karst_index *tile_start, bool upper, const karst_index *group,
                              karst_index *level)
{
  const int64_t tile = (int64_t)blockIdx.x * WARPS + threadIdx.x / 32;
  if (tile >= tiles) return;
  const karst_index before = group[upper ? tiles - 1 - tile : tile];
  for (karst_index i = tile_start[tile] + (karst_index)(threadIdx.x % 32); i < tile_start[tile + 1]; i += 32)
    level[i] += before;
}

/* The groups of one triangle, into level and group. */
karst_status group_rows(karst_context *context, const karst_ilu_tiles_cuda *tiles, const triangle_rows &t,
                        karst_index rows, karst_index *level, karst_index **group, karst_index *groups)
{
  cudaStream_t stream = karst_cuda_of(context)->stream;
  int64_t passing = 0;
  const int64_t count = (int64_t)tiles->count + 1;
  karst_status status = karst_ilu_take(context, count, what, group, &passing);
  if (status) return status;
  cudaMemsetAsync(level, 0xff, (size_t)rows * sizeof *level, stream);
  cudaMemsetAsync(*group, 0, (size_t)count * sizeof **group, stream);
  const unsigned grid = karst_ilu_grid(tiles->count, WARPS);
  find_levels_in_tiles<<<grid, THREADS, 0, stream>>>(tiles->count, tiles->start, t, level, *group);
  status = karst_ilu_sum_indices_cuda(context, count, *group);
  if (status) return status;
  number_groups<<<grid, THREADS, 0, stream>>>(tiles->count, tiles->start, t.upper, *group, level);
  return context->backend->download(context, groups, *group + tiles->count, sizeof *groups);
}

} // namespace

karst_status karst_ilu_cut_tiles_cuda(karst_context *context, const karst_ilu_analysis *analysis,
                                      karst_ilu_tiles_cuda *tiles)
{
  const karst_tiling *tiling = analysis->tiling;
  const int b = analysis->block_size;
  const int64_t most = (int64_t)tiling->tiles + (int64_t)analysis->rows / limits_for(b).most + 2;
  karst_index *start;
  karst_status status = karst_allocate(context, &start, most, sizeof *start, what);
  if (status) return status;
  tiles->count = cut_tiles(tiling, b, start);
  status = karst_device_indices(context, (int64_t)tiles->count + 1, start, what, &tiles->start);
  karst_release(context, start);
  return status;
}

karst_status karst_ilu_group_by_tiles_cuda(karst_context *context, karst_index rows, karst_ilu_pattern_cuda *pattern,
                                           karst_index *lower_level, karst_index *upper_level)
{
  karst_ilu_tiles_cuda *tiles = &pattern->tiles;
  const triangle_rows lower = {pattern->lower_start, pattern->lower_column, false};
  const triangle_rows upper = {pattern->upper_start, pattern->upper_column, true};
  karst_status status =
      group_rows(context, tiles, lower, rows, lower_level, &tiles->lower_group, &pattern->lower.count);
  if (status) return status;
  return group_rows(context, tiles, upper, rows, upper_level, &tiles->upper_group, &pattern->upper.count);
}

void karst_ilu_release_tiles_cuda(karst_context *context, karst_ilu_tiles_cuda *tiles)
{
  context->backend->release(context, tiles->start);
  context->backend->release(context, tiles->lower_group);
  context->backend->release(context, tiles->upper_group);
}
