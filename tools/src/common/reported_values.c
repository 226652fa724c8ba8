/* reported_values.c - see reported_values.h. */
#include "tools/src/common/reported_values.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Copies a text to the end of the block, which moves on. */
static const char *copy_text(char **end, const char *text)
{
  char *copy = *end;
  if (!text) return NULL;
  *end += strlen(text) + 1;
  return strcpy(copy, text);
}

bool tool_values_take(struct tool_values *values, const karst_solver *solver)
{
  karst_value value;
  size_t count = 0, bytes = 0;
  tool_values_free(values);
  for (; karst_solver_report(solver, count, &value); count++)
    bytes += strlen(value.name) + strlen(value.unit) + (value.text ? strlen(value.text) : 0) + 3;
  if (count == 0) return true;
  values->value = malloc(count * sizeof value + bytes);
  if (!values->value) return false;
  char *end = (char *)(values->value + count);
  for (; values->count < count && karst_solver_report(solver, values->count, &value); values->count++)
    values->value[values->count] = (karst_value){.name = copy_text(&end, value.name),
                                                 .unit = copy_text(&end, value.unit),
                                                 .number = value.number,
                                                 .text = copy_text(&end, value.text)};
  return true;
}

void tool_values_free(struct tool_values *values)
{
  free(values->value);
  *values = (struct tool_values){0};
}

double tool_solver_number(const karst_solver *solver, const char *name, double absent)
{
  karst_value value;
  for (size_t i = 0; karst_solver_report(solver, i, &value); i++)
    if (strcmp(value.name, name) == 0 && !value.text) return value.number;
  return absent;
}

void tool_precond_report(const karst_precond *precond, const char *name, char *text, size_t size)
{
  karst_value value;
  *text = '\0';
  for (size_t i = 0; karst_precond_report(precond, i, &value); i++)
    if (strcmp(value.name, name) == 0 && value.text) snprintf(text, size, "%s", value.text);
}

karst_value *tool_value(const struct tool_values *values, const char *name)
{
  for (size_t i = 0; i < values->count; i++)
    if (strcmp(values->value[i].name, name) == 0) return &values->value[i];
  return NULL;
}

double tool_value_number(const struct tool_values *values, const char *name, double absent)
{
  const karst_value *value = tool_value(values, name);
  return value && !value->text ? value->number : absent;
}

const char *tool_value_text(const struct tool_values *values, const char *name)
{
  const karst_value *value = tool_value(values, name);
  return value ? value->text : NULL;
}
