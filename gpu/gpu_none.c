/* gpu_none.c - replaces the CUDA backend in a build without CUDA: it refuses every GPU. */
#include "lib/backend/backend.h"

static karst_status open_none(karst_context *context, int device)
{
  (void)device;
  return karst_fail(context, KARST_ERROR_NO_DEVICE, "this Karst was built without CUDA: configure with --with-cuda");
}

static int count_none(void) { return 0; }

extern const karst_machine karst_machine_cuda; /* machine_cuda.c */
extern const struct karst_backend karst_backend_cuda;

const struct karst_backend karst_backend_cuda = {
    .name = "cuda", .machine = &karst_machine_cuda, .open = open_none, .count = count_none};
