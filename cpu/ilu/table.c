/* table.c - the table of the ILU kernels of the CPU. */
#include "cpu/ilu/ilu_cpu.h"

static void solve(karst_context *context, const karst_ilu *ilu, const double *r, double *z)
{
  const karst_ilu_plan *plan = ilu->plan;
  (plan->jacobi ? karst_ilu_solve_jacobi_cpu : karst_ilu_solve_cpu)(context, ilu, r, z);
}

const struct karst_ilu_kernels karst_ilu_kernels_cpu = {
    .analyse = karst_ilu_analyse_cpu,
    .analysis_destroy = karst_ilu_analysis_destroy_cpu,
    .plan = karst_ilu_plan_cpu,
    .plan_destroy = karst_ilu_plan_destroy_cpu,
    .factor = karst_ilu_factor_cpu,
    .load = karst_ilu_load_cpu,
    .solve = solve,
};
