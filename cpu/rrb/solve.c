/* solve.c - the repeated red-black method applied, on grids stored in groups. */
#include "rrb.h"

void karst_rrb_solve_cpu(karst_context *context, const karst_rrb *rrb, const double *r, double *z)
{
  karst_copy_cpu(context, rrb->rows, r, z);
}

void karst_rrb_enter_cpu(karst_context *context, const karst_rrb *rrb, const double *b, const double *x,
                         double *reduced_b, double *reduced_x)
{
  (void)context;
  (void)rrb;
  (void)b;
  (void)x;
  (void)reduced_b;
  (void)reduced_x;
}

void karst_rrb_leave_cpu(karst_context *context, const karst_rrb *rrb, const double *b, const double *reduced_x,
                         double *x)
{
  (void)context;
  (void)rrb;
  (void)b;
  (void)reduced_x;
  (void)x;
}

void karst_rrb_multiply_cpu(karst_context *context, const karst_rrb *rrb, const double *x, double *y, double *dot)
{
  (void)context;
  (void)rrb;
  (void)x;
  (void)y;
  (void)dot;
}

void karst_rrb_solve_reduced_cpu(karst_context *context, const karst_rrb *rrb, const double *r, double *z, double *dot)
{
  (void)context;
  (void)rrb;
  (void)r;
  (void)z;
  (void)dot;
}
