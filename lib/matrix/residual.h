/* residual.h - the norm of b - A x, computed so that a norm of at most a target is so in exact arithmetic too; and the
 * place of the value in A that makes a norm not finite. */
#ifndef KARST_LIB_MATRIX_RESIDUAL_H
#define KARST_LIB_MATRIX_RESIDUAL_H

#include "lib/wells/wells.h"

/* The work space of a residual, all in device memory. */
typedef struct karst_residual_space {
  double *r, *size; /* [rows] */
  double *norm2;    /* [2] */
} karst_residual_space;

/* A component's rounding errors are at most this part of |b| + |A| |x|: (m + 2) u for rows of at most m scalar entries
 * and the rounding unit u (Higham, Accuracy and Stability of Numerical Algorithms, 2nd edition, section 3.1). Here and
 * below, if wells is not NULL, A stands for A - C^T D^-1 B and |A| |x| has what karst_wells_add_size adds. */
double karst_residual_unit(const karst_matrix *A, const karst_wells_view *wells);

/* r = b - A x, norm2[0] = r . r and *norm = |r|. *precise: compute r to twice the working precision. If *precise is
 * false, and the norm is at most target but rounding errors could hide that it exceeds target, r is computed precisely
 * as well, and *precise becomes true. *error: a bound of the rounding error in *norm; 0 if r was computed precisely,
 * infinity if the bound was not computed. bounded: compute the bound even if the target does not need it. unit:
 * karst_residual_unit of A. */
karst_status karst_residual_norm(const karst_matrix *A, const karst_wells_view *wells, double unit, const double *b,
                                 const double *x, double target, bool bounded, const karst_residual_space *space,
                                 bool *precise, double *norm, double *error);

/* Whether each component of r = b - A x, computed precisely, is at most unit times that of |b| + |A| |x|. x then solves
 * exactly a system whose numbers differ this little from the given ones (Oettli and Prager, Numer. Math. 6 (1964),
 * 405-409). Slow: it reads the elements on the host. */
karst_status karst_residual_is_rounding(const karst_matrix *A, const karst_wells_view *wells, double unit,
                                        const double *b, const double *x, const karst_residual_space *space, bool *yes);

/* The first block row with a value that is NaN or infinite, or -1; of a distributed matrix its global number, and
 * collective. Slow: it reads the values on the host. */
karst_status karst_matrix_find_not_finite(const karst_matrix *A, karst_index *block_row);

#endif
