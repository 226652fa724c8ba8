/* levels.c - finds the level sets of a triangle: rows of one level depend only on lower levels and can be solved at
 * once (Anderson and Saad, "Solving sparse triangular linear systems on parallel computers", Int. J. High Speed Comput.
 * 1 (1989)). start [rows + 1] and column [start[rows]] hold the strict triangle; a lower one may be part of a whole
 * pattern with ascending columns. */
#include "config.h"

#include "symbolic/symbolic.h"

void karst_levels_group(karst_index count, const karst_index *level, karst_index levels, karst_index *level_start,
                        karst_index *item)
{
  for (karst_index l = 0; l <= levels; l++) level_start[l] = 0;
  for (karst_index i = 0; i < count; i++) level_start[level[i] + 1]++;
  for (karst_index l = 0; l < levels; l++) level_start[l + 1] += level_start[l];
  for (karst_index i = 0; i < count; i++) item[level_start[level[i]]++] = i;
  /* Each start was a cursor and has reached the next start. */
  for (karst_index l = levels; l > 0; l--) level_start[l] = level_start[l - 1];
  level_start[0] = 0;
}

/* Finds the level of each row, and returns how many levels there are. */
static karst_index level_rows(karst_index rows, const karst_index *start, const karst_index *column, bool lower,
                              karst_index *level)
{
  karst_index count = 0;
  for (karst_index step = 0; step < rows; step++) {
    const karst_index i = lower ? step : rows - 1 - step;
    karst_index own = 0;
    for (karst_index k = start[i]; k < start[i + 1] && !(lower && column[k] >= i); k++)
      if (level[column[k]] >= own) own = level[column[k]] + 1;
    level[i] = own;
    if (own >= count) count = own + 1;
  }
  return count;
}

karst_status karst_levels_count(karst_context *context, karst_index rows, const karst_index *start,
                                const karst_index *column, bool lower, karst_index *count)
{
  karst_index *level;
  karst_status status = karst_allocate(context, &level, rows, sizeof *level, "the level sets");
  if (status) return status;
  *count = level_rows(rows, start, column, lower, level);
  karst_release(context, level);
  return KARST_SUCCESS;
}
