/* table.cu - the CUDA instance of the DILU kernels. */
#include "gpu/dilu/dilu_cuda.h"
#include "gpu/ilu/pivot_repair.h"

#include "lib/backend/dense.h"

namespace
{

/* Makes the sums of the blocks right of the diagonal, an element a thread. */
__global__ void __launch_bounds__(KARST_CUDA_THREADS)
    sum_rows(karst_index rows, int b, const karst_index *start, const karst_index *column, const double *value,
             double *sum)
{
  const int64_t bb = (int64_t)b * b, v = blockIdx.x * (int64_t)blockDim.x + threadIdx.x, i = v / bb;
  if (i >= rows) return;
  double all = 0;
  for (karst_index block = start[i]; block < start[i + 1]; block++)
    if (column[block] > i) all += value[block * bb + v % bb];
  sum[v] = all;
}

/* Reports block rows with entries outside the diagonal block that are not finite, a warp a row. */
__global__ void __launch_bounds__(KARST_CUDA_THREADS)
    check_rows(karst_index rows, int b, const karst_index *start, const karst_index *column, const double *value,
               karst_ilu_statistics_cuda *statistics)
{
  const int64_t bb = (int64_t)b * b, i = (blockIdx.x * (int64_t)blockDim.x + threadIdx.x) / 32;
  bool finite = true;
  if (i >= rows) return;
  for (karst_index block = start[i]; block < start[i + 1]; block++)
    for (int64_t v = threadIdx.x % 32; v < bb && column[block] != i; v += 32)
      finite = finite && fabs(value[block * bb + v]) <= DBL_MAX;
  if (!finite) karst_ilu_report_row(statistics, (karst_index)i, KARST_FAULT_ROW_NOT_FINITE);
}

/* Rounds D^-1 and the other blocks of a block row to float, by a warp, and reports rows that float cannot hold. large:
 * whether D^-1 is stored as large.cu does. */
__global__ void __launch_bounds__(KARST_CUDA_THREADS)
    round_rows(const karst_triangle t, int b, bool large, const karst_index *start, const karst_index *column,
               const double *A, const double *inverse, float *A_to, float *inverse_to,
               karst_ilu_statistics_cuda *statistics)
{
  const int64_t slot = (blockIdx.x * (int64_t)blockDim.x + threadIdx.x) / 32, bb = (int64_t)b * b;
  const int lane = (int)threadIdx.x % 32;
  if (slot >= t.rows) return;
  const karst_index i = t.row[slot];
  const int64_t in_group = slot % KARST_DILU_GROUP, group = slot / KARST_DILU_GROUP * KARST_DILU_GROUP * bb;
  const int64_t first = large ? i * bb : group + in_group * b, stride = large ? b : KARST_DILU_GROUP * (int64_t)b;
  bool holds = true;
  for (karst_index block = start[i]; block < start[i + 1]; block++)
    for (int64_t v = block * bb + lane; v < (block + 1) * bb && column[block] != i; v += 32) {
      A_to[v] = karst_round(A[v]);
      holds = holds && !karst_overflows(A[v]);
    }
  for (int r = lane; r < b; r += 32) {
    float in_row = 0, in_column = 0;
    for (int c = 0; c < b; c++) {
      const double x = inverse[first + c * stride + r];
      inverse_to[first + c * stride + r] = karst_round(x);
      in_row += fabsf(karst_round(x));
      in_column += fabsf(karst_round(inverse[first + r * stride + c]));
      holds = holds && !karst_overflows(x);
    }
    holds = holds && in_row > 0 && in_column > 0;
  }
  if (!holds) karst_ilu_report_row(statistics, i, KARST_FAULT_OUT_OF_RANGE);
}

karst_status factor(karst_context *context, const karst_matrix *A, double shift, double modified, karst_dilu *dilu,
                    karst_factor_outcome *outcome)
{
  const karst_dilu_cuda *plan = karst_dilu_cuda_of(dilu);
  const karst_dilu_matrix matrix = {A->device_row_start, A->value, dilu->inverse, shift, modified};
  *outcome = {KARST_SOUND, -1, 0};
  if (dilu->analysis->rows == 0) return KARST_SUCCESS;
  if (plan->tiles) return context->backend->ilu->factor(context, A, shift, modified, plan->tiles, outcome);
  karst_status status = karst_ilu_start_statistics_cuda(context, A, shift, plan->statistics);
  if (status) return status;
  const karst_index rows = dilu->analysis->rows, *start = A->device_row_start, *column = A->device_column;
  const bool large = plan->block_size > KARST_BLOCK_SIZE_LARGEST_INSTANCE;
  cudaStream_t stream = karst_cuda_of(context)->stream;
  enum { THREADS = KARST_CUDA_THREADS };
  if (plan->modified) {
    const unsigned grid = karst_cuda_grid(karst_block_offset(plan->block_size, rows), THREADS);
    sum_rows<<<grid, THREADS, 0, stream>>>(rows, plan->block_size, start, column, A->value, plan->sum);
  }
  if (large || !plan->symmetric)
    check_rows<<<karst_cuda_grid((int64_t)rows * 32, THREADS), THREADS, 0, stream>>>(
        rows, plan->block_size, start, column, A->value, plan->statistics);
  (large ? karst_dilu_factor_large_cuda : karst_dilu_factor_cuda)(context, plan, &matrix);
  if (dilu->analysis->single)
    round_rows<<<karst_cuda_grid((int64_t)rows * 32, THREADS), THREADS, 0, stream>>>(
        plan->lower, plan->block_size, large, start, column, A->value, dilu->inverse, dilu->value_float,
        dilu->inverse_float, plan->statistics);
  return karst_ilu_report_cuda(context, plan->statistics, outcome);
}

void solve(karst_context *context, const karst_matrix *A, const karst_dilu *dilu, const double *r, double *z)
{
  const karst_dilu_cuda *plan = karst_dilu_cuda_of(dilu);
  if (dilu->analysis->rows == 0) return;
  if (plan->tiles) {
    context->backend->ilu->solve(context, plan->tiles, r, z);
    return;
  }
  const bool large = plan->block_size > KARST_BLOCK_SIZE_LARGEST_INSTANCE;
  const karst_dilu_values doubles = {false, A->value, dilu->inverse};
  const karst_dilu_values floats = {true, dilu->value_float, dilu->inverse_float};
  (large ? karst_dilu_sweep_large_cuda : karst_dilu_sweep_cuda)(context, plan,
                                                                dilu->analysis->single ? floats : doubles, r, z);
}

} // namespace

extern "C" {
extern const struct karst_dilu_kernels karst_dilu_kernels_cuda;
const struct karst_dilu_kernels karst_dilu_kernels_cuda = {karst_cuda_entry<karst_dilu_analyse_cuda>::call,
                                                           karst_cuda_entry<karst_dilu_analysis_destroy_cuda>::call,
                                                           karst_cuda_entry<karst_dilu_plan_cuda>::call,
                                                           karst_cuda_entry<karst_dilu_plan_destroy_cuda>::call,
                                                           karst_cuda_entry<factor>::call,
                                                           karst_cuda_entry<solve>::call};
}
