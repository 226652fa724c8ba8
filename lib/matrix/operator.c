/* operator.c - see operator.h: a matrix as an operator, alone or with wells. */
#include "lib/matrix/operator.h"

#include "lib/matrix/matrix_sums.h"

static karst_status multiply(const karst_operator *A, const double *x, double *y)
{
  const karst_status status = karst_matrix_apply(A->context, A->data, x, y);
  if (!status && A->wells) karst_wells_multiply(A->wells, -1, 1, x, y);
  return status;
}

static karst_status multiply_dots(const karst_operator *A, const double *x, double *y, int count,
                                  const double *const *with, double *result)
{
  return karst_sums_multiply(A->context, A->data, x, y, count, with, result);
}

static karst_status residual(const karst_operator *A, const double *b, const double *x, double target, bool bounded,
                             const karst_residual_space *space, bool *precise, double *norm, double *error)
{
  return karst_residual_norm(A->data, A->wells, A->unit, b, x, target, bounded, space, precise, norm, error);
}

static karst_status is_rounding(const karst_operator *A, const double *b, const double *x,
                                const karst_residual_space *space, bool *yes)
{
  return karst_residual_is_rounding(A->data, A->wells, A->unit, b, x, space, yes);
}

static karst_status find_not_finite(const karst_operator *A, karst_index *block_row)
{
  return karst_matrix_find_not_finite(A->data, block_row);
}

karst_operator karst_operator_of_matrix(const karst_matrix *A, const karst_wells_view *wells)
{
  return (karst_operator){.context = A->context,
                          .layout = karst_matrix_layout(A),
                          .unknowns = karst_matrix_unknowns(A),
                          .data = A,
                          .wells = wells,
                          .unit = karst_residual_unit(A, wells),
                          .product = "the matrix times a vector",
                          .unread = A->halo ? A->halo->unread : karst_matrix_find_missing_diagonal(A) >= 0,
                          .multiply = multiply,
                          .multiply_dots = wells ? NULL : multiply_dots, /* the wells come after the product */
                          .residual = residual,
                          .is_rounding = is_rounding,
                          .find_not_finite = find_not_finite};
}
