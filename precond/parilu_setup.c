/* parilu_setup.c - the options and the pattern half of parilu and paric: the pattern S of ILU(k), the order of the
 * tasks, the analyses of the sweeps and of the triangular solves; then the matrix F on S, the factors, and the
 * plans. */
#include "precond/parilu_setup.h"

#include "symbolic/symbolic.h"

static const char *mode_name(size_t i)
{
  static const char *const names[] = {"synchronous", "asynchronous", NULL};
  return names[i];
}

static const char *order_name(size_t i)
{
  static const char *const names[] = {
      [KARST_TASKS_ROWS] = "rows", [KARST_TASKS_BLOCKS] = "blocks", [KARST_TASKS_RANDOM] = "random", NULL};
  return names[i];
}

static const char *chunks_name(size_t i)
{
  static const char *const names[] = {
      [KARST_CHUNKS_FORWARD] = "forward", [KARST_CHUNKS_BACKWARD] = "backward", [KARST_CHUNKS_RANDOM] = "random", NULL};
  return names[i];
}

#define FIELD(name) offsetof(karst_sweeps_settings, name)

const karst_option karst_sweeps_rows[] = {
    {"sweeps", KARST_OPTION_INTEGER, false, FIELD(sweeps), NULL, 0, "5",
     "sweeps of parilu and paric in each factorization",
     "N is at least 0. New values start from the last factors. With 0 the factors are the initial guess."},
    {"sweep-mode", KARST_OPTION_NAME, false, FIELD(asynchronous), mode_name, 0, "synchronous",
     "how the sweeps of parilu and paric use new values",
     "A synchronous sweep reads only values of the sweep before it and gives the same bits in every run. An "
     "asynchronous sweep replaces values while other threads read them: it may converge faster, parilu needs less "
     "memory, and the bits differ from run to run."},
    {"sweep-scale", KARST_OPTION_NAME, false, FIELD(scaled), karst_no_or_yes, 0, "yes",
     "start parilu and paric from the scaled matrix",
     "yes, which is recommended, makes the first guess from the matrix scaled to identity blocks on its diagonal; no "
     "makes it from the matrix itself, and the sweeps may diverge."},
    {"ilu-residual", KARST_OPTION_NAME, false, FIELD(residual), karst_no_or_yes, 0, "no",
     "report the norm of A - LU of parilu and paric too",
     "The norm is over all entries of the product and is computed on the host after each factorization. It and the "
     "other norms of the sweeps in the report are those of the matrix scaled to a unit diagonal; with blocks, each row "
     "and column is divided by the square root of its norm in the diagonal block."},
    {"sweep-order", KARST_OPTION_NAME, true, FIELD(order), order_name, 0, "rows",
     "the order of the tasks of asynchronous sweeps",
     "A task computes one block of the factors. rows goes through the block rows, blocks through blocks of sweep-block "
     "block rows, and random through all in a random order."},
    {"sweep-block", KARST_OPTION_INTEGER, true, FIELD(block), NULL, 1, "64",
     "block rows of a block of sweep-order blocks", "N is at least 1."},
    {"sweep-chunks", KARST_OPTION_NAME, true, FIELD(chunks), chunks_name, 0, "forward",
     "the order of the chunks of 128 tasks", "It applies to asynchronous sweeps."},
    {"sweep-limit", KARST_OPTION_INTEGER, true, FIELD(limit), NULL, 0, "0",
     "threads, on a GPU thread blocks, that sweep at a time; 0: all", "It applies to asynchronous sweeps."},
    {0},
};

const char *karst_sweeps_differ(const void *settings, const void *others)
{
  const karst_sweeps_settings *mine = settings, *theirs = others;
  if (mine->asynchronous != theirs->asynchronous) return "sweep-mode";
  if (mine->order != theirs->order) return "sweep-order";
  if (mine->block != theirs->block) return "sweep-block";
  if (mine->chunks != theirs->chunks) return "sweep-chunks";
  if (mine->limit != theirs->limit) return "sweep-limit";
  return karst_ilu_differ(settings, others);
}

