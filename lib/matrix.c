/* matrix.c - block CSR matrices: making, checking, new values, products. */
#include "matrix.h"
#include "search.h"
#include "vector.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

__attribute__((format(printf, 2, 3))) static bool name_fault(char fault[KARST_FAULT_SIZE], const char *format, ...)
{
  va_list arguments;
  va_start(arguments, format);
  vsnprintf(fault, KARST_FAULT_SIZE, format, arguments);
  va_end(arguments);
  return false;
}

bool karst_pattern_is_valid(karst_index block_rows, const karst_index *row_start, const karst_index *column,
                            char fault[KARST_FAULT_SIZE])
{
  if (row_start[0] != 0) return name_fault(fault, "the row starts begin with %lld, not 0", (long long)row_start[0]);
  for (karst_index i = 0; i < block_rows; i++)
    if (row_start[i + 1] < row_start[i])
      return name_fault(fault, "block row %lld ends at %lld, before its start %lld", (long long)i,
                        (long long)row_start[i + 1], (long long)row_start[i]);
  for (karst_index i = 0; i < block_rows; i++)
    for (karst_index k = row_start[i]; k < row_start[i + 1]; k++) {
      if (column[k] < 0 || column[k] >= block_rows)
        return name_fault(fault, "block row %lld has an entry in column %lld of %lld", (long long)i,
                          (long long)column[k], (long long)block_rows);
      if (k > row_start[i] && column[k] == column[k - 1])
        return name_fault(fault, "block row %lld has two entries in column %lld", (long long)i, (long long)column[k]);
      if (k > row_start[i] && column[k] < column[k - 1])
        return name_fault(fault, "block row %lld is not sorted: column %lld follows %lld", (long long)i,
                          (long long)column[k], (long long)column[k - 1]);
    }
  return true;
}

karst_status karst_matrix_check(karst_context *context, karst_index block_rows, const karst_index *row_start,
                                const karst_index *column)
{
  char fault[KARST_FAULT_SIZE];
  if (!context) return KARST_ERROR_ARGUMENT;
  if (block_rows < 0)
    return karst_fail(context, KARST_ERROR_ARGUMENT, "a matrix of %lld block rows", (long long)block_rows);
  if (!row_start || (!column && block_rows > 0 && row_start[block_rows] > 0))
    return karst_fail(context, KARST_ERROR_ARGUMENT, "the matrix's pattern is NULL");
  if (!karst_pattern_is_valid(block_rows, row_start, column, fault))
    return karst_fail(context, KARST_ERROR_MATRIX, "%s", fault);
  return KARST_SUCCESS;
}

/* Where the diagonal block of row i stands, or -1. */
static karst_index find_diagonal(const karst_matrix *matrix, karst_index i)
{
  return karst_find_column(matrix->column, matrix->row_start[i], matrix->row_start[i + 1], i);
}

karst_status karst_matrix_check_diagonal(const karst_matrix *matrix)
{
  if (!matrix) return KARST_ERROR_ARGUMENT;
  for (karst_index i = 0; i < matrix->block_rows; i++)
    if (find_diagonal(matrix, i) < 0)
      return karst_fail(matrix->context, KARST_ERROR_MATRIX, "block row %lld has no diagonal entry", (long long)i);
  return KARST_SUCCESS;
}

karst_status karst_matrix_locate_diagonal(const karst_matrix *matrix, karst_index **diagonal)
{
  karst_context *context = matrix->context;
  karst_index *host;
  *diagonal = NULL;
  karst_status status = karst_matrix_check_diagonal(matrix);
  if (!status) status = karst_allocate(context, &host, matrix->block_rows, sizeof *host, "the diagonal's positions");
  if (status) return status;
  for (karst_index i = 0; i < matrix->block_rows; i++) host[i] = find_diagonal(matrix, i);
  status = karst_device_indices(context, matrix->block_rows, host, "the diagonal's positions", diagonal);
  karst_release(context, host);
  return status;
}

/* An empty shell that owns nothing yet. */
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

/* Gives the matrix its arrays on the device. On the CPU these are the host arrays. */
static karst_status place(karst_matrix *matrix, double *value)
{
  karst_context *context = matrix->context;
  int64_t blocks = matrix->row_start[matrix->block_rows];
  int64_t values = karst_block_offset(matrix->block_size, blocks);
  karst_status status;
  matrix->entries = values;
  if (context->backend->host_memory) {
    matrix->device_row_start = matrix->row_start;
    matrix->device_column = matrix->column;
    matrix->value = value;
    return KARST_SUCCESS;
  }
  status = karst_device_indices(context, (int64_t)matrix->block_rows + 1, matrix->row_start, "the matrix's row starts",
                                &matrix->device_row_start);
  if (!status)
    status = karst_device_indices(context, blocks, matrix->column, "the matrix's columns", &matrix->device_column);
  if (!status) status = karst_device_doubles(context, values, "the matrix's values", &matrix->value);
  if (!status) status = context->backend->upload(context, matrix->value, value, (size_t)values * sizeof *value);
  return status;
}

