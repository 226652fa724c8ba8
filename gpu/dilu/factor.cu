/* factor.cu - DILU in one launch for blocks that have an instance:
 *
 *     D_i = A_ii - sum_{k < i} E_ik D_k^-1 (F_ki + R (S_k - F_ki)),    S_k = sum_j F_kj
 *
 * R, the option modified, is usually 0: then only those k contribute for which A has both blocks. Warps take the tasks
 * of the lower triangle in level order. A warp waits for the D_k^-1 that it needs: their elements are absent until
 * another warp has stored them, as in the sweeps. Lane q b + r holds scalar row r of the blocks of block row q;
 * shuffles bring the rows of other lanes. While the warp waits it loads the blocks of A, and the block numbers of its
 * next task. factor_small.cu factors small blocks. */
#include "gpu/dilu/fallback_inverse.h"

namespace
{

/* Neighbours of a row that are processed together. */
template <int B> constexpr int at_once = B <= 5 ? 3 : B <= 7 ? 2 : 1;

/* The least number of thread blocks that fit on a multiprocessor; 0: the compiler decides. For b = 4, 6 and 8 it then
 * uses so few registers that it has to spill some. */
template <int B> constexpr int least_blocks = B == 4 || B == 6 || B == 8 ? 1 : 0;

/* The blocks E_ik and F_ki of A, and the position of D_k^-1; -1 if missing. */
template <int B> struct links {
  karst_index source[at_once<B>], mirror[at_once<B>], pivot[at_once<B>];
};

template <int B> struct work {
  karst_ilu_place at;
  int64_t e, end;
  links<B> first;
  karst_index slot, row, diagonal;
};

template <int B>
__device__ __forceinline__ links<B> fetch_links(const karst_dilu_cuda &plan, int64_t e, int64_t end,
                                                const karst_ilu_place &at)
{
  constexpr int R = 32 / B;
  links<B> found;
#pragma unroll
  for (int k = 0; k < at_once<B>; k++, e++) {
    const int64_t block = e * R + at.q;
    const bool there = at.active && e < end;
    found.source[k] = there ? plan.lower.source[block] : -1;
    found.mirror[k] = there ? plan.mirror[block] : -1;
    found.pivot[k] = there ? plan.pivot[block] : -1;
  }
  return found;
}

template <int B> __device__ __forceinline__ work<B> find_work(const karst_dilu_cuda &plan, const karst_dilu_task &task)
{
  constexpr int R = 32 / B;
  const int lane = (int)threadIdx.x % 32;
  work<B> found;
  karst_ilu_place at = {lane / B, lane % B, false, 0};
  at.group = ((1u << B) - 1) << (at.q * B);
  found.slot = task.first / R * R + at.q;
  at.active = at.q < R && found.slot >= task.first && found.slot < task.end;
  found.at = at;
  found.e = task.begin;
  found.end = task.stop;
  found.first = fetch_links<B>(plan, found.e, found.end, at);
  found.row = at.active ? plan.lower.row[found.slot] : 0;
  found.diagonal = at.active ? plan.diagonal[found.slot] : -1;
  return found;
}

/* Row r of a block of A or of one of the arrays that are ordered by rows; zeros if number is -1. */
template <int B>
__device__ __forceinline__ void load_row(const double *value, karst_index number, int r, double (&row)[B])
{
#pragma unroll
  for (int c = 0; c < B; c++) row[c] = number >= 0 ? __ldg(value + (int64_t)number * (B * B) + c * B + r) : 0;
}

/* Adds sign times left times right to acc, where the lanes hold their rows of all three. */
template <int B>
__device__ __forceinline__ void add_product(double sign, const double (&left)[B], const double (&right)[B], int q,
                                            double (&acc)[B])
{
#pragma unroll
  for (int c = 0; c < B; c++)
#pragma unroll
    for (int d = 0; d < B; d++) acc[d] += sign * left[c] * (B > 1 ? __shfl_sync(~0u, right[d], q * B + c) : right[d]);
}

/* Subtracts the products of the links from acc, and updates its size (gpu/size.h). row: of the lane. */
template <int B, bool MODIFIED>
__device__ __forceinline__ void subtract(const karst_dilu_cuda &plan, const karst_dilu_matrix &m, const links<B> &link,
                                         const karst_ilu_place &at, karst_index row, double (&acc)[B], float (&size)[B])
{
  constexpr int K = at_once<B>;
  const double *from[K * B];
  double left[K][B], right[K][B], inverse[K * B], nonfinite[K], own = 0;
#pragma unroll
  for (int k = 0; k < K; k++) {
    const bool there = MODIFIED ? link.pivot[k] >= 0 : link.mirror[k] >= 0;
#pragma unroll
    for (int c = 0; c < B; c++)
      from[k * B + c] = there ? m.inverse + karst_dilu_element<B>(link.pivot[k], at.r, c) : NULL;
    load_row<B>(m.value, there ? link.source[k] : -1, at.r, left[k]);
    load_row<B>(m.value, link.mirror[k], at.r, right[k]);
  }
  karst_await<K * B>(from, inverse);
#pragma unroll
  for (int k = 0; k < K; k++) {
    double pivot[B], product[B];
    nonfinite[k] = 0;
#pragma unroll
    for (int c = 0; c < B; c++) {
      own += left[k][c] * 0;
      nonfinite[k] += right[k][c] * 0;
      pivot[c] = inverse[k * B + c];
      product[c] = 0;
    }
    if constexpr (MODIFIED) {
      double sum[B];
      load_row<B>(plan.sum, link.pivot[k] >= 0 ? plan.lower.row[link.pivot[k]] : -1, at.r, sum);
#pragma unroll
      for (int c = 0; c < B; c++) right[k][c] += m.modified * (sum[c] - right[k][c]);
    }
    add_product<B>(1, left[k], pivot, at.q, product);
    add_product<B>(-1, product, right[k], at.q, acc);
#pragma unroll
    for (int c = 0; c < B; c++) size[c] = karst_size_after(size[c], acc[c]);
  }
#pragma unroll
  for (int k = 0; k < K; k++)
    if (nonfinite[k] != 0) karst_dilu_check(plan, plan.lower.row[link.pivot[k]], nonfinite[k]);
  karst_dilu_check(plan, row, own);
}

template <int B, bool MODIFIED>
__global__ void __launch_bounds__(KARST_ILU_THREADS, least_blocks<B>)
    factor(const karst_dilu_cuda plan, const karst_dilu_matrix m)
{
  const int64_t warps = (int64_t)gridDim.x * (KARST_ILU_THREADS / 32), tasks = plan.lower.tasks;
  int64_t number = ((int64_t)blockIdx.x * KARST_ILU_THREADS + threadIdx.x) / 32;
  work<B> now = find_work<B>(plan, karst_dilu_find_task(plan.lower_task, plan.lower.tasks, number));
  karst_dilu_task ahead = karst_dilu_find_task(plan.lower_task, plan.lower.tasks, number + warps);
  for (; number < tasks; number += warps) {
    const work<B> here = now;
    double acc[B], inverse[B], largest = 0;
    float size[B];
    links<B> link = here.first;
    load_row<B>(m.value, here.diagonal, here.at.r, acc);
    now = find_work<B>(plan, ahead);
    ahead = karst_dilu_find_task(plan.lower_task, plan.lower.tasks, number + 2 * warps);
#pragma unroll
    for (int c = 0; c < B; c++) size[c] = karst_size(acc[c]);
    for (int64_t e = here.e; e < here.end; e += at_once<B>) {
      const links<B> next = fetch_links<B>(plan, e + at_once<B>, here.end, here.at);
      subtract<B, MODIFIED>(plan, m, link, here.at, here.row, acc, size);
      link = next;
    }
#pragma unroll
    for (int c = 0; c < B; c++) {
      largest = fmax(largest, fabs(acc[c]));
      inverse[c] = acc[c];
    }
#pragma unroll
    for (int c = 0; c < B; c++) size[c] = karst_size_of_many(size[c], (int)(here.end - here.e));
    const karst_reason reason = karst_ilu_invert<B>(here.at, size, inverse);
    if (__any_sync(~0u, here.at.active && reason != KARST_SOUND)) {
      const double replacement = karst_dilu_replace<B>(reason, m.start, m.value, m.shift, here.at, here.row,
                                                       here.diagonal, largest, plan.statistics);
#pragma unroll
      for (int c = 0; c < B; c++)
        if (reason != KARST_SOUND) inverse[c] = c == here.at.r ? replacement : 0;
    }
#pragma unroll
    for (int c = 0; c < B; c++)
      if (here.at.active) karst_publish(m.inverse + karst_dilu_element<B>(here.slot, here.at.r, c), inverse[c]);
  }
}

const void *kernel_for(int block_size, bool modified)
{
  const void *kernel = karst_dilu_factor_small_cuda(block_size, modified);
  karst_cuda_instance(block_size, [&](auto size) {
    constexpr int B = decltype(size)::value;
    if constexpr (B > KARST_DILU_SMALL)
      kernel = modified ? (const void *)factor<B, true> : (const void *)factor<B, false>;
  });
  return kernel;
}

} // namespace

karst_status karst_dilu_plan_factor_cuda(karst_context *context, const karst_dilu_analysis *analysis,
                                         karst_dilu_cuda *plan)
{
  return karst_ilu_resident_cuda(context, kernel_for(plan->block_size, plan->modified), 0, KARST_ILU_HELD_SLICES,
                                 plan->lower.tasks, analysis->levels_lower, &plan->factor_grid);
}

void karst_dilu_factor_cuda(karst_context *context, const karst_dilu_cuda *plan, const karst_dilu_matrix *matrix)
{
  cudaStream_t stream = karst_cuda_of(context)->stream;
  const int b = plan->block_size;
  karst_dilu_cuda p = *plan;
  karst_dilu_matrix m = *matrix;
  void *arguments[] = {&p, &m};
  cudaMemsetAsync(m.inverse, 0xff,
                  (size_t)karst_block_offset(b, (karst_index)karst_dilu_slots(&p.lower)) * sizeof(double), stream);
  cudaLaunchCooperativeKernel(kernel_for(b, plan->modified), dim3((unsigned)plan->factor_grid), dim3(KARST_ILU_THREADS),
                              arguments, 0, stream);
}
