/* reference.h - a direct solution to compare with. */
#ifndef KARST_TOOLS_REFERENCE_H
#define KARST_TOOLS_REFERENCE_H

#include "common.h"

struct reference {
  bool singular;     /* there is no solution; difference and residual are NaN */
  double rcond;      /* UMFPACK's rough estimate of 1 / condition number: smallest over largest pivot */
  double difference; /* |x - x_ref| / |x_ref| */
  double residual;   /* |b - A x_ref| / |b| */
  double time;       /* seconds: analysis, factorization and solution */
};

/* Solves A x_ref = b with UMFPACK and compares x with x_ref, padding left out. */
int reference_solve(karst_context *context, const karst_matrix *A, const karst_vector *b, const karst_vector *x,
                    struct reference *reference);
/* TOOL_GO_ON, or an error where this build has no UMFPACK. */
int reference_check(void);

#endif
