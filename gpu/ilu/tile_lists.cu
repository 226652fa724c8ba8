/* tile_lists.cu - the records of the factorization by tiles (tile_factor.h), once their products are measured
 * (tile_products.cu). */
#include "tile_products.h"

namespace
{

/* A tile's record under way. */
struct writer {
  karst_ilu_wave *wave;
  karst_ilu_job *job;
  unsigned long long *outside;
  karst_ilu_short_step *step;
  karst_index *wait;
  karst_ilu_short_product *product;
  karst_ilu_pivot *pivot;
  karst_ilu_quotient *quotient;
  unsigned short *row, *place, *divisor, *source;
};

__device__ writer writer_of(char *record, const karst_ilu_making &m)
{
  const karst_ilu_making_record at = karst_ilu_making_record_of(m);
  return {(karst_ilu_wave *)record,
          (karst_ilu_job *)(record + at.job),
          (unsigned long long *)(record + at.outside),
          (karst_ilu_short_step *)(record + at.step),
          (karst_index *)(record + at.wait),
          (karst_ilu_short_product *)(record + at.product),
          (karst_ilu_pivot *)(record + at.pivot),
          (karst_ilu_quotient *)(record + at.quotient),
          (unsigned short *)(record + at.row),
          (unsigned short *)(record + at.place),
          (unsigned short *)(record + at.divisor),
          (unsigned short *)(record + at.source)};
}

/* Lists the jobs of one kind that are of a wave; their counts become the places of their first products. */
__device__ void list_jobs(const karst_ilu_products_view &v, const range &blocks, int kind, int wave, int *jobs,
                          int *products, karst_ilu_job *job)
{
  const int lane = (int)threadIdx.x % 32;
  for (int64_t k = blocks.first + lane; k - lane < blocks.end; k += 32) {
    const bool mine = k < blocks.end && v.ready[2 * k + kind] == wave + 1;
    const unsigned all = __ballot_sync(~0u, mine);
    if (all == 0) continue;
    int sum;
    const int begin = *products + sum_before(mine ? v.count[2 * k + kind] : 0, &sum);
    if (mine) {
      job[*jobs + __popc(all & ((1u << lane) - 1))] = {begin, (int)(k - blocks.first)};
      v.count[2 * k + kind] = begin;
    }
    *jobs += __popc(all);
    *products += sum;
  }
}

/* Lists the rows whose pivots are of a wave, and their blocks of U'. */
__device__ void list_pivots(const karst_ilu_products_view &v, const karst_ilu_tile &tile, int wave, int *pivots,
                            int *quotients, const writer &to)
{
  const int lane = (int)threadIdx.x % 32;
  for (int k = lane; k - lane < tile.rows; k += 32) {
    const karst_index i = tile.row + (k < tile.rows ? k : 0);
    const bool mine = k < tile.rows && v.done[i] == wave + 1;
    const unsigned all = __ballot_sync(~0u, mine);
    if (all == 0) continue;
    int sum;
    const int length = mine ? (int)(v.upper.start[i + 1] - v.upper.start[i]) : 0;
    karst_ilu_quotient *quotient = to.quotient + *quotients + sum_before(length, &sum);
    if (mine) {
      const unsigned short diagonal = (unsigned short)(diagonal_block(v, i) - first_block(v, tile.row));
      to.pivot[*pivots + __popc(all & ((1u << lane) - 1))] = {(unsigned short)k, diagonal};
      for (int e = 1; e <= length; e++) *quotient++ = {(unsigned short)(diagonal + e), diagonal};
    }
    *pivots += __popc(all);
    *quotients += sum;
  }
}

/* Lists what is made in each wave. */
__device__ void write_waves(const karst_ilu_products_view &v, const karst_ilu_tile &tile, const karst_ilu_making &m,
                            const writer &to)
{
  const bool first = threadIdx.x % 32 == 0;
  int jobs = 0, pivots = 0, quotients = 0, products = 0;
  for (int wave = 0; wave < m.waves; wave++) {
    const int outer = jobs;
    list_jobs(v, blocks_of(v, tile), KARST_ILU_OUTER, wave, &jobs, &products, to.job);
    if (first) to.wave[wave] = {outer, jobs, pivots, quotients};
    list_jobs(v, blocks_of(v, tile), KARST_ILU_INNER, wave, &jobs, &products, to.job);
    list_pivots(v, tile, wave, &pivots, &quotients, to);
  }
  if (!first) return;
  to.wave[m.waves] = {jobs, jobs, pivots, quotients};
  to.job[jobs] = {products, 0};
}

/* Copies the steps of one triangle. */
__device__ void write_steps(const karst_ilu_products_half &h, const karst_ilu_tile &tile, karst_ilu_short_step *to)
{
  const karst_ilu_step *step = steps_of(h.tiled, tile);
  for (int k = (int)threadIdx.x % 32; k <= tile.steps; k += 32)
    to[k] = {(unsigned short)step[k].first, (unsigned short)step[k].length, (int)step[k].block};
}

/* Tells the numbers of the blocks of both triangles as the sweeps have them; those of U' last column first. */
__device__ void write_places(const karst_ilu_products_view &v, const tile_view &t, const karst_ilu_tile &upper,
                             const writer &to)
{
  const int64_t first = blocks_of(v, t.tile).first;
  unsigned short *place = to.place;
  for (int k = (int)threadIdx.x % 32; k < t.tile.blocks + upper.blocks; k += 32) place[k] = KARST_ILU_NO_BLOCK;
  __syncwarp();
  each_step(v.lower.tiled, t.tile, [&](const karst_ilu_step &step, int count, karst_index i) {
    if (i < 0) return;
    const int length = (int)(v.lower.start[i + 1] - v.lower.start[i]);
    unsigned short *mine = place + step.block + threadIdx.x % 32;
    for (int e = 0; e < length; e++) mine[e * count] = (unsigned short)(first_block(v, i) - first + e);
  });
  place += t.tile.blocks;
  each_step(v.upper.tiled, upper, [&](const karst_ilu_step &step, int count, karst_index i) {
    if (i < 0) return;
    const int length = (int)(v.upper.start[i + 1] - v.upper.start[i]), diagonal = (int)(diagonal_block(v, i) - first);
    unsigned short *mine = place + step.block + threadIdx.x % 32;
    for (int e = 0; e < length; e++) mine[e * count] = (unsigned short)(diagonal + length - e);
    place[i - upper.row] = (unsigned short)diagonal;
  });
}

/* Lists the blocks of a row of another tile that are needed: where they stand. */
__device__ void list_outside(const karst_ilu_products_view &v, karst_index i, uint64_t used, unsigned long long *to)
{
  const int b = v.block_size, length = (int)(v.upper.start[i + 1] - v.upper.start[i]);
  const unsigned long long of_block = (unsigned long long)b * b;
  const karst_ilu_tile tile = v.upper.tiled.tile[v.position[v.owner[i]]];
  const karst_ilu_row_place at = v.place[i];
  const unsigned long long value = (unsigned long long)tile.value * of_block;
  *to++ = (value + (unsigned long long)(i - tile.row) * b) << 16 | (unsigned long long)(tile.rows * b);
  const unsigned long long row = value + (unsigned long long)(at.first - at.of) * of_block + at.of * b;
  for (int e = 0; e < length; e++)
    if (used >> (e < LAST_BIT ? e : (int)LAST_BIT) & 1)
      *to++ =
          (row + (unsigned long long)(length - 1 - e) * at.apart * of_block) << 16 | (unsigned long long)(at.apart * b);
}

/* Numbers the blocks of other tiles from first on, and lists where they stand. */
__device__ void write_outside(const karst_ilu_products_view &v, const tile_view &t, int first, unsigned long long *to)
{
  const int lane = (int)threadIdx.x % 32;
  int all = 0;
  for (int k = 0; k < t.tile.halos; k += 32) {
    const bool there = k + lane < t.tile.halos;
    int sum;
    const int before = all + sum_before(there ? count_outside(v, t, k + lane) : 0, &sum);
    if (there) {
      t.outside[k + lane] = first + before;
      list_outside(v, t.halo[k + lane], t.used[k + lane], to + before);
    }
    all += sum;
  }
}

/* Writes where the rows of the tile stand, and from which blocks of A theirs start. */
__device__ void write_rows(const karst_ilu_products_view &v, const karst_ilu_tile &tile, bool fill, const writer &to)
{
  const range blocks = blocks_of(v, tile);
  for (int q = (int)threadIdx.x % 32; q <= tile.rows; q += 32)
    to.row[q] = (unsigned short)(first_block(v, tile.row + q) - blocks.first);
  if (!fill) return;
  for (int k = (int)threadIdx.x % 32; k < blocks.end - blocks.first; k += 32) to.source[k] = KARST_ILU_NO_BLOCK;
  __syncwarp();
  for (int q = (int)threadIdx.x % 32; q < tile.rows; q += 32) {
    const karst_index i = tile.row + q;
    for (karst_index k = v.row_start[i]; k < v.row_start[i + 1]; k++)
      to.source[find_block(v, i, v.column[k]) - blocks.first] = (unsigned short)(k - v.row_start[tile.row]);
  }
}

/* Writes the products of a row, and by what its blocks of L are multiplied last. divisor: of its first block, apart:
 * from one to the next. */
__device__ void write_row(const karst_ilu_products_view &v, const tile_view &t, karst_index i, unsigned short *divisor,
                          int apart, const writer &to)
{
  const int64_t first = blocks_of(v, t.tile).first;
  int left = (int)(first_block(v, i) - first);
  for (karst_index k = v.lower.start[i]; k < v.lower.start[i + 1]; k++, left++, divisor += apart) {
    const karst_index pivot = v.lower.column[k];
    const int from = find_outside(v, t, pivot);
    const int inverse = from < 0 ? (int)(diagonal_block(v, pivot) - first) : t.outside[from];
    *divisor = (unsigned short)inverse;
    each_product(v, i, pivot, [&](int e, int64_t target) {
      const int right = inverse + 1 + (from < 0 ? e : used_before(t.used[from], e));
      to.product[v.count[2 * target + (from < 0 ? KARST_ILU_INNER : KARST_ILU_OUTER)]++] = {(unsigned short)left,
                                                                                            (unsigned short)right};
    });
  }
}

__global__ void __launch_bounds__(THREADS)
    write_records(karst_ilu_products_view v, karst_ilu_tile_lists lists, const int64_t *units)
{
  const int lane = (int)threadIdx.x % 32;
  const int64_t n = tile_of_warp();
  if (n >= v.tiles) return;
  const tile_view t = tile_at(v, n);
  const karst_ilu_tile upper = v.upper.tiled.tile[v.position[t.tile.number]];
  karst_ilu_making m = lists.making[n];
  m.record = units[n];
  const writer to = writer_of((char *)(lists.record + m.record), m);
  const karst_index *wait = (const karst_index *)(record_of(v.lower.tiled, t.tile) + karst_ilu_record_of(t.tile).wait);
  write_waves(v, t.tile, m, to);
  write_steps(v.lower, t.tile, to.step);
  write_steps(v.upper, upper, to.step + t.tile.steps + 1);
  write_places(v, t, upper, to);
  write_outside(v, t, m.blocks, to.outside);
  write_rows(v, t.tile, m.fill, to);
  for (int k = lane; k < m.waits; k += 32) to.wait[k] = wait[k];
  for (int k = lane; k < m.lower_blocks; k += 32) to.divisor[k] = KARST_ILU_NO_BLOCK;
  __syncwarp();
  each_step(v.lower.tiled, t.tile, [&](const karst_ilu_step &step, int count, karst_index row) {
    if (row >= 0) write_row(v, t, row, to.divisor + step.block + lane, count, to);
  });
  if (lane == 0) lists.making[n] = m;
}

} // namespace

void karst_ilu_write_tile_lists_cuda(cudaStream_t stream, const karst_ilu_products_view *v,
                                     const karst_ilu_tile_lists *lists, const int64_t *units)
{
  write_records<<<karst_ilu_grid(v->tiles, WARPS), THREADS, 0, stream>>>(*v, *lists, units);
}
