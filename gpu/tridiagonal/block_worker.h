/* block_worker.h - who computes with the blocks of a row. The algorithms of this folder are templates of a worker, of
 * which there are three:
 *
 *     lane_worker    one lane holds whole blocks in registers: m = 1 to 3
 *     team_worker    m + 1 lanes of a warp hold a column each, the last lane the right-hand side: m = 4 to 8
 *     group_worker   a thread block works on blocks in memory: any m
 *
 * A worker holds matrices of three kinds, and all its threads call each function:
 *
 *     matrix      m by m
 *     augmented   m by m + 1: a matrix and a vector, as [W | F]
 *     whole       a matrix that every thread can read at once: the left factor of a product
 *
 *     take(x)                        prepares x once, before anything else
 *     read(x, rows, g), write        matrices of block row g
 *     read(x, rows, vectors, g)      the augmented one; a team whose item is not there gets the identity
 *     read_vector, write_vector      its vector
 *     expect(rows, g)                asks the cache for a block that is read later
 *     zero, identity(x, value)       the matrix part; a vector becomes zero
 *     subtract(z, a, x)              z -= a x
 *     add_size(size, x)              size += |x|, without the vector
 *     solve(d, size, c, p, x)        x = B^-1 [c | y] and p = B^-1 p for d = [B | y], and says how it went
 *     keep(live, x, y)               x = y if live
 *
 * RESIDENT is the number of thread blocks of a multiprocessor that the compiler leaves registers for. Without it the
 * compiler aims at more of them, and loads in each step what has no register.
 *
 * A block is judged as lib/backend/tridiagonal_block.h says. Lanes and teams first eliminate without a second attempt,
 * and invert again what that refuses. */
#ifndef KARST_GPU_BLOCK_WORKER_H
#define KARST_GPU_BLOCK_WORKER_H

#include "gpu/cuda.h"

extern "C" {
#include "lib/backend/tridiagonal_block.h"
}

#include <float.h>

/* Element e of block row g is at[e * element + g * row]. NULL: there is no such array. */
template <typename T> struct karst_tri_rows {
  T *at;
  int64_t element, row;
};

template <typename T> struct karst_tri_limits;
template <> struct karst_tri_limits<double> {
  static constexpr double EPSILON = DBL_EPSILON, LARGEST = DBL_MAX;
};
template <> struct karst_tri_limits<float> {
  static constexpr float EPSILON = FLT_EPSILON, LARGEST = FLT_MAX;
};

template <typename T> static __device__ __forceinline__ T karst_tri_rounding(int m)
{
  return (T)(KARST_PIVOT_ROUNDINGS * m) * karst_tri_limits<T>::EPSILON;
}

/* 1 / x, within two units in the last place, for x well inside the range of normal numbers. The compiler's division has
 * a branch for the others. The approximation in double has an error e of 2^-19, and one step makes e^3 of it. */
static __device__ __forceinline__ float karst_tri_reciprocal(float x)
{
#ifdef __CUDA_ARCH__
  float y;
  asm("rcp.approx.ftz.f32 %0, %1;" : "=f"(y) : "f"(x));
  return y;
#else
  return 1 / x;
#endif
}
static __device__ __forceinline__ double karst_tri_reciprocal(double x)
{
#ifdef __CUDA_ARCH__
  double y;
  asm("rcp.approx.ftz.f64 %0, %1;" : "=d"(y) : "d"(x));
  const double e = fma(-x, y, 1.0);
  return fma(fma(e, e, e), y, y);
#else
  return 1 / x;
#endif
}
/* Whether x is well inside that range. Of a double only the exponent is looked at, which leaves the units for doubles to
 * sums. */
static __device__ __forceinline__ bool karst_tri_is_moderate(float x)
{
  return fabs(x) >= 0x1p-120f && fabs(x) <= 0x1p120f;
}
static __device__ __forceinline__ bool karst_tri_is_moderate(double x)
{
#ifdef __CUDA_ARCH__
  const unsigned exponent = (unsigned)__double2hiint(x) >> 20 & 0x7ff;
  return exponent - (1023 - 1000) < 2000;
#else
  return fabs(x) >= 0x1p-1000 && fabs(x) < 0x1p1000;
#endif
}

/* Inverts a block that the quick eliminations of the workers refuse, in memory: it may be sound all the same. */
template <typename T, int M>
static __device__ __noinline__ karst_reason karst_tri_invert(const T *block, const T *size, T *inverse)
{
  double a[M * M], sizes[M * M], made[M * M], work[2 * M];
  int pivot[M];
  for (int e = 0; e < M * M; e++) {
    a[e] = (double)block[e];
    sizes[e] = (double)size[e];
  }
  const karst_reason reason = karst_tridiagonal_invert(M, sizeof(T) == sizeof(float), a, sizes, made, work, pivot);
  for (int e = 0; e < M * M; e++) inverse[e] = reason == KARST_SOUND ? (T)made[e] : 0;
  return reason;
}

#endif
