/* tile_record.cu - makes a triangle by tiles (tile_sweep.h): the steps of each tile, the order in which tiles are
 * taken, how long they take, and their records.
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
  const int64_t blocks = make_steps(v.t, made, [&](int number, const karst_ilu_step &step, int count, karst_index) {
    made.steps = number + 1;
    made.rounds += karst_tile_rounds(v.t.block_size, count, step.length, v.t.share);
  });
  made.value_bytes = (int)(v.t.single ? sizeof(float) : sizeof(double));
  const int whole = 16 / made.value_bytes;
  made.blocks = (blocks + whole - 1) / whole * whole;
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
  marked.far = karst_ilu_tile_bytes(marked, b) > shared;
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
      to.wide[block] = j;
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

/* In host memory: for each tile its level in the graph of the tiles, when it is done, and its position in the sweep. */
struct schedule {
  karst_index *level, *position; /* [tiles] */
  karst_index *first;            /* [tiles + 1] the first position of each level; 0 at first */
  double *done;                  /* [tiles] in seconds after the begin, as predicted */
  double last, sum;              /* when all are done; the seconds of all */
};

/* Predicts the seconds of a tile. Of a far one, each lane fetches FETCHES blocks at a time. */
double predict(const karst_machine *machine, const karst_ilu_tiling_cuda &t, const karst_ilu_tile &tile, int64_t shared)
{
  enum { FETCHES = 4 };
  const double near = karst_tile_seconds(machine, t.block_size, t.share, tile.steps, tile.rounds);
  if (karst_ilu_tile_bytes(tile, t.block_size) <= shared) return near;
  return near + machine->level_step * (double)(tile.blocks / (32 / t.block_size * FETCHES));
}

/* Finds the position of each tile in the sweep: by the level sets of the graph of the tiles, so that the tiles that
 * wait least come first, and by numbers in each. seconds_of(tile): how long it takes. */
template <typename cost>
void find_positions(bool upper, karst_index tiles, const karst_ilu_measured_cuda &m, cost seconds_of, schedule &s)
{
  const karst_index *wait = m.host_wait;
  for (karst_index n = 0; n < tiles && upper; n++) wait += m.host_tile[n].waits;
  for (karst_index k = 0; k < tiles; k++) {
    const karst_index n = upper ? tiles - 1 - k : k;
    const karst_ilu_tile &tile = m.host_tile[n];
    if (upper) wait -= tile.waits;
    s.level[n] = 0;
    s.done[n] = 0;
    for (int w = 0; w < tile.waits; w++) {
      if (s.level[wait[w]] >= s.level[n]) s.level[n] = s.level[wait[w]] + 1;
      if (s.done[wait[w]] > s.done[n]) s.done[n] = s.done[wait[w]];
    }
    const double seconds = seconds_of(tile);
    s.sum += seconds;
    s.done[n] += seconds;
    if (s.done[n] > s.last) s.last = s.done[n];
    s.first[s.level[n] + 1]++;
    if (!upper) wait += tile.waits;
  }
  for (karst_index l = 0; l < tiles; l++) s.first[l + 1] += s.first[l];
  for (karst_index n = 0; n < tiles; n++) s.position[n] = s.first[s.level[n]]++;
}

/* What make needs besides the measured tiles; device memory, but for the schedule. */
struct work {
  karst_index *position;
  int64_t *blocks, *units; /* [tiles + 1] */
  karst_index *numbers;    /* host memory of the schedule */
  schedule s;
};

void release(karst_context *context, const work &w)
{
  karst_cuda_work_release(context, w.position, w.blocks, w.units);
  karst_release(context, w.numbers);
  karst_release(context, w.s.done);
}

karst_status take(karst_context *context, karst_index tiles, work *w)
{
  const int64_t ends = (int64_t)tiles + 1;
  karst_status status = karst_allocate_zero(context, &w->numbers, 3 * ends, sizeof *w->numbers, what);
  if (!status) status = karst_allocate(context, &w->s.done, ends, sizeof *w->s.done, what);
  if (!status) status = karst_cuda_take_work(context, ends, what, &w->blocks);
  if (!status) status = karst_cuda_take_work(context, ends, what, &w->units);
  w->s.position = w->numbers;
  w->s.first = w->numbers + ends;
  w->s.level = w->numbers + 2 * ends;
  return status;
}

