/* arnoldi.h - shared by gmres and fgmres: Arnoldi's process, and the small least squares problem that it leads to.
 *
 * A method's cycle begins, lets the basis grow, solves the least squares problem, and corrects x. */
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

/* Scalars in device memory and their mirror on the host: |v|^2 and the part of h of a late second pass, up to norm2;
 * then those of the iteration: |w|^2 at norm2, h[0..j], and what an immediate second pass adds to h. At the end y
 * replaces h. */
typedef struct karst_arnoldi {
  bool left;           /* the side of the preconditioner */
  double **Z;          /* [m] vectors that keep M^-1 v_j; NULL: k->work.r holds it during an iteration */
  bool twice, watched; /* passes of Gram-Schmidt, from the options */
  int64_t norm2;       /* m + 1 */
  double *overlap;     /* [m * m] v_i'v_l for i != l by the recurrence, 0 for i = l; only if watched */
  uint64_t noise;      /* state of its random numbers */
  bool late;           /* the newest basis vector needs a late second pass */
  double *h, next;     /* [m] and below it: the column of H that this pass will change */
  karst_least_squares T;
} karst_arnoldi;

/* The settings begin with a karst_basis, whose restart is m. Vectors 0..m of the work space become the basis V, and
 * Arnoldi's process uses all scalars. A method may have further vectors after these. */
karst_krylov_workspace karst_arnoldi_workspace(const karst_krylov *k, void *settings);
karst_arnoldi karst_arnoldi_begin(const karst_krylov *k, bool left, double **Z);

/* Starts V from k->work.r and adds a vector to V and a column to H in each step, until the residual norm is at the
 * goal, a preconditioner fails, m is reached, or the basis cannot grow. *reason as for a cycle. */
karst_status karst_arnoldi_grow(karst_krylov *k, karst_arnoldi *a, karst_reason *reason);

/* Computes the coefficients of the correction, *y in device memory; there must be at least one column. */
karst_status karst_arnoldi_solve(karst_krylov *k, const karst_arnoldi *a, const double **y);

#endif
