/* options.c - the options of the solver, of each driver and of each preconditioner, found and set by their names. */
#include "solver/methods.h"
#include "lib/base/number.h"
#include "support/nearest.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Returns the row of a name of so many characters in the lists of a method, or NULL. */
static const karst_option *find_in(const karst_option *const *list, const char *name, size_t length)
{
  for (; list && *list; list++)
    for (const karst_option *row = *list; row->name; row++)
      if (karst_option_is(row, name, length)) return row;
  return NULL;
}

/* Returns the first such row of methods number first to end - 1, or NULL. */
static const karst_option *find_row(const karst_context *context, const char *name, size_t length, size_t first,
                                    size_t end)
{
  const karst_option *const *list, *row = NULL;
  for (size_t i = first; !row && i < end && (list = karst_methods_rows_of(context, i)); i++)
    row = find_in(list, name, length);
  return row;
}

/* Returns row number wanted, where a row that methods share counts once; NULL past the last. */
static const karst_option *row_at(const karst_context *context, size_t wanted)
{
  const karst_option *const *list;
  for (size_t i = 0; (list = karst_methods_rows_of(context, i)); i++)
    for (; *list; list++)
      for (const karst_option *row = *list; row->name; row++)
        if (!find_row(context, row->name, strlen(row->name), 0, i) && wanted-- == 0) return row;
  return NULL;
}

/* Returns an option inside a preconditioner: the name of another one, or an option of any preconditioner. */
static const karst_option *find_inner_row(const karst_context *context, const char *name, size_t length)
{
  const karst_option *precond = find_row(NULL, "precond", strlen("precond"), 0, 1);
  return karst_option_is(precond, name, length)
             ? precond
             : find_row(context, name, length, karst_methods_rows_common(), SIZE_MAX);
}

/* The option of a name. */
struct found {
  const karst_option *row;
  karst_option named; /* the row with the whole name, for messages */
  const char *default_value;
  char name[KARST_OPTION_NAME_SIZE]; /* as the rows have it, "first.level"; "first.precond" where that is "first" */
  size_t used;
  int depth;     /* preconditioners inside one another in name; if the option is unknown, as far as name was found */
  bool too_deep; /* the option is unknown because it would nest one more preconditioner */
};

static void append(struct found *found, const karst_option *row)
{
  const size_t room = sizeof found->name - found->used;
  found->used += (size_t)snprintf(found->name + found->used, room, "%s%s", found->used ? "." : "", row->name);
}

static const struct karst_precond_ops *chosen_precond(const karst_options *options)
{
  karst_methods methods;
  karst_methods_read(options, &methods);
  return karst_precond_at(karst_options_context(options), (size_t)methods.precond);
}

/* Returns the preconditioner that is chosen for the first length characters of a whole name, such as "first" or
 * "first.second", else the default of row, the last of these. */
static const struct karst_precond_ops *find_inner(const karst_options *options, const char *name, size_t length,
                                                  const karst_option *row)
{
  char whole[KARST_OPTION_NAME_SIZE + sizeof ".precond"];
  snprintf(whole, sizeof whole, "%.*s.precond", (int)length, name);
  const char *chosen = karst_options_find(options, whole);
  return karst_precond_find(karst_options_context(options), chosen ? chosen : row->default_value);
}

/* Finds the option of a name, whose parts are rows of preconditioners, each inside the one before, and a last row. Rows
 * of the methods that options choose come first, because rows of one name may have different defaults; options may be
 * NULL. */
