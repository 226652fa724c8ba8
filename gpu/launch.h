/* launch.h - launches of kernels that follow one another closely, as those of a Krylov iteration do.
 *
 * Such a kernel is launched while the one before it still runs: its blocks of threads come to the multiprocessors as
 * those of the other leave them, and wait there. So the microseconds between the last block of one kernel and the first
 * of the next, and those that the blocks take to start, are not lost. See Programmatic Dependent Launch in the CUDA
 * Programming Guide. */
#ifndef KARST_GPU_LAUNCH_H
#define KARST_GPU_LAUNCH_H

#include "gpu/cuda.h"

/* The first statement of each kernel that is launched so, before it touches any memory and before any return. It waits
 * until all earlier kernels of the stream have ended and what they have written is seen, and only then lets the next
 * one come: at most one is there early, nothing is read before it is made nor overwritten while it is still read, and
 * a kernel whose blocks wait for one another has all of them under way before the next one takes any room. Without a
 * launch of this kind it does nothing.
 *
 * Loads through const pointers that are __restrict__ a compiler may believe to be free to go ahead of it. In what
 * CUDA 13.0 makes of these kernels for compute capability 9.0 none does. */
static __device__ __forceinline__ void karst_cuda_begin()
{
#if __CUDA_ARCH__ >= 900
  cudaGridDependencySynchronize();
  cudaTriggerProgrammaticLaunchCompletion();
#endif
}

/* Launches a kernel that begins with karst_cuda_begin, early or not. arguments: a pointer to each, as for
 * cudaLaunchKernel. An error is found by the next download too. */
static inline cudaError_t karst_cuda_launch_list(const struct karst_cuda *cuda, bool early, const void *kernel,
                                                 unsigned grid, unsigned threads, size_t shared, void **arguments)
{
  cudaLaunchAttribute attribute = {};
  attribute.id = cudaLaunchAttributeProgrammaticStreamSerialization;
  attribute.val.programmaticStreamSerializationAllowed = 1;
  cudaLaunchConfig_t config = {};
  config.gridDim = dim3(grid);
  config.blockDim = dim3(threads);
  config.dynamicSmemBytes = shared;
  config.stream = cuda->stream;
  config.attrs = &attribute;
  config.numAttrs = early && cuda->launch_early ? 1 : 0;
  return cudaLaunchKernelExC(&config, kernel, arguments);
}

/* The same for a kernel whose parameters are known, to which the arguments are converted. */
template <typename... P>
static inline cudaError_t karst_cuda_launch_with(const struct karst_cuda *cuda, bool early, void (*kernel)(P...),
                                                 unsigned grid, unsigned threads, std::common_type_t<P>... arguments)
{
  void *list[] = {const_cast<void *>(static_cast<const void *>(&arguments))...};
  return karst_cuda_launch_list(cuda, early, reinterpret_cast<const void *>(kernel), grid, threads, 0, list);
}

/* Early. */
template <typename... P>
static inline cudaError_t karst_cuda_launch(const struct karst_cuda *cuda, void (*kernel)(P...), unsigned grid,
                                            unsigned threads, std::common_type_t<P>... arguments)
{
  return karst_cuda_launch_with(cuda, true, kernel, grid, threads, arguments...);
}

/* When the kernel before has ended: for one that lives on the first-level cache. Blocks of threads that come early to a
 * multiprocessor have of it what the shared memory of those before them leaves. After a sweep by tiles a matrix product
 * took 334 us so and takes 195 on its own (b = 3, H200). */
template <typename... P>
static inline cudaError_t karst_cuda_launch_after(const struct karst_cuda *cuda, void (*kernel)(P...), unsigned grid,
                                                  unsigned threads, std::common_type_t<P>... arguments)
{
  return karst_cuda_launch_with(cuda, false, kernel, grid, threads, arguments...);
}

#endif
