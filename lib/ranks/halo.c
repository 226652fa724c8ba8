/* halo.c - products of a distributed matrix: its own columns while the ghosts' part of x is under way, then the ghosts'
 * columns; and what a matrix knows of its halo; see halo.h. */
#include "lib/ranks/halo.h"

#include "lib/backend/halo_kernels.h"
#include "lib/profile/profile.h"

/* y = y + sign G g once the ghosts' part of x has come. */
static karst_status add_ghosts(const karst_matrix *A, double sign, double *y, double *size)
{
  const karst_halo *halo = A->halo;
  const karst_status status = karst_exchange_end(halo->exchange);
  if (status || halo->rows == 0) return status;
  karst_timing timing;
  karst_profile_begin(A->context, "product with ghosts", NULL,
                      (double)karst_block_offset(A->block_size, halo->blocks) * sizeof(double), &timing);
  A->context->backend->halo->add(A->context, halo, sign, halo->exchange->incoming, y, size);
  karst_profile_end(&timing);
  return KARST_SUCCESS;
}

karst_status karst_halo_multiply(const karst_matrix *A, const double *x, double *y)
{
  karst_exchange_begin(A->halo->exchange, x);
  A->context->backend->multiply(A->context, A, x, y);
  return add_ghosts(A, 1, y, NULL);
}

karst_status karst_halo_residual(const karst_matrix *A, const double *b, const double *x, double *r)
{
  karst_exchange_begin(A->halo->exchange, x);
  A->context->backend->residual(A->context, A, b, x, r, NULL);
  return add_ghosts(A, -1, r, NULL);
}

karst_status karst_halo_residual_bounded(const karst_matrix *A, const double *b, const double *x, double *r,
                                         double *size, double *space)
{
  karst_exchange_begin(A->halo->exchange, x);
  A->context->backend->residual_bounded(A->context, A, b, x, r, size, space);
  return add_ghosts(A, -1, r, size);
}

karst_status karst_halo_residual_precise(const karst_matrix *A, const double *b, const double *x, double *r)
{
  const karst_halo *halo = A->halo;
  karst_exchange_begin(halo->exchange, x);
  A->context->backend->residual_precise(A->context, A, b, x, r, NULL);
  const karst_status status = karst_exchange_end(halo->exchange);
  if (!status && halo->rows > 0)
    A->context->backend->halo->residual_precise(A->context, A, b, x, halo->exchange->incoming, r);
  return status;
}

karst_status karst_halo_first(const karst_halo *halo, karst_status status, karst_index *block_row)
{
  int64_t before_end = *block_row >= 0 ? INT64_MAX - karst_halo_global(halo, *block_row) : 0;
  if (!status) status = karst_ranks_largest(halo->context, &before_end);
  *block_row = before_end > 0 && !status ? (karst_index)(INT64_MAX - before_end) : -1;
  return status;
}

karst_status karst_halo_take_values(karst_matrix *A, const double *value)
{
  karst_context *context = A->context;
  const struct karst_backend *backend = context->backend;
  karst_halo *halo = A->halo;
  const int bb = A->block_size * A->block_size;
  const int64_t scalars = karst_block_offset(A->block_size, (int64_t)halo->own_blocks + halo->blocks);
  const double *source = value;
  karst_status status = KARST_SUCCESS;
  if (!backend->host_memory && !(backend->owns && backend->owns(context, value))) {
    if (!halo->staged)
      status = karst_device_doubles(context, scalars, "the values of all ranks' columns", &halo->staged);
    if (!status) status = backend->upload(context, halo->staged, value, (size_t)scalars * sizeof *value);
    source = halo->staged;
  }
  if (status) return status;
  backend->gather(context, halo->own_blocks, bb, halo->own_source, source, A->value);
  backend->gather(context, halo->blocks, bb, halo->value_source, source, halo->value);
  return KARST_SUCCESS;
}

void karst_halo_destroy(karst_halo *halo)
{
  if (!halo) return;
  karst_context *context = halo->context;
  const struct karst_backend *backend = context->backend;
  karst_exchange_destroy(halo->exchange);
  if (!halo->resized) karst_release_placed(context, halo->host.row, halo->device.row);
  if (!halo->origin || halo->value != halo->origin->value) backend->release(context, halo->value);
  if (!halo->origin) {
    karst_release_placed(context, halo->host.row_start, halo->device.row_start);
    karst_release_placed(context, halo->host.column, halo->device.column);
    karst_release(context, halo->first);
    karst_release(context, halo->ghost);
    backend->release(context, halo->own_source);
    backend->release(context, halo->value_source);
    backend->release(context, halo->staged);
  }
  karst_release(context, halo);
}

