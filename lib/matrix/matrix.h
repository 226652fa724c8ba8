/* matrix.h - declares the inside of a matrix for the rooms that compute with it. */
#ifndef KARST_LIB_MATRIX_MATRIX_H
#define KARST_LIB_MATRIX_MATRIX_H

#include "lib/backend/backend.h"
#include "lib/matrix/layout.h"

#define KARST_INDEX_MAX (KARST_INDEX_BITS == 64 ? INT64_MAX : (int64_t)INT32_MAX)

enum { KARST_BLOCK_SIZE_MAX = 1024 }; /* a block is much smaller than the stack of a kernel */

typedef struct karst_halo karst_halo; /* lib/ranks/halo.h */

struct karst_matrix {
  karst_context *context;
  karst_index block_rows;
  int block_size;
  int64_t entries;       /* scalar entries that it was made from, before blocks were filled up */
  int64_t rows_unpadded; /* scalar rows without the unit rows appended to fill the last block */
  int64_t blocks;
  karst_index *row_start;    /* [block_rows + 1], host; both are NULL until karst_matrix_fetch_pattern if an ordering */
  karst_index *column;       /* [blocks], host; has made the pattern only in device memory */
  const karst_matrix *shape; /* the matrix that owns the borrowed pattern, else NULL */
  double *value;             /* [b*b*blocks], device memory; not written to if it is source */
  karst_index *device_row_start; /* the pattern in device memory: the backend's place for row_start and column, which */
  karst_index *device_column;    /* may be these arrays themselves */
  int64_t generation;            /* number of updates of the values */
  bool owns_pattern;
  bool references_value; /* with KARST_REFERENCE, until the matrix gets other values */
  const double *source;  /* the array referred to, else NULL; value is this array or a copy of it */
  double *adopted;       /* the array from karst_allocate that is value and belongs to the matrix, else NULL */
  karst_grid grid;       /* owns its map, from karst_allocate, unless the map is borrowed */
  bool borrows_cells;
  struct {
    double *storage; /* [b*b*block_rows] derivatives of what each cell stores, device memory; NULL: not given */
    double *weights; /* [b*block_rows] of the equations of each cell, device memory; NULL: not given */
  } cells;
  karst_halo *halo; /* couplings with block rows of other ranks; owned; NULL: the matrix is not distributed */
  const struct karst_tiling *tiling; /* tiles that sort its block rows and outlive it; NULL: no tiles */
  int64_t undiagonal; /* 1 + the first block row without its diagonal block, 1 + block_rows if there is no such row; 0:
                       * not known yet. Read and written atomically, because threads share matrices */
  int64_t widest;     /* 1 + the blocks of the longest block row; 0: not known yet; atomic too */
};

/* A pattern made from another one by permuting its block rows and columns (backend.h). Arrays of the host are NULL if
 * the backend has not made them; the device's may be the same arrays. */
struct karst_permuted {
  karst_index *row_start, *column; /* [block_rows + 1] and [blocks], host */
  karst_index *device_row_start, *device_column;
  karst_index *source; /* [blocks] the number of each block in the original, host */
  karst_index *device_source;
};

/* Brings the pattern into host memory if it is not there yet, as for an ordered matrix on a GPU. Call it before reading
 * row_start or column of a matrix that may be ordered. Two threads never fetch at once: on the CPU, where they may
 * share a matrix, the pattern is always there, and only one thread at a time uses a GPU's context. */
karst_status karst_matrix_fetch_pattern(const karst_matrix *matrix);

/* KARST_ERROR_ARGUMENT if the matrix is distributed, for what needs a whole matrix; what: "a file holds". */
karst_status karst_matrix_check_whole(const karst_matrix *matrix, const char *what);

/* Returns the first block row without its diagonal block, or -1. It searches the pattern once in a matrix's life. */
karst_index karst_matrix_find_missing_diagonal(const karst_matrix *matrix);

/* Returns the number of blocks of the longest block row. It searches the pattern once in a matrix's life. */
karst_index karst_matrix_widest_row(const karst_matrix *matrix);

enum { KARST_FAULT_SIZE = 200 };

/* Returns whether karst_matrix_check accepts a pattern; if not, fault says why. The caller makes a sentence of it,
 * because the context's last sentence may by then be another thread's. */
bool karst_pattern_is_valid(karst_index block_rows, const karst_index *row_start, const karst_index *column,
                            char fault[KARST_FAULT_SIZE]);

/* The same for rows that are numbered from first on, of a pattern with so many columns. */
bool karst_rows_are_valid(karst_index block_rows, karst_index columns, karst_index first, const karst_index *row_start,
                          const karst_index *column, char fault[KARST_FAULT_SIZE]);

