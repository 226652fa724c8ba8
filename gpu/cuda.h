/* cuda.h - what the files of this room share: the device's state in a context, errors, launch sizes. C++ under nvcc; no
 * other room includes it. */
#ifndef KARST_GPU_CUDA_H
#define KARST_GPU_CUDA_H

#include <cuda_runtime.h>

#include <type_traits>

extern "C" {
#include "dense.h"
#include "kernels.h"
#include "matrix.h"
#include "operations.h"
}

enum {
  KARST_CUDA_THREADS = 256, /* of a thread block, unless a kernel says otherwise */
  KARST_CUDA_SUMS = 528, /* thread blocks of a reduction at most: a constant, so that sums are the same on every GPU */
  KARST_CUDA_BATCH = 16, /* dot products taken at a time */
  KARST_CUDA_STAGING = 8192 /* bytes */
};

/* context->device of a context on a GPU. */
struct karst_cuda {
  int device;
  cudaStream_t stream; /* everything of the context runs on it, in order */
  int multiprocessors;
  double *partial;  /* [KARST_CUDA_BATCH * KARST_CUDA_SUMS] work space of the reductions, device memory */
  unsigned *ticket; /* device memory: thread blocks of a reduction that are done; 0 between reductions */
  void *staging;    /* [KARST_CUDA_STAGING bytes] pinned host memory through which scalars are downloaded */
  char name[96];    /* such as "NVIDIA H100 80GB HBM3, 79 GiB" */
};

/* The state of a context, its device made the calling thread's. */
static inline struct karst_cuda *karst_cuda_of(const karst_context *context)
{
  struct karst_cuda *cuda = (struct karst_cuda *)context->device;
  cudaSetDevice(cuda->device);
  return cuda;
}

/* The status for an error of the runtime, with a sentence that names what failed: KARST_ERROR_NO_MEMORY for a shortage
 * of memory, else KARST_ERROR_DEVICE. cudaSuccess gives KARST_SUCCESS. */
karst_status karst_cuda_status(karst_context *context, cudaError_t error, const char *what);

/* Thread blocks for count items, each taking per of them; at least one. */
static inline unsigned karst_cuda_grid(int64_t count, int64_t per)
{
  return count > per ? (unsigned)((count + per - 1) / per) : 1;
}

/* Calls f with the block size as a constant where b has an instance of its own, and with 0, the instance for every
 * size, where it has none: [&](auto size) { kernel<size.value><<<...>>>(b, ...); } */
template <typename F> static inline void karst_cuda_instance(int b, F f)
{
  switch (b) {
#define KARST_CUDA_CASE(B)                                                                                             \
  case B:                                                                                                              \
    return f(std::integral_constant<int, B>());
    KARST_BLOCK_SIZES(KARST_CUDA_CASE)
#undef KARST_CUDA_CASE
  default:
    return f(std::integral_constant<int, 0>());
  }
}

/* Scalar offset of block number k. */
static __device__ __forceinline__ int64_t karst_cuda_offset(int b, int64_t k) { return (int64_t)b * b * k; }

/* The block row i and the row r in it of this thread, where a thread block takes as many whole block rows as it has
 * threads for; false for threads that are left over. */
static __device__ __forceinline__ bool karst_cuda_row(int b, karst_index rows, karst_index *i, int *r)
{
  const int each = (int)blockDim.x / b, t = (int)threadIdx.x;
  const int64_t row = (int64_t)blockIdx.x * each + t / b;
  *i = (karst_index)row;
  *r = t % b;
  return t < each * b && row < rows;
}

/* Threads of a thread block for block size b where each row has a thread of its own, and the grid. */
static inline unsigned karst_cuda_row_threads(int b) { return b <= KARST_CUDA_THREADS / 4 ? KARST_CUDA_THREADS : 1024; }

static inline unsigned karst_cuda_row_grid(karst_index rows, int b)
{
  return karst_cuda_grid(rows, (int)karst_cuda_row_threads(b) / b);
}

#endif
