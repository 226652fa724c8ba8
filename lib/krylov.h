/* krylov.h - what a Krylov driver is. One const table a method; all tables in krylov/table.c.
 *
 * A driver sees an operator (the matrix), a preconditioner and vectors in device memory. It implements one function,
 * cycle, which improves x from a known residual. Everything around it - the true residual before and after, the
 * tests on it, restarts when a recursive residual was wrong - is written once, in krylov/drive.c. */
#ifndef KARST_LIB_KRYLOV_H
#define KARST_LIB_KRYLOV_H

#include "precond.h"

typedef struct karst_krylov karst_krylov;

struct karst_krylov_ops {
  const char *name;
  const char *help; /* one line */
  /* Work space the method needs: vectors of n scalars, and scalars in device memory. */
  void (*workspace)(const karst_options *options, int *vectors, int *scalars);
  /* Improves k->x, given k->r = b - A x with norm k->residual > k->target. Returns KARST_SOUND when it wants the true
   * residual (it believes to have converged, it restarts, or the iteration limit is reached), else why it cannot go
   * on. Allocates nothing. k->x is valid at return in every case. */
  karst_status (*cycle)(karst_krylov *k, karst_reason *reason);
};

struct karst_krylov {
  const struct karst_krylov_ops *ops;
  karst_context *context;
  const karst_matrix *A;
  karst_precond *M;
  karst_options options;
  int64_t n; /* scalar unknowns */

  double *memory;      /* all of the work space, one allocation */
  int64_t memory_size; /* bytes */
  int vectors;
  double **vector; /* [vectors] of n scalars: the method's own */
  double *r;       /* [n] the residual at the start of a cycle; a cycle may overwrite it */
  double *scalar;  /* [scalars] device memory: the method's own */
  double *host;    /* [scalars] host mirror, for downloads */

  const double *b; /* the system at hand */
  double *x;
  double target;   /* norm of the true residual to reach */
  double residual; /* norm of the true residual at the start of the cycle */
  int iterations;
  const char *not_finite_in; /* what was first seen to be NaN or infinite */
  karst_monitor_function monitor;
  void *monitor_user;
};

extern const struct karst_krylov_ops *const karst_krylov_table[]; /* ends with NULL */

/* Work space for systems with A's size. */
karst_status karst_krylov_create(karst_context *context, const karst_options *options, const karst_matrix *A,
                                 karst_precond *M, karst_krylov **krylov);
void karst_krylov_destroy(karst_krylov *krylov);

/* Solves A x = b from x. b, x: n scalars of device memory. atol_floor: a residual norm that counts as converged by
 * rtol (the caller has computed rtol |b|). Fills reason, iterations, residual; relative_residual is the caller's. */
karst_status karst_krylov_solve(karst_krylov *k, const double *b, double *x, double rtol_target, double atol_target,
                                karst_result *result);

/* ---- for the drivers ---- */

/* Counts one iteration, reports the residual norm the method believes in to the monitor, and returns whether the
 * cycle should end because target or limit is reached. */
bool karst_krylov_step(karst_krylov *k, double residual);

#endif
