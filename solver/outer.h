/* outer.h - the system as the caller has it, around the one that a Krylov driver solves. */
#ifndef KARST_SOLVER_OUTER_H
#define KARST_SOLVER_OUTER_H

#include "solver/solver.h"

/* What the sentence about a solve needs besides the result: the vector in which a NaN or an infinity was first seen, or
 * the norm that double precision cannot square, and that norm. */
typedef struct karst_fault {
  const char *what;
  double norm;
} karst_fault;

/* Solves the caller's system with the running driver, from x. rtol_target: the norm of the caller's residual that
 * counts as converged by rtol. The result, but for relative_residual, is in the caller's terms. *fault is set where the
 * driver has one to report. */
karst_status karst_outer_solve(karst_solver *solver, const double *b, double *x, double rtol_target,
                               karst_result *result, karst_fault *fault);

/* |x| of a vector of the caller's system; not finite where an element is not, or the norm is too large. */
karst_status karst_outer_norm(const karst_solver *solver, const double *x, double *norm);
/* |b - A x| of the caller's system, in working precision. */
karst_status karst_outer_residual(const karst_solver *solver, const double *b, const double *x, double *norm);

#endif
