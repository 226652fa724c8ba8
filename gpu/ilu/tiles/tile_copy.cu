/* tile_copy.cu - copies the values of factors that are made in slices (ilu_cuda.h) to the tiles of the sweeps
 * (tile_sweep.h). */
#include "gpu/ilu/tiles/tile_walk.h"

namespace
{

enum { THREADS = 128, WARPS = THREADS / 32 };

const char *const what = "the tiles of block ILU";

/* The strict triangle by rows, by slices and by tiles. */
struct side {
  const karst_index *row_start, *column;
  const karst_index *slot; /* [rows] the slot of each row in the slices */
  karst_triangle triangle;
  karst_ilu_tiled tiled;
};

/* Returns the block of a row with a neighbour, which is number e in the order of elimination. */
template <bool upper>
__device__ karst_index block_of(const side &h, karst_index row, int64_t neighbours, int64_t e, karst_index neighbour)
{
  const karst_triangle &t = h.triangle;
  const int64_t slot = h.slot[row], first = t.start[slot / t.group] + (upper ? 1 : 0);
  const karst_index wanted = h.slot[neighbour];
  int64_t block = first * t.group + slot % t.group;
  if (neighbours > t.sorted) return (karst_index)(block + e * t.group);
  while (t.column[block] != wanted) block += t.group;
  return (karst_index)block;
}

/* Finds the blocks of each tile. from is -1 at first. */
template <bool upper> __global__ void __launch_bounds__(THREADS) find_blocks(const side h, karst_index tiles)
{
  const int lane = (int)threadIdx.x % 32;
  const int64_t n = tile_of_warp();
  if (n >= tiles) return;
  const karst_ilu_tile tile = h.tiled.tile[n];
  karst_index *from = h.tiled.from + tile.value;
  for (int k = lane; k < tile.rows && upper; k += 32) {
    const int64_t slot = h.slot[tile.row + k], group = h.triangle.group;
    from[k] = (karst_index)(h.triangle.start[slot / group] * group + slot % group);
  }
  each_step(h.tiled, tile, [&](const karst_ilu_step &step, int count, karst_index row) {
    if (row < 0) return;
    const karst_index begin = h.row_start[row], neighbours = h.row_start[row + 1] - begin;
    for (int64_t e = 0; e < neighbours; e++) {
      const karst_index j = h.column[upper ? begin + neighbours - 1 - e : begin + e];
      from[step.block + e * count + lane] = block_of<upper>(h, row, neighbours, e, j);
    }
  });
}

template <bool upper> karst_status find_side(karst_context *context, side *h, karst_index tiles, int64_t *bytes)
{
  cudaStream_t stream = karst_cuda_of(context)->stream;
  const karst_status status = karst_cuda_take(context, h->tiled.blocks, what, &h->tiled.from, bytes);
  if (status) return status;
  cudaMemsetAsync(h->tiled.from, 0xff, (size_t)h->tiled.blocks * sizeof *h->tiled.from, stream);
  find_blocks<upper><<<karst_cuda_grid(tiles, WARPS), THREADS, 0, stream>>>(*h, tiles);
  return KARST_SUCCESS;
}

/* Copies the blocks of a step, or of D^-1, from the triangle, by a warp. */
template <int B>
__device__ void copy_step(const karst_triangle &t, const karst_index *from, int count, int64_t length, double *value)
{
#pragma unroll 4
  for (int64_t k = threadIdx.x % 32; k < length * count * (B * B); k += 32) {
    const int64_t e = k / (count * (B * B));
    const int in_step = (int)(k - e * (count * (B * B))), c = in_step / (count * B), of = in_step - c * (count * B);
    const karst_index block = from[e * count + of / B];
    value[k] = block < 0 ? 0 : *karst_ilu_element<B>(t, block, of % B, c);
  }
}

/* Copies the values of a triangle. Scalars are copied without regard to steps. */
template <int B, bool upper>
__global__ void __launch_bounds__(THREADS)
    copy_values(const karst_triangle t, const karst_ilu_tiled tiled, karst_index tiles, double *value)
{
  const int64_t thread = blockIdx.x * (int64_t)blockDim.x + threadIdx.x;
  if (B == 1) {
    const karst_index block = thread < tiled.blocks ? tiled.from[thread] : -1;
    if (thread < tiled.blocks) value[thread] = block < 0 ? 0 : t.value[block];
    return;
  }
  if (thread / 32 >= tiles) return;
  const karst_ilu_tile tile = tiled.tile[thread / 32];
  const karst_ilu_step *step = (const karst_ilu_step *)(tiled.record + tile.record);
  const karst_index *from = tiled.from + tile.value;
  value += tile.value * (B * B);
  if (upper) copy_step<B>(t, from, tile.rows, 1, value);
  for (int s = 0; s < tile.steps; s++) {
    const karst_ilu_step now = step[s];
    copy_step<B>(t, from + now.block, step[s + 1].first - now.first, now.length, value + now.block * (B * B));
  }
}

template <int B, bool upper>
void copy_side(cudaStream_t stream, const karst_triangle &t, const karst_ilu_tiled &tiled, karst_index tiles,
               double *value)
{
  const int64_t warps = B == 1 ? (tiled.blocks + 31) / 32 : tiles;
  if (warps > 0) copy_values<B, upper><<<karst_cuda_grid(warps, WARPS), THREADS, 0, stream>>>(t, tiled, tiles, value);
}

} // namespace

karst_status karst_ilu_find_blocks_cuda(karst_context *context, const karst_ilu_pattern_cuda *pattern,
                                        karst_ilu_analysis *analysis, karst_ilu_both_tiled *both)
{
  const karst_ilu_cuda *plan = karst_ilu_cuda_of(analysis);
  int64_t *bytes = &analysis->plan_memory;
  side lower = {pattern->lower_start, pattern->lower_column, pattern->lower_slot, plan->lower, both->lower};
  side upper = {pattern->upper_start, pattern->upper_column, pattern->upper_slot, plan->upper, both->upper};
  karst_status status = find_side<false>(context, &lower, both->tiles, bytes);
  both->lower.from = lower.tiled.from;
  if (!status) status = find_side<true>(context, &upper, both->tiles, bytes);
  both->upper.from = upper.tiled.from;
  return status;
}

void karst_ilu_copy_values_cuda(karst_context *context, const karst_ilu_cuda *plan, const karst_ilu_both_tiled *both,
                                karst_ilu_tile_values value)
{
  cudaStream_t stream = karst_cuda_of(context)->stream;
  karst_cuda_instance(plan->block_size, [&](auto size) {
    constexpr int B = decltype(size)::value;
    if constexpr (B > 0) {
      copy_side<B, false>(stream, plan->lower, both->lower, both->tiles, value.lower);
      copy_side<B, true>(stream, plan->upper, both->upper, both->tiles, value.upper);
    }
  });
}
