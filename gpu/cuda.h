/* cuda.h - what the files of this room share: the device's state in a context, errors, launch sizes. C++ under nvcc; no
 * other room includes it. */
#ifndef KARST_GPU_CUDA_H
#define KARST_GPU_CUDA_H

#include <cuda_runtime.h>

extern "C" {
#include "kernels.h"
#include "matrix.h"
}

/* context->device of a context on a GPU. */
struct karst_cuda {
  int device;
  cudaStream_t stream; /* everything of the context runs on it, in order */
  int multiprocessors;
  double *partial;     /* work space of the reductions, device memory */
  void *staging;       /* pinned host memory through which scalars are downloaded */
};

static inline struct karst_cuda *karst_cuda_of(const karst_context *context)
{
  return (struct karst_cuda *)context->device;
}

/* The status for an error of the runtime, with a sentence that names what failed: KARST_ERROR_NO_MEMORY for a shortage
 * of memory, else KARST_ERROR_DEVICE. cudaSuccess gives KARST_SUCCESS. */
karst_status karst_cuda_status(karst_context *context, cudaError_t error, const char *what);

#endif
