/* precond.c - makes a preconditioner without a solver. */
#include "solver/auto/auto.h"
#include "solver/solver.h"

static karst_status make_precond(karst_context *context, const karst_options *options, const karst_matrix *A,
                                 karst_precond **precond)
{
  karst_methods chosen;
  karst_methods_read(options, &chosen);
  const struct karst_precond_ops *ops = karst_precond_at(context, (size_t)chosen.precond);
  karst_status status = karst_precond_check_options(context, ops, options);
  if (!status) status = karst_precond_check(ops, options, A);
  if (A->halo) status = karst_ranks_agree(context, status);
  if (!status) status = karst_precond_prepare(ops, options, A, precond);
  if (!status) status = karst_precond_update(*precond);
  if (!status) return KARST_SUCCESS;
  karst_precond_destroy(*precond);
  *precond = NULL;
  return status;
}

/* If the options choose auto, makes the preconditioner that auto chooses for A. Updates keep that choice, because there
 * is no solve to learn from. */
static karst_status create_chosen(karst_context *context, const karst_options *options, const karst_matrix *A,
                                  karst_precond **precond)
{
  karst_methods chosen;
  karst_auto choice;
  karst_options *concrete = NULL;
  karst_methods_read(options, &chosen);
  const struct karst_precond_ops *ops = karst_precond_at(context, (size_t)chosen.precond);
  if (ops != &karst_precond_auto) return make_precond(context, options, A, precond);
  karst_status status = karst_precond_check_options(context, ops, options);
  if (!status) status = karst_auto_begin(options, false, A, &choice);
  do {
    karst_options_destroy(concrete);
    concrete = NULL;
    if (!status) status = karst_auto_options(&choice, context, &concrete);
    if (A->halo) status = karst_ranks_agree(context, status);
    if (!status) status = make_precond(context, concrete, A, precond);
  } while (status == KARST_ERROR_MATRIX && concrete && karst_auto_refuse(&choice));
  karst_options_destroy(concrete);
  if (status) return status;
  status = karst_auto_report(&choice, *precond);
  karst_report_keep(&(*precond)->report);
  return status;
}

karst_status karst_precond_create(karst_context *context, const karst_options *options, const karst_matrix *A,
                                  karst_precond **precond)
{
  karst_options *own = NULL;
  karst_status status = KARST_SUCCESS;
  if (precond) *precond = NULL;
  if (!context || !A) return karst_missing(context, "the matrix");
  if (!precond)
    status = karst_missing(context, "the place for the preconditioner");
  else if (A->context != context)
    status = karst_fail(context, KARST_ERROR_ARGUMENT, "the matrix belongs to another context");
  if (!status && options && karst_options_context(options) != context)
    status = karst_options_copy(context, options, &own);
  if (A->halo) status = karst_ranks_enter(A->context, status);
  if (!status && A->halo) status = karst_compare_options(context, own ? own : options, "preconditioner");
  if (!status) status = create_chosen(context, own ? own : options, A, precond);
  karst_options_destroy(own);
  return status;
}
