/* bench_cuda.h - what bench needs of a GPU besides Karst: a clock, the copy bandwidth, and cuSPARSE's product with a
 * matrix. C and C++. In bench_cuda.cu and bench_cusparse.cu; bench_cuda_none.c and
 * bench_cusparse_none.c stand in where these are missing. */
#ifndef KARST_TOOLS_BENCH_CUDA_H
#define KARST_TOOLS_BENCH_CUDA_H

#ifdef __cplusplus
extern "C" {
#endif

#include "common.h"

typedef struct bench_gpu bench_gpu;

/* The GPU that context is on. TOOL_GO_ON, or the exit status after a reported error. */
int bench_gpu_open(karst_context *context, bench_gpu **gpu);
void bench_gpu_close(bench_gpu *gpu);
/* Bytes of the second-level cache. */
double bench_gpu_cache(const bench_gpu *gpu);
/* Bytes per second, read and written, of a copy from device memory to device memory (cudaMemcpyAsync, arrays of 512
 * MiB), the best of a few; 0: no memory for it. */
double bench_gpu_copy(bench_gpu *gpu);
/* A mark in the context's stream, another one, and the seconds between them. */
void bench_gpu_start(bench_gpu *gpu);
double bench_gpu_stop(bench_gpu *gpu);

typedef struct bench_product bench_product;

/* cuSPARSE's product with A, queued in the stream of context: SpMV by the faster of its two algorithms for b = 1, bsrmv
 * for larger blocks. NULL, and a note on standard error, where it cannot be had. */
bench_product *bench_product_open(const karst_context *context, const karst_matrix *A, bench_gpu *gpu);
void bench_product_close(bench_product *product);
/* Such as "cuSPARSE 12.6.3". */
const char *bench_product_name(const bench_product *product);
/* y = A x. False: it failed. */
bool bench_product_multiply(bench_product *product, karst_vector *x, karst_vector *y);

#ifdef __cplusplus
}
#endif
#endif
