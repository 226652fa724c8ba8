/* plan.c - the analysis of DILU on the CPU: the schedules of both sweeps, and for each block of E its mirror image in
 * F. Also work space, and the table of the kernels. */
#include "cpu/dilu/dilu_cpu.h"

/* tiling: of the rows, or NULL. */
static karst_status find_schedules(karst_context *context, const karst_ilu_pattern *triangles,
                                   const karst_tiling *tiling, int threads, karst_dilu_analysis *analysis,
                                   karst_dilu_runs *runs)
{
  const karst_index rows = triangles->rows;
  const karst_index *lower_start = triangles->lower_start, *lower = triangles->lower_column;
  const karst_index *upper_start = triangles->upper_start, *upper = triangles->upper_column;
  karst_status status;
  if ((status = karst_levels_count(context, rows, lower_start, lower, true, &analysis->levels_lower)) ||
      (status = karst_levels_count(context, rows, upper_start, upper, false, &analysis->levels_upper)) ||
      (status = karst_schedule_create(context, tiling, rows, lower_start, lower, true, threads, &runs->forward)) ||
      (status = karst_schedule_create(context, tiling, rows, upper_start, upper, false, threads, &runs->backward)))
    return status;
  const bool shared = karst_schedule_runs(&runs->forward) > 1 || karst_schedule_runs(&runs->backward) > 1;
  runs->threads = shared ? threads : 1;
  return KARST_SUCCESS;
}

static karst_status analyse(karst_context *context, const karst_matrix *A, karst_dilu_analysis *analysis)
{
  const karst_index rows = A->block_rows;
  karst_ilu_pattern triangles = {0};
  karst_dilu_runs *runs;
  analysis->rows = rows;
  analysis->block_size = A->block_size;
  analysis->blocks = karst_matrix_blocks(A);
  karst_status status = karst_allocate_zero(context, &runs, 1, sizeof *runs, "DILU");
  if (status) return status;
  analysis->plan = runs;
  status = karst_ilu_symbolic(context, rows, A->row_start, A->column, 0, &triangles);
  if (status) return status;
  const int threads = karst_threads_worth(context, karst_entries(A));
  status = find_schedules(context, &triangles, A->tiling, threads, analysis, runs);
  runs->lower = triangles.lower_start;
  triangles.lower_start = NULL;
  if (!status) status = karst_pattern_mirror_lower(context, rows, A->row_start, A->column, runs->lower, &runs->mirror);
  karst_ilu_pattern_destroy(context, &triangles);
  if (status) return status;
  const int64_t numbers = (int64_t)rows + 1 + runs->lower[rows];
  analysis->plan_memory = karst_schedule_memory(&runs->forward) + karst_schedule_memory(&runs->backward) +
                          numbers * (int64_t)sizeof(karst_index);
  return KARST_SUCCESS;
}

static void analysis_destroy(karst_context *context, karst_dilu_analysis *analysis)
{
  karst_dilu_runs *runs = analysis->plan;
  if (!runs) return;
  karst_schedule_destroy(context, &runs->forward);
  karst_schedule_destroy(context, &runs->backward);
  karst_release(context, runs->lower);
  karst_release(context, runs->mirror);
  karst_release(context, runs);
}

static karst_status plan(karst_context *context, karst_dilu *dilu)
{
  const karst_dilu_analysis *analysis = dilu->analysis;
  const int64_t b = analysis->block_size, threads = karst_dilu_runs_of(dilu)->threads;
  const int64_t blocks = b * b * analysis->rows, room = threads * (4 * b * b + 2 * b);
  const int64_t sums = analysis->modified ? blocks : 0, copies = analysis->single ? b * b * analysis->blocks : 0;
  karst_dilu_work *work;
  karst_status status = karst_allocate_zero(context, &work, 1, sizeof *work, "DILU");
  if (status) return status;
  dilu->plan = work;
  dilu->plan_memory = (blocks + sums + room) * (int64_t)sizeof(double) + threads * b * (int64_t)sizeof(int);
  status = karst_device_doubles(context, blocks, "the inverse blocks of DILU", &dilu->inverse);
  if (!status && copies > 0) status = karst_device_floats(context, copies, "DILU in float", &dilu->value_float);
  if (!status && copies > 0) status = karst_device_floats(context, blocks, "DILU in float", &dilu->inverse_float);
  if (copies > 0) dilu->plan_memory += (copies + blocks) * (int64_t)sizeof(float);
  if (!status && sums > 0) status = karst_device_doubles(context, sums, "the row sums of DILU", &work->row_sum);
  if (!status) status = karst_allocate(context, &work->room, room, sizeof *work->room, "DILU");
  if (!status) status = karst_allocate(context, &work->pivot, threads * b, sizeof *work->pivot, "DILU");
  return status;
}

static void plan_destroy(karst_context *context, karst_dilu *dilu)
{
  karst_dilu_work *work = dilu->plan;
  context->backend->release(context, dilu->inverse);
  context->backend->release(context, dilu->value_float);
  context->backend->release(context, dilu->inverse_float);
  if (!work) return;
  context->backend->release(context, work->row_sum);
  karst_release(context, work->room);
  karst_release(context, work->pivot);
  karst_release(context, work);
}

const struct karst_dilu_kernels karst_dilu_kernels_cpu = {
    .analyse = analyse,
    .analysis_destroy = analysis_destroy,
    .plan = plan,
    .plan_destroy = plan_destroy,
    .factor = karst_dilu_factor_cpu,
    .solve = karst_dilu_solve_cpu,
};
