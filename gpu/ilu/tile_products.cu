/* tile_products.cu - what the factorization by tiles makes each tile of (tile_factor.h): the products of its blocks, the
 * waves in which they are made, and the blocks of other tiles that it needs.
 *
 * A warp takes the steps of a tile, a lane a row of the step, so that what a row depends on inside the tile has been
 * gone through; twice, to measure and to write. */
#include "tile_factor.h"

#include "search.h"

namespace
{

enum { THREADS = 128, WARPS = THREADS / 32 };

const char *const what = "the factorization by tiles";

/* The strict triangle by rows, and by tiles. */
struct half {
  const karst_index *start, *column;
  karst_ilu_tiled tiled;
};

/* Where a row's blocks of U' stand in its tile's part of the triangle. */
struct row_place {
  int first;                /* block of the tile */
  unsigned short apart, of; /* blocks from one to the next; which row of the step it is */
};

/* The jobs of a block have the numbers 2 n and 2 n + 1: products inside the tile, and products with other tiles. */
enum { INNER, OUTER };

/* What the kernels look at; device memory. Blocks are numbered through all rows as tile_factor.h does through those of a
 * tile. */
struct view {
  karst_index tiles;
  int block_size;
  const karst_index *row_start, *column; /* of A */
  half lower, upper;
  karst_index *owner;    /* [rows] the tile of each row */
  karst_index *position; /* [tiles] where the tile of each number stands in the upper triangle */
  row_place *place;      /* [rows] */
  unsigned short *ready; /* [2 blocks] one more than the wave of each job; 0: it has no products */
  int *count;            /* [2 blocks] its products; then the first that is not written yet */
  unsigned short *done;  /* [rows] one more than the wave of its pivot */
  int64_t *halo;         /* [tiles + 1] how many rows of other tiles the tiles before need, as the forward sweep does */
  uint64_t *used;        /* [halo[tiles]] which of their blocks of U' are needed */
  int *outside;          /* [halo[tiles]] the number of their block of D^-1 */
};

__device__ __forceinline__ int64_t tile_of_warp() { return (int64_t)blockIdx.x * WARPS + threadIdx.x / 32; }

__device__ __forceinline__ const char *record_of(const karst_ilu_tiled &tiled, const karst_ilu_tile &tile)
{
  return (const char *)(tiled.record + tile.record);
}

__device__ __forceinline__ const karst_ilu_step *steps_of(const karst_ilu_tiled &tiled, const karst_ilu_tile &tile)
{
  return (const karst_ilu_step *)record_of(tiled, tile);
}

__device__ __forceinline__ const unsigned short *order_of(const karst_ilu_tiled &tiled, const karst_ilu_tile &tile)
{
  return (const unsigned short *)(record_of(tiled, tile) + karst_ilu_record_of(tile).order);
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

/* Finds where the tiles of the upper triangle and their rows stand, and whose the rows are. */
__global__ void __launch_bounds__(THREADS) place_rows(view v)
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

/* The numbers of the first block of a row, of its diagonal one, and one past its last. */
__device__ __forceinline__ int64_t first_block(const view &v, karst_index i)
{
  return (int64_t)v.lower.start[i] + v.upper.start[i] + i;
}

__device__ __forceinline__ int64_t diagonal_block(const view &v, karst_index i)
{
  return (int64_t)v.lower.start[i + 1] + v.upper.start[i] + i;
}

/* Returns the number of the block in column j of row i, or -1 where it is not in the pattern. */
__device__ int64_t find_block(const view &v, karst_index i, karst_index j)
{
  if (j == i) return diagonal_block(v, i);
  const half &h = j < i ? v.lower : v.upper;
  const karst_index k = karst_find_column(h.column, h.start[i], h.start[i + 1], j);
  if (k < 0) return -1;
  return (j < i ? first_block(v, i) : diagonal_block(v, i) + 1) + (k - h.start[i]);
}

/* Calls visit(e, target) for each product of row i with block e of a pivot's U', from block target. */
template <typename visitor>
__device__ __forceinline__ void each_product(const view &v, karst_index i, karst_index pivot, visitor visit)
{
  const karst_index begin = v.upper.start[pivot], end = v.upper.start[pivot + 1];
  for (karst_index n = begin; n < end; n++) {
    const int64_t target = find_block(v, i, v.upper.column[n]);
    if (target >= 0) visit((int)(n - begin), target);
  }
}

/* Of a row of another tile, bit e of used says that block e of its U' is needed; the last bit, that all from there on
 * are. Returns how many blocks are needed before block e. */
enum { LAST_BIT = 63 };

__device__ __forceinline__ int used_before(uint64_t used, int e)
{
  const int few = e < LAST_BIT ? e : (int)LAST_BIT;
  return __popcll(used & (((uint64_t)1 << few) - 1)) + (e > LAST_BIT && used >> LAST_BIT ? e - LAST_BIT : 0);
}

__device__ __forceinline__ void use(uint64_t *used, int e)
{
  atomicOr((unsigned long long *)used, 1ull << (e < LAST_BIT ? e : (int)LAST_BIT));
}

__device__ __forceinline__ int sum_of_warp(int mine)
{
  for (int distance = 16; distance > 0; distance /= 2) mine += __shfl_xor_sync(~0u, mine, distance);
  return mine;
}

/* Returns the sum of what the lanes before this one have, and of all in *sum. */
__device__ __forceinline__ int sum_before(int mine, int *sum)
{
  const int lane = (int)threadIdx.x % 32;
  int up_to = mine;
  for (int distance = 1; distance < 32; distance *= 2) {
    const int other = __shfl_up_sync(~0u, up_to, (unsigned)distance);
    if (lane >= distance) up_to += other;
  }
  *sum = __shfl_sync(~0u, up_to, 31);
  return up_to - mine;
}

/* A tile of the lower triangle, and the rows of other tiles that it needs. */
struct tile_view {
  karst_ilu_tile tile;
  const karst_index *halo; /* [tile.halos] */
  uint64_t *used;
  int *outside;
};

__device__ tile_view tile_at(const view &v, int64_t n)
{
  const karst_ilu_tile tile = v.lower.tiled.tile[n];
  const char *record = record_of(v.lower.tiled, tile);
  return {tile, (const karst_index *)(record + karst_ilu_record_of(tile).halo), v.used + v.halo[n],
          v.outside + v.halo[n]};
}

/* Returns the place of a pivot in the halo, or -1 where it is a row of the tile. */
__device__ int find_outside(const view &v, const tile_view &t, karst_index pivot)
{
  return v.owner[pivot] == t.tile.number ? -1 : (int)karst_find_column(t.halo, 0, t.tile.halos, pivot);
}

/* Puts the inner job of a block, all products of which are known, behind its outer one. Returns one more than the wave of
 * the last, or 0. */
__device__ int settle(const view &v, int64_t block)
{
  unsigned short *ready = v.ready + 2 * block;
  if (ready[INNER] > 0 && ready[INNER] <= ready[OUTER]) ready[INNER] = (unsigned short)(ready[OUTER] + 1);
  return max((int)ready[INNER], (int)ready[OUTER]);
}

/* Goes through the products of a row, and returns how many there are. */
__device__ int measure_row(const view &v, const tile_view &t, karst_index i)
{
  int products = 0, last = 1;
  int64_t left = first_block(v, i);
  for (karst_index k = v.lower.start[i]; k < v.lower.start[i + 1]; k++, left++) {
    const karst_index pivot = v.lower.column[k];
    const int from = find_outside(v, t, pivot), kind = from < 0 ? INNER : OUTER;
    const int after = max(settle(v, left), from < 0 ? (int)v.done[pivot] : 0) + 1;
    each_product(v, i, pivot, [&](int e, int64_t target) {
      if (from >= 0) use(&t.used[from], e);
      unsigned short &ready = v.ready[2 * target + kind];
      if (after > ready) ready = (unsigned short)after;
      v.count[2 * target + kind]++;
      products++;
    });
  }
  for (int64_t block = first_block(v, i); block < first_block(v, i + 1); block++) last = max(last, settle(v, block));
  v.done[i] = (unsigned short)last;
  return products;
}

/* The numbers of the blocks of a tile: first .. end - 1. */
struct range {
  int64_t first, end;
};

__device__ __forceinline__ range blocks_of(const view &v, const karst_ilu_tile &tile)
{
  return {first_block(v, tile.row), first_block(v, tile.row + tile.rows)};
}

/* Returns whether the tile is so large that its products are better not looked at: it has more blocks than can be
 * numbered, or a lane would be long at work on one of its rows. */
__device__ bool too_large(const view &v, const karst_ilu_tile &tile, const karst_ilu_tile &upper)
{
  enum { MOST_PRODUCTS = 8192 };
  const range blocks = blocks_of(v, tile);
  bool large = blocks.end - blocks.first >= KARST_ILU_NO_BLOCK || tile.blocks >= KARST_ILU_NO_BLOCK ||
               upper.blocks >= KARST_ILU_NO_BLOCK || tile.halos >= KARST_ILU_NO_BLOCK;
  for (int q = (int)threadIdx.x % 32; q < tile.rows && !large; q += 32) {
    const karst_index i = tile.row + q;
    int64_t products = v.lower.start[i + 1] - v.lower.start[i];
    for (karst_index k = v.lower.start[i]; k < v.lower.start[i + 1] && products <= MOST_PRODUCTS; k++)
      products += v.upper.start[v.lower.column[k] + 1] - v.upper.start[v.lower.column[k]];
    large = products > MOST_PRODUCTS;
  }
  return __any_sync(~0u, large);
}

/* Returns how many blocks of a row of another tile are needed, with that of D^-1. */
__device__ __forceinline__ int count_outside(const view &v, const tile_view &t, int k)
{
  return 1 + used_before(t.used[k], (int)(v.upper.start[t.halo[k] + 1] - v.upper.start[t.halo[k]]));
}

/* The products of a tile, its waves, and the blocks of other tiles. */
__device__ void measure_products(const view &v, const tile_view &t, karst_ilu_making *m)
{
  const range blocks = blocks_of(v, t.tile);
  int products = 0, jobs = 0, outside = 0;
  unsigned waves = 0;
  each_step(v.lower.tiled, t.tile, [&](const karst_ilu_step &, int, karst_index row) {
    if (row < 0) return;
    products += measure_row(v, t, row);
    waves = max(waves, (unsigned)v.done[row]);
  });
  for (int64_t k = 2 * blocks.first + threadIdx.x % 32; k < 2 * blocks.end; k += 32) jobs += v.ready[k] > 0;
  for (int k = (int)threadIdx.x % 32; k < t.tile.halos; k += 32) outside += count_outside(v, t, k);
  m->products = sum_of_warp(products);
  m->waves = (int)karst_largest_of_warp(waves);
  m->jobs = sum_of_warp(jobs);
  m->outside = sum_of_warp(outside);
}

/* units: [tiles + 1] of 16 bytes of each tile's record, and 0. *largest, 0 at first: the bytes of shared memory of the
 * largest tile, or all ones. */
__global__ void __launch_bounds__(THREADS)
    measure(view v, karst_ilu_tile_lists lists, int64_t *units, unsigned long long *largest)
{
  const int64_t n = tile_of_warp();
  if (n == v.tiles && threadIdx.x % 32 == 0) units[n] = 0;
  if (n >= v.tiles) return;
  const tile_view t = tile_at(v, n);
  const karst_ilu_tile &lower = t.tile, upper = v.upper.tiled.tile[v.position[lower.number]];
  const range blocks = blocks_of(v, lower);
  bool large = too_large(v, lower, upper);
  karst_ilu_making m = {};
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
  m.quotients = (int)(v.upper.start[lower.row + lower.rows] - v.upper.start[lower.row]);
  m.blocks = (int)(blocks.end - blocks.first);
  m.lower_steps = lower.steps;
  m.upper_steps = upper.steps;
  m.lower_blocks = (int)lower.blocks;
  m.upper_blocks = (int)upper.blocks;
  m.fill = v.row_start[lower.row + lower.rows] - m.source != m.blocks;
  lists.making[n] = m;
  units[n] = karst_ilu_making_record_of(m).bytes / 16;
  atomicMax(largest, large ? ~0ull : (unsigned long long)karst_ilu_making_bytes(m, v.block_size));
}

/* A tile's record under way. */
struct writer {
  karst_ilu_wave *wave;
  karst_ilu_job *job;
  unsigned long long *outside;
  karst_ilu_short_step *step;
  karst_index *wait;
  karst_ilu_tile_row *row;
  karst_ilu_short_product *product;
  karst_ilu_pivot *pivot;
  karst_ilu_quotient *quotient;
  unsigned short *place, *divisor, *source;
};

__device__ writer writer_of(char *record, const karst_ilu_making &m)
{
  const karst_ilu_making_record at = karst_ilu_making_record_of(m);
  return {(karst_ilu_wave *)record,
          (karst_ilu_job *)(record + at.job),
          (unsigned long long *)(record + at.outside),
          (karst_ilu_short_step *)(record + at.step),
          (karst_index *)(record + at.wait),
          (karst_ilu_tile_row *)(record + at.row),
          (karst_ilu_short_product *)(record + at.product),
          (karst_ilu_pivot *)(record + at.pivot),
          (karst_ilu_quotient *)(record + at.quotient),
          (unsigned short *)(record + at.place),
          (unsigned short *)(record + at.divisor),
          (unsigned short *)(record + at.source)};
}

/* Lists the jobs of one kind that are of a wave; their counts become the places of their first products. */
__device__ void list_jobs(const view &v, const range &blocks, int kind, int wave, int *jobs, int *products,
                          karst_ilu_job *job)
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
__device__ void list_pivots(const view &v, const karst_ilu_tile &tile, int wave, int *pivots, int *quotients,
                            const writer &to)
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
__device__ void write_waves(const view &v, const karst_ilu_tile &tile, const karst_ilu_making &m, const writer &to)
{
  const bool first = threadIdx.x % 32 == 0;
  int jobs = 0, pivots = 0, quotients = 0, products = 0;
  for (int wave = 0; wave < m.waves; wave++) {
    const int outer = jobs;
    list_jobs(v, blocks_of(v, tile), OUTER, wave, &jobs, &products, to.job);
    if (first) to.wave[wave] = {outer, jobs, pivots, quotients};
    list_jobs(v, blocks_of(v, tile), INNER, wave, &jobs, &products, to.job);
    list_pivots(v, tile, wave, &pivots, &quotients, to);
  }
  if (!first) return;
  to.wave[m.waves] = {jobs, jobs, pivots, quotients};
  to.job[jobs] = {products, 0};
}

/* Copies the steps of one triangle. */
__device__ void write_steps(const half &h, const karst_ilu_tile &tile, karst_ilu_short_step *to)
{
  const karst_ilu_step *step = steps_of(h.tiled, tile);
  for (int k = (int)threadIdx.x % 32; k <= tile.steps; k += 32)
    to[k] = {(unsigned short)step[k].first, (unsigned short)step[k].length, (int)step[k].block};
}

/* Tells the numbers of the blocks of both triangles as the sweeps have them; those of U' last column first. */
__device__ void write_places(const view &v, const tile_view &t, const karst_ilu_tile &upper, const writer &to)
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
__device__ void list_outside(const view &v, karst_index i, uint64_t used, unsigned long long *to)
{
  const int b = v.block_size, length = (int)(v.upper.start[i + 1] - v.upper.start[i]);
  const unsigned long long of_block = (unsigned long long)b * b;
  const karst_ilu_tile tile = v.upper.tiled.tile[v.position[v.owner[i]]];
  const row_place at = v.place[i];
  const unsigned long long value = (unsigned long long)tile.value * of_block;
  *to++ = (value + (unsigned long long)(i - tile.row) * b) << 16 | (unsigned long long)(tile.rows * b);
  const unsigned long long row = value + (unsigned long long)(at.first - at.of) * of_block + at.of * b;
  for (int e = 0; e < length; e++)
    if (used >> (e < LAST_BIT ? e : (int)LAST_BIT) & 1)
      *to++ =
          (row + (unsigned long long)(length - 1 - e) * at.apart * of_block) << 16 | (unsigned long long)(at.apart * b);
}

/* Numbers the blocks of other tiles from first on, and lists where they stand. */
__device__ void write_outside(const view &v, const tile_view &t, int first, unsigned long long *to)
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
__device__ void write_rows(const view &v, const karst_ilu_tile &tile, bool fill, const writer &to)
{
  const range blocks = blocks_of(v, tile);
  for (int q = (int)threadIdx.x % 32; q <= tile.rows; q += 32) {
    const karst_index i = tile.row + q;
    const bool there = q < tile.rows;
    to.row[q].first = (unsigned short)(first_block(v, i) - blocks.first);
    to.row[q].diagonal = there ? (unsigned short)(diagonal_block(v, i) - blocks.first) : to.row[q].first;
  }
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
__device__ void write_row(const view &v, const tile_view &t, karst_index i, unsigned short *divisor, int apart,
                          const writer &to)
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
      to.product[v.count[2 * target + (from < 0 ? INNER : OUTER)]++] = {(unsigned short)left, (unsigned short)right};
    });
  }
}

