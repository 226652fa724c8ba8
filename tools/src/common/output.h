/* output.h - checks the files that the tools will write before the work begins whose results they will hold, and writes
 * them where support/place.c puts them. What was printed before on standard output is there first. */
#ifndef KARST_TOOLS_SRC_COMMON_OUTPUT_H
#define KARST_TOOLS_SRC_COMMON_OUTPUT_H

#include "tools/src/common/common.h"
#include "support/place.h"

#include <stdio.h>

/* Refuses a file that cannot be written; does not change it. */
int tool_check_output(const char *path);

/* Puts the content of an open file, such as a nameless one, into the file of this name: in one step, unless it is one
 * to be written in place. Returns TOOL_GO_ON, or reports what went wrong. */
int tool_write_whole(FILE *content, const char *path);

#endif
