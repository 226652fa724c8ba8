/* search.h - finds a number in an ascending array. */
#ifndef KARST_LIB_BASE_SEARCH_H
#define KARST_LIB_BASE_SEARCH_H

#include "lib/base/inline.h"
#include "karst.h"

/* Returns the first index in first .. end - 1 with number[index] >= wanted, else end. number ascends. */
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

#endif
