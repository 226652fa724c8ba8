/* output.h - checks the files that the tools will write before the work begins whose results they will hold. */
#ifndef KARST_TOOLS_OUTPUT_H
#define KARST_TOOLS_OUTPUT_H

#include "common.h"

/* Refuses a file that cannot be written; does not change it. */
int tool_check_output(const char *path);

/* Returns whether two names stand for the same regular file, which need not exist. */
bool tool_same_file(const char *a, const char *b);

#endif
