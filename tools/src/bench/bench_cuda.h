/* bench_cuda.h - what bench needs of a GPU besides Karst: a clock, the copy bandwidth and cuSPARSE's product with a
 * matrix. The functions are in bench_cuda.cu and bench_cusparse.cu, or in cuda_none.c and bench_cusparse_none.c
 * in builds without CUDA or cuSPARSE. C and C++ can include this header. */
#ifndef KARST_TOOLS_SRC_BENCH_BENCH_CUDA_H
#define KARST_TOOLS_SRC_BENCH_BENCH_CUDA_H

#ifdef __cplusplus
extern "C" {
#endif

#include "tools/src/common/common.h"

typedef struct bench_gpu bench_gpu;

/* Opens the GPU of the context. Returns TOOL_GO_ON, or the exit status of an error that has been reported. */
int bench_gpu_open(karst_context *context, bench_gpu **gpu);
void bench_gpu_close(bench_gpu *gpu);
/* Returns the bytes of the second-level cache. */
double bench_gpu_cache(const bench_gpu *gpu);
/* Measures a copy from device memory to device memory (cudaMemcpyAsync, arrays of 512 MiB), in bytes read and written
 * per second, the best of a few; returns 0 if there is no memory for it. */
double bench_gpu_copy(bench_gpu *gpu);
/* Set the first and the second mark in the context's stream. The second returns the seconds between them. */
void bench_gpu_start(bench_gpu *gpu);
double bench_gpu_stop(bench_gpu *gpu);

typedef struct bench_product bench_product;

/* Opens cuSPARSE's product with A, which is queued in the stream of context: SpMV by the faster of its two algorithms
 * for b = 1, bsrmv for larger blocks. Without cuSPARSE it prints a note on standard error and returns NULL. */
bench_product *bench_product_open(const karst_context *context, const karst_matrix *A, bench_gpu *gpu);
void bench_product_close(bench_product *product);
/* Returns a name such as "cuSPARSE 12.6.3". */
const char *bench_product_name(const bench_product *product);
/* Computes y = A x; returns false on failure. */
bool bench_product_multiply(bench_product *product, karst_vector *x, karst_vector *y);

#ifdef __cplusplus
}
#endif
#endif
