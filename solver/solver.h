/* solver.h - the inside of a solver. */
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
  karst_options *options; /* what setup makes its parts from */
  karst_options *given;   /* the caller's, where they choose auto, in whose place options have a choice; else NULL */
  karst_auto automatic;   /* where given is not NULL */
  karst_methods chosen;   /* by options, with what set-up has put in the place of the ordering auto */
  karst_order_choice order;
  karst_krylov_limits limits;
  karst_system system;
  karst_product product; /* the caller's function, which takes the matrix's place in the Krylov method */
  karst_operator caller; /* the caller's system, in his order and not scaled */
  karst_parts *parts;    /* held; NULL: the preconditioner is that of the whole system */
  karst_matrix *apart;   /* what the preconditioner is made from where there are parts, else NULL */
  karst_precond *precond;
  karst_krylov *krylov;  /* NULL before setup has succeeded */
  karst_krylov *next;    /* the second driver of a method made of two, made once the first has failed; else NULL */
  karst_krylov *running; /* krylov or next: the driver that the solve under way uses, or that the last one ended with */
  karst_krylov_limits allowed, share; /* what of the limits the solve under way may use with this choice, and with the
 * running one of two drivers */
  int before;                         /* iterations of the solve before those of the running driver */
  bool goes_on;                       /* the solve goes on from the x of another driver or another choice of auto */
  karst_result failed;                /* how krylov has ended where next has gone on */
  karst_reduced reduced;              /* what krylov works on where it is the preconditioner's reduced system */
  const char *busy;   /* the call under way, which may call the caller's functions: "a solve"; NULL: no call */
  bool factored;      /* scaling and factorization of the last update have succeeded */
  bool lagging;       /* the factors are of older values than the matrix's, so there is no reduced system */
  int64_t generation; /* of the matrix's values at the last update or keep, -1 where it failed */
  double *norm2;      /* [2] device memory */
  double *residual,
      *size; /* [rows] device memory: for the caller's true residual where the driver's is another one; or NULL */
  karst_monitor_function monitor;
  void *monitor_user;
  double time_transfer, time_solve;
  char explanation[512];
};

static inline bool karst_solver_is_scaled(const karst_solver *solver)
{
  return solver->chosen.scale != KARST_SCALE_NONE;
}

static inline bool karst_solver_is_reduced(const karst_solver *solver) { return solver->reduced.precond; }

/* Nothing can be done before setup has succeeded. */
karst_status karst_solver_check_ready(const karst_solver *solver);
/* A monitor, an operator or a registered method must not change the solver that calls it. */
karst_status karst_solver_check_idle(const karst_solver *solver);

#endif
