/* residual.c - computes the norm of b - A x and a bound of its error; see residual.h. */
#include "residual.h"

#include "norm.h"
#include "sums.h"

#include <float.h>
#include <math.h>

double karst_residual_unit(const karst_matrix *A)
{
  return ((double)karst_matrix_widest_row(A) * A->block_size + 2) * (DBL_EPSILON / 2);
}

enum accuracy { PLAIN, BOUNDED, PRECISE };

/* *size: the norm of |b| + |A| |x| where the accuracy is BOUNDED, else 0. */
static karst_status compute(const karst_matrix *A, const double *b, const double *x, enum accuracy accuracy,
                            const karst_residual_space *space, double *norm, double *size)
{
  karst_context *context = A->context;
  double norm2[2] = {0};
  if (accuracy == BOUNDED)
    karst_sums_residual_bounded(context, A, b, x, space->r, space->size, space->norm2);
  else if (accuracy == PRECISE)
    karst_sums_residual_precise(context, A, b, x, space->r, space->norm2);
  else
    karst_sums_residual(context, A, b, x, space->r, space->norm2);
  karst_status status =
      context->backend->download(context, norm2, space->norm2, (accuracy == BOUNDED ? 2 : 1) * sizeof *norm2);
  *size = sqrt(norm2[1]);
  return status ? status : karst_norm_of_square(context, karst_matrix_rows(A), space->r, norm2[0], norm);
}

karst_status karst_residual_norm(const karst_matrix *A, double unit, const double *b, const double *x, double target,
                                 bool expected, const karst_residual_space *space, bool *precise, double *norm)
{
  double size;
  enum accuracy accuracy = *precise ? PRECISE : expected ? BOUNDED : PLAIN;
  karst_status status = compute(A, b, x, accuracy, space, norm, &size);
  if (!status && accuracy == PLAIN && *norm <= target) {
    accuracy = BOUNDED;
    status = compute(A, b, x, accuracy, space, norm, &size);
  }
  if (status || accuracy != BOUNDED || !(*norm <= target) || *norm + unit * size <= target) return status;
  *precise = true;
  return compute(A, b, x, PRECISE, space, norm, &size);
}

karst_status karst_matrix_find_not_finite(const karst_matrix *A, karst_index *block_row)
{
  karst_survey survey;
  karst_index row = 0;
  *block_row = -1;
  karst_status status = karst_survey_elements(A->context, karst_entries(A), A->value, &survey);
  if (!status && !survey.finite) status = karst_matrix_fetch_pattern(A);
  if (status || survey.finite) return status;
  while (karst_block_offset(A->block_size, A->row_start[row + 1]) <= survey.where) row++;
  *block_row = row;
  return KARST_SUCCESS;
}
