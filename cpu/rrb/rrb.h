/* rrb.h - the inside of the CPU's kernels of the repeated red-black method: what plan.c makes, factor.c and rest.c fill,
 * and solve.c applies. naive.h is the storage node by node. */
#ifndef KARST_CPU_RRB_RRB_H
#define KARST_CPU_RRB_RRB_H

#include "cpu/cpu.h"
#include "naive.h"
#include "rrb_kernels.h"

/* The plan of a karst_rrb whose first grids are stored in groups, or of one that is stored node by node altogether. */
typedef struct karst_rrb_cpu {
  karst_rrb_arrays arrays; /* of the grids in groups; nothing with grouped = 0 */
  karst_rrb_naive *naive;  /* grid number grouped and those after it, or NULL */
  double *band;   /* [rest (rest_band + 1)] of what is left: row q has L(q, q - rest_band .. q - 1), then 1 / d */
  double *left;   /* [rest] work space: what is left of a vector */
  int64_t *place; /* [rest] the element of vector[levels / 2] that each is */
} karst_rrb_cpu;

extern const struct karst_rrb_kernels karst_rrb_kernels_cpu; /* plan.c */

/* factor.c */
karst_status karst_rrb_factor_cpu(karst_context *context, const karst_matrix *A, karst_rrb *rrb,
                                  karst_rrb_outcome *outcome);

/* rest.c: L D L^T of what is left, and its solution in place, of a banded matrix in the storage of band. factor expects
 * the diagonal entry where 1 / d will be, and returns the first row whose pivot is not positive or not finite, or -1. */
karst_index karst_rrb_rest_factor_cpu(karst_index rows, karst_index width, double *band);
void karst_rrb_rest_solve_cpu(karst_index rows, karst_index width, const double *band, double *x);

/* solve.c */
void karst_rrb_solve_cpu(karst_context *context, const karst_rrb *rrb, const double *r, double *z);
void karst_rrb_enter_cpu(karst_context *context, const karst_rrb *rrb, const double *b, const double *x,
                         double *reduced_b, double *reduced_x);
void karst_rrb_leave_cpu(karst_context *context, const karst_rrb *rrb, const double *b, const double *reduced_x,
                         double *x);
void karst_rrb_multiply_cpu(karst_context *context, const karst_rrb *rrb, const double *x, double *y, double *dot);
void karst_rrb_solve_reduced_cpu(karst_context *context, const karst_rrb *rrb, const double *r, double *z, double *dot);

#endif
