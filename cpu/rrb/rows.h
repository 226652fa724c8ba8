/* rows.h - the loops of the repeated red-black method over one row of places, and over pairs of rows. rows.c compiles
 * them; each J of a sweep takes a few of them one after the other, while the row is in the first-level cache. */
#ifndef KARST_CPU_RRB_ROWS_H
#define KARST_CPU_RRB_ROWS_H

#include "cpu/cpu.h"
#include "lib/backend/rrb_kernels.h"

/* What a sweep over a grid works on. All pointers are to element (0, 0) of an array of the grid's shape. */
typedef struct karst_rrb_sweep {
  const karst_rrb_shape *shape;
  const void *l[KARST_RRB_FACTORS][KARST_RRB_PARTS]; /* the factor */
  bool single[KARST_RRB_FACTORS];                    /* its type: float or double */
  const double *from[KARST_RRB_GROUPS];              /* the vector before the sweep */
  double *to[KARST_RRB_GROUPS];                      /* and after it, which may be the same */
} karst_rrb_sweep;

/* The number of places with a node: on axis 0 in a row of b2 or r2 (odd = 0), of b1 or r1 (odd = 1); on axis 1 the rows
 * of b2 or r1 (0), of b1 or r2 (1). */
KARST_INLINE int64_t karst_rrb_nodes(const karst_rrb_shape *shape, int axis, int odd)
{
  return (shape->size[axis] + !odd) / 2;
}

/* In all of these at is the element of the first place, relative to element (0, 0), and n counts places. */

/* Forward: subtracts from b1, and from the b2 of a row, the contributions of the red nodes beside them. */
void karst_rrb_red_to_b1(const karst_rrb_sweep *sweep, int64_t at, int64_t n);
void karst_rrb_red_to_b2(const karst_rrb_sweep *sweep, int64_t at, int64_t n, double *b2);
/* Forward: result = b2 minus the contributions of the b1 around. */
void karst_rrb_b1_to_b2(const karst_rrb_sweep *sweep, int64_t at, int64_t n, const double *b2, double *result);
/* Backward: b1 from b2; r1 and r2 from both. */
void karst_rrb_b1_back(const karst_rrb_sweep *sweep, int64_t at, int64_t n);
void karst_rrb_r1_back(const karst_rrb_sweep *sweep, int64_t at, int64_t n);
void karst_rrb_r2_back(const karst_rrb_sweep *sweep, int64_t at, int64_t n);

/* Splits a row of n nodes into those at even and at odd places, and joins it again. */
void karst_rrb_split(int64_t n, const double *row, double *even, double *odd);
void karst_rrb_join(int64_t n, const double *even, const double *odd, double *row);

enum {
  KARST_RRB_LANES = 8,    /* independent partial sums */
  KARST_RRB_SEGMENTS = 64 /* pieces of a sum, whose limits depend on the grid alone */
};

/* Adds x . y to the lanes; n is a multiple of LANES. */
void karst_rrb_add_dot(int64_t n, const double *x, const double *y, double *lane);
KARST_INLINE double karst_rrb_add_lanes(const double *lane)
{
  return ((lane[0] + lane[4]) + (lane[2] + lane[6])) + ((lane[1] + lane[5]) + (lane[3] + lane[7]));
}

/* Computes row J of both black groups of y = S x, pads too, and adds x . y to the lanes. S, x and y: element (0, 0) of
 * b2. */
void karst_rrb_multiply_rows(const karst_rrb_shape *shape, int64_t J, const double *schur, const double *x, double *y,
                             double *lane);

#endif
