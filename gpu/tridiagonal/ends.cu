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

template <typename T>
void launch_ends(const karst_cuda *cuda, const karst_tri_plan<T> &plan, int level, const karst_tri_systems<T> &s)
{
  const karst_tri_level<T> &of = plan.level[level];
  karst_cuda_instance(plan.m, [&](auto size) {
    constexpr int M = decltype(size)::value;
    if constexpr (M >= KARST_TRI_ENDS && M <= KARST_TRI_TEAMS)
      karst_tri_launch(cuda, has_pairs(s) ? karst_tri_from_ends<T, M, true> : karst_tri_from_ends<T, M, false>,
                       karst_cuda_grid(s.systems * of.cut.pieces, of.ends.per), KARST_TRI_ENDS_THREADS,
                       (size_t)of.ends.shared, s, of.cut, of.ends.per);
  });
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
