/* teams.cu - launches Thomas's algorithm from both ends, for blocks of a team of lanes. */
#include "gpu/tridiagonal/teams.h"
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
void launch_teams(const karst_cuda *cuda, const karst_tri_plan<T> &plan, int level, const karst_tri_systems<T> &s)
{
  const karst_tri_level<T> &of = plan.level[level];
  const auto launch = [&](auto size) {
    constexpr int M = decltype(size)::value;
    const int64_t blocks = (s.systems * of.cut.pieces + of.teams.per - 1) / of.teams.per;
    const unsigned grid = (unsigned)(blocks < of.teams.blocks ? blocks : of.teams.blocks);
    karst_tri_launch(cuda, has_pairs(s) ? karst_tri_teams<T, M, true> : karst_tri_teams<T, M, false>, grid,
                     KARST_TRI_TEAM_THREADS, (size_t)of.teams.shared, s, of.cut, of.teams.per, of.W.at);
  };
  if (plan.m == 4) launch(std::integral_constant<int, 4>());
  if (plan.m == 5) launch(std::integral_constant<int, 5>());
  if (plan.m == 6) launch(std::integral_constant<int, 6>());
  if (plan.m == 7) launch(std::integral_constant<int, 7>());
  if (plan.m == 8) launch(std::integral_constant<int, 8>());
}

} // namespace

void karst_tri_launch_teams(const karst_cuda *cuda, const karst_tri_plan<float> &plan, int level,
                            const karst_tri_systems<float> &s)
{
  launch_teams(cuda, plan, level, s);
}
void karst_tri_launch_teams(const karst_cuda *cuda, const karst_tri_plan<double> &plan, int level,
                            const karst_tri_systems<double> &s)
{
  launch_teams(cuda, plan, level, s);
}
