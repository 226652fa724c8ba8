/* lanes.cu - launches the solution of whole systems by lanes in shared memory. */
#include "gpu/tridiagonal/lanes.h"
#include "gpu/tridiagonal/workers.h"

namespace
{

template <typename T, int M, int R, bool AOS>
void launch_layout(const karst_cuda *cuda, const karst_tri_systems<T> &s, karst_tri_cut cut, karst_tri_spread spread)
{
  const int64_t all = s.systems * cut.pieces;
  const size_t shared = (size_t)spread.places * karst_tri_tile<T, M, R, AOS>::STRIDE * sizeof(T);
  if (spread.lanes <= 32)
    karst_tri_launch(cuda, karst_tri_lanes<T, M, R, AOS, true>, karst_cuda_grid(all, spread.threads / 32 * spread.per),
                     spread.threads, shared, s, cut, spread);
  else
    karst_tri_launch(cuda, karst_tri_lanes<T, M, R, AOS, false>, karst_cuda_grid(all, spread.per), spread.threads,
                     shared, s, cut, spread);
}

template <typename T>
void launch_lanes(const karst_cuda *cuda, const karst_tri_plan<T> &plan, int level, const karst_tri_systems<T> &s)
{
  const karst_tri_level<T> &of = plan.level[level];
  const auto launch = [&](auto size) {
    constexpr int M = decltype(size)::value;
    if (s.lower.element == 1)
      launch_layout<T, M, KARST_TRI_LANE_ROWS, true>(cuda, s, of.cut, of.spread);
    else
      launch_layout<T, M, KARST_TRI_LANE_ROWS, false>(cuda, s, of.cut, of.spread);
  };
  if (plan.m == 1) launch(std::integral_constant<int, 1>());
  if (plan.m == 2) launch(std::integral_constant<int, 2>());
  if (plan.m == 3) launch(std::integral_constant<int, 3>());
}

} // namespace

void karst_tri_launch_lanes(const karst_cuda *cuda, const karst_tri_plan<float> &plan, int level,
                            const karst_tri_systems<float> &s)
{
  launch_lanes(cuda, plan, level, s);
}
void karst_tri_launch_lanes(const karst_cuda *cuda, const karst_tri_plan<double> &plan, int level,
                            const karst_tri_systems<double> &s)
{
  launch_lanes(cuda, plan, level, s);
}
