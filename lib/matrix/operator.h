/* operator.h - the operator that a Krylov method solves with: a product, a residual, and the source of a number that is
 * not finite.
 *
 * A matrix is an operator; solver/product.c makes one from a caller's function. A driver knows only this of its system,
 * and of vectors only the part that the layout describes. */
#ifndef KARST_LIB_MATRIX_OPERATOR_H
#define KARST_LIB_MATRIX_OPERATOR_H

#include "lib/matrix/residual.h"
#include "lib/wells/wells.h"

typedef struct karst_operator {
  karst_context *context;
  karst_layout layout;           /* of x and of the products: the operator is square */
  int64_t unknowns;              /* scalars of x; where it is spread over ranks, those of all */
  const void *data;              /* for the functions; not owned */
  const karst_wells_view *wells; /* of a matrix with wells beside it; not owned; else NULL */
  double unit; /* a component of a residual has rounding errors of at most this part of |b| + |A| |x|; 0: unknown */
  const char *product; /* name of a product in a sentence, such as "the matrix times a vector" */
  bool unread;         /* some unknown may be in no equation, and can overflow without an effect on the residual */
  /* y = A x, queued; x and y do not overlap. After a failure karst_fail has a sentence, and y is undefined. */
  karst_status (*multiply)(const struct karst_operator *A, const double *x, double *y);
  /* multiply_dot also sets *dot = x . y in device memory. multiply_dots also sets result[i] = with[i] . y for i <
   * count, which is 1 or 2; with[i] may be x or y. Either may be NULL: instead of multiply_dot the driver calls
   * multiply_dots, and instead of multiply_dots it computes the sums in a separate pass. */
  karst_status (*multiply_dot)(const struct karst_operator *A, const double *x, double *y, double *dot);
  karst_status (*multiply_dots)(const struct karst_operator *A, const double *x, double *y, int count,
                                const double *const *with, double *result);
  /* z = M^-1 r with a preconditioner that belongs to the operator, and *dot = r . z in device memory, unless dot is
   * NULL. NULL: the driver applies its own. */
  karst_status (*precondition)(const struct karst_operator *A, const double *r, double *z, double *dot);
  /* As karst_residual_norm. An operator with a residual in only one precision reports it as precise, with an error of
   * 0. */
  karst_status (*residual)(const struct karst_operator *A, const double *b, const double *x, double target,
                           bool bounded, const karst_residual_space *space, bool *precise, double *norm, double *error);
  /* Whether each component of r = b - A x is at most unit times that of |b| + |A| |x|, so small that working precision
   * cannot distinguish it from zero. NULL: unknown. Slow. */
  karst_status (*is_rounding)(const struct karst_operator *A, const double *b, const double *x,
                              const karst_residual_space *space, bool *yes);
  /* The first block row in which a number of the operator itself is not finite, or -1. NULL: the operator has no
   * numbers to check; if a residual of finite vectors is not finite, its product is the cause. */
  karst_status (*find_not_finite)(const struct karst_operator *A, karst_index *block_row);
  /* The block row of the preconditioner's matrix for an element of a vector, or -1. NULL: the layout's. */
  karst_index (*block_row)(const struct karst_operator *A, int64_t element);
} karst_operator;

/* A, or A - C^T D^-1 B with wells in A's order unless they are NULL. Both must outlive the operator; their values may
 * change. */
karst_operator karst_operator_of_matrix(const karst_matrix *A, const karst_wells_view *wells);

#endif
