/* work.cu - device memory: arrays that last, and work space from a pool of the context. An analysis takes and returns
 * dozens of arrays, and cudaMalloc and cudaFree take 50 microseconds and more for each. The pool keeps returned memory
 * until the end of the call. */
#include "gpu/cuda.h"

#include <stdint.h>

/* The first memory that a process takes from a pool costs 10 ms. It is taken here, so that no set-up includes them. */
static void take_first(const struct karst_cuda *cuda)
{
  void *memory;
  if (cudaMallocFromPoolAsync(&memory, 1, cuda->pool, cuda->stream) != cudaSuccess) return;
  cudaFreeAsync(memory, cuda->stream);
  cudaStreamSynchronize(cuda->stream);
  cudaMemPoolTrimTo(cuda->pool, 0);
}

void karst_cuda_work_open(struct karst_cuda *cuda)
{
  int supported = 0;
  uint64_t kept = UINT64_MAX;
  cudaMemPoolProps properties = {};
  properties.allocType = cudaMemAllocationTypePinned;
  properties.location.type = cudaMemLocationTypeDevice;
  properties.location.id = cuda->device;
  cudaDeviceGetAttribute(&supported, cudaDevAttrMemoryPoolsSupported, cuda->device);
  if (supported && cudaMemPoolCreate(&cuda->pool, &properties) != cudaSuccess) cuda->pool = NULL;
  if (cuda->pool) {
    cudaMemPoolSetAttribute(cuda->pool, cudaMemPoolAttrReleaseThreshold, &kept);
    take_first(cuda);
  }
  cudaGetLastError();
}

void karst_cuda_work_close(struct karst_cuda *cuda)
{
  if (cuda->pool) cudaMemPoolDestroy(cuda->pool);
}

karst_status karst_allocate_cuda(karst_context *context, size_t bytes, const char *what, void **memory)
{
  cudaError_t error = cudaMalloc(memory, bytes);
  if (error == cudaErrorMemoryAllocation && karst_cuda_of(context)->pool) {
    cudaGetLastError();
    karst_cuda_work_end(context); /* may hold the missing memory */
    error = cudaMalloc(memory, bytes);
  }
  if (error == cudaSuccess) return KARST_SUCCESS;
  *memory = NULL;
  return karst_cuda_no_memory(context, error, bytes, what);
}

void karst_release_cuda(karst_context *context, void *memory)
{
  (void)context;
  cudaFree(memory);
}

karst_status karst_cuda_work_take(karst_context *context, size_t bytes, const char *what, void **memory)
{
  const struct karst_cuda *cuda = karst_cuda_of(context);
  if (!cuda->pool) return karst_allocate_cuda(context, bytes, what, memory);
  cudaError_t error = cudaMallocFromPoolAsync(memory, bytes, cuda->pool, cuda->stream);
  if (error == cudaErrorMemoryAllocation) { /* pieces that are kept may do as a whole */
    cudaGetLastError();
    karst_cuda_work_end(context);
    error = cudaMallocFromPoolAsync(memory, bytes, cuda->pool, cuda->stream);
  }
  if (error == cudaSuccess) return KARST_SUCCESS;
  *memory = NULL;
  return karst_cuda_no_memory(context, error, bytes, what);
}

void karst_cuda_work_release(karst_context *context, void *memory)
{
  const struct karst_cuda *cuda = karst_cuda_of(context);
  if (!cuda->pool)
    karst_release_cuda(context, memory);
  else if (memory)
    cudaFreeAsync(memory, cuda->stream);
}

void karst_cuda_work_end(karst_context *context)
{
  const struct karst_cuda *cuda = karst_cuda_of(context);
  if (!cuda->pool) return;
  cudaStreamSynchronize(cuda->stream);
  cudaMemPoolTrimTo(cuda->pool, 0);
}
