/* input.h - makes inputs such as pipes readable several times. */
#ifndef KARST_TOOLS_SRC_COMMON_INPUT_H
#define KARST_TOOLS_SRC_COMMON_INPUT_H

#include "tools/src/common/common.h"

/* Sets *path to what to read for an input, where "-" is standard input. It is the file itself or, for a pipe or a
 * socket, a temporary copy that exists until the program ends. At most TOOL_RENAMED_MAX inputs can be copied. */
int tool_input(const char *name, const char **path);

#endif
