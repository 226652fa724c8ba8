/* rrb_cpu.h - the inside of the CPU's kernels of the repeated red-black method: plan.c makes it, factor.c and rest.c
 * fill it, and solve.c applies it. naive.h is the storage node by node; its code is in baselines/. */
#ifndef KARST_CPU_RRB_RRB_CPU_H
#define KARST_CPU_RRB_RRB_CPU_H

#include "cpu/cpu.h"
#include "cpu/rrb/naive.h"
#include "lib/backend/rrb_kernels.h"

#include <math.h>

/* The plan of a karst_rrb whose first grids are stored in groups, or of one that is stored node by node altogether. */
typedef struct karst_rrb_cpu {
  karst_rrb_arrays arrays; /* of the grids in groups; empty with grouped = 0, except for a grid of one node */
  karst_rrb_naive *naive;  /* grid number grouped and those after it, or NULL */
  double *band;     /* [rest (rest_band + 1)] remaining nodes: row q has L(q, q - rest_band .. q - 1), then 1 / d */
  double *left;     /* [rest] work space: a vector of the remaining nodes */
  int64_t *place;   /* [rest] the element of vector[levels / 2] of each */
  int threads;      /* that lines has room for */
  double *lines;    /* [karst_rrb_line_elements for each thread] work space of factor, pads 0 */
  karst_index *row; /* [nx ny] the block row of each node of grid 0, or -1; NULL: its number */
} karst_rrb_cpu;

/* The data of a row of nodes of a matrix in a line: the parts of karst_rrb_straight, and the images of those
 * couplings. */
enum { KARST_RRB_WEST = KARST_RRB_PARTS, KARST_RRB_SOUTH, KARST_RRB_SOUTH_WEST, KARST_RRB_SOUTH_EAST, KARST_RRB_SLOTS };

enum { KARST_RRB_LEAST_ROWS = 4 /* J of a thread's share of a factorization: so many that its seams do not overlap */ };

/* A line has each slot of the nodes 0, 2, ... (parity 0) and of the nodes 1, 3, ... (parity 1) in pitch elements. A
 * thread has two lines and a row of a stencil. */
KARST_INLINE int64_t karst_rrb_line_elements(const karst_rrb *rrb)
{
  return (4 * KARST_RRB_SLOTS + KARST_RRB_PARTS) * rrb->shape[0].pitch;
}

KARST_INLINE double *karst_rrb_line_part(const karst_rrb *rrb, double *line, int slot, int parity)
{
  return line + (2 * slot + parity) * rrb->shape[0].pitch;
}

/* The number on grid 0 of node (i, j) of grid m. */
KARST_INLINE karst_index karst_rrb_node(const karst_rrb *rrb, int m, karst_index i, karst_index j)
{
  return (karst_index)(((int64_t)j << m) * rrb->size[0] + ((int64_t)i << m));
}

/* Whether a node belongs to a block row; a hole does not. */
KARST_INLINE bool karst_rrb_has_node(const karst_rrb *rrb, int m, karst_index i, karst_index j)
{
  const karst_rrb_cpu *plan = (const karst_rrb_cpu *)rrb->plan;
  return !plan->row || plan->row[karst_rrb_node(rrb, m, i, j)] >= 0;
}

/* The outcome for an entry of A in the row of a node that is not finite, and the reason for a bad pivot from 1 / d. */
static inline karst_rrb_outcome karst_rrb_entry_outcome(karst_index node)
{
  return (karst_rrb_outcome){KARST_NOT_FINITE, 0, node, -1};
}

static inline karst_reason karst_rrb_pivot_reason(double inverse)
{
  return isnan(inverse) ? KARST_NOT_FINITE : KARST_INDEFINITE_PRECOND;
}

/* load.c: reads row j of the nodes of grid 0 from A. */
void karst_rrb_line_read(const karst_matrix *A, const karst_rrb *rrb, karst_index j, double *line);
/* Returns the first block row with an entry whose image differs, among the couplings of row j with itself and with row
 * j - 1, whose line below is (NULL: no such row), or else found. */
karst_index karst_rrb_line_check(const karst_matrix *A, const karst_rrb *rrb, karst_index j, double *line,
                                 double *below, karst_index found);
/* Returns the first node of row j whose row of the matrix has an entry that is not finite, or -1. */
karst_index karst_rrb_line_not_finite(const karst_rrb *rrb, karst_index j, double *line);

extern const struct karst_rrb_kernels karst_rrb_kernels_cpu; /* plan.c */

/* Whether a grid is stored node by node from its first level on. */
static inline bool karst_rrb_is_naive(const karst_rrb *rrb) { return rrb->grouped == 0 && rrb->grids > 0; }

/* exchange.c: a vector over the nodes of grid 0. */
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

/* inspect.c */
karst_status karst_rrb_inspect_cpu(karst_context *context, const karst_matrix *A, const karst_rrb *rrb,
                                   karst_rrb_pattern *pattern);

/* factor.c */
karst_status karst_rrb_factor_cpu(karst_context *context, const karst_matrix *A, karst_rrb *rrb,
                                  karst_rrb_outcome *outcome);

/* gather.c: writes the stencil of the remaining nodes into band. */
void karst_rrb_gather_cpu(const karst_rrb *rrb);

/* rest.c: factors the remaining nodes as L D L^T in the storage of band, and solves in place. factor expects the
 * diagonal entry where 1 / d will be, and returns the first row whose pivot is not positive and finite, or -1. */
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
