/* matrix_create.c - makes block CSR matrices from a pattern. matrix_pattern.c checks patterns, matrix_values.c has the
 * values, and matrix_product.c the products. */
#include "lib/grid/grid.h"
#include "lib/matrix/cell_values.h"
#include "lib/ranks/halo.h"

#include <string.h>

/* Makes a matrix that has no arrays yet. */
static karst_status make(karst_context *context, karst_index block_rows, int block_size, int64_t rows_unpadded,
                         karst_matrix **matrix)
{
  karst_status status = karst_allocate_zero(context, matrix, 1, sizeof **matrix, "a matrix");
  if (status) return status;
  (*matrix)->context = context;
  (*matrix)->block_rows = block_rows;
  (*matrix)->block_size = block_size;
  (*matrix)->rows_unpadded = rows_unpadded;
  karst_count_object(context, 1);
  return KARST_SUCCESS;
}

/* Destroys an unfinished matrix after a failure. */
static karst_status keep_or_destroy(karst_status status, karst_matrix **matrix)
{
  if (!status) return KARST_SUCCESS;
  karst_matrix_destroy(*matrix);
  *matrix = NULL;
  return status;
}

static karst_status place_indices(karst_context *context, int64_t count, const karst_index *host, const char *what,
                                  karst_index **memory)
{
  void *placed = NULL;
  karst_status status = context->backend->place(context, host, (size_t)count * sizeof *host, what, &placed);
  *memory = placed;
  return status;
}

/* Gives the pattern, which is complete on the host, its place in device memory. */
static karst_status place_pattern(karst_matrix *matrix)
{
  const int64_t rows = matrix->block_rows;
  matrix->blocks = matrix->row_start[rows];
  matrix->entries = karst_entries(matrix);
  karst_status status =
      place_indices(matrix->context, rows + 1, matrix->row_start, "the matrix's row starts", &matrix->device_row_start);
  if (status) return status;
  return place_indices(matrix->context, matrix->blocks, matrix->column, "the matrix's columns", &matrix->device_column);
}

/* Makes a matrix without values that takes over the arrays of its pattern, and releases them if it fails. */
static karst_status adopt_pattern(karst_context *context, karst_index block_rows, int block_size, int64_t rows_unpadded,
                                  karst_index *row_start, karst_index *column, karst_matrix **matrix)
{
  karst_status status = make(context, block_rows, block_size, rows_unpadded, matrix);
  if (status) {
    karst_release(context, row_start);
    karst_release(context, column);
    return status;
  }
  (*matrix)->row_start = row_start;
  (*matrix)->column = column;
  (*matrix)->owns_pattern = true;
  return keep_or_destroy(place_pattern(*matrix), matrix);
}

karst_status karst_matrix_adopt(karst_context *context, karst_index block_rows, int block_size, int64_t rows_unpadded,
                                karst_index *row_start, karst_index *column, double *value, karst_matrix **matrix)
{
  karst_status status = adopt_pattern(context, block_rows, block_size, rows_unpadded, row_start, column, matrix);
  if (status) {
    karst_release(context, value);
    return status;
  }
  (*matrix)->adopted = value;
  return keep_or_destroy(value ? karst_matrix_place_adopted(*matrix) : karst_matrix_own_values(*matrix), matrix);
}

karst_status karst_matrix_adopt_pattern(karst_context *context, karst_index block_rows, int block_size,
                                        karst_index *row_start, karst_index *column, karst_matrix **pattern)
{
  const karst_layout layout = {block_rows, block_size};
  return adopt_pattern(context, block_rows, block_size, karst_layout_scalars(layout), row_start, column, pattern);
}

/* Copies what is known of a pattern to a matrix on the same pattern, or on a symmetric permutation of it. */
static void inherit_rows(const karst_matrix *from, karst_matrix *to)
{
  const int64_t undiagonal = __atomic_load_n(&from->undiagonal, __ATOMIC_RELAXED);
  to->undiagonal = undiagonal > from->block_rows ? undiagonal : 0;
  to->widest = __atomic_load_n(&from->widest, __ATOMIC_RELAXED);
}

