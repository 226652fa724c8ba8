/* number.h - numbers as text, in files and options. */
#ifndef KARST_LIB_NUMBER_H
#define KARST_LIB_NUMBER_H

#include <stdbool.h>
#include <stdint.h>

/* Reads a number that a space or the end of the line follows, and returns its end; NULL where there is none. Integers
 * beyond 64 bits become INT64_MAX or INT64_MIN; a real number must be finite, and has a point whatever the program's
 * language. */
const char *karst_parse_integer(const char *text, int64_t *value);
const char *karst_parse_real(const char *text, double *value);

/* Whether text is "60", "60x220" or "60x220x85", of whole numbers from 1 to largest; missing sizes are 1. */
bool karst_parse_sizes(const char *text, int64_t largest, int64_t size[3]);

static inline const char *karst_skip_spaces(const char *text)
{
  while (*text == ' ' || *text == '\t') text++;
  return text;
}

/* The word that text begins with, shortened and made printable, for a sentence. */
enum { KARST_WORD_SIZE = 40 };
const char *karst_quote_word(const char *text, char word[KARST_WORD_SIZE]);
/* The same of all of the text. */
const char *karst_quote_text(const char *text, char word[KARST_WORD_SIZE]);

#endif
