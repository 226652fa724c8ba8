/* actnum.h - the active cells of a grid, as a simulator's deck has them. */
#ifndef KARST_TOOLS_SRC_COMMON_ACTNUM_H
#define KARST_TOOLS_SRC_COMMON_ACTNUM_H

#include "tools/src/common/common.h"

/* Reads the cells of the block rows of a matrix, which are the active cells in their order, into cell[rows]. Returns
 * TOOL_GO_ON, or an exit status after a reported error. */
int tool_read_actnum(const char *path, const karst_index size[3], karst_index rows, karst_index *cell);

#endif
