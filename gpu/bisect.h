/* bisect.h - finds where a condition begins to hold. lib/base/search.h is for ascending arrays of karst_index; this
 * is for all else. */
#ifndef KARST_GPU_BISECT_H
#define KARST_GPU_BISECT_H

#ifdef __CUDACC__
/* Returns the first number in first .. end - 1 for which holds(number) is true, or end if there is none. It holds for
 * all numbers after one for which it does. */
template <typename number, typename condition>
static __device__ __forceinline__ number karst_cuda_bisect(number first, number end, condition holds)
{
  while (first < end) {
    const number middle = first + (end - first) / 2;
    if (holds(middle))
      end = middle;
    else
      first = middle + 1;
  }
  return first;
}
#endif

#endif
