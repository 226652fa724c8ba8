/* options.c - see options.h: rows, and sets of values for them. solver/options.c knows all rows. */
#include "lib/options/options.h"

#include "lib/matrix/matrix.h"
#include "support/nearest.h"
#include "lib/base/number.h"
#include "lib/method/precond.h"

#include <limits.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

struct value {
  char *name, *text; /* one allocation, name first */
  karst_option_value meaning;
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

bool karst_option_is(const karst_option *row, const char *name, size_t length)
{
  const char *own = row->name;
  for (; *own && length > 0; own++, name++, length--)
    if (*own != *name && !((*own == '-' || *own == '_') && (*name == '-' || *name == '_'))) return false;
  return !*own && length == 0;
}

/* Number i of the allowed names, for rows that take a name; NULL past the last. */
static const char *allowed_name(const karst_context *context, const karst_option *row, size_t i)
{
  const bool precond = row->kind == KARST_OPTION_PRECOND || row->choice == karst_precond_choice;
  return precond ? karst_precond_name(context, i) : row->choice(i);
}

static bool takes_name(const karst_option *row)
{
  return row->kind == KARST_OPTION_NAME || row->kind == KARST_OPTION_PRECOND;
}

void karst_option_takes(const karst_context *context, const karst_option *row, char *text, size_t size)
{
  static const char *const words[] = {
      [KARST_OPTION_INTEGER] = "N",      [KARST_OPTION_REAL] = "R",    [KARST_OPTION_NAME] = "",
      [KARST_OPTION_SIZES] = "NXxNYxNZ", [KARST_OPTION_FILE] = "FILE", [KARST_OPTION_PRECOND] = ""};
  static const char more[] = "|...";
  const char *name;
  size_t used = 0;
  snprintf(text, size, "%s", words[row->kind]);
  for (size_t i = 0; takes_name(row) && (name = allowed_name(context, row, i)); i++) {
    const size_t room = size - used, length = strlen(name) + (i > 0);
    if (length + sizeof more > room) {
      snprintf(text + used, room, "%s", more);
      return;
    }
    used += (size_t)snprintf(text + used, room, "%s%s", i ? "|" : "", name);
  }
}

/* The number of a name among those that a row takes; for an unknown name, that of the NULL past the last. */
static size_t find_choice(const karst_context *context, const karst_option *row, const char *text)
{
  const char *name;
  size_t i = 0;
  while ((name = allowed_name(context, row, i)) && strcmp(name, text) != 0) i++;
  return i;
}

/* Reads a text as a number, a whole one if the row takes integers. */
static bool read_number(const karst_option *row, const char *text, double *number)
{
  int64_t whole = 0;
  const bool integer = row->kind == KARST_OPTION_INTEGER;
  const char *end = integer ? karst_parse_integer(text, &whole) : karst_parse_real(text, number);
  if (integer) *number = (double)whole;
  return end && *end == '\0';
}

/* A field of int holds no less than INT_MIN. */
static double least_of(const karst_option *row)
{
  return row->kind == KARST_OPTION_INTEGER ? fmax(row->least, INT_MIN) : row->least;
}

static bool is_too_large(const karst_option *row, double number)
{
  return row->kind == KARST_OPTION_INTEGER && number > INT_MAX;
}

static bool read_sizes(const char *text, karst_index size[3])
{
  int64_t number[3];
  if (!karst_parse_sizes(text, KARST_INDEX_MAX, number)) return false;
  for (int axis = 0; axis < 3; axis++) size[axis] = (karst_index)number[axis];
  return true;
}

bool karst_option_allows(const karst_context *context, const karst_option *row, const char *text,
                         karst_option_value *value)
{
  *value = (karst_option_value){0};
  switch (row->kind) {
  case KARST_OPTION_INTEGER:
  case KARST_OPTION_REAL:
    return read_number(row, text, &value->number) && value->number >= least_of(row) &&
           !is_too_large(row, value->number);
  case KARST_OPTION_SIZES:
    return read_sizes(text, value->size);
  case KARST_OPTION_NAME:
  case KARST_OPTION_PRECOND:
    return allowed_name(context, row, find_choice(context, row, text));
  case KARST_OPTION_FILE:
    break;
  }
  return true;
}

static karst_status refuse_number(karst_context *context, const karst_option *row, const char *text)
{
  char word[KARST_WORD_SIZE];
  double number = 0;
  if (!read_number(row, text, &number))
    return karst_fail(context, KARST_ERROR_OPTION, "%s \"%s\" is not %s", row->name, karst_quote_text(text, word),
                      row->kind == KARST_OPTION_INTEGER ? "a whole number" : "a finite number");
  return karst_fail(context, KARST_ERROR_OPTION, "%s %s is out of range: at least %.10g%s", row->name,
                    karst_quote_text(text, word), least_of(row),
                    is_too_large(row, number) ? ", at most 2147483647" : "");
}

/* The names that a row takes. */
struct choices {
  const karst_context *context;
  const karst_option *row;
};

static const char *choice_of(const void *user, size_t i)
{
  const struct choices *choices = user;
  return allowed_name(choices->context, choices->row, i);
}

karst_status karst_option_check(karst_context *context, const karst_option *row, const char *text,
                                karst_option_value *value)
{
  char choices[256], word[KARST_WORD_SIZE];
  if (karst_option_allows(context, row, text, value)) return KARST_SUCCESS;
  if (row->kind == KARST_OPTION_SIZES)
    return karst_fail(context, KARST_ERROR_OPTION, "%s \"%s\" is not NXxNYxNZ, NXxNY or NX with sizes from 1",
                      row->name, karst_quote_text(text, word));
  if (!takes_name(row)) return refuse_number(context, row, text);
  karst_option_takes(context, row, choices, sizeof choices);
  const char *near = karst_nearest(text, strlen(text), choice_of, &(struct choices){context, row});
  return karst_fail(context, KARST_ERROR_OPTION, "%s \"%s\" is unknown: %s%s%s%s", row->name,
                    karst_quote_text(text, word), choices, near ? "; did you mean " : "", near ? near : "",
                    near ? "?" : "");
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
  (*options)->context = context; /* not counted as an object: options use no device */
  return KARST_SUCCESS;
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

/* Makes room for one more value. */
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

karst_status karst_options_put(karst_options *options, const char *name, const char *text,
                               const karst_option_value *meaning)
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
  *place = (struct value){memory, memory + name_size, *meaning};
  return KARST_SUCCESS;
}

bool karst_options_at(const karst_options *options, int i, const char **name, const char **text)
{
  if (i >= options->count) return false;
  *name = options->value[i].name;
  *text = options->value[i].text;
  return true;
}

karst_status karst_options_inner(karst_context *context, const karst_options *options, const karst_option *row,
                                 karst_options **inner)
{
  const karst_option_value none = {0};
  const size_t length = strlen(row->name);
  karst_status status = karst_options_create(context, inner);
  for (int i = 0; options && i < options->count && !status; i++) {
    const struct value *value = &options->value[i];
    if (strncmp(value->name, row->name, length) == 0 && value->name[length] == '.')
      status = karst_options_put(*inner, value->name + length + 1, value->text, &value->meaning);
  }
  if (!status && !find(*inner, "precond")) status = karst_options_put(*inner, "precond", row->default_value, &none);
  if (!status) return KARST_SUCCESS;
  karst_options_destroy(*inner);
  *inner = NULL;
  return status;
}

/* Stores a parsed value in the settings. */
static void store(const karst_context *context, const karst_option *row, const char *text,
                  const karst_option_value *meaning, void *settings)
{
  void *field = (char *)settings + row->field;
  if (row->kind == KARST_OPTION_REAL) {
    memcpy(field, &meaning->number, sizeof meaning->number);
  } else if (row->kind == KARST_OPTION_SIZES) {
    const karst_grid grid = {{meaning->size[0], meaning->size[1], meaning->size[2]}, NULL};
    memcpy(field, &grid, sizeof grid);
  } else if (row->kind == KARST_OPTION_INTEGER || row->kind == KARST_OPTION_NAME) {
    const int whole = (int)(row->kind == KARST_OPTION_NAME ? (double)find_choice(context, row, text) : meaning->number);
    memcpy(field, &whole, sizeof whole);
  }
}

karst_status karst_options_check(karst_context *context, const karst_options *options, const karst_option *const *list,
                                 const char *owner)
{
  char takes[128];
  karst_option_value value;
  for (; list && *list; list++)
    for (const karst_option *row = *list; row->name; row++) {
      const char *text = karst_options_find(options, row->name);
      if (!text || karst_option_allows(context, row, text, &value)) continue;
      karst_option_takes(context, row, takes, sizeof takes);
      return karst_fail(context, KARST_ERROR_OPTION, "%s \"%s\" is not for %s, which takes %s", row->name, text, owner,
                        takes);
    }
  return KARST_SUCCESS;
}

/* The parsed default of a row, which is valid. */
static karst_option_value default_of(const karst_option *row)
{
  karst_option_value value = {0};
  if (row->kind == KARST_OPTION_INTEGER || row->kind == KARST_OPTION_REAL)
    karst_parse_real(row->default_value, &value.number);
  if (row->kind == KARST_OPTION_SIZES) read_sizes(row->default_value, value.size);
  return value;
}

void karst_options_read(const karst_options *options, const karst_option *const *list, void *settings)
{
  const karst_context *context = options ? options->context : NULL;
  for (; list && *list; list++)
    for (const karst_option *row = *list; row->name; row++) {
      const struct value *value = find(options, row->name);
      const karst_option_value meaning = value ? value->meaning : default_of(row);
      store(context, row, value ? value->text : row->default_value, &meaning, settings);
    }
}

void karst_options_read_row(const karst_options *options, const karst_option *row, void *value)
{
  karst_option rows[] = {*row, {0}};
  const karst_option *const list[] = {rows, NULL};
  rows[0].field = 0;
  karst_options_read(options, list, value);
}
