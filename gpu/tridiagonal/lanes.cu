/* lanes.cu - launches the solution of whole systems by lanes in shared memory. */
#include "gpu/tridiagonal/lanes.h"
#include "gpu/tridiagonal/workers.h"

namespace
{

/* Whether a multiprocessor has no room for two thread blocks with so many bytes of shared memory. */
bool fills_multiprocessor(const karst_cuda *cuda, size_t shared)
{
  int most = 0, own = 0;
  cudaDeviceGetAttribute(&most, cudaDevAttrMaxSharedMemoryPerMultiprocessor, cuda->device);
  cudaDeviceGetAttribute(&own, cudaDevAttrReservedSharedMemoryPerBlock, cuda->device);
  return 2 * (shared + (size_t)own) > (size_t)most;
}

template <typename T, int M, int R, bool AOS>
void launch_layout(const karst_cuda *cuda, const karst_tri_systems<T> &s, karst_tri_cut cut, karst_tri_spread spread)
{
  const int64_t all = s.systems * cut.pieces;
  const auto launch = [&](auto warp) {
    constexpr bool WARP = decltype(warp)::value;
    const size_t shared = karst_tri_lane_memory<T, M, R, AOS, WARP>::bytes(spread.places);
    const unsigned blocks = karst_cuda_grid(all, WARP ? spread.threads / 32 * spread.per : spread.per);
    const unsigned most = fills_multiprocessor(cuda, shared) ? (unsigned)cuda->multiprocessors : blocks;
    karst_tri_launch(cuda, karst_tri_lanes<T, M, R, AOS, WARP>, WARP || blocks < most ? blocks : most, spread.threads,
                     shared, s, cut, spread, (int64_t)blocks);
  };
  spread.lanes <= 32 ? launch(std::true_type()) : launch(std::false_type());
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
