/* residual.c - computes the norm of b - A x and a bound of its error; see residual.h. */
#include "residual.h"

#include "norm.h"

#include <float.h>
#include <math.h>

double karst_residual_unit(const karst_matrix *A)
{
  karst_index widest = 0;
  for (karst_index i = 0; i < A->block_rows; i++) {
    karst_index width = A->row_start[i + 1] - A->row_start[i];
    if (width > widest) widest = width;
  }
  return ((double)widest * A->block_size + 2) * (DBL_EPSILON / 2);
}

enum accuracy { PLAIN, BOUNDED, PRECISE };

/* *error: if accuracy is BOUNDED, how far the exact norm can exceed *norm. */
static karst_status compute(const karst_matrix *A, const double *b, const double *x, enum accuracy accuracy,
                            const karst_residual_space *space, double *norm, double *error)
{
  karst_context *context = A->context;
  const struct karst_backend *backend = context->backend;
  double norm2[2] = {0};
  if (accuracy == BOUNDED)
    backend->residual_bounded(context, A, b, x, space->r, space->size, space->norm2);
  else
    (accuracy == PRECISE ? backend->residual_precise : backend->residual)(context, A, b, x, space->r, space->norm2);
  karst_status status = backend->download(context, norm2, space->norm2, (accuracy == BOUNDED ? 2 : 1) * sizeof *norm2);
  *error = space->unit * sqrt(norm2[1]);
  return status ? status : karst_norm_of_square(context, karst_matrix_rows(A), space->r, norm2[0], norm);
}

karst_status karst_residual_norm(const karst_matrix *A, const double *b, const double *x, double target, bool expected,
                                 const karst_residual_space *space, bool *precise, double *norm)
{
  double error;
  enum accuracy accuracy = *precise ? PRECISE : expected ? BOUNDED : PLAIN;
  karst_status status = compute(A, b, x, accuracy, space, norm, &error);
  if (!status && accuracy == PLAIN && *norm <= target) {
    accuracy = BOUNDED;
    status = compute(A, b, x, accuracy, space, norm, &error);
  }
  if (status || accuracy != BOUNDED || !(*norm <= target) || *norm + error <= target) return status;
  *precise = true;
  return compute(A, b, x, PRECISE, space, norm, &error);
}
