/* ordering.h - what an ordering is. One const table a method; all tables in symbolic/ordering.c. */
#ifndef KARST_LIB_ORDERING_H
#define KARST_LIB_ORDERING_H

#include "context.h"

/* What an ordering is made from: a pattern, which need not be symmetric, and the grid of the matrix. All arrays are in
 * host memory and stay those of the matrix. */
typedef struct karst_ordering_pattern {
  karst_context *context; /* for memory, threads and sentences of errors */
  karst_index block_rows;
  const karst_index *row_start; /* [block_rows + 1] */
  const karst_index *column;    /* [row_start[block_rows]], ascending in each row */
  const karst_grid *grid;       /* NULL where the matrix has none; it need not fit the pattern (lib/grid.h) */
} karst_ordering_pattern;

struct karst_ordering_ops {
  const char *name;
  const char *help;
  /* permutation[new] = old, for each block row. NULL for the natural ordering. KARST_ERROR_NOT_BUILT where its library
   * is missing. */
  karst_status (*compute)(const karst_ordering_pattern *pattern, karst_index *permutation);
};

extern const struct karst_ordering_ops *const karst_ordering_table[]; /* ends with NULL */

/* The name of number i in it, NULL past the last. */
static inline const char *karst_ordering_name(size_t i)
{
  return karst_ordering_table[i] ? karst_ordering_table[i]->name : NULL;
}

#endif
