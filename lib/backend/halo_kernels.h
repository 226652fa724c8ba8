/* halo_kernels.h - the typed kernel table of distributed matrices (lib/ranks/halo.h). Every backend has an instance; the
 * CPU's is the reference. g is the ghosts' part of a vector, in the order of the ghosts. */
#ifndef KARST_LIB_BACKEND_HALO_KERNELS_H
#define KARST_LIB_BACKEND_HALO_KERNELS_H

#include "lib/ranks/halo.h"

struct karst_halo_kernels {
  /* y = y + sign G g in the rows of the boundary; and size = size + |G| |g| in the same pass, unless size is NULL. */
  void (*add)(karst_context *context, const karst_halo *halo, double sign, const double *g, double *y, double *size);
  /* r = b - A x - G g in the rows of the boundary, to twice the working precision, rounded once. */
  void (*residual_precise)(karst_context *context, const karst_matrix *A, const double *b, const double *x,
                           const double *g, double *r);
};

#endif