static bool find_option(const karst_context *context, const karst_options *options, const char *name,
                        struct found *found)
{
  const struct karst_precond_ops *ops = options ? chosen_precond(options) : NULL;
  const karst_option *outer = NULL, *row;
  *found = (struct found){.used = 0};
  for (;; found->depth++, outer = row) {
    const char *point = strchr(name, '.');
    const size_t length = point ? (size_t)(point - name) : strlen(name);
    row = ops ? find_in(ops->options, name, length) : NULL;
    if (!row) row = outer ? find_inner_row(context, name, length) : find_row(context, name, length, 0, SIZE_MAX);
    const bool inside = row && row->kind == KARST_OPTION_PRECOND;
    found->too_deep = inside && found->depth == KARST_OPTION_DEPTH;
    if (!row || (point && !inside) || found->too_deep) return false;
    append(found, row);
    if (!point) break;
    ops = options ? find_inner(options, found->name, found->used, row) : NULL;
    name = point + 1;
  }
  if (row->kind == KARST_OPTION_PRECOND) {
    outer = row;
    row = find_inner_row(context, "precond", strlen("precond"));
    append(found, row);
  }
  found->row = row;
  found->named = *row;
  found->named.name = found->name;
  found->default_value = outer && row->choice == karst_precond_choice ? outer->default_value : row->default_value;
  return true;
}

int karst_options_info(const karst_context *context, size_t i, karst_option_info *info)
{
  const karst_option *row = info ? row_at(context, i) : NULL;
  if (!row) return 0;
  info->name = row->name;
  info->default_value = row->default_value;
  info->help = row->help;
  info->experiment = row->experiment;
  info->kind = row->kind;
  info->details = row->details;
  karst_option_takes(context, row, info->value, sizeof info->value);
  return 1;
}

const char *karst_options_method(const karst_context *context, const char *option, size_t i, const char **help,
                                 const char **details)
{
  const char *name = NULL, *about = NULL, *more = NULL;
  size_t n = 0;
  if (!option) return NULL;
  if (strcmp(option, "precond") == 0) {
    const struct karst_precond_ops *ops = karst_precond_at(context, i);
    name = ops ? ops->name : NULL;
    about = ops ? ops->help : NULL;
    more = ops ? ops->details : NULL;
  } else if (strcmp(option, "solver") == 0) {
    while (n < i && karst_krylov_table[n]) n++;
    name = karst_krylov_table[n] ? karst_krylov_table[n]->name : NULL;
    about = name ? karst_krylov_table[n]->help : NULL;
    more = name ? karst_krylov_table[n]->details : NULL;
  } else if (strcmp(option, "ordering") == 0) {
    while (n < i && karst_ordering_table[n]) n++;
    name = karst_ordering_table[n] ? karst_ordering_table[n]->name : NULL;
    about = name ? karst_ordering_table[n]->help : NULL;
    more = name ? karst_ordering_table[n]->details : NULL;
  }
  if (name && help) *help = about;
  if (name && details) *details = more;
  return name;
}

/* Reports an unknown option; found: how far find_option came. */
static karst_status fail_unknown(karst_context *context, const char *name, const struct found *found)
{
  char names[800], word[KARST_WORD_SIZE];
  size_t used = 0;
  const karst_option *row, *near = NULL;
  const char *last = strrchr(name, '.') ? strrchr(name, '.') + 1 : name;
  int nearest = 0;
  if (found->too_deep)
    return karst_fail(context, KARST_ERROR_OPTION, "option \"%s\": preconditioners can be nested at most %d deep",
                      karst_quote_text(name, word), (int)KARST_OPTION_DEPTH);
  for (size_t i = 0; (row = row_at(context, i)); i++) {
    if (row->experiment || (found->depth && find_inner_row(context, row->name, strlen(row->name)) != row)) continue;
    if (used < sizeof names)
      used += (size_t)snprintf(names + used, sizeof names - used, "%s%s", used ? ", " : "", row->name);
    const int near_by = karst_nearness(last, strlen(last), row->name);
    if (near_by > nearest) near = row;
    if (near_by > nearest) nearest = near_by;
  }
  return karst_fail(context, KARST_ERROR_OPTION, "option \"%s\" is unknown: %s%s%s%s%s%s", karst_quote_text(name, word),
                    found->depth ? found->name : "", found->depth ? " has " : "", names, near ? "; did you mean " : "",
                    near ? near->name : "", near ? "?" : "");
}

