/* cell_values.c - see cell_values.h: storage blocks and weights of the cells, kept in device memory beside the matrix. */
#include "lib/matrix/cell_values.h"

/* Takes device memory for so many scalars a cell, unless *values has it already. */
static karst_status take_values(const karst_matrix *matrix, int64_t each, const char *what, double **values)
{
  if (*values) return KARST_SUCCESS;
  return karst_device_doubles(matrix->context, each * matrix->block_rows, what, values);
}

/* Copies the caller's values, or forgets those from before if given is NULL. */
static karst_status set_values(karst_matrix *matrix, const double *given, int64_t each, const char *what,
                               double **values)
{
  const struct karst_backend *backend = matrix->context->backend;
  if (!given) {
    backend->release(matrix->context, *values);
    *values = NULL;
    return KARST_SUCCESS;
  }
  const size_t bytes = (size_t)(each * matrix->block_rows) * sizeof *given;
  const karst_status status = take_values(matrix, each, what, values);
  return status || bytes == 0 ? status : backend->upload(matrix->context, *values, given, bytes);
}

karst_status karst_matrix_set_storage(karst_matrix *matrix, const double *storage)
{
  if (!matrix) return KARST_ERROR_ARGUMENT;
  const int64_t b = matrix->block_size;
  return set_values(matrix, storage, b * b, "the storage blocks of the cells", &matrix->cells.storage);
}

karst_status karst_matrix_set_weights(karst_matrix *matrix, const double *weights)
{
  if (!matrix) return KARST_ERROR_ARGUMENT;
  return set_values(matrix, weights, matrix->block_size, "the weights of the cells", &matrix->cells.weights);
}

static karst_status permute_values(const karst_matrix *from, const double *values, const karst_index *permutation,
                                   int each, const char *what, karst_matrix *to, double **permuted)
{
  if (!values) return set_values(to, NULL, each, what, permuted);
  const karst_status status = take_values(to, each, what, permuted);
  if (!status) from->context->backend->gather(from->context, from->block_rows, each, permutation, values, *permuted);
  return status;
}

karst_status karst_matrix_permute_cells(const karst_matrix *from, const karst_index *permutation, karst_matrix *to)
{
  const int b = from->block_size;
  const karst_status status = permute_values(from, from->cells.storage, permutation, b * b,
                                             "the storage blocks of the cells", to, &to->cells.storage);
  return status ? status
                : permute_values(from, from->cells.weights, permutation, b, "the weights of the cells", to,
                                 &to->cells.weights);
}

void karst_matrix_forget_cells(karst_matrix *matrix)
{
  matrix->context->backend->release(matrix->context, matrix->cells.storage);
  matrix->context->backend->release(matrix->context, matrix->cells.weights);
  matrix->cells.storage = matrix->cells.weights = NULL;
}
