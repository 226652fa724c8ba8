/* tile_factor.cu - block ILU on a given pattern (Yang, Liu, He, Chen, Algorithm 4), tile by tile, in one launch:
 *
 *     a_ij = A_ij - sum_{p < min(i, j)} a_ip U'_pj,    L_ip = a_ip D_p^-1,    D_i = a_ii,    U'_ij = D_i^-1 a_ij
 *
 * A block of threads makes the blocks of one tile in shared memory and stores them in the order of the sweeps by tiles
 * (tile_sweep.h). Blocks of threads take tickets and wait for tiles as in the forward sweep. L_ip and U'_ij are
 * computed when they are stored: inside the tile a product is that of a_ip, D_p^-1 and a_pj, so that a wave takes one
 * step, or two if pivots may be replaced. */
#include "gpu/ilu/tiles/tile_factor_steps.h"

namespace
{

const char *const what = "the factorization by tiles";

struct factor_arguments {
  const karst_ilu_factor_tile *tile;
  const char *record;
  double *lower, *upper; /* the values */
  unsigned *ticket, *done;
  unsigned turn;  /* the number of the factorization, from 1 on */
  unsigned first; /* its first ticket */
  pivot_repair repair;
};

/* Makes the factors of a tile whose blocks have arrived. */
template <int B>
__device__ __forceinline__ void take_waves(const tile_memory &w, const karst_ilu_factor_tile &m,
                                           const pivot_repair &repair)
{
  /* The replacement of a pivot depends on its whole row, which is complete once all jobs of the wave have
   * subtracted. */
  const int passes = repair.shift > 0 ? 2 : 1;
  karst_ilu_wave now = w.wave[0];
  bool lost = false; /* the same in all threads: it changes only at barriers */
  for (int k = 1; k <= m.waves; k++) {
    const karst_ilu_wave next = w.wave[k];
    for (int pass = 1; pass <= passes; pass++) {
      const bool subtract = pass == 1, invert = pass == passes;
      bool outer = false;
      if (now.inner > now.outer) outer = do_jobs<B, false>(w, m, now.outer, now.inner, subtract, invert, lost, repair);
      const bool inner = do_jobs<B, true>(w, m, now.inner, next.outer, subtract, invert, lost, repair);
      if (__syncthreads_or(outer || inner)) lost = true;
    }
    now = next;
  }
}

/* Makes one tile. memory: shared. */
template <int B>
__device__ __forceinline__ void make_tile(const factor_arguments &s, const karst_ilu_factor_tile &m, char *memory,
                                          copies *under_way)
{
  constexpr int BB = B * B;
  const double *A = s.repair.A + m.source * BB;
  const karst_ilu_factor_record at = karst_ilu_factor_record_of(m);
  const char *record = s.record + m.record * 16;
  const int copied = karst_ilu_factor_copied(at, B);
  tile_memory w = tile_memory_of<B>(m, memory, record, s.upper);
  if (!m.fill) w.block += (uintptr_t)A / sizeof(double) % 2;
  bool values = false;
  if (threadIdx.x < 32) {
    begin_copy(memory, record, (unsigned)copied, &under_way->record);
    if (threadIdx.x == 0) begin_prefetch(record + copied, (unsigned)(at.bytes - copied));
    if (!m.fill) values = begin_numbers(w.block, A, m.blocks * BB, &under_way->values);
    await_copy(&under_way->record);
  }
  __syncthreads();
  if (m.fill) fetch_source<B>(w, A);
  if (threadIdx.x < 32) await_tiles(m.waits, w.wait, s.done, s.turn);
  if (karst_ilu_fetches_outside(B)) {
    __syncthreads();
    fetch_outside<B>(w, m.outside);
  }
  await_fetches();
  if (values) await_copy(&under_way->values);
  __syncthreads();
  take_waves<B>(w, m, s.repair);
  store_upper<B>(w, m, s.repair, s.upper + m.upper * BB);
  __syncthreads();
  if (threadIdx.x == 0) publish_mark(s.done + m.number, s.turn);
  store_steps<B, false>(w, m, s.repair, s.lower + m.lower * BB);
}

/* Thread blocks for which a multiprocessor has registers: about as many as its shared memory has room for. */
template <int B> constexpr int together_of = B == 1 ? 8 : B < 4 ? 8 - B : B == 4 ? 4 : 3;

template <int B> __global__ void __launch_bounds__(THREADS, together_of<B>) factor_tiles(const factor_arguments s)
{
  extern __shared__ __align__(128) char memory[];
  __shared__ copies under_way;
  __shared__ unsigned taken;
  if (threadIdx.x == 0) taken = atomicAdd(s.ticket, 1u) - s.first;
  __syncthreads();
  make_tile<B>(s, s.tile[taken], memory, &under_way);
}

const void *kernel_for(int block_size)
{
  const void *kernel = NULL;
  karst_cuda_instance(block_size, [&](auto size) {
    constexpr int B = decltype(size)::value;
    if constexpr (B > 0 && B <= KARST_ILU_SLICE_LARGEST) kernel = (const void *)factor_tiles<B>;
  });
  return kernel;
}

/* factor_state */
struct tiles_state {
  karst_ilu_tile_lists lists;
  const void *kernel;
};

/* factor_work */
struct tiles_work {
  unsigned *ticket; /* [1 + tiles] device memory: tickets taken; the last factorization in which each tile was done */
  unsigned turns;   /* factorizations so far */
};

/* factor_state stays NULL if a tile does not fit. */
karst_status analyse_tiles(karst_context *context, const karst_matrix *A, const karst_ilu_pattern_cuda *pattern,
                           const karst_ilu_shape *shape, karst_ilu_analysis *analysis)
{
  karst_ilu_cuda *plan = karst_ilu_cuda_of(analysis);
  tiles_state *state;
  const int limit = karst_ilu_tile_room(context);
  karst_status status = karst_allocate_zero(context, &state, 1, sizeof *state, what);
  if (status) return status;
  status = karst_ilu_list_by_tiles_cuda(context, A, pattern, limit, analysis, &state->lists);
  if (status || !state->lists.tile) {
    karst_release(context, state);
    return status;
  }
  plan->factor_state = state;
  state->kernel = kernel_for(shape->block_size);
  /* The limit belongs to the kernel, so it is the same for every plan. */
  return karst_cuda_status(
      context, cudaFuncSetAttribute(state->kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, limit), what);
}

void forget_tiles(karst_context *context, karst_ilu_cuda *plan)
{
  tiles_state *state = static_cast<tiles_state *>(plan->factor_state);
  if (!state) return;
  karst_ilu_release_tile_lists_cuda(context, &state->lists);
  karst_release(context, state);
}

karst_status plan_tiles(karst_context *context, karst_ilu *ilu)
{
  karst_ilu_cuda *plan = karst_ilu_cuda_of(ilu);
  const int64_t marks = (int64_t)karst_ilu_tiled_of(plan)->tiles + 1;
  tiles_work *work;
  karst_status status = karst_allocate_zero(context, &work, 1, sizeof *work, what);
  if (status) return status;
  plan->factor_work = work;
  status = karst_cuda_take(context, marks, what, &work->ticket, &ilu->plan_memory);
  if (!status) cudaMemsetAsync(work->ticket, 0, (size_t)marks * sizeof *work->ticket, karst_cuda_of(context)->stream);
  return status;
}

void launch_tiles(karst_context *context, const karst_matrix *A, double shift, const karst_ilu_cuda *plan)
{
  const tiles_state *state = static_cast<const tiles_state *>(plan->factor_state);
  tiles_work *work = static_cast<tiles_work *>(plan->factor_work);
  const karst_ilu_tile_values value = karst_ilu_tile_values_of(plan);
  const unsigned tiles = (unsigned)karst_ilu_tiled_of(plan)->tiles;
  factor_arguments arguments = {state->lists.tile,
                                (const char *)state->lists.record,
                                value.lower,
                                value.upper,
                                work->ticket,
                                work->ticket + 1,
                                work->turns + 1,
                                work->turns * tiles,
                                {shift, plan->statistics, A->value}};
  void *list[] = {&arguments};
  const cudaError_t error = cudaLaunchKernel(state->kernel, dim3(tiles), dim3(THREADS), list,
                                             (size_t)state->lists.shared, karst_cuda_of(context)->stream);
  if (error == cudaSuccess) work->turns++; /* else no thread block has taken a ticket */
}

void destroy_tiles(karst_context *context, karst_ilu_cuda *plan)
{
  tiles_work *work = static_cast<tiles_work *>(plan->factor_work);
  if (!work) return;
  context->backend->release(context, work->ticket);
  karst_release(context, work);
}

} // namespace

const karst_ilu_factor_variant karst_ilu_factor_tiles_cuda = {analyse_tiles, forget_tiles,  launch_tiles,
                                                              plan_tiles,    destroy_tiles, true};
