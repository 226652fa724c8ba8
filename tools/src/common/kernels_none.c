/* kernels_none.c - replaces kernels.cu in a build without CUPTI. */
#include "tools/src/common/kernels.h"

#include <stdio.h>

bool tool_kernels_start(void)
{
  fprintf(stderr, "%s: note: this command was built without CUPTI and lists no kernels\n", tool_name());
  return false;
}

void tool_kernels_forget(void) {}

int tool_kernels_stop(const tool_kernel **kernel)
{
  *kernel = NULL;
  return 0;
}

void tool_kernel_name(const tool_kernel *kernel, char *text, size_t size) { snprintf(text, size, "%s", kernel->name); }
