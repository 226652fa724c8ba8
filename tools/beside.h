/* beside.h - the right-hand side that the library finds beside a matrix file NAME.mtx, NAME.mtx.gz or NAME.ANYTHING,
 * and the other files that have it beside them too. */
#ifndef KARST_TOOLS_BESIDE_H
#define KARST_TOOLS_BESIDE_H

#include "common.h"

/* The endings of its two names after NAME, the first before the second. */
#define TOOL_BESIDE_PLAIN "_b.mtx"
#define TOOL_BESIDE_PACKED "_b.mtx.gz"

/* The name with one of these endings beside a matrix file. The caller frees it; NULL after an error that has been
 * reported. */
char *tool_path_beside(const char *matrix, const char *ending);

/* *sibling: another regular file of the NAME of a matrix file, which is not the matrix file known; NULL where there is
 * none. The caller frees it. Reports its own errors and returns TOOL_GO_ON or an exit status. */
int tool_find_sibling(const char *matrix, const char *known, char **sibling);

#endif
