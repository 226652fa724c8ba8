/* resident.cu - launches kernels of warps that wait for each other, and chooses the number of their thread blocks.
 *
 * Tasks of more than a few levels at a time would only slow the others down, because waiting warps keep the
 * second-level cache busy. The number of levels was measured on an H100. It is smaller if a task is a whole row: its
 * other work hides more of the wait for its first value. */
#include "gpu/ilu/ilu_cuda.h"

karst_status karst_ilu_resident_cuda(karst_context *context, const void *kernel, size_t shared,
                                     enum karst_ilu_held held, int64_t tasks, int64_t levels, int *grid)
{
  enum { WARPS = KARST_ILU_THREADS / 32 };
  int each = 0;
  cudaError_t error = cudaOccupancyMaxActiveBlocksPerMultiprocessor(&each, kernel, KARST_ILU_THREADS, shared);
  const int64_t processors = karst_cuda_of(context)->multiprocessors, most = (each > 0 ? each : 1) * processors;
  int64_t useful = held * tasks / levels / WARPS;
  if (useful < processors) useful = processors;
  *grid = (int)(useful < most ? useful : most);
  return karst_cuda_status(context, error, "the launch of block ILU");
}

void karst_ilu_launch_cuda(karst_context *context, const void *kernel, const karst_matrix *A, double shift,
                           const karst_ilu_cuda *plan)
{
  cudaStream_t stream = karst_cuda_of(context)->stream;
  karst_triangle lower = plan->lower, upper = plan->upper;
  karst_ilu_statistics_cuda *statistics = plan->statistics;
  const double *value = A->value;
  void *arguments[] = {&lower, &upper, &value, &shift, &statistics};
  cudaMemsetAsync(upper.value, 0xff, (size_t)karst_block_offset(plan->block_size, upper.blocks) * sizeof(double),
                  stream);
  cudaLaunchCooperativeKernel(kernel, dim3((unsigned)plan->factor_grid), dim3(KARST_ILU_THREADS), arguments, 0, stream);
}
