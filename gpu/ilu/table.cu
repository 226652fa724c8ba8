/* table.cu - the CUDA instance of the ILU kernels: its table, and what all factorizations share: the size of the matrix
 * and the report. */
#include "gpu/ilu/ilu_cuda.h"

namespace
{

/* Raises statistics->norm, which starts as 0, to the largest absolute entry; NaNs are left out. It is the maximum of
 * the bits, which ascend as the numbers do if these are not negative. */
__global__ void __launch_bounds__(KARST_CUDA_THREADS)
    measure(int64_t entries, const double *value, karst_ilu_statistics_cuda *statistics)
{
  double largest = 0;
  for (int64_t v = (int64_t)blockIdx.x * blockDim.x + threadIdx.x; v < entries; v += (int64_t)gridDim.x * blockDim.x)
    largest = fmax(largest, fabs(value[v]));
  for (int distance = 16; distance > 0; distance /= 2) largest = fmax(largest, __shfl_xor_sync(~0u, largest, distance));
  if (threadIdx.x % 32 == 0)
    atomicMax((unsigned long long *)&statistics->norm, (unsigned long long)__double_as_longlong(largest));
}

/* Queues the work that has to follow new values, and reports on them. by_tiles: they are already where sweeps by tiles
 * read them. */
karst_status report_outcome(karst_context *context, const karst_ilu_cuda *plan, bool by_tiles,
                            karst_factor_outcome *outcome)
{
  if (plan->sweep->load && !by_tiles) plan->sweep->load(context, plan);
  karst_ilu_round_cuda(context, plan);
  return karst_ilu_report_cuda(context, plan->statistics, outcome);
}

/* Returns the outcome for a matrix of no rows. */
karst_status report_nothing(karst_factor_outcome *outcome)
{
  *outcome = {KARST_SOUND, -1, 0};
  return KARST_SUCCESS;
}

karst_status factor(karst_context *context, const karst_matrix *A, double shift, double modified, karst_ilu *ilu,
                    karst_factor_outcome *outcome)
{
  karst_ilu_cuda *plan = karst_ilu_cuda_of(ilu);
  if (ilu->rows == 0) return report_nothing(outcome);
  karst_status status = karst_ilu_start_statistics_cuda(context, A, shift, plan->statistics);
  if (status) return status;
  plan->modified = modified;
  plan->factor->launch(context, A, shift, plan);
  return report_outcome(context, plan, plan->factor->by_tiles, outcome);
}

karst_status load(karst_context *context, const karst_matrix *A, const double *value, karst_ilu *ilu,
                  karst_factor_outcome *outcome)
{
  const karst_ilu_cuda *plan = karst_ilu_cuda_of(ilu);
  if (ilu->rows == 0) return report_nothing(outcome);
  const karst_status status = karst_ilu_start_statistics_cuda(context, A, 0, plan->statistics);
  if (status) return status;
  karst_ilu_load_cuda(context, A->value, value, plan);
  return report_outcome(context, plan, false, outcome);
}

void solve(karst_context *context, const karst_ilu *ilu, const double *r, double *z)
{
  const karst_ilu_cuda *plan = karst_ilu_cuda_of(ilu);
  if (ilu->rows > 0) plan->sweep->solve(context, plan, r, z);
}

} // namespace

karst_status karst_ilu_start_statistics_cuda(karst_context *context, const karst_matrix *A, double shift,
                                             karst_ilu_statistics_cuda *statistics)
{
  const struct karst_cuda *cuda = karst_cuda_of(context);
  const karst_ilu_statistics_cuda nothing = {~0ull, 0, 0};
  karst_status status = context->backend->upload(context, statistics, &nothing, sizeof nothing);
  if (!status && shift > 0)
    measure<<<(unsigned)(4 * cuda->multiprocessors), KARST_CUDA_THREADS, 0, cuda->stream>>>(karst_entries(A), A->value,
                                                                                            statistics);
  return status;
}

karst_status karst_ilu_report_cuda(karst_context *context, const karst_ilu_statistics_cuda *statistics,
                                   karst_factor_outcome *outcome)
{
  karst_ilu_statistics_cuda found = {~0ull, 0, 0};
  karst_status status = context->backend->download(context, &found, statistics, sizeof found);
  *outcome = {KARST_SOUND, -1, (int64_t)found.shifted};
  if (found.first == ~0ull) return status;
  switch (static_cast<karst_ilu_fault>(found.first % 4)) {
  case KARST_FAULT_SINGULAR:
    outcome->reason = KARST_SINGULAR_BLOCK;
    break;
  case KARST_FAULT_OUT_OF_RANGE:
    outcome->reason = KARST_OUT_OF_RANGE;
    break;
  default:
    outcome->reason = KARST_NOT_FINITE;
  }
  outcome->block_row = (karst_index)(found.first / 4);
  return status;
}

extern "C" {
extern const struct karst_ilu_kernels karst_ilu_kernels_cuda;
const struct karst_ilu_kernels karst_ilu_kernels_cuda = {true,
                                                         karst_cuda_entry<karst_ilu_analyse_cuda>::call,
                                                         karst_cuda_entry<karst_ilu_analysis_destroy_cuda>::call,
                                                         karst_cuda_entry<karst_ilu_plan_cuda>::call,
                                                         karst_cuda_entry<karst_ilu_plan_destroy_cuda>::call,
                                                         karst_cuda_entry<factor>::call,
                                                         karst_cuda_entry<load>::call,
                                                         karst_cuda_entry<solve>::call};
}
