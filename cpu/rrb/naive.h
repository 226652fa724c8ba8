/* naive.h - the repeated red-black method with every node where it is in the grid, row by row: the first of the four
 * implementations of de Jong, van der Ploeg, Ditzel and Vuik (S1), sequential, and the reference for the others. From a
 * coarser grid on it also serves those that store their first grids in groups. */
#ifndef KARST_CPU_RRB_NAIVE_H
#define KARST_CPU_RRB_NAIVE_H

#include "rrb_kernels.h"

typedef struct karst_rrb_naive {
  karst_index size[2]; /* nodes along each axis */
  bool nine_point;     /* the stencil at the beginning */
  int levels;          /* eliminations from here on */
  double lumped;
  double *stencil[KARST_RRB_PARTS]; /* [nx ny] each: the 9-point stencil, see karst_rrb_straight, for factor */
  double *factor[KARST_RRB_PARTS];  /* [nx ny] each: of eliminated nodes l for the four neighbours, then 1 / d */
  double *schur[KARST_RRB_PARTS];   /* [nx ny] each: of black nodes the stencil after the first elimination */
  double *vector;                   /* [nx ny] work space */
  karst_index rest, rest_band;      /* what is left, as in karst_rrb */
  double *band;                     /* as in karst_rrb_cpu */
  double *left;                     /* [rest] work space */
  karst_index *node;                /* [rest] which node each is, j nx + i */
  double *memory;
  int64_t bytes;
} karst_rrb_naive;

/* For the grids of rrb from number rrb->grouped on. */
karst_status karst_rrb_naive_create(karst_context *context, const karst_rrb *rrb, karst_rrb_naive **naive);
void karst_rrb_naive_destroy(karst_context *context, karst_rrb_naive *naive);
/* Factors the stencil, which stays. *node and *level, from 1: of the first pivot that is not positive or not finite, in
 * the order of karst_rrb_outcome; *node = -1: none. */
void karst_rrb_naive_factor(karst_rrb_naive *naive, int *level, karst_index *node);
/* z = M^-1 z over all nodes. */
void karst_rrb_naive_solve(const karst_rrb_naive *naive, double *z);
/* The same with the black nodes of the grid alone; the others are not looked at. */
void karst_rrb_naive_solve_black(const karst_rrb_naive *naive, double *z);
/* y = S x on the black nodes, and 0 elsewhere. Returns x . y. */
double karst_rrb_naive_multiply(const karst_rrb_naive *naive, const double *x, double *y);

#endif
