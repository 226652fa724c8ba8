/* precond.c - a preconditioner as an object: prepared, factored, applied. */
#include "precond.h"

#include "clock.h"
#include "vector.h"

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

karst_status karst_precond_check(const struct karst_precond_ops *ops, const karst_matrix *A)
{
  karst_status status = ops->needs_diagonal ? karst_matrix_check_diagonal(A) : KARST_SUCCESS;
  return !status && ops->for_symmetric ? check_symmetric(ops->name, A) : status;
}

/* What a method's rows say, in memory for the caller to release; NULL where it has none. */
static karst_status read_settings(karst_context *context, const struct karst_precond_ops *ops,
                                  const karst_options *options, const void **settings)
{
  char *read;
  *settings = NULL;
  if (ops->settings == 0) return KARST_SUCCESS;
  karst_status status = karst_allocate_zero(context, &read, (int64_t)ops->settings, 1, "a preconditioner");
  if (status) return status;
  karst_options_read(options, ops->options, read);
  *settings = read;
  return KARST_SUCCESS;
}

karst_precond_analysis *karst_precond_analysis_hold(karst_precond_analysis *analysis)
{
  if (analysis) __atomic_fetch_add(&analysis->references, 1, __ATOMIC_RELAXED);
  return analysis;
}

void karst_precond_analysis_release(karst_precond_analysis *analysis)
{
  /* The one that goes last sees all that the others have done with it. */
  if (!analysis || __atomic_sub_fetch(&analysis->references, 1, __ATOMIC_ACQ_REL) > 0) return;
  karst_context *context = analysis->context;
  analysis->ops->forget(context, analysis->data);
  karst_release(context, (void *)analysis->settings);
  karst_release(context, analysis);
}

karst_status karst_precond_check_analysis(const karst_precond_analysis *analysis, const karst_options *options)
{
  const void *settings;
  karst_status status = read_settings(analysis->context, analysis->ops, options, &settings);
  if (status) return status;
  const char *option = analysis->ops->differ(settings, analysis->settings);
  karst_release(analysis->context, (void *)settings);
  if (!option) return KARST_SUCCESS;
  return karst_fail(analysis->context, KARST_ERROR_ARGUMENT,
                    "the analysis was made with another value of the option %s than the solver has", option);
}

static karst_status analyse(karst_precond *p, const karst_options *options)
{
  karst_precond_analysis *analysis;
  karst_status status = karst_allocate_zero(p->context, &analysis, 1, sizeof *analysis, "an analysis");
  if (status) return status;
  analysis->context = p->context;
  analysis->ops = p->ops;
  analysis->references = 1;
  p->analysis = analysis;
  status = read_settings(p->context, p->ops, options, &analysis->settings);
  return status ? status : p->ops->analyse(p);
}

karst_status karst_precond_prepare_with(const struct karst_precond_ops *ops, const karst_options *options,
                                        const karst_matrix *A, karst_precond_analysis *analysis,
                                        karst_precond **precond)
{
  double begin = karst_clock();
  karst_status status = karst_allocate_zero(A->context, precond, 1, sizeof **precond, "a preconditioner");
  if (status) return status;
  karst_precond *p = *precond;
  p->ops = ops;
  p->context = A->context;
  p->A = A;
  p->block_row = -1;
  p->sweep_residual[0] = p->sweep_residual[1] = p->ilu_residual = -1;
  p->analysis = karst_precond_analysis_hold(analysis);
  karst_count_object(p->context, 1);
  status = read_settings(p->context, ops, options, &p->settings);
  if (!status && !analysis && ops->analyse) status = analyse(p, options);
  if (!status) status = ops->setup(p);
  if (status) {
    karst_precond_destroy(p);
    *precond = NULL;
    return status;
  }
  p->time_symbolic = karst_clock() - begin;
  return KARST_SUCCESS;
}

karst_status karst_precond_prepare(const struct karst_precond_ops *ops, const karst_options *options,
                                   const karst_matrix *A, karst_precond **precond)
{
  return karst_precond_prepare_with(ops, options, A, NULL, precond);
}

void karst_precond_destroy(karst_precond *precond)
{
  if (!precond) return;
  karst_context *context = precond->context;
  precond->ops->destroy(precond);
  karst_precond_analysis_release(precond->analysis);
  karst_release(context, (void *)precond->settings);
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
