/* options_file.h - reads a file of options, one a line. */
#ifndef KARST_TOOLS_SRC_COMMON_OPTIONS_FILE_H
#define KARST_TOOLS_SRC_COMMON_OPTIONS_FILE_H

#include "tools/src/common/common.h"

/* A line with an option, as two arguments of a command line. */
struct tool_options_line {
  long number;       /* of the line, from 1 */
  int count;         /* of the arguments */
  char *argument[2]; /* "--NAME" and the value, which is missing where the line has none */
};

struct tool_options_file {
  const char *path; /* the caller's */
  size_t count;
  struct tool_options_line *line; /* [count] */
  char *text;                     /* that the lines are parts of */
  struct tool_options_file *last; /* the one read before */
};

/* "level 2", "--level 2", "level = 2" and "--level=2" mean the same; '#' at the beginning of a line or behind a blank
 * begins a comment, and the value is the rest of the line without the blanks around it. Reports its own errors and
 * returns TOOL_GO_ON or an exit status. *file stays until the program ends, for options point into it; it is NULL after
 * an error. */
int tool_options_read(const char *path, struct tool_options_file **file);

/* The path of file number i of those that have been read, from the last; NULL past the first. */
const char *tool_options_path(size_t i);

#endif
