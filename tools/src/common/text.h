/* text.h - prints texts and numbers: names of files may hold any bytes, but terminals and JSON accept less. */
#ifndef KARST_TOOLS_SRC_COMMON_TEXT_H
#define KARST_TOOLS_SRC_COMMON_TEXT_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

/* The ending of a noun behind this number. */
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
/* Print ,"key":value on standard output, null for a number that is not finite. */
void tool_print_member(const char *key, const char *text);
void tool_print_number_member(const char *key, double number);

/* Prints a number on standard output, a dash where it is not finite. */
void tool_print_number(int width, int digits, double number);

/* Appends to a text in a place of size bytes as much as fits. */
void tool_append(char *text, size_t size, const char *format, ...) __attribute__((format(printf, 3, 4)));

#endif