karst_status make(karst_context *context, const view &v, const karst_ilu_measured_cuda &m, int64_t shared, work *w,
                  karst_ilu_tiled *tiled, int64_t *bytes)
{
  cudaStream_t stream = karst_cuda_of(context)->stream;
  const karst_index tiles = v.t.tiles.count;
  const int64_t ends = (int64_t)tiles + 1;
  const int b = v.t.block_size;
  int64_t units;
  karst_status status = take(context, tiles, w);
  if (status) return status;
  mark_far<<<karst_cuda_grid(ends, THREADS), THREADS, 0, stream>>>(tiles, b, shared, m.tile, w->blocks, w->units);
  find_positions(
      v.t.upper, tiles, m,
      [&](const karst_ilu_tile &tile) { return predict(context->backend->machine, v.t, tile, shared); }, w->s);
  tiled->chain = w->s.last;
  tiled->occupied = w->s.sum * (double)shared;
  status = karst_cuda_upload_work(context, tiles, w->s.position, what, &w->position);
  if (!status) status = karst_ilu_sum_offsets_cuda(context, ends, w->blocks);
  if (!status) status = karst_ilu_sum_offsets_cuda(context, ends, w->units);
  if (!status) status = context->backend->download(context, &tiled->blocks, w->blocks + tiles, sizeof tiled->blocks);
  if (!status) status = context->backend->download(context, &units, w->units + tiles, sizeof units);
  if (!status) status = karst_cuda_take(context, tiles, what, &tiled->tile, bytes);
  if (!status) status = karst_cuda_take(context, units, what, &tiled->record, bytes);
  if (status) return status;
  write_records<<<karst_cuda_grid(tiles, WARPS), THREADS, 0, stream>>>(v, m.tile, w->blocks, w->units, w->position,
                                                                       m.wait, *tiled);
  return karst_cuda_status(context, cudaStreamSynchronize(stream), what);
}

} // namespace

karst_status karst_ilu_measure_tiles_cuda(karst_context *context, const karst_ilu_tiling_cuda *tiling,
                                          const karst_ilu_halos_cuda *halos, karst_ilu_measured_cuda *m)
{
  cudaStream_t stream = karst_cuda_of(context)->stream;
  const view v = {*tiling, *halos};
  const karst_index tiles = tiling->tiles.count;
  karst_index waits;
  karst_status status = karst_cuda_take_work(context, tiles, what, &m->tile);
  if (status) return status;
  measure<<<karst_cuda_grid(tiles, WARPS), THREADS, 0, stream>>>(v, m->tile);
  status = context->backend->download(context, &waits, halos->number + halos->count, sizeof waits);
  if (!status) status = karst_cuda_take_work(context, waits, what, &m->wait);
  if (!status) status = karst_allocate(context, &m->host_tile, tiles, sizeof *m->host_tile, what);
  if (!status) status = karst_allocate(context, &m->host_wait, waits, sizeof *m->host_wait, what);
  if (status) return status;
  if (halos->count > 0)
    list_waits<<<karst_cuda_grid(halos->count, THREADS), THREADS, 0, stream>>>(*halos, tiling->tiles.owner, m->wait);
  status = context->backend->download(context, m->host_tile, m->tile, (size_t)tiles * sizeof *m->tile);
  if (!status && waits > 0)
    status = context->backend->download(context, m->host_wait, m->wait, (size_t)waits * sizeof *m->wait);
  return status;
}

void karst_ilu_release_measured_cuda(karst_context *context, karst_ilu_measured_cuda *m)
{
  karst_cuda_work_release(context, m->tile, m->wait);
  karst_release(context, m->host_tile);
  karst_release(context, m->host_wait);
  *m = {};
}

karst_status karst_ilu_make_tiled_cuda(karst_context *context, const karst_ilu_tiling_cuda *tiling,
                                       const karst_ilu_halos_cuda *halos, const karst_ilu_measured_cuda *measured,
                                       int64_t shared, karst_ilu_tiled *tiled, int64_t *bytes)
{
  const view v = {*tiling, *halos};
  work w = {};
  const karst_status status = make(context, v, *measured, shared, &w, tiled, bytes);
  release(context, w);
  return status;
}

void karst_ilu_release_tiled_cuda(karst_context *context, karst_ilu_tiled *tiled)
{
  karst_cuda_release(context, tiled->tile, tiled->record, tiled->from);
}
