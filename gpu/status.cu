/* status.cu - the statuses and sentences for errors of the CUDA runtime. */
#include "gpu/cuda.h"

karst_status karst_cuda_status(karst_context *context, cudaError_t error, const char *what)
{
  if (error == cudaSuccess) return KARST_SUCCESS;
  cudaGetLastError(); /* an error that is not fatal must not be reported again */
  if (error == cudaErrorMemoryAllocation)
    return karst_fail(context, KARST_ERROR_NO_MEMORY, "out of device memory: %s", what);
  return karst_fail(context, KARST_ERROR_DEVICE, "the GPU failed: %s: %s", what, cudaGetErrorString(error));
}

karst_status karst_cuda_no_memory(karst_context *context, cudaError_t error, size_t bytes, const char *what)
{
  size_t unused, total;
  cudaGetLastError();
  karst_status status = karst_cuda_status(context, cudaMemGetInfo(&unused, &total), "asking for its memory");
  if (status) return status;
  if (error != cudaErrorMemoryAllocation && bytes <= unused) return karst_cuda_status(context, error, what);
  return karst_fail(context, KARST_ERROR_NO_MEMORY, "out of device memory: %s needs %zu bytes, of %zu %zu are free",
                    what, bytes, total, unused);
}
