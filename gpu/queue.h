/* queue.h - asynchronous loads and copies that the compiler leaves at their place in the program. */
#ifndef KARST_GPU_QUEUE_H
#define KARST_GPU_QUEUE_H

#include <stdint.h>

#ifdef __CUDACC__
static __device__ __forceinline__ uint32_t karst_shared_address(const void *p)
{
  return (uint32_t)__cvta_generic_to_shared(p);
}

/* Queues a copy of 4, 8 or 16 bytes from global to shared memory, or of zeros; both addresses are multiples of SIZE. */
template <int SIZE, typename T>
static __device__ __forceinline__ void karst_queue_copy(T *to, bool there, const T *from)
{
#if __CUDA_ARCH__ >= 800
  asm volatile("cp.async.ca.shared.global [%0], [%1], %2, %3;" ::"r"(karst_shared_address(to)), "l"(from), "n"(SIZE),
               "r"(there ? SIZE : 0)
               : "memory");
#else
  for (int k = 0; k < SIZE / (int)sizeof(T); k++) to[k] = there ? from[k] : 0;
#endif
}

/* Queues a copy of one number from global to shared memory, if it is there. */
template <typename T> static __device__ __forceinline__ void karst_queue_number(T *to, bool there, const T *from)
{
#if __CUDA_ARCH__ >= 800
  asm volatile("{ .reg .pred p; setp.ne.b32 p, %3, 0; @p cp.async.ca.shared.global [%0], [%1], %2; }" ::"r"(
                   karst_shared_address(to)),
               "l"(from), "n"(sizeof(T)), "r"((int)there)
               : "memory");
#else
  if (there) *to = *from;
#endif
}

/* Waits for this thread's queued copies; __syncwarp or __syncthreads makes those of other threads visible. */
static __device__ __forceinline__ void karst_await_copies()
{
#if __CUDA_ARCH__ >= 800
  asm volatile("cp.async.wait_all;" ::: "memory");
#endif
}

/* Loads that the compiler leaves at their place in the program; 0 if there is nothing to load. The first is for memory
 * that does not change while the kernel runs. */
static __device__ __forceinline__ double karst_load_constant(bool there, const double *from)
{
  double value;
  asm volatile("{ .reg .pred p; setp.ne.b32 p, %2, 0; mov.f64 %0, 0d0000000000000000; @p ld.global.nc.f64 %0, [%1]; }"
               : "=d"(value)
               : "l"(from), "r"((int)there));
  return value;
}

static __device__ __forceinline__ double karst_load(bool there, const double *from)
{
  double value;
  asm volatile("{ .reg .pred p; setp.ne.b32 p, %2, 0; mov.f64 %0, 0d0000000000000000; @p ld.global.f64 %0, [%1]; }"
               : "=d"(value)
               : "l"(from), "r"((int)there));
  return value;
}
#endif

#endif
