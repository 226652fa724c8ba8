/* tail.cu - the steps of the last levels in one launch of a cluster of thread blocks. Such a level has so few rows that
 * a launch a step would take longer than its work, and the barrier of a cluster takes less.
 *
 * The cluster reads the list of steps in device memory. The next step's entry is copied to shared memory during a step.
 * Vectors are read past the first-level cache, because other thread blocks have written them. The finer levels have
 * evicted the matrices from the second-level cache, so that they are fetched before the kernel waits for the one before
 * it. */
#include "gpu/amg/steps.h"

namespace
{

enum {
  THREADS = 1024,
  WARP = 32,
  LINE = 128 /* bytes of the cache */,
  FETCHED = 16 /* steps whose matrices are fetched */
};

/* Waits for all threads of the cluster, and makes their stores visible to it. */
__device__ __forceinline__ void meet()
{
#if __CUDA_ARCH__ >= 900
  asm volatile("barrier.cluster.arrive.release.aligned;\n\tbarrier.cluster.wait.acquire.aligned;" ::: "memory");
#else
  __syncthreads();
#endif
}

__device__ __forceinline__ void fetch(const void *from, int64_t bytes)
{
  const char *at = static_cast<const char *>(from);
  for (int64_t b = (blockIdx.x * (int64_t)THREADS + threadIdx.x) * LINE; b < bytes;
       b += gridDim.x * (int64_t)THREADS * LINE)
    asm volatile("prefetch.global.L2 [%0];" ::"l"(at + b));
}

/* y = W f: a thread block takes WARP rows, and each of its warps every WARP-th column. */
template <typename T> __device__ void multiply_dense(const karst_amg_item<T> &s)
{
  __shared__ T part[WARP][WARP + 1];
  const int rows = (int)s.A.rows, lane = (int)threadIdx.x % WARP, p = (int)threadIdx.x / WARP;
  for (int base = (int)blockIdx.x * WARP; base < rows; base += (int)gridDim.x * WARP) {
    T sum = 0;
    if (base + lane < rows)
      for (int j = p; j < rows; j += WARP)
        sum += s.inverse[(int64_t)j * rows + base + lane] * karst_amg_get<true>(s.f + j);
    part[lane][p] = sum;
    __syncthreads();
    sum = karst_amg_group<WARP>::sum(part[p][lane]);
    if (lane == 0 && base + p < rows) s.y[base + p] = sum;
    __syncthreads();
  }
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
    karst_amg_first_row<true>(s, i);
}

template <karst_amg_use USE, typename T> __device__ __forceinline__ void choose_lanes(const karst_amg_item<T> &s)
{
  if (s.lanes <= 4)
    do_rows<USE, 4>(s);
  else if (s.lanes <= 16)
    do_rows<USE, 16>(s);
  else
    do_rows<USE, WARP>(s);
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

template <typename T>
__global__ void __launch_bounds__(THREADS, 1) run_tail(const karst_amg_item<T> *items, int first, int end)
{
  enum { WORDS = sizeof(karst_amg_item<T>) / sizeof(int) };
  __shared__ __align__(16) int now[2][WORDS];
  const int t = (int)threadIdx.x;
  for (int s = first; s < end && s < first + FETCHED; s++) {
    const karst_amg_view<T> A = items[s].A;
    if (items[s].use == KARST_AMG_USE_INVERT) fetch(items[s].inverse, A.rows * (int64_t)A.rows * (int64_t)sizeof(T));
    if (items[s].use == KARST_AMG_USE_FIRST || items[s].use == KARST_AMG_USE_INVERT) continue;
    fetch(A.start, (A.rows + 1) * (int64_t)sizeof *A.start);
    fetch(A.column, items[s].entries * (int64_t)sizeof *A.column);
    fetch(A.value, items[s].entries * (int64_t)sizeof *A.value);
  }
  if (t < WORDS) now[0][t] = reinterpret_cast<const int *>(items + first)[t];
  karst_cuda_begin();
  __syncthreads();
  for (int s = first; s < end; s++) {
    const int turn = (s - first) % 2;
    if (t < WORDS && s + 1 < end) now[1 - turn][t] = reinterpret_cast<const int *>(items + s + 1)[t];
    run_item(*reinterpret_cast<const karst_amg_item<T> *>(now[turn]));
    meet();
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
  cudaFuncSetAttribute(run_tail<T>, cudaFuncAttributeNonPortableClusterSizeAllowed, 1);
  const bool fits = cudaOccupancyMaxActiveClusters(&clusters, run_tail<T>, &config) == cudaSuccess && clusters > 0;
  cudaGetLastError();
  return fits;
}

template <typename T> void launch(const struct karst_cuda *cuda, unsigned blocks, const void *items, int first, int end)
{
  const auto item = static_cast<const karst_amg_item<T> *>(items);
  cudaLaunchAttribute attribute[2] = {};
  const cudaLaunchConfig_t config = configure(cuda, blocks, attribute);
  if (blocks > 1)
    cudaLaunchKernelEx(&config, run_tail<T>, item, first, end);
  else
    karst_cuda_launch(cuda, run_tail<T>, 1, THREADS, item, first, end);
}

} // namespace

karst_amg_tail karst_amg_tail_of_cuda(const struct karst_cuda *cuda, bool single)
{
  enum { CLUSTER = 16, PORTABLE = 8, SHARE = 256 /* rows of a thread block */ };
  unsigned blocks = 1;
  if (cuda->launch_early) /* so kernels run in clusters, too */
    for (blocks = CLUSTER; blocks > 1; blocks = blocks == CLUSTER ? PORTABLE : 1)
      if (single ? fits<float>(cuda, blocks) : fits<double>(cuda, blocks)) break;
  return {blocks, (int64_t)SHARE * blocks};
}

void karst_amg_launch_tail_cuda(const struct karst_cuda *cuda, const karst_amg *amg, int first, int end)
{
  const karst_amg_cuda *plan = karst_amg_cuda_of(amg);
  (amg->single ? launch<float> : launch<double>)(cuda, plan->tail_blocks, plan->device_item, first, end);
}
