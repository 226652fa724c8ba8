/* columns.h - the block columns of a distributed matrix across its ranks. A sum over a column has a part on each rank
 * with a block in it: the owner of the column, which has its blocks in A, and others, which have theirs in G. Each of
 * those sums its part and sends it to the owner, by the reversed exchange of the halo. The owner adds the parts in the
 * order of the ranks. */
#ifndef KARST_LIB_RANKS_COLUMNS_H
#define KARST_LIB_RANKS_COLUMNS_H

#include "lib/ranks/halo.h"

/* Arrays are in device memory. */
typedef struct karst_columns {
  const karst_halo *halo;  /* not owned */
  karst_index *start;      /* [ghosts + 1] where the blocks of each ghost's column begin in block and row */
  karst_index *block;      /* [blocks of G] their numbers, in each column ascending */
  karst_index *row;        /* [blocks of G] the own block row of each of these */
  karst_index parts;       /* that come from other ranks */
  karst_index *part_start; /* [block rows + 1] where the parts for each own column begin in part */
  karst_index *part; /* [parts] their numbers as the reversed exchange receives them, in each column ascending, and
                            * so by ranks */
  int64_t memory;    /* bytes of all arrays */
} karst_columns;

/* Lists the columns of a matrix of so many own block rows. halo outlives the lists. Local. destroy accepts NULL. */
karst_status karst_columns_create(const karst_halo *halo, karst_index block_rows, karst_columns **columns);
void karst_columns_destroy(karst_columns *columns);

#endif
