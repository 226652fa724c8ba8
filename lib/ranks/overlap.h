/* overlap.h - the square matrix of a rank's own block rows and of some layers of rows of other ranks around them:
 *
 *     A_l = R_l A R_l^T
 *
 * where R_l takes the own rows and those of the layers. Couplings with rows beyond the last layer are left out. Rows
 * are in the order of their global numbers (layers.h): those of lower ranks, the own ones, those of higher ranks. */
#ifndef KARST_LIB_RANKS_OVERLAP_H
#define KARST_LIB_RANKS_OVERLAP_H

#include "lib/backend/tiling.h"
#include "lib/ranks/layers.h"

/* The blocks of the matrix from one source, in the order of that source. */
typedef struct karst_overlap_blocks {
  karst_index count;
  karst_index *host, *device; /* [count] the number of each block in the matrix; host: NULL after it is made */
} karst_overlap_blocks;

typedef struct karst_overlap {
  const karst_matrix *A;                    /* distributed, with a halo; not owned */
  karst_matrix *matrix;                     /* A_l */
  karst_tiling tiling;                      /* of A_l, if A has one */
  karst_index below, above;                 /* rows of lower and of higher ranks */
  karst_index *row;                         /* [below + above] their global numbers, ascending; host */
  karst_exchange *rows;                     /* of vectors */
  karst_exchange *blocks[2];                /* of blocks of A and of G */
  karst_overlap_blocks own[2], received[2]; /* the same in this rank's A and G, and what the others send */
} karst_overlap;

/* Makes the matrix of 1 to KARST_LAYERS_MOST layers, without values. A outlives it. The ranks agree on a failure.
 * Collective. destroy accepts NULL. */
karst_status karst_overlap_create(const karst_matrix *A, int layers, karst_overlap **overlap);
void karst_overlap_destroy(karst_overlap *overlap);
int64_t karst_overlap_memory(const karst_overlap *overlap);

/* For create: makes the tiling. Local. */
karst_status karst_overlap_make_tiles(karst_overlap *overlap);

/* Takes the values of A. Collective among neighbours, also if it fails on one of them. */
karst_status karst_overlap_update(karst_overlap *overlap);

/* extended = R_l x for x of the own rows, and x = the own rows of extended; both in device memory. extend is collective
 * among neighbours. */
karst_status karst_overlap_extend(const karst_overlap *overlap, const double *x, double *extended);
void karst_overlap_restrict(const karst_overlap *overlap, const double *extended, double *x);

/* The global number of a block row of the matrix. */
karst_index karst_overlap_global(const karst_overlap *overlap, karst_index block_row);

#endif
