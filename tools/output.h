/* output.h - checks the files that the tools will write before the work begins whose results they will hold, and puts
 * them in their places whole. */
#ifndef KARST_TOOLS_OUTPUT_H
#define KARST_TOOLS_OUTPUT_H

#include "common.h"

#include <stdio.h>

/* Refuses a file that cannot be written; does not change it. */
int tool_check_output(const char *path);

/* Returns whether two names stand for the same regular file, which need not exist. */
bool tool_same_file(const char *a, const char *b);

/* Puts the content of an open file, such as a nameless one, into the file of this name: in one step, unless it is none
 * that can be replaced, such as a pipe. Returns TOOL_GO_ON, or reports what went wrong. */
int tool_write_whole(FILE *content, const char *path);

#endif
