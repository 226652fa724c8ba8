/* factor_large.cu - block ILU on a given pattern as in factor_slice.cu, for blocks of any size. A block of threads
 * makes a block row, in the level order of L, once the rows that it needs are marked as done.
 *
 * The equations are those of factor_slice.cu. A second variant, for modified ILU, adds R times the products that have
 * no place in the pattern to the diagonal block:
 *
 *     D_i = a_ii - R sum_p a_ip U'_pj        over all (i, j) that are not in the pattern */
#include "gpu/ilu/search/large_row.h"

namespace
{

enum { THREADS = KARST_ILU_THREADS };

/* Puts a_ij into its place: A's block, less the products of its list. Its sizes go to size unless that is NULL. */
__device__ void accumulate(const karst_triangle &lower, const karst_triangle &upper, const karst_triangle &t, int b,
                           const double *A, int64_t number, double *size)
{
  const int64_t bb = (int64_t)b * b;
  const block_view to = view(t, b, number);
  const karst_index source = t.source[number];
  for (int64_t v = threadIdx.x; v < bb; v += THREADS) {
    const int64_t r = v % b, c = v / b;
    double sum = source >= 0 ? A[source * bb + v] : 0, sizes = fabs(sum);
    for (karst_index n = t.list[number]; n < t.list[number + 1]; n++) {
      const block_view left = view(lower, b, t.product[n].left), right = view(upper, b, t.product[n].right);
      const double *column = right.at + c * right.stride;
      for (int s = 0; s < b; s++) sum -= left.at[s * left.stride + r] * __ldcg(&column[s]);
      sizes += fabs(sum);
    }
    to.at[c * to.stride + r] = sum;
    if (size) size[v] = sizes;
  }
  __syncthreads();
}

/* Waits for the rows that this one needs; the values that they stored can be read then. */
__device__ void await_rows(const karst_triangle &lower, int64_t block, int64_t length, const int *done)
{
  for (int64_t e = threadIdx.x; e < length; e += THREADS) {
    const karst_index pivot = lower.column[block + e * lower.group];
    if (pivot == lower.slots) continue;
    while (!*(const volatile int *)&done[pivot]) continue;
  }
  __threadfence();
  __syncthreads();
}

/* Subtracts R times the dropped products of the row in a slot from a block, which the threads have elements of as in
 * accumulate, and of its size. */
__device__ void subtract_dropped(const karst_triangle &lower, const karst_triangle &upper, int b, karst_index slot,
                                 const karst_ilu_dropped_list &dropped, double modified, block_view to, double *size)
{
  for (int64_t v = threadIdx.x; v < (int64_t)b * b; v += THREADS) {
    const int64_t r = v % b, c = v / b;
    double sum = 0, sizes = 0;
    for (int64_t n = dropped.list[slot]; n < dropped.list[slot + 1]; n++) {
      const block_view left = view(lower, b, dropped.product[n].left), right = view(upper, b, dropped.product[n].right);
      const double *column = right.at + c * right.stride;
      for (int s = 0; s < b; s++) sum += left.at[s * left.stride + r] * __ldcg(&column[s]);
      sizes += fabs(sum);
    }
    to.at[c * to.stride + r] -= modified * sum;
    size[v] += modified * sizes + fabs(to.at[c * to.stride + r]);
  }
  __syncthreads();
}

template <bool MODIFIED>
__global__ void __launch_bounds__(THREADS) factor_large(const large_call f, const karst_ilu_dropped_list dropped)
{
  extern __shared__ double line[]; /* shared_bytes(b, THREADS) */
  for (karst_index slot = (karst_index)blockIdx.x; slot < f.lower.rows; slot += (karst_index)gridDim.x) {
    const large_row row = row_in(f, slot);
    await_rows(f.lower, row.lower, row.lower_length, f.done);
    for (int64_t e = 0; e < row.lower_length; e++)
      accumulate(f.lower, f.upper, f.lower, f.b, f.A, row.lower + e * f.lower.group, NULL);
    for (int64_t e = 0; e < row.upper_length; e++)
      accumulate(f.lower, f.upper, f.upper, f.b, f.A, row.upper + e * f.upper.group, e > 0 ? NULL : size_here(f));
    if (MODIFIED)
      subtract_dropped(f.lower, f.upper, f.b, slot, dropped, f.modified, view(f.upper, f.b, row.upper), size_here(f));
    finish_row(f, row, line);
  }
}

/* factor_state */
struct large_state {
  karst_ilu_dropped_list dropped;
};

const void *kernel_for(bool modified)
{
  return modified ? (const void *)factor_large<true> : (const void *)factor_large<false>;
}

karst_status analyse_large(karst_context *context, const karst_matrix *A, const karst_ilu_pattern_cuda *pattern,
                           const karst_ilu_shape *shape, karst_ilu_analysis *analysis)
{
  (void)A;
  karst_ilu_cuda *plan = karst_ilu_cuda_of(analysis);
  large_state *state;
  karst_status status = karst_allocate_zero(context, &state, 1, sizeof *state, "the plan of block ILU");
  if (status) return status;
  plan->factor_state = state;
  status = karst_ilu_list_by_blocks_cuda(context, pattern, analysis);
  if (!status && shape->modified) status = karst_ilu_list_dropped_cuda(context, pattern, analysis, &state->dropped);
  if (status) return status;
  /* A row counts as many times as it has warps. */
  return karst_ilu_resident_cuda(context, kernel_for(shape->modified), shared_bytes(shape->block_size, THREADS),
                                 KARST_ILU_HELD_SLICES, shape->rows * THREADS / 32, shape->levels, &plan->factor_grid);
}

void forget_large(karst_context *context, karst_ilu_cuda *plan)
{
  large_state *state = static_cast<large_state *>(plan->factor_state);
  if (!state) return;
  context->backend->release(context, state->dropped.list);
  context->backend->release(context, state->dropped.product);
  karst_release(context, state);
}

template <bool MODIFIED>
void launch_large(karst_context *context, const karst_matrix *A, double shift, const karst_ilu_cuda *plan)
{
  const large_state *state = static_cast<const large_state *>(plan->factor_state);
  cudaStream_t stream = karst_cuda_of(context)->stream;
  large_call call = call_of(A, shift, plan);
  karst_ilu_dropped_list dropped = state->dropped;
  void *arguments[] = {&call, &dropped};
  cudaMemsetAsync(call.done, 0, (size_t)call.lower.rows * sizeof *call.done, stream);
  cudaLaunchCooperativeKernel(kernel_for(MODIFIED), dim3((unsigned)plan->factor_grid), dim3(THREADS), arguments,
                              shared_bytes(call.b, THREADS), stream);
}

} // namespace

const karst_ilu_factor_variant karst_ilu_factor_large_cuda = {analyse_large, forget_large, launch_large<false>,
                                                              plan_work,     destroy_work, false};
const karst_ilu_factor_variant karst_ilu_factor_modified_cuda = {analyse_large, forget_large, launch_large<true>,
                                                                 plan_work,     destroy_work, false};