/* Accepts a value that the row found or another method's row of that name allows. Only the row found reports an error,
 * so that a refused call leaves one sentence. */
static karst_status check_value(karst_context *context, const struct found *found, const char *text,
                                karst_option_value *value)
{
  const karst_option *const *list;
  if (karst_option_allows(context, found->row, text, value)) return KARST_SUCCESS;
  for (size_t i = 0; (list = karst_methods_rows_of(context, i)); i++) {
    const karst_option *row = find_in(list, found->row->name, strlen(found->row->name));
    if (row && karst_option_allows(context, row, text, value)) return KARST_SUCCESS;
  }
  return karst_option_check(context, &found->named, text, value);
}

karst_status karst_options_set(karst_options *options, const char *name, const char *value)
{
  struct found found;
  karst_option_value meaning;
  if (!options || !name || !value)
    return karst_missing(options ? karst_options_context(options) : NULL, !options ? "the set of options"
                                                                          : name   ? "the option's value"
                                                                                   : "the option's name");
  karst_context *context = karst_options_context(options);
  if (!find_option(context, NULL, name, &found)) return fail_unknown(context, name, &found);
  karst_status status = check_value(context, &found, value, &meaning);
  return status ? status : karst_options_put(options, found.name, value, &meaning);
}

/* Sets each value in turn, because the context may have other methods. */
karst_status karst_options_copy(karst_context *context, const karst_options *options, karst_options **copy)
{
  const char *name, *text;
  if (copy) *copy = NULL;
  if (!context || !options || !copy)
    return karst_missing(context, options ? "the place for the copy" : "the set of options");
  karst_status status = karst_options_create(context, copy);
  for (int i = 0; !status && karst_options_at(options, i, &name, &text); i++)
    status = karst_options_set(*copy, name, text);
  if (!status) return KARST_SUCCESS;
  karst_options_destroy(*copy);
  *copy = NULL;
  return status;
}

karst_status karst_options_set_integer(karst_options *options, const char *name, int64_t value)
{
  char text[32];
  snprintf(text, sizeof text, "%lld", (long long)value);
  return karst_options_set(options, name, text);
}

/* Prints as few digits as give the same number when read. */
static void print_real(double value, char *text, size_t size)
{
  double again;
  for (int digits = 15; digits <= 17; digits++) {
    karst_print(text, size, "%.*g", digits, value);
    if (karst_parse_real(text, &again) && again == value) break;
  }
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
  struct found found;
  if (!find_option(karst_options_context(options), options, name, &found))
    return fail_unknown(karst_options_context(options), name, &found);
  const char *given = karst_options_find(options, found.name);
  *value = given ? given : found.default_value;
  return KARST_SUCCESS;
}

int karst_options_used(const karst_options *options, const char *name)
{
  struct found found;
  karst_methods methods;
  const karst_context *context = options ? karst_options_context(options) : NULL;
  if (!options || !name || !find_option(context, options, name, &found)) return 0;
  karst_methods_read(options, &methods);
  const struct karst_precond_ops *ops = chosen_precond(options);
  const char *part = found.name, *point = strchr(part, '.');
  if (!point && (find_in(karst_methods_rows_of(context, 0), part, strlen(part)) ||
                 find_in(karst_krylov_table[methods.solver]->options, part, strlen(part)) ||
                 find_in(karst_ordering_table[methods.ordering]->options, part, strlen(part))))
    return 1;
  for (; ops && point; part = point + 1, point = strchr(part, '.')) {
    const karst_option *row = find_in(ops->options, part, (size_t)(point - part));
    if (!row) return 0;
    ops = find_inner(options, found.name, (size_t)(point - found.name), row);
  }
  if (part != found.name && strcmp(part, "precond") == 0) return 1;
  return ops && find_in(ops->options, part, strlen(part));
}
