/* schedule.c - cuts a triangular sweep into runs of consecutive rows, for a few threads.
 *
 * Level sets of single rows (Anderson and Saad 1989) jump about in memory and have a barrier for every few microseconds
 * of work. Here rows that form a chain stay together, because each depends on the row swept before it and no two could
 * run at the same time. On a grid in natural order such a run is one line of cells, and the levels of the runs are the
 * level sets of the grid of lines. Runs are consecutive rows whose dependencies point backward, so that any way of
 * cutting has levels.
 *
 * If an ordering has made tiles, these are the runs. The tiles of a colour are one level unless fill ties some of them
 * together, and the levels are few.
 *
 * This file counts rows by their position in the sweep: position p is row p of a forward sweep and row rows - 1 - p of
 * a backward sweep. start [rows + 1] and column [start[rows]] hold the strict triangle, columns ascending. */
#include "config.h"

#include "symbolic/symbolic.h"

/* The bounds of the number of rows in a run. Shorter runs do not pay for their place in the schedule. Longer runs delay
 * the runs that depend on them, for instance on the 1024 cells of a line of a two-dimensional grid. */
#define SHORTEST_RUN 32
#define LONGEST_RUN 128
/* The least average number of runs that a thread takes of a level of tiles, if there are as many tiles. Shorter runs
 * only cost their place in the schedule. */
#define SHARES 64
/* The cost of a barrier, about half a microsecond, in entries that a thread works through in that time. */
#define BARRIER_ENTRIES 500

struct sweep {
  karst_index rows;
  const karst_index *start, *column;
  bool lower;
};

static karst_index row_at(const struct sweep *sweep, karst_index position)
{
  return sweep->lower ? position : sweep->rows - 1 - position;
}

/* Returns the entries of the rows at positions begin .. end - 1, with the diagonal. */
static int64_t run_work_of(const struct sweep *sweep, karst_index begin, karst_index end)
{
  const karst_index first = sweep->lower ? begin : sweep->rows - end, last = first + (end - begin);
  return (int64_t)(sweep->start[last] - sweep->start[first]) + (last - first);
}

/* Returns whether the row at this position depends on the row just before it, which then is its nearest dependency. */
static bool is_chained(const struct sweep *sweep, karst_index position)
{
  karst_index row = row_at(sweep, position);
  if (position == 0 || sweep->start[row] == sweep->start[row + 1]) return false;
  return sweep->lower ? sweep->column[sweep->start[row + 1] - 1] == row - 1
                      : sweep->column[sweep->start[row]] == row + 1;
}

/* Cuts the sweep into runs and returns their number; run r has the positions cut[r] .. cut[r + 1] - 1. A chain of rows
 * becomes one run, or several of about equal length if it is too long; chains that are too short are joined. */
static karst_index cut_runs(const struct sweep *sweep, karst_index *cut)
{
  karst_index runs = 0, open = 0; /* open: first position of the unfinished run */
  cut[0] = 0;
  for (karst_index chain = 0, end; chain < sweep->rows; chain = end) {
    for (end = chain + 1; end < sweep->rows && is_chained(sweep, end);) end++;
    karst_index length = end - chain;
    if (length >= SHORTEST_RUN) {
      if (open < chain) open = cut[++runs] = chain;
      for (karst_index pieces = 1 + (length - 1) / LONGEST_RUN; pieces > 0; pieces--)
        open = cut[++runs] = open + (end - open) / pieces;
    } else if (end - open >= SHORTEST_RUN || end == sweep->rows) {
      open = cut[++runs] = end;
    }
  }
  return runs;
}

/* Cuts the sweep where tiles end; cut and the result are as for chains. Tiles that are too short are joined with others
 * of their colour, so that a colour has at most one short run. */
static karst_index cut_tiles(const struct sweep *sweep, const karst_tiling *tiling, karst_index *cut)
{
  karst_index runs = 0;
  cut[0] = 0;
  for (karst_index c = 0; c < tiling->colours; c++) {
    const karst_index *colour = tiling->colour_start + (sweep->lower ? c : tiling->colours - 1 - c);
    for (karst_index t = 1; t <= colour[1] - colour[0]; t++) {
      const karst_index end = sweep->lower ? tiling->start[colour[0] + t] : sweep->rows - tiling->start[colour[1] - t];
      if (end - cut[runs] >= SHORTEST_RUN || colour[0] + t == colour[1]) cut[++runs] = end;
    }
  }
  return runs;
}

