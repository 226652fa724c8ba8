/* A schedule holds each row once. A row depends only on earlier rows of its run and on runs of lower levels. The
 * running totals are right. One thread, or no parallelism, gives the plain sweep. */
#include "cpu/ilu/ilu_cpu.h"
#include "tests/support/failing_allocator.h"
#include "tests/support/schedules.h"

#include <string.h>

static void test_random(karst_context *context)
{
  int wrong = 0, parallel = 0;
  for (int c = 0; c < 60; c++) {
    karst_index n = c < 4 ? c : c == 21 ? 5000 : (karst_index)tap_random_index(300);
    struct pattern A = pattern_random(n, c % 4 == 0 ? 0.001 : c % 4 == 1 ? 0 : 0.05);
    karst_ilu_pattern pattern;
    tap_need(context, karst_ilu_symbolic(context, n, A.start, A.column, 0, &pattern), "symbolic");
    for (int threads = 1; threads <= 4; threads++) {
      karst_schedule lower, upper;
      tap_need(
          context,
          karst_schedule_create(context, NULL, n, pattern.lower_start, pattern.lower_column, true, threads, &lower),
          "forward");
      tap_need(
          context,
          karst_schedule_create(context, NULL, n, pattern.upper_start, pattern.upper_column, false, threads, &upper),
          "backward");
      wrong += !schedule_is_valid(&lower, n, pattern.lower_start, pattern.lower_column, true);
      wrong += !schedule_is_valid(&upper, n, pattern.upper_start, pattern.upper_column, false);
      parallel += lower.level_start[lower.levels] > 1;
      karst_schedule_destroy(context, &lower);
      karst_schedule_destroy(context, &upper);
    }
    karst_ilu_pattern_destroy(context, &pattern);
    pattern_free(&A);
  }
  tap_ok(wrong == 0, "random triangles: all dependencies are in lower levels or earlier in the same run");
  tap_ok(parallel > 0, "some of these schedules have parallelism");
}

/* Checks the level k fill of a grid with lines of nx cells. levels: number of levels of the forward and the backward
 * schedule, or 0 for more than one. */
static void check_grid(karst_context *context, karst_index nx, karst_index ny, karst_index nz, int k, int threads,
                       karst_index levels)
{
  struct pattern A = pattern_grid(nx, ny, nz);
  karst_ilu_pattern pattern;
  karst_schedule lower, upper;
  tap_need(context, karst_ilu_symbolic(context, A.n, A.start, A.column, k, &pattern), "symbolic");
  tap_need(context,
           karst_schedule_create(context, NULL, A.n, pattern.lower_start, pattern.lower_column, true, threads, &lower),
           "L");
  tap_need(context,
           karst_schedule_create(context, NULL, A.n, pattern.upper_start, pattern.upper_column, false, threads, &upper),
           "U");
  tap_ok(schedule_is_valid(&lower, A.n, pattern.lower_start, pattern.lower_column, true) &&
             schedule_is_valid(&upper, A.n, pattern.upper_start, pattern.upper_column, false) &&
             (levels > 0 ? lower.levels == levels : lower.levels > 1) && upper.levels == lower.levels,
         "%ldx%ldx%ld cells, k = %d, %d threads: both sweeps valid, %ld and %ld levels of %ld and %ld runs", (long)nx,
         (long)ny, (long)nz, k, threads, (long)lower.levels, (long)upper.levels, (long)lower.level_start[lower.levels],
         (long)upper.level_start[upper.levels]);
  karst_schedule_destroy(context, &lower);
  karst_schedule_destroy(context, &upper);
  karst_ilu_pattern_destroy(context, &pattern);
  pattern_free(&A);
}

/* The lines of cells are not coupled, so that all runs are in one level. There is at least one run for each line, and
 * the sweeps' two threads share them. */