karst_status karst_matrix_adopt_permuted(const karst_matrix *A, karst_permuted *permuted, karst_matrix **pattern)
{
  karst_status status = make(A->context, A->block_rows, A->block_size, karst_matrix_rows(A), pattern);
  if (status) return status;
  karst_matrix *made = *pattern;
  made->blocks = A->blocks;
  made->entries = karst_entries(A);
  made->row_start = permuted->row_start;
  made->column = permuted->column;
  made->device_row_start = permuted->device_row_start;
  made->device_column = permuted->device_column;
  made->owns_pattern = true;
  permuted->row_start = permuted->column = permuted->device_row_start = permuted->device_column = NULL;
  karst_matrix_widest_row(A);
  if (karst_matrix_find_missing_diagonal(A) >= 0) status = karst_matrix_fetch_pattern(made); /* for host searches */
  inherit_rows(A, made);
  return keep_or_destroy(status, pattern);
}

/* Makes a matrix that borrows a pattern, with undefined values. */
static karst_status borrow_pattern(const karst_matrix *pattern, int block_size, int64_t rows_unpadded,
                                   karst_matrix **matrix)
{
  karst_status status = make(pattern->context, pattern->block_rows, block_size, rows_unpadded, matrix);
  if (status) return status;
  (*matrix)->blocks = pattern->blocks;
  (*matrix)->entries = karst_entries(*matrix);
  (*matrix)->row_start = pattern->row_start;
  (*matrix)->column = pattern->column;
  (*matrix)->device_row_start = pattern->device_row_start;
  (*matrix)->device_column = pattern->device_column;
  (*matrix)->shape = pattern->shape ? pattern->shape : pattern; /* the owner */
  inherit_rows(pattern, *matrix);
  return keep_or_destroy(karst_matrix_own_values(*matrix), matrix);
}

karst_status karst_matrix_on_pattern(const karst_matrix *pattern, int64_t rows_unpadded, karst_matrix **matrix)
{
  karst_status status = borrow_pattern(pattern, pattern->block_size, rows_unpadded, matrix);
  if (!status) (*matrix)->entries = pattern->entries;
  return status;
}

karst_status karst_matrix_on_blocks_of(const karst_matrix *A, int block_size, karst_matrix **matrix)
{
  const karst_layout layout = {A->block_rows, block_size};
  karst_status status = borrow_pattern(A, block_size, karst_layout_scalars(layout), matrix);
  if (status) return status;
  (*matrix)->tiling = A->tiling;
  return keep_or_destroy(karst_matrix_copy_grid(A, NULL, *matrix), matrix);
}

static karst_status check_sizes(karst_context *context, karst_index block_rows, int block_size,
                                const karst_index *row_start, karst_ownership ownership)
{
  int64_t values;
  if (ownership != KARST_COPY && ownership != KARST_REFERENCE)
    return karst_fail(context, KARST_ERROR_ARGUMENT, "the ownership %d is neither KARST_COPY nor KARST_REFERENCE",
                      (int)ownership);
  if (block_rows < 0)
    return karst_fail(context, KARST_ERROR_ARGUMENT, "a matrix of %lld block rows", (long long)block_rows);
  if (block_size < 1 || block_size > KARST_BLOCK_SIZE_MAX)
    return karst_fail(context, KARST_ERROR_ARGUMENT, "block size %d: 1 to %d are possible", block_size,
                      KARST_BLOCK_SIZE_MAX);
  if (__builtin_mul_overflow((int64_t)row_start[block_rows], (int64_t)block_size * block_size * 8, &values))
    return karst_fail(context, KARST_ERROR_NO_MEMORY, "out of memory: a matrix of %lld blocks of size %d",
                      (long long)row_start[block_rows], block_size);
  return KARST_SUCCESS;
}

/* Copies row_start and column of the caller, for KARST_COPY. */
static karst_status copy_pattern(karst_matrix *matrix, const karst_index *row_start, const karst_index *column)
{
  karst_context *context = matrix->context;
  int64_t rows = matrix->block_rows, blocks = row_start[rows];
  karst_status status;
  matrix->owns_pattern = true;
  status = karst_allocate(context, &matrix->row_start, rows + 1, sizeof *row_start, "the matrix's row starts");
  if (!status) status = karst_allocate(context, &matrix->column, blocks, sizeof *column, "the matrix's columns");
  if (status) return status;
  memcpy(matrix->row_start, row_start, (size_t)(rows + 1) * sizeof *row_start);
  if (blocks > 0) memcpy(matrix->column, column, (size_t)blocks * sizeof *column);
  return KARST_SUCCESS;
}

