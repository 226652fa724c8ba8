/* matrix_product.c - the public product y = A x and residual r = b - A x of a matrix and vectors. */
#include "lib/matrix/matrix_sums.h"
#include "lib/vector/vector.h"

/* Refuses a vector if its length or context does not fit the matrix. */
static karst_status check_vector(const karst_matrix *A, const karst_vector *vector, const char *name)
{
  if (!vector) return karst_fail(A->context, KARST_ERROR_ARGUMENT, "the vector %s is NULL", name);
  if (vector->context != A->context || vector->length != karst_matrix_rows(A))
    return karst_fail(A->context, KARST_ERROR_ARGUMENT,
                      "the vector %s has length %lld and the matrix %lld rows, or their contexts differ", name,
                      (long long)vector->length, (long long)karst_matrix_rows(A));
  return KARST_SUCCESS;
}

karst_status karst_matrix_multiply(const karst_matrix *A, const karst_vector *x, karst_vector *y)
{
  if (!A) return karst_missing(x ? x->context : y ? y->context : NULL, "the matrix");
  karst_status status = check_vector(A, x, "x");
  if (!status) status = check_vector(A, y, "y");
  if (!status && karst_vectors_overlap(x, y))
    status = karst_fail(A->context, KARST_ERROR_ARGUMENT, "the vectors x and y overlap in memory");
  if (A->halo) status = karst_ranks_enter(A->context, status);
  if (!status) status = karst_matrix_apply(A->context, A, x->values, y->values);
  return A->halo ? karst_ranks_agree(A->context, status) : status;
}

karst_status karst_matrix_residual(const karst_matrix *A, const karst_vector *b, const karst_vector *x, karst_vector *r,
                                   double *norm)
{
  if (!A) return karst_missing(b ? b->context : x ? x->context : r ? r->context : NULL, "the matrix");
  karst_status status = check_vector(A, b, "b");
  if (!status) status = check_vector(A, x, "x");
  if (!status) status = check_vector(A, r, "r");
  if (!status && (karst_vectors_overlap(r, b) || karst_vectors_overlap(r, x)))
    status = karst_fail(A->context, KARST_ERROR_ARGUMENT, "the vector r overlaps b or x in memory");
  if (A->halo) status = karst_ranks_enter(A->context, status);
  if (!status) status = karst_sums_residual(A->context, A, b->values, x->values, r->values, NULL);
  if (A->halo) status = karst_ranks_agree(A->context, status);
  if (status) return status;
  return norm ? karst_vector_norm(r, norm) : KARST_SUCCESS;
}
