/* cyclic.cu - launches cyclic reduction, parallel cyclic reduction and their hybrid. */
#include "gpu/tridiagonal/cyclic.h"
#include "gpu/tridiagonal/workers.h"

namespace
{

template <typename T>
void launch_cyclic(const karst_cuda *cuda, const karst_tri_plan<T> &plan, const karst_tri_systems<T> &s)
{
  karst_tri_with_worker<T>(plan.m, [&](auto worker) {
    using K = typename decltype(worker)::type;
    const int64_t needed = (s.systems + plan.layout.per - 1) / plan.layout.per;
    const size_t records = plan.records ? 0 : (size_t)plan.layout.scalars * sizeof(T);
    karst_tri_launch(cuda, karst_tri_cyclic<K>, (unsigned)(needed < plan.blocks ? needed : plan.blocks), K::THREADS,
                     K::shared(s.m) + records, s, plan.layout, plan.records, plan.scratch);
  });
}

} // namespace

void karst_tri_launch_cyclic(const karst_cuda *cuda, const karst_tri_plan<float> &plan, int,
                             const karst_tri_systems<float> &s)
{
  launch_cyclic(cuda, plan, s);
}
void karst_tri_launch_cyclic(const karst_cuda *cuda, const karst_tri_plan<double> &plan, int,
                             const karst_tri_systems<double> &s)
{
  launch_cyclic(cuda, plan, s);
}
