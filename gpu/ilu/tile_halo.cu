/* tile_halo.cu - what the sweeps by tiles need besides the triangles (tile_sweep.h), from their pattern: which rows of
 * other tiles each tile needs, which tiles it waits for, in how many steps it is solved, and the short columns.
 *
 * The halos are found by sorting pairs of tile and row. */
#include "tile_sweep.h"

#include <cub/device/device_radix_sort.cuh>
#include <cub/device/device_select.cuh>

namespace
{

enum { THREADS = 256 };

const char *const what = "the tiles of block ILU";

/* A pair of a tile and a row of another tile that it needs. Sorted, they are the halos tile after tile. */
typedef unsigned long long pair;

struct pairs {
  int row_bits, bits; /* of the row; of both numbers */
  int64_t count;
  pair *pair; /* [count], ascending, each once */
};

/* What the kernels look at. */
struct view {
  karst_triangle t;
  bool upper;
  karst_index tiles;
  const karst_index *tile_start; /* [tiles + 1] first row of each */
  const karst_index *owner;      /* [rows] the tile of each row */
};

__device__ karst_index first_slot(const view &v, karst_index tile)
{
  return v.upper ? v.t.rows - v.tile_start[tile + 1] : v.tile_start[tile];
}

__global__ void find_owners(karst_index tiles, const karst_index *tile_start, karst_index *owner)
{
  const int64_t tile = (blockIdx.x * (int64_t)blockDim.x + threadIdx.x) / 32;
  if (tile >= tiles) return;
  for (karst_index i = tile_start[tile] + (karst_index)(threadIdx.x % 32); i < tile_start[tile + 1]; i += 32)
    owner[i] = (karst_index)tile;
}

/* Calls visit(block, row of the neighbour or -1 for none) for each neighbour of the slot. */
template <typename visitor> __device__ void each_neighbour(const view &v, int64_t slot, visitor visit)
{
  const int64_t slice = slot / v.t.group, first = v.t.start[slice], end = v.t.start[slice + 1];
  for (int64_t e = first + (v.upper ? 1 : 0); e < end; e++) {
    const int64_t block = e * v.t.group + slot % v.t.group;
    const karst_index neighbour = v.t.column[block];
    visit(block, neighbour < v.t.slots ? v.t.row[neighbour] : -1);
  }
}

/* Stores the pairs of all rows, in any order and as often as they are met; pair NULL: counts them. */
__global__ void find_pairs(view v, int row_bits, unsigned long long *count, pair *pair)
{
  const int64_t slot = blockIdx.x * (int64_t)blockDim.x + threadIdx.x;
  if (slot >= v.t.rows) return;
  const karst_index tile = v.owner[v.t.row[slot]];
  unsigned mine = 0;
  each_neighbour(v, slot, [&](int64_t, karst_index row) { mine += row >= 0 && v.owner[row] != tile; });
  if (mine == 0) return;
  unsigned long long at = atomicAdd(count, (unsigned long long)mine);
  if (!pair) return;
  each_neighbour(v, slot, [&](int64_t, karst_index row) {
    if (row >= 0 && v.owner[row] != tile) pair[at++] = (unsigned long long)tile << row_bits | (unsigned long long)row;
  });
}

/* Returns how many of the pairs are less than the wanted one. */
__device__ int64_t rank_of(const pairs &p, pair wanted)
{
  int64_t low = 0, high = p.count;
  while (low < high) {
    const int64_t middle = low + (high - low) / 2;
    if (p.pair[middle] < wanted)
      low = middle + 1;
    else
      high = middle;
  }
  return low;
}

/* Marks the pairs that are the first of their tile with a row of its owner. */
__global__ void mark_waits(pairs p, const karst_index *owner, karst_index *first)
{
  const int64_t k = blockIdx.x * (int64_t)blockDim.x + threadIdx.x;
  if (k > p.count) return;
  const pair rows = ((pair)1 << p.row_bits) - 1, here = k < p.count ? p.pair[k] : 0, before = k > 0 ? p.pair[k - 1] : 0;
  first[k] = k < p.count &&
             (k == 0 || here >> p.row_bits != before >> p.row_bits || owner[here & rows] != owner[before & rows]);
}

/* number: how many marks there are before each pair. */
__global__ void fill_halos(pairs p, const karst_index *owner, const karst_index *number, karst_index *halo,
                           karst_index *wait)
{
  const int64_t k = blockIdx.x * (int64_t)blockDim.x + threadIdx.x;
  if (k >= p.count) return;
  const karst_index row = (karst_index)(p.pair[k] & (((pair)1 << p.row_bits) - 1));
  halo[k] = row;
  if (number[k + 1] > number[k]) wait[number[k]] = owner[row];
}

/* How many steps each group of the triangle takes; the one past the last takes none. */
__global__ void count_steps(int64_t groups, const karst_index *start, int width, karst_index *steps)
{
  const int64_t g = blockIdx.x * (int64_t)blockDim.x + threadIdx.x;
  if (g <= groups) steps[g] = g < groups ? (start[g + 1] - start[g] + width - 1) / width : 0;
}

/* number: how many steps there are before each group. Each tile has one entry more than steps. */
__global__ void fill_steps(view v, const karst_index *group, const karst_index *start, int width,
                           const karst_index *number, unsigned short *step)
{
  const int64_t tile = (blockIdx.x * (int64_t)blockDim.x + threadIdx.x) / 32;
  if (tile >= v.tiles) return;
  const int64_t position = v.upper ? v.tiles - 1 - tile : tile;
  const karst_index slot = first_slot(v, (karst_index)tile), end = group[position + 1];
  for (karst_index g = group[position] + (karst_index)(threadIdx.x % 32); g < end; g += 32)
    for (karst_index s = start[g], n = number[g]; s < start[g + 1]; s += width, n++)
      step[position + n] = (unsigned short)(s - slot);
  if (threadIdx.x % 32 == 0)
    step[position + number[end]] = (unsigned short)(v.tile_start[tile + 1] - v.tile_start[tile]);
}

__global__ void fill_tiles(view v, pairs p, const karst_index *wait_number, const karst_index *group,
                           const karst_index *step_number, karst_ilu_tile *tile)
{
  const int64_t n = blockIdx.x * (int64_t)blockDim.x + threadIdx.x;
  if (n >= v.tiles) return;
  const int64_t position = v.upper ? v.tiles - 1 - n : n;
  karst_ilu_tile made = {};
  made.row = v.tile_start[n];
  made.rows = (int)(v.tile_start[n + 1] - made.row);
  made.slot = first_slot(v, (karst_index)n);
  const int64_t slice = made.slot / v.t.group, end = ((int64_t)made.slot + made.rows + v.t.group - 1) / v.t.group;
  made.entry = v.t.start[slice];
  made.slices = (int)(end - slice);
  const int64_t entries = v.t.start[end] - made.entry;
  made.entries = (int)(entries < KARST_ILU_TILE_ENTRIES ? entries : KARST_ILU_TILE_ENTRIES);
  const int64_t halo = rank_of(p, (pair)n << p.row_bits), next = rank_of(p, (pair)(n + 1) << p.row_bits);
  made.halo = (karst_index)halo;
  made.halos = (int)(next - halo);
  made.wait = wait_number[halo];
  made.waits = (int)(wait_number[next] - made.wait);
  made.step = (karst_index)(position + step_number[group[position]]);
  made.steps = (int)(step_number[group[position + 1]] - step_number[group[position]]);
  tile[n] = made;
}

/* The short columns of a slot, and the place of its row. Where a halo is too long for short numbers, its tile is
 * solved without them. */
__global__ void fill_columns(view v, pairs p, const karst_ilu_tile *tile, unsigned short *local, unsigned short *place)
{
  const int64_t slot = blockIdx.x * (int64_t)blockDim.x + threadIdx.x;
  if (slot >= v.t.slots) return;
  const karst_index row = v.t.row[slot < v.t.rows ? slot : v.t.rows - 1], n = v.owner[row];
  const karst_ilu_tile of = tile[n];
  if (slot < v.t.rows) place[row] = (unsigned short)(slot - of.slot);
  each_neighbour(v, slot, [&](int64_t block, karst_index neighbour) {
    int64_t at = (int64_t)of.rows + of.halos; /* where the zeros are */
    if (neighbour >= 0 && v.owner[neighbour] == n)
      at = v.t.column[block] - of.slot;
    else if (neighbour >= 0)
      at = of.rows + rank_of(p, (pair)n << p.row_bits | (pair)neighbour) - of.halo;
    local[block] = (unsigned short)at;
  });
}

int bits_of(int64_t largest)
{
  int bits = 1;
  while (largest >> bits) bits++;
  return bits;
}

/* Sorts count pairs and leaves each once. sorted: room for as many. */
karst_status sort_pairs(karst_context *context, pair *found, pair *sorted, unsigned long long *kept, pairs *p)
{
  cudaStream_t stream = karst_cuda_of(context)->stream;
  size_t sorting = 0, selecting = 0;
  void *work;
  unsigned long long count;
  cub::DeviceRadixSort::SortKeys(NULL, sorting, found, sorted, p->count, 0, p->bits, stream);
  cub::DeviceSelect::Unique(NULL, selecting, sorted, found, kept, p->count, stream);
  karst_status status =
      context->backend->allocate(context, (sorting > selecting ? sorting : selecting) + 1, what, &work);
  if (status) return status;
  cudaError_t error = cub::DeviceRadixSort::SortKeys(work, sorting, found, sorted, p->count, 0, p->bits, stream);
  if (error == cudaSuccess) error = cub::DeviceSelect::Unique(work, selecting, sorted, found, kept, p->count, stream);
  status = karst_cuda_status(context, error, what);
  if (!status) status = context->backend->download(context, &count, kept, sizeof count);
  if (!status) p->count = (int64_t)count;
  p->pair = found;
  context->backend->release(context, work);
  return status;
}

/* Work space, device memory. */
struct work {
  karst_index *owner;
  unsigned long long *count;
  pair *found, *sorted;
  karst_index *wait_number; /* [pairs + 1] */
  karst_index *start;       /* [groups + 1] the first slot of each */
  karst_index *step_number; /* [groups + 1] */
};

void release(karst_context *context, const work &w)
{
  context->backend->release(context, w.owner);
  context->backend->release(context, w.count);
  context->backend->release(context, w.found);
  context->backend->release(context, w.sorted);
  context->backend->release(context, w.wait_number);
  context->backend->release(context, w.start);
  context->backend->release(context, w.step_number);
}

karst_status find_halo_pairs(karst_context *context, const view &v, work *w, pairs *p)
{
  cudaStream_t stream = karst_cuda_of(context)->stream;
  const unsigned grid = karst_ilu_grid(v.t.rows, THREADS);
  unsigned long long count;
  int64_t passing = 0;
  p->row_bits = bits_of(v.t.rows);
  p->bits = p->row_bits + bits_of(v.tiles);
  karst_status status = karst_ilu_take(context, 1, what, &w->count, &passing);
  if (status) return status;
  cudaMemsetAsync(w->count, 0, sizeof *w->count, stream);
  find_pairs<<<grid, THREADS, 0, stream>>>(v, p->row_bits, w->count, NULL);
  status = context->backend->download(context, &count, w->count, sizeof count);
  p->count = (int64_t)count;
  if (!status) status = karst_ilu_take(context, p->count, what, &w->found, &passing);
  if (!status) status = karst_ilu_take(context, p->count, what, &w->sorted, &passing);
  p->pair = w->found;
  if (status || p->count == 0) return status;
  cudaMemsetAsync(w->count, 0, sizeof *w->count, stream);
  find_pairs<<<grid, THREADS, 0, stream>>>(v, p->row_bits, w->count, w->found);
  return sort_pairs(context, w->found, w->sorted, w->count, p);
}

karst_status make_halos(karst_context *context, const view &v, const pairs &p, work *w, karst_ilu_side *side,
                        int64_t *bytes)
{
  cudaStream_t stream = karst_cuda_of(context)->stream;
  karst_index waits;
  int64_t passing = 0;
  karst_status status = karst_ilu_take(context, p.count + 1, what, &w->wait_number, &passing);
  if (status) return status;
  mark_waits<<<karst_ilu_grid(p.count + 1, THREADS), THREADS, 0, stream>>>(p, v.owner, w->wait_number);
  status = karst_ilu_sum_indices_cuda(context, p.count + 1, w->wait_number);
  if (!status) status = context->backend->download(context, &waits, w->wait_number + p.count, sizeof waits);
  if (!status) status = karst_ilu_take(context, p.count, what, &side->halo, bytes);
  if (!status) status = karst_ilu_take(context, waits, what, &side->wait, bytes);
  if (!status && p.count > 0)
    fill_halos<<<karst_ilu_grid(p.count, THREADS), THREADS, 0, stream>>>(p, v.owner, w->wait_number, side->halo,
                                                                         side->wait);
  return status;
}

karst_status make_steps(karst_context *context, const view &v, const karst_ilu_levels_cuda *groups,
                        const karst_index *group, work *w, karst_ilu_side *side, int64_t *bytes)
{
  cudaStream_t stream = karst_cuda_of(context)->stream;
  const int64_t count = (int64_t)groups->count + 1;
  karst_index steps;
  int64_t passing = 0;
  karst_status status = karst_device_indices(context, count, groups->start, what, &w->start);
  if (!status) status = karst_ilu_take(context, count, what, &w->step_number, &passing);
  if (status) return status;
  count_steps<<<karst_ilu_grid(count, THREADS), THREADS, 0, stream>>>(groups->count, w->start, v.t.group,
                                                                      w->step_number);
  status = karst_ilu_sum_indices_cuda(context, count, w->step_number);
  if (!status) status = context->backend->download(context, &steps, w->step_number + groups->count, sizeof steps);
  if (!status) status = karst_ilu_take(context, (int64_t)steps + v.tiles + 1, what, &side->step, bytes);
  if (!status)
    fill_steps<<<karst_ilu_grid((int64_t)v.tiles * 32, THREADS), THREADS, 0, stream>>>(v, group, w->start, v.t.group,
                                                                                       w->step_number, side->step);
  return status;
}

karst_status make_side(karst_context *context, const karst_ilu_pattern_cuda *pattern, view *v, work *w,
                       karst_ilu_side *side, int64_t *bytes)
{
  cudaStream_t stream = karst_cuda_of(context)->stream;
  const karst_ilu_tiles_cuda *tiles = &pattern->tiles;
  const karst_index *group = v->upper ? tiles->upper_group : tiles->lower_group;
  pairs p = {};
  int64_t passing = 0;
  karst_status status = karst_ilu_take(context, v->t.rows, what, &w->owner, &passing);
  if (status) return status;
  find_owners<<<karst_ilu_grid((int64_t)v->tiles * 32, THREADS), THREADS, 0, stream>>>(v->tiles, v->tile_start,
                                                                                       w->owner);
  v->owner = w->owner;
  status = find_halo_pairs(context, *v, w, &p);
  if (!status) status = make_halos(context, *v, p, w, side, bytes);
  if (!status) status = make_steps(context, *v, v->upper ? &pattern->upper : &pattern->lower, group, w, side, bytes);
  if (!status) status = karst_ilu_take(context, v->tiles, what, &side->tile, bytes);
  if (!status) status = karst_ilu_take(context, v->t.blocks + 16, what, &side->local, bytes);
  if (!status) status = karst_ilu_take(context, v->t.rows, what, &side->place, bytes);
  if (status) return status;
  fill_tiles<<<karst_ilu_grid(v->tiles, THREADS), THREADS, 0, stream>>>(*v, p, w->wait_number, group, w->step_number,
                                                                        side->tile);
  cudaMemsetAsync(side->local, 0, ((size_t)v->t.blocks + 16) * sizeof *side->local, stream);
  fill_columns<<<karst_ilu_grid(v->t.slots, THREADS), THREADS, 0, stream>>>(*v, p, side->tile, side->local,
                                                                            side->place);
  return karst_cuda_status(context, cudaStreamSynchronize(stream), what);
}

} // namespace

karst_status karst_ilu_make_side_cuda(karst_context *context, const karst_ilu_pattern_cuda *pattern,
                                      const karst_triangle *t, bool upper, karst_ilu_side *side, int64_t *bytes)
{
  work w = {};
  view v = {*t, upper, pattern->tiles.count, pattern->tiles.start, NULL};
  const karst_status status = make_side(context, pattern, &v, &w, side, bytes);
  release(context, w);
  return status;
}

void karst_ilu_release_side_cuda(karst_context *context, karst_ilu_side *side)
{
  context->backend->release(context, side->tile);
  context->backend->release(context, side->local);
  context->backend->release(context, side->place);
  context->backend->release(context, side->step);
  context->backend->release(context, side->halo);
  context->backend->release(context, side->wait);
}
