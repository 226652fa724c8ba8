/* reference.h - computes a direct solution for comparison. */
#ifndef KARST_TOOLS_SRC_SOLVE_REFERENCE_H
#define KARST_TOOLS_SRC_SOLVE_REFERENCE_H

#include "tools/src/common/common.h"

struct reference {
  bool singular;     /* there is no solution; difference and residual are NaN */
  double rcond;      /* UMFPACK's rough estimate of 1 / condition number: smallest over largest pivot */
  double difference; /* |x - x_ref| / |x_ref| */
  double residual;   /* |b - A x_ref| / |b| */
  double time;       /* seconds: analysis, factorization and solution */
};

/* Solves A x_ref = b with UMFPACK and compares x with x_ref, without the padding. */
int reference_solve(karst_context *context, const karst_matrix *A, const karst_vector *b, const karst_vector *x,
                    struct reference *reference);
/* Returns TOOL_GO_ON, or reports an error if this build has no UMFPACK. */
int reference_check(void);

#endif
