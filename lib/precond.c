/* precond.c - a preconditioner as an object: found by name, prepared, factored, applied. */
#include "precond.h"

#include "clock.h"
#include "options.h"
#include "search.h"
#include "vector.h"

static const struct karst_precond_ops *find(const char *name)
{
  return karst_precond_table[karst_find_name(karst_precond_name, name)];
}

static karst_status check_symmetric(const char *name, const karst_matrix *A)
{
  karst_index row;
  karst_status status = karst_matrix_find_asymmetry(A, &row);
  if (!status && row >= 0)
    karst_tell(A->context, KARST_MESSAGE_WARNING,
               "%s is for symmetric matrices, and the values of this one are not symmetric, first in block row %lld",
               name, (long long)row);
  return status;
}

karst_status karst_precond_check(const karst_options *options, const karst_matrix *A)
{
  const struct karst_precond_ops *ops = find(options->precond);
  karst_status status = ops->needs_diagonal ? karst_matrix_check_diagonal(A) : KARST_SUCCESS;
  return !status && ops->for_symmetric ? check_symmetric(ops->name, A) : status;
}

karst_status karst_precond_prepare(karst_context *context, const karst_options *options, const karst_matrix *A,
                                   karst_precond **precond)
{
  double begin = karst_clock();
  karst_status status = karst_allocate_zero(context, precond, 1, sizeof **precond, "a preconditioner");
  if (status) return status;
  karst_precond *p = *precond;
  p->ops = find(options->precond);
  p->context = context;
  p->A = A;
  p->options = *options;
  p->block_row = -1;
  p->sweep_residual[0] = p->sweep_residual[1] = p->ilu_residual = -1;
  karst_count_object(context, 1);
  status = p->ops->setup(p);
  if (status) {
    karst_precond_destroy(p);
    *precond = NULL;
    return status;
  }
  p->time_symbolic = karst_clock() - begin;
  return KARST_SUCCESS;
}

karst_status karst_precond_create(karst_context *context, const karst_options *options, const karst_matrix *A,
                                  karst_precond **precond)
{
  karst_options own;
  karst_status status;
  if (precond) *precond = NULL;
  if (!context || !precond || !A) return karst_missing(context, A ? "the place for the preconditioner" : "the matrix");
  if (A->context != context) return karst_fail(context, KARST_ERROR_ARGUMENT, "the matrix belongs to another context");
  karst_options_default(&own);
  if (options) own = *options;
  status = karst_options_normalise(context, &own);
  if (!status) status = karst_precond_check(&own, A);
  if (!status) status = karst_precond_prepare(context, &own, A, precond);
  if (!status) status = karst_precond_update(*precond);
  if (status) {
    karst_precond_destroy(*precond);
    *precond = NULL;
  }
  return status;
}

void karst_precond_destroy(karst_precond *precond)
{
  if (!precond) return;
  karst_context *context = precond->context;
  precond->ops->destroy(precond);
  karst_release(context, precond);
  karst_count_object(context, -1);
}

karst_status karst_precond_update(karst_precond *precond)
{
  double begin = karst_clock();
  if (!precond) return KARST_ERROR_ARGUMENT;
  precond->reason = KARST_SOUND;
  precond->block_row = -1;
  precond->shifted = 0;
  precond->generation = -1; /* unless all goes well, the factors are those of no values */
  karst_status status = precond->ops->update(precond);
  if (!status) precond->generation = precond->A->generation;
  precond->time_factor = karst_clock() - begin;
  return status;
}

karst_reason karst_precond_outcome(const karst_precond *precond, karst_index *block_row)
{
  if (block_row) *block_row = precond ? precond->block_row : -1;
  return precond ? precond->reason : KARST_SOUND;
}

karst_status karst_precond_get_info(const karst_precond *precond, karst_solver_info *info)
{
  if (!precond || !info) return karst_missing(precond ? precond->context : NULL, "the place for the information");
  int64_t entries = karst_entries(precond->A);
  *info = (karst_solver_info){
      .factor_entries = precond->factor_entries,
      .fill = entries > 0 ? (double)precond->factor_entries / (double)entries : 0,
      .levels_lower = precond->levels_lower,
      .levels_upper = precond->levels_upper,
      .trisolve = precond->trisolve,
      .shifted = precond->shifted,
      .fallbacks = precond->fallbacks,
      .sweep_residual_before = precond->sweep_residual[0],
      .sweep_residual_after = precond->sweep_residual[1],
      .ilu_residual = precond->ilu_residual,
      .memory = precond->memory,
      .time_symbolic = precond->time_symbolic,
      .time_factor = precond->time_factor,
  };
  return KARST_SUCCESS;
}

karst_status karst_precond_apply(const karst_precond *precond, const karst_vector *r, karst_vector *z)
{
  if (!precond) return karst_missing(r ? r->context : z ? z->context : NULL, "the preconditioner");
  karst_context *context = precond->context;
  int64_t rows = karst_matrix_rows(precond->A);
  if (!r || !z || r->length != rows || z->length != rows || r->context != context || z->context != context)
    return karst_fail(context, KARST_ERROR_ARGUMENT, "r and z must be vectors of length %lld", (long long)rows);
  if (karst_vectors_overlap(r, z))
    return karst_fail(context, KARST_ERROR_ARGUMENT, "the vectors r and z overlap in memory");
  karst_status status = karst_matrix_check_generation(precond->A, precond->generation, "preconditioner");
  if (status) return status;
  if (precond->reason != KARST_SOUND)
    return karst_fail(context, KARST_ERROR_MATRIX, "the preconditioner is not usable: %s in block row %lld",
                      karst_reason_text(precond->reason), (long long)precond->block_row);
  return precond->ops->apply(precond, r->values, z->values);
}
