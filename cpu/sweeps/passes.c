/* passes.c - the CPU instance of the kernels of parilu and paric: the plan, and the passes over rows that make up
 * the initial guess, a sweep, and the nonlinear residual norm. parilu.c and paric.c do the rows.
 *
 * Synchronous sweeps give the same bits for every number of threads: each row is the work of one thread from the last
 * sweep's values, and the squares of the rows' residuals are added in the rows' order. */
#include "cpu/sweeps/sweeps_cpu.h"

static karst_status plan(karst_context *context, const karst_parilu_analysis *analysis, karst_parilu *s)
{
  enum { BLOCKS = 3 };
  const karst_matrix *F = s->F;
  const int64_t bb = karst_block_offset(F->block_size, 1);
  karst_parilu_plan *made;
  int64_t widest = 1;
  karst_status status = karst_allocate_zero(context, &made, 1, sizeof *made, "the sweeps");
  if (status) return status;
  s->plan = made;
  int threads = karst_threads_worth(context, karst_entries(F));
  if (analysis->limit > 0 && analysis->limit < threads) threads = analysis->limit;
  for (karst_index i = 0; i < F->block_rows; i++)
    if (F->row_start[i + 1] - F->row_start[i] > widest) widest = F->row_start[i + 1] - F->row_start[i];
  status = karst_allocate(context, &made->row_sum, F->block_rows, sizeof *made->row_sum, "the sweeps");
  if (!status) status = karst_allocate_zero(context, &made->workspace, threads, sizeof *made->workspace, "the sweeps");
  if (status) return status;
  made->threads = threads;
  if (s->asynchronous && analysis->task) {
    made->task = analysis->task;
    made->tasks = analysis->tasks;
  }
  for (int t = 0; t < threads && !status; t++)
    status = karst_ilu_workspace_create(context, F->block_rows, F->block_size, widest, BLOCKS, &made->workspace[t]);
  s->plan_memory = (int64_t)F->block_rows * (int64_t)sizeof(double) +
                   threads * ((widest + BLOCKS) * bb * (int64_t)sizeof(double) +
                              (int64_t)F->block_rows * (int64_t)sizeof(karst_index));
  return status;
}

static void plan_destroy(karst_context *context, karst_parilu *s)
{
  karst_parilu_plan *made = s->plan;
  if (!made) return;
  for (int t = 0; t < made->threads; t++) karst_ilu_workspace_destroy(context, &made->workspace[t]);
  karst_release(context, made->workspace);
  karst_release(context, made->row_sum);
  karst_release(context, made);
}

static const karst_parilu_method *method_of(const karst_parilu *s)
{
  const int b = s->F->block_size;
  return &(s->symmetric ? karst_paric_methods_cpu
                        : karst_parilu_methods_cpu)[b <= KARST_BLOCK_SIZE_LARGEST_INSTANCE ? b : 0];
}

/* Begins a pass, which has the plan's threads at most. */
static karst_piece begin(karst_context *context, const karst_parilu *s)
{
  const karst_parilu_plan *made = s->plan;
  return karst_begin_at_most(context, KARST_KIND_FACTOR, karst_entries(s->F), made->threads);
}

/* Runs a pass over all rows, which are shared out by their entries. */
static void run(karst_context *context, karst_parilu_rows *rows, const karst_parilu_pass *pass)
{
  const karst_matrix *F = pass->s->F;
  const karst_parilu_plan *made = pass->s->plan;
  karst_piece piece = begin(context, pass->s);
#pragma omp parallel num_threads(piece.threads)
  {
    const karst_part part = karst_part_rows(&piece, F->block_rows, F->row_start);
    rows(pass, part.first, part.last, &made->workspace[karst_thread()]);
    karst_part_end(&piece, &part);
  }
  karst_end(context, &piece);
}

static void guess(karst_context *context, bool scaled, karst_parilu *s)
{
  const karst_parilu_method *method = method_of(s);
  const karst_parilu_pass pass = {.s = s, .scaled = scaled};
  run(context, method->guess_diagonal, &pass);
  run(context, method->invert, &pass);
  run(context, method->guess, &pass);
}

