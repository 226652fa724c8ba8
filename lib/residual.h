/* residual.h - computes the norm of b - A x so that a norm of at most a target is so in exact arithmetic too. */
#ifndef KARST_LIB_RESIDUAL_H
#define KARST_LIB_RESIDUAL_H

#include "matrix.h"

/* The work space of a residual, all in device memory. */
typedef struct karst_residual_space {
  double *r, *size; /* [rows] */
  double *norm2;    /* [2] */
  double unit;      /* bound of a component's rounding errors over |b| + |A| |x|; see karst_residual_unit */
} karst_residual_space;

/* Returns (m + 2) u for rows of at most m scalar entries and the unit roundoff u (Higham, Accuracy and Stability of
 * Numerical Algorithms, 2nd edition, section 3.1). */
double karst_residual_unit(const karst_matrix *A);

/* Computes r = b - A x, norm2[0] = r . r and *norm = |r|. *precise asks for twice the working precision. If it is
 * false, but the norm is at most target and rounding errors could hide that the exact norm is not, r is computed again
 * with twice the precision and *precise becomes true. expected says that the norm is likely to be at most target, which
 * selects the cheaper way. */
karst_status karst_residual_norm(const karst_matrix *A, const double *b, const double *x, double target, bool expected,
                                 const karst_residual_space *space, bool *precise, double *norm);

#endif
