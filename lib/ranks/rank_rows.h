/* rank_rows.h - the block rows of a matrix on the host, as its caller gave them: those of a distributed matrix are put
 * together from its own columns and its ghosts'. */
#ifndef KARST_LIB_RANKS_RANK_ROWS_H
#define KARST_LIB_RANKS_RANK_ROWS_H

#include "lib/ranks/halo.h"

typedef struct karst_rows {
  const karst_matrix *A;
  karst_index widest;    /* blocks of this rank's longest row */
  double *value, *ghost; /* the blocks of A and of G, host memory */
} karst_rows;

/* Makes the values of A readable on the host until karst_rows_done, which accepts what a failed call left. Local. */
karst_status karst_rows_view(const karst_matrix *A, karst_rows *rows);
void karst_rows_done(karst_rows *rows);

/* Returns how many blocks row i has. */
karst_index karst_rows_length(const karst_rows *rows, karst_index i);
/* Lists row i: the columns of its blocks among the block rows of all ranks, ascending, and where each block is; both
 * [widest]. Returns how many there are. */
karst_index karst_rows_list(const karst_rows *rows, karst_index i, karst_index *column, const double **block);

#endif
