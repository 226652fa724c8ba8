/* tile_lists.cu - writes the records of the factorization by tiles (tile_factor.h), which tile_products.cu has
 * measured. */
#include "gpu/bisect.h"
#include "gpu/ilu/tiles/tile_products.h"
#include "gpu/warp_scan.h"

namespace
{

/* The parts of a tile's record. */
struct writer {
  karst_ilu_wave *wave;
  karst_ilu_job *job;
  unsigned long long *outside;
  karst_ilu_short_step *step;
  karst_index *wait;
  unsigned short *product, *row, *place, *divisor, *source;
};

__device__ writer writer_of(char *record, const karst_ilu_factor_tile &m)
{
  const karst_ilu_factor_record at = karst_ilu_factor_record_of(m);
  return {(karst_ilu_wave *)record,
          (karst_ilu_job *)(record + at.job),
          (unsigned long long *)(record + at.outside),
          (karst_ilu_short_step *)(record + at.step),
          (karst_index *)(record + at.wait),
          (unsigned short *)(record + at.product),
          (unsigned short *)(record + at.row),
          (unsigned short *)(record + at.place),
          (unsigned short *)(record + at.divisor),
          (unsigned short *)(record + at.source)};
}

/* Counts the jobs of each wave, in outer and inner. */
__device__ void count_waves(const karst_ilu_products_view &v, const range &blocks, const karst_ilu_factor_tile &m,
                            const writer &to)
{
  const int lane = (int)threadIdx.x % 32;
  for (int k = lane; k <= m.waves; k += 32) to.wave[k] = {0, 0};
  __syncwarp();
  for (int64_t k = blocks.first + lane; k < blocks.end; k += 32) {
    const int outer = v.ready[2 * k + KARST_ILU_OUTER], inner = v.ready[2 * k + KARST_ILU_INNER];
    if (outer > 0) atomicAdd(&to.wave[outer - 1].outer, 1);
    if (inner > 0) atomicAdd(&to.wave[inner - 1].inner, 1);
  }
  __syncwarp();
}

/* Turns the counts into first places. */
__device__ void start_waves(const karst_ilu_factor_tile &m, karst_ilu_wave *wave)
{
  int jobs = 0;
  const int lane = (int)threadIdx.x % 32;
  for (int k = lane; k - lane <= m.waves; k += 32) {
    const bool there = k <= m.waves;
    const int2 count = there ? __ldcg((const int2 *)(wave + k)) : int2{0, 0}; /* from L2, where atomics add */
    int some;
    const int job = jobs + karst_cuda_sum_before(count.x + count.y, &some);
    if (there) wave[k] = {job, job + count.x};
    jobs += some;
  }
  __syncwarp();
}

/* Returns the next place of each cursor for the lanes that want one, and advances it. Lanes with the same cursor get
 * consecutive places. */
__device__ int take_place(bool wanted, int *cursor)
{
  const int lane = (int)threadIdx.x % 32;
  const unsigned peers = __match_any_sync(~0u, wanted ? (unsigned long long)cursor : 0);
  const int leader = __ffs((int)peers) - 1;
  int first = 0;
  if (wanted && lane == leader) {
    first = *(volatile int *)cursor;
    *(volatile int *)cursor = first + __popc(peers);
  }
  first = __shfl_sync(~0u, first, leader);
  __syncwarp();
  return first + __popc(peers & ((1u << lane) - 1));
}

/* Returns the row of the tile whose diagonal block this is, or KARST_ILU_NO_BLOCK. row: the first block of each row. */
__device__ int find_pivot(const karst_ilu_products_view &v, const karst_ilu_tile &tile, const unsigned short *row,
                          int block)
{
  const int q = karst_cuda_bisect(1, tile.rows, [&](int next) { return row[next] > block; }) - 1;
  const karst_index i = tile.row + q;
  return block - row[q] == (int)(v.lower.start[i + 1] - v.lower.start[i]) ? q : (int)KARST_ILU_NO_BLOCK;
}

/* Lists the jobs of one kind, with the kind in product for start_products. */
__device__ void place_jobs(const karst_ilu_products_view &v, const karst_ilu_tile &tile, int kind, const writer &to)
{
  const int lane = (int)threadIdx.x % 32;
  const range blocks = blocks_of(v, tile);
  for (int64_t k = blocks.first + lane; k - lane < blocks.end; k += 32) {
    const int ready = k < blocks.end ? v.ready[2 * k + kind] : 0, block = (int)(k - blocks.first);
    karst_ilu_wave *wave = to.wave + (ready > 0 ? ready - 1 : 0);
    const int place = take_place(ready > 0, kind == KARST_ILU_OUTER ? &wave->outer : &wave->inner);
    if (ready == 0) continue;
    int pivot = find_pivot(v, tile, to.row, block);
    if (ready < ready_at(v, k) && pivot != KARST_ILU_NO_BLOCK) pivot |= KARST_ILU_EARLY;
    to.job[place] = {kind, (unsigned short)block, (unsigned short)pivot};
  }
}

/* Writes where the products of each job begin into the job, and over their count. */
__device__ void start_products(const karst_ilu_products_view &v, int64_t first_of_tile, int jobs, karst_ilu_job *job)
{
  const int lane = (int)threadIdx.x % 32;
  int products = 0;
  for (int k = lane; k - lane < jobs; k += 32) {
    const karst_ilu_job now = k < jobs ? job[k] : karst_ilu_job{0, 0, 0};
    int *count = v.count + 2 * (first_of_tile + now.block) + now.product, sum;
    const int begin =
        products + karst_cuda_sum_before(k < jobs ? *count * karst_ilu_product_length(now.product) : 0, &sum);
    if (k < jobs) *count = job[k].product = begin;
    products += sum;
  }
  if (lane == 0) job[jobs] = {products, 0, KARST_ILU_NO_BLOCK};
}

/* Restores the first places of the waves from the cursors, which have advanced to where the next kind begins. */
__device__ void restore_starts(const karst_ilu_factor_tile &m, karst_ilu_wave *wave)
{
  const int lane = (int)threadIdx.x % 32;
  for (int first = m.waves / 32 * 32; first >= 0; first -= 32) {
    const int k = first + lane;
    const bool there = k <= m.waves;
    const karst_ilu_wave now = wave[there ? k : 0], before = wave[there && k > 0 ? k - 1 : 0];
    __syncwarp();
    if (there) wave[k] = {k > 0 ? before.inner : 0, now.outer};
  }
}

/* Lists the jobs of each wave. The first places of the waves serve as cursors. */
__device__ void write_waves(const karst_ilu_products_view &v, const karst_ilu_tile &tile,
                            const karst_ilu_factor_tile &m, const writer &to)
{
  const range blocks = blocks_of(v, tile);
  count_waves(v, blocks, m, to);
  start_waves(m, to.wave);
  place_jobs(v, tile, KARST_ILU_OUTER, to);
  place_jobs(v, tile, KARST_ILU_INNER, to);
  restore_starts(m, to.wave);
  start_products(v, blocks.first, m.jobs, to.job);
}

__device__ void write_steps(const karst_ilu_products_half &h, const karst_ilu_tile &tile, karst_ilu_short_step *to)
{
  const karst_ilu_step *step = steps_of(h.tiled, tile);
  for (int k = (int)threadIdx.x % 32; k <= tile.steps; k += 32)
    to[k] = {(unsigned short)step[k].first, (unsigned short)step[k].length, (int)step[k].block};
}

/* Writes the places of the blocks of both triangles, and the divisors of U'. The sweeps have its rows last column
 * first. */
__device__ void write_places(const karst_ilu_products_view &v, const tile_view &t, const karst_ilu_tile &upper,
                             const writer &to)
{
  const int64_t first = blocks_of(v, t.tile).first;
  unsigned short *place = to.place, *divisor = to.divisor + t.tile.blocks;
  for (int k = (int)threadIdx.x % 32; k < t.tile.blocks + upper.blocks; k += 32)
    place[k] = to.divisor[k] = KARST_ILU_NO_BLOCK;
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
    const int64_t mine = step.block + threadIdx.x % 32;
    for (int e = 0; e < length; e++) {
      place[mine + e * count] = (unsigned short)(diagonal + length - e);
      divisor[mine + e * count] = (unsigned short)diagonal;
    }
    place[i - upper.row] = (unsigned short)diagonal;
  });
}

