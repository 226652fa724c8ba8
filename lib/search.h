/* search.h - finds a number in an ascending array, and a name in a table. */
#ifndef KARST_LIB_SEARCH_H
#define KARST_LIB_SEARCH_H

#include "inline.h"
#include "karst.h"

#include <string.h>

/* Returns the first index in first .. end - 1 with number[index] >= wanted, or end if there is none. number ascends. */
KARST_INLINE karst_index karst_lower_bound(const karst_index *number, karst_index first, karst_index end,
                                           karst_index wanted)
{
  while (first < end) {
    const karst_index middle = first + (end - first) / 2;
    if (number[middle] < wanted)
      first = middle + 1;
    else
      end = middle;
  }
  return first;
}

/* Returns the entry of column j among the entries first .. end - 1 of a row, or -1. */
KARST_INLINE karst_index karst_find_column(const karst_index *column, karst_index first, karst_index end, karst_index j)
{
  const karst_index found = karst_lower_bound(column, first, end, j);
  return found < end && column[found] == j ? found : -1;
}

/* Returns the i with name_of(i) equal to name, or the i with name_of(i) NULL, which ends the names. */
static inline size_t karst_find_name(const char *(*name_of)(size_t i), const char *name)
{
  size_t i = 0;
  while (name_of(i) && strcmp(name_of(i), name) != 0) i++;
  return i;
}

#endif
