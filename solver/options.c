/* options.c - the options that there are: those of the solver, of each driver and of each preconditioner. */
#include "methods.h"
#include "number.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Lists of rows one after the other: those of the choice of methods and of the limits, then those of the methods. NULL
 * past the last. */
static const karst_option *const *rows_of(size_t i)
{
  static const karst_option *const common[] = {karst_methods_rows, karst_krylov_limits_rows, NULL};
  static const karst_option *const none[] = {NULL};
  size_t drivers = 0, preconds = 0;
  while (karst_krylov_table[drivers]) drivers++;
  while (karst_precond_table[preconds]) preconds++;
  if (i > drivers + preconds) return NULL;
  const karst_option *const *list = i == 0         ? common
                                    : i <= drivers ? karst_krylov_table[i - 1]->options
                                                   : karst_precond_table[i - 1 - drivers]->options;
  return list ? list : none;
}

/* Whether a row of this name stands in a list before number end. */
static bool is_known(const char *name, size_t end)
{
  for (size_t i = 0; i < end; i++)
    for (const karst_option *const *list = rows_of(i); *list; list++)
      for (const karst_option *row = *list; row->name; row++)
        if (strcmp(row->name, name) == 0) return true;
  return false;
}

/* Row number i, methods that share a row counting once; NULL past the last. */
static const karst_option *row_at(size_t wanted)
{
  const karst_option *const *list;
  for (size_t i = 0; (list = rows_of(i)); i++)
    for (; *list; list++)
      for (const karst_option *row = *list; row->name; row++)
        if (!is_known(row->name, i) && wanted-- == 0) return row;
  return NULL;
}

static const karst_option *find_row(const char *name)
{
  const karst_option *const *list;
  for (size_t i = 0; (list = rows_of(i)); i++)
    for (; *list; list++)
      for (const karst_option *row = *list; row->name; row++)
        if (karst_option_is(row, name)) return row;
  return NULL;
}

int karst_options_info(size_t i, karst_option_info *info)
{
  const karst_option *row = info ? row_at(i) : NULL;
  if (!row) return 0;
  info->name = row->name;
  info->default_value = row->default_value;
  info->help = row->help;
  info->experiment = row->experiment;
  karst_option_takes(row, info->value, sizeof info->value);
  return 1;
}

/* Returns the name of number i of a NULL-terminated table of methods, if it has one. */
#define RETURN_METHOD(table)                                                                                           \
  for (size_t n = 0; (table)[n]; n++)                                                                                  \
    if (n == i) {                                                                                                      \
      *help = (table)[n]->help;                                                                                        \
      return (table)[n]->name;                                                                                         \
    }

const char *karst_options_method(const char *option, size_t i, const char **help)
{
  const char *unwanted;
  if (!option) return NULL;
  if (!help) help = &unwanted;
  if (strcmp(option, "solver") == 0) RETURN_METHOD(karst_krylov_table)
  if (strcmp(option, "precond") == 0) RETURN_METHOD(karst_precond_table)
  if (strcmp(option, "ordering") == 0) RETURN_METHOD(karst_ordering_table)
  return NULL;
}

static karst_status fail_unknown(karst_context *context, const char *name)
{
  char names[512], word[KARST_WORD_SIZE];
  size_t used = 0;
  const karst_option *row;
  for (size_t i = 0; (row = row_at(i)) && used < sizeof names; i++)
    if (!row->experiment) used += (size_t)snprintf(names + used, sizeof names - used, "%s%s", i ? ", " : "", row->name);
  return karst_fail(context, KARST_ERROR_OPTION, "option \"%s\" is unknown: %s", karst_quote_text(name, word), names);
}

/* Checks a value by the row at hand, or by another method's of the name that takes it. */
static karst_status check_value(karst_context *context, const karst_option *first, const char *value, double *number)
{
  const karst_option *const *list;
  karst_status status = karst_option_check(context, first, value, number);
  for (size_t i = 0; status && (list = rows_of(i)); i++)
    for (; status && *list; list++)
      for (const karst_option *row = *list; status && row->name; row++)
        if (row != first && strcmp(row->name, first->name) == 0)
          status = karst_option_check(context, row, value, number);
  return status ? karst_option_check(context, first, value, number) : KARST_SUCCESS; /* with the first one's sentence */
}

karst_status karst_options_set(karst_options *options, const char *name, const char *value)
{
  double number;
  if (!options || !name || !value)
    return karst_missing(options ? karst_options_context(options) : NULL, !options ? "the set of options"
                                                                          : name   ? "the option's value"
                                                                                   : "the option's name");
  const karst_option *row = find_row(name);
  if (!row) return fail_unknown(karst_options_context(options), name);
  karst_status status = check_value(karst_options_context(options), row, value, &number);
  return status ? status : karst_options_put(options, row->name, value, number);
}

karst_status karst_options_set_integer(karst_options *options, const char *name, int64_t value)
{
  char text[32];
  snprintf(text, sizeof text, "%lld", (long long)value);
  return karst_options_set(options, name, text);
}

/* As few digits as give the same number again, with a point whatever the program's language. */
static void print_real(double value, char *text, size_t size)
{
  char raw[64];
  size_t used = 0;
  for (int digits = 15; digits <= 17; digits++) {
    snprintf(raw, sizeof raw, "%.*g", digits, value);
    if (strtod(raw, NULL) == value) break;
  }
  for (const char *c = raw; *c && used < size - 1; c++) {
    const bool part = isalnum((unsigned char)*c) || *c == '-' || *c == '+';
    if (part || used == 0 || text[used - 1] != '.') text[used++] = (char)(part ? *c : '.');
  }
  text[used] = '\0';
}

karst_status karst_options_set_real(karst_options *options, const char *name, double value)
{
  char text[64];
  print_real(value, text, sizeof text);
  return karst_options_set(options, name, text);
}

karst_status karst_options_get(const karst_options *options, const char *name, const char **value)
{
  if (value) *value = NULL;
  if (!options || !name || !value)
    return karst_missing(options ? karst_options_context(options) : NULL, !options ? "the set of options"
                                                                          : name   ? "the place for the value"
                                                                                   : "the option's name");
  const karst_option *row = find_row(name);
  if (!row) return fail_unknown(karst_options_context(options), name);
  const char *given = karst_options_find(options, row->name);
  *value = given ? given : row->default_value;
  return KARST_SUCCESS;
}
