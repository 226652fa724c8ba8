/* tile_products.cu - measures the factorization by tiles (tile_factor.h): the number of products of each tile, the
 * waves in which blocks are made, the blocks of other tiles, and whether every tile finds room. */
#include "gpu/ilu/tiles/tile_products.h"

#include <cub/warp/warp_reduce.cuh>

namespace
{

const char *const what = "the factorization by tiles";

/* Finds position, place and owner from the tiles of the upper triangle. */
__global__ void __launch_bounds__(THREADS) place_rows(karst_ilu_products_view v)
{
  const int64_t n = tile_of_warp();
  if (n >= v.tiles) return;
  const karst_ilu_tile tile = v.upper.tiled.tile[n];
  v.position[tile.number] = (karst_index)n;
  each_step(v.upper.tiled, tile, [&](const karst_ilu_step &step, int count, karst_index row) {
    const int of = (int)threadIdx.x % 32;
    if (row < 0) return;
    v.place[row] = {(int)step.block + of, (unsigned short)count, (unsigned short)of};
    v.owner[row] = tile.number;
  });
}

/* Moves the inner job of a block behind its outer one, once all its products are known. Returns ready_at. */
__device__ int order_jobs(const karst_ilu_products_view &v, int64_t block)
{
  unsigned short *ready = v.ready + 2 * block;
  if (ready[KARST_ILU_INNER] > 0 && ready[KARST_ILU_INNER] <= ready[KARST_ILU_OUTER])
    ready[KARST_ILU_INNER] = (unsigned short)(ready[KARST_ILU_OUTER] + 1);
  return ready_at(v, block);
}

/* Does so for the blocks of a row. The last job of the diagonal block is in no earlier wave than the others; a diagonal
 * block without products gets a job. Returns one more than that wave. */
__device__ int order_jobs_of_row(const karst_ilu_products_view &v, const row_view &row)
{
  const int64_t blocks = (row.lower_end - row.lower) + 1 + (int64_t)(row.upper_end - row.upper);
  unsigned short *ready = v.ready + 2 * row.diagonal;
  int last = 1;
  for (int64_t k = 0; k < blocks; k++) last = max(last, order_jobs(v, row.first + k));
  ready[ready[KARST_ILU_OUTER] > ready[KARST_ILU_INNER] ? KARST_ILU_OUTER : KARST_ILU_INNER] = (unsigned short)last;
  return last;
}

/* Finds the waves of a row's products, counts them, and marks the blocks of other tiles. Returns how many numbers list
 * them. */
__device__ int measure_row(const karst_ilu_products_view &v, const tile_view &t, const row_view &row)
{
  int numbers = 0;
  int64_t left = row.first;
  for (karst_index k = row.lower; k < row.lower_end; k++, left++) {
    const karst_index pivot = v.lower.column[k];
    const int from = find_outside(v, t, pivot), kind = from < 0 ? KARST_ILU_INNER : KARST_ILU_OUTER;
    /* A row of the tile is complete when its diagonal block is inverted. */
    const int after = max(order_jobs(v, left), from < 0 ? ready_at(v, diagonal_block(v, pivot)) : 0) + 1;
    each_product(v, row, pivot, [&](int e, int64_t target) {
      if (from >= 0) use(&t.used[from], e);
      unsigned short &ready = v.ready[2 * target + kind];
      if (after > ready) ready = (unsigned short)after;
      v.count[2 * target + kind]++;
      numbers += karst_ilu_product_length(kind);
    });
  }
  return numbers;
}

/* Returns whether the tile is too large to be measured: its blocks cannot be numbered, or one of its rows would keep a
 * lane busy for long. */
__device__ bool too_large(const karst_ilu_products_view &v, const karst_ilu_tile &tile, const karst_ilu_tile &upper)
{
  enum { MOST_PRODUCTS = 8192 };
  const range blocks = blocks_of(v, tile);
  bool large = blocks.end - blocks.first >= KARST_ILU_NO_BLOCK || tile.blocks >= KARST_ILU_NO_BLOCK ||
               upper.blocks >= KARST_ILU_NO_BLOCK || tile.halos >= KARST_ILU_NO_BLOCK || tile.rows >= KARST_ILU_EARLY;
  for (int q = (int)threadIdx.x % 32; q < tile.rows && !large; q += 32) {
    const karst_index i = tile.row + q;
    int64_t products = v.lower.start[i + 1] - v.lower.start[i];
    for (karst_index k = v.lower.start[i]; k < v.lower.start[i + 1] && products <= MOST_PRODUCTS; k++)
      products += v.upper.start[v.lower.column[k] + 1] - v.upper.start[v.lower.column[k]];
    large = products > MOST_PRODUCTS;
  }
  return __any_sync(~0u, large);
}

/* Returns the sum over the warp in its first lane. */
__device__ int sum_of_warp(int mine)
{
  __shared__ cub::WarpReduce<int>::TempStorage empty; /* for whole warps exchange by shuffles */
  return cub::WarpReduce<int>(empty).Sum(mine);
}

/* Counts the products, waves and jobs of a tile, and the blocks of other tiles. The first lane gets the results. */
__device__ void measure_products(const karst_ilu_products_view &v, const tile_view &t, karst_ilu_factor_tile *m)
{
  const range blocks = blocks_of(v, t.tile);
  int products = 0, jobs = 0, outside = 0;
  unsigned waves = 0;
  each_step(v.lower.tiled, t.tile, [&](const karst_ilu_step &, int, karst_index i) {
    if (i < 0) return;
    const row_view row = row_at(v, i);
    products += measure_row(v, t, row);
    waves = max(waves, (unsigned)order_jobs_of_row(v, row));
  });
  for (int64_t k = 2 * blocks.first + threadIdx.x % 32; k < 2 * blocks.end; k += 32) jobs += v.ready[k] > 0;
  for (int k = (int)threadIdx.x % 32; k < t.tile.halos; k += 32) outside += count_outside(v, t, k);
  m->products = sum_of_warp(products);
  m->waves = (int)karst_largest_of_warp(waves);
  m->jobs = sum_of_warp(jobs);
  m->outside = sum_of_warp(outside);
}

/* units: [tiles + 1] the size of each tile's record in units of 16 bytes, then 0. *largest, 0 at first: bytes of shared
 * memory of the largest tile; all ones if a tile is too large. */
__global__ void __launch_bounds__(THREADS, TOGETHER)
    measure(karst_ilu_products_view v, karst_ilu_tile_lists lists, int64_t *units, unsigned long long *largest)
{
  const int64_t n = tile_of_warp();
  if (n == v.tiles && threadIdx.x % 32 == 0) units[n] = 0;
  if (n >= v.tiles) return;
  const tile_view t = tile_at(v, n);
  const karst_ilu_tile &lower = t.tile, upper = v.upper.tiled.tile[v.position[lower.number]];
  const range blocks = blocks_of(v, lower);
  bool large = too_large(v, lower, upper);
  karst_ilu_factor_tile m = {};
  if (!large) measure_products(v, t, &m);
  large = large || blocks.end - blocks.first + m.outside >= KARST_ILU_NO_BLOCK;
  if (threadIdx.x % 32 > 0) return;
  m.lower = lower.value;
  m.upper = upper.value;
  m.source = v.row_start[lower.row];
  m.row = lower.row;
  m.number = lower.number;
  m.rows = lower.rows;
  m.waits = lower.waits;
  m.blocks = (int)(blocks.end - blocks.first);
  m.lower_steps = lower.steps;
  m.upper_steps = upper.steps;
  m.lower_blocks = (int)lower.blocks;
  m.upper_blocks = (int)upper.blocks;
  m.fill = v.row_start[lower.row + lower.rows] - m.source != m.blocks;
  lists.tile[n] = m;
  units[n] = karst_ilu_factor_record_of(m).bytes / 16;
  atomicMax(largest, large ? ~0ull : (unsigned long long)karst_ilu_factor_bytes(m, v.block_size));
}

/* How many rows of other tiles each tile needs; the one past the last has none. */
__global__ void count_halos(karst_index tiles, const karst_ilu_tile *tile, int64_t *halo)
{
  const int64_t n = blockIdx.x * (int64_t)blockDim.x + threadIdx.x;
  if (n <= tiles) halo[n] = n < tiles ? tile[n].halos : 0;
}

/* Work space besides the karst_ilu_products_view's. */
struct sizes {
  int64_t *units;              /* [tiles + 1] */
  unsigned long long *largest; /* one */
};

karst_status take_halos(karst_context *context, karst_ilu_products_view *v)
{
  cudaStream_t stream = karst_cuda_of(context)->stream;
  const int64_t ends = (int64_t)v->tiles + 1;
  int64_t halos;
  karst_status status = karst_cuda_take_work(context, ends, what, &v->halo);
  if (status) return status;
  count_halos<<<karst_cuda_grid(ends, THREADS), THREADS, 0, stream>>>(v->tiles, v->lower.tiled.tile, v->halo);
  status = karst_ilu_sum_offsets_cuda(context, ends, v->halo);
  if (!status) status = context->backend->download(context, &halos, v->halo + v->tiles, sizeof halos);
  if (!status) status = karst_cuda_take_work(context, halos, what, &v->used);
  if (!status) status = karst_cuda_take_work(context, halos, what, &v->outside);
  if (!status) cudaMemsetAsync(v->used, 0, (size_t)halos * sizeof *v->used, stream);
  return status;
}

karst_status take(karst_context *context, const karst_ilu_analysis *analysis, karst_ilu_products_view *v, sizes *w)
{
  cudaStream_t stream = karst_cuda_of(context)->stream;
  const int64_t rows = analysis->rows, blocks = analysis->lower_blocks + analysis->upper_blocks + rows;
  karst_status status = karst_cuda_take_work(context, rows, what, &v->owner);
  if (!status) status = karst_cuda_take_work(context, v->tiles, what, &v->position);
  if (!status) status = karst_cuda_take_work(context, rows, what, &v->place);
  if (!status) status = karst_cuda_take_work(context, 2 * blocks, what, &v->ready);
  if (!status) status = karst_cuda_take_work(context, 2 * blocks, what, &v->count);
  if (!status) status = karst_cuda_take_work(context, (int64_t)v->tiles + 1, what, &w->units);
  if (!status) status = karst_cuda_take_work(context, 1, what, &w->largest);
  if (!status) status = take_halos(context, v);
  if (status) return status;
  cudaMemsetAsync(v->ready, 0, 2 * (size_t)blocks * sizeof *v->ready, stream);
  cudaMemsetAsync(v->count, 0, 2 * (size_t)blocks * sizeof *v->count, stream);
  cudaMemsetAsync(w->largest, 0, sizeof *w->largest, stream);
  return KARST_SUCCESS;
}

void give_back(karst_context *context, const karst_ilu_products_view &v, const sizes &w)
{
  karst_cuda_work_release(context, v.owner, v.position, v.place, v.ready, v.count, v.halo, v.used, v.outside, w.units,
                          w.largest);
}

karst_status measure_all(karst_context *context, const karst_ilu_products_view &v, const sizes &w,
                         karst_ilu_tile_lists *lists, int64_t *bytes)
{
  cudaStream_t stream = karst_cuda_of(context)->stream;
  const unsigned grid = karst_cuda_grid((int64_t)v.tiles + 1, WARPS);
  unsigned long long largest;
  karst_status status = karst_cuda_take(context, v.tiles, what, &lists->tile, bytes);
  if (status) return status;
  place_rows<<<grid, THREADS, 0, stream>>>(v);
  measure<<<grid, THREADS, 0, stream>>>(v, *lists, w.units, w.largest);
  status = context->backend->download(context, &largest, w.largest, sizeof largest);
  lists->shared = largest > (unsigned long long)INT64_MAX ? INT64_MAX : (int64_t)largest;
  return status;
}

karst_status write_all(karst_context *context, const karst_ilu_products_view &v, const sizes &w,
                       karst_ilu_tile_lists *lists, int64_t *bytes)
{
  cudaStream_t stream = karst_cuda_of(context)->stream;
  int64_t units;
  karst_status status = karst_ilu_sum_offsets_cuda(context, (int64_t)v.tiles + 1, w.units);
  if (!status) status = context->backend->download(context, &units, w.units + v.tiles, sizeof units);
  if (!status) status = karst_cuda_take(context, units, what, &lists->record, bytes);
  if (status) return status;
  karst_ilu_write_tile_lists_cuda(stream, &v, lists, w.units);
  return karst_cuda_status(context, cudaStreamSynchronize(stream), what);
}

} // namespace

