/* reduced.h - the system of the unknowns that a preconditioner's exact elimination leaves (karst_reduction in
 * precond.h), which a Krylov method solves instead of the caller's. */
#ifndef KARST_SOLVER_REDUCED_H
#define KARST_SOLVER_REDUCED_H

#include "lib/method/krylov.h"

typedef struct karst_reduced {
  const karst_precond *precond; /* not owned; NULL: there is no reduced system */
  int64_t elements;             /* length of its vectors */
  double *rhs, *solution;       /* [elements] device memory */
  double *start;                /* [rows of the matrix] the caller's, device memory */
  double *one;                  /* device memory: 1 */
} karst_reduced;

/* Whether a preconditioner leaves a reduced system whose size fits an index. */
bool karst_reduced_exists(const karst_precond *precond);
/* Allocates its vectors; on failure it allocates nothing. */
karst_status karst_reduced_create(const karst_precond *precond, karst_reduced *reduced);
void karst_reduced_release(karst_reduced *reduced);
/* Bytes held. */
int64_t karst_reduced_memory(const karst_reduced *reduced);

/* The system as an operator, which reduced outlives. */
karst_operator karst_reduced_operator(const karst_reduced *reduced);

/* Makes the right-hand side and the start from the caller's, and keeps the caller's start. Does nothing if the
 * factorization has failed. */
void karst_reduced_enter(const karst_reduced *reduced, const double *b, const double *x);
/* Makes the caller's x from a solution. */
void karst_reduced_leave(const karst_reduced *reduced, const double *b, const double *solution, double *x);
/* Restores the caller's start. */
void karst_reduced_restore(const karst_reduced *reduced, double *x);

#endif