/* Lists where the needed blocks of a row of another tile are. */
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

/* Numbers the blocks of other tiles from first on, and lists where they are. */
__device__ void write_outside(const karst_ilu_products_view &v, const tile_view &t, int first, unsigned long long *to)
{
  const int lane = (int)threadIdx.x % 32;
  int all = 0;
  for (int k = 0; k < t.tile.halos; k += 32) {
    const bool there = k + lane < t.tile.halos;
    int sum;
    const int before = all + karst_cuda_sum_before(there ? count_outside(v, t, k + lane) : 0, &sum);
    if (there) {
      t.outside[k + lane] = first + before;
      list_outside(v, t.halo[k + lane], t.used[k + lane], to + before);
    }
    all += sum;
  }
}

/* Writes the first block of each row of the tile and, if there is fill, the sources. */
__device__ void write_rows(const karst_ilu_products_view &v, const karst_ilu_tile &tile, bool fill, const writer &to)
{
  const range blocks = blocks_of(v, tile);
  for (int q = (int)threadIdx.x % 32; q <= tile.rows; q += 32)
    to.row[q] = (unsigned short)(first_block(v, tile.row + q) - blocks.first);
  if (!fill) return;
  for (int k = (int)threadIdx.x % 32; k < blocks.end - blocks.first; k += 32) to.source[k] = KARST_ILU_NO_BLOCK;
  __syncwarp();
  for (int q = (int)threadIdx.x % 32; q < tile.rows; q += 32) {
    const row_view row = row_at(v, tile.row + q);
    for (karst_index k = v.row_start[row.number]; k < v.row_start[row.number + 1]; k++)
      to.source[find_block(v, row, v.column[k]) - blocks.first] = (unsigned short)(k - v.row_start[tile.row]);
  }
}

