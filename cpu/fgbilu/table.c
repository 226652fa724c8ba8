/* table.c - the table of the CPU's kernels of fgbilu: the choice of a style, and memory. */
#include "cpu/fgbilu/fgbilu_cpu.h"

/* Lines suit every grid. Their boxes keep the order of the matrix in memory, and there are as many levels as lines side
 * by side. Hyperplanes jump about in memory, and have three times as many levels. */
static karst_status choose_style_cpu(karst_context *context, karst_fgbilu_style style, karst_fgbilu_analysis *analysis)
{
  static const char *const names[] = {[KARST_FGBILU_AUTO] = "lines",
                                      [KARST_FGBILU_SEQUENTIAL] = "sequential",
                                      [KARST_FGBILU_WAVEFRONT] = "wavefront",
                                      [KARST_FGBILU_LINES] = "lines"};
  if ((size_t)style < sizeof names / sizeof *names) {
    analysis->style = names[style];
    return KARST_SUCCESS;
  }
  return karst_fail(context, KARST_ERROR_OPTION,
                    "fgbilu-style is auto, sequential, wavefront or lines on the cpu; the other styles are for GPUs");
}

static karst_status analyse(karst_context *context, const karst_matrix *A, karst_fgbilu_style style,
                            karst_fgbilu_analysis *analysis)
{
  karst_fgbilu_schedule *schedule;
  karst_status status = choose_style_cpu(context, style, analysis);
  if (!status && analysis->single && style == KARST_FGBILU_SEQUENTIAL)
    status = karst_fail(context, KARST_ERROR_OPTION, "fgbilu-style sequential has no factor-precision float");
  if (!status) status = karst_allocate_zero(context, &schedule, 1, sizeof *schedule, "fgbilu");
  if (status) return status;
  analysis->plan = schedule;
  analysis->plan_memory = (int64_t)sizeof *schedule;
  schedule->triangles = style == KARST_FGBILU_SEQUENTIAL;
  schedule->threads = schedule->triangles ? 1 : karst_threads_worth(context, karst_entries(A));
  if (schedule->triangles || (style != KARST_FGBILU_WAVEFRONT && schedule->threads == 1)) return KARST_SUCCESS;
  return karst_boxes_make(context, style, analysis);
}

static void analysis_destroy(karst_context *context, karst_fgbilu_analysis *analysis)
{
  karst_fgbilu_schedule *schedule = analysis->plan;
  if (!schedule) return;
  karst_boxes_destroy(context, &schedule->boxes);
  karst_release(context, schedule);
  analysis->plan = NULL;
}

static karst_status make_workspace(karst_context *context, int b, karst_fgbilu_workspace *w)
{
  karst_status status = karst_allocate(context, &w->block, 2 * ((int64_t)b * b + b), sizeof *w->block, "fgbilu");
  return status ? status : karst_allocate(context, &w->pivot, b, sizeof *w->pivot, "fgbilu");
}

static karst_status plan(karst_context *context, karst_fgbilu *fgbilu)
{
  const karst_fgbilu_schedule *schedule = fgbilu->analysis->plan;
  const int b = fgbilu->analysis->block_size;
  const int64_t rows = fgbilu->analysis->cells.rows, entries = karst_block_offset(b, rows);
  const int64_t copies = fgbilu->analysis->single ? karst_block_offset(b, fgbilu->analysis->blocks) : 0;
  karst_fgbilu_space *space;
  karst_status status = karst_allocate_zero(context, &space, 1, sizeof *space, "fgbilu");
  if (status) return status;
  fgbilu->plan = space;
  status = karst_allocate_zero(context, &space->workspace, schedule->threads, sizeof *space->workspace, "fgbilu");
  if (!status) space->threads = schedule->threads;
  for (int t = 0; t < space->threads && !status; t++) status = make_workspace(context, b, &space->workspace[t]);
  if (!status && schedule->triangles)
    status = karst_allocate(context, &space->exchange, b * rows, sizeof *space->exchange, "fgbilu");
  if (!status) status = karst_device_doubles(context, entries, "the diagonal blocks of fgbilu", &fgbilu->factor);
  if (!status && copies > 0) status = karst_device_floats(context, copies, "fgbilu in float", &fgbilu->value_float);
  if (!status && copies > 0) status = karst_device_floats(context, entries, "fgbilu in float", &fgbilu->factor_float);
  fgbilu->plan_memory = (copies > 0 ? copies + entries : 0) * (int64_t)sizeof(float);
  fgbilu->plan_memory += (entries + 2 * space->threads * ((int64_t)b * b + b)) * (int64_t)sizeof(double) +
                         (schedule->triangles ? b * rows * (int64_t)sizeof *space->exchange : 0);
  return status;
}

static void plan_destroy(karst_context *context, karst_fgbilu *fgbilu)
{
  karst_fgbilu_space *space = fgbilu->plan;
  context->backend->release(context, fgbilu->factor);
  context->backend->release(context, fgbilu->value_float);
  context->backend->release(context, fgbilu->factor_float);
  if (!space) return;
  for (int t = 0; t < space->threads; t++) {
    karst_release(context, space->workspace[t].block);
    karst_release(context, space->workspace[t].pivot);
  }
  karst_release(context, space->workspace);
  karst_release(context, space->exchange);
  karst_release(context, space);
}

const struct karst_fgbilu_kernels karst_fgbilu_kernels_cpu = {
    .analyse = analyse,
    .analysis_destroy = analysis_destroy,
    .plan = plan,
    .plan_destroy = plan_destroy,
    .measure = karst_fgbilu_measure_cpu,
    .factor = karst_fgbilu_factor_cpu,
    .solve = karst_fgbilu_solve_cpu,
};
