/* none.c - replaces the CPU's baselines in a build without them. precond/rrb.c refuses the options that need them. */
#include "cpu/rrb/rrb_cpu.h"

const struct karst_rrb_naive_kernels karst_rrb_naive_kernels;
