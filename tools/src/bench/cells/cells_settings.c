/* cells_settings.c - reads and checks the options --grids and --correction. */
#include "tools/src/bench/cells/cells.h"

#include <stdio.h>
#include <string.h>

/* Reads a grid NXxNYxNZ[/B] or N[/B]. */
static bool parse_grid(char *word, bench_grid *grid)
{
  long long block = 0;
  char *slash = strchr(word, '/');
  int axes = 0;

  if (slash) *slash++ = '\0';
  if (slash && !tool_integer(slash, 1, 1024, &block)) return false;
  grid->block = (int)block;
  for (char *number; axes < 3 && (number = strsep(&word, "x")); axes++)
    if (!tool_integer(number, 1, 1 << 20, &grid->size[axes])) return false;
  if (axes == 1) grid->size[1] = grid->size[2] = grid->size[0];
  return !word && axes != 2;
}

static int parse_grids(bench_settings *settings)
{
  char word[64];

  for (const char *next = settings->grid_text; next;) {
    const size_t length = strcspn(next, ",");
    snprintf(word, sizeof word, "%.*s", (int)length, next);
    if (settings->grids == BENCH_GRIDS || length >= sizeof word || !parse_grid(word, &settings->grid[settings->grids]))
      return tool_fail(TOOL_FAILED, "--grids: not a list of 1 to %d grids, such as 65,51x97x63 or 104/4", BENCH_GRIDS);
    settings->grids++;
    next = next[length] ? next + length + 1 : NULL;
  }
  if (settings->grids && strchr(settings->matrix, ':'))
    return tool_fail(TOOL_FAILED, "--grids takes a problem of the gallery without its sizes, not '%s'",
                     settings->matrix);
  return TOOL_GO_ON;
}

static bool with_grids(const bench_settings *settings) { return settings->grid_text; }

static bool with_correction(const bench_settings *settings) { return settings->correction > 0; }

static int check(karst_context *context, bench_settings *settings)
{
  (void)context;
  if (settings->ordering)
    return tool_fail(TOOL_FAILED, "--grids and --correction use natural order; --ordering is not for them");
  return parse_grids(settings);
}

const struct bench_mode bench_grids_mode = {
    .is_asked_for = with_grids,
    .ways = "fgbilu:sequential,fgbilu:wavefront,fgbilu:lines,fgbilu:acc,fgbilu:cl,fgbilu:mixed,fgbilu:tiles,dilu,iluk,"
            "cusparse",
    .check = check,
    .run = bench_grids};

const struct bench_mode bench_correction_mode = {
    .is_asked_for = with_correction,
    .ways = "fgbilu:sequential,fgbilu:wavefront,fgbilu:acc,fgbilu:cl,fgbilu:mixed,fgbilu:tiles",
    .check = check,
    .run = bench_correct};
