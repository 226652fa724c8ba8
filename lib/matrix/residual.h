/* residual.h - the norm of b - A x, computed so that a norm that is at most a target is so in exact arithmetic too; and
 * where A has the value that makes one not finite. */
#ifndef KARST_LIB_MATRIX_RESIDUAL_H
#define KARST_LIB_MATRIX_RESIDUAL_H

#include "lib/matrix/matrix.h"

/* The work space of a residual, all in device memory. */
typedef struct karst_residual_space {
  double *r, *size; /* [rows] */
  double *norm2;    /* [2] */
} karst_residual_space;

/* A component's rounding errors are at most this part of |b| + |A| |x|: (m + 2) u for rows of at most m scalar entries
 * and the rounding unit u (Higham, Accuracy and Stability of Numerical Algorithms, 2nd edition, section 3.1). */
double karst_residual_unit(const karst_matrix *A);

/* r = b - A x, norm2[0] = r . r and *norm = |r|. *precise: compute r to twice the working precision. If it is false,
 * but the norm is at most target and rounding errors could hide that it exceeds target, r is computed precisely all the
 * same, and *precise becomes true. *error: a bound of the rounding error in *norm; 0 where r was computed precisely,
 * and infinity where the bound was not computed. bounded: compute the bound even where the target does not need it.
 * unit: karst_residual_unit of A. */
karst_status karst_residual_norm(const karst_matrix *A, double unit, const double *b, const double *x, double target,
                                 bool bounded, const karst_residual_space *space, bool *precise, double *norm,
                                 double *error);

/* Whether each component of r = b - A x, computed precisely, is at most unit times that of |b| + |A| |x|: x solves a
 * system exactly whose numbers differ from the given ones by so little (Oettli and Prager, Numer. Math. 6 (1964),
 * 405-409). Not the fast path: looks at the elements on the host. */
karst_status karst_residual_is_rounding(const karst_matrix *A, double unit, const double *b, const double *x,
                                        const karst_residual_space *space, bool *yes);

/* The first block row with a value that is NaN or infinite, or -1. Not the fast path: looks at them on the host. */
karst_status karst_matrix_find_not_finite(const karst_matrix *A, karst_index *block_row);

#endif
