/* parilu_setup.c - the pattern half of parilu and paric: the pattern S of ILU(k), the matrix F on it, the order of the
 * tasks, memory for the factors, the plans of the sweeps and of the triangular solves. */
#include "parilu.h"

#include "symbolic.h"

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
     "sweeps of parilu and paric in each factorization"},
    {"sweep-mode", KARST_OPTION_NAME, false, FIELD(asynchronous), mode_name, 0, "synchronous",
     "asynchronous: sweeps in place, not the same bits in every run"},
    {"sweep-scale", KARST_OPTION_NAME, false, FIELD(scaled), karst_no_or_yes, 0, "yes",
     "parilu and paric start from the scaled matrix"},
    {"ilu-residual", KARST_OPTION_NAME, false, FIELD(residual), karst_no_or_yes, 0, "no",
     "parilu and paric report the norm of A - LU too"},
    {"sweep-order", KARST_OPTION_NAME, true, FIELD(order), order_name, 0, "rows",
     "the order of the tasks of asynchronous sweeps"},
    {"sweep-block", KARST_OPTION_INTEGER, true, FIELD(block), NULL, 1, "64",
     "block rows of a block of sweep-order blocks"},
    {"sweep-chunks", KARST_OPTION_NAME, true, FIELD(chunks), chunks_name, 0, "forward",
     "the order of the chunks of 128 tasks"},
    {"sweep-limit", KARST_OPTION_INTEGER, true, FIELD(limit), NULL, 0, "0",
     "threads, on a GPU thread blocks, that sweep at a time; 0: all"},
    {0},
};

/* F, and where the blocks of A go in it. */
static karst_status make_F(const karst_matrix *A, karst_sweeps *s)
{
  karst_context *context = A->context;
  const karst_ilu *ilu = &s->ilu;
  const karst_ilu_pattern pattern = {ilu->rows, ilu->lower_start, ilu->lower_column, ilu->upper_start,
                                     ilu->upper_column};
  karst_index *start, *column, *place;
  karst_status status = karst_ilu_pattern_join(context, &pattern, A->row_start, A->column, &start, &column, &place);
  if (status) return status;
  status = karst_device_indices(context, karst_matrix_blocks(A), place, "the factors' pattern", &s->place);
  karst_release(context, place);
  if (status) {
    karst_release(context, start);
    karst_release(context, column);
    return status;
  }
  status = karst_matrix_adopt(context, A->block_rows, A->block_size, A->rows_unpadded, start, column, NULL, &s->made);
  if (!status) context->backend->fill(context, karst_entries(s->made), 0, s->made->value);
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
  bool symmetric;
  karst_status status = karst_pattern_is_symmetric(p->context, A->block_rows, A->row_start, A->column, &symmetric);
  if (status || symmetric) return status;
  return karst_fail(
      p->context, KARST_ERROR_MATRIX,
      "paric is for symmetric matrices, and the pattern of this one is not symmetric: use parilu or iluk");
}

static karst_status make_pattern(karst_precond *p, karst_sweeps *s)
{
  karst_context *context = p->context;
  const karst_matrix *A = p->A;
  karst_status status = s->factors.symmetric ? check_symmetric(p) : KARST_SUCCESS;
  if (!status) status = karst_ilu_make_pattern(p, &s->ilu);
  if (status) return status;
  s->factors.F = A;
  if (karst_ilu_settings_of(p)->level > 0) {
    status = make_F(A, s);
    if (status) return status;
    s->factors.F = s->made;
  }
  if (!status) status = karst_matrix_locate_diagonal(s->factors.F, &s->factors.diagonal);
  return !status && s->factors.symmetric ? make_mirror(context, s->factors.F, &s->factors.mirror) : status;
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

static karst_status make_sweeps(karst_precond *p, karst_sweeps *s)
{
  const karst_matrix *F = s->factors.F;
  const karst_sweeps_settings *settings = karst_sweeps_settings_of(p);
  const karst_sweep_pattern pattern = {F->block_rows, F->row_start, F->column, s->factors.symmetric};
  karst_index *task;
  int64_t tasks;
  karst_status status = karst_sweep_order(p->context, &pattern, (karst_task_order)settings->order, settings->block,
                                          (karst_chunk_order)settings->chunks, &task, &tasks);
  if (status) return status;
  const karst_parilu_analysis analysis = {task, tasks, settings->limit};
  status = p->context->backend->parilu->plan(p->context, &analysis, &s->factors);
  karst_release(p->context, task);
  return status;
}

/* Bytes held besides the triangular solves. */
static int64_t memory_of(const karst_matrix *A, const karst_sweeps *s)
{
  const karst_matrix *F = s->factors.F;
  const int64_t entries = karst_entries(F), blocks = karst_matrix_blocks(F), rows = F->block_rows;
  int64_t values = entries * (1 + (s->factors.next != NULL) + (s->made != NULL) + 2 * (s->residual.matrix != NULL)) +
                   karst_block_offset(F->block_size, rows) + 2 * karst_matrix_rows(F);
  int64_t indices = rows * (1 + (s->residual.matrix != NULL)) + (s->factors.mirror ? blocks : 0) +
                    (s->made ? blocks + rows + karst_matrix_blocks(A) : 0);
  return values * (int64_t)sizeof(double) + indices * (int64_t)sizeof(karst_index) + s->factors.plan_memory;
}

karst_status karst_sweeps_setup(karst_precond *p, karst_sweeps *s)
{
  karst_context *context = p->context;
  const karst_sweeps_settings *settings = karst_sweeps_settings_of(p);
  s->factors.asynchronous = settings->asynchronous;
  karst_status status = make_pattern(p, s);
  if (!status) status = make_factors(context, &s->factors);
  if (!status) status = make_sweeps(p, s);
  if (!status) status = karst_ilu_make_plan(p, s->factors.F, &s->ilu);
  if (!status && settings->residual)
    status = karst_backends[0]->ilu_residual->create(s->factors.F, s->factors.diagonal, &s->residual);
  if (!status) p->memory += memory_of(p->A, s);
  return status;
}

void karst_sweeps_destroy(karst_context *context, karst_sweeps *s)
{
  karst_backends[0]->ilu_residual->destroy(context, &s->residual);
  context->backend->parilu->plan_destroy(context, &s->factors);
  karst_ilu_destroy(context, &s->ilu);
  context->backend->release(context, s->factors.diagonal);
  context->backend->release(context, s->factors.mirror);
  context->backend->release(context, s->factors.value);
  context->backend->release(context, s->factors.next);
  context->backend->release(context, s->factors.inverse);
  context->backend->release(context, s->factors.weight);
  context->backend->release(context, s->place);
  karst_matrix_destroy(s->made);
}