/* Makes a matrix without values on the caller's pattern. It checks all arguments that both public functions take. */
static karst_status make_on_pattern(karst_context *context, karst_index block_rows, int block_size,
                                    const karst_index *row_start, const karst_index *column, karst_ownership ownership,
                                    karst_matrix **matrix)
{
  if (matrix) *matrix = NULL;
  if (!context || !matrix) return karst_missing(context, "the place for the matrix");
  if (!row_start) return karst_fail(context, KARST_ERROR_ARGUMENT, "the matrix's row starts are NULL");
  karst_status status = check_sizes(context, block_rows, block_size, row_start, ownership);
  if (!status) status = karst_matrix_check(context, block_rows, row_start, column);
  const karst_layout layout = {block_rows, block_size};
  if (!status) status = make(context, block_rows, block_size, karst_layout_scalars(layout), matrix);
  if (status) return status;
  if (ownership == KARST_COPY) {
    status = copy_pattern(*matrix, row_start, column);
  } else {
    (*matrix)->row_start = (karst_index *)row_start;
    (*matrix)->column = (karst_index *)column;
  }
  if (!status) status = place_pattern(*matrix);
  return keep_or_destroy(status, matrix);
}

karst_status karst_matrix_create(karst_context *context, karst_index block_rows, int block_size,
                                 const karst_index *row_start, const karst_index *column, const double *value,
                                 karst_ownership ownership, karst_matrix **matrix)
{
  karst_status status = make_on_pattern(context, block_rows, block_size, row_start, column, ownership, matrix);
  if (status) return status;
  if (!value && karst_entries(*matrix) > 0)
    status = karst_fail(context, KARST_ERROR_ARGUMENT, "the matrix's values are NULL");
  else
    status = ownership == KARST_COPY ? karst_matrix_copy_values(*matrix, value) : karst_matrix_refer(*matrix, value);
  return keep_or_destroy(status, matrix);
}

karst_status karst_matrix_create_pattern(karst_context *context, karst_index block_rows, int block_size,
                                         const karst_index *row_start, const karst_index *column,
                                         karst_ownership ownership, karst_matrix **matrix)
{
  karst_status status = make_on_pattern(context, block_rows, block_size, row_start, column, ownership, matrix);
  if (status) return status;
  status = karst_matrix_own_values(*matrix);
  if (!status) context->backend->fill(context, karst_entries(*matrix), 0, (*matrix)->value);
  return keep_or_destroy(status, matrix);
}

void karst_matrix_destroy(karst_matrix *matrix)
{
  if (!matrix) return;
  karst_context *context = matrix->context;
  if (!matrix->shape) {
    if (matrix->device_row_start != matrix->row_start) context->backend->release(context, matrix->device_row_start);
    if (matrix->device_column != matrix->column) context->backend->release(context, matrix->device_column);
  }
  karst_matrix_release_values(matrix);
  karst_halo_destroy(matrix->halo);
  karst_matrix_forget_grid(matrix);
  karst_matrix_forget_cells(matrix);
  if (matrix->owns_pattern) {
    karst_release(context, matrix->row_start);
    karst_release(context, matrix->column);
  }
  karst_release(context, matrix);
  karst_count_object(context, -1);
}

int karst_matrix_block_size(const karst_matrix *matrix) { return matrix ? matrix->block_size : 0; }

karst_index karst_matrix_block_rows(const karst_matrix *matrix) { return matrix ? matrix->block_rows : 0; }

int64_t karst_matrix_blocks(const karst_matrix *matrix) { return matrix ? matrix->blocks : 0; }

int64_t karst_matrix_entries(const karst_matrix *matrix) { return matrix ? matrix->entries : 0; }

int64_t karst_matrix_rows(const karst_matrix *matrix)
{
  return matrix ? karst_layout_scalars(karst_matrix_layout(matrix)) : 0;
}

int64_t karst_matrix_rows_unpadded(const karst_matrix *matrix) { return matrix ? matrix->rows_unpadded : 0; }

const karst_index *karst_matrix_row_start(const karst_matrix *matrix)
{
  return matrix && !karst_matrix_fetch_pattern(matrix) ? matrix->row_start : NULL;
}

const karst_index *karst_matrix_column(const karst_matrix *matrix)
{
  return matrix && !karst_matrix_fetch_pattern(matrix) ? matrix->column : NULL;
}

const karst_index *karst_matrix_device_row_start(const karst_matrix *matrix)
{
  return matrix ? matrix->device_row_start : NULL;
}

const karst_index *karst_matrix_device_column(const karst_matrix *matrix)
{
  return matrix ? matrix->device_column : NULL;
}
