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
  /* G = diag(d) H diag(g) and G_i = S_i H_i in the rows of the boundary, with H the couplings of halo->origin; d has the
   * scalars of the own rows, and S b*b for each. */
  void (*scale_symmetric)(karst_context *context, const karst_halo *halo, const double *d, const double *g);
  void (*scale_rows)(karst_context *context, const karst_halo *halo, const double *S);

  /* Of a backend whose memory is not the host's; NULL on the CPU. pin takes host memory from which transfers are fast,
   * and unpin releases it. The others call the functions of the transport that queue, with the context's device current;
   * reduce then adds the parts of the ranks, in device memory [ranks count], in their order. */
  karst_status (*pin)(karst_context *context, size_t bytes, const char *what, void **memory);
  void (*unpin)(karst_context *context, void *memory);
  bool (*prepare)(karst_context *context);
  karst_status (*reduce)(karst_context *context, int count, double *scalars, double *parts);
  karst_status (*gather)(karst_context *context, size_t bytes, const void *own, void *all);
  karst_status (*exchange)(karst_context *context, int count, const karst_transfer *transfers);
};

#endif
