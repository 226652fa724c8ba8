/* parts.h - declares the matrix without the couplings between parts of its grid, for a preconditioner that treats each
 * part alone. Solvers of one pattern share what follows from the pattern. */
#ifndef KARST_SOLVER_PARTS_H
#define KARST_SOLVER_PARTS_H

#include "solver/system.h"

/* It is not changed once it is made, so several threads may use it. */
typedef struct karst_parts {
  karst_context *context;
  karst_index *part;          /* [block_rows] which part a block row of the caller's matrix is in, host */
  karst_matrix *pattern;      /* of the system's matrix without those couplings, with its grid, without values */
  karst_index *device_source; /* [blocks] which block of the system's matrix a block of the pattern is, device */
  int64_t memory;             /* bytes held */
  int64_t references;         /* its holders; changed atomically */
} karst_parts;

/* Cuts the grid of the system's original, or the one found in its pattern, into count > 1 boxes. KARST_ERROR_MATRIX: no
 * grid is found; KARST_ERROR_OPTION: it cannot be cut so. The caller becomes a holder. */
karst_status karst_parts_create(int count, const karst_system *system, karst_parts **parts);
/* hold counts one more holder and returns parts; release counts one less and destroys it after the last. Both accept
 * NULL. */
karst_parts *karst_parts_hold(karst_parts *parts);
void karst_parts_release(karst_parts *parts);
/* Fails with KARST_ERROR_ARGUMENT if a matrix of the same pattern has another grid, which is cut into other parts. */
karst_status karst_parts_check(const karst_parts *parts, int count, const karst_matrix *A);

/* Makes a matrix of the pattern of the parts, with undefined values; update copies them from the system's matrix. */
karst_status karst_parts_copy(const karst_parts *parts, const karst_system *system, karst_matrix **copy);
/* Bytes that the copy holds besides the parts. */
int64_t karst_parts_copy_memory(const karst_matrix *copy);
void karst_parts_update(const karst_parts *parts, const karst_system *system, const karst_matrix *copy);

#endif
