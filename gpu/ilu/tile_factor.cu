/* tile_factor.cu - block ILU on a given pattern (Yang, Liu, He, Chen, Algorithm 4), tile by tile, in one launch:
 *
 *     a_ij = A_ij - sum_{p < min(i, j)} a_ip U'_pj,    L_ip = a_ip D_p^-1,    D_i = a_ii,    U'_ij = D_i^-1 a_ij
 *
 * A block of threads makes the blocks of one tile in shared memory and stores them as the sweeps by tiles have them
 * (tile_sweep.h). Blocks of threads take tickets in the order in which the forward sweep does, and wait for tiles in
 * the same way. L_ip, which no other tile needs, is made as it is stored. */
#include "tile_factor_steps.h"

namespace
{

const char *const what = "the factorization by tiles";

/* What a launch works on. */
struct factor_arguments {
  const karst_ilu_making *making;
  const char *record;
  double *lower, *upper; /* the values */
  unsigned *ticket, *done;
  unsigned turn;  /* the number of the factorization, from 1 on */
  unsigned first; /* its first ticket */
  const double *A;
  findings found;
};

/* Makes the factors of a tile whose blocks are all there, with the first warps. */
template <int B, int W>
__device__ __forceinline__ void take_waves(const workbench &w, const karst_ilu_making &m, const findings &found)
{
  if (threadIdx.x >= 32 * W) return;
  karst_ilu_wave now = w.wave[0];
  for (int k = 1; k <= m.waves; k++) {
    const karst_ilu_wave next = w.wave[k];
    if (now.inner > now.outer) subtract_products<B, W, true>(w, now.outer, now.inner);
    subtract_products<B, W, false>(w, now.inner, next.outer);
    await_warps<W>();
    invert_pivots<B, W>(w, m.row, now.pivot, next.pivot, found);
    await_warps<W>();
    divide_blocks<B, W>(w, m.row, now.quotient, next.quotient, found);
    await_warps<W>();
    now = next;
  }
}

/* Makes one tile. memory: shared. */
template <int B, int W>
__device__ __forceinline__ void make_tile(const factor_arguments &s, const karst_ilu_making &m, char *memory,
                                          copies *under_way)
{
  constexpr int BB = B * B;
  const double *A = s.A + m.source * BB;
  workbench w = workbench_of(m, memory, s.upper);
  if (!m.fill) w.block += (uintptr_t)A / sizeof(double) % 2;
  bool copied = false;
  if (threadIdx.x < 32) {
    begin_copy(memory, s.record + m.record * 16, (unsigned)karst_ilu_making_record_of(m).bytes, &under_way->record);
    if (!m.fill) copied = begin_numbers(w.block, A, m.blocks * BB, &under_way->values);
    await_copy(&under_way->record);
  }
  __syncthreads();
  if (m.fill) fetch_source<B, W>(w, A);
  if (threadIdx.x < 32) await_tiles(m.waits, w.wait, s.done, s.turn);
  if (karst_ilu_fetches_outside(B)) {
    __syncthreads();
    fetch_outside<B, W>(w, m.outside);
  }
  await_fetches();
  if (copied) await_copy(&under_way->values);
  __syncthreads();
  take_waves<B, W>(w, m, s.found);
  __syncthreads();
  store_upper<B, W>(w, m, s.upper + m.upper * BB);
  __syncthreads();
  if (threadIdx.x == 0) tell(s.done + m.number, s.turn);
  store_lower<B, W>(w, m, s.found, s.lower + m.lower * BB);
}

template <int B, int W> __global__ void __launch_bounds__(32 * warps_of<W>) factor_tiles(const factor_arguments s)
{
  extern __shared__ __align__(128) char memory[];
  __shared__ copies under_way;
  __shared__ unsigned taken;
  if (threadIdx.x == 0) taken = atomicAdd(s.ticket, 1u) - s.first;
  __syncthreads();
  make_tile<B, W>(s, s.making[taken], memory, &under_way);
}

/* A kernel, and the threads of a block of it. */
struct instance {
  const void *kernel;
  unsigned threads;
};

/* few: rows have few neighbours, so that of scalars one warp has lanes enough for a wave. */
instance instance_for(int block_size, bool few)
{
  instance found = {NULL, 0};
  karst_cuda_instance(block_size, [&](auto size) {
    constexpr int B = decltype(size)::value;
    if constexpr (B > 0 && B <= KARST_ILU_SLICE_LARGEST) found = {(const void *)factor_tiles<B, 4>, 32 * warps_of<4>};
  });
  if (block_size == 1 && few) found = {(const void *)factor_tiles<1, 1>, 32 * warps_of<1>};
  return found;
}

/* factor_state */
struct tiles_state {
  karst_ilu_tile_lists lists;
  instance code;
};

/* factor_work */
struct tiles_work {
  unsigned *ticket; /* [1 + tiles] device memory: tickets taken; the last factorization in which each tile was done */
  unsigned turns;   /* factorizations so far */
};

/* factor_state stays NULL where a tile finds no room. */
karst_status analyse_tiles(karst_context *context, const karst_matrix *A, const karst_ilu_pattern_cuda *pattern,
                           const karst_ilu_shape *shape, karst_ilu_analysis *analysis)
{
  enum { FEW = 8 }; /* neighbours of a row on average */
  karst_ilu_cuda *plan = karst_ilu_cuda_of(analysis);
  tiles_state *state;
  const int limit = karst_ilu_tile_room(context);
  karst_status status = karst_allocate_zero(context, &state, 1, sizeof *state, what);
  if (status) return status;
  status = karst_ilu_list_by_tiles_cuda(context, A, pattern, limit, analysis, &state->lists);
  if (status || !state->lists.making) {
    karst_release(context, state);
    return status;
  }
  plan->factor_state = state;
  state->code = instance_for(shape->block_size, shape->neighbours <= FEW * shape->rows);
  /* The same for every plan, for the limit is the kernel's. */
  return karst_cuda_status(
      context, cudaFuncSetAttribute(state->code.kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, limit), what);
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
  status = karst_ilu_take(context, marks, what, &work->ticket, &ilu->plan_memory);
  if (!status) cudaMemsetAsync(work->ticket, 0, (size_t)marks * sizeof *work->ticket, karst_cuda_of(context)->stream);
  return status;
}

void launch_tiles(karst_context *context, const karst_matrix *A, double shift, const karst_ilu_cuda *plan)
{
  const tiles_state *state = static_cast<const tiles_state *>(plan->factor_state);
  tiles_work *work = static_cast<tiles_work *>(plan->factor_work);
  const karst_ilu_tile_values value = karst_ilu_tile_values_of(plan);
  const unsigned tiles = (unsigned)karst_ilu_tiled_of(plan)->tiles;
  factor_arguments arguments = {state->lists.making,
                                (const char *)state->lists.record,
                                value.lower,
                                value.upper,
                                work->ticket,
                                work->ticket + 1,
                                work->turns + 1,
                                work->turns * tiles,
                                A->value,
                                {shift, plan->finding}};
  void *list[] = {&arguments};
  const cudaError_t error = cudaLaunchKernel(state->code.kernel, dim3(tiles), dim3(state->code.threads), list,
                                             (size_t)state->lists.shared, karst_cuda_of(context)->stream);
  if (error == cudaSuccess) work->turns++; /* else nobody has taken a ticket */
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
