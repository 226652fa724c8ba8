/* ordering.h - declares what an ordering is: one const table a method. symbolic/ordering/ordering.c lists the tables.
 * */
#ifndef KARST_LIB_METHOD_ORDERING_H
#define KARST_LIB_METHOD_ORDERING_H

#include "lib/matrix/matrix.h"
#include "lib/backend/tiling.h"

typedef enum karst_tile_shape {
  KARST_TILES_AUTO, /* boxes of a grid, or grown where there is none */
  KARST_TILES_GROWN /* grown along strong couplings also where there is a grid */
} karst_tile_shape;

/* What the rows of the orderings' options are set to. */
typedef struct karst_ordering_settings {
  int tile_size;  /* most block rows of a tile; 0: chosen by the device, the block size and the distance */
  int tile_shape; /* a karst_tile_shape */
} karst_ordering_settings;

/* What an ordering is made from: a pattern, which need not be symmetric, and the grid of the matrix. All arrays are in
 * host memory and stay those of the matrix. */
typedef struct karst_ordering_pattern {
  karst_context *context; /* for memory, threads and sentences of errors */
  karst_index block_rows;
  const karst_index *row_start; /* [block_rows + 1] */
  const karst_index *column;    /* [row_start[block_rows]], ascending in each row */
  const karst_grid *grid;       /* NULL where the matrix has none; it need not fit the pattern (lib/grid/grid.h) */
  const karst_matrix *matrix;   /* whose pattern it is, for its block size and its values; NULL: couplings are alike */
  int distance; /* 1 + k where the rows are for ILU(k): fill joins no rows that are further apart; 0 stands for 1 */
  karst_ordering_settings settings;
} karst_ordering_pattern;

struct karst_ordering_ops {
  const char *name;
  const char *help, *details; /* as in karst_option */
  /* Stores in permutation[i], [block_rows], which block row of the pattern becomes block row i, and in a tiling that is
   * zero the tiles, if there are any; the caller gives them back to karst_tiling_destroy, also after a failure. NULL
   * stands for the natural ordering. Fails with KARST_ERROR_NOT_BUILT where the ordering's library is missing. */
  karst_status (*compute)(const karst_ordering_pattern *pattern, karst_index *permutation, karst_tiling *tiling);
  const karst_option *const
      *options; /* lists of rows that fill karst_ordering_settings, NULL behind the last; or NULL */
  bool chooses; /* it stands for another one, which a solver's set-up chooses by what is to be ordered and what for */
};

extern const struct karst_ordering_ops *const karst_ordering_table[]; /* ends with NULL */

/* Returns the name of ordering number i in the table, NULL past the last. */
static inline const char *karst_ordering_name(size_t i)
{
  return karst_ordering_table[i] ? karst_ordering_table[i]->name : NULL;
}

#endif
