/* none.c - stands in for the CPU's baselines in a build without them: precond/rrb.c asks for none. */
#include "cpu/rrb/rrb_cpu.h"

const struct karst_rrb_naive_kernels karst_rrb_naive_kernels = {NULL};
