/* inline.h - functions that are always inlined, for the CPU and for the GPU's kernels. */
#ifndef KARST_LIB_INLINE_H
#define KARST_LIB_INLINE_H

#ifdef __CUDACC__
#define KARST_INLINE static __host__ __device__ __forceinline__
#else
#define KARST_INLINE static inline __attribute__((always_inline))
#endif

#endif