karst_status karst_halo_permute(const karst_halo *origin, karst_index block_rows, const karst_index *permutation,
                                bool scaled, karst_halo **halo)
{
  karst_context *context = origin->context;
  karst_index *inverse = NULL;
  void *placed = NULL;
  karst_halo *made;
  *halo = NULL;
  karst_status status = karst_allocate_zero(context, &made, 1, sizeof *made, "the halo");
  if (status) return status;
  *made = *origin;
  made->origin = origin;
  made->exchange = NULL;
  made->host.row = made->device.row = NULL;
  if (scaled) made->value = NULL;
  status = karst_allocate(context, &inverse, block_rows, sizeof *inverse, "the order of the boundary");
  if (!status)
    status = karst_allocate(context, &made->host.row, origin->rows, sizeof *inverse, "the rows of the boundary");
  for (karst_index i = 0; i < block_rows && !status; i++) inverse[permutation[i]] = i;
  for (karst_index k = 0; k < origin->rows && !status; k++) made->host.row[k] = inverse[origin->host.row[k]];
  if (!status)
    status = context->backend->place(context, made->host.row, (size_t)origin->rows * sizeof *inverse,
                                     "the rows of the boundary", &placed);
  made->device.row = placed;
  if (!status) status = karst_exchange_permute(origin->exchange, inverse, &made->exchange);
  if (!status && scaled)
    status = karst_device_doubles(context, karst_block_offset(origin->block_size, origin->blocks),
                                  "the scaled couplings with ghosts", &made->value);
  karst_release(context, inverse);
  if (status)
    karst_halo_destroy(made);
  else
    *halo = made;
  return status;
}

karst_status karst_halo_resize(const karst_halo *origin, int block_size, karst_halo **halo)
{
  karst_context *context = origin->context;
  karst_route route = {0};
  karst_halo *made;
  *halo = NULL;
  karst_status status = karst_allocate_zero(context, &made, 1, sizeof *made, "the halo");
  if (status) return status;
  *made = *origin;
  made->origin = origin;
  made->resized = true;
  made->block_size = block_size;
  made->value = NULL;
  made->exchange = NULL;
  made->own_source = made->value_source = NULL;
  made->staged = NULL;
  status = karst_device_doubles(context, karst_block_offset(block_size, origin->blocks), "the couplings with ghosts",
                                &made->value);
  if (!status) status = karst_exchange_route(origin->exchange, NULL, &route);
  if (!status) status = karst_exchange_create(context, &route, block_size, &made->exchange);
  karst_route_release(context, &route);
  if (status)
    karst_halo_destroy(made);
  else
    *halo = made;
  return status;
}

void karst_halo_copy_values(const karst_halo *halo)
{
  halo->context->backend->copy(halo->context, karst_block_offset(halo->block_size, halo->blocks), halo->origin->value,
                               halo->value);
}

karst_status karst_halo_scale_symmetric(const karst_halo *halo, const double *d)
{
  karst_exchange_begin(halo->exchange, d);
  const karst_status status = karst_exchange_end(halo->exchange);
  if (!status) halo->context->backend->halo->scale_symmetric(halo->context, halo, d, halo->exchange->incoming);
  return status;
}

void karst_halo_scale_rows(const karst_halo *halo, const double *S)
{
  halo->context->backend->halo->scale_rows(halo->context, halo, S);
}

int64_t karst_halo_memory(const karst_halo *halo)
{
  const int64_t copies = halo->context->backend->host_memory ? 1 : 2, index = (int64_t)sizeof(karst_index);
  const int64_t values = karst_block_offset(halo->block_size, halo->blocks) * (int64_t)sizeof(double);
  int64_t bytes = karst_exchange_memory(halo->exchange);
  if (!halo->resized) bytes += copies * halo->rows * index;
  if (halo->origin) return halo->value != halo->origin->value ? bytes + values : bytes;
  bytes += copies * ((int64_t)halo->rows + 1 + halo->blocks) * index;
  bytes += (karst_context_ranks(halo->context) + 1 + halo->ghosts + halo->own_blocks + (int64_t)halo->blocks) * index;
  return bytes + values;
}

karst_index karst_matrix_first_block_row(const karst_matrix *matrix)
{
  return matrix && matrix->halo ? karst_halo_global(matrix->halo, 0) : 0;
}

karst_index karst_matrix_all_block_rows(const karst_matrix *matrix)
{
  if (!matrix || !matrix->halo) return matrix ? matrix->block_rows : 0;
  return matrix->halo->first[karst_context_ranks(matrix->context)];
}

karst_index karst_matrix_ghosts(const karst_matrix *matrix)
{
  return matrix && matrix->halo ? matrix->halo->ghosts : 0;
}
