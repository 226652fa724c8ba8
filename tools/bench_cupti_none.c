/* bench_cupti_none.c - stands in for bench_cupti.cu in a build without CUPTI. */
#include "bench_cuda.h"

#include <stdio.h>

bool bench_profile_start(void)
{
  fprintf(stderr, "%s: note: this bench was built without CUPTI, so that no kernels are listed\n", tool_name());
  return false;
}

void bench_profile_forget(void) {}

int bench_profile_stop(const bench_kernel **kernel)
{
  *kernel = NULL;
  return 0;
}
