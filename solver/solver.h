/* solver.h - the inside of a solver. */
#ifndef KARST_SOLVER_SOLVER_H
#define KARST_SOLVER_SOLVER_H

#include "krylov.h"
#include "system.h"

struct karst_solver {
  karst_context *context;
  karst_options options;
  bool scaled;
  karst_system system;
  karst_precond *precond;
  karst_krylov *krylov; /* NULL before setup has succeeded */
  int64_t generation;   /* of the matrix's values at the last update */
  double *norm2;        /* one scalar, device memory */
  double *residual;     /* [rows] device memory: the caller's true residual where the system is scaled; else NULL */
  karst_monitor_function monitor;
  void *monitor_user;
  double time_transfer, time_solve;
  char explanation[320];
};

/* Nothing can be done before setup has succeeded. */
karst_status karst_solver_check_ready(const karst_solver *solver);

#endif
