/* cuda_none.c - replaces bench_cuda.cu in a build without CUDA. The library refuses the device first, so
 * that these functions are never used on a GPU. */
#include "tools/src/bench/bench_cuda.h"

#include <stddef.h>

int bench_gpu_open(karst_context *context, bench_gpu **gpu)
{
  (void)context;
  *gpu = NULL;
  return tool_fail(TOOL_NO_DEVICE, "this bench was built without CUDA");
}

void bench_gpu_close(bench_gpu *gpu) { (void)gpu; }

double bench_gpu_cache(const bench_gpu *gpu) { return gpu ? 1 : 0; }

double bench_gpu_copy(bench_gpu *gpu) { return bench_gpu_cache(gpu); }

void bench_gpu_start(bench_gpu *gpu) { (void)gpu; }

double bench_gpu_stop(bench_gpu *gpu) { return bench_gpu_cache(gpu); }

void *bench_gpu_allocate(bench_gpu *gpu, size_t bytes)
{
  (void)gpu;
  (void)bytes;
  return NULL;
}

void bench_gpu_release(bench_gpu *gpu, void *memory)
{
  (void)gpu;
  (void)memory;
}

bool bench_gpu_upload(bench_gpu *gpu, void *to, const void *from, size_t bytes)
{
  (void)to;
  (void)from;
  (void)bytes;
  return gpu != NULL;
}

bool bench_gpu_poison(bench_gpu *gpu, void *to, size_t bytes) { return bench_gpu_upload(gpu, to, NULL, bytes); }

bool bench_gpu_download(bench_gpu *gpu, void *to, const void *from, size_t bytes)
{
  return bench_gpu_upload(gpu, to, from, bytes);
}
