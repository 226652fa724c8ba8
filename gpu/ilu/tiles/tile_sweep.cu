/* tile_sweep.cu - z = (L D U')^-1 r by tiles, in one launch for both triangles:
 *
 *     forward    y_i = r_i - sum_{p < i} L_ip y_p
 *     backward   z_i = D_i^-1 y_i - sum_{j > i} U'_ij z_j
 *
 * One warp solves one tile of one triangle (tile_sweep.h). The copy engine brings the tile's record and its values into
 * shared memory, while the warp fetches its part of the right-hand side; then it waits for the tiles that it needs,
 * gathers its halo, and takes one step after another. All that the steps touch is in shared memory.
 *
 * Warps take tickets, those of the forward sweep first. A warp with a ticket runs, and waits for lower tickets only, so
 * the lowest one that is not done can always go on. A tile that is done stores the number of the solve, which grows
 * from solve to solve.
 *
 * A row that does not fit into shared memory is a far tile, whose record and values stay in global memory.
 *
 * The values are those of the two triangles (ilu_cuda.h) in another order. A factorization by tiles (tile_factor.cu)
 * stores them so; after another one they are copied (tile_copy.cu). */
#include "gpu/launch.h"
#include "gpu/ilu/sweeps/sweep_parts.h"
#include "gpu/ilu/tiles/tile_steps.h"

