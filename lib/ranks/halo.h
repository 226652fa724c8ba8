/* halo.h - the couplings of a distributed matrix with block rows of other ranks, its ghosts.
 *
 * A rank's own rows are the matrix [ A  G ]. A, the square matrix of the own columns, is a karst_matrix like any other.
 * The halo has G, whose columns are the ghosts, and only the rows that couple with one: the boundary. */
#ifndef KARST_LIB_RANKS_HALO_H
#define KARST_LIB_RANKS_HALO_H

#include "lib/matrix/matrix.h"
#include "lib/ranks/exchange.h"

/* A pattern of blocks in host memory, and its place in device memory. */
typedef struct karst_boundary {
  karst_index rows, blocks;
  karst_index *row;       /* [rows] the own block rows of the boundary, ascending in the caller's order */
  karst_index *row_start; /* [rows + 1] */
  karst_index *column;    /* [blocks] numbers of ghosts, ascending in each row */
} karst_boundary;

struct karst_halo {
  karst_context *context;
  int block_size;
  karst_index *first; /* [ranks + 1] the first block row of each rank, then the number of all; host */
  karst_index ghosts;
  karst_index *ghost; /* [ghosts] their global numbers, ascending; host */
  karst_boundary host, device;
  double *value;                          /* [b b blocks] of G, device memory */
  karst_index *own_source, *value_source; /* [blocks of A], [blocks of G] the number of each block in the caller's
                                           * array; device memory */
  double *staged;           /* the caller's values in device memory, if they come from the host of a GPU; else NULL */
  karst_exchange *exchange; /* of the ghosts' part of a vector */
};

/* y = [A G] x, with x of the own rows. Collective. */
karst_status karst_halo_multiply(const karst_matrix *A, const double *x, double *y);

#endif
