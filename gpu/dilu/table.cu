/* table.cu - the CUDA instance of the DILU kernels. */
#include "gpu/dilu/dilu_cuda.h"
#include "gpu/ilu/pivot_repair.h"

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
  if (plan->block_size > KARST_BLOCK_SIZE_LARGEST_INSTANCE)
    karst_dilu_sweep_large_cuda(context, plan, A->value, dilu->inverse, r, z);
  else
    karst_dilu_sweep_cuda(context, plan, A->value, dilu->inverse, r, z);
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
