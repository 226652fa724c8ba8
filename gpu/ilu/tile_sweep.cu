/* tile_sweep.cu - z = (L D U')^-1 r by tiles, in one launch for both triangles:
 *
 *     forward    y_i = r_i - sum_{p < i} L_ip y_p
 *     backward   z_i = D_i^-1 y_i - sum_{j > i} U'_ij z_j
 *
 * One warp solves one tile of one triangle (tile_sweep.h). The copy engine brings the tile's record and its values into
 * shared memory, while the warp fetches what it has of the right-hand side; then it waits for the tiles that it needs,
 * gathers its halo, and takes one step after another. All that the steps touch is in shared memory.
 *
 * Warps take tickets, those of the forward sweep first. Whoever has a ticket runs, and waits for lower tickets only, so
 * the lowest one that is not done can always go on. A tile that is done says so by the number of the solve, which none
 * before had.
 *
 * A tile that finds no room in shared memory is solved from where its record and its values are.
 *
 * The values are those of the two triangles (ilu.h) in another order, copied after each factorization. */
#include "tile_sweep.h"

namespace
{

const char *const what = "the tiles of block ILU";

/* 2^MOST_SHIFT lanes may share a scalar row, where the rows of a triangle are long on average; a block of threads has
 * WARPS warps at most. */
enum { MOST_SHIFT = 3, WARPS = 4 };

enum { MOST_SHARED = 62 * 1024 }; /* bytes of shared memory of a warp at most; any GPU has so much for a block */

/* One triangle. */
struct side {
  const karst_ilu_tile *tile;
  const char *record;
  const double *value;
};

/* What changes from solve to solve, and what the tiles have to say to each other; device memory. */
struct board {
  unsigned *ticket; /* tickets taken since the first solve */
  unsigned *done;   /* [2 tiles] the last solve in which each tile was done, forward and backward */
};

struct solve_arguments {
  karst_index tiles;
  side lower, upper;
  board marks;
  unsigned solve; /* its number, from 1 on */
  unsigned first; /* its first ticket */
  int shared;     /* bytes of shared memory for a warp */
  const double *r;
  double *y, *z; /* in the order of the rows */
};

__device__ __forceinline__ unsigned look(const unsigned *mark)
{
  unsigned value;
#if __CUDA_ARCH__ >= 700
  asm volatile("ld.acquire.gpu.global.u32 %0, [%1];" : "=r"(value) : "l"(mark) : "memory");
#else
  value = *(const volatile unsigned *)mark;
  __threadfence();
#endif
  return value;
}

/* By one lane, after __syncwarp: what the others have stored is seen by whoever sees the mark. */
__device__ __forceinline__ void tell(unsigned *mark, unsigned value)
{
#if __CUDA_ARCH__ >= 700
  asm volatile("st.release.gpu.global.u32 [%0], %1;" ::"l"(mark), "r"(value) : "memory");
#else
  __threadfence();
  *(volatile unsigned *)mark = value;
#endif
}

__device__ __forceinline__ unsigned shared_address(const void *pointer)
{
  return (unsigned)__cvta_generic_to_shared(pointer);
}

/* Two copies into shared memory that the warp waits for one by one: barriers of the copy engine, where there is one. */
struct copies {
  uint64_t record, values;
};

__device__ __forceinline__ void begin_barrier(uint64_t *barrier, unsigned bytes)
{
#if __CUDA_ARCH__ >= 900
  asm volatile("mbarrier.init.shared.b64 [%0], 1;" ::"r"(shared_address(barrier)));
  asm volatile("fence.proxy.async.shared::cta;");
  asm volatile("mbarrier.arrive.expect_tx.shared.b64 _, [%0], %1;" ::"r"(shared_address(barrier)), "r"(bytes));
#endif
}

/* Begins to copy bytes, a multiple of 16 and not 0, into shared memory. */
__device__ __forceinline__ void begin_copy(void *to, const void *from, unsigned bytes, uint64_t *barrier)
{
#if __CUDA_ARCH__ >= 900
  if (threadIdx.x % 32 > 0) return;
  begin_barrier(barrier, bytes);
  asm volatile("cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1], %2, [%3];" ::"r"(
                   shared_address(to)),
               "l"(from), "r"(bytes), "r"(shared_address(barrier))
               : "memory");
#else
  for (unsigned k = threadIdx.x % 32; k < bytes / 16; k += 32) ((int4 *)to)[k] = ((const int4 *)from)[k];
#endif
}

__device__ __forceinline__ void await_copy(uint64_t *barrier)
{
  __syncwarp();
#if __CUDA_ARCH__ >= 900
  unsigned there = 0;
  while (!there)
    asm volatile("{ .reg .pred p; mbarrier.try_wait.parity.shared.b64 p, [%1], 0; selp.u32 %0, 1, 0, p; }"
                 : "=r"(there)
                 : "r"(shared_address(barrier))
                 : "memory");
#endif
}

/* Where a warp finds its tile: in shared memory, */
struct near_tile {
  typedef int number; /* of a block of the tile */
  const karst_ilu_step *step;
  const karst_index *halo, *wait;
  const unsigned short *order, *local;
  const double *value;
};

/* or where it is. */
struct far_tile {
  typedef int64_t number;
  const karst_ilu_step *step;
  const karst_index *wait, *wide;
  const unsigned short *order;
  const double *value;
  const double *out;
  int rows;
};

/* Which neighbour block n has, and component c of it. */
__device__ __forceinline__ int neighbour_of(const near_tile &from, int n) { return from.local[n]; }
__device__ __forceinline__ karst_index neighbour_of(const far_tile &from, int64_t n) { return from.wide[n]; }

template <int B> __device__ __forceinline__ double component(const near_tile &, const double *x, int at, int c)
{
  return x[at * B + c];
}

template <int B>
__device__ __forceinline__ double component(const far_tile &from, const double *x, karst_index at, int c)
{
  if (at < 0) return 0;
  return at < from.rows ? x[at * B + c] : __ldcg(from.out + (int64_t)(at - from.rows) * B + c);
}

/* x = D^-1 x for the block rows of the tile. */
template <int B> __device__ __forceinline__ void divide_by_pivots(const double *inverse, int rows, double *x)
{
  constexpr int R = 32 / B;
  const int lane = (int)threadIdx.x % 32, q = lane / B, r = lane % B;
  for (int first = 0; first < rows; first += R) {
    const int i = first + q;
    const bool active = q < R && i < rows;
    double sum = 0;
#pragma unroll
    for (int c = 0; c < B; c++)
      if (active) sum += inverse[(c * rows + i) * B + r] * x[i * B + c];
    __syncwarp();
    if (active) x[i * B + r] = sum;
  }
  __syncwarp();
}

/* Of how many blocks of a row a lane knows the neighbours before it takes the step. */
enum { AHEAD = 3 };

/* A lane's part of a step: a scalar row, and of its blocks those that are its own. All lanes go through a step alike;
 * those that have no row go through another lane's. */
template <int B, typename place> struct share {
  typedef typename place::number number;
  bool first;        /* the lane stores the row */
  int shift;         /* 2^shift lanes share a row */
  int rounds;        /* how many of its blocks a lane takes, those that are not there included */
  int length;        /* blocks of the row from the lane's first on */
  int column, apart; /* how far the columns of a block are apart, and the lane's blocks */
  int mine;          /* the row's place in x */
  number n;          /* the first block */
  const double *value;
  decltype(neighbour_of(place(), number())) neighbour[AHEAD];
};

/* Where SHARE, several lanes share the blocks of a row if there are lanes enough. */
template <int B, bool SHARE, typename place>
__device__ __forceinline__ void prepare(const place &from, const karst_ilu_step &step, int count, share<B, place> &my)
{
  typedef typename place::number number;
  const int lane = (int)threadIdx.x % 32;
  my.shift = SHARE ? min(max(__clz(count * B - 1) - 27, 0), (int)MOST_SHIFT) : 0;
  const int part = SHARE ? lane >> (5 - my.shift) : 0, of = SHARE ? lane & ((32 >> my.shift) - 1) : lane;
  const int q = min(of / B, count - 1), r = of % B;
  my.first = part == 0 && of < count * B;
  my.rounds = (step.length + (1 << my.shift) - 1) >> my.shift;
  my.length = step.length - part;
  my.column = count * B;
  my.apart = count << my.shift;
  my.mine = from.order[step.first + q] * B + r;
  my.n = (number)step.block + part * count;
  my.value = from.value + my.n * (B * B) + q * B + r;
  my.n += q;
#pragma unroll
  for (int k = 0; k < AHEAD; k++)
    if (k < my.rounds && (!SHARE || k << my.shift < my.length))
      my.neighbour[k] = neighbour_of(from, my.n + k * my.apart);
}

/* The sum of the lane's products. */
template <int B, bool SHARE, typename place>
__device__ __forceinline__ double sum_of(const place &from, const share<B, place> &my, const double *x)
{
  typename place::number n = my.n;
  const double *value = my.value;
  double sum = 0;
#pragma unroll
  for (int k = 0; k < AHEAD; k++, value += my.apart * (B * B)) {
    if (k >= my.rounds) break;
    if (SHARE && k << my.shift >= my.length) continue;
#pragma unroll
    for (int c = 0; c < B; c++) sum += value[c * my.column] * component<B>(from, x, my.neighbour[k], c);
  }
  n += AHEAD * my.apart;
#pragma unroll 2
  for (int k = AHEAD; k < my.rounds; k++, n += my.apart, value += my.apart * (B * B)) {
    if (SHARE && k << my.shift >= my.length) continue;
    const auto at = neighbour_of(from, n);
#pragma unroll
    for (int c = 0; c < B; c++) sum += value[c * my.column] * component<B>(from, x, at, c);
  }
  return sum;
}

/* Takes all steps. What does not depend on a step is fetched during the one before it. */
template <int B, bool SHARE, typename place>
__device__ __forceinline__ void take_steps(const place &from, int steps, double *x)
{
  karst_ilu_step next = from.step[1];
  share<B, place> now, after;
  prepare<B, SHARE>(from, from.step[0], next.first, now);
  for (int s = 0; s < steps; s++) {
    if (s + 1 < steps) {
      const karst_ilu_step last = from.step[s + 2];
      prepare<B, SHARE>(from, next, last.first - next.first, after);
      next = last;
    }
    double sum = sum_of<B, SHARE>(from, now, x);
    if (SHARE)
      for (int distance = 16; distance >= 32 >> now.shift; distance /= 2) sum += __shfl_xor_sync(~0u, sum, distance);
    if (now.first) x[now.mine] -= sum;
    __syncwarp();
    now = after;
  }
}

/* Begins to fetch a number into shared memory. Many are under way together, and none takes a register. */
__device__ __forceinline__ void begin_fetch(double *to, const double *from)
{
#if __CUDA_ARCH__ >= 800
  asm volatile("cp.async.ca.shared.global [%0], [%1], 8;" ::"r"(shared_address(to)), "l"(from) : "memory");
#else
  *to = __ldcg(from);
#endif
}

__device__ __forceinline__ void await_fetches()
{
#if __CUDA_ARCH__ >= 800
  asm volatile("cp.async.wait_all;" ::: "memory");
#endif
  __syncwarp();
}

/* A tile's part of the right-hand side. */
template <int B> __device__ __forceinline__ void fetch_own(const karst_ilu_tile &tile, const double *in, double *x)
{
  const double *own = in + (int64_t)tile.row * B;
  for (int k = (int)threadIdx.x % 32; k < tile.rows * B; k += 32) begin_fetch(x + k, own + k);
}

/* The halo, and the zeros behind it. */
template <int B>
__device__ __forceinline__ void fetch_halo(int halos, const karst_index *halo, const double *out, double *x)
{
  const int lane = (int)threadIdx.x % 32;
  for (int k = lane; k < halos * B; k += 32) begin_fetch(x + k, out + (int64_t)halo[k / B] * B + k % B);
  if (lane < B) x[halos * B + lane] = 0;
}

__device__ __forceinline__ void await_mark(const unsigned *mark, unsigned solve)
{
  while (__any_sync(~0u, look(mark) != solve)) {}
}

__device__ __forceinline__ void await_tiles(int waits, const karst_index *wait, const unsigned *done, unsigned solve)
{
  for (int k = (int)threadIdx.x % 32; k - (int)threadIdx.x % 32 < waits; k += 32)
    await_mark(done + wait[k < waits ? k : waits - 1], solve);
}

/* Solves a tile whose part of x is fetched already. */
template <int B, bool upper, bool SHARE>
__device__ __forceinline__ void solve_near(const solve_arguments &s, const karst_ilu_tile &tile, const unsigned *done,
                                           char *memory, int vector, copies *under_way, double *out, double *x)
{
  const karst_ilu_record at = karst_ilu_record_of(tile);
  char *record = memory + vector;
  double *value = (double *)(record + at.bytes);
  const near_tile from = {(const karst_ilu_step *)record,
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

template <int B, bool upper>
__device__ __noinline__ void solve_far(const solve_arguments &s, const karst_ilu_tile &tile, const unsigned *done,
                                       double *out, double *x)
{
  const side &my = upper ? s.upper : s.lower;
  const karst_ilu_record at = karst_ilu_record_of(tile);
  const char *record = my.record + tile.record * 16;
  const far_tile from = {(const karst_ilu_step *)record,
                         (const karst_index *)(record + at.wait),
                         (const karst_index *)(record + at.wide),
                         (const unsigned short *)(record + at.order),
                         my.value + tile.value * (B * B),
                         out,
                         tile.rows};
  await_tiles(tile.waits, from.wait, done, s.solve);
  await_fetches();
  if (upper) divide_by_pivots<B>(from.value, tile.rows, x);
  take_steps<B, true>(from, tile.steps, x);
}

/* Solves a tile of one triangle. memory: shared. */
template <int B, bool upper, bool SHARE>
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
      begin_copy(memory + vector + record, my.value + tile.value * (B * B),
                 (unsigned)tile.blocks * (B * B * sizeof(double)), &under_way->values);
  }
  if (upper) await_mark(s.marks.done + tile.number, s.solve);
  fetch_own<B>(tile, upper ? s.y : s.r, x);
  if (tile.far)
    solve_far<B, upper>(s, tile, done, out, x);
  else
    solve_near<B, upper, SHARE>(s, tile, done, memory, vector, under_way, out, x);
  double *own = out + (int64_t)tile.row * B;
  for (int k = (int)threadIdx.x % 32; k < tile.rows * B; k += 32) own[k] = x[k];
  __syncwarp();
  if (threadIdx.x % 32 == 0) tell(done + tile.number, s.solve);
}

template <int B, bool SHARE> __global__ void __launch_bounds__(32 * WARPS) solve_tiles(const solve_arguments s)
{
  extern __shared__ __align__(128) char memory[];
  __shared__ copies under_way[WARPS];
  const int warp = (int)threadIdx.x / 32;
  char *own = memory + warp * s.shared;
  unsigned ticket = 0;
  if (threadIdx.x % 32 == 0) ticket = atomicAdd(s.marks.ticket, 1u) - s.first;
  ticket = __shfl_sync(~0u, ticket, 0);
  if (ticket < (unsigned)s.tiles)
    solve_tile<B, false, SHARE>(s, ticket, own, &under_way[warp]);
  else if (ticket < 2 * (unsigned)s.tiles)
    solve_tile<B, true, SHARE>(s, ticket - (unsigned)s.tiles, own, &under_way[warp]);
}

/* Element (r, c) of each block of a step, or of D^-1, from the triangle; by the lanes of a warp. */
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

/* Copies the values of a triangle. Those of scalars need no regard to steps. */
template <int B, bool upper>
__global__ void __launch_bounds__(32 * WARPS)
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

const void *kernel_for(int block_size, bool share)
{
  const void *kernel = NULL;
  karst_cuda_instance(block_size, [&](auto size) {
    constexpr int B = decltype(size)::value;
    if constexpr (B > 0) kernel = share ? (const void *)solve_tiles<B, true> : (const void *)solve_tiles<B, false>;
  });
  return kernel;
}

/* sweep_state */
struct tiles_state {
  karst_index tiles;
  karst_ilu_tiled lower, upper;
  bool share;
  int shared; /* bytes for a warp */
  int warps;  /* of a block of threads */
};

/* sweep_work, of device memory */
struct tiles_work {
  board marks;
  double *lower, *upper; /* the values */
  double *y;             /* [rows] */
  unsigned solves;       /* so far */
};

karst_status analyse_side(karst_context *context, const karst_triangle *t, const karst_index *slot, int64_t *shared,
                          karst_ilu_tiling_cuda *tiling, karst_ilu_tiled *tiled, int64_t *bytes)
{
  karst_ilu_halos_cuda halos = {};
  tiling->order = NULL;
  tiling->level = NULL;
  karst_status status = karst_ilu_order_tiles_cuda(context, tiling);
  if (!status) status = karst_ilu_find_halos_cuda(context, tiling, &halos);
  if (!status) status = karst_ilu_make_tiled_cuda(context, tiling, &halos, t, slot, shared, tiled, bytes);
  karst_ilu_release_halos_cuda(context, &halos);
  context->backend->release(context, tiling->order);
  context->backend->release(context, tiling->level);
  return status;
}

karst_status analyse_sides(karst_context *context, const karst_ilu_pattern_cuda *pattern,
                           const karst_ilu_tiles_cuda *tiles, karst_ilu_analysis *analysis, tiles_state *state)
{
  const karst_ilu_cuda *plan = karst_ilu_cuda_of(analysis);
  int64_t lower_shared = MOST_SHARED, upper_shared = MOST_SHARED;
  karst_ilu_tiling_cuda lower = {analysis->block_size,  false,  analysis->rows, pattern->lower_start,
                                 pattern->lower_column, *tiles, NULL,           NULL};
  karst_ilu_tiling_cuda upper = {analysis->block_size,  true,   analysis->rows, pattern->upper_start,
                                 pattern->upper_column, *tiles, NULL,           NULL};
  state->tiles = tiles->count;
  karst_status status = analyse_side(context, &plan->lower, pattern->lower_slot, &lower_shared, &lower, &state->lower,
                                     &analysis->plan_memory);
  if (!status)
    status = analyse_side(context, &plan->upper, pattern->upper_slot, &upper_shared, &upper, &state->upper,
                          &analysis->plan_memory);
  state->shared = (int)(lower_shared > upper_shared ? lower_shared : upper_shared);
  return status;
}

/* How many warps a block of threads has: a multiprocessor holds 32 blocks, and what a block has of shared memory in
 * front of its own is lost. */
int choose_warps(int shared)
{
  enum { SMALL = 4096, MEDIUM = 8192 };
  return shared <= SMALL ? WARPS : shared <= MEDIUM ? WARPS / 2 : 1;
}

karst_status analyse_tiles(karst_context *context, const karst_ilu_pattern_cuda *pattern, karst_ilu_analysis *analysis)
{
  enum { LONG = 8 }; /* neighbours of a row on average, in both triangles */
  karst_ilu_cuda *plan = karst_ilu_cuda_of(analysis);
  karst_ilu_tiles_cuda tiles = {};
  tiles_state *state;
  karst_status status = karst_allocate_zero(context, &state, 1, sizeof *state, what);
  if (status) return status;
  plan->sweep_state = state;
  state->share = analysis->lower_blocks + analysis->upper_blocks > LONG * (int64_t)analysis->rows;
  status = karst_ilu_cut_tiles_cuda(context, analysis, &tiles);
  if (!status) status = analyse_sides(context, pattern, &tiles, analysis, state);
  context->backend->release(context, tiles.start);
  context->backend->release(context, tiles.owner);
  if (status) return status;
  state->warps = choose_warps(state->shared);
  /* The same for every plan, for the limit is the kernel's. */
  return karst_cuda_status(context,
                           cudaFuncSetAttribute(kernel_for(plan->block_size, state->share),
                                                cudaFuncAttributeMaxDynamicSharedMemorySize, MOST_SHARED),
                           "the sweeps by tiles");
}

void forget_tiles(karst_context *context, karst_ilu_cuda *plan)
{
  tiles_state *state = static_cast<tiles_state *>(plan->sweep_state);
  if (!state) return;
  karst_ilu_release_tiled_cuda(context, &state->lower);
  karst_ilu_release_tiled_cuda(context, &state->upper);
  karst_release(context, state);
}

karst_status plan_tiles(karst_context *context, int sweeps, karst_ilu *ilu)
{
  karst_ilu_cuda *plan = karst_ilu_cuda_of(ilu);
  const tiles_state *state = static_cast<const tiles_state *>(plan->sweep_state);
  const int b = plan->block_size;
  const int64_t marks = 2 * (int64_t)state->tiles + 1;
  tiles_work *work;
  (void)sweeps;
  karst_status status = karst_allocate_zero(context, &work, 1, sizeof *work, what);
  if (status) return status;
  plan->sweep_work = work;
  int64_t *bytes = &ilu->plan_memory;
  status = karst_ilu_take(context, marks, what, &work->marks.ticket, bytes);
  if (!status) status = karst_ilu_take(context, karst_block_offset(b, state->lower.blocks), what, &work->lower, bytes);
  if (!status) status = karst_ilu_take(context, karst_block_offset(b, state->upper.blocks), what, &work->upper, bytes);
  if (!status) status = karst_ilu_take(context, (int64_t)b * ilu->rows, what, &work->y, bytes);
  if (status) return status;
  work->marks.done = work->marks.ticket + 1;
  cudaMemsetAsync(work->marks.ticket, 0, (size_t)marks * sizeof *work->marks.ticket, karst_cuda_of(context)->stream);
  return KARST_SUCCESS;
}

template <int B, bool upper>
void copy_side(cudaStream_t stream, const karst_triangle &t, const karst_ilu_tiled &tiled, karst_index tiles,
               double *value)
{
  const int64_t warps = B == 1 ? (tiled.blocks + 31) / 32 : tiles;
  if (warps > 0) copy_values<B, upper><<<karst_ilu_grid(warps, WARPS), 32 * WARPS, 0, stream>>>(t, tiled, tiles, value);
}

void load_tiles(karst_context *context, const karst_ilu_cuda *plan)
{
  const tiles_state *state = static_cast<const tiles_state *>(plan->sweep_state);
  const tiles_work *work = static_cast<const tiles_work *>(plan->sweep_work);
  cudaStream_t stream = karst_cuda_of(context)->stream;
  karst_cuda_instance(plan->block_size, [&](auto size) {
    constexpr int B = decltype(size)::value;
    if constexpr (B > 0) {
      copy_side<B, false>(stream, plan->lower, state->lower, state->tiles, work->lower);
      copy_side<B, true>(stream, plan->upper, state->upper, state->tiles, work->upper);
    }
  });
}

side side_of(const karst_ilu_tiled &tiled, const double *value)
{
  return {tiled.tile, (const char *)tiled.record, value};
}

void solve_by_tiles(karst_context *context, const karst_ilu_cuda *plan, const double *r, double *z)
{
  const tiles_state *state = static_cast<const tiles_state *>(plan->sweep_state);
  tiles_work *work = static_cast<tiles_work *>(plan->sweep_work);
  const unsigned blocks = karst_ilu_grid(2 * (int64_t)state->tiles, state->warps);
  const unsigned tickets = blocks * (unsigned)state->warps;
  solve_arguments arguments = {state->tiles,
                               side_of(state->lower, work->lower),
                               side_of(state->upper, work->upper),
                               work->marks,
                               work->solves + 1,
                               work->solves * tickets,
                               state->shared,
                               r,
                               work->y,
                               z};
  void *list[] = {&arguments};
  work->solves++;
  cudaLaunchKernel(kernel_for(plan->block_size, state->share), dim3(blocks), dim3(32 * (unsigned)state->warps), list,
                   (size_t)(state->shared * state->warps), karst_cuda_of(context)->stream);
}

void destroy_tiles(karst_context *context, karst_ilu_cuda *plan)
{
  tiles_work *work = static_cast<tiles_work *>(plan->sweep_work);
  if (!work) return;
  context->backend->release(context, work->marks.ticket);
  context->backend->release(context, work->lower);
  context->backend->release(context, work->upper);
  context->backend->release(context, work->y);
  karst_release(context, work);
}

} // namespace

const karst_ilu_sweep_variant karst_ilu_sweep_tiles_cuda = {
    "tiles",    "by tiles, one launch", analyse_tiles, forget_tiles,
    load_tiles, solve_by_tiles,         plan_tiles,    destroy_tiles};
