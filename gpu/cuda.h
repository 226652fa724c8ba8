/* cuda.h - for all files of this room: the device's state in a context, errors, launch sizes. C++ for nvcc; no other
 * room includes it. */
#ifndef KARST_GPU_CUDA_H
#define KARST_GPU_CUDA_H

#include <cuda_runtime.h>

#include <type_traits>

extern "C" {
#include "lib/backend/dense.h"
#include "lib/matrix/matrix.h"
#include "gpu/operations.h"
}

enum {
  KARST_CUDA_THREADS = 256, /* of a thread block, unless a kernel says otherwise */
  KARST_CUDA_SUMS = 528, /* thread blocks of a reduction at most: a constant, so that sums are the same on every GPU */
  KARST_CUDA_BATCH = 16, /* dot products taken at a time */
  KARST_CUDA_STAGING = 8192 /* bytes */
};

/* context->device of a context on a GPU. */
struct karst_cuda {
  int device;
  struct CUctx_st *primary; /* the device's primary context, which the runtime works in */
  cudaStream_t stream;      /* everything of the context runs on it, in order: own, or the caller's */
  cudaStream_t own;
  int multiprocessors;
  double *partial;    /* [KARST_CUDA_BATCH * KARST_CUDA_SUMS] work space of the reductions, device memory */
  unsigned *ticket;   /* device memory: thread blocks of a reduction that are done; 0 between reductions */
  double *scalar;     /* device memory: for one number that a call of the library needs */
  cudaMemPool_t pool; /* of work space (work.cu); NULL: the device has no pools */
  void *staging;      /* [KARST_CUDA_STAGING bytes] pinned host memory through which scalars are downloaded */
  void *arriving;     /* the same for a download in two steps */
  void *awaiting;     /* where that download goes at its end; NULL: none has begun */
  size_t awaited;     /* the bytes of that download */
  unsigned begun;     /* the number of the last download in two steps that has begun */
  unsigned *arrived;  /* pinned host memory: the number of the last one whose scalars have arrived */
  bool launch_early;  /* kernels may be launched before the one before them has ended; launch.h */
  char name[96];      /* such as "NVIDIA H100 80GB HBM3, 79 GiB" */
};

/* Returns the state of a context, for code that runs under a karst_cuda_guard or only looks at the state. */
static inline struct karst_cuda *karst_cuda_of(const karst_context *context)
{
  return static_cast<struct karst_cuda *>(context->device);
}

/* Functions of the driver by their names there. A CUcontext is a pointer to a CUctx_st; a CUresult has the numbers of
 * cudaError_t. The runtime's cudaSetDevice cannot restore a context that is not a primary one. It also creates a
 * primary context on its device: for a thread that has never used a GPU, this would take memory on a device that was
 * not requested. The first karst_open_cuda finds the functions. */
struct karst_cuda_driver {
  int (*cuCtxGetCurrent)(struct CUctx_st **context);
  int (*cuCtxSetCurrent)(struct CUctx_st *context);
  int (*cuDevicePrimaryCtxRetain)(struct CUctx_st **context, int device);
};
extern struct karst_cuda_driver karst_cuda_driver;

/* During its lifetime the calling thread works in a primary context. Its end restores the thread's own, or none. */
class karst_cuda_guard
{
public:
  explicit karst_cuda_guard(struct CUctx_st *primary) : own(primary), before(nullptr)
  {
    karst_cuda_driver.cuCtxGetCurrent(&before); /* NULL: the thread had none */
    if (before != own) karst_cuda_driver.cuCtxSetCurrent(own);
  }
  ~karst_cuda_guard()
  {
    if (before != own) karst_cuda_driver.cuCtxSetCurrent(before);
  }
  karst_cuda_guard(const karst_cuda_guard &) = delete;
  karst_cuda_guard &operator=(const karst_cuda_guard &) = delete;

private:
  struct CUctx_st *own, *before;
};

/* A function of this room for the tables: it leaves the calling thread's context unchanged. karst_cuda_entry<f>::call
 * is f, guarded. */
template <auto f> struct karst_cuda_entry;

template <typename R, typename... A, R (*f)(karst_context *, A...)> struct karst_cuda_entry<f> {
  static R call(karst_context *context, A... arguments)
  {
    const karst_cuda_guard guard(karst_cuda_of(context)->primary);
    return f(context, arguments...);
  }
};

/* The status for an error of the runtime, with a sentence that names what failed: KARST_ERROR_NO_MEMORY for a shortage
 * of memory, else KARST_ERROR_DEVICE. cudaSuccess gives KARST_SUCCESS. */
karst_status karst_cuda_status(karst_context *context, cudaError_t error, const char *what);

/* Device memory of count elements, added to *bytes unless that is NULL. */
template <typename T>
karst_status karst_cuda_take(karst_context *context, int64_t count, const char *what, T **memory, int64_t *bytes)
{
  const size_t size = (size_t)(count > 0 ? count : 1) * sizeof(T);
  void *taken;
  const karst_status status = context->backend->allocate(context, size, what, &taken);
  *memory = static_cast<T *>(taken);
  if (!status && bytes) *bytes += (int64_t)size;
  return status;
}
/* Frees arrays of device memory, those that are not NULL. */
template <typename... T> void karst_cuda_release(karst_context *context, T *...memory)
{
  (context->backend->release(context, memory), ...);
}

