/* sweep.cu - launches Thomas's algorithm on pieces. */
#include "gpu/tridiagonal/pieces.h"
#include "gpu/tridiagonal/workers.h"

namespace
{

template <typename T>
void launch_sweep(const karst_cuda *cuda, const karst_tri_plan<T> &plan, int level, const karst_tri_systems<T> &s)
{
  const karst_tri_level<T> &of = plan.level[level];
  karst_tri_launch_pieces(cuda, plan, s, of.cut, of.W,
                          [](auto worker) { return karst_tri_sweep<typename decltype(worker)::type>; });
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
