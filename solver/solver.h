/* solver.h - the members of a solver. */
#ifndef KARST_SOLVER_SOLVER_H
#define KARST_SOLVER_SOLVER_H

#include "solver/auto/auto.h"
#include "solver/methods.h"
#include "solver/auto/order.h"
#include "solver/parts.h"
#include "solver/product.h"
#include "solver/reduced.h"
#include "solver/system.h"

struct karst_solver {
  karst_context *context;
  karst_options *options; /* what set-up makes the parts from; the rung of auto replaces auto here */
  karst_options *given;   /* the caller's, if they choose the preconditioner or the ordering auto; else NULL */
  karst_auto automatic;   /* if given is not NULL */
  double (*clock)(void);  /* in seconds, by which auto measures; tests may replace it */
  double time_setup;      /* by that clock, of the last set-up without its update */
  double time_update;     /* of the last update; NaN: it was part of the set-up */
  karst_methods chosen;   /* by options; the choices replace auto */
  karst_krylov_limits limits;
  const karst_wells *wells; /* the caller's, beside the matrix; not owned; NULL: there are none */
  karst_system system;
  karst_product product; /* the caller's function, which multiplies instead of the matrix in the Krylov method */
  karst_operator caller; /* the caller's system, in the caller's order and not scaled */
  karst_parts *parts;    /* held; NULL: the preconditioner is made from the whole system */
  karst_matrix *apart;   /* the preconditioner's matrix if there are parts, else NULL */
  karst_precond *precond;
  karst_krylov *krylov;  /* NULL before setup has succeeded */
  karst_krylov *next;    /* the second driver of a method made of two, made once the first has failed; else NULL */
  karst_krylov *running; /* krylov or next: the driver that the solve under way uses, or that the last one ended with */
  karst_krylov_limits allowed; /* the part of limits for the present rung of auto in the solve under way */
  karst_krylov_limits share;   /* the part of allowed for the running driver */
  int before;                  /* iterations of the solve before those of the running driver */
  bool goes_on;                /* the solve continues from the x of another driver or another rung of auto */
  karst_result failed;         /* the result of krylov, if next has continued */
  karst_reduced reduced;       /* the system of krylov, if that is the preconditioner's reduced system */
  const char *busy;            /* the call under way, which may call the caller's functions: "a solve"; NULL: no call */
  bool factored;               /* scaling and factorization of the last update have succeeded */
  bool lagging;                /* the factors are of older values than the matrix's, so there is no reduced system */
  int64_t generation;          /* of the matrix's values at the last update or keep; -1 if that failed */
  double *norm2;               /* [2] device memory */
  double *residual; /* [rows] device memory, for the caller's true residual if the driver's differs; or NULL */
  double *size;     /* [rows] device memory, for the error of that residual; or NULL */
  karst_monitor_function monitor;
  void *monitor_user;
  bool monitor_of_a_rank; /* a rank has a monitor in the solve under way; false in a context without ranks */
  double time_transfer, time_solve;
  char explanation[512];
};

static inline bool karst_solver_is_scaled(const karst_solver *solver)
{
  return solver->chosen.scale != KARST_SCALE_NONE;
}

static inline bool karst_solver_is_reduced(const karst_solver *solver) { return solver->reduced.precond; }

/* Fails before set-up has succeeded. */
karst_status karst_solver_check_ready(const karst_solver *solver);
/* Fails in a call from a monitor, an operator or a registered method, which must not change the solver. */
karst_status karst_solver_check_idle(const karst_solver *solver);

/* Refuses ranks with other options than another one, which would make different calls. whose: "solver". Collective. */
karst_status karst_compare_options(karst_context *context, const karst_options *options, const char *whose);

#endif
