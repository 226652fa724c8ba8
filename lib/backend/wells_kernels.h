/* wells_kernels.h - the typed kernel table of wells beside a matrix (lib/wells/wells.h). Every backend has an instance;
 * the CPU's is the reference. Sums go over the perforations of a well or a cell in their order, or in a fixed tree. */
#ifndef KARST_LIB_BACKEND_WELLS_KERNELS_H
#define KARST_LIB_BACKEND_WELLS_KERNELS_H

#include "lib/backend/cpr_kernels.h"
#include "lib/wells/wells.h"

/* The entries of a pressure matrix that belong to wells, one row and column each; device memory. A well that is open to
 * a cell several times has one entry for it. */
typedef struct karst_wells_entries {
  karst_index *of_cell; /* [perforations] the number of the entry in the cell's row */
  karst_index *of_well; /* [perforations] the number of the entry in the well's row */
  karst_index *own;     /* [wells] the number of the well's diagonal entry */
} karst_wells_entries;

/* The largest scale of a well's row in a pressure matrix, and 1 over the smallest. Quasi-IMPES weights make the rows of
 * cells 1 on the diagonal, and beside a scale out of these bounds the values of float would not hold them. */
#define KARST_WELLS_LARGEST_SCALE 1e30

struct karst_wells_kernels {
  /* Inverts the blocks of D with pivoting. If one has no inverse, or a value is not finite, sets *reason and *bad, the
   * first such well; else leaves them. A well whose B and C are zero takes no part, so its D may be singular. Waits for
   * the device. */
  karst_status (*factor)(karst_context *context, karst_wells *wells, karst_reason *reason, karst_index *bad);
  /* w = D^-1 (g - B x). g or x may be NULL for zeros. unknown: as karst_wells_multiply. */
  void (*solve)(karst_context *context, const karst_wells_view *view, int unknown, const double *g, const double *x,
                double *w);
  /* y = y + sign C^T w */
  void (*add)(karst_context *context, const karst_wells_view *view, double sign, const double *w, double *y);
  void (*add_size)(karst_context *context, const karst_wells_view *view, const double *x, double *size);
  void (*residual_precise)(karst_context *context, const karst_wells_view *view, const karst_matrix *A, const double *b,
                           const double *x, double *r);
  /* Computes the wells' entries of the pressure matrix of CPR, value: in the rows of cells P = w_i^T C^T, w_i the
   * weights of the cell, and in the row of the well s G and, on the diagonal, s, with G = D^-1 B E. Of the n unknowns
   * of a well the row stands for the one with the largest |P| |G|, sums over its perforations, and s = |P| / |G|; if
   * that product is 0, or no unknown has a scale within bounds, the well's row is that of the identity and nothing
   * couples with it. */
  void (*pressure)(karst_context *context, const karst_wells_view *view, const karst_cpr *cpr,
                   const karst_wells_entries *entries, double *value);
};

#endif