karst_status karst_ilu_list_by_tiles_cuda(karst_context *context, const karst_matrix *A,
                                          const karst_ilu_pattern_cuda *pattern, int64_t limit,
                                          karst_ilu_analysis *analysis, karst_ilu_tile_lists *lists)
{
  const karst_ilu_cuda *plan = karst_ilu_cuda_of(analysis);
  const karst_ilu_both_tiled *both = karst_ilu_tiled_of(plan);
  int64_t bytes = 0;
  sizes w = {};
  karst_ilu_products_view v = {};
  v.tiles = both->tiles;
  v.block_size = plan->block_size;
  v.diagonal_alone = analysis->diagonal_alone;
  v.row_start = A->device_row_start;
  v.column = A->device_column;
  v.lower = {pattern->lower_start, pattern->lower_column, both->lower};
  v.upper = {pattern->upper_start, pattern->upper_column, both->upper};
  *lists = {};
  karst_status status = take(context, analysis, &v, &w);
  if (!status) status = measure_all(context, v, w, lists, &bytes);
  const bool fits = !status && lists->shared <= limit;
  if (fits) status = write_all(context, v, w, lists, &bytes);
  if (fits && !status)
    analysis->plan_memory += bytes;
  else
    karst_ilu_release_tile_lists_cuda(context, lists);
  give_back(context, v, w);
  return status;
}

void karst_ilu_release_tile_lists_cuda(karst_context *context, karst_ilu_tile_lists *lists)
{
  karst_cuda_release(context, lists->tile, lists->record);
  *lists = {};
}
