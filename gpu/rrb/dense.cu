/* dense.cu - the solve with the remaining nodes when they are so few that W = L^-1 is stored: x = W^T D^-1 W x in two
 * launches. Every thread loads its part of W into registers before x is complete, so that the loads of W wait for no
 * kernel. */
#include "gpu/rrb/apply.h"

namespace
{

enum {
  THREADS = 256,
  WARP = 32,
  COLUMNS = THREADS / WARP,
  SHARE = KARST_RRB_DENSE / WARP /* elements of W that a thread has */
};

/* left = D^-1 W x, a warp a row. W is loaded before x is complete: no kernel just before this one writes W. */
__global__ void __launch_bounds__(THREADS)
    solve_down(int rest, const double *__restrict__ dense, const double *__restrict__ inverse,
               const int64_t *__restrict__ place, const double *x, double *left)
{
  __shared__ double all[KARST_RRB_DENSE];
  const int row = (int)((blockIdx.x * THREADS + threadIdx.x) / WARP), lane = (int)threadIdx.x % WARP;
  double w[SHARE];
#pragma unroll
  for (int k = 0; k < SHARE; k++) {
    const int c = k * WARP + lane;
    w[k] = row < rest && c < row ? dense[(int64_t)row * rest + c] : 0;
  }
  karst_rrb_wait();
  for (int q = (int)threadIdx.x; q < KARST_RRB_DENSE; q += THREADS) all[q] = q < rest ? x[place[q]] : 0;
  __syncthreads();
  double sum = 0;
#pragma unroll
  for (int k = 0; k < SHARE; k++) sum += w[k] * all[k * WARP + lane];
  sum = karst_rrb_warp_sum(sum);
  if (lane == 0 && row < rest) left[row] = (all[row] + sum) * inverse[row];
}

/* x = W^T left, COLUMNS columns a thread block. */
__global__ void __launch_bounds__(THREADS) solve_up(int rest, const double *__restrict__ dense,
                                                    const int64_t *__restrict__ place, const double *left, double *x)
{
  __shared__ double all[KARST_RRB_DENSE], part[WARP][COLUMNS];
  const int c = (int)threadIdx.x % COLUMNS, r = (int)threadIdx.x / COLUMNS, column = (int)blockIdx.x * COLUMNS + c;
  double w[SHARE];
#pragma unroll
  for (int k = 0; k < SHARE; k++) {
    const int row = k * WARP + r;
    w[k] = row < rest && column < row ? dense[(int64_t)row * rest + column] : 0;
  }
  karst_rrb_wait();
  for (int q = (int)threadIdx.x; q < KARST_RRB_DENSE; q += THREADS) all[q] = q < rest ? left[q] : 0;
  __syncthreads();
  double sum = 0;
#pragma unroll
  for (int k = 0; k < SHARE; k++) sum += w[k] * all[k * WARP + r];
  part[r][c] = sum;
  __syncthreads();
  if (r > 0 || column >= rest) return;
  sum = all[column];
#pragma unroll
  for (int s = 0; s < WARP; s++) sum += part[s][c];
  x[place[column]] = sum;
}

} // namespace

void karst_rrb_dense_solve_cuda(karst_context *context, const karst_rrb *rrb)
{
  const karst_rrb_cuda *plan = karst_rrb_cuda_of(rrb);
  double *x = plan->arrays.vector[rrb->levels / 2];
  const int rest = (int)rrb->rest;
  karst_rrb_launch(context, rrb, solve_down, karst_cuda_grid((int64_t)rest * WARP, THREADS), THREADS, 0, rest,
                   plan->dense, plan->inverse, plan->place, x, plan->left);
  karst_rrb_launch(context, rrb, solve_up, karst_cuda_grid(rest, COLUMNS), THREADS, 0, rest, plan->dense, plan->place,
                   plan->left, x);
}
