/* input.h - inputs that are no files which can be read again and again. */
#ifndef KARST_TOOLS_INPUT_H
#define KARST_TOOLS_INPUT_H

#include "common.h"

enum { TOOL_COPY_SIZE = 32 };

/* *path: what to read for the name of an input, "-" for standard input: a file itself or, for a pipe, a temporary copy,
 * which is there until the program ends and whose path may stand in copy. */
int tool_input(const char *name, char copy[TOOL_COPY_SIZE], const char **path);

#endif
