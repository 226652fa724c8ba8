/* table.cu - the CUDA instance of the ILU kernels: its table, and what all ways to factor share, which is the size of
 * the matrix and the report. */
#include "ilu.h"

namespace
{

/* Raises finding->norm, which starts as 0, to the largest absolute entry; NaNs are left out. The maximum is taken of
 * the bits, which for numbers that are not negative ascend as the numbers do. */
__global__ void __launch_bounds__(KARST_CUDA_THREADS)
    measure(int64_t entries, const double *value, karst_ilu_finding_cuda *finding)
{
  double largest = 0;
  for (int64_t v = (int64_t)blockIdx.x * blockDim.x + threadIdx.x; v < entries; v += (int64_t)gridDim.x * blockDim.x)
    largest = fmax(largest, fabs(value[v]));
  for (int distance = 16; distance > 0; distance /= 2) largest = fmax(largest, __shfl_xor_sync(~0u, largest, distance));
  if (threadIdx.x % 32 == 0)
    atomicMax((unsigned long long *)&finding->norm, (unsigned long long)__double_as_longlong(largest));
}

void report(const karst_ilu_finding_cuda *finding, karst_factor_outcome *outcome)
{
  outcome->reason = KARST_SOUND;
  outcome->block_row = -1;
  outcome->shifted = (int64_t)finding->shifted;
  if (finding->first == ~0ull) return;
  outcome->reason = finding->first % 4 == KARST_FAULT_SINGULAR ? KARST_SINGULAR_BLOCK : KARST_NOT_FINITE;
  outcome->block_row = (karst_index)(finding->first / 4);
}

karst_status factor(karst_context *context, const karst_matrix *A, double shift, double modified, karst_ilu *ilu,
                    karst_factor_outcome *outcome)
{
  (void)modified;
  const karst_ilu_cuda *plan = karst_ilu_cuda_of(ilu);
  karst_ilu_finding_cuda found = {~0ull, 0, 0};
  karst_status status = KARST_SUCCESS;
  if (ilu->rows > 0) {
    status = context->backend->upload(context, plan->finding, &found, sizeof found);
    if (status) return status;
    if (shift > 0) {
      const struct karst_cuda *cuda = karst_cuda_of(context);
      measure<<<(unsigned)(4 * cuda->multiprocessors), KARST_CUDA_THREADS, 0, cuda->stream>>>(karst_entries(A),
                                                                                              A->value, plan->finding);
    }
    plan->factor->launch(context, A, shift, plan);
    status = context->backend->download(context, &found, plan->finding, sizeof found);
  }
  report(&found, outcome);
  return status;
}

karst_status load(karst_context *context, const karst_matrix *A, const double *value, karst_ilu *ilu,
                  karst_factor_outcome *outcome)
{
  const karst_ilu_cuda *plan = karst_ilu_cuda_of(ilu);
  karst_ilu_finding_cuda found = {~0ull, 0, 0};
  karst_status status = KARST_SUCCESS;
  (void)A; /* the plan knows its pattern */
  if (ilu->rows > 0) {
    status = context->backend->upload(context, plan->finding, &found, sizeof found);
    if (status) return status;
    karst_ilu_load_cuda(context, value, plan);
    status = context->backend->download(context, &found, plan->finding, sizeof found);
  }
  report(&found, outcome);
  return status;
}

void solve(karst_context *context, const karst_ilu *ilu, const double *r, double *z)
{
  const karst_ilu_cuda *plan = karst_ilu_cuda_of(ilu);
  if (ilu->rows > 0) plan->sweep->solve(context, plan, r, z);
}

} // namespace

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
