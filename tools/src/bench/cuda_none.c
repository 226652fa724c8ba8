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
