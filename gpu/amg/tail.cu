/* tail.cu - the steps of the last levels in one launch of a cluster of thread blocks. Such a level has so few rows that
 * a launch a step would take longer than its work, and the barrier of a cluster takes less.
 *
 * The steps are an argument of the kernel, so that they are in the cache of constants. Vectors are read past the
 * first-level cache, because other thread blocks have written them. The finer levels have evicted the matrices from the
 * second-level cache, so that they are fetched before the kernel waits for the one before it.
 *
 * Few rows are one thread block, without a cluster. The systems of make gpu-check have so few: racecheck of
 * compute-sanitizer takes minutes for the barriers of a cluster.
 */
#include "gpu/amg/steps.h"

namespace
{

enum { THREADS = 1024, WARP = 32, LINE = 128 /* bytes of the cache */ };

/* Waits for all threads of the cluster, or of the only thread block, and makes their stores visible to them. */
template <bool CLUSTER> __device__ __forceinline__ void meet()
{
#if __CUDA_ARCH__ >= 900
  if (CLUSTER)
    asm volatile("barrier.cluster.arrive.release.aligned;\n\tbarrier.cluster.wait.acquire.aligned;" ::: "memory");
  else
#endif
    __syncthreads();
}

__device__ __forceinline__ void fetch(const void *from, int64_t bytes)
{
  const char *at = static_cast<const char *>(from);
  for (int64_t b = (blockIdx.x * (int64_t)THREADS + threadIdx.x) * LINE; b < bytes;
       b += gridDim.x * (int64_t)THREADS * LINE)
    asm volatile("prefetch.global.L2 [%0];" ::"l"(at + b));
}

template <typename T> __device__ __forceinline__ void multiply_dense(const karst_amg_item<T> &s)
{
  for (int64_t i = (blockIdx.x * (int64_t)THREADS + threadIdx.x) / WARP; i < s.A.rows;
       i += gridDim.x * (int64_t)(THREADS / WARP))
    karst_amg_do_dense_row<true>(s, i);
}

template <karst_amg_use USE, int LANES, typename T> __device__ __forceinline__ void do_rows(const karst_amg_item<T> &s)
{
  const int64_t step = gridDim.x * (int64_t)(THREADS / LANES);
  for (int64_t i = (blockIdx.x * (int64_t)THREADS + threadIdx.x) / LANES; i < s.A.rows; i += step)
    karst_amg_do_row<USE, LANES, true>(s, i);
}

template <typename T> __device__ __forceinline__ void do_first(const karst_amg_item<T> &s)
{
  for (int64_t i = blockIdx.x * (int64_t)THREADS + threadIdx.x; i < s.A.rows; i += gridDim.x * (int64_t)THREADS)
    karst_amg_first_row(s, s.y, i, karst_amg_get<true>(s.f + i));
}

template <karst_amg_use USE, typename T> __device__ __forceinline__ void choose_lanes(const karst_amg_item<T> &s)
{
  if (s.lanes == 4)
    do_rows<USE, 4>(s);
  else if (s.lanes == 8)
    do_rows<USE, 8>(s);
  else
    do_rows<USE, 16>(s);
}

template <typename T> __device__ __forceinline__ void run_item(const karst_amg_item<T> &s)
{
#define RUN(USE)                                                                                                       \
  case USE:                                                                                                            \
    return choose_lanes<USE>(s);
  switch (s.use) {
    KARST_AMG_USES(RUN)
  case KARST_AMG_USE_INVERT:
    return multiply_dense(s);
  default:
    return do_first(s);
  }
#undef RUN
}

template <typename T> struct list {
  karst_amg_item<T> item[KARST_AMG_TAIL];
};

template <typename T, bool CLUSTER>
__global__ void __launch_bounds__(THREADS, 1) run_tail(const list<T> steps, int count)
{
  static_assert(sizeof steps < 4096 - sizeof count, "arguments of a kernel");
  for (int k = 0; k < count; k++) {
    const karst_amg_item<T> &s = steps.item[k];
    if (s.use == KARST_AMG_USE_INVERT) fetch(s.inverse, s.A.rows * (int64_t)s.A.rows * (int64_t)sizeof(T));
    if (s.use == KARST_AMG_USE_FIRST || s.use == KARST_AMG_USE_INVERT) continue;
    fetch(s.A.start, (s.A.rows + 1) * (int64_t)sizeof *s.A.start);
    fetch(s.A.column, s.entries * (int64_t)sizeof *s.A.column);
    fetch(s.A.value, s.entries * (int64_t)sizeof *s.A.value);
  }
  karst_cuda_begin();
  for (int k = 0; k < count; k++) {
    run_item(steps.item[k]);
    meet<CLUSTER>();
  }
}

/* A launch of a cluster of so many thread blocks. */
cudaLaunchConfig_t configure(const struct karst_cuda *cuda, unsigned blocks, cudaLaunchAttribute attribute[2])
{
  cudaLaunchConfig_t config = {};
  attribute[0].id = cudaLaunchAttributeClusterDimension;
  attribute[0].val.clusterDim.x = blocks;
  attribute[0].val.clusterDim.y = attribute[0].val.clusterDim.z = 1;
  attribute[1].id = cudaLaunchAttributeProgrammaticStreamSerialization;
  attribute[1].val.programmaticStreamSerializationAllowed = 1;
  config.gridDim = dim3(blocks);
  config.blockDim = dim3(THREADS);
  config.stream = cuda->stream;
  config.attrs = attribute;
  config.numAttrs = 2;
  return config;
}

/* Whether the device has room for such a cluster. */
template <typename T> bool fits(const struct karst_cuda *cuda, unsigned blocks)
{
  cudaLaunchAttribute attribute[2] = {};
  cudaLaunchConfig_t config = configure(cuda, blocks, attribute);
  int clusters = 0;
  config.numAttrs = 1;
  cudaFuncSetAttribute(run_tail<T, true>, cudaFuncAttributeNonPortableClusterSizeAllowed, 1);
  const bool fits =
      cudaOccupancyMaxActiveClusters(&clusters, run_tail<T, true>, &config) == cudaSuccess && clusters > 0;
  cudaGetLastError();
  return fits;
}

template <typename T> void launch(const struct karst_cuda *cuda, const karst_amg_cuda *plan, int first, int end)
{
  const karst_amg_item<T> *item = static_cast<const karst_amg_item<T> *>(plan->item);
  cudaLaunchAttribute attribute[2] = {};
  const cudaLaunchConfig_t config = configure(cuda, plan->tail_blocks, attribute);
  list<T> steps = {};
  for (int k = first; k < end; k++) steps.item[k - first] = item[k];
  if (plan->tail_blocks > 1)
    cudaLaunchKernelEx(&config, run_tail<T, true>, steps, end - first);
  else
    karst_cuda_launch(cuda, run_tail<T, false>, 1, THREADS, steps, end - first);
}

} // namespace

karst_amg_tail karst_amg_tail_of_cuda(const struct karst_cuda *cuda, bool single)
{
  enum { CLUSTER = 16, PORTABLE = 8, MOST = 256, LEAST = 128 /* rows of a thread block */, ALONE = 640 };
  unsigned blocks = 1;
  if (cuda->launch_early) /* so kernels run in clusters, too */
    for (blocks = CLUSTER; blocks > 1; blocks = blocks == CLUSTER ? PORTABLE : 1)
      if (single ? fits<float>(cuda, blocks) : fits<double>(cuda, blocks)) break;
  return {blocks, (int64_t)MOST * blocks, LEAST, ALONE};
}

void karst_amg_launch_tail_cuda(const struct karst_cuda *cuda, const karst_amg *amg, int first, int end)
{
  (amg->single ? launch<float> : launch<double>)(cuda, karst_amg_cuda_of(amg), first, end);
}
