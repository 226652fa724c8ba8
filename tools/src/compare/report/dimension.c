/* dimension.c - finds and compares the values in which cases of compare differ; see compare_write.h. */
#include "tools/src/compare/report/compare_write.h"

#include <string.h>

bool compare_same_value(const char *a, const char *b) { return a == b || (a && b && strcmp(a, b) == 0); }

bool compare_is_place(const struct compare_dimension *dimension)
{
  return strcmp(dimension->name, "device") == 0 || strcmp(dimension->name, "threads") == 0;
}

bool compare_same_method(const struct compare_table *table, const struct compare_row *a, const struct compare_row *b)
{
  for (size_t d = 0; d < table->dimensions; d++) {
    const bool own = d == 0 && a->own_block && b->own_block; /* block is the first dimension */
    if (!own && !compare_same_value(a->value[d], b->value[d])) return false;
  }
  return a->own_block == b->own_block;
}

static bool same_name(const char *a, const char *b)
{
  for (; *a && *b; a++, b++)
    if (*a != *b && !((*a == '-' || *a == '_') && (*b == '-' || *b == '_'))) return false;
  return *a == *b;
}

size_t compare_find_dimension(const struct compare_table *table, const char *name)
{
  size_t d = 0;
  while (d < table->dimensions && !same_name(table->dimension[d].name, name)) d++;
  return d;
}
