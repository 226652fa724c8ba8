/* ordering.h - declares what an ordering is: one const table a method. symbolic/ordering.c lists the tables. */
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
  /* Stores in permutation[i], [block_rows], which block row of the pattern becomes block row i. NULL stands for the
   * natural ordering. Fails with KARST_ERROR_NOT_BUILT where the ordering's library is missing. */
  karst_status (*compute)(const karst_ordering_pattern *pattern, karst_index *permutation);
};

extern const struct karst_ordering_ops *const karst_ordering_table[]; /* ends with NULL */

/* Returns the name of ordering number i in the table, NULL past the last. */
static inline const char *karst_ordering_name(size_t i)
{
  return karst_ordering_table[i] ? karst_ordering_table[i]->name : NULL;
}

#endif
