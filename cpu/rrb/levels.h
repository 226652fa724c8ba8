/* levels.h - the steps in row J of grid m, which is stored in groups. */
#ifndef KARST_CPU_RRB_LEVELS_H
#define KARST_CPU_RRB_LEVELS_H

#include "cpu/rrb/rrb_cpu.h"

/* The work space of a thread for its rows, and its outcome. */
typedef struct karst_rrb_rows {
  double *line[2];         /* a row of nodes of the matrix with an even number, and one with an odd number */
  double *next;            /* [KARST_RRB_PARTS pitch] a row of the next grid's stencil */
  int64_t bad[2];          /* pivots that are not positive or not finite, on both levels */
  karst_index unsymmetric; /* the first block row found, or -1 */
  karst_index not_finite;  /* the first node whose row has an entry that is not finite, or -1 */
} karst_rrb_rows;

/* The factor of red nodes: on grid 0 from A, whose row 2J - 1 of nodes is in line[1], else from straight. */
void karst_rrb_red_matrix(const karst_matrix *A, const karst_rrb *rrb, int64_t J, karst_rrb_rows *rows);
void karst_rrb_red_straight(const karst_rrb *rrb, int m, int64_t J, karst_rrb_rows *rows);
/* The stencil of black nodes. */
void karst_rrb_black(const karst_rrb *rrb, int m, int64_t J);
/* The factor of b1. */
void karst_rrb_factor_diagonal(const karst_rrb *rrb, int m, int64_t J, karst_rrb_rows *rows);
/* The stencil of grid m + 1: of b2. */
void karst_rrb_next_grid(const karst_rrb *rrb, int m, int64_t J, karst_rrb_rows *rows);

#endif
