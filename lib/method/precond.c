/* precond.c - a preconditioner as an object: prepared, factored, applied. */
#include "lib/method/precond.h"

#include "lib/base/clock.h"
#include "lib/grid/grid.h"
#include "lib/base/number.h"
#include "lib/matrix/residual.h"
#include "lib/ranks/halo.h"
#include "lib/vector/vector.h"

#include <math.h>
#include <string.h>

static karst_status check_symmetric(const char *name, const karst_matrix *A)
{
  karst_index row;
  karst_status status = karst_matrix_find_asymmetry(A, &row);
  if (!status && row >= 0)
    karst_notify(A->context, KARST_MESSAGE_WARNING,
                 "%s is for symmetric matrices, and the values of this one are not symmetric, first in block row %lld",
                 name, (long long)row);
  return status;
}

karst_status karst_precond_chosen(karst_context *context, const karst_options *inner,
                                  const struct karst_precond_ops **ops)
{
  const char *name = karst_options_find(inner, "precond");
  char word[KARST_WORD_SIZE];
  *ops = karst_precond_find(context, name ? name : "");
  if (*ops) return KARST_SUCCESS;
  return karst_fail(context, KARST_ERROR_OPTION, "the context has no preconditioner \"%s\"",
                    karst_quote_text(name ? name : "", word));
}

/* Calls visit for each preconditioner inside one that options describe. */
static karst_status each_inner(karst_context *context, const struct karst_precond_ops *ops,
                               const karst_options *options, const karst_matrix *A,
                               karst_status (*visit)(karst_context *context, const struct karst_precond_ops *ops,
                                                     const karst_options *options, const karst_matrix *A))
{
  karst_status status = KARST_SUCCESS;
  for (const karst_option *const *list = ops->options; list && *list; list++)
    for (const karst_option *row = *list; row->name && !status; row++) {
      const struct karst_precond_ops *chosen;
      karst_options *inner;
      if (row->kind != KARST_OPTION_PRECOND) continue;
      status = karst_options_inner(context, options, row, &inner);
      if (!status) status = karst_precond_chosen(context, inner, &chosen);
      if (!status) status = visit(context, chosen, inner, A);
      karst_options_destroy(inner);
    }
  return status;
}

static karst_status check_options(karst_context *context, const struct karst_precond_ops *ops,
                                  const karst_options *options, const karst_matrix *A)
{
  karst_status status = karst_options_check(context, options, ops->options, ops->name);
  return status ? status : each_inner(context, ops, options, A, check_options);
}

karst_status karst_precond_check_options(karst_context *context, const struct karst_precond_ops *ops,
                                         const karst_options *options)
{
  return check_options(context, ops, options, NULL);
}

static karst_status check_matrix(karst_context *context, const struct karst_precond_ops *ops,
                                 const karst_options *options, const karst_matrix *A)
{
  karst_status status = ops->needs_diagonal ? karst_matrix_check_diagonal(A) : KARST_SUCCESS;
  if (!status && ops->needs_faces && karst_has_grid(A)) /* here, where rows have the caller's numbers */
    status = karst_grid_check_faces(A, &A->grid);
  if (!status && ops->for_symmetric) status = check_symmetric(ops->name, A);
  return status || !ops->shares_matrix ? status : each_inner(context, ops, options, A, check_matrix);
}

karst_status karst_precond_check(const struct karst_precond_ops *ops, const karst_options *options,
                                 const karst_matrix *A)
{
  return check_matrix(A->context, ops, options, A);
}

static karst_status check_order(karst_context *context, const struct karst_precond_ops *ops,
                                const karst_options *options, const karst_matrix *A)
{
  if (ops->needs_grid && !karst_has_grid(A))
    return karst_fail(
        context, KARST_ERROR_MATRIX,
        "%s finds the grid of a matrix only where no ordering permutes its block rows: give the matrix its grid, or "
        "keep the natural ordering",
        ops->name);
  return ops->shares_matrix ? each_inner(context, ops, options, A, check_order) : KARST_SUCCESS;
}

karst_status karst_precond_check_order(const struct karst_precond_ops *ops, const karst_options *options,
                                       const karst_matrix *A)
{
  return check_order(A->context, ops, options, A);
}

karst_precond_analysis *karst_precond_analysis_hold(karst_precond_analysis *analysis)
{
  if (analysis) __atomic_fetch_add(&analysis->references, 1, __ATOMIC_RELAXED);
  return analysis;
}

void karst_precond_analysis_release(karst_precond_analysis *analysis)
{
  /* The last release sees all that the other holders have written. */
  if (!analysis || __atomic_sub_fetch(&analysis->references, 1, __ATOMIC_ACQ_REL) > 0) return;
  karst_context *context = analysis->context;
  analysis->ops->forget(context, analysis->data);
  karst_settings_destroy(context, analysis->ops->options, analysis->settings);
  karst_release(context, analysis);
}

