/* settings.c - the settings of a method, with the paths and the options of inner preconditioners that they own. */
#include "lib/options/options.h"

#include <string.h>

static karst_status copy_text(karst_context *context, const char *text, void *field)
{
  char *copy;
  const size_t size = strlen(text) + 1;
  karst_status status = karst_allocate(context, &copy, (int64_t)size, 1, "the value of an option");
  if (status) return status;
  memcpy(copy, text, size);
  memcpy(field, &copy, sizeof copy);
  return KARST_SUCCESS;
}

static karst_status fill_field(karst_context *context, const karst_options *options, const karst_option *row,
                               void *field)
{
  karst_options *inner;
  const char *text = karst_options_find(options, row->name);
  if (row->kind == KARST_OPTION_FILE) return copy_text(context, text ? text : row->default_value, field);
  if (row->kind != KARST_OPTION_PRECOND) return KARST_SUCCESS;
  karst_status status = karst_options_inner(context, options, row, &inner);
  if (!status) memcpy(field, &inner, sizeof inner);
  return status;
}

karst_status karst_settings_create(karst_context *context, const karst_options *options,
                                   const karst_option *const *list, size_t size, const void **settings)
{
  char *made;
  *settings = NULL;
  if (size == 0) return KARST_SUCCESS;
  karst_status status = karst_allocate_zero(context, &made, (int64_t)size, 1, "the settings of a method");
  if (status) return status;
  karst_options_read(options, list, made);
  for (const karst_option *const *rows = list; rows && *rows; rows++)
    for (const karst_option *row = *rows; row->name && !status; row++)
      status = fill_field(context, options, row, made + row->field);
  *settings = made;
  if (!status) return KARST_SUCCESS;
  karst_settings_destroy(context, list, made);
  *settings = NULL;
  return status;
}

void karst_settings_destroy(karst_context *context, const karst_option *const *list, const void *settings)
{
  if (!settings) return;
  for (; list && *list; list++)
    for (const karst_option *row = *list; row->name; row++) {
      void *owned;
      if (row->kind != KARST_OPTION_FILE && row->kind != KARST_OPTION_PRECOND) continue;
      memcpy(&owned, (const char *)settings + row->field, sizeof owned);
      if (row->kind == KARST_OPTION_FILE)
        karst_release(context, owned);
      else
        karst_options_destroy(owned);
    }
  karst_release(context, (void *)settings);
}