karst_status karst_matrix_adopt(karst_context *context, karst_index block_rows, int block_size, int64_t rows_unpadded,
                                karst_index *row_start, karst_index *column, double *value, karst_matrix **matrix)
{
  bool host_values = context->backend->host_memory;
  karst_status status = make(context, block_rows, block_size, rows_unpadded, matrix);
  if (status) {
    karst_release(context, row_start);
    karst_release(context, column);
    karst_release(context, value);
    return status;
  }
  (*matrix)->row_start = row_start;
  (*matrix)->column = column;
  (*matrix)->owns_pattern = true;
  status = place(*matrix, value);
  if (!host_values) karst_release(context, value);
  if (status) {
    karst_matrix_destroy(*matrix);
    *matrix = NULL;
  }
  return status;
}

static karst_status check_sizes(karst_context *context, karst_index block_rows, int block_size,
                                const karst_index *row_start, const double *value, karst_ownership ownership)
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
  if (!value && values > 0) return karst_fail(context, KARST_ERROR_ARGUMENT, "the matrix's values are NULL");
  return KARST_SUCCESS;
}

/* Copies of the caller's arrays, for KARST_COPY. */
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

static karst_status copy_values(karst_matrix *matrix, const double *value)
{
  karst_context *context = matrix->context;
  int64_t values = karst_entries(matrix);
  double *copy;
  karst_status status = karst_allocate(context, &copy, values, sizeof *value, "the matrix's values");
  if (status) return status;
  if (values > 0) memcpy(copy, value, (size_t)values * sizeof *value);
  return place(matrix, copy);
}

karst_status karst_matrix_create(karst_context *context, karst_index block_rows, int block_size,
                                 const karst_index *row_start, const karst_index *column, const double *value,
                                 karst_ownership ownership, karst_matrix **matrix)
{
  karst_status status;
  if (matrix) *matrix = NULL;
  if (!context || !matrix) return karst_missing(context, "the place for the matrix");
  if (!row_start) return karst_fail(context, KARST_ERROR_ARGUMENT, "the matrix's row starts are NULL");
  status = check_sizes(context, block_rows, block_size, row_start, value, ownership);
  if (!status) status = karst_matrix_check(context, block_rows, row_start, column);
  if (!status) status = make(context, block_rows, block_size, (int64_t)block_rows * block_size, matrix);
  if (status) return status;
  if (ownership == KARST_COPY) {
    status = copy_pattern(*matrix, row_start, column);
    if (!status && context->backend->host_memory) status = copy_values(*matrix, value);
  } else {
    (*matrix)->row_start = (karst_index *)row_start;
    (*matrix)->column = (karst_index *)column;
    (*matrix)->references_value = true;
    (*matrix)->source = value;
  }
  if (!status && !(*matrix)->value) status = place(*matrix, (double *)value);
  if (status) {
    karst_matrix_destroy(*matrix);
    *matrix = NULL;
  }
  return status;
}

void karst_matrix_destroy(karst_matrix *matrix)
{
  if (!matrix) return;
  karst_context *context = matrix->context;
  if (!context->backend->host_memory) {
    if (!matrix->borrows_device_pattern) {
      context->backend->release(context, matrix->device_row_start);
      context->backend->release(context, matrix->device_column);
    }
    context->backend->release(context, matrix->value);
  } else if (matrix->value != matrix->source) {
    karst_release(context, matrix->value);
  }
  karst_matrix_forget_grid(matrix);
  if (matrix->owns_pattern) {
    karst_release(context, matrix->row_start);
    karst_release(context, matrix->column);
  }
  karst_release(context, matrix);
  karst_count_object(context, -1);
}

static karst_status upload_values(karst_matrix *matrix, const double *value)
{
  karst_context *context = matrix->context;
  matrix->generation++;
  return context->backend->upload(context, matrix->value, value, (size_t)karst_entries(matrix) * sizeof *value);
}

/* The matrix refers to the caller's array no longer. On the CPU it gets one of its own, of undefined values. */
static karst_status leave_source(karst_matrix *matrix)
{
  karst_context *context = matrix->context;
  if (context->backend->host_memory) {
    double *own;
    karst_status status = karst_allocate(context, &own, karst_entries(matrix), sizeof *own, "the matrix's values");
    if (status) return status;
    matrix->value = own;
  }
  matrix->references_value = false;
  matrix->source = NULL;
  return KARST_SUCCESS;
}

