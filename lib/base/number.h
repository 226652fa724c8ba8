/* number.h - numbers as text, in files, options and sentences: with a decimal point whatever the program's locale. */
#ifndef KARST_LIB_BASE_NUMBER_H
#define KARST_LIB_BASE_NUMBER_H

#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Read a number that a space or the end of the line follows. They return the number's end, or NULL if there is no
 * number. Integers beyond 64 bits become INT64_MAX or INT64_MIN. A real number must be finite, and has a decimal point
 * whatever the program's locale. */
const char *karst_parse_integer(const char *text, int64_t *value);
const char *karst_parse_real(const char *text, double *value);
/* For numbers in files: as karst_parse_real, and also as Fortran prints them, 1.5D+03 or 1.5d3, and 1.5-103 where the
 * width leaves no room for the letter. */
const char *karst_parse_fortran(const char *text, double *value);

/* Print as snprintf and vsnprintf do, but numbers as in the C locale. What the library prints goes through them
 * wherever it has a number that is not whole. They return a negative number if there is no memory for a locale. */
int karst_print(char *text, size_t size, const char *format, ...) __attribute__((format(printf, 3, 4)));
int karst_vprint(char *text, size_t size, const char *format, va_list arguments) __attribute__((format(printf, 3, 0)));

/* Whether text is "60", "60x220" or "60x220x85", of whole numbers from 1 to largest; missing sizes are 1. */
bool karst_parse_sizes(const char *text, int64_t largest, int64_t size[3]);

static inline const char *karst_skip_spaces(const char *text)
{
  while (*text == ' ' || *text == '\t') text++;
  return text;
}

/* Copies the word that text begins with, shortened and made printable, for a sentence. */
enum { KARST_WORD_SIZE = 40 };
const char *karst_quote_word(const char *text, char word[KARST_WORD_SIZE]);
/* Copies the whole text in the same form. */
const char *karst_quote_text(const char *text, char word[KARST_WORD_SIZE]);

#endif
