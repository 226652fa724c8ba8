/* tile_factor.cu - block ILU on a given pattern (Yang, Liu, He, Chen, Algorithm 4), tile by tile, in one launch:
 *
 *     a_ij = A_ij - sum_{p < min(i, j)} a_ip U'_pj,    L_ip = a_ip D_p^-1,    D_i = a_ii,    U'_ij = D_i^-1 a_ij
 *
 * A block of threads makes the blocks of one tile in shared memory and stores them as the sweeps by tiles have them
 * (tile_sweep.h). Blocks of threads take tickets in the order in which the forward sweep does, and wait for tiles in the
 * same way. L_ip, which no other tile needs, is made as it is stored. */
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
template <int B>
__device__ __forceinline__ void take_waves(const workbench &w, const karst_ilu_making &m, const findings &found)
{
  if (threadIdx.x >= 32 * wave_warps<B>) return;
  for (int k = 0; k < m.waves; k++) {
    const karst_ilu_wave now = w.wave[k], next = w.wave[k + 1];
    if (next.job > now.job) subtract_products<B>(w, now.job, next.job);
    divide_rows<B>(w, m.row, now.pivot, next.pivot, found);
  }
}

/* Makes one tile. memory: shared. */
template <int B>
__device__ __forceinline__ void make_tile(const factor_arguments &s, const karst_ilu_making &m, char *memory,
                                          copies *under_way)
{
  constexpr int BB = B * B;
  const double *A = s.A + m.source * BB;
  const bool as_one = !m.fill && karst_ilu_block_apart(B) == BB;
  workbench w = workbench_of(m, memory);
  if (as_one) w.block += (uintptr_t)A / sizeof(double) % 2;
  bool copied = false;
  if (threadIdx.x < 32) {
    begin_copy(memory, s.record + m.record * 16, (unsigned)karst_ilu_making_record_of(m).bytes, &under_way->record);
    if (as_one) copied = begin_numbers(w.block, A, m.blocks * BB, &under_way->values);
    await_copy(&under_way->record);
  }
  __syncthreads();
  if (!as_one) fetch_blocks<B>(w, m, A);
  if (threadIdx.x < 32) await_tiles(m.waits, w.wait, s.done, s.turn);
  __syncthreads();
  fetch_outside<B>(w, m, s.upper);
  await_fetches();
  if (copied) await_copy(&under_way->values);
  __syncthreads();
  take_waves<B>(w, m, s.found);
  __syncthreads();
  store_upper<B>(w, m, s.upper + m.upper * BB);
  __syncthreads();
  if (threadIdx.x == 0) tell(s.done + m.number, s.turn);
  store_lower<B>(w, m, s.found, s.lower + m.lower * BB);
}

template <int B> __global__ void __launch_bounds__(32 * warps_of<B>) factor_tiles(const factor_arguments s)
{
  extern __shared__ __align__(128) char memory[];
  __shared__ copies under_way;
  __shared__ unsigned taken;
  if (threadIdx.x == 0) taken = atomicAdd(s.ticket, 1u) - s.first;
  __syncthreads();
  make_tile<B>(s, s.making[taken], memory, &under_way);
}

struct instance {
  const void *kernel;
  unsigned threads; /* of a block */
};

instance instance_for(int block_size)
{
  instance found = {NULL, 0};
  karst_cuda_instance(block_size, [&](auto size) {
    constexpr int B = decltype(size)::value;
    if constexpr (B > 0) found = {(const void *)factor_tiles<B>, 32 * warps_of<B>};
  });
  return found;
}

/* factor_work */
struct tiles_work {
  unsigned *ticket; /* [1 + tiles] device memory: tickets taken; the last factorization in which each tile was done */
  unsigned turns;   /* factorizations so far */
};

/* Returns how many bytes of shared memory a tile may have. */
int64_t limit_of(const karst_context *context)
{
  enum { BESIDES = 1024 };
  int block = 0;
  cudaDeviceGetAttribute(&block, cudaDevAttrMaxSharedMemoryPerBlockOptin, karst_cuda_of(context)->device);
  return block - BESIDES;
}

/* factor_state stays NULL where a tile finds no room. */
karst_status analyse_tiles(karst_context *context, const karst_matrix *A, const karst_ilu_pattern_cuda *pattern,
                           const karst_ilu_shape *shape, karst_ilu_analysis *analysis)
{
  karst_ilu_cuda *plan = karst_ilu_cuda_of(analysis);
  karst_ilu_tile_lists *lists;
  const int64_t limit = limit_of(context);
  karst_status status = karst_allocate_zero(context, &lists, 1, sizeof *lists, what);
  if (status) return status;
  status = karst_ilu_list_by_tiles_cuda(context, A, pattern, limit, analysis, lists);
  if (status || !lists->making) {
    karst_release(context, lists);
    return status;
  }
  plan->factor_state = lists;
  /* The same for every plan, for the limit is the kernel's. */
  return karst_cuda_status(context,
                           cudaFuncSetAttribute(instance_for(shape->block_size).kernel,
                                                cudaFuncAttributeMaxDynamicSharedMemorySize, (int)limit),
                           what);
}

void forget_tiles(karst_context *context, karst_ilu_cuda *plan)
{
  karst_ilu_tile_lists *lists = static_cast<karst_ilu_tile_lists *>(plan->factor_state);
  if (!lists) return;
  karst_ilu_release_tile_lists_cuda(context, lists);
  karst_release(context, lists);
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
  const karst_ilu_tile_lists *lists = static_cast<const karst_ilu_tile_lists *>(plan->factor_state);
  tiles_work *work = static_cast<tiles_work *>(plan->factor_work);
  const karst_ilu_tile_values value = karst_ilu_tile_values_of(plan);
  const unsigned tiles = (unsigned)karst_ilu_tiled_of(plan)->tiles;
  factor_arguments arguments = {lists->making,
                                (const char *)lists->record,
                                value.lower,
                                value.upper,
                                work->ticket,
                                work->ticket + 1,
                                work->turns + 1,
                                work->turns * tiles,
                                A->value,
                                {shift, plan->finding}};
  const instance code = instance_for(plan->block_size);
  void *list[] = {&arguments};
  const cudaError_t error = cudaLaunchKernel(code.kernel, dim3(tiles), dim3(code.threads), list, (size_t)lists->shared,
                                             karst_cuda_of(context)->stream);
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
