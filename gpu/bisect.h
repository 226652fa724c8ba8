/* bisect.h - finds where a condition begins to hold. lib/base/search.h is for ascending arrays of karst_index. */
#ifndef KARST_GPU_BISECT_H
#define KARST_GPU_BISECT_H

#ifdef __CUDACC__
/* Returns the first number in first .. end - 1 for which holds(number) is true, else end. If it holds for a number, it
 * holds for all later ones. */
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
