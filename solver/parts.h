/* parts.h - declares the matrix without the couplings between parts of its grid, from which a preconditioner is made
 * that works block by block of the grid. What follows from the pattern is shared by solvers of one pattern. */
#ifndef KARST_SOLVER_PARTS_H
#define KARST_SOLVER_PARTS_H

#include "solver/system.h"

/* Nothing of it changes once it is made, so that it may be used in several threads. */
typedef struct karst_parts {
  karst_context *context;
  karst_index *part;          /* [block_rows] which part a block row of the caller's matrix is in, host */
  karst_matrix *pattern;      /* of the system's matrix without those couplings, with its grid, without values */
  karst_index *device_source; /* [blocks] which block of the system's matrix a block of the pattern is, device */
  int64_t memory;             /* bytes held */
  int64_t references;         /* solvers and others that hold it; changed atomically */
} karst_parts;

/* Cuts the grid of the system's original, or the one that is found in its pattern, into count > 1 boxes.
 * KARST_ERROR_MATRIX where there is no grid, KARST_ERROR_OPTION where it cannot be cut so. The caller holds what is
 * made. */
karst_status karst_parts_create(int count, const karst_system *system, karst_parts **parts);
/* Counts one more that holds it, or one less, and the last destroys it; NULL is accepted. hold returns it. */
karst_parts *karst_parts_hold(karst_parts *parts);
void karst_parts_release(karst_parts *parts);
/* Fails with KARST_ERROR_ARGUMENT where a matrix of the same pattern is cut into other parts, for its grid is another
 * one. */
karst_status karst_parts_check(const karst_parts *parts, int count, const karst_matrix *A);

/* Makes a matrix of the pattern of the parts, with undefined values, which update takes from the system's. */
karst_status karst_parts_copy(const karst_parts *parts, const karst_system *system, karst_matrix **copy);
/* Bytes that the copy holds besides the parts. */
int64_t karst_parts_copy_memory(const karst_matrix *copy);
void karst_parts_update(const karst_parts *parts, const karst_system *system, const karst_matrix *copy);

#endif
