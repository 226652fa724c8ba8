/* sweep.cu - launches Thomas's algorithm on pieces. */
#include "gpu/tridiagonal/pieces.h"
#include "gpu/tridiagonal/workers.h"

namespace
{

template <typename T>
void launch_sweep(const karst_cuda *cuda, const karst_tri_plan<T> &plan, int level, const karst_tri_systems<T> &s)
{
  const karst_tri_level<T> &of = plan.level[level];
  karst_tri_with_worker<T>(plan.m, [&](auto worker) {
    using K = typename decltype(worker)::type;
    const unsigned grid = karst_tri_grid<K>(plan.blocks, s.systems * of.cut.pieces);
    karst_tri_launch(cuda, karst_tri_sweep<K>, grid, K::THREADS, K::shared(s.m), s, of.cut, of.W, plan.scratch);
  });
}

} // namespace

void karst_tri_launch_sweep(const karst_cuda *cuda, const karst_tri_plan<float> &plan, int level,
                            const karst_tri_systems<float> &s)
{
  launch_sweep(cuda, plan, level, s);
}
void karst_tri_launch_sweep(const karst_cuda *cuda, const karst_tri_plan<double> &plan, int level,
                            const karst_tri_systems<double> &s)
{
  launch_sweep(cuda, plan, level, s);
}
