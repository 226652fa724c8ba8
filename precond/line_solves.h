/* line_solves.h - what lines, adi and the smoothers of those names share: the lines of one or more axes of a grid, and
 * solves along them one axis after the other. */
#ifndef KARST_PRECOND_LINE_SOLVES_H
#define KARST_PRECOND_LINE_SOLVES_H

#include "lib/backend/lines_kernels.h"
#include "lib/method/precond.h"

/* The option line-direction, a karst_line_direction, which is the first member of the settings of every method that
 * lists its row. */
typedef enum karst_line_direction {
  KARST_LINES_AUTO,
  KARST_LINES_X,
  KARST_LINES_Y,
  KARST_LINES_Z
} karst_line_direction;
extern const karst_option karst_line_direction_rows[];

/* Puts the axis of lines as line_direction_used. */
karst_status karst_line_direction_put(karst_precond *p, const karst_lines *lines);

/* The lines of some axes, which depend on the pattern alone. */
typedef struct karst_line_axes {
  int count;
  karst_lines lines[KARST_AXES];
} karst_line_axes;

/* Makes the lines along a direction; auto is the axis of the strongest couplings by the present values. method: for
 * errors. KARST_ERROR_NOT_BUILT if the backend has no kernels, KARST_ERROR_MATRIX if A neither has a grid nor shows one.
 * After a failure, too, karst_line_axes_destroy releases what was taken. */
karst_status karst_line_axes_make_along(karst_context *context, const karst_matrix *A, const char *method,
                                        int direction, int colours, karst_line_axes *axes);
/* The same for the axes that are longer than one cell, or the first axis if there is no such axis. */
karst_status karst_line_axes_make_all(karst_context *context, const karst_matrix *A, const char *method,
                                      karst_line_axes *axes);
void karst_line_axes_destroy(karst_context *context, karst_line_axes *axes);

/* Factors of the lines of each axis: with the block tridiagonal matrices T_1 .. T_n of the axes,
 *
 *     M = T_1 D^-1 T_2 ... D^-1 T_n
 *
 * where D is the block diagonal of A, which each T contains. With 2 colours and one axis z is found for the lines of
 * colour 0, and then for those of colour 1 with the residual that these leave. */
typedef struct karst_line_solves {
  const karst_line_axes *axes; /* which outlive it */
  karst_index *diagonal;       /* [block_rows] the number of each diagonal block in A, device memory; NULL: one axis */
  karst_lines_factors factors[KARST_AXES];
} karst_line_solves;

/* Takes the memory of the factors. After a failure, too, destroy releases it; it accepts solves that are zero. */
karst_status karst_line_solves_plan(karst_context *context, const karst_matrix *A, const karst_line_axes *axes,
                                    karst_line_solves *solves);
void karst_line_solves_destroy(karst_context *context, karst_line_solves *solves);
/* Computes the factors for the values of A. Allocates nothing. The outcome is the first block row whose block of D is
 * bad, with more than one axis, or else the first bad block row of the first axis that has one. */
karst_status karst_line_solves_factor(karst_context *context, const karst_matrix *A, karst_line_solves *solves,
                                      karst_factor_outcome *outcome);
/* z = M^-1 r; r and z do not overlap. Allocates nothing and waits for nothing. */
void karst_line_solves_apply(karst_context *context, const karst_matrix *A, const karst_line_solves *solves,
                             const double *r, double *z);

/* Sets factor_entries, memory and traffic of a preconditioner that has nothing else. */
void karst_line_solves_count(karst_precond *p, const karst_line_solves *solves);

#endif
