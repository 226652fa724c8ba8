/* bench_cuda_none.c - stands in for bench_cuda.cu and bench_cusparse.cu in a build without CUDA. The library has
 * refused the device by then, so that none of it is called with success. */
#include "bench_cuda.h"

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

bench_product *bench_product_open(const karst_context *context, const karst_matrix *A, bench_gpu *gpu)
{
  (void)context;
  (void)A;
  (void)gpu;
  return NULL;
}

void bench_product_close(bench_product *product) { (void)product; }

const char *bench_product_name(const bench_product *product) { return product ? "cuSPARSE" : NULL; }

bool bench_product_multiply(bench_product *product, karst_vector *x, karst_vector *y)
{
  (void)x;
  (void)y;
  return product != NULL;
}