/* Returns the largest possible number of runs. A run shorter than SHORTEST_RUN precedes a longer one or is the last,
 * also the last of a colour. */
static karst_index most_runs(karst_index rows, const karst_tiling *tiling)
{
  return tiling ? rows / SHORTEST_RUN + tiling->colours : 2 * (rows / SHORTEST_RUN) + 1;
}

/* Computes run_level, the level of each run, which is one more than the highest level that the run depends on, and
 * returns the number of levels. row_level: [rows] work space. */
static karst_index level_runs(const struct sweep *sweep, karst_index runs, const karst_index *cut,
                              karst_index *row_level, karst_index *run_level)
{
  karst_index levels = 0;
  for (karst_index r = 0; r < runs; r++) {
    karst_index level = 0;
    for (karst_index p = cut[r]; p < cut[r + 1]; p++) {
      karst_index row = row_at(sweep, p);
      row_level[row] = -1; /* dependencies within the run do not count */
      for (karst_index k = sweep->start[row]; k < sweep->start[row + 1]; k++)
        if (row_level[sweep->column[k]] >= level) level = row_level[sweep->column[k]] + 1;
    }
    for (karst_index p = cut[r]; p < cut[r + 1]; p++) row_level[row_at(sweep, p)] = level;
    run_level[r] = level;
    if (level >= levels) levels = level + 1;
  }
  return levels;
}

/* Joins neighbours of one level, which keeps all levels, up to a share of the work: what threads lose by waiting for
 * the longest joined run of each level is at most 1 / SHARES of a parallel sweep. Returns the number of runs. */
static karst_index join_runs(const struct sweep *sweep, int threads, karst_index levels, karst_index runs,
                             karst_index *cut, karst_index *run_level)
{
  const int64_t most = run_work_of(sweep, 0, sweep->rows) / ((int64_t)levels * threads * SHARES);
  karst_index joined = 0;
  for (karst_index r = 1; r < runs; r++)
    if (run_level[r] != run_level[joined] || run_work_of(sweep, cut[joined], cut[r + 1]) > most) {
      cut[++joined] = cut[r];
      run_level[joined] = run_level[r];
    }
  cut[++joined] = cut[runs];
  return joined;
}

/* Fills the arrays of a schedule whose runs are order[0], order[1] and so on. */
static void list_runs(const struct sweep *sweep, karst_index runs, const karst_index *cut, const karst_index *order,
                      karst_schedule *schedule)
{
  schedule->run_work[0] = 0;
  for (karst_index i = 0; i < runs; i++) {
    const karst_index begin = cut[order[i]], end = cut[order[i] + 1];
    schedule->run_first[i] = sweep->lower ? begin : sweep->rows - end;
    schedule->run_last[i] = schedule->run_first[i] + (end - begin);
    schedule->run_work[i + 1] = schedule->run_work[i] + run_work_of(sweep, begin, end);
  }
}

/* Returns whether the schedule should be faster than the plain sweep. Let a level have W entries, and its largest run
 * w. T threads that take its runs as they become free need at most W / T + (1 - 1 / T) w (Graham, SIAM J. Appl. Math.
 * 17 (1969)), and then a barrier. The gain must be a fifth at least, because the bound leaves out the cost of reading
 * what another thread has just written. */
static bool is_worth_it(const karst_schedule *schedule, int threads)
{
  double parallel = 0, share = 1.0 / threads;
  for (karst_index l = 0; l < schedule->levels; l++) {
    int64_t largest = 0;
    const int64_t *work = schedule->run_work;
    for (karst_index r = schedule->level_start[l]; r < schedule->level_start[l + 1]; r++)
      if (work[r + 1] - work[r] > largest) largest = work[r + 1] - work[r];
    int64_t level_work = work[schedule->level_start[l + 1]] - work[schedule->level_start[l]];
    parallel += share * (double)level_work + (1 - share) * (double)largest + BARRIER_ENTRIES;
  }
  return parallel <= 0.8 * (double)schedule->run_work[schedule->level_start[schedule->levels]];
}

