/* tile_walk.h - visits the steps of a tile as its record has them (tile_sweep.h), for the kernels that make data from
 * the sweeps' tiles. */
#ifndef KARST_GPU_ILU_TILES_TILE_WALK_H
#define KARST_GPU_ILU_TILES_TILE_WALK_H

#include "gpu/ilu/tiles/tile_sweep.h"

namespace
{

/* The tile of this warp, where each has one. */
__device__ __forceinline__ int64_t tile_of_warp() { return (blockIdx.x * (int64_t)blockDim.x + threadIdx.x) / 32; }

__device__ __forceinline__ const char *record_of_tile(const karst_ilu_tiled &tiled, const karst_ilu_tile &tile)
{
  return (const char *)(tiled.record + tile.record);
}

__device__ __forceinline__ const karst_ilu_step *steps_of(const karst_ilu_tiled &tiled, const karst_ilu_tile &tile)
{
  return (const karst_ilu_step *)record_of_tile(tiled, tile);
}

__device__ __forceinline__ const unsigned short *order_of(const karst_ilu_tiled &tiled, const karst_ilu_tile &tile)
{
  return (const unsigned short *)(record_of_tile(tiled, tile) + karst_ilu_record_of(tile).order);
}

/* Calls visit(step, count, row) for each step of a tile, by a warp whose lanes have the rows of the step or -1. */
template <typename visitor>
__device__ void each_step(const karst_ilu_tiled &tiled, const karst_ilu_tile &tile, visitor visit)
{
  const int lane = (int)threadIdx.x % 32;
  const karst_ilu_step *step = steps_of(tiled, tile);
  const unsigned short *order = order_of(tiled, tile);
  for (int s = 0; s < tile.steps; s++) {
    const int count = step[s + 1].first - step[s].first;
    visit(step[s], count, lane < count ? tile.row + order[step[s].first + lane] : (karst_index)-1);
    __syncwarp();
  }
}

} // namespace

#endif
