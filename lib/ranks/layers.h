/* layers.h - layers of block rows of other ranks around the own ones, in the graph of the pattern of a distributed
 * matrix: the first layer is the ghosts, and each next one what the rows of the last couple with besides.
 *
 * A block row has the global number first[r] + i, where i is its number in the matrix of its rank r. If an ordering has
 * permuted that matrix, this is not the caller's number. */
#ifndef KARST_LIB_RANKS_LAYERS_H
#define KARST_LIB_RANKS_LAYERS_H

#include "lib/ranks/halo.h"

enum { KARST_LAYERS_MOST = 3 };

/* Where the rank that owns a block row has its blocks. Lists of indices carry it. */
typedef struct karst_row_place {
  karst_index start, blocks;             /* the number of the first in A, and how many are there */
  karst_index ghost_start, ghost_blocks; /* the same in G */
} karst_row_place;

/* Arrays are in host memory. */
typedef struct karst_layer {
  karst_index rows;
  karst_index *row;          /* [rows] global numbers, ascending */
  karst_row_place *place;    /* [rows] */
  karst_index *column_start; /* [rows + 1] */
  karst_index *column;       /* global numbers: in each row those of the blocks in A, then those in G */
} karst_layer;

typedef struct karst_layers {
  const karst_matrix *A;
  karst_index begin, end; /* the global numbers of the own rows are begin <= number < end */
  karst_index *ghost;     /* [ghosts] the global number of each ghost */
  karst_index *boundary;  /* [block_rows] 1 + the number of each row of A in the boundary, or 0 */
  int count;
  karst_layer layer[KARST_LAYERS_MOST];
} karst_layers;

/* Finds count layers around the rows of a distributed matrix. layers is zero; release accepts what a failed call left.
 * The ranks agree on a failure. Collective. */
karst_status karst_layers_find(const karst_matrix *A, int count, karst_layers *layers);
void karst_layers_release(karst_layers *layers);

#endif