static karst_status allocate_schedule(karst_context *context, karst_index levels, karst_index runs,
                                      karst_schedule *schedule)
{
  const char *what = "the schedule of a triangular sweep";
  karst_status status;
  schedule->levels = levels;
  if ((status = karst_allocate(context, &schedule->level_start, (int64_t)levels + 1, sizeof(karst_index), what)) ||
      (status = karst_allocate(context, &schedule->run_first, runs, sizeof(karst_index), what)) ||
      (status = karst_allocate(context, &schedule->run_last, runs, sizeof(karst_index), what)) ||
      (status = karst_allocate(context, &schedule->run_work, (int64_t)runs + 1, sizeof(int64_t), what)))
    karst_schedule_destroy(context, schedule);
  return status;
}

/* Plans one level with one run. */
static karst_status plan_plain(karst_context *context, const struct sweep *sweep, karst_schedule *schedule)
{
  const karst_index cut[2] = {0, sweep->rows}, order[1] = {0};
  karst_index runs = sweep->rows > 0;
  karst_status status = allocate_schedule(context, runs, runs, schedule);
  if (status) return status;
  schedule->level_start[0] = 0;
  schedule->level_start[runs] = runs;
  list_runs(sweep, runs, cut, order, schedule);
  return KARST_SUCCESS;
}

/* Plans runs that are tiles, or chains if tiling is NULL. */
static karst_status plan_levels(karst_context *context, const struct sweep *sweep, const karst_tiling *tiling,
                                int threads, karst_schedule *schedule)
{
  const char *what = "the runs of a triangular sweep";
  karst_index *cut = NULL, *row_level = NULL, *run_level = NULL, *order = NULL;
  karst_status status;
  if ((status = karst_allocate(context, &cut, (int64_t)most_runs(sweep->rows, tiling) + 1, sizeof *cut, what)) ||
      (status = karst_allocate(context, &row_level, sweep->rows, sizeof *row_level, what)))
    goto finish;
  karst_index runs = tiling ? cut_tiles(sweep, tiling, cut) : cut_runs(sweep, cut);
  if ((status = karst_allocate(context, &run_level, runs, sizeof *run_level, what)) ||
      (status = karst_allocate(context, &order, runs, sizeof *order, what)))
    goto finish;
  karst_index levels = level_runs(sweep, runs, cut, row_level, run_level);
  if (tiling && levels > 0) runs = join_runs(sweep, threads, levels, runs, cut, run_level);
  if ((status = allocate_schedule(context, levels, runs, schedule))) goto finish;
  karst_levels_group(runs, run_level, levels, schedule->level_start, order);
  list_runs(sweep, runs, cut, order, schedule);

finish:
  karst_release(context, cut);
  karst_release(context, row_level);
  karst_release(context, run_level);
  karst_release(context, order);
  return status;
}

karst_status karst_schedule_create(karst_context *context, const karst_tiling *tiling, karst_index rows,
                                   const karst_index *start, const karst_index *column, bool lower, int threads,
                                   karst_schedule *schedule)
{
  const struct sweep sweep = {rows, start, column, lower};
  const karst_tiling *const ways[] = {tiling, NULL};
  *schedule = (karst_schedule){0};
  for (int way = tiling && tiling->tiles > 0 ? 0 : 1; way < 2 && threads > 1; way++) {
    karst_status status = plan_levels(context, &sweep, ways[way], threads, schedule);
    if (status || is_worth_it(schedule, threads)) return status;
    karst_schedule_destroy(context, schedule);
  }
  return plan_plain(context, &sweep, schedule);
}

void karst_schedule_destroy(karst_context *context, karst_schedule *schedule)
{
  karst_release(context, schedule->level_start);
  karst_release(context, schedule->run_first);
  karst_release(context, schedule->run_last);
  karst_release(context, schedule->run_work);
  *schedule = (karst_schedule){0};
}
