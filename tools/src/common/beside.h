/* beside.h - finds the right-hand side that the library reads beside a matrix file NAME.mtx, NAME.mtx.gz or
 * NAME.ANYTHING, and the other matrix files that share it. */
#ifndef KARST_TOOLS_SRC_COMMON_BESIDE_H
#define KARST_TOOLS_SRC_COMMON_BESIDE_H

#include "tools/src/common/common.h"

/* The endings of its two names after NAME. The library looks for the first before the second. */
#define TOOL_BESIDE_PLAIN "_b.mtx"
#define TOOL_BESIDE_PACKED "_b.mtx.gz"

/* Returns the name with one of these endings beside a matrix file. The caller frees it; it is NULL after a reported
 * error. */
char *tool_path_beside(const char *matrix, const char *ending);

/* Finds in *sibling another regular file of the NAME of a matrix file, except the matrix file known, pictures and
 * reports, or NULL. The caller frees it. Reports its own errors and returns TOOL_GO_ON or an exit
 * status. */
int tool_find_sibling(const char *matrix, const char *known, char **sibling);

#endif