/* Makes S with its diagonal, and finds the positions of the blocks of A in it. */
static karst_status join_pattern(const karst_matrix *A, karst_sweeps_analysis *analysis)
{
  karst_context *context = A->context;
  const karst_ilu_analysis *ilu = &analysis->ilu;
  const karst_ilu_pattern pattern = {ilu->rows, ilu->lower_start, ilu->lower_column, ilu->upper_start,
                                     ilu->upper_column};
  karst_index *start, *column, *place;
  karst_status status = karst_ilu_pattern_join(context, &pattern, A->row_start, A->column, &start, &column, &place);
  if (status) return status;
  status = karst_device_indices(context, karst_matrix_blocks(A), place, "the factors' pattern", &analysis->place);
  karst_release(context, place);
  if (!status)
    return karst_matrix_adopt_pattern(context, A->block_rows, A->block_size, start, column, &analysis->pattern);
  karst_release(context, start);
  karst_release(context, column);
  return status;
}

static karst_status make_mirror(karst_context *context, const karst_matrix *F, karst_index **mirror)
{
  karst_index *host;
  karst_status status = karst_pattern_mirror(context, F->block_rows, F->row_start, F->column, &host);
  if (status) return status;
  status = karst_device_indices(context, karst_matrix_blocks(F), host, "the factors' pattern", mirror);
  karst_release(context, host);
  return status;
}

static karst_status check_symmetric(const karst_precond *p)
{
  const karst_matrix *A = p->A;
  if (karst_pattern_is_symmetric(p->context, A->block_rows, A->row_start, A->column)) return KARST_SUCCESS;
  return karst_fail(
      p->context, KARST_ERROR_MATRIX,
      "paric is for symmetric matrices, but the pattern of this one is not symmetric: use parilu or iluk");
}

static karst_status make_pattern(const karst_precond *p, karst_sweeps_analysis *analysis)
{
  const karst_matrix *A = p->A;
  karst_parilu_analysis *sweeps = &analysis->sweeps;
  karst_status status = sweeps->symmetric ? check_symmetric(p) : KARST_SUCCESS;
  if (!status) status = karst_ilu_make_pattern(p, &analysis->ilu);
  if (!status && karst_ilu_settings_of(p)->level > 0) status = join_pattern(A, analysis);
  const karst_matrix *S = analysis->pattern ? analysis->pattern : A;
  if (!status) status = karst_matrix_locate_diagonal(S, &sweeps->diagonal);
  return !status && sweeps->symmetric ? make_mirror(p->context, S, &sweeps->mirror) : status;
}

static karst_status order_tasks(const karst_precond *p, const karst_matrix *S, karst_parilu_analysis *sweeps)
{
  const karst_sweeps_settings *settings = karst_sweeps_settings_of(p);
  const karst_sweep_pattern pattern = {S->block_rows, S->row_start, S->column, sweeps->symmetric};
  sweeps->limit = settings->limit;
  return karst_sweep_order(p->context, &pattern, (karst_task_order)settings->order, settings->block,
                           (karst_chunk_order)settings->chunks, &sweeps->task, &sweeps->tasks);
}

karst_status karst_sweeps_analyse(const karst_precond *p, bool symmetric, karst_sweeps_analysis *analysis)
{
  const struct karst_parilu_kernels *kernels = p->context->backend->parilu;
  analysis->sweeps.symmetric = symmetric;
  analysis->ilu.loads = true;
  analysis->sweeps.asynchronous = karst_sweeps_settings_of(p)->asynchronous;
  karst_status status = make_pattern(p, analysis);
  const karst_matrix *S = analysis->pattern ? analysis->pattern : p->A;
  if (!status) status = order_tasks(p, S, &analysis->sweeps);
  if (!status && kernels->analyse) status = kernels->analyse(p->context, S, &analysis->sweeps);
  return status ? status : karst_ilu_analyse(p, S, &analysis->ilu);
}

