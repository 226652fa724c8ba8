/* lanczos.h - the extreme eigenvalues of a symmetric tridiagonal matrix, on the host. */
#ifndef KARST_KRYLOV_LANCZOS_H
#define KARST_KRYLOV_LANCZOS_H

/* *least and *largest are the extreme eigenvalues of the matrix with count > 0 entries on its diagonal and count - 1
 * beside it, by bisection (Barth, Martin and Wilkinson, Numerische Mathematik 9 (1967), 386-393). Both are NaN where an
 * entry is not finite. */
void karst_lanczos_extremes(int count, const double *diagonal, const double *beside, double *least, double *largest);

#endif
