/* text.c - makes names safe to print; see text.h. UTF-8 is checked as in RFC 3629: no overlong forms, no surrogates,
 * nothing beyond U+10FFFF. */
#include "tools/src/common/text.h"

#include <math.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

static const char replacement[] = "\xef\xbf\xbd"; /* U+FFFD */

/* Returns the length of the UTF-8 character that text begins with; 0 if it is not UTF-8. */
static size_t character(const char *text)
{
  const unsigned char *c = (const unsigned char *)text;
  if (c[0] < 0x80) return 1;
  if (c[0] < 0xc2 || c[0] > 0xf4) return 0;
  size_t length = c[0] < 0xe0 ? 2 : c[0] < 0xf0 ? 3 : 4;
  unsigned least = c[0] == 0xe0 ? 0xa0 : c[0] == 0xf0 ? 0x90 : 0x80;
  unsigned most = c[0] == 0xed ? 0x9f : c[0] == 0xf4 ? 0x8f : 0xbf;
  if (c[1] < least || c[1] > most) return 0;
  for (size_t i = 2; i < length; i++)
    if (c[i] < 0x80 || c[i] > 0xbf) return 0;
  return length;
}

/* Recognises the control characters of ASCII, and U+0080 to U+009F, which some terminals obey too. */
static bool is_control(const char *text, size_t length)
{
  unsigned char first = (unsigned char)text[0];
  return (length == 1 && (first < 0x20 || first == 0x7f)) || (length == 2 && first == 0xc2 && (text[1] & 0x20) == 0);
}

/* Whether c is inside a character of UTF-8 and does not begin one. */
static bool is_inside(char c) { return ((unsigned char)c & 0xc0) == 0x80; }

bool tool_ends_in(const char *text, const char *ending)
{
  const size_t length = strlen(text), tail = strlen(ending);
  return length > tail && strcmp(text + length - tail, ending) == 0;
}

size_t tool_utf8_begin(const char *text, size_t most)
{
  size_t length = strlen(text);
  if (length <= most) return length;
  for (length = most; length > 0 && is_inside(text[length]);) length--;
  return length;
}

size_t tool_utf8_count(const char *text)
{
  size_t count = 0;
  for (; *text; text++) count += !is_inside(*text);
  return count;
}

void tool_print_safely(FILE *file, const char *text)
{
  while (*text) {
    size_t length = character(text);
    if (length > 0 && !is_control(text, length)) {
      fwrite(text, 1, length, file);
      text += length;
      continue;
    }
    for (size_t i = 0; i < (length ? length : 1); i++) fprintf(file, "\\x%02x", (unsigned char)*text++);
  }
}

char *tool_utf8(const char *text)
{
  char *copy = malloc(strlen(text) * (sizeof replacement - 1) + 1), *end = copy;
  while (copy && *text) {
    size_t length = character(text), bytes = length ? length : sizeof replacement - 1;
    memcpy(end, length ? text : replacement, bytes);
    end += bytes;
    text += length ? length : 1;
  }
  if (copy) *end = '\0';
  return copy;
}

void tool_print_json(FILE *file, const char *text)
{
  fputc('"', file);
  while (*text) {
    size_t length = character(text);
    unsigned char c = (unsigned char)*text;
    if (length == 0)
      fputs(replacement, file);
    else if (c < 0x20)
      fprintf(file, "\\u%04x", c);
    else if (c == '"' || c == '\\')
      fprintf(file, "\\%c", c);
    else
      fwrite(text, 1, length, file);
    text += length ? length : 1;
  }
  fputc('"', file);
}

void tool_print_member(const char *key, const char *text)
{
  printf(",\"%s\":", key);
  tool_print_json(stdout, text);
}

void tool_print_number_member(const char *key, double number)
{
  printf(isfinite(number) ? ",\"%s\":%.9g" : ",\"%s\":null", key, number);
}

void tool_print_number(int width, int digits, double number)
{
  if (isfinite(number))
    printf("%*.*f", width, digits, number);
  else
    printf("%*s", width, "-");
}

void tool_append(char *text, size_t size, const char *format, ...)
{
  const size_t used = strlen(text);
  va_list arguments;
  va_start(arguments, format);
  vsnprintf(text + used, size - used, format, arguments);
  va_end(arguments);
}
