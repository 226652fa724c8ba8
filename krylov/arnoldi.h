/* arnoldi.h - what gmres and fgmres share: Arnoldi's process, and the least squares problem that it makes small.
 *
 * A method's cycle begins, lets the basis grow, solves the least squares problem, and makes its correction of x. */
#ifndef KARST_KRYLOV_ARNOLDI_H
#define KARST_KRYLOV_ARNOLDI_H

#include "krylov/basis.h"

/* The least squares problem min |g - H y|, as R and rotations. */
typedef struct karst_least_squares {
  double *R;             /* [m (m + 1) / 2] columns one after the other */
  double *cosine, *sine; /* [m] */
  double *g;             /* [m + 1] the right-hand side, rotated; |g[j]| is the residual norm after j columns */
  double unrotated;      /* g[columns - 1] before the last column's rotation */
  int columns;
} karst_least_squares;

/* Its scalars in device memory, with the mirror on the host: of a late second pass |v|^2 and then its part of h, ending
 * where those of the iteration begin: |w|^2 at norm2, then h[0..j], then what a second pass without delay adds to h. At
 * the end y takes the place of h. */
typedef struct karst_arnoldi {
  bool left;           /* the side of the preconditioner */
  double **Z;          /* [m] vectors that keep M^-1 v_j, or NULL: k->work.r takes each for its iteration */
  bool twice, watched; /* passes of Gram-Schmidt, from the options */
  int64_t norm2;       /* m + 1 */
  double *overlap;     /* [m * m] v_i'v_l for i != l as the recurrence has it, 0 for i = l, where watched */
  uint64_t noise;      /* where its random numbers are */
  bool late;           /* the newest basis vector is to be made orthogonal once more */
  double *h, next;     /* [m] and below it: the column of H that this will change */
  karst_least_squares T;
} karst_arnoldi;

/* The settings begin with a karst_basis, whose restart is m: the vectors 0..m of the work space become the basis V, and
 * Arnoldi's process uses all of its scalars. A method may have further vectors after those. */
karst_krylov_workspace karst_arnoldi_workspace(const karst_krylov *k, void *settings);
karst_arnoldi karst_arnoldi_begin(const karst_krylov *k, bool left, double **Z);

/* V grows from k->work.r, at each step by one vector and H by one column, until the residual norm is at the goal, a
 * preconditioner fails, m is reached, or the basis cannot grow. *reason as for a cycle. */
karst_status karst_arnoldi_grow(karst_krylov *k, karst_arnoldi *a, karst_reason *reason);

/* The coefficients that the columns so far have in the correction, *y in device memory; there is one at least. */
karst_status karst_arnoldi_solve(karst_krylov *k, const karst_arnoldi *a, const double **y);

#endif
