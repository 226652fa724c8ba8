/* exchange.h - vectors over the block rows of A to and from those over the nodes of grid 0. */
#ifndef KARST_CPU_RRB_EXCHANGE_H
#define KARST_CPU_RRB_EXCHANGE_H

#include "cpu/rrb/rrb_cpu.h"

/* A vector over the nodes of grid 0. */
typedef struct karst_rrb_place {
  const karst_rrb *rrb;
  double *vector;
  int groups; /* 4, or 2: the black ones alone; 0: all nodes row by row, 1: so, and the black ones alone */
} karst_rrb_place;

/* Copies what x has for the groups of the place, and writes 0 where there is no block row. Guards stay. */
void karst_rrb_put_cpu(karst_context *context, const karst_rrb_place *place, const double *x);

/* Copies what the place has to x, whose other elements stay. */
void karst_rrb_get_cpu(karst_context *context, const karst_rrb_place *place, double *x);

#endif
