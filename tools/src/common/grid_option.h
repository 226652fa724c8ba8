/* grid_option.h - the options --grid and --actnum of the tools. */
#ifndef KARST_TOOLS_SRC_COMMON_GRID_OPTION_H
#define KARST_TOOLS_SRC_COMMON_GRID_OPTION_H

#include "tools/src/common/common.h"

/* The value of --grid: NXxNYxNZ, NXxNY for one layer, or "find"; NULL: the grid that came with the matrix. actnum: the
 * file of the active cells; NULL: all are active. All functions report their own errors and return TOOL_GO_ON or an
 * exit status. */
struct tool_grid {
  bool given, find;
  karst_index size[3];
  const char *actnum;
};

int tool_parse_grid(const char *text, const char *actnum, struct tool_grid *grid);
/* Gives the matrix the grid. name: that of the matrix, for errors. */
int tool_set_grid(karst_context *context, const struct tool_grid *grid, const char *name, karst_matrix *matrix);

#endif