__global__ void __launch_bounds__(THREADS) write_records(view v, karst_ilu_tile_lists lists, const int64_t *units)
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

/* How many rows of other tiles each tile needs; the one past the last has none. */
__global__ void count_halos(karst_index tiles, const karst_ilu_tile *tile, int64_t *halo)
{
  const int64_t n = blockIdx.x * (int64_t)blockDim.x + threadIdx.x;
  if (n <= tiles) halo[n] = n < tiles ? tile[n].halos : 0;
}

/* Work space besides the view's. */
struct sizes {
  int64_t *units;              /* [tiles + 1] */
  unsigned long long *largest; /* one */
};

/* The rows of other tiles. */
karst_status take_halos(karst_context *context, view *v)
{
  cudaStream_t stream = karst_cuda_of(context)->stream;
  const int64_t ends = (int64_t)v->tiles + 1;
  int64_t halos, passing = 0;
  karst_status status = karst_ilu_take(context, ends, what, &v->halo, &passing);
  if (status) return status;
  count_halos<<<karst_ilu_grid(ends, THREADS), THREADS, 0, stream>>>(v->tiles, v->lower.tiled.tile, v->halo);
  status = karst_ilu_sum_offsets_cuda(context, ends, v->halo);
  if (!status) status = context->backend->download(context, &halos, v->halo + v->tiles, sizeof halos);
  if (!status) status = karst_ilu_take(context, halos, what, &v->used, &passing);
  if (!status) status = karst_ilu_take(context, halos, what, &v->outside, &passing);
  if (!status) cudaMemsetAsync(v->used, 0, (size_t)halos * sizeof *v->used, stream);
  return status;
}

