/* text.h - names as they are shown: files may be called anything, terminals and JSON take less. */
#ifndef KARST_TOOLS_TEXT_H
#define KARST_TOOLS_TEXT_H

#include <stdio.h>

/* Prints text for a reader: control characters and what is no UTF-8 as \xNN, so that a name can neither move the cursor
 * nor end the line. */
void tool_print_safely(FILE *file, const char *text);

/* A copy that is UTF-8: U+FFFD for each byte that is not. The caller frees it; NULL: no memory. */
char *tool_utf8(const char *text);

/* Prints text as a string of JSON, with its quotes. */
void tool_print_json(FILE *file, const char *text);

#endif
