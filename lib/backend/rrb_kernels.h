/* rrb_kernels.h - the typed kernel table of the repeated red-black method (rrb), and the storage that its kernels work
 * on. Every backend has an instance; the CPU's is the reference that others are tested against.
 *
 * De Jong, van der Ploeg, Ditzel and Vuik, Fine-grain parallel RRB-solver for 5-/9-point stencil problems suitable for
 * GPU-type processors, ETNA 46 (2017), 375-393. Grid 0 is that of the matrix. On each grid the nodes (i, j), counted
 * from 0, fall into four groups, each of coarse[0]-by-coarse[1] places (I, J); some places may have no node:
 *
 *     b2 (2I, 2J)      b1 (2I + 1, 2J + 1)      r1 (2I + 1, 2J)      r2 (2I, 2J + 1)
 *
 * Level 2m + 1 eliminates r1 and r2 of grid m, level 2m + 2 eliminates b1, and b2 is grid m + 1. A node that is
 * eliminated has four neighbours left. Its couplings with them are numbered:
 *
 *     r1   0 b2(I, J)      1 b2(I + 1, J)    2 b1(I, J - 1)    3 b1(I, J)             west, east, south, north
 *     r2   0 b1(I - 1, J)  1 b1(I, J)        2 b2(I, J)        3 b2(I, J + 1)         west, east, south, north
 *     b1   0 b2(I, J)      1 b2(I + 1, J)    2 b2(I, J + 1)    3 b2(I + 1, J + 1)     sw, se, nw, ne
 *
 * Couplings with nodes of the same level are lumped: added to the diagonal entry, and dropped. M = L D L^T where column
 * e of L has l = a / d below the diagonal for each of the four, with d the pivot. */
#ifndef KARST_LIB_BACKEND_RRB_KERNELS_H
#define KARST_LIB_BACKEND_RRB_KERNELS_H

#include "lib/backend/dense.h"
#include "lib/grid/grid.h"
#include "lib/base/inline.h"

enum {
  KARST_RRB_GRIDS = 65, /* largest number: each grid halves the axes of the one before */
  KARST_RRB_COUPLINGS = 4,
  KARST_RRB_PARTS = 5 /* arrays for each group of a stencil or a factor */
};

typedef enum karst_rrb_group {
  KARST_RRB_B2,
  KARST_RRB_B1,
  KARST_RRB_R1,
  KARST_RRB_R2,
  KARST_RRB_GROUPS
} karst_rrb_group;

/* The arrays of a 9-point stencil on a grid, for each of the four groups; a node's neighbours store its other
 * couplings. */
typedef enum karst_rrb_straight {
  KARST_RRB_CENTRE,
  KARST_RRB_EAST,       /* with (i + 1, j) */
  KARST_RRB_NORTH,      /* with (i, j + 1) */
  KARST_RRB_NORTH_EAST, /* with (i + 1, j + 1) */
  KARST_RRB_NORTH_WEST  /* with (i - 1, j + 1) */
} karst_rrb_straight;

/* The arrays of the 9-point stencil on the black nodes of a grid, for each of the groups b2 and b1. */
typedef enum karst_rrb_skew {
  KARST_RRB_SKEW_CENTRE,
  KARST_RRB_SKEW_NORTH_EAST, /* with (i + 1, j + 1) */
  KARST_RRB_SKEW_NORTH_WEST, /* with (i - 1, j + 1) */
  KARST_RRB_SKEW_EAST,       /* with (i + 2, j) */
  KARST_RRB_SKEW_NORTH       /* with (i, j + 2) */
} karst_rrb_skew;

/* Returns a sum, or 0 if it is lost in its rounding errors, by the rule of lib/backend/dense.h: at most 16 epsilon
 * times its size, the sum of the absolute values of its terms. Every centre of a stencil and every pivot is summed in
 * this way; a pivot of 0 is an error. */
KARST_INLINE double karst_rrb_sum(double sum, double size)
{
  return !(fabs(sum) <= karst_block_rounding(1) * size) ? sum : 0;
}

/* One grid, and the storage of its nodes in groups: an array has a row of pitch > coarse[0] elements for each J, and a
 * guard row before and behind it that it shares with the neighbouring arrays. Guards and places without a node are
 * always 0, so that no loop tests for the edge of the grid: the place before a row is the last of the row before. */
typedef struct karst_rrb_shape {
  karst_index size[2];   /* nodes along each axis, nx and ny */
  karst_index coarse[2]; /* (size + 1) / 2 */
  int64_t pitch;         /* a multiple of 16 elements */
  int64_t array;         /* pitch (coarse[1] + 1): elements from one array to the next */
} karst_rrb_shape;

