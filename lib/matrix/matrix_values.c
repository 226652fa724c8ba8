/* matrix_values.c - the values of a matrix: their memory, which the backend chooses, and new values on the same
 * pattern.
 *
 * Values are in memory of the backend, or a host array in the place that the backend gives it: the array itself if
 * kernels can read host memory, else a copy. The addresses show which. */
#include "lib/ranks/halo.h"

static size_t bytes_of(const karst_matrix *matrix) { return (size_t)karst_entries(matrix) * sizeof *matrix->value; }

karst_status karst_matrix_own_values(karst_matrix *matrix)
{
  double *own;
  karst_status status = karst_device_doubles(matrix->context, karst_entries(matrix), "the matrix's values", &own);
  if (!status) matrix->value = own;
  return status;
}

karst_status karst_matrix_copy_values(karst_matrix *matrix, const double *value)
{
  karst_status status = karst_matrix_own_values(matrix);
  if (status) return status;
  return matrix->context->backend->upload(matrix->context, matrix->value, value, bytes_of(matrix));
}

static karst_status place_values(karst_matrix *matrix, const double *host)
{
  void *memory = NULL;
  const struct karst_backend *backend = matrix->context->backend;
  karst_status status = backend->place(matrix->context, host, bytes_of(matrix), "the matrix's values", &memory);
  matrix->value = memory;
  return status;
}

karst_status karst_matrix_refer(karst_matrix *matrix, const double *value)
{
  matrix->references_value = true;
  matrix->source = value;
  return place_values(matrix, value);
}

karst_status karst_matrix_place_adopted(karst_matrix *matrix)
{
  karst_status status = place_values(matrix, matrix->adopted);
  if (status || matrix->value == matrix->adopted) return status;
  karst_release(matrix->context, matrix->adopted);
  matrix->adopted = NULL;
  return KARST_SUCCESS;
}

void karst_matrix_release_values(karst_matrix *matrix)
{
  karst_context *context = matrix->context;
  if (matrix->value != matrix->source && matrix->value != matrix->adopted)
    context->backend->release(context, matrix->value);
  karst_release(context, matrix->adopted);
}

static karst_status upload_values(karst_matrix *matrix, const double *value)
{
  karst_context *context = matrix->context;
  matrix->generation++;
  return context->backend->upload(context, matrix->value, value, bytes_of(matrix));
}

/* Makes the matrix stop referring to the caller's array. If it has no copy of that array, it gets undefined values of
 * its own. */
static karst_status leave_source(karst_matrix *matrix)
{
  karst_status status = matrix->value == matrix->source ? karst_matrix_own_values(matrix) : KARST_SUCCESS;
  if (status) return status;
  matrix->references_value = false;
  matrix->source = NULL;
  return KARST_SUCCESS;
}

/* Takes new values of a distributed matrix. */
static karst_status take_values(karst_matrix *matrix, const double *value)
{
  const bool empty = karst_entries(matrix) == 0 && matrix->halo->blocks == 0;
  karst_status status = KARST_SUCCESS;
  matrix->generation++;
  if (!value && !empty) status = karst_fail(matrix->context, KARST_ERROR_ARGUMENT, "the matrix's values are NULL");
  if (!status) status = karst_halo_take_values(matrix, value);
  return karst_ranks_enter(matrix->context, status);
}

karst_status karst_matrix_update_values(karst_matrix *matrix, const double *value)
{
  if (!matrix) return KARST_ERROR_ARGUMENT;
  if (matrix->halo) return take_values(matrix, value);
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
  matrix->generation++; /* they were written in place */
  return KARST_SUCCESS;
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

const double *karst_matrix_value(const karst_matrix *matrix) { return matrix ? matrix->value : NULL; }

double *karst_matrix_values(karst_matrix *matrix)
{
  if (!matrix) return NULL;
  if (karst_matrix_check_whole(matrix, "values in place are those of")) return NULL;
  if (!matrix->references_value) return matrix->value;
  karst_fail(matrix->context, KARST_ERROR_ARGUMENT,
             "the matrix refers to an array of the caller: write new values there");
  return NULL;
}

karst_status karst_matrix_host_value(const karst_matrix *matrix, double **value)
{
  void *host = NULL;
  const struct karst_backend *backend = matrix->context->backend;
  karst_status status = backend->view(matrix->context, matrix->value, bytes_of(matrix), "the matrix's values", &host);
  *value = host;
  return status;
}

void karst_matrix_host_value_done(const karst_matrix *matrix, double *value)
{
  if (value != matrix->value) karst_release(matrix->context, value);
}

karst_status karst_matrix_spread_values(const karst_matrix *A, const karst_index *position, karst_matrix *wider)
{
  karst_context *context = A->context;
  const karst_index blocks = (karst_index)A->blocks;
  karst_index *device_position = NULL;
  karst_status status = karst_device_indices(context, blocks, position, "the places of blocks", &device_position);
  if (!status) {
    context->backend->fill(context, karst_entries(wider), 0, wider->value);
    context->backend->scatter(context, blocks, A->block_size * A->block_size, device_position, A->value, wider->value);
  }
  context->backend->release(context, device_position);
  return status;
}
