/* system.h - the solver's system: the caller's matrix, ordered and scaled. */
#ifndef KARST_SOLVER_SYSTEM_H
#define KARST_SOLVER_SYSTEM_H

#include "solver/methods.h"
#include "solver/ordered.h"

/* With natural ordering and no scaling, matrix is the caller's own. Otherwise it is an owned copy
 *     B = P (D A D) P^T      scale diagonal: D = diag(|a_rr|)^-1/2, keeps symmetry
 *     B = S P A P^T          scale block: S the inverse diagonal blocks of P A P^T
 * Wells beside the matrix (lib/wells/wells.h) are in the same order, and allow no scaling. */
typedef struct karst_system {
  karst_context *context;
  const karst_matrix *original; /* not owned */
  const karst_matrix *matrix;   /* what preconditioner and Krylov method work on */
  karst_matrix *copy;           /* matrix if it is a copy, else NULL */
  karst_ordered *ordered;       /* held: the permutation and the pattern of the copy; NULL: there is no copy */
  karst_index *diagonal;        /* [block_rows] diagonal blocks of the copy, device; only for scaling */
  double *diagonal_scale;       /* [rows] D in the new order, device; NULL unless scale is diagonal */
  double *block_scale;          /* [b*b*block_rows] S, device; NULL unless scale is block */
  double *block_unscale;  /* [b*b*block_rows] the diagonal blocks themselves, device; NULL unless scale is block */
  double *rhs, *solution; /* [rows] work vectors in the new order, device; NULL for the caller's own system */
  double *start;          /* [rows] the caller's start in the new order, device; NULL unless scale is diagonal */
  karst_wells_view caller_wells; /* beside the matrix, in the caller's order; without wells: zeros */
  karst_wells_view wells;        /* in the order of the system */
  int64_t wells_generation;      /* of their values at the last update */
  double fingerprint;    /* of the values that the copy was made from, if the matrix refers to the caller's array */
  karst_reason reason;   /* KARST_SINGULAR_BLOCK or KARST_NOT_FINITE from block scaling */
  karst_index block_row; /* in the caller's order; of a distributed matrix, among those of all ranks */
  int64_t memory;        /* bytes held */
  double time_order;
} karst_system;

/* The pattern half: ordering, permuted pattern, work space. wells: beside A, or NULL. ordered: that of another system
 * with this ordering and pattern, or NULL. After a failure destroy releases what was made. */
karst_status karst_system_setup(const karst_ordering_choice *ordering, karst_scale scale, const karst_matrix *A,
                                const karst_wells *wells, karst_ordered *ordered, karst_system *system);
/* The numeric half: permuted and scaled values. Collective if the matrix is distributed and scaled. */
karst_status karst_system_update(karst_system *system);
void karst_system_destroy(karst_system *system);
/* Whether the copy still has the caller's values, if it was made from an array that the caller may write into. */
bool karst_system_is_current(const karst_system *system);

/* Makes system->rhs and system->solution from the caller's b and x. */
void karst_system_enter(const karst_system *system, const double *b, const double *x);
/* Makes the system's right-hand side from the caller's; space: [rows] device memory, used for block scaling. */
void karst_system_enter_rhs(const karst_system *system, const double *b, double *space, double *rhs);
/* Makes the caller's x from a solution of the system; space: [rows] device memory, used for diagonal scaling. */
void karst_system_leave(const karst_system *system, const double *solution, double *space, double *x);
/* Restores the caller's x of the last enter exactly; solution: the start in the system. */
void karst_system_restore(const karst_system *system, const double *solution, double *x);
/* Removes the scaling of a residual r, which stays in the system's order. */
void karst_system_unscale(const karst_system *system, const double *r, double *unscaled);
/* Returns the caller's number of a block row of the system; -1 stays -1. */
karst_index karst_system_original_row(const karst_system *system, karst_index block_row);

#endif
