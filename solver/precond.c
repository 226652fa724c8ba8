/* precond.c - a preconditioner alone, found by its name. */
#include "methods.h"

karst_status karst_precond_create(karst_context *context, const karst_options *options, const karst_matrix *A,
                                  karst_precond **precond)
{
  karst_methods chosen;
  if (precond) *precond = NULL;
  if (!context || !precond || !A) return karst_missing(context, A ? "the place for the preconditioner" : "the matrix");
  if (A->context != context) return karst_fail(context, KARST_ERROR_ARGUMENT, "the matrix belongs to another context");
  karst_methods_read(options, &chosen);
  const struct karst_precond_ops *ops = karst_precond_table[chosen.precond];
  karst_status status = karst_options_check(context, options, ops->options, ops->name);
  if (!status) status = karst_precond_check(ops, A);
  if (!status) status = karst_precond_prepare(ops, options, A, precond);
  if (!status) status = karst_precond_update(*precond);
  if (status) {
    karst_precond_destroy(*precond);
    *precond = NULL;
  }
  return status;
}
