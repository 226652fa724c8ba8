/* text.h - makes names safe to print: files may have any name, but terminals and JSON accept less. */
#ifndef KARST_TOOLS_TEXT_H
#define KARST_TOOLS_TEXT_H

#include <stdio.h>

/* Prints text for a reader, with control characters and what is not UTF-8 as \xNN, so that a name can neither move the
 * cursor nor end the line. */
void tool_print_safely(FILE *file, const char *text);

/* Copies text as UTF-8, with U+FFFD for each byte that is not. The caller frees the copy; NULL if there is no
 * memory. */
char *tool_utf8(const char *text);

/* Prints text as a string of JSON, with its quotes. */
void tool_print_json(FILE *file, const char *text);

#endif