/* Takes the work space. */
karst_status take(karst_context *context, const karst_ilu_analysis *analysis, view *v, sizes *w)
{
  cudaStream_t stream = karst_cuda_of(context)->stream;
  const int64_t rows = analysis->rows, blocks = analysis->lower_blocks + analysis->upper_blocks + rows;
  int64_t passing = 0;
  karst_status status = karst_ilu_take(context, rows, what, &v->owner, &passing);
  if (!status) status = karst_ilu_take(context, v->tiles, what, &v->position, &passing);
  if (!status) status = karst_ilu_take(context, rows, what, &v->place, &passing);
  if (!status) status = karst_ilu_take(context, 2 * blocks, what, &v->ready, &passing);
  if (!status) status = karst_ilu_take(context, 2 * blocks, what, &v->count, &passing);
  if (!status) status = karst_ilu_take(context, rows, what, &v->done, &passing);
  if (!status) status = karst_ilu_take(context, (int64_t)v->tiles + 1, what, &w->units, &passing);
  if (!status) status = karst_ilu_take(context, 1, what, &w->largest, &passing);
  if (!status) status = take_halos(context, v);
  if (status) return status;
  cudaMemsetAsync(v->ready, 0, 2 * (size_t)blocks * sizeof *v->ready, stream);
  cudaMemsetAsync(v->count, 0, 2 * (size_t)blocks * sizeof *v->count, stream);
  cudaMemsetAsync(w->largest, 0, sizeof *w->largest, stream);
  return KARST_SUCCESS;
}

