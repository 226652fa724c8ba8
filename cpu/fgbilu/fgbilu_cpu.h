/* fgbilu_cpu.h - the plans of block ILU(0) on structured grids on the CPU: the boxes of cells that threads work on,
 * work space, and the arguments of the kernels of a row of cells.
 *
 * All styles run the same kernels and differ only in the boxes. The style lines has boxes of one or more lines of
 * cells. The style wavefront has boxes of one cell; its levels are the hyperplanes x + y + z. The style sequential has
 * no boxes. A box depends on the boxes before it along each axis, so that boxes of one level, the sum of their
 * positions, are independent. A cell's result does not depend on its box. */
#ifndef KARST_CPU_FGBILU_FGBILU_CPU_H
#define KARST_CPU_FGBILU_FGBILU_CPU_H

#include "cpu/cpu.h"
#include "lib/backend/fgbilu_kernels.h"

/* The boxes that a grid is cut into, which are one cell high along z. Box (x, y, z) has number x + count[0] (y +
 * count[1] z), and the last ones along x and y may be smaller. */
typedef struct karst_boxes {
  karst_index edge[2];      /* cells of a box along x and y */
  karst_index count[3];     /* boxes along each axis */
  karst_index levels;       /* 0: there are no boxes, and the cells are taken in order */
  karst_index *level_start; /* [levels + 1] */
  karst_index *box;         /* [boxes] the boxes of level 0, then those of level 1 and so on */
} karst_boxes;

/* The plan of an analysis, which never changes. */
typedef struct karst_fgbilu_schedule {
  karst_boxes boxes;
  bool triangles; /* whether the factor keeps LU factors rather than inverses */
  int threads;    /* of the factorization and the sweeps */
} karst_fgbilu_schedule;

/* The work space of one thread that factors, and its outcome. */
typedef struct karst_fgbilu_workspace {
  double *block; /* [2 b*b + 2 b] a product, the size of the block that is made, and its inversion's */
  int *pivot;    /* [b] */
  karst_reason reason;
  karst_index cell; /* the first bad one, or the number of cells */
} karst_fgbilu_workspace;

/* The plan of a factorization. */
typedef struct karst_fgbilu_space {
  int threads;
  karst_fgbilu_workspace *workspace; /* [threads] */
  int *exchange; /* [b*rows] the row that each step of a block's elimination exchanged with its own; NULL: inverses */
} karst_fgbilu_space;

/* The arguments of the kernels of a line of cells. */
typedef struct karst_fgbilu_pass {
  const karst_matrix *A;
  const karst_structured *cells;
  int block_size;
  karst_index stride[KARST_FACES]; /* from a cell's number to the number of the cell behind each face */
  bool pivoting;
  const double *value; /* of A */
  double *factor;
  float *value_float, *factor_float; /* as in karst_fgbilu */
  int *exchange;
  karst_fgbilu_workspace *workspace; /* factorization: this thread's */
  const double *r;                   /* sweeps */
  double *z;
} karst_fgbilu_pass;

/* Works on the cells first .. last - 1, and skips those that are not in the matrix. */
typedef void karst_fgbilu_line(const karst_fgbilu_pass *pass, karst_index first, karst_index last);

/* Makes the boxes of the style wavefront or lines in the plan of an analysis. If lines would not pay, it makes no boxes
 * and leaves one thread. After a failure the caller destroys the boxes. */
karst_status karst_boxes_make(karst_context *context, karst_fgbilu_style style, karst_fgbilu_analysis *analysis);
void karst_boxes_destroy(karst_context *context, karst_boxes *boxes);

/* Takes all cells of the grid, or those of the boxes of one level after the other. backward: from the last cell. */
void karst_fgbilu_traverse(karst_context *context, karst_kind kind, const karst_fgbilu *fgbilu, karst_fgbilu_line *line,
                           const karst_fgbilu_pass *pass, bool backward);

/* Fills in the members that a factorization and both sweeps use. */
karst_fgbilu_pass karst_fgbilu_begin(const karst_matrix *A, const karst_fgbilu *fgbilu);

/* The entries of the table. Each is in the file of its name. */
extern const struct karst_fgbilu_kernels karst_fgbilu_kernels_cpu;
void karst_fgbilu_measure_cpu(karst_context *context, const karst_matrix *A, const karst_fgbilu_analysis *analysis,
                              double *remainder, double *couplings);
karst_status karst_fgbilu_factor_cpu(karst_context *context, const karst_matrix *A, karst_fgbilu *fgbilu,
                                     karst_factor_outcome *outcome);
void karst_fgbilu_solve_cpu(karst_context *context, const karst_matrix *A, const karst_fgbilu *fgbilu, const double *r,
                            double *z);

#endif
