/* ordering.h - the interface of an ordering: one const table per method. symbolic/ordering/orderings.c lists the
 * tables. */
#ifndef KARST_LIB_METHOD_ORDERING_H
#define KARST_LIB_METHOD_ORDERING_H

#include "lib/matrix/matrix.h"
#include "lib/backend/tiling.h"

typedef enum karst_tile_shape {
  KARST_TILES_AUTO, /* boxes of a grid, or grown without a grid */
  KARST_TILES_GROWN /* grown along strong couplings, even on a grid */
} karst_tile_shape;

/* The values of the rows of the orderings' options. */
typedef struct karst_ordering_settings {
  int tile_size;  /* most block rows per tile; 0: depends on the device, the block size and the distance */
  int tile_shape; /* a karst_tile_shape */
} karst_ordering_settings;

/* The input of an ordering: a pattern, which need not be symmetric, and the grid of the matrix. All arrays are in host
 * memory and belong to the matrix. */
typedef struct karst_ordering_pattern {
  karst_context *context; /* for memory, threads and sentences of errors */
  karst_index block_rows;
  const karst_index *row_start; /* [block_rows + 1] */
  const karst_index *column;    /* [row_start[block_rows]], ascending in each row */
  const karst_grid *grid;       /* NULL if the matrix has no grid; it need not fit the pattern (lib/grid/grid.h) */
  const karst_matrix *matrix;   /* the matrix of the pattern, for its block size and values; NULL: equal couplings */
  int distance; /* 1 + k if the rows are for ILU(k): fill joins no rows that are further apart; 0 means 1 */
  karst_ordering_settings settings;
} karst_ordering_pattern;

struct karst_ordering_ops {
  const char *name;
  const char *help, *details; /* as in karst_option */
  /* Stores in permutation[i], [block_rows], which block row of the pattern becomes block row i, and the tiles, if any,
   * in a tiling that is zero on entry. The caller releases the tiling with karst_tiling_destroy, also after a failure.
   * NULL is the natural ordering. KARST_ERROR_NOT_BUILT if the ordering's library is missing. */
  karst_status (*compute)(const karst_ordering_pattern *pattern, karst_index *permutation, karst_tiling *tiling);
  const karst_option *const
      *options; /* lists of rows that fill karst_ordering_settings, NULL after the last; or NULL */
  bool chooses; /* the set-up of a solver replaces it by another ordering, chosen by matrix and method */
};

extern const struct karst_ordering_ops *const karst_ordering_table[]; /* ends with NULL */

/* Returns the name of ordering number i in the table, NULL past the last. */
static inline const char *karst_ordering_name(size_t i)
{
  return karst_ordering_table[i] ? karst_ordering_table[i]->name : NULL;
}

#endif
