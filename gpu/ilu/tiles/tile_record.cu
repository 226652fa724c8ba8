/* tile_record.cu - makes a triangle by tiles (tile_sweep.h): the steps of each tile, which tiles fit into shared
 * memory, the order in which tiles are taken, and their records.
 *
 * A warp walks through the steps of a tile twice: to count, and to fill. */
#include "gpu/bisect.h"
#include "gpu/ilu/tiles/tile_walk.h"

namespace
{

enum { THREADS = 256, WARPS = THREADS / 32 };

const char *const what = "the tiles of block ILU";

/* The input of the kernels. */
struct view {
  karst_ilu_tiling_cuda t;
  karst_ilu_halos_cuda halos;
};

/* Calls visit(number, step, count, row) for each step of a tile, by a warp whose lanes have the rows of the step or -1.
 * Returns the blocks of the tile. */
template <typename visitor>
__device__ int64_t make_steps(const karst_ilu_tiling_cuda &t, const karst_ilu_tile &tile, visitor visit)
{
  const int lane = (int)threadIdx.x % 32, width = 32 / t.block_size;
  karst_ilu_step step = {0, 0, t.upper ? tile.rows : 0};
  for (int number = 0; step.first < tile.rows; number++) {
    const bool there = lane < width && step.first + lane < tile.rows;
    const karst_index row = there ? tile.row + t.order[tile.row + step.first + lane] : -1;
    const karst_index level = there ? t.level[row] : -1;
    const karst_index first_level = __shfl_sync(~0u, level, 0);
    const bool active = there && level == first_level;
    const int count = __popc(__ballot_sync(~0u, active));
    step.length = (int)karst_largest_of_warp(active ? (unsigned)(t.row_start[row + 1] - t.row_start[row]) : 0);
    visit(number, step, count, active ? row : -1);
    step.block += (int64_t)count * step.length;
    step.first += count;
  }
  return step.block;
}

/* Returns the first of the pairs low .. high - 1 that is not before the pair of tile and row. */
__device__ int64_t find_pair(const karst_ilu_halos_cuda &halos, int64_t tile, karst_index row, int64_t low,
                             int64_t high)
{
  const unsigned long long wanted = (unsigned long long)tile << halos.row_bits | (unsigned long long)row;
  return karst_cuda_bisect(low, high, [&](int64_t k) { return halos.pair[k] >= wanted; });
}

/* Returns how many pairs belong to the tiles before this one. */
__device__ int64_t first_pair(const karst_ilu_halos_cuda &halos, int64_t tile)
{
  return find_pair(halos, tile, 0, 0, halos.count);
}

__global__ void __launch_bounds__(THREADS) measure(view v, karst_ilu_tile *tile)
{
  const int64_t n = tile_of_warp();
  if (n >= v.t.tiles.count) return;
  karst_ilu_tile made = {};
  made.row = v.t.tiles.start[n];
  made.number = (karst_index)n;
  made.rows = (int)(v.t.tiles.start[n + 1] - made.row);
  const int64_t halo = first_pair(v.halos, n), next = first_pair(v.halos, n + 1);
  made.halos = (int)(next - halo);
  made.waits = (int)(v.halos.number[next] - v.halos.number[halo]);
  const int64_t blocks =
      make_steps(v.t, made, [&](int number, const karst_ilu_step &, int, karst_index) { made.steps = number + 1; });
  made.blocks = (blocks + 1) / 2 * 2;
  if (threadIdx.x % 32 == 0) tile[n] = made;
}

/* Lists the tiles that each tile waits for, tile after tile. */
__global__ void list_waits(karst_ilu_halos_cuda halos, const karst_index *owner, karst_index *wait)
{
  const int64_t k = blockIdx.x * (int64_t)blockDim.x + threadIdx.x;
  if (k >= halos.count || halos.number[k + 1] == halos.number[k]) return;
  wait[halos.number[k]] = owner[halos.pair[k] & (((unsigned long long)1 << halos.row_bits) - 1)];
}

/* Marks as far the tiles that need more than shared bytes. Stores the number of blocks of each tile and the size of its
 * record in units of 16 bytes; both are 0 past the last tile. */
__global__ void mark_far(karst_index tiles, int b, int64_t shared, karst_ilu_tile *tile, int64_t *blocks,
                         int64_t *units)
{
  const int64_t n = blockIdx.x * (int64_t)blockDim.x + threadIdx.x;
  if (n > tiles) return;
  blocks[n] = units[n] = 0;
  if (n == tiles) return;
  karst_ilu_tile marked = tile[n];
  marked.far = karst_ilu_tile_bytes(marked, b) > shared || (int64_t)marked.rows + marked.halos >= 0xffff;
  tile[n].far = marked.far;
  blocks[n] = marked.blocks;
  units[n] = karst_ilu_record_of(marked).bytes / 16;
}

/* The parts of a tile's record. */
struct writer {
  karst_ilu_step *step;
  karst_index *halo, *wait, *wide;
  unsigned short *order, *local;
};

__device__ writer writer_of(const karst_ilu_tile &tile, const karst_ilu_tiled &tiled)
{
  const karst_ilu_record at = karst_ilu_record_of(tile);
  char *record = (char *)(tiled.record + tile.record);
  return {
      (karst_ilu_step *)record,          (karst_index *)(record + at.halo),     (karst_index *)(record + at.wait),
      (karst_index *)(record + at.wide), (unsigned short *)(record + at.order), (unsigned short *)(record + at.local)};
}

/* Writes the neighbours of a lane's row in a step. halo: the tile's first pair. */
__device__ void write_row(const view &v, const karst_ilu_tile &tile, int64_t halo, const karst_ilu_step &step,
                          int count, karst_index row, const writer &to)
{
  const karst_index begin = v.t.row_start[row], end = v.t.row_start[row + 1];
  int64_t block = step.block + threadIdx.x % 32;
  for (int64_t e = 0; e < step.length; e++, block += count) {
    const bool there = e < end - begin;
    const karst_index j = there ? v.t.column[v.t.upper ? end - 1 - e : begin + e] : -1;
    const bool inside = there && v.t.tiles.owner[j] == tile.number;
    if (tile.far) {
      to.wide[block] = inside ? j - tile.row : there ? tile.rows + j : -1;
    } else {
      const int64_t outside =
          there && !inside ? find_pair(v.halos, tile.number, j, halo, halo + tile.halos) - halo : tile.halos;
      to.local[block] = (unsigned short)(inside ? j - tile.row : tile.rows + outside);
    }
  }
}

/* blocks, units: where the values and the record of each tile begin; position: of each tile in the sweep. */
__global__ void __launch_bounds__(THREADS)
    write_records(view v, const karst_ilu_tile *measured, const int64_t *blocks, const int64_t *units,
                  const karst_index *position, const karst_index *wait, karst_ilu_tiled tiled)
{
  const int lane = (int)threadIdx.x % 32;
  const int64_t n = tile_of_warp();
  if (n >= v.t.tiles.count) return;
  karst_ilu_tile tile = measured[n];
  tile.value = blocks[n];
  tile.record = units[n];
  const writer to = writer_of(tile, tiled);
  const int64_t halo = first_pair(v.halos, n);
  const unsigned long long rows = ((unsigned long long)1 << v.halos.row_bits) - 1;
  for (int k = lane; k < tile.halos; k += 32) to.halo[k] = (karst_index)(v.halos.pair[halo + k] & rows);
  for (int k = lane; k < tile.waits; k += 32) to.wait[k] = wait[v.halos.number[halo] + k];
  for (int k = lane; k < tile.rows; k += 32) to.order[k] = v.t.order[tile.row + k];
  const int64_t end = make_steps(v.t, tile, [&](int number, const karst_ilu_step &step, int count, karst_index row) {
    if (lane == 0) to.step[number] = step;
    if (row >= 0) write_row(v, tile, halo, step, count, row, to);
  });
  if (lane > 0) return;
  to.step[tile.steps] = {tile.rows, 0, end};
  tiled.tile[position[n]] = tile;
}

/* Finds the position of each tile in the sweep: by the level sets of the graph of the tiles, so that the tiles that
 * wait least come first, and by numbers in each. All in host memory; level: [tiles] work space; first: [tiles + 1],
 * zero. */
void find_positions(bool upper, karst_index tiles, const karst_ilu_tile *tile, const karst_index *wait,
                    karst_index *level, karst_index *first, karst_index *position)
{
  int64_t end = 0;
  for (karst_index n = 0; n < tiles; n++) end += tile[n].waits;
  int64_t begin = 0;
  for (karst_index k = 0; k < tiles; k++) {
    const karst_index n = upper ? tiles - 1 - k : k;
    if (upper) begin = end - tile[n].waits;
    level[n] = 0;
    for (int64_t w = begin; w < begin + tile[n].waits; w++)
      if (level[wait[w]] >= level[n]) level[n] = level[wait[w]] + 1;
    first[level[n] + 1]++;
    if (upper)
      end = begin;
    else
      begin += tile[n].waits;
  }
  for (karst_index l = 0; l < tiles; l++) first[l + 1] += first[l];
  for (karst_index n = 0; n < tiles; n++) position[n] = first[level[n]]++;
}

struct work {
  karst_ilu_tile *tile; /* device memory, down to units */
  karst_index *wait, *position;
  int64_t *blocks, *units;    /* [tiles + 1] */
  karst_ilu_tile *host_tile;  /* host memory, like the rest */
  karst_index *host_wait;     /* [waits] */
  karst_index *host_position; /* [3 tiles + 1] level, position and first of find_positions */
};

void release(karst_context *context, const work &w)
{
  karst_cuda_work_release(context, w.tile, w.wait, w.position, w.blocks, w.units);
  karst_release(context, w.host_tile);
  karst_release(context, w.host_wait);
  karst_release(context, w.host_position);
}

/* Counts steps and blocks, and lists the tiles that each tile waits for. */
karst_status count(karst_context *context, const view &v, work *w)
{
  cudaStream_t stream = karst_cuda_of(context)->stream;
  const karst_index tiles = v.t.tiles.count;
  karst_index waits;
  karst_status status = karst_cuda_take_work(context, tiles, what, &w->tile);
  if (status) return status;
  measure<<<karst_cuda_grid(tiles, WARPS), THREADS, 0, stream>>>(v, w->tile);
  status = context->backend->download(context, &waits, v.halos.number + v.halos.count, sizeof waits);
  if (!status) status = karst_cuda_take_work(context, waits, what, &w->wait);
  if (!status) status = karst_allocate(context, &w->host_tile, tiles, sizeof *w->host_tile, what);
  if (!status) status = karst_allocate(context, &w->host_wait, waits, sizeof *w->host_wait, what);
  if (status) return status;
  if (v.halos.count > 0)
    list_waits<<<karst_cuda_grid(v.halos.count, THREADS), THREADS, 0, stream>>>(v.halos, v.t.tiles.owner, w->wait);
  status = context->backend->download(context, w->host_tile, w->tile, (size_t)tiles * sizeof *w->tile);
  if (!status && waits > 0)
    status = context->backend->download(context, w->host_wait, w->wait, (size_t)waits * sizeof *w->wait);
  return status;
}

/* Returns the bytes of shared memory for a tile: what the largest takes, but no more than twice the mean, because the
 * waits of a tile are hidden by other tiles at work; and no less than a tile takes when it is far. */
int64_t choose_shared(int b, karst_index tiles, const karst_ilu_tile *tile, int64_t limit)
{
  int64_t sum = 0, largest = 0, least = 0;
  for (karst_index n = 0; n < tiles; n++) {
    karst_ilu_tile far = tile[n];
    const int64_t bytes = karst_ilu_tile_bytes(tile[n], b);
    far.far = 1;
    sum += bytes / tiles + 1;
    if (bytes > largest) largest = bytes;
    if (karst_ilu_tile_bytes(far, b) > least) least = karst_ilu_tile_bytes(far, b);
  }
  int64_t shared = largest < 2 * sum ? largest : 2 * sum;
  if (shared > limit) shared = limit;
  return (shared > least ? shared : least) / 16 * 16;
}

karst_status make(karst_context *context, const view &v, int64_t *shared, work *w, karst_ilu_tiled *tiled,
                  int64_t *bytes)
{
  cudaStream_t stream = karst_cuda_of(context)->stream;
  const karst_index tiles = v.t.tiles.count;
  const int64_t ends = (int64_t)tiles + 1;
  int64_t units;
  karst_status status = count(context, v, w);
  if (!status) status = karst_allocate_zero(context, &w->host_position, 3 * ends, sizeof *w->host_position, what);
  if (!status) status = karst_cuda_take_work(context, ends, what, &w->blocks);
  if (!status) status = karst_cuda_take_work(context, ends, what, &w->units);
  if (status) return status;
  *shared = choose_shared(v.t.block_size, tiles, w->host_tile, *shared);
  mark_far<<<karst_cuda_grid(ends, THREADS), THREADS, 0, stream>>>(tiles, v.t.block_size, *shared, w->tile, w->blocks,
                                                                   w->units);
  find_positions(v.t.upper, tiles, w->host_tile, w->host_wait, w->host_position + 2 * ends, w->host_position + ends,
                 w->host_position);
  status = karst_cuda_upload_work(context, tiles, w->host_position, what, &w->position);
  if (!status) status = karst_ilu_sum_offsets_cuda(context, ends, w->blocks);
  if (!status) status = karst_ilu_sum_offsets_cuda(context, ends, w->units);
  if (!status) status = context->backend->download(context, &tiled->blocks, w->blocks + tiles, sizeof tiled->blocks);
  if (!status) status = context->backend->download(context, &units, w->units + tiles, sizeof units);
  if (!status) status = karst_cuda_take(context, tiles, what, &tiled->tile, bytes);
  if (!status) status = karst_cuda_take(context, units, what, &tiled->record, bytes);
  if (status) return status;
  write_records<<<karst_cuda_grid(tiles, WARPS), THREADS, 0, stream>>>(v, w->tile, w->blocks, w->units, w->position,
                                                                       w->wait, *tiled);
  return karst_cuda_status(context, cudaStreamSynchronize(stream), what);
}

} // namespace

karst_status karst_ilu_make_tiled_cuda(karst_context *context, const karst_ilu_tiling_cuda *tiling,
                                       const karst_ilu_halos_cuda *halos, int64_t *shared, karst_ilu_tiled *tiled,
                                       int64_t *bytes)
{
  const view v = {*tiling, *halos};
  work w = {};
  const karst_status status = make(context, v, shared, &w, tiled, bytes);
  release(context, w);
  return status;
}

void karst_ilu_release_tiled_cuda(karst_context *context, karst_ilu_tiled *tiled)
{
  karst_cuda_release(context, tiled->tile, tiled->record, tiled->from);
}
