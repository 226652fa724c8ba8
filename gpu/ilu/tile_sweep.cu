/* tile_sweep.cu - z = (L D U')^-1 r by tiles, in one launch for both triangles:
 *
 *     forward    y_i = r_i - sum_{p < i} L_ip y_p
 *     backward   z_i = D_i^-1 y_i - sum_{j > i} U'_ij z_j
 *
 * One warp solves one tile of one triangle (tile_sweep.h). Its values and short columns are one contiguous part of the
 * triangle each, which the copy engine brings into shared memory while the warp fetches what it has of the right-hand
 * side; then it waits for the tiles that it needs, gathers its halo, and takes one step after another, the rows of a
 * level set or as many of them as it has lanes for. All that the steps touch is in shared memory.
 *
 * Blocks of threads take tickets, those of the forward sweep first, tiles in the order of elimination. Whoever has a
 * ticket runs, and waits for lower tickets only, so the lowest one that is not done can always go on. A tile that is
 * done says so by the number of the solve, which none before had.
 *
 * A tile whose values find no room in shared memory is solved from where they are, and its halo is looked up. */
#include "tile_sweep.h"

namespace
{

/* How many lanes may share the neighbours of a scalar row, where the rows of a triangle are long on average. */
enum { PARTS = 8 };

struct sides {
  karst_triangle t;
  karst_ilu_side side;
};

/* What changes from solve to solve, and what the tiles have to say to each other; device memory. */
struct board {
  unsigned *ticket; /* tickets taken since the first solve */
  unsigned *done;   /* [2 tiles] the last solve in which each tile was done, forward and backward */
};

struct solve_arguments {
  karst_index tiles;
  sides lower, upper;
  board marks;
  unsigned solve; /* its number, from 1 on */
  unsigned first; /* its first ticket */
  int shared;     /* bytes of shared memory for a tile */
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

/* Begins to copy bytes, a multiple of 16, into shared memory; the copies that were begun are counted by the barrier. By
 * one lane where there is a copy engine, else by the whole warp, at once. */
__device__ __forceinline__ void begin_copy(void *to, const void *from, unsigned bytes, uint64_t *barrier)
{
#if __CUDA_ARCH__ >= 900
  if (threadIdx.x == 0)
    asm volatile("cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1], %2, [%3];" ::"r"(
                     shared_address(to)),
                 "l"(from), "r"(bytes), "r"(shared_address(barrier))
                 : "memory");
#else
  for (unsigned k = threadIdx.x; k < bytes / 16; k += 32) ((int4 *)to)[k] = ((const int4 *)from)[k];
#endif
}

__device__ __forceinline__ void expect_copies(uint64_t *barrier, unsigned bytes)
{
#if __CUDA_ARCH__ >= 900
  if (threadIdx.x > 0) return;
  asm volatile("mbarrier.init.shared.b64 [%0], 1;" ::"r"(shared_address(barrier)));
  asm volatile("fence.proxy.async.shared::cta;");
  asm volatile("mbarrier.arrive.expect_tx.shared.b64 _, [%0], %1;" ::"r"(shared_address(barrier)), "r"(bytes));
#endif
}

__device__ __forceinline__ void await_copies(uint64_t *barrier)
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

/* Where a tile's values and columns are found in shared memory: entry e, counted in the tile, of the block row at
 * place q of its slice has number e R + q. start[s]: the first entry of slice s. */
struct near_values {
  const double *value;
  const unsigned short *local;
  const int *start;
};

/* Where they are outside: the triangle itself. in_tile and out: the tile's unknowns and those of all tiles. */
struct far_values {
  const karst_triangle *t;
  const karst_ilu_tile *tile;
  const double *out;
};

template <int B> constexpr int rows_of_slice = 32 / B;

/* The first entry of a slice of the tile. */
__device__ __forceinline__ int64_t entry_of(const far_values &from, int slice)
{
  return from.t->start[from.tile->slot / from.t->group + slice];
}

__device__ __forceinline__ int entry_of(const near_values &from, int slice) { return from.start[slice]; }

/* Subtracts from the sum row r of the block number times its neighbour. */
template <int B>
__device__ __forceinline__ void subtract(const near_values &from, const double *x, int e, int q, int r, double &sum)
{
  constexpr int R = rows_of_slice<B>;
  const double *neighbour = x + from.local[e * R + q] * B, *value = from.value + e * (R * B * B) + q * B + r;
#pragma unroll
  for (int c = 0; c < B; c++) sum -= value[c * (R * B)] * neighbour[c];
}

template <int B>
__device__ __forceinline__ void subtract(const far_values &from, const double *x, int64_t e, int q, int r, double &sum)
{
  constexpr int R = rows_of_slice<B>;
  const karst_triangle &t = *from.t;
  const karst_index column = t.column[e * R + q];
  if (column >= t.slots) return;
  const karst_index place = column - from.tile->slot;
  const double *value = t.value + e * (R * B * B) + q * B + r;
  const bool inside = place >= 0 && place < from.tile->rows;
  const double *neighbour = inside ? x + place * B : from.out + (int64_t)t.row[column] * B;
#pragma unroll
  for (int c = 0; c < B; c++) sum -= value[c * (R * B)] * (inside ? neighbour[c] : __ldcg(neighbour + c));
}

/* Element (r, c) of the first block of a row, which is that of D^-1 in the upper triangle. */
template <int B, typename values>
__device__ __forceinline__ double first_block(const values &from, int slice, int q, int r, int c)
{
  constexpr int R = rows_of_slice<B>;
  const auto at = entry_of(from, slice) * (R * B * B) + q * B + r + c * (R * B);
  if constexpr (std::is_same<values, near_values>::value)
    return from.value[at];
  else
    return from.t->value[at];
}

/* x = D^-1 x for the block rows of the tile. */
template <int B, typename values>
__device__ void divide_by_pivots(const values &from, const karst_ilu_tile &tile, double *x)
{
  constexpr int R = rows_of_slice<B>;
  const int q = (int)threadIdx.x / B, r = (int)threadIdx.x % B, skipped = (int)(tile.slot % R);
  for (int first = 0; first < tile.rows; first += R) {
    const int slot = first + q, place = skipped + slot;
    const bool active = q < R && slot < tile.rows;
    double sum = 0;
#pragma unroll
    for (int c = 0; c < B; c++)
      if (active) sum += first_block<B>(from, place / R, place % R, r, c) * x[slot * B + c];
    __syncwarp();
    if (active) x[slot * B + r] = sum;
  }
  __syncwarp();
}

/* Takes all steps. Where SHARE, several lanes share the neighbours of a row if there are lanes enough. */
template <int B, bool upper, bool SHARE, typename values>
__device__ __forceinline__ void take_steps(const values &from, const karst_ilu_tile &tile, const unsigned short *step,
                                           double *x)
{
  constexpr int R = rows_of_slice<B>;
  const int lane = (int)threadIdx.x, skipped = (int)(tile.slot % R);
  int first = step[0], next = step[1];
  for (int s = 0; s < tile.steps; s++) {
    const int count = next - first;
    const int shift = SHARE ? max(5 - (32 - __clz(count * B - 1)), 0) : 0;
    const int parts = SHARE ? min(1 << shift, (int)PARTS) : 1, width = 32 / parts;
    const int part = SHARE ? lane / width : 0, of = SHARE ? lane % width : lane, q = of / B, r = of % B;
    const int slot = first + q, place = skipped + slot, slice = place / R;
    const bool active = q < count;
    first = next;
    next = step[min(s + 2, tile.steps)];
    double sum = 0;
    if (active) {
      const auto end = entry_of(from, slice + 1);
      for (auto e = entry_of(from, slice) + (upper ? 1 : 0) + part; e < end; e += parts)
        subtract<B>(from, x, e, place - slice * R, r, sum);
    }
    if (SHARE)
      for (int distance = 16; distance >= width; distance /= 2) sum += __shfl_xor_sync(~0u, sum, distance);
    if (active && part == 0) x[slot * B + r] += sum;
    __syncwarp();
  }
}

/* Fetches the tile's part of the right-hand side. y of this solve comes from other multiprocessors. */
template <int B>
__device__ __forceinline__ void fetch_own(const karst_ilu_tile &tile, const unsigned short *place, const double *in,
                                          double *x)
{
  const double *own = in + (int64_t)tile.row * B;
  for (int k = (int)threadIdx.x; k < tile.rows * B; k += 32) x[place[tile.row + k / B] * B + k % B] = __ldcg(own + k);
}

template <int B>
__device__ __forceinline__ void fetch_halo(const karst_ilu_tile &tile, const karst_index *halo, const double *out,
                                           double *x)
{
#pragma unroll 4
  for (int k = (int)threadIdx.x; k < tile.halos * B; k += 32)
    x[k] = __ldcg(out + (int64_t)halo[tile.halo + k / B] * B + k % B);
  if (threadIdx.x < B) x[tile.halos * B + (int)threadIdx.x] = 0;
}

__device__ __forceinline__ void await_tiles(const karst_ilu_tile &tile, const karst_index *wait, const unsigned *done,
                                            unsigned solve)
{
  for (int k = (int)threadIdx.x; k < tile.waits; k += 32) {
    const unsigned *mark = done + wait[tile.wait + k];
    while (look(mark) != solve) {}
  }
  __syncwarp();
}

/* Solves a tile of one triangle. memory: shared. */
template <int B, bool upper, bool SHARE>
__device__ __forceinline__ void solve_tile(const solve_arguments &s, karst_index number, char *memory,
                                           uint64_t *barrier)
{
  constexpr int R = rows_of_slice<B>;
  const sides &my = upper ? s.upper : s.lower;
  const karst_ilu_tile tile = my.side.tile[number];
  unsigned *done = s.marks.done + (upper ? s.tiles : 0);
  double *out = upper ? s.z : s.y;
  const bool near = karst_ilu_tile_bytes(tile, B, R, true) <= s.shared && tile.rows + tile.halos < 0xffff;
  const unsigned short *local = my.side.local + tile.entry * R;
  const unsigned before = near ? (unsigned)((uintptr_t)local % 16) : 0;
  const unsigned value_bytes = near ? (unsigned)tile.entries * (R * B * B * sizeof(double)) : 0;
  const unsigned column_bytes = value_bytes > 0 ? ((unsigned)tile.entries * (R * 2) + before + 15) / 16 * 16 : 0;
  const unsigned room = near ? ((unsigned)tile.entries * (R * 2) + 31) / 16 * 16 : 0;
  if (near) {
    expect_copies(barrier, value_bytes + column_bytes);
    if (value_bytes > 0) {
      begin_copy(memory, my.t.value + tile.entry * (R * B * B), value_bytes, barrier);
      begin_copy(memory + value_bytes, (const char *)local - before, column_bytes, barrier);
    }
  }
  int *start = (int *)(memory + value_bytes + room);
  unsigned short *step = (unsigned short *)(start + (near ? (tile.slices + 4) / 4 * 4 : 0));
  double *x = (double *)(step + (tile.steps * 2 + 17) / 16 * 8), *halo = x + tile.rows * B;
  if (near)
    for (int k = (int)threadIdx.x; k <= tile.slices; k += 32)
      start[k] = (int)(my.t.start[tile.slot / R + k] - tile.entry);
  for (int k = (int)threadIdx.x; k <= tile.steps; k += 32) step[k] = my.side.step[tile.step + k];
  if (upper) {
    if (threadIdx.x == 0)
      while (look(s.marks.done + number) != s.solve) {}
    __syncwarp();
  }
  fetch_own<B>(tile, my.side.place, upper ? s.y : s.r, x);
  const near_values values = {(const double *)memory, (const unsigned short *)(memory + value_bytes + before), start};
  const far_values outside = {&my.t, &tile, out};
  if (near && upper) {
    await_copies(barrier);
    divide_by_pivots<B>(values, tile, x);
  }
  await_tiles(tile, my.side.wait, done, s.solve);
  if (near) {
    fetch_halo<B>(tile, my.side.halo, out, halo);
    if (!upper) await_copies(barrier);
    __syncwarp();
    take_steps<B, upper, SHARE>(values, tile, step, x);
  } else {
    __syncwarp();
    if (upper) divide_by_pivots<B>(outside, tile, x);
    take_steps<B, upper, true>(outside, tile, step, x);
  }
  double *own = out + (int64_t)tile.row * B;
  for (int k = (int)threadIdx.x; k < tile.rows * B; k += 32) own[k] = x[my.side.place[tile.row + k / B] * B + k % B];
  __syncwarp();
  if (threadIdx.x == 0) tell(done + number, s.solve);
}

template <int B, bool SHARE> __global__ void __launch_bounds__(32) solve_tiles(const solve_arguments s)
{
  extern __shared__ __align__(128) char memory[];
  __shared__ __align__(8) uint64_t barrier;
  unsigned ticket = 0;
  if (threadIdx.x == 0) ticket = atomicAdd(s.marks.ticket, 1u) - s.first;
  ticket = __shfl_sync(~0u, ticket, 0);
  if (ticket < (unsigned)s.tiles)
    solve_tile<B, false, SHARE>(s, (karst_index)ticket, memory, &barrier);
  else
    solve_tile<B, true, SHARE>(s, (karst_index)(2 * s.tiles - 1 - (karst_index)ticket), memory, &barrier);
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
  karst_ilu_side lower, upper;
  bool share;
  int shared; /* bytes */
};

/* sweep_work */
struct tiles_work {
  board marks;
  unsigned solves; /* so far */
};

/* Largest and sum of the bytes that the tiles take, with and without their values. */
struct tile_sizes {
  unsigned long long largest, sum, least;
};

__global__ void measure_tiles(karst_index tiles, const karst_ilu_tile *tile, int b, int group, tile_sizes *sizes)
{
  const int64_t n = blockIdx.x * (int64_t)blockDim.x + threadIdx.x;
  if (n >= tiles) return;
  const unsigned long long bytes = (unsigned long long)karst_ilu_tile_bytes(tile[n], b, group, true);
  atomicMax(&sizes->largest, bytes);
  atomicAdd(&sizes->sum, bytes);
  atomicMax(&sizes->least, (unsigned long long)karst_ilu_tile_bytes(tile[n], b, group, false));
}

/* Chooses how much shared memory each tile gets: what the largest takes, but no more than twice the mean, for it is
 * the number of tiles that are under way together that hides their waiting. */
karst_status choose_shared(karst_context *context, const karst_ilu_cuda *plan, tiles_state *state)
{
  enum { THREADS = 256, MOST = 63 * 1024 }; /* any GPU has so much, less for the barrier */
  cudaStream_t stream = karst_cuda_of(context)->stream;
  const unsigned grid = karst_ilu_grid(state->tiles, THREADS);
  tile_sizes *sizes, found;
  int64_t passing = 0;
  karst_status status = karst_ilu_take(context, 1, "the tiles of block ILU", &sizes, &passing);
  if (status) return status;
  cudaMemsetAsync(sizes, 0, sizeof *sizes, stream);
  measure_tiles<<<grid, THREADS, 0, stream>>>(state->tiles, state->lower.tile, plan->block_size, plan->lower.group,
                                              sizes);
  measure_tiles<<<grid, THREADS, 0, stream>>>(state->tiles, state->upper.tile, plan->block_size, plan->upper.group,
                                              sizes);
  status = context->backend->download(context, &found, sizes, sizeof found);
  context->backend->release(context, sizes);
  if (status) return status;
  unsigned long long bytes = found.sum / (unsigned long long)state->tiles; /* twice the mean of 2 tiles */
  if (bytes > found.largest) bytes = found.largest;
  if (bytes > MOST) bytes = MOST;
  if (bytes < found.least) bytes = found.least;
  state->shared = (int)((bytes + 15) / 16 * 16);
  /* The same for every plan, for the limit is the kernel's. */
  return karst_cuda_status(context,
                           cudaFuncSetAttribute(kernel_for(plan->block_size, state->share),
                                                cudaFuncAttributeMaxDynamicSharedMemorySize, MOST),
                           "the sweeps by tiles");
}

karst_status analyse_tiles(karst_context *context, const karst_ilu_pattern_cuda *pattern, karst_ilu_analysis *analysis)
{
  enum { LONG = 8 }; /* neighbours of a row on average, in both triangles */
  karst_ilu_cuda *plan = karst_ilu_cuda_of(analysis);
  tiles_state *state;
  karst_status status = karst_allocate_zero(context, &state, 1, sizeof *state, "the plan of block ILU");
  if (status) return status;
  plan->sweep_state = state;
  state->tiles = pattern->tiles.count;
  state->share = analysis->lower_blocks + analysis->upper_blocks > LONG * (int64_t)analysis->rows;
  status = karst_ilu_make_side_cuda(context, pattern, &plan->lower, false, &state->lower, &analysis->plan_memory);
  if (!status)
    status = karst_ilu_make_side_cuda(context, pattern, &plan->upper, true, &state->upper, &analysis->plan_memory);
  return status ? status : choose_shared(context, plan, state);
}

void forget_tiles(karst_context *context, karst_ilu_cuda *plan)
{
  tiles_state *state = static_cast<tiles_state *>(plan->sweep_state);
  if (!state) return;
  karst_ilu_release_side_cuda(context, &state->lower);
  karst_ilu_release_side_cuda(context, &state->upper);
  karst_release(context, state);
}

karst_status plan_tiles(karst_context *context, int sweeps, karst_ilu *ilu)
{
  karst_ilu_cuda *plan = karst_ilu_cuda_of(ilu);
  const int64_t marks = 2 * (int64_t) static_cast<const tiles_state *>(plan->sweep_state)->tiles + 1;
  tiles_work *work;
  (void)sweeps;
  karst_status status = karst_allocate_zero(context, &work, 1, sizeof *work, "the plan of block ILU");
  if (status) return status;
  plan->sweep_work = work;
  status = karst_ilu_take(context, marks, "the plan of block ILU", &work->marks.ticket, &ilu->plan_memory);
  if (status) return status;
  work->marks.done = work->marks.ticket + 1;
  cudaMemsetAsync(work->marks.ticket, 0, (size_t)marks * sizeof *work->marks.ticket, karst_cuda_of(context)->stream);
  return KARST_SUCCESS;
}

void solve_by_tiles(karst_context *context, const karst_ilu_cuda *plan, const double *r, double *z)
{
  const tiles_state *state = static_cast<const tiles_state *>(plan->sweep_state);
  tiles_work *work = static_cast<tiles_work *>(plan->sweep_work);
  const unsigned tickets = 2 * (unsigned)state->tiles;
  solve_arguments arguments = {state->tiles,
                               {plan->lower, state->lower},
                               {plan->upper, state->upper},
                               work->marks,
                               work->solves + 1,
                               work->solves * tickets,
                               state->shared,
                               r,
                               plan->lower.x,
                               z};
  void *list[] = {&arguments};
  work->solves++;
  cudaLaunchKernel(kernel_for(plan->block_size, state->share), dim3(tickets), dim3(32), list, (size_t)state->shared,
                   karst_cuda_of(context)->stream);
}

void destroy_tiles(karst_context *context, karst_ilu_cuda *plan)
{
  tiles_work *work = static_cast<tiles_work *>(plan->sweep_work);
  if (!work) return;
  context->backend->release(context, work->marks.ticket);
  karst_release(context, work);
}

} // namespace

const karst_ilu_sweep_variant karst_ilu_sweep_tiles_cuda = {
    "tiles", "by tiles, one launch", analyse_tiles, forget_tiles, solve_by_tiles, plan_tiles, destroy_tiles};
