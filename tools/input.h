/* input.h - inputs that are no files which can be read again and again. */
#ifndef KARST_TOOLS_INPUT_H
#define KARST_TOOLS_INPUT_H

#include "common.h"

/* *path: what to read for the name of an input, "-" for standard input: a file itself or, for a pipe or a socket, a
 * temporary copy, which is there until the program ends. For TOOL_RENAMED_MAX inputs at most. */
int tool_input(const char *name, const char **path);

#endif
