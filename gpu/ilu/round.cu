/* round.cu - rounds the factors of block ILU to float, for the sweeps of factor-precision float, and reports the rows
 * that float cannot hold: a number is too large, or a row or a column of D^-1 becomes 0. The factorizations are in
 * double. */
#include "gpu/ilu/pivot_repair.h"
#include "gpu/ilu/tiles/tile_walk.h"

#include "lib/backend/dense.h"

namespace
{

enum { THREADS = 128 };

/* The slices of a triangle, a scalar row by each thread. */
template <bool upper>
__global__ void __launch_bounds__(THREADS)
    round_rows(const karst_triangle t, int b, karst_ilu_statistics_cuda *statistics)
{
  const int64_t number = blockIdx.x * (int64_t)THREADS + threadIdx.x, slot = number / b;
  const int r = (int)(number % b);
  if (slot >= t.rows) return;
  const int64_t slice = slot / t.group, stride = (int64_t)t.group * b, in_slice = slot % t.group * b;
  const int64_t first = t.start[slice] * b, end = t.start[slice + 1] * b;
  bool holds = true;
  for (int64_t column = first; column < end; column++) {
    const double x = t.value[column * stride + in_slice + r];
    t.single[column * stride + in_slice + r] = karst_round(x);
    holds = holds && !karst_overflows(x);
  }
  float in_row = 0, in_column = 0;
  for (int k = 0; k < b && upper; k++) {
    in_row += fabsf(karst_round(t.value[(first + k) * stride + in_slice + r]));
    in_column += fabsf(karst_round(t.value[(first + r) * stride + in_slice + k]));
  }
  if (upper) holds = holds && in_row > 0 && in_column > 0;
  if (!holds) karst_ilu_report_row(statistics, t.row[slot], KARST_FAULT_OUT_OF_RANGE);
}

/* The tiles of a triangle, a tile by each warp. */
template <bool upper>
__global__ void __launch_bounds__(THREADS)
    round_tiles(const karst_ilu_tiled tiled, karst_index tiles, int b, const double *value, float *single,
                karst_ilu_statistics_cuda *statistics)
{
  const int lane = (int)threadIdx.x % 32;
  const int64_t n = tile_of_warp();
  if (n >= tiles) return;
  const karst_ilu_tile tile = tiled.tile[n];
  const karst_ilu_step *step = steps_of(tiled, tile);
  const unsigned short *order = order_of(tiled, tile);
  const int64_t begin = tile.value * b * b;
  for (int s = 0; s < tile.steps; s++) {
    const int count = (step[s + 1].first - step[s].first) * b;
    const int64_t first = begin + step[s].block * b * b;
    for (int64_t k = lane; k < (int64_t)step[s].length * b * count; k += 32) {
      const double x = value[first + k];
      single[first + k] = karst_round(x);
      if (karst_overflows(x))
        karst_ilu_report_row(statistics, tile.row + order[step[s].first + k % count / b], KARST_FAULT_OUT_OF_RANGE);
    }
  }
  for (int k = lane; k < tile.rows * b && upper; k += 32) {
    const int stride = tile.rows * b, row = k / b * b, r = k % b;
    float in_row = 0, in_column = 0;
    bool holds = true;
    for (int c = 0; c < b; c++) {
      const double x = value[begin + c * stride + k];
      single[begin + c * stride + k] = karst_round(x);
      in_row += fabsf(karst_round(x));
      in_column += fabsf(karst_round(value[begin + r * stride + row + c]));
      holds = holds && !karst_overflows(x);
    }
    if (!(holds && in_row > 0 && in_column > 0))
      karst_ilu_report_row(statistics, tile.row + k / b, KARST_FAULT_OUT_OF_RANGE);
  }
}

void round_by_tiles(const karst_ilu_cuda *plan, cudaStream_t stream)
{
  const karst_ilu_both_tiled *both = karst_ilu_tiled_of(plan);
  const karst_ilu_tile_values value = karst_ilu_tile_values_of(plan);
  const unsigned grid = karst_cuda_grid(both->tiles, THREADS / 32);
  if (!value.lower_single) return;
  round_tiles<false><<<grid, THREADS, 0, stream>>>(both->lower, both->tiles, plan->block_size, value.lower,
                                                   value.lower_single, plan->statistics);
  round_tiles<true><<<grid, THREADS, 0, stream>>>(both->upper, both->tiles, plan->block_size, value.upper,
                                                  value.upper_single, plan->statistics);
}

} // namespace

void karst_ilu_round_cuda(karst_context *context, const karst_ilu_cuda *plan)
{
  const karst_triangle &lower = plan->lower, &upper = plan->upper;
  const unsigned grid = karst_cuda_grid((int64_t)lower.rows * plan->block_size, THREADS);
  cudaStream_t stream = karst_cuda_of(context)->stream;
  if (plan->sweep == &karst_ilu_sweep_tiles_cuda) round_by_tiles(plan, stream);
  if (!lower.single) return;
  round_rows<false><<<grid, THREADS, 0, stream>>>(lower, plan->block_size, plan->statistics);
  round_rows<true><<<grid, THREADS, 0, stream>>>(upper, plan->block_size, plan->statistics);
}
