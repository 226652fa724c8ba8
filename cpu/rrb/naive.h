/* naive.h - the repeated red-black method with all nodes in their places in the grid, row by row: the first of the four
 * implementations of de Jong, van der Ploeg, Ditzel and Vuik (S1), sequential, and the reference for the others.
 * These store their first grids in groups, and may use it from a coarser grid on. */
#ifndef KARST_CPU_RRB_NAIVE_H
#define KARST_CPU_RRB_NAIVE_H

#include "lib/backend/rrb_kernels.h"

typedef struct karst_rrb_naive {
  karst_index size[2];              /* nodes along each axis */
  bool nine_point;                  /* the stencil at the beginning */
  int levels;                       /* eliminations from here on */
  bool *exists;                     /* [nx ny] whether the grid has a node there; create reads it from the cells of
                                     * rrb */
  double *stencil[KARST_RRB_PARTS]; /* [nx ny] each: the 9-point stencil, see karst_rrb_straight, for factor; 0 where a
                                     * node or its neighbour does not exist, and at first everywhere */
  double *work[KARST_RRB_PARTS];    /* [nx ny] each: the stencil of the nodes that are left, while factor is at work */
  double *factor[KARST_RRB_PARTS];  /* [nx ny] each: of eliminated nodes l for the four neighbours, then 1 / d */
  double *schur[KARST_RRB_PARTS];   /* [nx ny] each: of black nodes the stencil after the first elimination, see
                                     * karst_rrb_skew; NULL with nine_point or levels = 0 */
  double *vector;                   /* [nx ny] work space */
  karst_index rest, rest_band;      /* the remaining nodes, as in karst_rrb */
  double *band;                     /* as in karst_rrb_cpu */
  double *left;                     /* [rest] work space */
  karst_index *node;                /* [rest] which node each is, j nx + i */
  double refused;                   /* the pivot that factor stopped at, or 1 over it; NaN if it is not finite */
  double *memory;
  int64_t bytes;
} karst_rrb_naive;

/* The kernels of this storage, from baselines/rrb_naive.c. In a build without baselines all are NULL, and precond/rrb.c
 * refuses the options that need them. rrb->plan is a karst_rrb_cpu. */
struct karst_rrb_naive_kernels {
  /* For the grids of rrb from number rrb->grouped on. After a failure of create the caller calls destroy. */
  karst_status (*create)(karst_context *context, const karst_rrb *rrb, karst_rrb_naive **naive);
  void (*destroy)(karst_context *context, karst_rrb_naive *naive);
  /* Reads the stencil of all nodes from A, with rrb->grouped = 0. Returns whether it is symmetric and finite. */
  bool (*load)(const karst_matrix *A, const karst_rrb *rrb, karst_rrb_outcome *outcome);
  /* Factors the stencil, which is unchanged. */
  void (*factor)(const karst_rrb *rrb, karst_rrb_outcome *outcome);
  /* z = M^-1 z over all nodes. */
  void (*solve)(const karst_rrb_naive *naive, double *z);
  /* The same on the black nodes of the grid, with one level or more; red nodes are not read. */
  void (*solve_black)(const karst_rrb_naive *naive, double *z);
  /* y = S x on the black nodes, and 0 elsewhere. Returns x . y. */
  double (*multiply)(const karst_rrb_naive *naive, const double *x, double *y);
  /* On black nodes z = b minus the contributions of the red nodes; on red nodes 0. */
  void (*enter)(const karst_rrb_naive *naive, const double *b, double *z);
  /* The red nodes of b become those of x; x has the black ones. */
  void (*leave)(const karst_rrb_naive *naive, const double *x, double *b);
};

extern const struct karst_rrb_naive_kernels karst_rrb_naive_kernels;

#endif
