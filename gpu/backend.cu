/* backend.cu - opens and closes the GPU of a context, and copies to and from its memory.
 *
 * All work of a context is queued on one stream, its own or the caller's. Only a download waits for it, and an upload
 * from pinned or device memory, which the caller may change after the call. Other host memory was already copied by the
 * runtime. */
#include "gpu/launch.h"

#include <dlfcn.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>

struct karst_cuda_driver karst_cuda_driver;

/* The driver is opened by name, as in the runtime, and not linked, so that programs start without a driver. It stays
 * open. */
static void find_driver()
{
  void *library = dlopen("libcuda.so.1", RTLD_NOW | RTLD_LOCAL);
  if (!library) return;
  struct karst_cuda_driver *driver = &karst_cuda_driver;
  *reinterpret_cast<void **>(&driver->cuCtxGetCurrent) = dlsym(library, "cuCtxGetCurrent");
  *reinterpret_cast<void **>(&driver->cuCtxSetCurrent) = dlsym(library, "cuCtxSetCurrent");
  *reinterpret_cast<void **>(&driver->cuDevicePrimaryCtxRetain) = dlsym(library, "cuDevicePrimaryCtxRetain");
}

static bool have_driver()
{
  static pthread_once_t once = PTHREAD_ONCE_INIT;
  pthread_once(&once, find_driver);
  return karst_cuda_driver.cuCtxGetCurrent && karst_cuda_driver.cuCtxSetCurrent &&
         karst_cuda_driver.cuDevicePrimaryCtxRetain;
}

static karst_status refuse(karst_context *context, int device, cudaError_t error)
{
  cudaGetLastError();
  return karst_fail(context, KARST_ERROR_NO_DEVICE, "cuda:%d is not available: %s", device, cudaGetErrorString(error));
}

/* Takes the device's primary context. It is never released, because the caller may use it too. */
static karst_status take_device(karst_context *context, int device, struct CUctx_st **primary)
{
  int count = 0;
  cudaError_t error = cudaGetDeviceCount(&count);
  if (error == cudaSuccess && count > 0 && device >= count)
    return karst_fail(context, KARST_ERROR_NO_DEVICE, "cuda:%d was asked for, but the last GPU here is cuda:%d", device,
                      count - 1);
  if (error == cudaSuccess && !have_driver()) error = cudaErrorInsufficientDriver;
  if (error == cudaSuccess)
    error = static_cast<cudaError_t>(karst_cuda_driver.cuDevicePrimaryCtxRetain(primary, device));
  return error == cudaSuccess ? KARST_SUCCESS : refuse(context, device, error);
}

/* Its attributes show whether this build has code that runs on this GPU, and what it was compiled for. */
static __global__ void probe() {}

static karst_status check_code(karst_context *context, int device)
{
  cudaFuncAttributes attributes;
  const cudaError_t error = cudaFuncGetAttributes(&attributes, probe);
  return error == cudaSuccess ? KARST_SUCCESS : refuse(context, device, error);
}

/* Whether karst_cuda_begin waits in the kernels that run: code for earlier GPUs, which the driver compiles for later
 * ones, has it empty. */
static bool can_launch_early(const cudaDeviceProp *properties)
{
  enum { FIRST = 90 /* the compute capability of the first GPU that can, times 10 */ };
  cudaFuncAttributes attributes;
  return properties->major * 10 + properties->minor >= FIRST &&
         cudaFuncGetAttributes(&attributes, probe) == cudaSuccess && attributes.ptxVersion >= FIRST;
}

static cudaError_t make_state(struct karst_cuda *cuda, int device)
{
  cudaDeviceProp properties;
  cuda->device = device;
  cudaError_t error = cudaGetDeviceProperties(&properties, device);
  if (error == cudaSuccess) error = cudaStreamCreateWithFlags(&cuda->own, cudaStreamNonBlocking);
  cuda->stream = cuda->own;
  if (error == cudaSuccess)
    error = cudaMalloc(&cuda->partial, KARST_CUDA_BATCH * KARST_CUDA_SUMS * sizeof *cuda->partial);
  if (error == cudaSuccess) error = cudaMalloc(&cuda->ticket, sizeof *cuda->ticket);
  if (error == cudaSuccess) error = cudaMalloc(&cuda->scalar, sizeof *cuda->scalar);
  if (error == cudaSuccess) error = cudaMallocHost(&cuda->staging, KARST_CUDA_STAGING);
  if (error == cudaSuccess) error = cudaMallocHost(&cuda->arriving, KARST_CUDA_STAGING);
  if (error == cudaSuccess) error = cudaMallocHost(&cuda->arrived, sizeof *cuda->arrived);
  if (error == cudaSuccess) error = cudaMemsetAsync(cuda->ticket, 0, sizeof *cuda->ticket, cuda->stream);
  if (error != cudaSuccess) return error;
  *cuda->arrived = 0;
  karst_cuda_work_open(cuda);
  cuda->multiprocessors = properties.multiProcessorCount;
  cuda->launch_early = can_launch_early(&properties);
  snprintf(cuda->name, sizeof cuda->name, "%.64s, %zu GiB", properties.name, properties.totalGlobalMem >> 30);
  return cudaSuccess;
}