/* Makes a matrix that takes over arrays from karst_allocate; a failed call releases them. With value NULL the matrix
 * has a pattern and undefined values in the backend's memory. The pattern is not checked. File formats, generators and
 * conversions make their matrices in this way. */
karst_status karst_matrix_adopt(karst_context *context, karst_index block_rows, int block_size, int64_t rows_unpadded,
                                karst_index *row_start, karst_index *column, double *value, karst_matrix **matrix);

/* _adopt_pattern does the same without values: it makes the pattern that _on_pattern shares with other matrices, and
 * that outlives them. These have their own values, undefined at first. _adopt_permuted makes the pattern from a
 * permutation of A's and leaves only the source in permuted. */
karst_status karst_matrix_adopt_pattern(karst_context *context, karst_index block_rows, int block_size,
                                        karst_index *row_start, karst_index *column, karst_matrix **pattern);
karst_status karst_matrix_adopt_permuted(const karst_matrix *A, karst_permuted *permuted, karst_matrix **pattern);
karst_status karst_matrix_on_pattern(const karst_matrix *pattern, int64_t rows_unpadded, karst_matrix **matrix);

/* Makes a matrix of another block size with undefined values on the pattern of A, which outlives it, with A's grid and
 * tiles. */
karst_status karst_matrix_on_blocks_of(const karst_matrix *A, int block_size, karst_matrix **matrix);

/* Each of these gives values to a matrix with a pattern only: undefined ones in memory of the backend; a copy of an
 * array; the caller's array, to which the matrix refers; or the adopted array, which is released if value is a copy of
 * it. */
karst_status karst_matrix_own_values(karst_matrix *matrix);
karst_status karst_matrix_copy_values(karst_matrix *matrix, const double *value);
karst_status karst_matrix_refer(karst_matrix *matrix, const double *value);
karst_status karst_matrix_place_adopted(karst_matrix *matrix);
void karst_matrix_release_values(karst_matrix *matrix);

/* Stores A's block k as block position[k] of a matrix on a wider pattern, and zeros elsewhere. position[blocks of A] is
 * in host memory. The values stay in the same memory. */
karst_status karst_matrix_spread_values(const karst_matrix *A, const karst_index *position, karst_matrix *wider);

/* *value is the array of the values if the host can read it, else a copy in host memory. _done releases it. */
karst_status karst_matrix_host_value(const karst_matrix *matrix, double **value);
void karst_matrix_host_value_done(const karst_matrix *matrix, double *value);

/* Counts the blocks that a matrix of block size 1 would have in blocks of size b. */
karst_status karst_matrix_count_blocks(const karst_matrix *scalar, int b, int64_t *blocks);

/* KARST_ERROR_ARGUMENT if the values are not of the generation that the factors were made from, or if that is -1: no
 * factors were made. whose names the owner of the factors in the sentence. */
karst_status karst_matrix_check_generation(const karst_matrix *matrix, int64_t generation, const char *whose);

/* (*diagonal)[i] is the number of block (i,i), in device memory, for the caller to release. KARST_ERROR_MATRIX if one
 * is missing. */
karst_status karst_matrix_locate_diagonal(const karst_matrix *matrix, karst_index **diagonal);

/* *block_row is the first block row in which a block differs from the transpose of its mirror image by more than
 * rounding, or -1. Blocks without an image are left to the test of the pattern. It reads the values on the host. */
karst_status karst_matrix_find_asymmetry(const karst_matrix *A, karst_index *block_row);

static inline karst_layout karst_matrix_layout(const karst_matrix *matrix)
{
  const karst_layout layout = {matrix->block_rows, matrix->block_size};
  return layout;
}

/* Returns the number of scalar rows of block row i without the padding, which is at the end of the last block row. It
 * is also the number of scalar columns of block column i. */
static inline int karst_matrix_height(const karst_matrix *matrix, karst_index i)
{
  const int64_t first = karst_layout_first(karst_matrix_layout(matrix), i);
  const int64_t end = karst_layout_first(karst_matrix_layout(matrix), i + 1);
  return (int)((end < matrix->rows_unpadded ? end : matrix->rows_unpadded) - first);
}

/* Returns the offset in value of block number k. */
static inline int64_t karst_block_offset(int b, int64_t k) { return (int64_t)b * b * k; }

/* Returns the number of scalars in value. */
static inline int64_t karst_entries(const karst_matrix *matrix)
{
  return karst_block_offset(matrix->block_size, matrix->blocks);
}

#endif