/* Elements of this many arrays one after the other. */
KARST_INLINE int64_t karst_rrb_elements(const karst_rrb_shape *shape, int arrays)
{
  return shape->pitch + arrays * shape->array;
}

/* The place of element (0, 0) of array number k; (I, J) is I + J pitch further on. A vector has its groups as arrays 0
 * to 3; a vector of the black nodes has the first two. A stencil has part p of group g as array PARTS g + p. A factor
 * has, for the groups r1, r2 and b1 in this order as e = 0 to 2, coupling c as array PARTS e + c and 1 / d as PARTS e +
 * 4. */
KARST_INLINE int64_t karst_rrb_array(const karst_rrb_shape *shape, int k) { return shape->pitch + k * shape->array; }

/* The group of node (i, j) of a grid. */
KARST_INLINE karst_rrb_group karst_rrb_group_of(int64_t i, int64_t j)
{
  return j & 1 ? (i & 1 ? KARST_RRB_B1 : KARST_RRB_R2) : (i & 1 ? KARST_RRB_R1 : KARST_RRB_B2);
}

/* The place of node (i, j) in the first of this many arrays per group: 1 in a vector, PARTS in a stencil. */
KARST_INLINE int64_t karst_rrb_element(const karst_rrb_shape *shape, int arrays, int64_t i, int64_t j)
{
  return karst_rrb_array(shape, arrays * (int)karst_rrb_group_of(i, j)) + i / 2 + j / 2 * shape->pitch;
}

enum { KARST_RRB_FACTOR_R1, KARST_RRB_FACTOR_R2, KARST_RRB_FACTOR_B1, KARST_RRB_FACTORS, KARST_RRB_INVERSE = 4 };

/* All arrays, in the memory of the device: one allocation. Arrays and guards are zero at first. */
typedef struct karst_rrb_arrays {
  double *first;                 /* the factor of level 1: arrays of r1 and r2 of grid 0, always double */
  double *schur;                 /* the stencil on the black nodes of grid 0, which is S for 5 points; also skew[0] */
  void *factor[KARST_RRB_GRIDS]; /* of grid m: all groups, on grid 0 only b1, as arrays 0 to 4. float or double */
  double *straight[KARST_RRB_GRIDS + 1]; /* [1..] the stencil of 9 points on grid m */
  double *skew[KARST_RRB_GRIDS];         /* the stencil on its black nodes */
  double *vector[KARST_RRB_GRIDS + 1];   /* of the four groups of grid m: the preconditioner's work space */
  double *memory;
  int64_t bytes;
} karst_rrb_arrays;

/* The analysis of the grid's sizes, the pattern and the options. precond/rrb.c sets everything except plan. */
typedef struct karst_rrb {
  karst_index size[2];     /* nodes along each axis of grid 0; exchanged if karst_rrb_turns says so */
  const karst_index *cell; /* [block rows] the node j nx + i of each block row, host; NULL: its number */
  karst_index rows;        /* block rows; fewer than nodes if the grid has inactive cells: places without a node */
  bool nine_point;         /* the pattern couples nodes across corners, so the first elimination is not exact */
  int levels;              /* eliminations */
  int grids;               /* (levels + 1) / 2: those with eliminated nodes */
  int grouped;             /* number of grids stored in groups; the nodes of the others stay in place in grid number
                            * grouped, which is stored row by row, nx nodes each, without guards */
  bool single;             /* factors from level 2 on are float */
  karst_rrb_shape shape[KARST_RRB_GRIDS + 1]; /* of grids 0 to grids */
  karst_index rest;      /* nodes that are left: all of grid levels / 2, or only its black ones if levels is odd */
  karst_index rest_band; /* the largest distance of two coupled nodes in the order of karst_rrb_rest_node */
  int64_t reduced;       /* elements of a vector of grid 0's black nodes: two groups, or nx ny with grouped = 0, where
                          * those of red nodes are 0; 0 with nine_point or levels = 0 */
  void *plan;            /* the backend's arrays */
  int64_t plan_memory;   /* its bytes */
} karst_rrb;

/* Sets grids, shape, rest, rest_band and reduced from size, nine_point, levels and grouped. */
void karst_rrb_lay_out(karst_rrb *rrb);

/* The largest number of levels of a grid: one node is then left. */
int karst_rrb_levels_max(const karst_index size[2]);

/* Whether to exchange the axes of a grid to make its rows long: a row of an array has at least PITCH elements, however
 * few nodes there are along the first axis. The method treats both axes equally. True if this saves at least a quarter
 * of the arrays, which is more than the map from block rows to nodes takes. */
bool karst_rrb_turns(const karst_index size[2]);

/* The remaining nodes are numbered line by line along the shorter axis of grid levels / 2, for a narrow band: node
 * number q < rest is (*i, *j) there. */
