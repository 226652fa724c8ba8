/* kernels.h - the times of the kernels that run on a GPU, as CUPTI records them. The functions are in kernels.cu, or in
 * kernels_none.c in builds without CUPTI. C and C++ can include this header. */
#ifndef KARST_TOOLS_SRC_COMMON_KERNELS_H
#define KARST_TOOLS_SRC_COMMON_KERNELS_H

#ifdef __cplusplus
extern "C" {
#endif

#include "tools/src/common/common.h"

/* The launches of a kernel with one number of blocks, and their seconds together. */
typedef struct tool_kernel {
  char name[256];
  long long blocks; /* of threads, in each launch */
  int threads;      /* of each block */
  int launches;
  double seconds;
} tool_kernel;

enum { TOOL_KERNELS = 256 };

/* Begins to record kernels, also those of graphs that are made from now on. Returns false with a note on standard error
 * if kernels cannot be recorded. */
bool tool_kernels_start(void);
/* Forgets what has been recorded. The device has to be idle. */
void tool_kernels_forget(void);
/* Ends recording, and returns the kernels in the order of their first launches, TOOL_KERNELS at most, and their
 * number. The device has to be idle. */
int tool_kernels_stop(const tool_kernel **kernel);

/* The name of a kernel's function for a reader, such as "multiply<3>", into text; the mangled name where it cannot
 * be read. */
void tool_kernel_name(const tool_kernel *kernel, char *text, size_t size);

#ifdef __cplusplus
}
#endif
#endif
