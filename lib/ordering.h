/* ordering.h - what an ordering is. One const table a method; all tables in symbolic/ordering.c. */
#ifndef KARST_LIB_ORDERING_H
#define KARST_LIB_ORDERING_H

#include "context.h"

struct karst_ordering_ops {
  const char *name;
  const char *help;
  /* permutation[new] = old, from a pattern with n rows whose columns ascend; the pattern need not be symmetric.
   * NULL for the natural ordering. KARST_ERROR_NOT_BUILT where its library is missing. */
  karst_status (*compute)(karst_context *context, karst_index n, const karst_index *row_start,
                          const karst_index *column, karst_index *permutation);
};

extern const struct karst_ordering_ops *const karst_ordering_table[]; /* ends with NULL */

/* The name of number i in it, NULL past the last. */
static inline const char *karst_ordering_name(size_t i)
{
  return karst_ordering_table[i] ? karst_ordering_table[i]->name : NULL;
}

#endif
