/* output.h - the files that the tools are to write, looked at before the work whose outcome they are to hold. */
#ifndef KARST_TOOLS_OUTPUT_H
#define KARST_TOOLS_OUTPUT_H

#include "common.h"

/* Refuses a file that cannot be written; leaves it as it is. */
int tool_check_output(const char *path);

/* Whether two names stand for one regular file, which need not be there yet. */
bool tool_same_file(const char *a, const char *b);

#endif
