/* rutherford_boeing.h - reads matrices in Rutherford-Boeing files. */
#ifndef KARST_TOOLS_SRC_COMMON_RUTHERFORD_BOEING_H
#define KARST_TOOLS_SRC_COMMON_RUTHERFORD_BOEING_H

#include "tools/src/common/common.h"

/* Recognises a file by its path's ending, or by a third line that begins like "rua 1030 1030 6858". */
bool is_rutherford_boeing(const char *path);

/* Reads a matrix with block size 1; symmetric storage is expanded. Reports its own errors and returns TOOL_GO_ON or an
 * exit status; without SuiteSparse the error says that it is missing. */
int read_rutherford_boeing(karst_context *context, const char *path, karst_matrix **matrix);

#endif
