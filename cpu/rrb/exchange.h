/* exchange.h - copies vectors over the block rows of A to vectors over the nodes of grid 0, and back. */
#ifndef KARST_CPU_RRB_EXCHANGE_H
#define KARST_CPU_RRB_EXCHANGE_H

#include "cpu/rrb/rrb_cpu.h"

/* A vector over the nodes of grid 0. */
typedef struct karst_rrb_place {
  const karst_rrb *rrb;
  double *vector;
  int groups; /* 4: all; 2: the black ones; 0: no groups, but all nodes row by row; 1: of these the black ones */
} karst_rrb_place;

/* Copies the elements of x that belong to the groups of the place, and writes 0 for nodes without a block row. Guards
 * are unchanged. */
void karst_rrb_put_cpu(karst_context *context, const karst_rrb_place *place, const double *x);

/* Copies the elements of the place to x; the other elements of x are unchanged. */
void karst_rrb_get_cpu(karst_context *context, const karst_rrb_place *place, double *x);

#endif
