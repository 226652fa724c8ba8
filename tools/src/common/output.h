/* output.h - checks output files before the work begins, and writes them where support/place.c puts them. Earlier text
 * of standard output is flushed first, in case both are one file. */
#ifndef KARST_TOOLS_SRC_COMMON_OUTPUT_H
#define KARST_TOOLS_SRC_COMMON_OUTPUT_H

#include "tools/src/common/common.h"
#include "support/place.h"

#include <stdio.h>

/* Refuses a file that cannot be written; does not change it. */
int tool_check_output(const char *path);

/* Copies an open file, such as a nameless one, into the file of this name, which it replaces in one step unless it must
 * be written in place. Returns TOOL_GO_ON, or reports what went wrong. */
int tool_write_whole(FILE *content, const char *path);

#endif
