/* bench_cuda.cu - measures times by the GPU's clock, and its copy bandwidth, and keeps memory there. */
#include "tools/src/bench/bench_cuda.h"

#include <cuda_runtime.h>

#include <stdlib.h>

struct bench_gpu {
  cudaStream_t stream; /* of the context, which owns it */
  cudaEvent_t begin, end;
  int cache; /* bytes */
};

int bench_gpu_open(karst_context *context, bench_gpu **gpu)
{
  int device;

  *gpu = static_cast<bench_gpu *>(calloc(1, sizeof **gpu));
  if (!*gpu) return tool_fail_memory("the GPU's clock");
  (*gpu)->stream = static_cast<cudaStream_t>(karst_context_stream(context));
  cudaError_t error = cudaGetDevice(&device);
  if (!error) error = cudaDeviceGetAttribute(&(*gpu)->cache, cudaDevAttrL2CacheSize, device);
  if (!error) error = cudaEventCreate(&(*gpu)->begin);
  if (!error) error = cudaEventCreate(&(*gpu)->end);
  return error ? tool_fail(TOOL_NO_DEVICE, "the GPU's clock: %s", cudaGetErrorString(error)) : TOOL_GO_ON;
}

/* Closes a GPU, also one that bench_gpu_open left incomplete. */
void bench_gpu_close(bench_gpu *gpu)
{
  if (!gpu) return;
  if (gpu->begin) cudaEventDestroy(gpu->begin);
  if (gpu->end) cudaEventDestroy(gpu->end);
  free(gpu);
}

double bench_gpu_cache(const bench_gpu *gpu) { return gpu->cache; }

void bench_gpu_start(bench_gpu *gpu) { cudaEventRecord(gpu->begin, gpu->stream); }

double bench_gpu_stop(bench_gpu *gpu)
{
  float milliseconds = 0;

  cudaEventRecord(gpu->end, gpu->stream);
  cudaEventSynchronize(gpu->end);
  cudaEventElapsedTime(&milliseconds, gpu->begin, gpu->end);
  return 1e-3 * milliseconds;
}

double bench_gpu_copy(bench_gpu *gpu)
{
  enum { PASSES = 10 };
  const size_t bytes = (size_t)512 << 20;
  void *from = NULL, *to = NULL;
  double best = 0;

  cudaError_t error = cudaMalloc(&from, bytes);
  if (!error) error = cudaMalloc(&to, bytes);
  if (!error) error = cudaMemsetAsync(from, 0x35, bytes, gpu->stream);
  for (int pass = 0; pass < PASSES && !error; pass++) {
    bench_gpu_start(gpu);
    error = cudaMemcpyAsync(to, from, bytes, cudaMemcpyDeviceToDevice, gpu->stream);
    const double rate = 2 * (double)bytes / bench_gpu_stop(gpu);
    if (!error && rate > best) best = rate;
  }
  cudaFree(from);
  cudaFree(to);
  cudaGetLastError(); /* clears a reported shortage of memory */
  return best;
}

void *bench_gpu_allocate(bench_gpu *, size_t bytes)
{
  void *memory = NULL;

  if (!cudaMalloc(&memory, bytes)) return memory;
  cudaGetLastError(); /* clears a reported shortage of memory */
  return NULL;
}

void bench_gpu_release(bench_gpu *, void *memory) { cudaFree(memory); }

bool bench_gpu_upload(bench_gpu *gpu, void *to, const void *from, size_t bytes)
{
  return !cudaMemcpyAsync(to, from, bytes, cudaMemcpyHostToDevice, gpu->stream);
}

bool bench_gpu_poison(bench_gpu *gpu, void *to, size_t bytes) { return !cudaMemsetAsync(to, 0xff, bytes, gpu->stream); }

bool bench_gpu_download(bench_gpu *gpu, void *to, const void *from, size_t bytes)
{
  return !cudaMemcpyAsync(to, from, bytes, cudaMemcpyDeviceToHost, gpu->stream) && !cudaStreamSynchronize(gpu->stream);
}