int karst_count_cuda()
{
  int count = 0;
  if (cudaGetDeviceCount(&count) == cudaSuccess) return count;
  cudaGetLastError();
  return 0;
}

karst_status karst_open_cuda(karst_context *context, int device)
{
  struct CUctx_st *primary;
  struct karst_cuda *cuda;
  karst_status status = take_device(context, device, &primary);
  if (status) return status;
  const karst_cuda_guard guard(primary);
  status = check_code(context, device);
  if (!status) status = karst_allocate_zero(context, &cuda, 1, sizeof *cuda, "the GPU's state");
  if (status) return status;
  cuda->primary = primary;
  context->device = cuda;
  status = karst_cuda_status(context, make_state(cuda, device), "opening it");
  if (status) karst_close_cuda(context);
  return status;
}

/* Frees the device's state, also after a failed open. */
void karst_close_cuda(karst_context *context)
{
  struct karst_cuda *cuda = karst_cuda_of(context);
  if (cuda->own) {
    cudaStreamSynchronize(cuda->stream);
    cudaStreamDestroy(cuda->own);
  }
  cudaFree(cuda->partial);
  cudaFree(cuda->ticket);
  cudaFree(cuda->scalar);
  karst_cuda_work_close(cuda);
  cudaFreeHost(cuda->staging);
  cudaFreeHost(cuda->arriving);
  cudaFreeHost(cuda->arrived);
  karst_release(context, cuda);
  context->device = NULL;
}

void karst_describe_cuda(karst_context *context)
{
  const struct karst_cuda *cuda = karst_cuda_of(context);
  snprintf(context->device_text, sizeof context->device_text, "cuda:%d, %s", cuda->device, cuda->name);
}

void *karst_stream_cuda(const karst_context *context) { return karst_cuda_of(context)->stream; }

/* Checks that the stream belongs to the context's device. An event of that device cannot be recorded on the stream of
 * another. */
static karst_status check_stream(karst_context *context, cudaStream_t stream)
{
  cudaEvent_t event;
  const struct karst_cuda *cuda = karst_cuda_of(context);
  cudaError_t error = cudaEventCreateWithFlags(&event, cudaEventDisableTiming);
  if (error != cudaSuccess) return karst_cuda_status(context, error, "an event");
  error = cudaEventRecord(event, stream);
  cudaEventDestroy(event);
  if (error == cudaSuccess) return KARST_SUCCESS;
  cudaGetLastError();
  return karst_fail(context, KARST_ERROR_ARGUMENT, "the stream cannot be used on cuda:%d: %s", cuda->device,
                    cudaGetErrorString(error));
}

karst_status karst_set_stream_cuda(karst_context *context, void *stream)
{
  cudaStream_t given = static_cast<cudaStream_t>(stream);
  if (given == cudaStreamPerThread)
    return karst_fail(context, KARST_ERROR_ARGUMENT,
                      "cudaStreamPerThread is another stream in each thread: a context needs one of its own");
  karst_status status = karst_synchronize_cuda(context);
  if (!status) status = check_stream(context, given);
  if (!status) karst_cuda_of(context)->stream = given;
  return status;
}

karst_status karst_synchronize_cuda(karst_context *context)
{
  cudaStream_t stream = karst_cuda_of(context)->stream;
  cudaError_t error = cudaPeekAtLastError(); /* of the kernels launched since the last download */
  if (error == cudaSuccess) error = cudaStreamSynchronize(stream);
  return karst_cuda_status(context, error, "the work queued");
}

double *karst_scalar_cuda(karst_context *context, double *own)
{
  (void)own;
  return karst_cuda_of(context)->scalar;
}

karst_status karst_upload_cuda(karst_context *context, void *to, const void *host, size_t bytes)
{
  struct karst_cuda *cuda = karst_cuda_of(context);
  cudaPointerAttributes attributes;
  if (bytes == 0) return KARST_SUCCESS;
  cudaError_t error = cudaPointerGetAttributes(&attributes, host);
  if (error == cudaSuccess) error = cudaMemcpyAsync(to, host, bytes, cudaMemcpyDefault, cuda->stream);
  if (error == cudaSuccess && attributes.type != cudaMemoryTypeUnregistered)
    error = cudaStreamSynchronize(cuda->stream);
  return karst_cuda_status(context, error, "an upload");
}

