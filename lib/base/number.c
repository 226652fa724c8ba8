/* number.c - reads numbers from text and prints them; see number.h.
 *
 * A decimal number m * 10^e with an integer m <= 2^53 and |e| <= 22 is the exactly rounded product or quotient of two
 * exact doubles (Clinger, How to read floating point numbers accurately, 1990). Nearly every number of a matrix file is
 * of this kind; strtod reads the others, in the C locale. */
#include "config.h"

#include "lib/base/number.h"

#include <float.h>
#include <locale.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static bool is_digit(char c) { return c >= '0' && c <= '9'; }

static bool is_end(char c) { return c == ' ' || c == '\t' || c == '\0'; }

const char *karst_parse_integer(const char *text, int64_t *value)
{
  const char *p = text;
  bool negative = *p == '-';
  int64_t number = 0;
  if (*p == '-' || *p == '+') p++;
  if (!is_digit(*p)) return NULL;
  for (; is_digit(*p); p++)
    if (__builtin_mul_overflow(number, 10, &number) || __builtin_add_overflow(number, *p - '0', &number))
      number = INT64_MAX;
  *value = negative ? (number == INT64_MAX ? INT64_MIN : -number) : number;
  return is_end(*p) ? p : NULL;
}

bool karst_parse_sizes(const char *text, int64_t largest, int64_t size[3])
{
  size[0] = size[1] = size[2] = 1;
  for (int axis = 0; axis < 3; axis++) {
    int64_t number = 0;
    if (!is_digit(*text)) return false;
    for (; is_digit(*text); text++)
      if (__builtin_mul_overflow(number, 10, &number) || __builtin_add_overflow(number, *text - '0', &number))
        return false;
    if (number < 1 || number > largest) return false;
    size[axis] = number;
    if (*text == '\0') return true;
    if (*text++ != 'x') return false;
  }
  return false;
}

/* A decimal number: digits * 10^exponent, where digits are exact unless dropped. */
typedef struct decimal {
  uint64_t digits;
  int count; /* significant digits in digits */
  int exponent;
  bool dropped; /* digits past the 19th are left out of digits */
} decimal;

/* Adds a run of digits before or after the decimal point. */
static const char *scan_digits(const char *p, bool fraction, decimal *number)
{
  for (; is_digit(*p); p++)
    if (number->count < 19) {
      number->digits = 10 * number->digits + (uint64_t)(*p - '0');
      number->count += number->digits > 0;
      number->exponent -= fraction;
    } else {
      number->dropped = true;
    }
  return p;
}

/* Returns where the exponent begins behind the digits that end at p, or NULL without one. Fortran leaves the letter out
 * of an exponent of three digits. */
static const char *find_exponent(const char *p, bool fortran)
{
  if (*p == 'e' || *p == 'E') return p + 1;
  if (!fortran) return NULL;
  if (*p == 'd' || *p == 'D') return p + 1;
  return (*p == '-' || *p == '+') && is_digit(p[1]) && is_digit(p[2]) && is_digit(p[3]) && !is_digit(p[4]) ? p : NULL;
}

/* Adds the exponent. Returns NULL if no exponent follows. */
static const char *scan_exponent(const char *p, decimal *number)
{
  const int enough = 100000; /* large enough for strtod to give infinity or zero */
  int exponent = 0;
  bool negative = *p == '-';
  if (*p == '-' || *p == '+') p++;
  if (!is_digit(*p)) return NULL;
  for (; is_digit(*p); p++)
    if (exponent < enough) exponent = 10 * exponent + (*p - '0');
  number->exponent += negative ? -exponent : exponent;
  return p;
}

/* Gives this thread the C locale, which needs no memory in today's libraries. Returns it, or 0 if it cannot be made;
 * *program is the locale that the thread had. */
static locale_t enter_plain(locale_t *program)
{
  const locale_t plain = newlocale(LC_ALL_MASK, "C", (locale_t)0);
  if (plain) *program = uselocale(plain);
  return plain;
}

static void leave_plain(locale_t plain, locale_t program)
{
  if (!plain) return;
  uselocale(program);
  freelocale(plain);
}

