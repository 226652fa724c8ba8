/* solve.cu - see rrb.h. */
#include "rrb.h"

void karst_rrb_solve_cuda(karst_context *, const karst_rrb *, const double *, double *) {}
void karst_rrb_enter_cuda(karst_context *, const karst_rrb *, const double *, const double *, double *, double *) {}
void karst_rrb_leave_cuda(karst_context *, const karst_rrb *, const double *, const double *, double *) {}
void karst_rrb_multiply_cuda(karst_context *, const karst_rrb *, const double *, double *, double *) {}
void karst_rrb_solve_reduced_cuda(karst_context *, const karst_rrb *, const double *, double *, double *) {}
