/* reduce.cu - launches the elimination of the interiors of pieces, which leaves the systems of separators. */
#include "gpu/tridiagonal/lanes.h"
#include "gpu/tridiagonal/pieces.h"
#include "gpu/tridiagonal/workers.h"

namespace
{

template <typename T, int M>
void launch_lanes(const karst_cuda *cuda, const karst_tri_level<T> &of, const karst_tri_systems<T> &s)
{
  constexpr int R = KARST_TRI_LANE_ROWS;
  const bool entries = s.lower.element == 1;
  const size_t shared = karst_tri_lane_memory<T, M, R, true, true>::bytes(of.spread.places); /* AOS or not */
  karst_tri_launch(cuda, entries ? karst_tri_lane_separators<T, M, R, true> : karst_tri_lane_separators<T, M, R, false>,
                   karst_cuda_grid(s.systems * of.cut.pieces, of.spread.threads / 32), of.spread.threads, shared, s,
                   of.cut, of.spread, of.reduced);
}

template <typename T>
void launch_reduce(const karst_cuda *cuda, const karst_tri_plan<T> &plan, int level, const karst_tri_systems<T> &s)
{
  const karst_tri_level<T> &of = plan.level[level];
  karst_tri_with_worker<T>(plan.m, [&](auto worker) {
    using K = typename decltype(worker)::type;
    const unsigned grid = karst_tri_grid<K>(plan.blocks, s.systems * of.cut.pieces);
    /* The rows of a warp of lanes fit into the shared memory of every device. */
    if constexpr (K::M >= 1 && K::M <= KARST_TRI_LANES)
      launch_lanes<T, K::M>(cuda, of, s);
    else
      karst_tri_launch(cuda, karst_tri_reduce<K>, grid, K::THREADS, K::shared(s.m), s, of.cut, of.reduced,
                       plan.scratch);
    karst_tri_launch(cuda, karst_tri_assemble<K>, grid, K::THREADS, K::shared(s.m), s, of.cut, of.reduced,
                     plan.scratch);
  });
}

} // namespace

void karst_tri_launch_reduce(const karst_cuda *cuda, const karst_tri_plan<float> &plan, int level,
                             const karst_tri_systems<float> &s)
{
  launch_reduce(cuda, plan, level, s);
}
void karst_tri_launch_reduce(const karst_cuda *cuda, const karst_tri_plan<double> &plan, int level,
                             const karst_tri_systems<double> &s)
{
  launch_reduce(cuda, plan, level, s);
}
