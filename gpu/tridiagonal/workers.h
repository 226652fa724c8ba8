/* workers.h - chooses the worker for a block size, and launches kernels of workers. */
#ifndef KARST_GPU_TRIDIAGONAL_WORKERS_H
#define KARST_GPU_TRIDIAGONAL_WORKERS_H

#include "gpu/launch.h"
#include "gpu/tridiagonal/group_worker.h"
#include "gpu/tridiagonal/lane_worker.h"
#include "gpu/tridiagonal/team_worker.h"
#include "gpu/tridiagonal/tridiagonal_cuda.h"

/* A worker as an argument. */
template <class K> struct karst_tri_worker {
  using type = K;
};

template <typename T, typename F> static inline void karst_tri_with_worker(int m, F f)
{
  switch (m) {
  case 1:
    return f(karst_tri_worker<karst_lane_worker<T, 1>>());
  case 2:
    return f(karst_tri_worker<karst_lane_worker<T, 2>>());
  case 3:
    return f(karst_tri_worker<karst_lane_worker<T, 3>>());
  case 4:
    return f(karst_tri_worker<karst_team_worker<T, 4>>());
  case 5:
    return f(karst_tri_worker<karst_team_worker<T, 5>>());
  case 6:
    return f(karst_tri_worker<karst_team_worker<T, 6>>());
  case 7:
    return f(karst_tri_worker<karst_team_worker<T, 7>>());
  case 8:
    return f(karst_tri_worker<karst_team_worker<T, 8>>());
  default:
    return f(karst_tri_worker<karst_group_worker<T>>());
  }
}

/* Thread blocks for count workers. */
template <class K> static inline unsigned karst_tri_grid(int64_t blocks, int64_t count)
{
  const int64_t needed = (count + K::WORKERS - 1) / K::WORKERS;
  return (unsigned)(needed < blocks ? needed : blocks);
}

/* Launches a kernel after the one before it. */
template <typename... P>
static inline void karst_tri_launch(const karst_cuda *cuda, void (*kernel)(P...), unsigned grid, unsigned threads,
                                    size_t shared, std::common_type_t<P>... arguments)
{
  enum { ALWAYS = 48 << 10 }; /* bytes that every kernel may have */
  if (shared > ALWAYS)
    cudaFuncSetAttribute(reinterpret_cast<const void *>(kernel), cudaFuncAttributeMaxDynamicSharedMemorySize,
                         (int)shared);
  karst_cuda_launch_with(cuda, false, kernel, grid, threads, shared, arguments...);
}

/* Launches kernel(worker)(s, cut, to, scratch), whose workers take a piece each. */
template <typename T, typename To, typename F>
static inline void karst_tri_launch_pieces(const karst_cuda *cuda, const karst_tri_plan<T> &plan,
                                           const karst_tri_systems<T> &s, karst_tri_cut cut, const To &to, F kernel)
{
  karst_tri_with_worker<T>(plan.m, [&](auto worker) {
    using K = typename decltype(worker)::type;
    const unsigned grid = karst_tri_grid<K>(plan.blocks, s.systems * cut.pieces);
    karst_tri_launch(cuda, kernel(worker), grid, K::THREADS, K::shared(s.m), s, cut, to, plan.scratch);
  });
}

#endif
