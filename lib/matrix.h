/* matrix.h - the inside of a matrix, for the rooms that compute with it. */
#ifndef KARST_LIB_MATRIX_H
#define KARST_LIB_MATRIX_H

#include "backend.h"

#define KARST_INDEX_MAX (KARST_INDEX_BITS == 64 ? INT64_MAX : (int64_t)INT32_MAX)

enum { KARST_BLOCK_SIZE_MAX = 1024 }; /* a block fits the stack of a kernel by far */

struct karst_matrix {
  karst_context *context;
  karst_index block_rows;
  int block_size;
  int64_t entries;               /* scalar entries that it was made from, before they were gathered into blocks */
  int64_t rows_unpadded;         /* scalar rows without the unit rows appended to fill the last block */
  karst_index *row_start;        /* [block_rows + 1], host */
  karst_index *column;           /* [row_start[block_rows]], host */
  double *value;                 /* [b*b*row_start[block_rows]], device memory; never written to where it is source */
  karst_index *device_row_start; /* the pattern in device memory; on the CPU the host arrays themselves */
  karst_index *device_column;
  int64_t generation; /* how often values were updated */
  bool owns_pattern;
  bool borrows_device_pattern; /* device_row_start and device_column are another matrix's */
  bool references_value;       /* with KARST_REFERENCE, until the values come from elsewhere */
  const double *source; /* the array referred to, else NULL; on the CPU value is that array, on a GPU a copy of it */
  karst_grid grid;      /* owns its map, allocated with karst_allocate */
};

enum { KARST_FAULT_SIZE = 200 };

/* Whether a pattern is one that karst_matrix_check accepts; if not, fault says why. To be told in a sentence of the
 * caller's: the context's last one may be another thread's by then. */
bool karst_pattern_is_valid(karst_index block_rows, const karst_index *row_start, const karst_index *column,
                            char fault[KARST_FAULT_SIZE]);

/* A matrix that takes over arrays allocated with karst_allocate (also when it fails: they are then released).
 * The pattern is trusted. For file formats, generators and conversions. */
karst_status karst_matrix_adopt(karst_context *context, karst_index block_rows, int block_size, int64_t rows_unpadded,
                                karst_index *row_start, karst_index *column, double *value, karst_matrix **matrix);

/* The same without values: the pattern of others, which it outlives, made with karst_matrix_on_pattern. Those have
 * values of their own, which are undefined at first; what: they, for errors. */
karst_status karst_matrix_adopt_pattern(karst_context *context, karst_index block_rows, int block_size,
                                        karst_index *row_start, karst_index *column, karst_matrix **pattern);
karst_status karst_matrix_on_pattern(const karst_matrix *pattern, int64_t rows_unpadded, const char *what,
                                     karst_matrix **matrix);

/* The values in host memory: the matrix's own array on the CPU, else a copy. Give it back with _done. */
karst_status karst_matrix_host_value(const karst_matrix *matrix, double **value);
void karst_matrix_host_value_done(const karst_matrix *matrix, double *value);

/* How many blocks of size b a matrix of block size 1 would have. */
karst_status karst_matrix_count_blocks(const karst_matrix *scalar, int b, int64_t *blocks);

/* KARST_ERROR_ARGUMENT where the values are no longer those of that generation, which whose factors were made from; -1:
 * they were not made. */
karst_status karst_matrix_check_generation(const karst_matrix *matrix, int64_t generation, const char *whose);

/* diagonal[i]: where block (i,i) stands, in device memory that the caller releases; KARST_ERROR_MATRIX for a missing
 * one. */
karst_status karst_matrix_locate_diagonal(const karst_matrix *matrix, karst_index **diagonal);

/* The first block row in which a block is not the transpose of its mirror image, but for rounding; -1 where there is
 * none. Where a block has no image, that is for the test of the pattern. Looks at the values in host memory. */
karst_status karst_matrix_find_asymmetry(const karst_matrix *A, karst_index *block_row);

/* Scalar offset of block number k. */
static inline int64_t karst_block_offset(int b, int64_t k) { return (int64_t)b * b * k; }

/* Scalar entries stored. */
static inline int64_t karst_entries(const karst_matrix *matrix)
{
  return karst_block_offset(matrix->block_size, matrix->row_start[matrix->block_rows]);
}

#endif