namespace
{

const char *const what = "the tiles of block ILU";

enum { WARPS = 4 }; /* of a block of threads, at most */

enum { MOST_SHARED = 62 * 1024 }; /* bytes of shared memory of a warp at most */

/* One triangle. */
struct side {
  const karst_ilu_tile *tile;
  const char *record;
  const void *value; /* doubles or floats */
};

/* The progress of the tiles; device memory. */
struct progress {
  unsigned *ticket; /* tickets taken since the first solve */
  unsigned *done;   /* [2 tiles] the last solve in which each tile was done, forward and backward */
};

struct solve_arguments {
  karst_index tiles;
  side lower, upper;
  progress marks;
  unsigned solve; /* its number, from 1 on */
  unsigned first; /* its first ticket */
  int shared;     /* bytes of shared memory for a warp */
  const double *r;
  double *y, *z; /* in the order of the rows */
};

/* Solves a tile whose part of x has been fetched. */
template <int B, bool upper, bool SHARE, typename T>
__device__ __forceinline__ void solve_near(const solve_arguments &s, const karst_ilu_tile &tile, const unsigned *done,
                                           char *memory, int vector, copies *under_way, double *out, double *x)
{
  const karst_ilu_record at = karst_ilu_record_of(tile);
  char *record = memory + vector;
  const T *value = (const T *)(record + at.bytes);
  const near_tile<T> from = {(const karst_ilu_step *)record,
                             (const karst_index *)(record + at.halo),
                             (const karst_index *)(record + at.wait),
                             (const unsigned short *)(record + at.order),
                             (const unsigned short *)(record + at.local),
                             value};
  await_copy(&under_way->record);
  await_tiles(tile.waits, from.wait, done, s.solve);
  fetch_halo<B>(tile.halos, from.halo, out, x + tile.rows * B);
  await_fetches();
  if (tile.blocks > 0) await_copy(&under_way->values);
  if (upper) divide_by_pivots<B>(value, tile.rows, x);
  take_steps<B, SHARE>(from, tile.steps, x);
}

/* The same for a far tile, a single row: its blocks are shared by groups of B lanes. */
template <int B, bool upper, typename T>
__device__ __noinline__ void solve_far(const solve_arguments &s, const karst_ilu_tile &tile, const unsigned *done,
                                       const double *out, double *x)
{
  constexpr int R = 32 / B;
  const side &my = upper ? s.upper : s.lower;
  const karst_ilu_record at = karst_ilu_record_of(tile);
  const char *record = my.record + tile.record * 16;
  const karst_ilu_step step = *(const karst_ilu_step *)record;
  const karst_index *wide = (const karst_index *)(record + at.wide) + step.block;
  const T *inverse = (const T *)my.value + tile.value * (B * B), *value = inverse + step.block * (B * B);
  const int lane = (int)threadIdx.x % 32, r = lane % B;
  await_tiles(tile.waits, (const karst_index *)(record + at.wait), done, s.solve);
  await_fetches();
  if (upper) divide_by_pivots<B>(inverse, 1, x);
  double sum = 0;
#pragma unroll 4
  for (int e = lane < R * B ? lane / B : step.length; e < step.length; e += R) {
    const double *from = out + (int64_t)wide[e] * B;
#pragma unroll
    for (int c = 0; c < B; c++) sum += (double)value[((int64_t)e * B + c) * B + r] * __ldcg(from + c);
  }
  __syncwarp();
  sum = sum_of_groups<B>(sum);
  if (lane < B) x[r] -= sum;
  __syncwarp();
}

/* Solves a tile of one triangle. memory: shared. */
template <int B, bool upper, bool SHARE, typename T>
__device__ __forceinline__ void solve_tile(const solve_arguments &s, unsigned position, char *memory, copies *under_way)
{
  const side &my = upper ? s.upper : s.lower;
  const karst_ilu_tile tile = my.tile[position];
  unsigned *done = s.marks.done + (upper ? s.tiles : 0);
  double *out = upper ? s.z : s.y, *x = (double *)memory;
  const int vector = (int)karst_ilu_tile_vector(tile, B);
  if (!tile.far) {
    const unsigned record = (unsigned)karst_ilu_record_of(tile).bytes;
    begin_copy(memory + vector, my.record + tile.record * 16, record, &under_way->record);
    if (tile.blocks > 0)
      begin_copy(memory + vector + record, (const T *)my.value + tile.value * (B * B),
                 (unsigned)tile.blocks * (B * B * sizeof(T)), &under_way->values);
  }
  if (upper) await_mark(s.marks.done + tile.number, s.solve);
  fetch_own<B>(tile, upper ? s.y : s.r, x);
  if (tile.far)
    solve_far<B, upper, T>(s, tile, done, out, x);
  else
    solve_near<B, upper, SHARE, T>(s, tile, done, memory, vector, under_way, out, x);
  double *own = out + (int64_t)tile.row * B;
  for (int k = (int)threadIdx.x % 32; k < tile.rows * B; k += 32) own[k] = x[k];
  __syncwarp();
  if (threadIdx.x % 32 == 0) publish_mark(done + tile.number, s.solve);
}

template <int B, bool SHARE, typename T>
__global__ void __launch_bounds__(32 * WARPS) solve_tiles(const solve_arguments s)
{
  extern __shared__ __align__(128) char memory[];
  __shared__ copies under_way[WARPS];
  karst_cuda_begin();
  const int warp = (int)threadIdx.x / 32;
  char *own = memory + warp * s.shared;
  unsigned ticket = 0;
  if (threadIdx.x % 32 == 0) ticket = atomicAdd(s.marks.ticket, 1u) - s.first;
  ticket = __shfl_sync(~0u, ticket, 0);
  if (ticket < (unsigned)s.tiles)
    solve_tile<B, false, SHARE, T>(s, ticket, own, &under_way[warp]);
  else if (ticket < 2 * (unsigned)s.tiles)
    solve_tile<B, true, SHARE, T>(s, ticket - (unsigned)s.tiles, own, &under_way[warp]);
}

template <typename T> const void *kernel_of(int block_size, bool share)
{
  const void *kernel = NULL;
  karst_cuda_instance(block_size, [&](auto size) {
    constexpr int B = decltype(size)::value;
    if constexpr (karst_ilu_has_instance(B, std::is_same<T, float>::value))
      kernel = share ? (const void *)solve_tiles<B, true, T> : (const void *)solve_tiles<B, false, T>;
  });
  return kernel;
}

const void *kernel_for(int block_size, bool share, bool single)
{
  return (single ? kernel_of<float> : kernel_of<double>)(block_size, share);
}

/* sweep_state */
struct tiles_state {
  karst_ilu_both_tiled tiled;
  bool share;
  int shared; /* bytes for a warp */
  int warps;  /* of a block of threads */
};

/* sweep_work, of device memory */
struct tiles_work {
  progress marks;
  karst_ilu_tile_values value;
  double *y;       /* [rows] */
  unsigned solves; /* so far */
};

/* A triangle whose tiles are measured. */
struct measured_side {
  karst_ilu_tiling_cuda tiling;
  karst_ilu_halos_cuda halos;
  karst_ilu_measured_cuda found;
};

karst_status measure_side(karst_context *context, const karst_ilu_tiles_cuda &tiles, measured_side *side)
{
  side->tiling.tiles = tiles;
  karst_status status = karst_ilu_order_tiles_cuda(context, &side->tiling);
  if (!status) status = karst_ilu_find_halos_cuda(context, &side->tiling, &side->halos);
  return status ? status : karst_ilu_measure_tiles_cuda(context, &side->tiling, &side->halos, &side->found);
}

void release_side(karst_context *context, measured_side *side)
{
  karst_ilu_release_measured_cuda(context, &side->found);
  karst_ilu_release_halos_cuda(context, &side->halos);
  karst_cuda_work_release(context, side->tiling.order, side->tiling.level);
  side->halos = {};
  side->tiling.order = NULL;
  side->tiling.level = NULL;
}

/* Returns the bytes of shared memory for a tile: what the largest takes, but no more than twice the mean, because the
 * waits of a tile are hidden by other tiles at work. */
int64_t choose_shared(int b, karst_index tiles, const karst_ilu_tile *tile, int64_t limit)
{
  int64_t sum = 0, largest = 0;
  for (karst_index n = 0; n < tiles; n++) {
    const int64_t bytes = karst_ilu_tile_bytes(tile[n], b);
    sum += bytes / tiles + 1;
    if (bytes > largest) largest = bytes;
  }
  const int64_t shared = largest < 2 * sum ? largest : 2 * sum;
  return (shared < limit ? shared : limit) / 16 * 16;
}

/* Measures the tiles of both triangles, and cuts those that take too much shared memory until none is left. */
karst_status measure_sides(karst_context *context, int limit, karst_ilu_tiles_cuda *tiles, measured_side *lower,
                           measured_side *upper, int *shared)
{
  const int b = lower->tiling.block_size;
  *shared = 0;
  for (bool cut = true; cut;) {
    release_side(context, lower);
    release_side(context, upper);
    karst_status status = measure_side(context, *tiles, lower);
    if (!status) status = measure_side(context, *tiles, upper);
    if (status) return status;
    if (*shared == 0) {
      const int64_t below = choose_shared(b, tiles->count, lower->found.host_tile, limit);
      const int64_t above = choose_shared(b, tiles->count, upper->found.host_tile, limit);
      *shared = (int)(below > above ? below : above);
    }
    status = karst_ilu_cut_tiles_cuda(context, b, *shared, lower->found.host_tile, upper->found.host_tile, tiles, &cut);
    if (status) return status;
  }
  return KARST_SUCCESS;
}

karst_status analyse_sides(karst_context *context, int limit, karst_ilu_tiles_cuda *tiles, measured_side *lower,
                           measured_side *upper, karst_ilu_analysis *analysis, tiles_state *state)
{
  int64_t *bytes = &analysis->plan_memory;
  karst_status status = measure_sides(context, limit, tiles, lower, upper, &state->shared);
  if (status) return status;
  state->tiled.tiles = tiles->count;
  status = karst_ilu_make_tiled_cuda(context, &lower->tiling, &lower->halos, &lower->found, state->shared,
                                     &state->tiled.lower, bytes);
  if (status) return status;
  return karst_ilu_make_tiled_cuda(context, &upper->tiling, &upper->halos, &upper->found, state->shared,
                                   &state->tiled.upper, bytes);
}

/* The warps of a thread block: several if a warp needs little shared memory, because a multiprocessor holds only 32
 * thread blocks, and loses the memory that the system reserves for each. */
int choose_warps(int shared)
{
  enum { SMALL = 4096, MEDIUM = 8192 };
  return shared <= SMALL ? WARPS : shared <= MEDIUM ? WARPS / 2 : 1;
}

karst_status analyse_tiles(karst_context *context, const karst_ilu_pattern_cuda *pattern, karst_ilu_analysis *analysis)
{
  karst_ilu_cuda *plan = karst_ilu_cuda_of(analysis);
  const int room = karst_ilu_tile_room(context), limit = room < MOST_SHARED ? room : (int)MOST_SHARED;
  const int b = analysis->block_size;
  const bool share = karst_tile_rows_are_long(analysis->rows, analysis->lower_blocks + analysis->upper_blocks);
  measured_side lower = {
      {b, false, share, analysis->single, analysis->rows, pattern->lower_start, pattern->lower_column, {}, NULL, NULL}};
  measured_side upper = {
      {b, true, share, analysis->single, analysis->rows, pattern->upper_start, pattern->upper_column, {}, NULL, NULL}};
  karst_ilu_tiles_cuda tiles = {};
  tiles_state *state;
  karst_status status = karst_allocate_zero(context, &state, 1, sizeof *state, what);
  if (status) return status;
  plan->sweep_state = state;
  state->share = share;
  status = karst_ilu_join_tiles_cuda(context, analysis, &tiles);
  if (!status) status = analyse_sides(context, limit, &tiles, &lower, &upper, analysis, state);
  release_side(context, &lower);
  release_side(context, &upper);
  karst_cuda_work_release(context, tiles.start, tiles.owner);
  if (status) return status;
  state->warps = choose_warps(state->shared);
  /* The limit belongs to the kernel, so it is the same for every plan. */
  return karst_cuda_status(
      context,
      cudaFuncSetAttribute(kernel_for(b, share, analysis->single), cudaFuncAttributeMaxDynamicSharedMemorySize, limit),
      "the sweeps by tiles");
}

void forget_tiles(karst_context *context, karst_ilu_cuda *plan)
{
  tiles_state *state = static_cast<tiles_state *>(plan->sweep_state);
  if (!state) return;
  karst_ilu_release_tiled_cuda(context, &state->tiled.lower);
  karst_ilu_release_tiled_cuda(context, &state->tiled.upper);
  karst_release(context, state);
}

karst_status plan_tiles(karst_context *context, karst_ilu *ilu)
{
  karst_ilu_cuda *plan = karst_ilu_cuda_of(ilu);
  const tiles_state *state = static_cast<const tiles_state *>(plan->sweep_state);
  const int b = plan->block_size;
  const int64_t marks = 2 * (int64_t)state->tiled.tiles + 1;
  tiles_work *work;
  karst_status status = karst_allocate_zero(context, &work, 1, sizeof *work, what);
  if (status) return status;
  plan->sweep_work = work;
  int64_t *bytes = &ilu->plan_memory;
  status = karst_cuda_take(context, marks, what, &work->marks.ticket, bytes);
  const int64_t lower = karst_block_offset(b, state->tiled.lower.blocks);
  const int64_t upper = karst_block_offset(b, state->tiled.upper.blocks);
  if (!status) status = karst_cuda_take(context, lower, what, &work->value.lower, bytes);
  if (!status) status = karst_cuda_take(context, upper, what, &work->value.upper, bytes);
  if (!status && ilu->single) status = karst_cuda_take(context, lower, what, &work->value.lower_single, bytes);
  if (!status && ilu->single) status = karst_cuda_take(context, upper, what, &work->value.upper_single, bytes);
  if (!status) status = karst_cuda_take(context, (int64_t)b * ilu->rows, what, &work->y, bytes);
  if (status) return status;
  cudaStream_t stream = karst_cuda_of(context)->stream;
  work->marks.done = work->marks.ticket + 1;
  cudaMemsetAsync(work->marks.ticket, 0, (size_t)marks * sizeof *work->marks.ticket, stream);
  cudaMemsetAsync(work->value.lower, 0, (size_t)lower * sizeof(double), stream);
  cudaMemsetAsync(work->value.upper, 0, (size_t)upper * sizeof(double), stream);
  if (ilu->single) cudaMemsetAsync(work->value.lower_single, 0, (size_t)lower * sizeof(float), stream);
  if (ilu->single) cudaMemsetAsync(work->value.upper_single, 0, (size_t)upper * sizeof(float), stream);
  return KARST_SUCCESS;
}

side side_of(const karst_ilu_tiled &tiled, const double *value, const float *single)
{
  return {tiled.tile, (const char *)tiled.record, single ? (const void *)single : value};
}

void solve_by_tiles(karst_context *context, const karst_ilu_cuda *plan, const double *r, double *z)
{
  const tiles_state *state = static_cast<const tiles_state *>(plan->sweep_state);
  tiles_work *work = static_cast<tiles_work *>(plan->sweep_work);
  const unsigned blocks = karst_cuda_grid(2 * (int64_t)state->tiled.tiles, state->warps);
  const unsigned tickets = blocks * (unsigned)state->warps;
  solve_arguments arguments = {state->tiled.tiles,
                               side_of(state->tiled.lower, work->value.lower, work->value.lower_single),
                               side_of(state->tiled.upper, work->value.upper, work->value.upper_single),
                               work->marks,
                               work->solves + 1,
                               work->solves * tickets,
                               state->shared,
                               r,
                               work->y,
                               z};
  void *list[] = {&arguments};
  const void *kernel = kernel_for(plan->block_size, state->share, work->value.lower_single != NULL);
  const struct karst_cuda *cuda = karst_cuda_of(context);
  const cudaError_t error =
      karst_cuda_launch_list(cuda, cuda->launch_early, kernel, blocks, 32 * (unsigned)state->warps,
                             (size_t)(state->shared * state->warps), list);
  if (error == cudaSuccess) work->solves++; /* else no warp has taken a ticket */
}

void destroy_tiles(karst_context *context, karst_ilu_cuda *plan)
{
  tiles_work *work = static_cast<tiles_work *>(plan->sweep_work);
  if (!work) return;
  karst_cuda_release(context, work->marks.ticket, work->value.lower, work->value.upper, work->value.lower_single,
                     work->value.upper_single, work->y);
  karst_release(context, work);
}

void load_values(karst_context *context, const karst_ilu_cuda *plan)
{
  karst_ilu_copy_values_cuda(context, plan, karst_ilu_tiled_of(plan), karst_ilu_tile_values_of(plan));
}

} // namespace

int karst_ilu_tile_room(const karst_context *context)
{
  enum { BESIDES = 1024 };
  int block = 0;
  cudaDeviceGetAttribute(&block, cudaDevAttrMaxSharedMemoryPerBlockOptin, karst_cuda_of(context)->device);
  return block - BESIDES;
}

karst_ilu_both_tiled *karst_ilu_tiled_of(const karst_ilu_cuda *plan)
{
  return &static_cast<tiles_state *>(plan->sweep_state)->tiled;
}

karst_ilu_tile_values karst_ilu_tile_values_of(const karst_ilu_cuda *plan)
{
  return static_cast<const tiles_work *>(plan->sweep_work)->value;
}

const karst_ilu_sweep_variant karst_ilu_sweep_tiles_cuda = {
    "tiles",     "by tiles, one launch", analyse_tiles, forget_tiles,
    load_values, solve_by_tiles,         plan_tiles,    destroy_tiles};