/* Writes the products of a row, and the divisors of its blocks of L. divisor: of its first block; apart: from one to
 * the next. */
__device__ void write_row(const karst_ilu_products_view &v, const tile_view &t, karst_index i, unsigned short *divisor,
                          int apart, const writer &to)
{
  const int64_t first = blocks_of(v, t.tile).first;
  const row_view row = row_at(v, i);
  int left = (int)(row.first - first);
  for (karst_index k = row.lower; k < row.lower_end; k++, left++, divisor += apart) {
    const karst_index pivot = v.lower.column[k];
    const int from = find_outside(v, t, pivot);
    const int inverse = from < 0 ? (int)(diagonal_block(v, pivot) - first) : t.outside[from];
    *divisor = (unsigned short)inverse;
    each_product(v, row, pivot, [&](int e, int64_t target) {
      const int kind = from < 0 ? KARST_ILU_INNER : KARST_ILU_OUTER;
      int *next = v.count + 2 * target + kind;
      unsigned short *product = to.product + *next;
      *next += karst_ilu_product_length(kind);
      product[0] = (unsigned short)left;
      product[1] = (unsigned short)(inverse + 1 + (from < 0 ? e : used_before(t.used[from], e)));
      if (from < 0) product[2] = (unsigned short)inverse;
    });
  }
}

__global__ void __launch_bounds__(THREADS, TOGETHER)
    write_records(karst_ilu_products_view v, karst_ilu_tile_lists lists, const int64_t *units)
{
  const int lane = (int)threadIdx.x % 32;
  const int64_t n = tile_of_warp();
  if (n >= v.tiles) return;
  const tile_view t = tile_at(v, n);
  const karst_ilu_tile upper = v.upper.tiled.tile[v.position[t.tile.number]];
  karst_ilu_factor_tile m = lists.tile[n];
  m.record = units[n];
  const writer to = writer_of((char *)(lists.record + m.record), m);
  const karst_index *wait =
      (const karst_index *)(record_of_tile(v.lower.tiled, t.tile) + karst_ilu_record_of(t.tile).wait);
  write_rows(v, t.tile, m.fill, to);
  __syncwarp();
  write_waves(v, t.tile, m, to);
  write_steps(v.lower, t.tile, to.step);
  write_steps(v.upper, upper, to.step + t.tile.steps + 1);
  write_places(v, t, upper, to);
  write_outside(v, t, m.blocks, to.outside);
  for (int k = lane; k < m.waits; k += 32) to.wait[k] = wait[k];
  __syncwarp();
  each_step(v.lower.tiled, t.tile, [&](const karst_ilu_step &step, int count, karst_index row) {
    if (row >= 0) write_row(v, t, row, to.divisor + step.block + lane, count, to);
  });
  if (lane == 0) lists.tile[n] = m;
}

} // namespace

void karst_ilu_write_tile_lists_cuda(cudaStream_t stream, const karst_ilu_products_view *v,
                                     const karst_ilu_tile_lists *lists, const int64_t *units)
{
  write_records<<<karst_cuda_grid(v->tiles, WARPS), THREADS, 0, stream>>>(*v, *lists, units);
}