void give_back(karst_context *context, const view &v, const sizes &w)
{
  context->backend->release(context, v.owner);
  context->backend->release(context, v.position);
  context->backend->release(context, v.place);
  context->backend->release(context, v.ready);
  context->backend->release(context, v.count);
  context->backend->release(context, v.done);
  context->backend->release(context, v.halo);
  context->backend->release(context, v.used);
  context->backend->release(context, v.outside);
  context->backend->release(context, w.units);
  context->backend->release(context, w.largest);
}

/* Measures all tiles. */
karst_status measure_all(karst_context *context, const view &v, const sizes &w, karst_ilu_tile_lists *lists,
                         int64_t *bytes)
{
  cudaStream_t stream = karst_cuda_of(context)->stream;
  const unsigned grid = karst_ilu_grid((int64_t)v.tiles + 1, WARPS);
  unsigned long long largest;
  karst_status status = karst_ilu_take(context, v.tiles, what, &lists->making, bytes);
  if (status) return status;
  place_rows<<<grid, THREADS, 0, stream>>>(v);
  measure<<<grid, THREADS, 0, stream>>>(v, *lists, w.units, w.largest);
  status = context->backend->download(context, &largest, w.largest, sizeof largest);
  lists->shared = largest > (unsigned long long)INT64_MAX ? INT64_MAX : (int64_t)largest;
  return status;
}

karst_status write_all(karst_context *context, const view &v, const sizes &w, karst_ilu_tile_lists *lists,
                       int64_t *bytes)
{
  cudaStream_t stream = karst_cuda_of(context)->stream;
  int64_t units;
  karst_status status = karst_ilu_sum_offsets_cuda(context, (int64_t)v.tiles + 1, w.units);
  if (!status) status = context->backend->download(context, &units, w.units + v.tiles, sizeof units);
  if (!status) status = karst_ilu_take(context, units, what, &lists->record, bytes);
  if (status) return status;
  write_records<<<karst_ilu_grid(v.tiles, WARPS), THREADS, 0, stream>>>(v, *lists, w.units);
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
  view v = {};
  v.tiles = both->tiles;
  v.block_size = plan->block_size;
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
  context->backend->release(context, lists->making);
  context->backend->release(context, lists->record);
  *lists = {};
}