karst_status karst_matrix_update_values(karst_matrix *matrix, const double *value)
{
  if (!matrix) return KARST_ERROR_ARGUMENT;
  if (!value && karst_entries(matrix) > 0)
    return karst_fail(matrix->context, KARST_ERROR_ARGUMENT, "the matrix's values are NULL");
  if (matrix->references_value && value != matrix->source) {
    karst_status status = leave_source(matrix);
    if (status) return status;
  }
  return upload_values(matrix, value);
}

karst_status karst_matrix_values_changed(karst_matrix *matrix)
{
  if (!matrix) return KARST_ERROR_ARGUMENT;
  if (matrix->references_value) return upload_values(matrix, matrix->source);
  return karst_fail(matrix->context, KARST_ERROR_ARGUMENT,
                    "the matrix has values of its own and refers to no array of the caller: new ones are given to it "
                    "with karst_matrix_update_values");
}

karst_status karst_matrix_check_generation(const karst_matrix *matrix, int64_t generation, const char *whose)
{
  if (matrix->generation == generation) return KARST_SUCCESS;
  if (generation < 0)
    return karst_fail(matrix->context, KARST_ERROR_ARGUMENT,
                      "the %s's last update failed: it is not usable before one succeeds", whose);
  return karst_fail(matrix->context, KARST_ERROR_ARGUMENT,
                    "the matrix has new values since the %s's last setup or update", whose);
}

int karst_matrix_block_size(const karst_matrix *matrix) { return matrix ? matrix->block_size : 0; }

karst_index karst_matrix_block_rows(const karst_matrix *matrix) { return matrix ? matrix->block_rows : 0; }

int64_t karst_matrix_blocks(const karst_matrix *matrix) { return matrix ? matrix->row_start[matrix->block_rows] : 0; }

int64_t karst_matrix_entries(const karst_matrix *matrix) { return matrix ? matrix->entries : 0; }

int64_t karst_matrix_rows(const karst_matrix *matrix)
{
  return matrix ? (int64_t)matrix->block_rows * matrix->block_size : 0;
}

int64_t karst_matrix_rows_unpadded(const karst_matrix *matrix) { return matrix ? matrix->rows_unpadded : 0; }

const karst_index *karst_matrix_row_start(const karst_matrix *matrix) { return matrix ? matrix->row_start : NULL; }

const karst_index *karst_matrix_column(const karst_matrix *matrix) { return matrix ? matrix->column : NULL; }

const double *karst_matrix_value(const karst_matrix *matrix) { return matrix ? matrix->value : NULL; }

/* Whether a vector fits the matrix. */
static karst_status check_vector(const karst_matrix *A, const karst_vector *vector, const char *name)
{
  if (!vector) return karst_fail(A->context, KARST_ERROR_ARGUMENT, "the vector %s is NULL", name);
  if (vector->context != A->context || vector->length != karst_matrix_rows(A))
    return karst_fail(A->context, KARST_ERROR_ARGUMENT,
                      "the vector %s has length %lld and the matrix %lld rows, or their contexts differ", name,
                      (long long)vector->length, (long long)karst_matrix_rows(A));
  return KARST_SUCCESS;
}

karst_status karst_matrix_multiply(const karst_matrix *A, const karst_vector *x, karst_vector *y)
{
  if (!A) return karst_missing(x ? x->context : y ? y->context : NULL, "the matrix");
  karst_status status = check_vector(A, x, "x");
  if (!status) status = check_vector(A, y, "y");
  if (!status && karst_vectors_overlap(x, y))
    status = karst_fail(A->context, KARST_ERROR_ARGUMENT, "the vectors x and y overlap in memory");
  if (!status) A->context->backend->multiply(A->context, A, x->values, y->values);
  return status;
}

karst_status karst_matrix_residual(const karst_matrix *A, const karst_vector *b, const karst_vector *x, karst_vector *r,
                                   double *norm)
{
  if (!A) return karst_missing(b ? b->context : x ? x->context : r ? r->context : NULL, "the matrix");
  karst_status status = check_vector(A, b, "b");
  if (!status) status = check_vector(A, x, "x");
  if (!status) status = check_vector(A, r, "r");
  if (!status && (karst_vectors_overlap(r, b) || karst_vectors_overlap(r, x)))
    status = karst_fail(A->context, KARST_ERROR_ARGUMENT, "the vector r overlaps b or x in memory");
  if (status) return status;
  A->context->backend->residual(A->context, A, b->values, x->values, r->values, NULL);
  return norm ? karst_vector_norm(r, norm) : KARST_SUCCESS;
}
