/* device_cuda.cu - the kernels on a GPU: a thread for each cell, face or node, in slices of a plane as in the paper. */
#include "kernels.h"

static void must(cudaError_t error)
{
  if (error != cudaSuccess) stop("CUDA", cudaGetErrorString(error));
}
static void *allocate(size_t bytes)
{
  void *array;
  must(cudaMalloc(&array, bytes));
  must(cudaMemset(array, 0, bytes));
  return array;
}
static void *host_allocate(size_t bytes)
{
  void *array;
  must(cudaMallocHost(&array, bytes));
  return array;
}
static void release(void *array) { must(cudaFree(array)); }
static void host_release(void *array) { must(cudaFreeHost(array)); }
static void wait(void *stream) { must(cudaStreamSynchronize((cudaStream_t)stream)); }
static void copy(void *to, const void *from, size_t bytes)
{
  must(cudaMemcpy(to, from, bytes, cudaMemcpyDefault));
  wait(NULL);
}
static void *stream_create(void)
{
  cudaStream_t made;
  must(cudaStreamCreateWithFlags(&made, cudaStreamNonBlocking));
  return made;
}
static void stream_destroy(void *stream) { must(cudaStreamDestroy((cudaStream_t)stream)); }
static void stream_copy(void *stream, void *to, size_t to_pitch, const void *from, size_t pitch, size_t width,
                        size_t rows)
{
  must(cudaMemcpy2DAsync(to, to_pitch, from, pitch, width, rows, cudaMemcpyDefault, (cudaStream_t)stream));
}

/* The last slices of an axis may reach beyond its end. */
#define GRID_KERNEL(name)                                                                                              \
  __global__ void run_##name(const __grid_constant__ struct task t, int3 low, int3 end)                                \
  {                                                                                                                    \
    const int at[AXES] = {low.x + (int)(blockIdx.x * blockDim.x + threadIdx.x),                                        \
                          low.y + (int)(blockIdx.y * blockDim.y + threadIdx.y), low.z + (int)blockIdx.z};              \
    if (at[0] < end.x && at[1] < end.y) kernel_##name(&t, &t.b, at, place(&t.b, at));                                  \
  }
KERNELS(GRID_KERNEL)

static void launch(enum kernel kernel, const struct task *task, const int low[AXES], const int count[AXES])
{
#define GRID_KERNEL_NAME(name) run_##name,
  static void (*const run[KERNEL_COUNT])(struct task, int3, int3) = {KERNELS(GRID_KERNEL_NAME)};
  const int width = count[0] > 16 ? 32 : (count[0] > 4 ? 16 : 4);
  const dim3 threads(width, 128 / width);
  const dim3 grid((count[0] + threads.x - 1) / threads.x, (count[1] + threads.y - 1) / threads.y, count[2]);
  const int3 from = make_int3(low[0], low[1], low[2]);
  run[kernel]<<<grid, threads>>>(*task, from, make_int3(low[0] + count[0], low[1] + count[1], low[2] + count[2]));
  must(cudaGetLastError());
}

/* Each thread reduces values that are a grid apart; then the group halves its results, whose number may be odd, until
 * one is left. */
__global__ void reduce_stage(enum reduction reduction, const double *value, int64_t count, double *result)
{
  extern __shared__ double part[];
  const int me = threadIdx.x;
  double mine = reduction == SUM ? 0 : (reduction == LEAST ? INFINITY : -INFINITY);
  for (int64_t i = (int64_t)blockIdx.x * blockDim.x + me; i < count; i += (int64_t)gridDim.x * blockDim.x)
    mine = reduced(reduction, mine, value[i]);
  part[me] = mine;
  for (int left = blockDim.x; left > 1; left = (left + 1) / 2) {
    __syncthreads();
    if (me < left / 2) part[me] = reduced(reduction, part[me], part[me + (left + 1) / 2]);
  }
  if (me == 0) result[blockIdx.x] = part[0];
}
static double reduce(enum reduction reduction, const double *value, int64_t count, int threads)
{
  enum { MOST_GROUPS = 1024 };
  static double *part;
  const int64_t needed = (count + threads - 1) / threads;
  const int groups = needed < MOST_GROUPS ? (int)needed : MOST_GROUPS;
  double result;
  if (!part) part = (double *)allocate((MOST_GROUPS + 1) * sizeof *part);
  reduce_stage<<<groups, threads, threads * sizeof *part>>>(reduction, value, count, part);
  reduce_stage<<<1, threads, threads * sizeof *part>>>(reduction, part, groups, part + MOST_GROUPS);
  must(cudaGetLastError());
  must(cudaMemcpy(&result, part + MOST_GROUPS, sizeof result, cudaMemcpyDeviceToHost));
  return result;
}

extern "C" const struct device *cuda_device(void)
{
  static const struct device device = {"cuda", allocate,      release,      copy,          wait,           launch,
                                       reduce, host_allocate, host_release, stream_create, stream_destroy, stream_copy};
  int count = 0;
  return cudaGetDeviceCount(&count) == cudaSuccess && count > 0 ? &device : NULL;
}
