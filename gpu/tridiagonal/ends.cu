/* ends.cu - launches Thomas's algorithm from both ends. */
#include "gpu/tridiagonal/ends.h"
#include "gpu/tridiagonal/workers.h"

namespace
{

/* Whether rows lie one after the other, and two scalars can be loaded at a time. */
template <typename T> bool has_pairs(const karst_tri_systems<T> &s)
{
  const auto first = [](const void *at) { return reinterpret_cast<uintptr_t>(at) % (2 * sizeof(T)) == 0; };
  return s.lower.element == 1 && s.lower.row == s.m * s.m && s.right.element == 1 && s.right.row == s.m &&
         first(s.lower.at) && first(s.diagonal.at) && first(s.upper.at) && first(s.right.at);
}

/* Calls f with the kernel for blocks of size m, and with its shape. */
template <typename T, typename F> void with_kernel(int m, bool pairs, F f)
{
  karst_cuda_instance(m, [&](auto size) {
    constexpr int M = decltype(size)::value;
    if constexpr (M > KARST_TRI_LANES && M <= KARST_TRI_TEAMS)
      f(pairs ? karst_tri_from_ends<T, M, true> : karst_tri_from_ends<T, M, false>, karst_tri_ends_shape<T, M>());
  });
}

template <typename T>
void launch_ends(const karst_cuda *cuda, const karst_tri_plan<T> &plan, int level, const karst_tri_systems<T> &s)
{
  const karst_tri_level<T> &of = plan.level[level];
  const karst_tri_ends_plan &ends = of.ends;
  const int64_t groups = (s.systems * of.cut.pieces + ends.per - 1) / ends.per;
  with_kernel<T>(plan.m, has_pairs(s), [&](auto kernel, auto) {
    karst_tri_launch(cuda, kernel, (unsigned)ends.blocks, KARST_TRI_ENDS_THREADS, (size_t)ends.shared, s, of.cut, ends,
                     of.outer, groups);
  });
}

/* Thread blocks that a multiprocessor has room for, if they keep no rows in shared memory. */
template <typename T> int resident_ends(int m)
{
  int blocks = 0;
  with_kernel<T>(m, true, [&](auto kernel, auto shape) {
    cudaOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, kernel, KARST_TRI_ENDS_THREADS,
                                                  decltype(shape)::OWN * sizeof(T));
  });
  return blocks;
}

} // namespace

void karst_tri_launch_ends(const karst_cuda *cuda, const karst_tri_plan<float> &plan, int level,
                           const karst_tri_systems<float> &s)
{
  launch_ends(cuda, plan, level, s);
}
void karst_tri_launch_ends(const karst_cuda *cuda, const karst_tri_plan<double> &plan, int level,
                           const karst_tri_systems<double> &s)
{
  launch_ends(cuda, plan, level, s);
}
int karst_tri_resident_ends(const karst_tri_plan<float> &plan) { return resident_ends<float>(plan.m); }
int karst_tri_resident_ends(const karst_tri_plan<double> &plan) { return resident_ends<double>(plan.m); }
