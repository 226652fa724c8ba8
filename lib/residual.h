/* residual.h - the norm of b - A x, so that what is at most a target is so in exact arithmetic too. */
#ifndef KARST_LIB_RESIDUAL_H
#define KARST_LIB_RESIDUAL_H

#include "matrix.h"

/* Where a residual is computed, all in device memory. */
typedef struct karst_residual_space {
  double *r, *size; /* [rows] */
  double *norm2;    /* [2] */
  double unit;      /* a component's rounding errors are at most this part of |b| + |A| |x|; karst_residual_unit */
} karst_residual_space;

/* (m + 2) u for rows of at most m scalar entries and the rounding unit u (Higham, Accuracy and Stability of Numerical
 * Algorithms, 2nd edition, section 3.1). */
double karst_residual_unit(const karst_matrix *A);

/* r = b - A x, norm2[0] = r . r and *norm = |r|. *precise: to twice the working precision. If it is not asked for, but
 * the norm is at most target and its rounding errors could hide that it is not, r is computed so all the same, and
 * *precise becomes true. expected: that the norm will be at most target; tells which way is the shorter one. */
karst_status karst_residual_norm(const karst_matrix *A, const double *b, const double *x, double target, bool expected,
                                 const karst_residual_space *space, bool *precise, double *norm);

#endif
