/* gnuplot.h - pictures drawn by the program gnuplot, which is needed only for them. All functions report their own
 * errors and return TOOL_GO_ON or an exit status. */
#ifndef KARST_TOOLS_SRC_COMMON_GNUPLOT_H
#define KARST_TOOLS_SRC_COMMON_GNUPLOT_H

#include "tools/src/common/common.h"

#include <stdio.h>

/* A picture that is being drawn: the script takes gnuplot's commands and inline data, which may be binary. Zero is no
 * picture. */
struct tool_gnuplot {
  FILE *script;
  const char *path; /* the caller keeps it */
};

/* Checks before long work that gnuplot exists. */
int tool_gnuplot_check(void);
/* Checks that gnuplot exists and a picture of this name can be written; changes nothing. */
int tool_gnuplot_check_output(const char *path);
/* Begins a picture of width by height pixels. path ends in .svg or .png; anything else is an error. Sets the terminal
 * and line types 1 to 8, in colours that colour-blind readers can tell apart, also by dashes and points. The script
 * must not set the output. After success tool_gnuplot_end must be called. */
int tool_gnuplot_begin(struct tool_gnuplot *plot, const char *path, int width, int height);
/* Writes a text as one of gnuplot's strings, where no character is special; bytes that are not UTF-8 become U+FFFD, and
 * control characters are left out. */
void tool_gnuplot_text(struct tool_gnuplot *plot, const char *text);
/* Ends the picture: gnuplot draws it, and it replaces an older file, which stays if gnuplot fails or the file cannot be
 * opened. Does nothing without a picture. */
int tool_gnuplot_end(struct tool_gnuplot *plot);

#endif
