/* cpr_wells.h - the pressure system of CPR with a row and a column for each well beside the matrix (OPM's cprw):
 *
 *     [ A_p  P ] [z_p]   [r_p]      P = W^T C^T and G = D^-1 B E for one unknown of each well, its pressure;
 *     [ s G  s ] [z_w] = [ 0 ]      s balances the rows of wells with those of cells
 *
 * Without z_w that is (A_p - P G) z_p = r_p. The wells come last. */
#ifndef KARST_PRECOND_CPR_WELLS_H
#define KARST_PRECOND_CPR_WELLS_H

#include "lib/backend/wells_kernels.h"

typedef struct karst_cpr_wells {
  karst_matrix *matrix;        /* of cells and wells; NULL: the pressure system has no wells */
  karst_index *position;       /* [blocks of A] the number of each entry of A_p in it, device memory */
  karst_wells_entries entries; /* those of the wells */
  double *residual, *solution; /* [rows of the matrix] device memory; the residual is 0 for wells */
  int64_t memory;              /* bytes of all but the matrix's values */
} karst_cpr_wells;

/* Makes the pattern for wells in the order of A. After a failure destroy releases what was made. */
karst_status karst_cpr_wells_make(const karst_matrix *A, const karst_wells_view *view, karst_cpr_wells *wells);
/* Makes the values from A_p, which has the pattern of A, and the weights in cpr. */
void karst_cpr_wells_update(const karst_wells_view *view, const karst_cpr *cpr, const karst_matrix *pressure,
                            karst_cpr_wells *wells);
void karst_cpr_wells_destroy(karst_context *context, karst_cpr_wells *wells);

#endif
