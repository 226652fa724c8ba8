/* search.cu - a pass as in sweep.cu over the small blocks with too many products for a list. A warp takes a group of
 * them. All its lanes find the next products of each block, in memory that the blocks share. Then the lanes of a block
 * subtract these products, in the same order as from a list, so that the bits are the same.
 *
 * A group is as many blocks as the warp has lanes and memory for, or fewer if warps of the GPU would otherwise have no
 * work. */
#include "gpu/sweeps/match.h"
#include "gpu/sweeps/task.h"

namespace
{

enum {
  THREADS = KARST_PARILU_THREADS,
  WARPS = THREADS / 32,
  ROOM = 8192 / (int)sizeof(karst_parilu_product), /* products that a warp has room for */
  FULL = 4096 /* warps of a full GPU; a constant, so that norms do not depend on it */
};

/* Products fetched at once. */
template <int B> constexpr int products_at_once = B == 1 ? 8 : 1;

/* Subtracts from sum row r of the products of the task of this lane, which is number q of its group; first is the
 * group's first. All lanes of the warp take part; q is not a task's number in those without a task. */
template <int B, bool symmetric, bool racing>
__device__ __forceinline__ void search_products(const karst_parilu_pass_cuda &p, int64_t first, int group, int q, int r,
                                                karst_parilu_product *found, double (&sum)[B])
{
  const int lane = (int)threadIdx.x % 32, room = ROOM / group, each = room | 1; /* odd: lanes read other banks */
  karst_parilu_match match = {0, 0, 0, 0, false};
  if (lane < group && first + lane < p.plan.tasks)
    match = karst_parilu_match_start(p.S, p.plan.row[first + lane], p.S.column[p.plan.task[first + lane]]);
  while (__any_sync(~0u, match.next < match.end)) {
    int mine = 0;
    for (int k = 0; k < group; k++) {
      karst_parilu_match theirs = karst_parilu_match_of(match, k);
      const int count = karst_parilu_match_next(p.S, room, theirs, found + k * each);
      if (lane == k) match.next = theirs.next;
      if (q == k) mine = count;
    }
    __syncwarp();
    karst_parilu_subtract_list<B, symmetric, racing, products_at_once<B>>(p.from, found, (karst_index)q * each,
                                                                          (karst_index)q * each + mine, r, sum);
    __syncwarp();
  }
}

template <int B, bool symmetric, int how>
__global__ void __launch_bounds__(THREADS)
    pass_searching(const karst_parilu_pass_cuda p, int64_t scalar_rows, int group)
{
  __shared__ karst_parilu_product found[WARPS][ROOM + 32];
  constexpr bool racing = (how & KARST_PARILU_IN_PLACE) != 0;
  const int lane = (int)threadIdx.x % 32, warp = (int)threadIdx.x / 32, q = lane / B;
  double square = 0;
  for (int64_t first = p.plan.listed + ((int64_t)blockIdx.x * WARPS + warp) * group; first < p.plan.tasks;
       first += (int64_t)gridDim.x * WARPS * group) {
    const int64_t t = first + q;
    const bool mine = q < group && t < p.plan.tasks;
    karst_parilu_place at = {-1, -1, lane % B};
    double sum[B] = {0};
    if (mine) {
      at.block = p.plan.task[t];
      at.pivot = p.plan.pivot[t];
      karst_parilu_start<B>(p, at, sum);
    }
    search_products<B, symmetric, racing>(p, first, group, q, at.r, found[warp], sum);
    square += karst_parilu_end<B, symmetric, how>(p, mine, t, at, scalar_rows, sum);
  }
  if constexpr ((how & KARST_PARILU_MEASURE) != 0) karst_parilu_sum(square, p.partial + blockIdx.x);
}

} // namespace

unsigned karst_parilu_search_small_cuda(karst_context *context, const karst_parilu *parilu, int how,
                                        const karst_parilu_pass_cuda *pass)
{
  const int b = parilu->F->block_size;
  const int64_t scalar_rows = (int64_t)parilu->F->block_rows * b, tasks = pass->plan.tasks - pass->plan.listed;
  const int most = 32 / b < ROOM / 32 ? 32 / b : ROOM / 32;
  const int group = tasks / FULL < 1 ? 1 : tasks / FULL < most ? (int)(tasks / FULL) : most;
  const unsigned grid = karst_parilu_grid(how, &pass->plan, tasks, WARPS * group);
  cudaStream_t stream = karst_cuda_of(context)->stream;
  karst_cuda_instance(b, [&](auto size) {
    if constexpr (size.value > 0)
      karst_parilu_instance(parilu->symmetric, how, [&](auto symmetric, auto kind) {
        pass_searching<size.value, symmetric.value, kind.value>
            <<<grid, THREADS, 0, stream>>>(*pass, scalar_rows, group);
      });
  });
  return grid;
}
