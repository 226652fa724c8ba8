/* schedules.h - checks schedules of triangular sweeps against the triangle alone. */
#ifndef KARST_TESTS_SUPPORT_SCHEDULES_H
#define KARST_TESTS_SUPPORT_SCHEDULES_H

#include "tests/support/patterns.h"
#include "symbolic/symbolic.h"

/* Returns whether the schedule of a strict triangle is valid: it holds each row once, a row depends only on earlier
 * rows of its run and on runs of lower levels, and the running totals are right. */
static inline bool schedule_is_valid(const karst_schedule *schedule, karst_index rows, const karst_index *start,
                                     const karst_index *column, bool lower)
{
  karst_index *level = tap_memory(rows, sizeof *level), *run = tap_memory(rows, sizeof *run), r = 0, held = 0;
  int64_t work = 0;
  bool valid = schedule->level_start[0] == 0;
  for (karst_index i = 0; i < rows; i++) run[i] = -1;
  for (karst_index l = 0; l < schedule->levels; l++) {
    valid = valid && schedule->level_start[l + 1] > schedule->level_start[l];
    for (; r < schedule->level_start[l + 1]; r++) {
      valid = valid && schedule->run_work[r] == work && schedule->run_first[r] < schedule->run_last[r];
      for (karst_index i = schedule->run_first[r]; i < schedule->run_last[r]; i++) {
        valid = valid && run[i] < 0;
        run[i] = r;
        level[i] = l;
        work += start[i + 1] - start[i] + 1;
        held++;
      }
    }
  }
  valid = valid && held == rows && schedule->run_work[r] == work;
  for (karst_index i = 0; i < rows; i++) {
    for (karst_index k = start[i]; k < start[i + 1]; k++) {
      karst_index j = column[k];
      bool swept_before = lower ? j < i : j > i;
      valid = valid && (level[j] < level[i] || (run[j] == run[i] && swept_before));
    }
  }
  free(level);
  free(run);
  return valid;
}

#endif