karst_status karst_download_cuda(karst_context *context, void *host, const void *from, size_t bytes)
{
  struct karst_cuda *cuda = karst_cuda_of(context);
  if (bytes == 0) return KARST_SUCCESS;
  bool staged = bytes <= KARST_CUDA_STAGING;
  cudaError_t error = cudaPeekAtLastError(); /* of the kernels launched since the last download */
  if (error == cudaSuccess)
    error = cudaMemcpyAsync(staged ? cuda->staging : host, from, bytes, cudaMemcpyDefault, cuda->stream);
  if (error == cudaSuccess) error = cudaStreamSynchronize(cuda->stream);
  if (error == cudaSuccess && staged) memcpy(host, cuda->staging, bytes);
  return karst_cuda_status(context, error, "work before a download");
}

/* Copies to pinned memory, and then writes the number of the download there. Unlike a copy or an event between them, a
 * kernel leaves no gap before the next one. */
static __global__ void deliver(const char *from, size_t bytes, char *to, unsigned number, unsigned *arrived)
{
  karst_cuda_begin();
  for (size_t k = threadIdx.x; k < bytes; k += blockDim.x) to[k] = from[k];
  __syncthreads();
  if (threadIdx.x > 0) return;
  __threadfence_system();
  *static_cast<volatile unsigned *>(arrived) = number;
}

/* Waits for the number that deliver writes. Checks now and then whether the device has failed. */
static cudaError_t await_arrival(const struct karst_cuda *cuda)
{
  enum { PATIENCE = 1 << 14 };
  for (unsigned looks = 1; __atomic_load_n(cuda->arrived, __ATOMIC_ACQUIRE) != cuda->begun; looks++) {
    if (looks % PATIENCE > 0) continue;
    cudaError_t error = cudaPeekAtLastError();
    if (error == cudaSuccess) error = cudaStreamQuery(cuda->stream);
    if (error != cudaSuccess && error != cudaErrorNotReady) return error;
    if (error == cudaErrorNotReady) cudaGetLastError();
  }
  return cudaSuccess;
}

karst_status karst_download_begin_cuda(karst_context *context, void *host, const void *from, size_t bytes)
{
  struct karst_cuda *cuda = karst_cuda_of(context);
  const karst_status status = karst_download_end_cuda(context);
  if (status) return status;
  if (bytes > KARST_CUDA_STAGING) return karst_download_cuda(context, host, from, bytes);
  cudaError_t error = cudaPeekAtLastError();
  if (error == cudaSuccess)
    error = karst_cuda_launch(cuda, deliver, 1, KARST_CUDA_THREADS, static_cast<const char *>(from), bytes,
                              static_cast<char *>(cuda->arriving), ++cuda->begun, cuda->arrived);
  if (error == cudaSuccess) {
    cuda->awaiting = host;
    cuda->awaited = bytes;
  }
  return karst_cuda_status(context, error, "work before a download");
}

karst_status karst_download_end_cuda(karst_context *context)
{
  struct karst_cuda *cuda = karst_cuda_of(context);
  if (!cuda->awaiting) return KARST_SUCCESS;
  const cudaError_t error = await_arrival(cuda);
  if (error == cudaSuccess) memcpy(cuda->awaiting, cuda->arriving, cuda->awaited);
  cuda->awaiting = NULL;
  return karst_cuda_status(context, error, "work before a download");
}

bool karst_owns_cuda(karst_context *context, const void *array)
{
  (void)context;
  cudaPointerAttributes attributes;
  const cudaError_t error = cudaPointerGetAttributes(&attributes, array);
  if (error == cudaSuccess) return attributes.type == cudaMemoryTypeDevice || attributes.type == cudaMemoryTypeManaged;
  cudaGetLastError();
  return false;
}

karst_status karst_place_cuda(karst_context *context, const void *host, size_t bytes, const char *what, void **memory)
{
  karst_status status = karst_allocate_cuda(context, bytes ? bytes : 1, what, memory);
  if (!status) status = karst_upload_cuda(context, *memory, host, bytes);
  if (!status) return KARST_SUCCESS;
  karst_release_cuda(context, *memory);
  *memory = NULL;
  return status;
}

karst_status karst_view_cuda(karst_context *context, const void *memory, size_t bytes, const char *what, void **host)
{
  karst_status status = karst_allocate(context, host, (int64_t)bytes, 1, what);
  if (!status) status = karst_download_cuda(context, *host, memory, bytes);
  if (!status) return KARST_SUCCESS;
  karst_release(context, *host);
  *host = NULL;
  return status;
}

void karst_copy_cuda(karst_context *context, int64_t n, const double *x, double *y)
{
  if (n > 0 && x != y)
    cudaMemcpyAsync(y, x, (size_t)n * sizeof *x, cudaMemcpyDeviceToDevice, karst_cuda_of(context)->stream);
}
