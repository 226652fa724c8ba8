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

/* Makes an empty file beside the one that path leads to, to take its place when it is whole. Returns its path, which
 * the caller frees; NULL with errno on failure, which is 0 where path is to be written itself: a pipe, a file with
 * several names, or one in a folder that takes no others. */
char *tool_draft(const char *path);
/* Gives a draft its place. Returns false with errno where that cannot be; the draft is there still. */
bool tool_draft_place(const char *draft, const char *path);

/* Puts the content of an open file, such as a nameless one, into the file of this name: in one step, unless it is one
 * to be written itself. Follows links. Returns TOOL_GO_ON, or reports what went wrong. */
int tool_write_whole(FILE *content, const char *path);

#endif
