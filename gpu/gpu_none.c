/* gpu_none.c - stands in for the CUDA backend in a build without CUDA: a device that is asked for is refused. */
#include "backend.h"
#include "ilu_kernels.h"
#include "sweep_kernels.h"

static karst_status open_none(karst_context *context, int device)
{
  (void)device;
  return karst_fail(context, KARST_ERROR_NO_DEVICE, "this Karst was built without CUDA: configure with --with-cuda");
}

const struct karst_ilu_kernels karst_ilu_kernels_cuda = {.plan = NULL};
const struct karst_parilu_kernels karst_parilu_kernels_cuda = {.plan = NULL};
const struct karst_backend karst_backend_cuda = {.name = "cuda", .kind = KARST_BACKEND_CUDA, .open = open_none};
