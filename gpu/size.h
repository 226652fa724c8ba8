/* size.h - the sizes of pivot blocks that are summed in registers; lib/backend/dense.h explains their purpose.
 *
 * For each entry of such a sum a thread keeps the largest absolute partial sum. The sum of the absolute values in
 * lib/backend/dense.h is between this and this times the number of products, which matters if there are many
 * (karst_size_of_many). The high word of the double suffices. It is kept as a float: floats ascend as their bits do, so
 * that one instruction includes the absolute value of a new partial sum. Numbers from 2^1017 on are NaN as floats and
 * are ignored. */
#ifndef KARST_GPU_SIZE_H
#define KARST_GPU_SIZE_H

#include "gpu/cuda.h"

/* How many times their final size the partial sums of a block may have had without a closer check: a power of two, as
 * it changes high words. */
enum { KARST_SIZE_LOST = 10 << 20 };

static __device__ __forceinline__ float karst_size(double x) { return fabsf(__int_as_float(__double2hiint(x))); }

static __device__ __forceinline__ float karst_size_after(float size, double x) { return fmaxf(size, karst_size(x)); }

/* The size of a sum of products, given the largest absolute value. From 4 products on it grows with their number, as
 * the sum of the absolute values does if each product contributes about equally. Without that, a star of 35 arms was
 * seen to leave a larger remainder in its centre than its largest partial sum explains. */
static __device__ __forceinline__ float karst_size_of_many(float size, int products)
{
  enum { FEW = 30, EXPONENT = 20 }; /* 3 has 30 zeros before its first bit */
  const int doublings = max(FEW - __clz(products), 0);
  return size > 0 ? __int_as_float(__float_as_int(size) + (doublings << EXPONENT)) : 0;
}

/* Sizes as high words, which are compared as integers, and as numbers. */
static __device__ __forceinline__ int karst_size_word(float size) { return __float_as_int(size); }

static __device__ __forceinline__ double karst_size_number(int word) { return __hiloint2double(word, 0); }

/* The exponent of a size as it changes high words; no less than that of the smallest normal number. */
static __device__ __forceinline__ int karst_size_exponent(int word)
{
  enum { EXPONENT = 0x7ff00000, SMALLEST = 0x00100000, ONE = 0x3ff00000 };
  return max(word & EXPONENT, (int)SMALLEST) - ONE;
}

#endif
