/* runs.c - see runs.h. */
#include "cpu/runs.h"

#include "lib/matrix/matrix.h"

int64_t karst_schedule_memory(const karst_schedule *schedule)
{
  return karst_schedule_runs(schedule) * (int64_t)(2 * sizeof(karst_index) + sizeof(int64_t));
}

karst_piece karst_schedule_begin(karst_context *context, karst_kind kind, int b, int threads,
                                 const karst_schedule *schedule)
{
  const karst_index runs = karst_schedule_runs(schedule);
  karst_piece piece = karst_begin(context, kind, karst_block_offset(b, schedule->run_work[runs]));
  if (piece.threads > threads) piece.threads = threads;
  if (runs <= 1) piece.threads = 1;
  return piece;
}

void karst_schedule_share(const karst_schedule *schedule, karst_index level, int thread, int team, karst_index *first,
                          karst_index *last)
{
  karst_index begin = schedule->level_start[level], end = schedule->level_start[level + 1];
  int64_t base = schedule->run_work[begin], work = schedule->run_work[end] - base;
  karst_index run = begin;
  while (run < end && schedule->run_work[run] - base < karst_share(work, thread, team)) run++;
  *first = run;
  while (run < end && schedule->run_work[run] - base < karst_share(work, thread + 1, team)) run++;
  *last = run;
}

void karst_schedule_sweep(karst_context *context, karst_kind kind, int b, int threads, const karst_schedule *schedule,
                          karst_index count, karst_sweep_rows *rows, const void *pass)
{
  karst_piece piece = karst_schedule_begin(context, kind, b, threads, schedule);
  karst_barrier barrier = {0};
  if (piece.threads == 1)
    rows(pass, 0, count);
  else
#pragma omp parallel num_threads(piece.threads)
    for (karst_index level = 0; level < schedule->levels; level++) {
      karst_index run, end;
      if (level > 0) karst_barrier_wait(&barrier, karst_team());
      karst_schedule_share(schedule, level, karst_thread(), karst_team(), &run, &end);
      for (; run < end; run++) rows(pass, schedule->run_first[run], schedule->run_last[run]);
    }
  karst_end(context, &piece);
}