karst_status karst_precond_check_analysis(const karst_precond_analysis *analysis, const karst_options *options)
{
  karst_context *context = analysis->context;
  const struct karst_precond_ops *ops = analysis->ops;
  const void *settings;
  karst_status status = karst_settings_create(context, options, ops->options, ops->settings, &settings);
  if (status) return status;
  const char *option = ops->differ(settings, analysis->settings);
  karst_settings_destroy(context, ops->options, settings);
  if (!option) return KARST_SUCCESS;
  return karst_fail(context, KARST_ERROR_ARGUMENT,
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
  status = karst_settings_create(p->context, options, p->ops->options, p->ops->settings, &analysis->settings);
  return status ? status : p->ops->analyse(p);
}

/* Lets the ranks agree on a call for a distributed matrix; a preconditioner of one rank's matrix is its own affair. */
static karst_status agree(const karst_matrix *A, karst_status status)
{
  return A->halo ? karst_ranks_agree(A->context, status) : status;
}

/* All of set-up before the method's own. */
static karst_status make(const struct karst_precond_ops *ops, const karst_options *options, const karst_matrix *A,
                         const karst_wells_view *wells, karst_precond_analysis *analysis, bool alone,
                         karst_precond **precond)
{
  karst_status status = karst_allocate_zero(A->context, precond, 1, sizeof **precond, "a preconditioner");
  if (status) return status;
  karst_precond *p = *precond;
  p->ops = ops;
  p->context = A->context;
  p->A = A;
  p->wells = wells;
  p->alone = alone;
  p->block_row = -1;
  p->generation = -1;
  p->due = ops->choose != NULL;
  p->unsymmetric = ops->unsymmetric ? "" : NULL;
  p->analysis = karst_precond_analysis_hold(analysis);
  karst_count_object(p->context, 1);
  status = karst_settings_create(p->context, options, ops->options, ops->settings, &p->settings);
  if (!status && !ops->fetches) status = karst_matrix_fetch_pattern(A);
  return !status && !analysis && ops->analyse ? analyse(p, options) : status;
}

karst_status karst_precond_prepare_with(const struct karst_precond_ops *ops, const karst_options *options,
                                        const karst_matrix *A, const karst_wells_view *wells,
                                        karst_precond_analysis *analysis, bool alone, karst_precond **precond)
{
  const double begin = karst_clock();
  *precond = NULL;
  karst_status status = agree(A, make(ops, options, A, wells, analysis, alone, precond));
  if (!status) {
    (*precond)->begun = true;
    status = agree(A, karst_precond_run_setup(*precond));
  }
  if (status) {
    karst_precond_destroy(*precond);
    *precond = NULL;
    return status;
  }
  karst_report_keep(&(*precond)->report);
  (*precond)->time_symbolic = karst_clock() - begin;
  return KARST_SUCCESS;
}

karst_status karst_precond_prepare(const struct karst_precond_ops *ops, const karst_options *options,
                                   const karst_matrix *A, karst_precond **precond)
{
  return karst_precond_prepare_with(ops, options, A, NULL, NULL, false, precond);
}

void karst_precond_destroy(karst_precond *precond)
{
  if (!precond) return;
  karst_context *context = precond->context;
  if (precond->begun) precond->ops->destroy(precond);
  karst_precond_analysis_release(precond->analysis);
  karst_settings_destroy(context, precond->ops->options, precond->settings);
  karst_release(context, precond);
  karst_count_object(context, -1);
}

static void clear_outcome(karst_precond *p)
{
  p->reason = KARST_SOUND;
  p->block_row = -1;
  p->agreed = false;
  p->explanation[0] = '\0';
}

karst_status karst_precond_choose(karst_precond *p)
{
  const double begin = karst_clock();
  clear_outcome(p);
  if (!p->due) return KARST_SUCCESS;
  p->generation = -1; /* there are no factors until an update succeeds */
  const karst_status status = karst_precond_run_choose(p);
  p->due = status || p->reason != KARST_SOUND;
  p->time_choose = karst_clock() - begin;
  return status;
}

void karst_precond_solved(karst_precond *p, int iterations)
{
  if (p->ops->solved) p->ops->solved(p, iterations);
}

/* What a rank tells the others of its part of a preconditioner. */
struct outcome {
  karst_reason reason;
  karst_index block_row; /* among those of all ranks, or -1 */
  char explanation[sizeof(((karst_precond *)NULL)->explanation)];
};

karst_status karst_precond_agree(karst_precond *p, karst_status status)
{
  const karst_halo *halo = p->A->halo;
  if (!halo || (!status && p->agreed)) return status;
  struct outcome own = {p->reason, karst_halo_global(halo, p->block_row), ""}, other;
  _Static_assert(sizeof own <= sizeof p->context->ranks->words->sentence, "an outcome is a message");
  memcpy(own.explanation, p->explanation, sizeof own.explanation);
  status = karst_ranks_agree_and_tell(p->context, status, &own, sizeof own);
  for (int r = 0; r < karst_context_ranks(p->context) && !status && !p->agreed; r++) {
    memcpy(&other, p->context->ranks->words[r].sentence, sizeof other);
    if (other.reason == KARST_SOUND) continue;
    p->reason = other.reason;
    p->block_row = other.block_row;
    p->agreed = true;
    memcpy(p->explanation, other.explanation, sizeof p->explanation);
  }
  return status;
}

karst_status karst_precond_update(karst_precond *precond)
{
  if (!precond) return KARST_ERROR_ARGUMENT;
  karst_report_begin_update(&precond->report);
  precond->generation = -1;
  const bool was_due = precond->due;
  karst_status status = karst_precond_agree(precond, karst_precond_choose(precond));
  precond->due = was_due && (status || precond->reason != KARST_SOUND); /* the same on all ranks */
  const double begin = karst_clock();
  if (!status && precond->reason == KARST_SOUND)
    status = karst_precond_agree(precond, karst_precond_run_update(precond));
  if (!status) precond->generation = precond->A->generation;
  precond->time_factor = karst_clock() - begin;
  return status;
}

karst_status karst_precond_keep(karst_precond *precond)
{
  if (!precond) return KARST_ERROR_ARGUMENT;
  if (precond->generation < 0 || precond->reason != KARST_SOUND)
    return karst_fail(precond->context, KARST_ERROR_ARGUMENT,
                      "the preconditioner's last factorization failed and cannot be kept: call karst_precond_update");
  precond->generation = precond->A->generation;
  return KARST_SUCCESS;
}

karst_reason karst_precond_outcome(const karst_precond *precond, karst_index *block_row)
{
  if (block_row) *block_row = precond ? precond->block_row : -1;
  return precond ? precond->reason : KARST_SOUND;
}

karst_status karst_precond_find_not_finite(const karst_precond *precond, karst_index *block_row)
{
  return karst_matrix_find_not_finite(precond->A, block_row);
}

karst_status karst_precond_get_info(const karst_precond *precond, karst_solver_info *info)
{
  if (!precond || !info) return karst_missing(precond ? precond->context : NULL, "the place for the information");
  int64_t entries = karst_entries(precond->A);
  *info = (karst_solver_info){
      .factor_entries = precond->factor_entries,
      .fill = entries > 0 ? (double)precond->factor_entries / (double)entries : 0,
      .memory = precond->memory,
      .time_symbolic = precond->time_symbolic + precond->time_choose,
      .time_factor = precond->time_factor,
  };
  return KARST_SUCCESS;
}

karst_status karst_precond_put(karst_precond *precond, const char *name, const char *unit, double number)
{
  if (!precond) return KARST_ERROR_ARGUMENT;
  return karst_report_put(precond->context, &precond->report,
                          &(karst_value){.name = name, .unit = unit, .number = number});
}

karst_status karst_precond_put_text(karst_precond *precond, const char *name, const char *text)
{
  if (!precond) return KARST_ERROR_ARGUMENT;
  if (!text) return karst_missing(precond->context, "the text of a value");
  return karst_report_put(precond->context, &precond->report,
                          &(karst_value){.name = name, .number = NAN, .text = text});
}

int karst_precond_report(const karst_precond *precond, size_t i, karst_value *value)
{
  return precond && value ? karst_report_get(&precond->report, i, value) : 0;
}

karst_status karst_precond_apply(const karst_precond *precond, const karst_vector *r, karst_vector *z)
{
  if (!precond) return karst_missing(r ? r->context : z ? z->context : NULL, "the preconditioner");
  karst_context *context = precond->context;
  const int64_t rows = karst_matrix_rows(precond->A);
  karst_status status = karst_matrix_check_generation(precond->A, precond->generation, "preconditioner");
  if (!r || !z)
    status = karst_missing(context, !r ? "the vector r" : "the vector z");
  else if (r->length != rows || z->length != rows || r->context != context || z->context != context)
    status = karst_fail(context, KARST_ERROR_ARGUMENT, "r and z must be vectors of length %lld", (long long)rows);
  else if (karst_vectors_overlap(r, z))
    status = karst_fail(context, KARST_ERROR_ARGUMENT, "the vectors r and z overlap in memory");
  if (!status && precond->reason != KARST_SOUND)
    status = karst_fail(context, KARST_ERROR_MATRIX, "the preconditioner is not usable: %s in block row %lld",
                        karst_reason_text(precond->reason), (long long)precond->block_row);
  status = agree(precond->A, status);
  return status ? status : agree(precond->A, karst_precond_run_apply(precond, r->values, z->values));
}
