/* outer.h - solves the caller's system through the system that a Krylov driver works on. */
#ifndef KARST_SOLVER_OUTER_H
#define KARST_SOLVER_OUTER_H

#include "solver/solver.h"

/* What karst_solver_explain needs besides the result. */
typedef struct karst_fault {
  const char *what; /* the vector in which a NaN or an infinity was first seen, or the norm that cannot be squared */
  double norm;      /* that norm */
} karst_fault;

/* Solves the caller's system with the running driver, from x. rtol_target: the norm of the caller's residual at which
 * the solve has converged by rtol. Sets the result, except relative_residual, and *fault if the driver reports one. */
karst_status karst_outer_solve(karst_solver *solver, const double *b, double *x, double rtol_target,
                               karst_result *result, karst_fault *fault);

/* |x| of a vector of the caller's system; not finite if an element is not, or the norm is too large. */
karst_status karst_outer_norm(const karst_solver *solver, const double *x, double *norm);
/* |b - A x| of the caller's system, in working precision. */
karst_status karst_outer_residual(const karst_solver *solver, const double *b, const double *x, double *norm);

#endif
