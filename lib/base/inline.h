/* inline.h - functions that are always inlined, for the CPU and for the GPU's kernels, and functions that are rarely
 * called, which the CPU has once in a file. */
#ifndef KARST_LIB_BASE_INLINE_H
#define KARST_LIB_BASE_INLINE_H

#ifdef __CUDACC__
#define KARST_INLINE static __host__ __device__ __forceinline__
#define KARST_RARE static __host__ __device__ __forceinline__
#else
#define KARST_INLINE static inline __attribute__((always_inline))
#define KARST_RARE static __attribute__((noinline, cold, unused))
#endif

#endif