static void check_lines(karst_context *context, karst_index lines, karst_index cells)
{
  struct pattern A = pattern_grid(cells, 1, lines);
  karst_index k = 0;
  for (karst_index i = 0; i < A.n; i++) {
    if (i % cells > 0) A.column[k++] = i - 1;
    A.column[k++] = i;
    if (i % cells < cells - 1) A.column[k++] = i + 1;
    A.start[i + 1] = k;
  }
  karst_ilu_pattern pattern;
  tap_need(context, karst_ilu_symbolic(context, A.n, A.start, A.column, 0, &pattern), "symbolic");
  karst_ilu_analysis analysis = {.rows = A.n,
                                 .block_size = 1,
                                 .lower_start = pattern.lower_start,
                                 .lower_column = pattern.lower_column,
                                 .upper_start = pattern.upper_start,
                                 .upper_column = pattern.upper_column,
                                 .lower_blocks = pattern.lower_start[A.n],
                                 .upper_blocks = pattern.upper_start[A.n]};
  tap_need(context, karst_context_set_threads(context, 2), "threads");
  tap_need(context, context->backend->ilu->analyse(context, NULL, KARST_TRISOLVE_AUTO, &analysis), "analysis");
  const karst_ilu_plan *plan = analysis.plan;
  tap_ok(schedule_is_valid(&plan->lower, A.n, pattern.lower_start, pattern.lower_column, true) &&
             plan->lower.levels == 1 && karst_schedule_runs(&plan->lower) >= lines &&
             karst_schedule_runs(&plan->upper) >= lines,
         "%ld lines of %ld cells: %ld runs in one level", (long)lines, (long)cells,
         (long)karst_schedule_runs(&plan->lower));
  tap_ok(plan->threads == 2, "and two threads share them");
  context->backend->ilu->analysis_destroy(context, &analysis);
  tap_need(context, karst_context_set_threads(context, 1), "one thread");
  karst_ilu_pattern_destroy(context, &pattern);
  pattern_free(&A);
}

static karst_status run_schedule(karst_context *context, void *user)
{
  const struct pattern *A = user;
  karst_ilu_pattern pattern;
  karst_schedule schedule = {0};
  karst_status status = karst_ilu_symbolic(context, A->n, A->start, A->column, 0, &pattern);
  for (int threads = 1; threads <= 2 && !status; threads++) {
    status =
        karst_schedule_create(context, NULL, A->n, pattern.lower_start, pattern.lower_column, true, threads, &schedule);
    karst_schedule_destroy(context, &schedule);
  }
  karst_ilu_pattern_destroy(context, &pattern);
  return status;
}

int main(void)
{
  karst_context *context = tap_context();
  test_random(context);
  check_grid(context, 40, 30, 30, 0, 2, 59);  /* a run is a line of cells, and levels are those of 30x30 lines */
  check_grid(context, 40, 30, 30, 0, 1, 1);   /* one thread: the plain sweep */
  check_grid(context, 2000, 1, 1, 0, 4, 1);   /* one chain: nothing to share */
  check_grid(context, 8, 8, 1, 0, 2, 1);      /* too small for barriers */
  check_grid(context, 40, 30, 30, 2, 2, 0);   /* with fill */
  check_grid(context, 1000, 200, 1, 0, 2, 0); /* long lines are cut */
  check_grid(context, 20, 60, 60, 0, 2, 0);   /* short lines are joined */
  if (strstr(karst_build_features(), "OpenMP"))
    check_lines(context, 2000, 64);
  else
    tap_skip("built without OpenMP", "uncoupled lines are shared among threads");
  karst_context_destroy(context);

  struct pattern parallel = pattern_grid(32, 20, 20), serial = pattern_grid(3, 3, 3);
  fail_each_allocation(run_schedule, &parallel, "schedule in parallel");
  fail_each_allocation(run_schedule, &serial, "schedule of a small system");
  pattern_free(&parallel);
  pattern_free(&serial);
  return tap_done();
}
