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

#endif
