/* runs.h - how threads share the runs of a schedule, for factorizations and triangular sweeps. */
#ifndef KARST_CPU_RUNS_H
#define KARST_CPU_RUNS_H

#include "cpu/cpu.h"
#include "symbolic/symbolic.h"

static inline karst_index karst_schedule_runs(const karst_schedule *schedule)
{
  return schedule->level_start[schedule->levels];
}

/* Returns the bytes of a schedule. */
int64_t karst_schedule_memory(const karst_schedule *schedule);

/* Begins a piece of work on blocks of size b that goes through the runs of a schedule. It gets at most threads threads,
 * and one if there is only one run. */
karst_piece karst_schedule_begin(karst_context *context, karst_kind kind, int b, int threads,
                                 const karst_schedule *schedule);

/* Finds the runs of a level that are a thread's share of the work: those from *first up to but not including *last. */
void karst_schedule_share(const karst_schedule *schedule, karst_index level, int thread, int team, karst_index *first,
                          karst_index *last);

/* Some rows of a triangular sweep; pass has what the sweep reads and writes. */
typedef void karst_sweep_rows(const void *pass, karst_index first, karst_index last);

/* A piece that sweeps a triangle of so many rows: threads take the runs of one level in parallel, level after level. A
 * single thread takes all rows in order. */
void karst_schedule_sweep(karst_context *context, karst_kind kind, int b, int threads, const karst_schedule *schedule,
                          karst_index count, karst_sweep_rows *rows, const void *pass);

#endif
