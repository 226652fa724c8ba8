/* launch.h - launches of kernels that follow one another closely, as those of a Krylov iteration do.
 *
 * Such a kernel is launched while the one before it still runs: its thread blocks move to multiprocessors as those of
 * the other leave, and wait there. That hides the microseconds between two kernels, and the time that thread blocks
 * take to start. See Programmatic Dependent Launch in the CUDA Programming Guide. */
#ifndef KARST_GPU_LAUNCH_H
#define KARST_GPU_LAUNCH_H

#include "gpu/cuda.h"

/* The first statement of each kernel that is launched early, before it accesses memory and before any return. It waits
 * until all earlier kernels of the stream have ended and their stores are visible. Only then may the next kernel start
 * early. So at most one kernel is early, and no kernel reads or overwrites data of a running one. A kernel whose thread
 * blocks wait for one another has all of them resident before the next one takes room. In a normal launch it does
 * nothing.
 *
 * The compiler may move loads through const __restrict__ pointers ahead of this call. We checked the code that CUDA
 * 13.0 generates for sm_90: it does not. */
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
  config.numAttrs = early ? 1 : 0;
  return cudaLaunchKernelExC(&config, kernel, arguments);
}

/* The same for a kernel whose parameters are known, to which the arguments are converted. */
template <typename... P>
static inline cudaError_t karst_cuda_launch_with(const struct karst_cuda *cuda, bool early, void (*kernel)(P...),
                                                 unsigned grid, unsigned threads, size_t shared,
                                                 std::common_type_t<P>... arguments)
{
  void *list[] = {const_cast<void *>(static_cast<const void *>(&arguments))...};
  return karst_cuda_launch_list(cuda, early, reinterpret_cast<const void *>(kernel), grid, threads, shared, list);
}

/* Early, on devices that can. */
template <typename... P>
static inline cudaError_t karst_cuda_launch(const struct karst_cuda *cuda, void (*kernel)(P...), unsigned grid,
                                            unsigned threads, std::common_type_t<P>... arguments)
{
  return karst_cuda_launch_with(cuda, cuda->launch_early, kernel, grid, threads, 0, arguments...);
}

/* After the kernel before has ended: for a kernel that depends on the first-level cache. A thread block that comes
 * early to a multiprocessor has only the cache that the shared memory of earlier thread blocks leaves. After a sweep by
 * tiles a matrix product took 334 us if launched early, and 195 on its own (b = 3, H200). */
template <typename... P>
static inline cudaError_t karst_cuda_launch_after(const struct karst_cuda *cuda, void (*kernel)(P...), unsigned grid,
                                                  unsigned threads, std::common_type_t<P>... arguments)
{
  return karst_cuda_launch_with(cuda, false, kernel, grid, threads, 0, arguments...);
}

#endif
