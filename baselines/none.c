/* none.c - takes the place of the CPU's baselines in a build without them: all functions are NULL, and precond/rrb.c
 * calls none. */
#include "cpu/rrb/rrb_cpu.h"

const struct karst_rrb_naive_kernels karst_rrb_naive_kernels;
