/* marks.cu - timestamps in the stream of a context: CUDA events. */
#include "gpu/cuda.h"

/* Clears errors of these functions: a later launch, which checks the last error, must not report them. A broken device
 * is reported again by the next call. */
static bool succeeded(cudaError_t error)
{
  if (error != cudaSuccess) cudaGetLastError();
  return error == cudaSuccess;
}

karst_status karst_mark_create_cuda(karst_context *context, void **mark)
{
  cudaEvent_t event = NULL;
  *mark = NULL;
  const karst_status status = karst_cuda_status(context, cudaEventCreate(&event), "an event");
  if (!status) *mark = event;
  return status;
}

void karst_mark_destroy_cuda(karst_context *context, void *mark)
{
  (void)context;
  succeeded(cudaEventDestroy(static_cast<cudaEvent_t>(mark)));
}

void karst_mark_set_cuda(karst_context *context, void *mark)
{
  succeeded(cudaEventRecord(static_cast<cudaEvent_t>(mark), karst_cuda_of(context)->stream));
}

double karst_mark_seconds_cuda(karst_context *context, void *from, void *to)
{
  float milliseconds = 0;
  (void)context;
  const bool done =
      succeeded(cudaEventSynchronize(static_cast<cudaEvent_t>(to))) &&
      succeeded(cudaEventElapsedTime(&milliseconds, static_cast<cudaEvent_t>(from), static_cast<cudaEvent_t>(to)));
  return done ? 1e-3 * milliseconds : 0;
}
