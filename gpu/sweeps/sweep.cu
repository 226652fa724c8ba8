/* sweep.cu - a pass over the blocks of parilu and paric on the GPU (Chow, Anzt, Dongarra, Algorithm 1), for small
 * blocks: it makes the update, the nonlinear residual, or both.
 *
 *     parilu   L_ij = S_ij U_jj^-1,    U_ij = S_ij          S_ij = A_ij - sum_{k < min(i,j)} L_ik U_kj
 *     paric    L_ij = S_ij L_jj^-T,    L_jj L_jj^T = S_jj   S_ij = A_ij - sum_{k < j} L_ik L_jk^T
 *
 * A lane makes one scalar row of a block, and needs nothing of its neighbours; b lanes make a block, and a warp as many
 * blocks as it has lanes for. They read the same right blocks and inverses, one element at a time.
 *
 * Diagonal blocks appear in no product: a pass divides by them. For b = 1 it reads the pivot itself. For larger blocks
 * it reads the inverses, which are made between synchronous passes (pivots.cu), so that a pass leaves S_jj in the place
 * of paric's L_jj. In an asynchronous pass the first lane of a diagonal block makes the inverse on the spot.
 *
 * A pass for b = 1 moves 12 bytes for the task, pivot and list of each task, 16 for A, which is read, and the result,
 * which is written, 8 for the factors, and 8 for each product. The factors of the products come from the second-level
 * cache for the most part. */
#include "gpu/sweeps/task.h"

namespace
{

enum { THREADS = KARST_PARILU_THREADS, WARPS = THREADS / 32 };

/* Products fetched at once: short lists are the rule, and their loads depend on each other. */
template <int B> constexpr int products_at_once = B == 1 ? 4 : 1;

template <int B, bool symmetric, int how>
__global__ void __launch_bounds__(THREADS) pass_small(const karst_parilu_pass_cuda p, int64_t scalar_rows)
{
  constexpr int R = 32 / B;
  constexpr bool racing = (how & KARST_PARILU_IN_PLACE) != 0;
  const int lane = (int)threadIdx.x % 32, q = lane / B;
  double square = 0;
  for (int64_t first = ((int64_t)blockIdx.x * WARPS + threadIdx.x / 32) * R; first < p.plan.listed;
       first += (int64_t)gridDim.x * WARPS * R) {
    const int64_t t = first + q;
    const bool mine = q < R && t < p.plan.listed;
    karst_parilu_place at = {-1, -1, lane % B};
    double sum[B];
    if (mine) {
      at.block = p.plan.task[t];
      at.pivot = p.plan.pivot[t];
      karst_parilu_start<B>(p, at, sum);
      karst_parilu_subtract_list<B, symmetric, racing, products_at_once<B>>(p.from, p.plan.product, p.plan.list[t],
                                                                            p.plan.list[t + 1], at.r, sum);
    }
    square += karst_parilu_end<B, symmetric, how>(p, mine, t, at, scalar_rows, sum);
  }
  if constexpr ((how & KARST_PARILU_MEASURE) != 0) karst_parilu_sum(square, p.partial + blockIdx.x);
}

} // namespace

unsigned karst_parilu_pass_small_cuda(karst_context *context, const karst_parilu *parilu, int how,
                                      const karst_parilu_pass_cuda *pass)
{
  const int b = parilu->F->block_size;
  const int64_t scalar_rows = (int64_t)parilu->F->block_rows * b;
  const unsigned grid = karst_parilu_grid(how, &pass->plan, pass->plan.listed, WARPS * (32 / b));
  cudaStream_t stream = karst_cuda_of(context)->stream;
  karst_cuda_instance(b, [&](auto size) {
    if constexpr (size.value > 0)
      karst_parilu_instance(parilu->symmetric, how, [&](auto symmetric, auto kind) {
        pass_small<size.value, symmetric.value, kind.value><<<grid, THREADS, 0, stream>>>(*pass, scalar_rows);
      });
  });
  return grid;
}