/* Returns the row of block number k, which is the last row that starts there or before. */
static karst_index find_row(const karst_matrix *F, karst_index k)
{
  return karst_lower_bound(F->row_start, 0, F->block_rows, k + 1) - 1;
}

/* Takes one asynchronous sweep. Each thread takes the next few rows, or tasks, when it is free, so that the rows above
 * are mostly done. */
static void sweep_in_place(karst_context *context, const karst_parilu_method *method, const karst_parilu *s)
{
  enum { ROWS = 64, TASKS = 128 };
  const karst_matrix *F = s->F;
  const karst_parilu_plan *made = s->plan;
  const karst_parilu_pass pass = {.s = s, .in_place = true, .to = s->value};
  karst_piece piece = begin(context, s);
#pragma omp parallel num_threads(piece.threads)
  {
    const karst_part part = karst_part_begin(&piece, F->block_rows);
    karst_ilu_workspace *w = &made->workspace[karst_thread()];
#pragma omp for schedule(dynamic)
    for (int64_t first = 0; first < (made->task ? 0 : F->block_rows); first += ROWS)
      method->sweep(&pass, (karst_index)first,
                    F->block_rows - first > ROWS ? (karst_index)(first + ROWS) : F->block_rows, w);
#pragma omp for schedule(dynamic, TASKS) nowait
    for (int64_t t = 0; t < made->tasks; t++) {
      const karst_index k = made->task[t];
      method->update(s, find_row(F, k), k, w);
    }
    karst_part_end(&piece, &part);
  }
  karst_end(context, &piece);
}

/* Takes one synchronous sweep. If measured is true, it also sums the residual of the factors that it starts from. */
static void sweep_once(karst_context *context, const karst_parilu_method *method, bool measured, karst_parilu *s)
{
  const karst_parilu_plan *made = s->plan;
  const karst_parilu_pass pass = {.s = s, .to = s->next, .row_sum = measured ? made->row_sum : NULL};
  run(context, method->invert, &pass);
  run(context, method->sweep, &pass);
  double *result = s->next;
  s->next = s->value;
  s->value = result;
}

static void make_weights(const karst_parilu *s)
{
  const karst_matrix *F = s->F;
  const int b = F->block_size;
  const int64_t n = (int64_t)F->block_rows * b;
  for (karst_index i = 0; i < F->block_rows; i++)
    karst_block_weights(b, F->value + karst_block_offset(b, s->diagonal[i]), s->weight + (int64_t)i * b,
                        s->weight + n + (int64_t)i * b);
}

static double norm_of_rows(const karst_parilu *s)
{
  const karst_parilu_plan *made = s->plan;
  double sum = 0;
  for (karst_index i = 0; i < s->F->block_rows; i++) sum += made->row_sum[i];
  return sqrt(sum);
}

static karst_status sweep(karst_context *context, int sweeps, karst_parilu *s, double residual[2])
{
  const karst_parilu_method *method = method_of(s);
  const karst_parilu_plan *made = s->plan;
  const karst_parilu_pass measure = {.s = s, .row_sum = made->row_sum};
  make_weights(s);
  if (s->asynchronous || sweeps == 0) {
    run(context, method->sweep, &measure);
    residual[0] = norm_of_rows(s);
    if (sweeps > 0) run(context, method->invert, &measure);
  }
  for (int t = 0; t < sweeps; t++) {
    if (s->asynchronous)
      sweep_in_place(context, method, s);
    else
      sweep_once(context, method, t == 0, s);
    if (t == 0 && !s->asynchronous) residual[0] = norm_of_rows(s);
  }
  if (sweeps > 0) run(context, method->sweep, &measure);
  residual[1] = norm_of_rows(s);
  return KARST_SUCCESS;
}

static void expand(karst_context *context, karst_parilu *s)
{
  const karst_parilu_method *method = method_of(s);
  const karst_parilu_pass pass = {.s = s, .to = s->next};
  run(context, method->invert, &pass);
  run(context, method->expand, &pass);
}

const struct karst_parilu_kernels karst_parilu_kernels_cpu = {
    .plan = plan,
    .plan_destroy = plan_destroy,
    .guess = guess,
    .sweep = sweep,
    .expand = expand,
};