void karst_rrb_rest_node(const karst_rrb *rrb, karst_index q, karst_index *i, karst_index *j);

/* The number of node (i, j), the inverse of karst_rrb_rest_node. size: of grid levels / 2. */
KARST_INLINE karst_index karst_rrb_rest_number(const karst_index size[2], int levels, karst_index i, karst_index j)
{
  const bool upright = size[0] <= size[1];
  const karst_index length = upright ? size[0] : size[1], place = upright ? i : j, line = upright ? j : i;
  if (levels % 2 == 0) return line * length + place;
  return line / 2 * length + (line % 2 ? length / 2 + length % 2 : 0) + place / 2;
}

/* Takes the memory of all arrays on the context's device. KARST_ERROR_NO_MEMORY also if the size overflows. */
karst_status karst_rrb_arrays_create(karst_context *context, const karst_rrb *rrb, karst_rrb_arrays *arrays);
void karst_rrb_arrays_destroy(karst_context *context, karst_rrb_arrays *arrays);

/* Array k of a factor of grid m, of type float or double; see karst_rrb_array. e: KARST_RRB_FACTOR_R1 and so on. The
 * groups r of grid 0 are in arrays->first. */
KARST_INLINE int64_t karst_rrb_factor_array(const karst_rrb *rrb, int m, int e, int part)
{
  const int first = m == 0 && e == KARST_RRB_FACTOR_B1 ? 0 : KARST_RRB_PARTS * e;
  return karst_rrb_array(&rrb->shape[m], first + part);
}

/* The fit of a pattern to the grid. */
typedef struct karst_rrb_pattern {
  bool nine_point;       /* some entry joins nodes across a corner */
  karst_index misfit[2]; /* first block row with an entry that does not join neighbours, and its column; -1: all fit */
} karst_rrb_pattern;

/* reason: KARST_SOUND, KARST_NOT_FINITE (an entry of A or a pivot), KARST_INDEFINITE_PRECOND (a pivot is not positive).
 * Of several such nodes the outcome has the one of the lowest level, then of the lowest node number of grid 0. */
typedef struct karst_rrb_outcome {
  karst_reason reason;
  int level;        /* of the pivot: 1 to levels, levels + 1 for the remaining nodes; 0: an entry in the node's row */
  karst_index node; /* j nx + i on grid 0; -1 */
  karst_index unsymmetric; /* the first block row with an entry whose mirror image differs by more than rounding, or -1;
                            * there are no factors then */
} karst_rrb_outcome;

struct karst_rrb_kernels {
  /* Checks the pattern of A, b = 1, with rrb->size and rrb->cell set. */
  karst_status (*inspect)(karst_context *context, const karst_matrix *A, const karst_rrb *rrb,
                          karst_rrb_pattern *pattern);
  /* Takes all memory, for A and matrices on its pattern. After a failure plan_destroy releases what it took;
   * plan_destroy also accepts rrb->plan NULL. */
  karst_status (*plan)(karst_context *context, const karst_matrix *A, karst_rrb *rrb);
  void (*plan_destroy)(karst_context *context, karst_rrb *rrb);
  /* Factors the values of A. Allocates nothing. Waits for the device. An entry and its mirror image differ if |a - b| >
   * 1e-10 max(sqrt(a_ii a_jj), |a|, |b|), as in lib/matrix/matrix_symmetry.c; a missing image is 0. */
  karst_status (*factor)(karst_context *context, const karst_matrix *A, karst_rrb *rrb, karst_rrb_outcome *outcome);
  /* z = M^-1 r, vectors over the block rows of A. r and z do not overlap. */
  void (*solve)(karst_context *context, const karst_rrb *rrb, const double *r, double *z);

  /* With a 5-point stencil the first elimination is exact, and the system of the black nodes is S x = b' with the first
   * Schur complement S. Its vectors have rrb->reduced elements; those without a node are 0. */

  /* b' = b - A_br D_r^-1 b_r and the black part of x. b and x are over the block rows of A. */
  void (*enter)(karst_context *context, const karst_rrb *rrb, const double *b, const double *x, double *reduced_b,
                double *reduced_x);
  /* x from its black part; the red part is D_r^-1 (b_r - A_rb x_b). */
  void (*leave)(karst_context *context, const karst_rrb *rrb, const double *b, const double *reduced_x, double *x);
  /* y = S x; *dot = x . y in device memory, unless dot is NULL, summed in an order that depends only on the sizes. */
  void (*multiply)(karst_context *context, const karst_rrb *rrb, const double *x, double *y, double *dot);
  /* z = M^-1 r on the black nodes; *dot = r . z in the same way. */
  void (*solve_reduced)(karst_context *context, const karst_rrb *rrb, const double *r, double *z, double *dot);
};

#endif
