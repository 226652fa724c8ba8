/* register.c - checks a program's preconditioner against what karst.h requires, and adds it to a context. */
#include "solver/methods.h"
#include "lib/base/number.h"

#include <ctype.h>
#include <limits.h>
#include <math.h>
#include <string.h>

static bool is_name(const char *name)
{
  const size_t length = strlen(name);
  if (length == 0 || length > KARST_OPTION_LENGTH || name[0] == '-') return false;
  for (const char *c = name; *c; c++)
    if ((unsigned char)*c > 127 || !(isalnum((unsigned char)*c) || *c == '-' || *c == '_')) return false;
  return true;
}

static karst_status check_method(karst_context *context, const karst_precond_method *method)
{
  char word[KARST_WORD_SIZE];
  if (!method->name || !is_name(method->name))
    return karst_fail(context, KARST_ERROR_ARGUMENT,
                      "a preconditioner's name is letters, digits, '-' and '_', at most %d, not \"%s\"",
                      (int)KARST_OPTION_LENGTH, karst_quote_text(method->name ? method->name : "", word));
  if (karst_precond_find(context, method->name))
    return karst_fail(context, KARST_ERROR_OPTION, "a preconditioner named %s is already registered", method->name);
  const char *missing = !method->help      ? "help"
                        : !method->setup   ? "setup"
                        : !method->update  ? "update"
                        : !method->apply   ? "apply"
                        : !method->destroy ? "destroy"
                                           : NULL;
  if (missing)
    return karst_fail(context, KARST_ERROR_ARGUMENT, "the preconditioner %s has no %s", method->name, missing);
  if (method->settings > PTRDIFF_MAX)
    return karst_fail(context, KARST_ERROR_ARGUMENT, "the settings of the preconditioner %s have %zu bytes, too many",
                      method->name, method->settings);
  return KARST_SUCCESS;
}

/* Returns the bytes of a value of that kind in the settings; 0: the kind is unknown. */
static size_t size_of_kind(karst_option_kind kind)
{
  switch (kind) {
  case KARST_OPTION_INTEGER:
  case KARST_OPTION_NAME:
    return sizeof(int);
  case KARST_OPTION_REAL:
    return sizeof(double);
  case KARST_OPTION_SIZES:
    return sizeof(karst_grid);
  case KARST_OPTION_FILE:
    return sizeof(const char *);
  case KARST_OPTION_PRECOND:
    return sizeof(karst_options *);
  }
  return 0;
}

/* Returns what is wrong with a row, or NULL. */
static const char *find_fault(const karst_precond_method *method, const karst_option *row)
{
  const size_t size = size_of_kind(row->kind);
  if (!is_name(row->name)) return "its name has other characters than letters, digits and '-', or too many";
  if (size == 0) return "its kind is unknown";
  if (row->field > method->settings || size > method->settings - row->field)
    return "its field is not inside the settings";
  if (!row->help || !row->default_value) return "its help or its default is NULL";
  if (row->kind == KARST_OPTION_NAME && (!row->choice || !row->choice(0))) return "it has no name to choose from";
  if (isnan(row->least)) return "its least value is a NaN";
  for (const karst_option *before = method->options; before != row; before++)
    if (karst_option_is(before, row->name, strlen(row->name))) return "another row has the same name";
  return NULL;
}

/* Checks that a row has the same kind as others of its name, and not the name of an option of every solver. */
static karst_status check_clash(karst_context *context, const karst_precond_method *method, const karst_option *row)
{
  const karst_option *const *list;
  for (size_t i = 0; (list = karst_methods_rows_of(context, i)); i++)
    for (; *list; list++)
      for (const karst_option *other = *list; other->name; other++)
        if (karst_option_is(other, row->name, strlen(row->name)) && (i == 0 || other->kind != row->kind))
          return karst_fail(
              context, KARST_ERROR_OPTION, "option %s of the preconditioner %s: %s", row->name, method->name,
              i == 0 ? "every solver has an option of that name" : "another option of that name has a different kind");
  return KARST_SUCCESS;
}

/* Checks that the field of a row overlaps none before it: both would destroy its value. */
static karst_status check_overlap(karst_context *context, const karst_precond_method *method, const karst_option *row)
{
  for (const karst_option *before = method->options; before != row; before++)
    if (row->field < before->field + size_of_kind(before->kind) && before->field < row->field + size_of_kind(row->kind))
      return karst_fail(context, KARST_ERROR_ARGUMENT,
                        "option %s of the preconditioner %s: its field overlaps that of option %s", row->name,
                        method->name, before->name);
  return KARST_SUCCESS;
}

static karst_status check_row(karst_context *context, const karst_precond_method *method, const karst_option *row)
{
  karst_option_value unused;
  char word[KARST_WORD_SIZE];
  const char *fault = find_fault(method, row);
  if (fault)
    return karst_fail(context, KARST_ERROR_ARGUMENT, "option %s of the preconditioner %s: %s",
                      karst_quote_text(row->name, word), method->name, fault);
  karst_status status = check_clash(context, method, row);
  if (status) return status;
  status = karst_option_check(context, row, row->default_value, &unused);
  if (!status) return check_overlap(context, method, row);
  return karst_fail(context, status, "the default of option %s of the preconditioner %s: %s", row->name, method->name,
                    karst_context_error(context));
}

karst_status karst_precond_register(karst_context *context, const karst_precond_method *method)
{
  struct karst_registered *made, **last;
  if (!context || !method) return karst_missing(context, "the method");
  karst_status status = check_method(context, method);
  for (const karst_option *row = method->options; !status && row && row->name; row++)
    status = check_row(context, method, row);
  if (!status) status = karst_allocate_zero(context, &made, 1, sizeof *made, "a method");
  if (status) return status;
  made->method = *method;
  made->list[0] = method->options;
  made->ops = karst_precond_registered(&made->method);
  if (method->options) made->ops.options = made->list;
  for (last = &context->methods; *last; last = &(*last)->next) continue;
  *last = made;
  return KARST_SUCCESS;
}
