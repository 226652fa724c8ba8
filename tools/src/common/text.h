/* text.h - makes names safe to print: files may have any name, but terminals and JSON accept less. And the plural of
 * what is counted. */
#ifndef KARST_TOOLS_SRC_COMMON_TEXT_H
#define KARST_TOOLS_SRC_COMMON_TEXT_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

/* What a noun ends in behind this number. */
static inline const char *tool_plural(int64_t count) { return count == 1 ? "" : "s"; }

/* Whether text is more than the ending and ends in it. */
bool tool_ends_in(const char *text, const char *ending);

/* Returns the length of the beginning of text that has whole characters of UTF-8 only and takes at most so many
 * bytes. */
size_t tool_utf8_begin(const char *text, size_t most);

/* Returns how many characters of UTF-8 the text has. */
size_t tool_utf8_count(const char *text);

/* Prints text for a reader, with control characters and what is not UTF-8 as \xNN, so that a name can neither move the
 * cursor nor end the line. */
void tool_print_safely(FILE *file, const char *text);

/* Copies text as UTF-8, with U+FFFD for each byte that is not. The caller frees the copy; NULL if there is no
 * memory. */
char *tool_utf8(const char *text);

/* Prints text as a string of JSON, with its quotes. */
void tool_print_json(FILE *file, const char *text);

#endif
