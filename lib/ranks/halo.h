/* halo.h - the couplings of a distributed matrix with block rows of other ranks, its ghosts.
 *
 * A rank's own rows are [A G]. A, the square matrix of the own columns, is a karst_matrix like any other. The halo has
 * G, whose columns are the ghosts; it stores only the rows that couple with one, the boundary. */
#ifndef KARST_LIB_RANKS_HALO_H
#define KARST_LIB_RANKS_HALO_H

#include "lib/matrix/matrix.h"
#include "lib/ranks/exchange.h"

/* The pattern of G. */
typedef struct karst_boundary {
  karst_index *row;       /* [rows] the own block row of each row of the boundary */
  karst_index *row_start; /* [rows + 1] */
  karst_index *column;    /* [blocks] numbers of ghosts, ascending in each row */
} karst_boundary;

struct karst_halo {
  karst_context *context;
  const karst_halo *origin; /* what it borrows patterns, and further arrays, from; NULL: it owns all */
  bool resized;             /* origin has blocks of another size: it borrows row too, and owns value and exchange; else
                             * it has another order, and owns row and exchange, and value if it is scaled */
  int block_size;
  karst_index *first; /* [ranks + 1] the first block row of each rank, then the number of all; host */
  karst_index ghosts, rows, blocks;
  karst_index *ghost;                     /* [ghosts] their global numbers, ascending; host */
  karst_boundary host, device;            /* the same in both memories */
  double *value;                          /* [b b blocks] of G, device memory */
  karst_index own_blocks;                 /* of A */
  karst_index *own_source, *value_source; /* [own_blocks], [blocks] the number of each block of A and of G in the
                                           * caller's array; device memory */
  double *staged;           /* [b b (own_blocks + blocks)] the caller's values in device memory; NULL until they come
                             * from the host of a GPU */
  karst_exchange *exchange; /* of the ghosts' part of a vector */
  int64_t widest;           /* blocks of the longest row of [A G] on any rank */
  bool unread;              /* a rank has a block row without its diagonal block */
};

/* Makes the halo of a matrix whose rows are A's in another order: block row i is permutation[i] of A. origin outlives
 * it. Local. scaled: it has values of its own, which are undefined until a scaling. destroy accepts NULL and a half-made
 * halo. */
karst_status karst_halo_permute(const karst_halo *origin, karst_index block_rows, const karst_index *permutation,
                                bool scaled, karst_halo **halo);
/* Makes the halo of a matrix on the pattern of A with blocks of another size, whose values are undefined and never the
 * caller's. origin outlives it. Local. */
karst_status karst_halo_resize(const karst_halo *origin, int block_size, karst_halo **halo);
void karst_halo_destroy(karst_halo *halo);
int64_t karst_halo_memory(const karst_halo *halo);

/* Takes the caller's values, in host or device memory, apart into those of A and of G. Local. */
karst_status karst_halo_take_values(karst_matrix *A, const double *value);

/* Makes the values of a scaled halo: those of its origin, which stay; or with rows and columns scaled by d, the scalars
 * of the own rows, of which neighbours get those of their ghosts; or with rows scaled by S, a block for each own row.
 * scale_symmetric is collective among neighbours. */
void karst_halo_copy_values(const karst_halo *halo);
karst_status karst_halo_scale_symmetric(const karst_halo *halo, const double *d);
void karst_halo_scale_rows(const karst_halo *halo, const double *S);

/* The global number of an own block row; -1 stays -1. Without a halo: the number itself. */
static inline karst_index karst_halo_global(const karst_halo *halo, karst_index block_row)
{
  return halo && block_row >= 0 ? halo->first[halo->context->ranks->transport.rank] + block_row : block_row;
}

/* Returns the number of scalar rows; of a distributed matrix, those of all ranks. */
static inline int64_t karst_matrix_unknowns(const karst_matrix *matrix)
{
  return (int64_t)karst_matrix_all_block_rows(matrix) * matrix->block_size;
}

/* *block_row, an own block row or -1, becomes the global number of the first of all ranks, or -1. Collective unless
 * status is a failure, which it returns. */
karst_status karst_halo_first(const karst_halo *halo, karst_status status, karst_index *block_row);

/* For a matrix with a halo, with A standing for [A G]: y = A x; r = b - A x; the same and size >= |b| + |A| |x| element
 * by element, hardly more; and r to twice the working precision, rounded once. The own columns are taken while the ghosts'
 * part of x is under way. Collective. */
karst_status karst_halo_multiply(const karst_matrix *A, const double *x, double *y);
karst_status karst_halo_residual(const karst_matrix *A, const double *b, const double *x, double *r);
karst_status karst_halo_residual_bounded(const karst_matrix *A, const double *b, const double *x, double *r,
                                         double *size, double *space /* [2] device memory */);
karst_status karst_halo_residual_precise(const karst_matrix *A, const double *b, const double *x, double *r);

#endif
