/* system.h - the system as the solver sees it: the caller's matrix, ordered and scaled. */
#ifndef KARST_SOLVER_SYSTEM_H
#define KARST_SOLVER_SYSTEM_H

#include "solver/methods.h"
#include "solver/ordered.h"

/* With natural ordering and no scaling, matrix is the caller's own; else an owned copy
 *     B = P (D A D) P^T      scale diagonal: D = diag(|a_rr|)^-1/2, keeps symmetry
 *     B = S P A P^T          scale block: S the inverse diagonal blocks of P A P^T */
typedef struct karst_system {
  karst_context *context;
  const karst_matrix *original; /* not owned */
  const karst_matrix *matrix;   /* what preconditioner and Krylov method work on */
  karst_matrix *copy;           /* owns matrix when it is a copy, else NULL */
  karst_ordered *ordered; /* the pattern of the copy and where it comes from; held; NULL: natural, without a copy */
  karst_index *diagonal;  /* [block_rows] diagonal blocks of the copy, device; only for scaling */
  double *diagonal_scale; /* [rows] D in the new order, device; NULL unless scale is diagonal */
  double *block_scale;    /* [b*b*block_rows] S, device; NULL unless scale is block */
  double *block_unscale;  /* [b*b*block_rows] the diagonal blocks themselves, device; NULL unless scale is block */
  double *rhs, *solution; /* [rows] work vectors in the new order, device; NULL for the caller's own system */
  double *start;      /* [rows] the caller's in the new order, device; NULL unless scale is diagonal, which rounds it */
  double fingerprint; /* of the values that the copy was made from, where the matrix refers to the caller's */
  karst_reason reason;   /* KARST_SINGULAR_BLOCK or KARST_NOT_FINITE from block scaling */
  karst_index block_row; /* in the caller's order */
  int64_t memory;        /* bytes held */
  double time_order;
} karst_system;

/* The pattern half: ordering, permuted pattern, work space. ordered: that of another system of this ordering and
 * pattern, or NULL. On failure destroy gives back what was made. */
karst_status karst_system_setup(const karst_ordering_choice *ordering, karst_scale scale, const karst_matrix *A,
                                karst_ordered *ordered, karst_system *system);
/* The numeric half: permuted and scaled values. */
karst_status karst_system_update(karst_system *system);
void karst_system_destroy(karst_system *system);
/* Whether the copy still has the caller's values, where it was made from an array that the caller may write into. */
bool karst_system_is_current(const karst_system *system);

/* system->rhs and system->solution from the caller's b and x. */
void karst_system_enter(const karst_system *system, const double *b, const double *x);
/* The system's right-hand side from the caller's; space: [rows] device memory, used where the scaling is block. */
void karst_system_enter_rhs(const karst_system *system, const double *b, double *space, double *rhs);
/* The caller's x from a solution of the system; space: [rows] device memory, used where the system is scaled. */
void karst_system_leave(const karst_system *system, const double *solution, double *space, double *x);
/* The caller's x of the last enter, exactly; solution: the start as the system has it. */
void karst_system_restore(const karst_system *system, const double *solution, double *x);
/* What a residual r of the scaled system is without its scaling, still in the system's order. */
void karst_system_unscale(const karst_system *system, const double *r, double *unscaled);
/* A block row of the system in the caller's order; -1 stays. */
karst_index karst_system_original_row(const karst_system *system, karst_index block_row);

#endif
