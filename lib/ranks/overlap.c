/* overlap.c - uses the matrix of an overlap: values, vectors, numbers; see overlap.h. overlap_create.c makes it. */
#include "lib/ranks/overlap.h"

karst_status karst_overlap_update(karst_overlap *overlap)
{
  const karst_matrix *A = overlap->A;
  karst_context *context = A->context;
  const struct karst_backend *backend = context->backend;
  const double *const source[2] = {A->value, A->halo->value};
  double *value = overlap->matrix->value;
  const int bb = A->block_size * A->block_size;
  karst_status status = KARST_SUCCESS;
  for (int s = 0; s < 2; s++) {
    const karst_overlap_blocks *own = &overlap->own[s], *received = &overlap->received[s];
    karst_exchange_begin(overlap->blocks[s], source[s]);
    backend->scatter(context, own->count, bb, own->device, source[s], value);
    const karst_status ended = karst_exchange_end(overlap->blocks[s]);
    if (!ended) backend->scatter(context, received->count, bb, received->device, overlap->blocks[s]->incoming, value);
    if (!status) status = ended;
  }
  overlap->matrix->generation++;
  return status;
}

karst_status karst_overlap_extend(const karst_overlap *overlap, const double *x, double *extended)
{
  const karst_matrix *A = overlap->A;
  karst_context *context = A->context;
  const struct karst_backend *backend = context->backend;
  const int64_t b = A->block_size, below = b * overlap->below, own = karst_matrix_rows(A), above = b * overlap->above;
  karst_exchange_begin(overlap->rows, x);
  backend->copy(context, own, x, extended + below);
  const karst_status status = karst_exchange_end(overlap->rows);
  if (status) return status;
  backend->copy(context, below, overlap->rows->incoming, extended);
  backend->copy(context, above, overlap->rows->incoming + below, extended + below + own);
  return KARST_SUCCESS;
}

void karst_overlap_restrict(const karst_overlap *overlap, const double *extended, double *x)
{
  const karst_matrix *A = overlap->A;
  A->context->backend->copy(A->context, karst_matrix_rows(A), extended + (int64_t)A->block_size * overlap->below, x);
}

karst_index karst_overlap_global(const karst_overlap *overlap, karst_index block_row)
{
  const karst_index own = overlap->A->block_rows, i = block_row - overlap->below;
  if (i < 0) return overlap->row[block_row];
  return i < own ? karst_halo_global(overlap->A->halo, i) : overlap->row[block_row - own];
}

int64_t karst_overlap_memory(const karst_overlap *overlap)
{
  const karst_matrix *matrix = overlap->matrix;
  const int64_t copies = matrix->context->backend->host_memory ? 1 : 2;
  int64_t indices = copies * ((int64_t)matrix->block_rows + 1 + matrix->blocks) + overlap->below + overlap->above;
  if (overlap->tiling.tiles > 0) indices += (int64_t)overlap->tiling.tiles + overlap->tiling.colours + 2;
  int64_t bytes = karst_exchange_memory(overlap->rows) + karst_entries(matrix) * (int64_t)sizeof *matrix->value;
  for (int s = 0; s < 2; s++) {
    indices += (int64_t)overlap->own[s].count + overlap->received[s].count;
    bytes += karst_exchange_memory(overlap->blocks[s]);
  }
  return bytes + indices * (int64_t)sizeof(karst_index);
}

void karst_overlap_destroy(karst_overlap *overlap)
{
  if (!overlap) return;
  karst_context *context = overlap->A->context;
  karst_matrix_destroy(overlap->matrix);
  karst_tiling_destroy(context, &overlap->tiling);
  karst_exchange_destroy(overlap->rows);
  for (int s = 0; s < 2; s++) {
    karst_exchange_destroy(overlap->blocks[s]);
    karst_release(context, overlap->own[s].host);
    karst_release(context, overlap->received[s].host);
    context->backend->release(context, overlap->own[s].device);
    context->backend->release(context, overlap->received[s].device);
  }
  karst_release(context, overlap->row);
  karst_release(context, overlap);
}
