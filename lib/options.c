/* options.c - see options.h: rows, and sets of values for them. Which rows there are is known to solver/options.c. */
#include "options.h"

#include "number.h"
#include "search.h"

#include <limits.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

struct value {
  char *name, *text; /* one allocation, name first */
  double number;     /* the same where it is one */
};

struct karst_options {
  karst_context *context;
  int count, room;
  struct value *value; /* [room] */
};

const char *karst_no_or_yes(size_t i)
{
  static const char *const names[] = {"no", "yes", NULL};
  return names[i];
}

bool karst_option_is(const karst_option *row, const char *name)
{
  const char *own = row->name;
  for (; *own && *name; own++, name++)
    if (*own != *name && !((*own == '-' || *own == '_') && (*name == '-' || *name == '_'))) return false;
  return *own == *name;
}

void karst_option_takes(const karst_option *row, char *text, size_t size)
{
  size_t used = 0;
  snprintf(text, size, "%s", row->kind == KARST_OPTION_INTEGER ? "N" : row->kind == KARST_OPTION_REAL ? "R" : "");
  for (size_t i = 0; row->kind == KARST_OPTION_NAME && row->choice(i) && used < size; i++)
    used += (size_t)snprintf(text + used, size - used, "%s%s", i ? "|" : "", row->choice(i));
}

static karst_status check_name(karst_context *context, const karst_option *row, const char *text)
{
  char choices[128], word[KARST_WORD_SIZE];
  if (row->choice(karst_find_name(row->choice, text))) return KARST_SUCCESS;
  karst_option_takes(row, choices, sizeof choices);
  return karst_fail(context, KARST_ERROR_OPTION, "%s \"%s\" is unknown: %s", row->name, karst_quote_text(text, word),
                    choices);
}

karst_status karst_option_check(karst_context *context, const karst_option *row, const char *text, double *number)
{
  char word[KARST_WORD_SIZE];
  const bool integer = row->kind == KARST_OPTION_INTEGER;
  *number = 0;
  if (row->kind == KARST_OPTION_NAME) return check_name(context, row, text);
  int64_t whole = 0;
  const char *end = integer ? karst_parse_integer(text, &whole) : karst_parse_real(text, number);
  if (integer) *number = (double)whole;
  if (!end || *end != '\0')
    return karst_fail(context, KARST_ERROR_OPTION, "%s \"%s\" is not %s", row->name, karst_quote_text(text, word),
                      integer ? "a whole number" : "a finite number");
  if (*number < row->least || (integer && *number > INT_MAX))
    return karst_fail(context, KARST_ERROR_OPTION, "%s %s is out of range: at least %g%s", row->name,
                      karst_quote_text(text, word), row->least,
                      integer && *number > INT_MAX ? ", at most 2147483647" : "");
  return KARST_SUCCESS;
}

karst_status karst_option_check_number(karst_context *context, const karst_option *row, double number)
{
  if (!isfinite(number)) return karst_fail(context, KARST_ERROR_OPTION, "%s is not a finite number", row->name);
  if (number >= row->least) return KARST_SUCCESS;
  return karst_fail(context, KARST_ERROR_OPTION, "%s %.15g is out of range: at least %g", row->name, number,
                    row->least);
}

karst_status karst_options_create(karst_context *context, karst_options **options)
{
  if (options) *options = NULL;
  if (!context || !options) return karst_missing(context, "the place for the options");
  karst_status status = karst_allocate_zero(context, options, 1, sizeof **options, "options");
  if (status) return status;
  (*options)->context = context; /* which does not count it: options use no device */
  return KARST_SUCCESS;
}

karst_status karst_options_copy(karst_context *context, const karst_options *options, karst_options **copy)
{
  if (copy) *copy = NULL;
  if (!context || !options || !copy)
    return karst_missing(context, options ? "the place for the copy" : "the set of options");
  karst_status status = karst_options_create(context, copy);
  for (int i = 0; i < options->count && !status; i++)
    status = karst_options_put(*copy, options->value[i].name, options->value[i].text, options->value[i].number);
  if (!status) return KARST_SUCCESS;
  karst_options_destroy(*copy);
  *copy = NULL;
  return status;
}

void karst_options_destroy(karst_options *options)
{
  if (!options) return;
  karst_context *context = options->context;
  for (int i = 0; i < options->count; i++) karst_release(context, options->value[i].name);
  karst_release(context, options->value);
  karst_release(context, options);
}

karst_context *karst_options_context(const karst_options *options) { return options->context; }

static struct value *find(const karst_options *options, const char *name)
{
  for (int i = 0; options && i < options->count; i++)
    if (strcmp(options->value[i].name, name) == 0) return &options->value[i];
  return NULL;
}

const char *karst_options_find(const karst_options *options, const char *name)
{
  const struct value *value = find(options, name);
  return value ? value->text : NULL;
}

/* A place for one more value. */
static karst_status make_room(karst_options *options)
{
  if (options->count < options->room) return KARST_SUCCESS;
  struct value *larger;
  const int room = 2 * options->room + 8;
  karst_status status = karst_allocate(options->context, &larger, room, sizeof *larger, "options");
  if (status) return status;
  if (options->count > 0) memcpy(larger, options->value, (size_t)options->count * sizeof *larger);
  karst_release(options->context, options->value);
  options->value = larger;
  options->room = room;
  return KARST_SUCCESS;
}

karst_status karst_options_put(karst_options *options, const char *name, const char *text, double number)
{
  char *memory;
  const size_t name_size = strlen(name) + 1, text_size = strlen(text) + 1;
  karst_status status = make_room(options);
  if (!status)
    status = karst_allocate(options->context, &memory, (int64_t)(name_size + text_size), 1, "the value of an option");
  if (status) return status;
  memcpy(memory, name, name_size);
  memcpy(memory + name_size, text, text_size);
  struct value *old = find(options, name), *place = old ? old : &options->value[options->count++];
  if (old) karst_release(options->context, old->name);
  *place = (struct value){memory, memory + name_size, number};
  return KARST_SUCCESS;
}

/* Puts a value into the settings: the number, or that of the name. */
static void store(const karst_option *row, const char *text, double number, void *settings)
{
  void *field = (char *)settings + row->field;
  if (row->kind == KARST_OPTION_REAL) {
    memcpy(field, &number, sizeof number);
  } else {
    const int whole = (int)(row->kind == KARST_OPTION_NAME ? (double)karst_find_name(row->choice, text) : number);
    memcpy(field, &whole, sizeof whole);
  }
}

karst_status karst_options_check(karst_context *context, const karst_options *options, const karst_option *const *list,
                                 const char *owner)
{
  char takes[128];
  double number;
  for (; list && *list; list++)
    for (const karst_option *row = *list; row->name; row++) {
      const char *text = karst_options_find(options, row->name);
      if (!text || karst_option_check(context, row, text, &number) == KARST_SUCCESS) continue;
      karst_option_takes(row, takes, sizeof takes);
      return karst_fail(context, KARST_ERROR_OPTION, "%s \"%s\" is not for %s, which takes %s", row->name, text, owner,
                        takes);
    }
  return KARST_SUCCESS;
}

void karst_options_read(const karst_options *options, const karst_option *const *list, void *settings)
{
  for (; list && *list; list++)
    for (const karst_option *row = *list; row->name; row++) {
      const struct value *value = find(options, row->name);
      double number = value ? value->number : 0;
      if (!value && row->kind != KARST_OPTION_NAME) karst_parse_real(row->default_value, &number);
      store(row, value ? value->text : row->default_value, number, settings);
    }
}