int karst_vprint(char *text, size_t size, const char *format, va_list arguments)
{
  locale_t program;
  const locale_t plain = enter_plain(&program);
  const int length = vsnprintf(text, size, format, arguments);
  leave_plain(plain, program);
  return plain ? length : -1;
}

int karst_print(char *text, size_t size, const char *format, ...)
{
  va_list arguments;
  va_start(arguments, format);
  const int length = karst_vprint(text, size, format, arguments);
  va_end(arguments);
  return length;
}

/* Calls strtod with a decimal point. Returns the end of the number, or NULL if there is no memory. */
static const char *read_decimal(const char *text, double *value)
{
  char *end;
  locale_t program;
  const locale_t plain = enter_plain(&program);
  *value = strtod(text, &end);
  leave_plain(plain, program);
  return plain ? end : NULL;
}

/* Reads the number from text to end by strtod, which accepts an exponent only after an e. exponent: where it begins
 * after the mantissa, or NULL. */
static bool read_slowly(const char *text, const char *mantissa_end, const char *exponent, const char *end,
                        double *value)
{
  if (!exponent || *mantissa_end == 'e' || *mantissa_end == 'E') return read_decimal(text, value) == end;
  const size_t size = (size_t)(end - text) + 2;
  char *copy = malloc(size);
  if (!copy) return false;
  const int length =
      snprintf(copy, size, "%.*se%.*s", (int)(mantissa_end - text), text, (int)(end - exponent), exponent);
  const bool whole = read_decimal(copy, value) == copy + length;
  free(copy);
  return whole;
}

static const char *parse(const char *text, bool fortran, double *value)
{
  static const double power[] = {1e0,  1e1,  1e2,  1e3,  1e4,  1e5,  1e6,  1e7,  1e8,  1e9,  1e10, 1e11,
                                 1e12, 1e13, 1e14, 1e15, 1e16, 1e17, 1e18, 1e19, 1e20, 1e21, 1e22};
  decimal number = {0};
  const char *p = text + (*text == '-' || *text == '+'), *start = p;
  p = scan_digits(p, false, &number);
  bool some = p > start;
  if (*p == '.') {
    start = ++p;
    p = scan_digits(p, true, &number);
    some = some || p > start;
  }
  const char *mantissa_end = p, *exponent = some ? find_exponent(p, fortran) : NULL;
  if (exponent) p = scan_exponent(exponent, &number);
  if (!some || !p || !is_end(*p)) return NULL;
  bool exact = FLT_EVAL_METHOD == 0 && !number.dropped && number.digits <= UINT64_C(1) << 53;
  if (exact && number.exponent >= -22 && number.exponent <= 22) {
    double magnitude = (double)number.digits;
    magnitude = number.exponent < 0 ? magnitude / power[-number.exponent] : magnitude * power[number.exponent];
    *value = *text == '-' ? -magnitude : magnitude;
  } else if (!read_slowly(text, mantissa_end, exponent, p, value)) {
    return NULL;
  }
  return isfinite(*value) ? p : NULL;
}

const char *karst_parse_real(const char *text, double *value) { return parse(text, false, value); }

const char *karst_parse_fortran(const char *text, double *value) { return parse(text, true, value); }

/* Copies the first length characters, or as many as there is room for, and replaces those that are not printable. */
static const char *quote(const char *text, size_t length, char word[KARST_WORD_SIZE])
{
  const size_t longest = KARST_WORD_SIZE - 4, kept = length < longest ? length : longest;
  for (size_t i = 0; i < kept; i++) word[i] = (char)(text[i] >= ' ' && text[i] < 127 ? text[i] : '?');
  strcpy(word + kept, kept == length ? "" : "...");
  return word;
}

const char *karst_quote_word(const char *text, char word[KARST_WORD_SIZE])
{
  size_t length = 0;
  while (!is_end(text[length])) length++;
  return quote(text, length, word);
}

const char *karst_quote_text(const char *text, char word[KARST_WORD_SIZE]) { return quote(text, strlen(text), word); }
