/* bench_cuda.h - what bench needs of a GPU besides Karst: a clock, the copy bandwidth, memory, and cuSPARSE's product
 * with a matrix and its solver for tridiagonal systems. The functions are in bench_cuda.cu, bench_cusparse.cu and
 * bench_strided.cu, or in cuda_none.c and bench_cusparse_none.c in builds without CUDA or cuSPARSE. C and C++ can include this header. */
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

/* Memory of the device; NULL if there is not enough. NULL may be released. */
void *bench_gpu_allocate(bench_gpu *gpu, size_t bytes);
void bench_gpu_release(bench_gpu *gpu, void *memory);
/* Queue a copy from host memory, and of numbers that are none; false on failure. */
bool bench_gpu_upload(bench_gpu *gpu, void *to, const void *from, size_t bytes);
bool bench_gpu_poison(bench_gpu *gpu, void *to, size_t bytes);
/* Copies to host memory, and waits. */
bool bench_gpu_download(bench_gpu *gpu, void *to, const void *from, size_t bytes);

typedef struct bench_strided bench_strided;

/* Opens cusparseDgtsv2StridedBatch for scalar systems in double, one behind the other. arrays is in device memory: the
 * lower, main and upper diagonals and the right-hand sides of all, each of systems times rows numbers. It stays the
 * caller's. Without cuSPARSE, or if that fails, it prints a note on standard error and returns NULL. */
bench_strided *bench_strided_open(const karst_context *context, bench_gpu *gpu, int64_t systems, int64_t rows,
                                  const void *arrays);
void bench_strided_close(bench_strided *strided);
/* Queue: a solve, which overwrites its copy of the right-hand sides; and a new copy of these. False on failure. */
bool bench_strided_solve(bench_strided *strided);
bool bench_strided_restore(bench_strided *strided);
/* The solutions, in device memory. */
const void *bench_strided_solution(const bench_strided *strided);

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