void karst_sweeps_analysis_destroy(karst_context *context, karst_sweeps_analysis *analysis)
{
  const struct karst_parilu_kernels *kernels = context->backend->parilu;
  if (kernels->analysis_destroy) kernels->analysis_destroy(context, &analysis->sweeps);
  karst_ilu_analysis_destroy(context, &analysis->ilu);
  context->backend->release(context, analysis->sweeps.diagonal);
  context->backend->release(context, analysis->sweeps.mirror);
  karst_release(context, analysis->sweeps.task);
  context->backend->release(context, analysis->place);
  karst_matrix_destroy(analysis->pattern);
}

/* F is A itself, or a matrix on S whose fill is zero. */
static karst_status make_F(const karst_matrix *A, karst_sweeps *s)
{
  s->factors.F = A;
  if (!s->analysis->pattern) return KARST_SUCCESS;
  karst_status status = karst_matrix_on_pattern(s->analysis->pattern, A->rows_unpadded, &s->made);
  if (status) return status;
  A->context->backend->fill(A->context, karst_entries(s->made), 0, s->made->value);
  s->factors.F = s->made;
  return KARST_SUCCESS;
}

static karst_status make_factors(karst_context *context, karst_parilu *factors)
{
  const int64_t entries = karst_entries(factors->F), rows = factors->F->block_rows;
  const int b = factors->F->block_size;
  karst_status status = karst_device_doubles(context, entries, "the factors", &factors->value);
  if (!status && (factors->symmetric || !factors->asynchronous))
    status = karst_device_doubles(context, entries, "the next factors", &factors->next);
  if (!status) status = karst_device_doubles(context, karst_block_offset(b, rows), "the pivots", &factors->inverse);
  return status ? status
                : karst_device_doubles(context, 2 * karst_matrix_rows(factors->F), "the weights", &factors->weight);
}

/* Bytes held besides the triangular solves. */
static int64_t memory_of(const karst_matrix *A, const karst_sweeps *s)
{
  const karst_parilu_analysis *sweeps = &s->analysis->sweeps;
  const karst_matrix *F = s->factors.F;
  const int64_t entries = karst_entries(F), blocks = karst_matrix_blocks(F), rows = F->block_rows;
  int64_t values = entries * (1 + (s->factors.next != NULL) + (s->made != NULL) + 2 * (s->residual.matrix != NULL)) +
                   karst_block_offset(F->block_size, rows) + 2 * karst_matrix_rows(F);
  int64_t indices = rows * (1 + (s->residual.matrix != NULL)) + (s->factors.mirror ? blocks : 0) +
                    (s->made ? blocks + rows + karst_matrix_blocks(A) : 0) + (sweeps->task ? sweeps->tasks : 0);
  return values * (int64_t)sizeof(double) + indices * (int64_t)sizeof(karst_index) + s->factors.plan_memory +
         sweeps->plan_memory;
}

karst_status karst_sweeps_setup(karst_precond *p, const karst_sweeps_analysis *analysis, karst_sweeps *s)
{
  karst_context *context = p->context;
  const karst_parilu_analysis *sweeps = &analysis->sweeps;
  karst_parilu *factors = &s->factors;
  s->analysis = analysis;
  factors->symmetric = sweeps->symmetric;
  factors->asynchronous = sweeps->asynchronous;
  factors->diagonal = sweeps->diagonal;
  factors->mirror = sweeps->mirror;
  karst_status status = make_F(p->A, s);
  if (!status) status = make_factors(context, factors);
  if (!status) status = context->backend->parilu->plan(context, sweeps, factors);
  if (!status) status = karst_ilu_make_plan(p, &analysis->ilu, &s->ilu);
  if (!status && karst_sweeps_settings_of(p)->residual)
    status = karst_backends[0]->ilu_residual->create(factors->F, factors->diagonal, &s->residual);
  if (!status) p->memory += memory_of(p->A, s);
  return status;
}

void karst_sweeps_destroy(karst_context *context, karst_sweeps *s)
{
  karst_backends[0]->ilu_residual->destroy(context, &s->residual);
  context->backend->parilu->plan_destroy(context, &s->factors);
  context->backend->ilu->plan_destroy(context, &s->ilu);
  context->backend->release(context, s->factors.value);
  context->backend->release(context, s->factors.next);
  context->backend->release(context, s->factors.inverse);
  context->backend->release(context, s->factors.weight);
  karst_matrix_destroy(s->made);
}