/* work.cu: bytes > 0 of device memory for work space. It is freed within the same call of the library, in the order of
 * the stream: work queued before may still use it. what: for the error. */
karst_status karst_cuda_work_take(karst_context *context, size_t bytes, const char *what, void **memory);
void karst_cuda_work_release(karst_context *context, void *memory);
template <typename... T> void karst_cuda_work_release(karst_context *context, void *first, T *...others)
{
  karst_cuda_work_release(context, first);
  (karst_cuda_work_release(context, others), ...);
}
/* Work space of count elements. */
template <typename T>
karst_status karst_cuda_take_work(karst_context *context, int64_t count, const char *what, T **memory)
{
  void *taken;
  const karst_status status = karst_cuda_work_take(context, (size_t)(count > 0 ? count : 1) * sizeof(T), what, &taken);
  *memory = static_cast<T *>(taken);
  return status;
}
/* A copy of an array of the host in work space. */
template <typename T>
karst_status karst_cuda_upload_work(karst_context *context, int64_t count, const T *host, const char *what, T **memory)
{
  const karst_status status = karst_cuda_take_work(context, count, what, memory);
  return status ? status : context->backend->upload(context, *memory, host, (size_t)count * sizeof *host);
}
/* Downloads a few numbers at once: sooner than a download, which copies and then waits for the stream. */
static inline karst_status karst_cuda_fetch(karst_context *context, void *host, const void *from, size_t bytes)
{
  const karst_status status = karst_download_begin_cuda(context, host, from, bytes);
  return status ? status : karst_download_end_cuda(context);
}
/* Lets launch(memory) compute count elements in work space that is 0 at first, and downloads them. */
template <typename T, typename F>
karst_status karst_cuda_compute(karst_context *context, int64_t count, const char *what, T *result, F launch)
{
  const size_t bytes = (size_t)count * sizeof(T);
  T *memory;
  karst_status status = karst_cuda_take_work(context, count, what, &memory);
  if (status) return status;
  cudaMemsetAsync(memory, 0, bytes, karst_cuda_of(context)->stream);
  launch(memory);
  status = karst_cuda_fetch(context, result, memory, bytes);
  karst_cuda_work_release(context, memory);
  return status;
}
/* Ends the use of work space in a call: returns unused memory to the device. */
void karst_cuda_work_end(karst_context *context);
/* The memory pool; a context works without one too. */
void karst_cuda_work_open(struct karst_cuda *cuda);
void karst_cuda_work_close(struct karst_cuda *cuda);

/* Returns the status for memory that is not available, with a sentence that says how much there is. */
karst_status karst_cuda_no_memory(karst_context *context, cudaError_t error, size_t bytes, const char *what);

/* Returns the number of thread blocks for count items where each takes per of them. It is at least one. */
static inline unsigned karst_cuda_grid(int64_t count, int64_t per)
{
  return count > per ? (unsigned)((count + per - 1) / per) : 1;
}

/* Calls f with the block size as a constant if b has an instance of its own, else with 0, the instance for every size:
 * [&](auto size) { kernel<size.value><<<...>>>(b, ...); } */
template <typename F> static inline void karst_cuda_instance(int b, F f)
{
  switch (b) {
#define KARST_CUDA_CASE(B)                                                                                             \
  case B:                                                                                                              \
    return f(std::integral_constant<int, B>());
    KARST_BLOCK_SIZES(KARST_CUDA_CASE)
#undef KARST_CUDA_CASE
  default:
    return f(std::integral_constant<int, 0>());
  }
}

/* Returns a quotient, or 0 if it is not finite (lib/backend/backend.h). */
static __device__ __forceinline__ double karst_cuda_finite(double value) { return fabs(value) <= DBL_MAX ? value : 0; }

/* Returns the scalar offset of block number k. */
static __device__ __forceinline__ int64_t karst_cuda_offset(int b, int64_t k) { return (int64_t)b * b * k; }

/* Finds the block row i and the row r in it that this thread works on, if a thread block takes as many whole block rows
 * as it has threads for. Returns false for surplus threads. */
static __device__ __forceinline__ bool karst_cuda_row(int b, karst_index rows, karst_index *i, int *r)
{
  const int each = (int)blockDim.x / b, t = (int)threadIdx.x;
  const int64_t row = (int64_t)blockIdx.x * each + t / b;
  *i = (karst_index)row;
  *r = t % b;
  return t < each * b && row < rows;
}

/* Returns the threads of a thread block for block size b if each scalar row has a thread of its own; the next function
 * returns the grid. */
static inline unsigned karst_cuda_row_threads(int b) { return b <= KARST_CUDA_THREADS / 4 ? KARST_CUDA_THREADS : 1024; }

static inline unsigned karst_cuda_row_grid(karst_index rows, int b)
{
  return karst_cuda_grid(rows, (int)karst_cuda_row_threads(b) / b);
}

#endif
