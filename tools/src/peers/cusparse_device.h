/* cusparse_device.h - the calling thread's CUDA context while the preconditioner cusparse runs. C++ under nvcc.
 *
 * The library calls a method with the current device that the program has left, which need not be the context's. The
 * runtime's cudaSetDevice would make a primary context on a device that the thread has never used when it sets that
 * back, and cannot bring back a context that is not a primary one, so that the driver's functions are called. */
#ifndef KARST_TOOLS_SRC_PEERS_CUSPARSE_DEVICE_H
#define KARST_TOOLS_SRC_PEERS_CUSPARSE_DEVICE_H

#include <cuda.h>

/* The CUDA context that device memory belongs to. */
CUcontext tool_cusparse_owner(const void *memory);

/* During its lifetime the calling thread works in the given context, and afterwards in its former one, or in no context
 * if it had none. */
class tool_cusparse_guard
{
public:
  explicit tool_cusparse_guard(CUcontext context);
  ~tool_cusparse_guard();
  tool_cusparse_guard(const tool_cusparse_guard &) = delete;
  tool_cusparse_guard &operator=(const tool_cusparse_guard &) = delete;

private:
  CUcontext own, before;
};

#endif
