/* report.c - see report.h. */
#include "lib/options/report.h"

#include "lib/base/number.h"

#include <string.h>

static karst_status check_name(karst_context *context, const char *name)
{
  static const char allowed[] = "abcdefghijklmnopqrstuvwxyz0123456789_";
  char word[KARST_WORD_SIZE];
  if (!name) return karst_missing(context, "the name of a value");
  const size_t length = strlen(name);
  if (length > 0 && length < KARST_REPORT_NAME && strspn(name, allowed) == length) return KARST_SUCCESS;
  return karst_fail(context, KARST_ERROR_ARGUMENT,
                    "a value's name has 1 to %d of the characters a-z, 0-9 and '_', unlike \"%s\"",
                    KARST_REPORT_NAME - 1, karst_quote_text(name, word));
}

static karst_status check_length(karst_context *context, const karst_value *value, const char *what, const char *text,
                                 size_t size)
{
  const size_t length = text ? strlen(text) : 0;
  if (length < size) return KARST_SUCCESS;
  return karst_fail(context, KARST_ERROR_ARGUMENT, "the %s of the value %s has %zu bytes, more than %zu", what,
                    value->name, length, size - 1);
}

/* The entry of a name, or a new one behind the others; NULL if the report is full. */
static struct karst_report_entry *place_of(karst_report *report, const char *name)
{
  for (int i = 0; i < report->count; i++)
    if (strcmp(report->entry[i].name, name) == 0) return &report->entry[i];
  return report->count < KARST_REPORT_VALUES ? &report->entry[report->count++] : NULL;
}

/* from may be to: a caller may pass a text that the report returned. */
static const char *keep_text(char *to, const char *from)
{
  memmove(to, from, strlen(from) + 1);
  return to;
}

karst_status karst_report_put(karst_context *context, karst_report *report, const karst_value *value)
{
  karst_status status = check_name(context, value->name);
  if (!status) status = check_length(context, value, "unit", value->unit, KARST_REPORT_UNIT);
  if (!status) status = check_length(context, value, "text", value->text, KARST_REPORT_TEXT);
  if (status) return status;
  struct karst_report_entry *entry = place_of(report, value->name);
  if (!entry)
    return karst_fail(context, KARST_ERROR_ARGUMENT, "there is no room for the value %s: a method reports at most %d",
                      value->name, KARST_REPORT_VALUES);
  entry->value = (karst_value){.name = keep_text(entry->name, value->name),
                               .unit = keep_text(entry->unit, value->unit ? value->unit : ""),
                               .number = value->number,
                               .text = value->text ? keep_text(entry->text, value->text) : NULL};
  return KARST_SUCCESS;
}

void karst_report_keep(karst_report *report) { report->kept = report->count; }

void karst_report_begin_update(karst_report *report) { report->count = report->kept; }

int karst_report_get(const karst_report *report, size_t i, karst_value *value)
{
  if (i >= (size_t)report->count) return 0;
  *value = report->entry[i].value;
  return 1;
}
