/* device_cuda.cu - the kernels on a GPU: a thread for each cell, face or node, in slices of a plane as in the paper. */
#include "kernels.h"

static void must(cudaError_t error)
{
  if (error != cudaSuccess) stop("CUDA", cudaGetErrorString(error));
}
static void *allocate(size_t bytes, bool for_transfer)
{
  void *array;
  must(for_transfer ? cudaMallocHost(&array, bytes) : cudaMalloc(&array, bytes));
  if (!for_transfer) must(cudaMemset(array, 0, bytes));
  return array;
}
static void release(void *array, bool for_transfer) { must(for_transfer ? cudaFreeHost(array) : cudaFree(array)); }
static void wait(void) { must(cudaStreamSynchronize(NULL)); }
static void copy(void *to, const void *from, size_t bytes) { must(cudaMemcpy(to, from, bytes, cudaMemcpyDefault)); }
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

extern "C" const struct device *cuda_device(void)
{
  static const struct device device = {"cuda", allocate, release, copy, wait, launch, stream_copy};
  int count = 0;
  return cudaGetDeviceCount(&count) == cudaSuccess && count > 0 ? &device : NULL;
}
