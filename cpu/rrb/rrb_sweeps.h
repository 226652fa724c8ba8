/* rrb_sweeps.h - the two sweeps of the repeated red-black method over a grid, each an OpenMP region over its rows. */
#ifndef KARST_CPU_RRB_RRB_SWEEPS_H
#define KARST_CPU_RRB_RRB_SWEEPS_H

#include "cpu/rrb/rows.h"
#include "cpu/rrb/rrb_cpu.h"

/* A sweep over grid m. Its vector is from before the sweep and to after the way back, each the address of element
 * (0, 0) of b2. With red, both levels of the grid are done, in place: from and to are one vector of all four groups.
 * Without, b1 alone is eliminated, and both vectors have the black groups alone. */
typedef struct karst_rrb_pass {
  const karst_rrb *rrb;
  int grid;
  bool red;
  const double *from;
  double *to;
} karst_rrb_pass;

/* Forward: subtracts the contributions of eliminated nodes from b1 and b2. b2 goes to the next grid; without one, as
 * after an odd number of levels, it stays in to, as b1 does. */
void karst_rrb_forward_cpu(karst_context *context, const karst_rrb_pass *pass);

/* Backward: the groups of grid m from b2, which is the next grid's vector. Returns original . to on the black nodes,
 * unless original is NULL. Without red it also writes 0 to places without a node. */
double karst_rrb_backward_cpu(karst_context *context, const karst_rrb_pass *pass, const double *original);

#endif
