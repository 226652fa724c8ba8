/* bench_strided.cu - cuSPARSE's solver for batches of scalar tridiagonal systems, cusparseDgtsv2StridedBatch, the peer
 * of karst_tridiagonal_solve. */
#include "tools/src/bench/bench_cuda.h"
#include "tools/src/peers/cusparse_library.h"

#include <cuda_runtime.h>

#include <stdio.h>
#include <stdlib.h>

struct bench_strided {
  cusparseHandle_t handle;
  bench_gpu *gpu;
  cudaStream_t stream;
  const double *lower, *diagonal, *upper, *right; /* the caller's */
  double *x;                                      /* the right-hand sides, then the solutions */
  void *buffer;
  int systems, rows;
};

static bool prepare(bench_strided *s)
{
  size_t bytes;
  const tool_cusparse_library &c = tool_cusparse_functions();
  const size_t vector = static_cast<size_t>(s->systems) * s->rows * sizeof *s->x;

  return !c.cusparseCreate(&s->handle) && !c.cusparseSetStream(s->handle, s->stream) && !cudaMalloc(&s->x, vector) &&
         !c.cusparseDgtsv2StridedBatch_bufferSizeExt(s->handle, s->rows, s->lower, s->diagonal, s->upper, s->x,
                                                     s->systems, s->rows, &bytes) &&
         !cudaMalloc(&s->buffer, bytes ? bytes : 1);
}

bench_strided *bench_strided_open(const karst_context *context, bench_gpu *gpu, int64_t systems, int64_t rows,
                                  const void *arrays)
{
  bench_strided *s = static_cast<bench_strided *>(calloc(1, sizeof *s));

  if (!s) {
    tool_fail_memory("cuSPARSE's tridiagonal systems");
    return NULL;
  }
  s->gpu = gpu;
  s->stream = static_cast<cudaStream_t>(karst_context_stream(context));
  s->systems = static_cast<int>(systems);
  s->rows = static_cast<int>(rows);
  s->lower = static_cast<const double *>(arrays);
  s->diagonal = s->lower + systems * rows;
  s->upper = s->diagonal + systems * rows;
  s->right = s->upper + systems * rows;
  const char *missing = tool_cusparse_functions().missing;
  if (!missing[0] && prepare(s)) return s;
  fprintf(stderr, "%s: note: cuSPARSE is left out: %s%s\n", tool_name(),
          missing[0] ? "" : "its solver for tridiagonal systems fails", missing);
  bench_strided_close(s);
  return NULL;
}

/* Also what a failed prepare has left. */
void bench_strided_close(bench_strided *s)
{
  if (!s) return;
  if (s->handle) tool_cusparse_functions().cusparseDestroy(s->handle);
  cudaFree(s->x);
  cudaFree(s->buffer);
  cudaGetLastError(); /* clears a reported shortage of memory */
  free(s);
}

bool bench_strided_solve(bench_strided *s)
{
  return !tool_cusparse_functions().cusparseDgtsv2StridedBatch(s->handle, s->rows, s->lower, s->diagonal, s->upper,
                                                               s->x, s->systems, s->rows, s->buffer);
}

bool bench_strided_restore(bench_strided *s)
{
  const size_t vector = static_cast<size_t>(s->systems) * s->rows * sizeof *s->x;
  return !cudaMemcpyAsync(s->x, s->right, vector, cudaMemcpyDeviceToDevice, s->stream);
}

const void *bench_strided_solution(const bench_strided *s) { return s->x; }
