/* ilu.cu - the CUDA instance of the ILU kernels: its table, and what the kernels' launches share. */
#include "ilu.h"
#include "dense.h"

/* As many blocks as are resident together, up to most for each multiprocessor: warps that wait take part of the second
 * level cache's time, and more than needed to have the next rows at hand slow the others down. */
static karst_status resident(karst_context *context, const void *kernel, size_t shared, int most, int *grid)
{
  int each = 0;
  cudaError_t error = cudaOccupancyMaxActiveBlocksPerMultiprocessor(&each, kernel, KARST_ILU_THREADS, shared);
  if (each > most) each = most;
  *grid = (each > 0 ? each : 1) * karst_cuda_of(context)->multiprocessors;
  return karst_cuda_status(context, error, "the launch of block ILU");
}

karst_status karst_ilu_resident_cuda(karst_context *context, karst_ilu_cuda *plan)
{
  int b = plan->block_size;
  bool small = b <= KARST_BLOCK_SIZE_LARGEST_INSTANCE;
  const void *factor = small ? karst_ilu_factor_small_kernel_cuda(b) : karst_ilu_factor_large_kernel_cuda();
  int most = b <= 2 ? 3 : 4;
  size_t shared = small ? 0 : karst_ilu_factor_large_shared_cuda(b);
  karst_status status = resident(context, factor, shared, 8, &plan->factor_grid);
  if (!status) status = resident(context, karst_ilu_sweep_kernel_cuda(b, false), 0, most, &plan->lower_grid);
  if (!status) status = resident(context, karst_ilu_sweep_kernel_cuda(b, true), 0, most, &plan->upper_grid);
  return status;
}

static void report(const karst_ilu_finding *finding, karst_factor_outcome *outcome)
{
  outcome->reason = KARST_SOUND;
  outcome->block_row = -1;
  outcome->shifted = (int64_t)finding->shifted;
  if (finding->first == ~0ull) return;
  outcome->reason = finding->first % 4 == KARST_FAULT_SINGULAR ? KARST_SINGULAR_BLOCK : KARST_NOT_FINITE;
  outcome->block_row = (karst_index)(finding->first / 4);
}

static karst_status factor(karst_context *context, const karst_matrix *A, double shift, karst_ilu *ilu,
                           karst_factor_outcome *outcome)
{
  const karst_ilu_cuda *plan = karst_ilu_cuda_of(ilu);
  karst_ilu_finding found = {~0ull, 0};
  karst_status status = KARST_SUCCESS;
  if (ilu->rows > 0) {
    status = context->backend->upload(context, plan->finding, &found, sizeof found);
    if (status) return status;
    if (ilu->block_size <= KARST_BLOCK_SIZE_LARGEST_INSTANCE)
      karst_ilu_factor_small_cuda(context, A, shift, plan);
    else
      karst_ilu_factor_large_cuda(context, A, shift, plan);
    status = context->backend->download(context, &found, plan->finding, sizeof found);
  }
  report(&found, outcome);
  return status;
}

static void solve(karst_context *context, const karst_ilu *ilu, const double *r, double *z)
{
  const karst_ilu_cuda *plan = karst_ilu_cuda_of(ilu);
  if (ilu->rows == 0) return;
  if (plan->by_levels)
    karst_ilu_solve_level_cuda(context, plan, r, z);
  else
    karst_ilu_solve_dataflow_cuda(context, plan, r, z);
}

extern "C" {
extern const struct karst_ilu_kernels karst_ilu_kernels_cuda;
const struct karst_ilu_kernels karst_ilu_kernels_cuda = {karst_ilu_plan_cuda, karst_ilu_plan_destroy_cuda, factor,
                                                         solve};
}
