/* halo.cu - the columns of ghosts in the products and scalings of a distributed matrix, on the GPU:
 * a thread an element of a row of the boundary. */
#include "gpu/cuda.h"
#include "gpu/launch.h"

extern "C" {
#include "lib/backend/halo_kernels.h"
#include "lib/backend/precise_sum.h"
}

namespace
{

/* G in device memory. */
struct ghosts {
  int b;
  karst_index rows;
  const karst_index *row, *start, *column;
  const double *value;
};

ghosts ghosts_of(const karst_halo *halo)
{
  const karst_boundary *device = &halo->device;
  return {halo->block_size, halo->rows, device->row, device->row_start, device->column, halo->value};
}

__global__ void __launch_bounds__(1024)
    add_ghosts(ghosts G, double sign, const double *__restrict__ g, double *__restrict__ y, double *__restrict__ size)
{
  karst_index k;
  int r;
  karst_cuda_begin();
  if (!karst_cuda_row(G.b, G.rows, &k, &r)) return;
  const int64_t at = (int64_t)G.row[k] * G.b + r;
  double sum = 0, sizes = 0;
  for (karst_index e = G.start[k]; e < G.start[k + 1]; e++)
    for (int c = 0; c < G.b; c++) {
      const double product =
          G.value[karst_cuda_offset(G.b, e) + (int64_t)c * G.b + r] * g[(int64_t)G.column[e] * G.b + c];
      sum += product;
      sizes += fabs(product);
    }
  y[at] += sign * sum;
  if (size) size[at] += sizes;
}

__global__ void __launch_bounds__(1024)
    residual_rows(ghosts G, const karst_index *start, const karst_index *column, const double *value,
                  const double *right, const double *x, const double *g, double *result)
{
  karst_index k;
  int r;
  if (!karst_cuda_row(G.b, G.rows, &k, &r)) return;
  const karst_index i = G.row[k];
  karst_precise_sum s = {right[(int64_t)i * G.b + r], 0};
  for (karst_index e = start[i]; e < start[i + 1]; e++)
    for (int c = 0; c < G.b; c++)
      karst_precise_add(&s, -value[karst_cuda_offset(G.b, e) + (int64_t)c * G.b + r], x[(int64_t)column[e] * G.b + c]);
  for (karst_index e = G.start[k]; e < G.start[k + 1]; e++)
    for (int c = 0; c < G.b; c++)
      karst_precise_add(&s, -G.value[karst_cuda_offset(G.b, e) + (int64_t)c * G.b + r],
                        g[(int64_t)G.column[e] * G.b + c]);
  result[(int64_t)i * G.b + r] = s.sum + s.error;
}

/* G = diag(d) H diag(g), where H has the values from. */
__global__ void scale_ghosts(ghosts G, const double *from, double *to, const double *d, const double *g)
{
  karst_index k;
  int r;
  if (!karst_cuda_row(G.b, G.rows, &k, &r)) return;
  const double scale = d[(int64_t)G.row[k] * G.b + r];
  for (karst_index e = G.start[k]; e < G.start[k + 1]; e++)
    for (int c = 0; c < G.b; c++) {
      const int64_t at = karst_cuda_offset(G.b, e) + (int64_t)c * G.b + r;
      to[at] = from[at] * (scale * g[(int64_t)G.column[e] * G.b + c]);
    }
}

/* G_i = S_i H_i */
__global__ void scale_ghost_rows(ghosts G, const double *from, double *to, const double *S)
{
  karst_index k;
  int r;
  if (!karst_cuda_row(G.b, G.rows, &k, &r)) return;
  const double *scale = S + karst_cuda_offset(G.b, G.row[k]);
  for (karst_index e = G.start[k]; e < G.start[k + 1]; e++)
    for (int c = 0; c < G.b; c++) {
      const int64_t column = karst_cuda_offset(G.b, e) + (int64_t)c * G.b;
      double sum = 0;
      for (int s = 0; s < G.b; s++) sum += scale[s * G.b + r] * from[column + s];
      to[column + r] = sum;
    }
}

void add(karst_context *context, const karst_halo *halo, double sign, const double *g, double *y, double *size)
{
  const int b = halo->block_size;
  if (halo->rows > 0)
    karst_cuda_launch(karst_cuda_of(context), add_ghosts, karst_cuda_row_grid(halo->rows, b), karst_cuda_row_threads(b),
                      ghosts_of(halo), sign, g, y, size);
}

void residual_precise(karst_context *context, const karst_matrix *A, const double *b, const double *x, const double *g,
                      double *r)
{
  const karst_halo *halo = A->halo;
  if (halo->rows > 0)
    residual_rows<<<karst_cuda_row_grid(halo->rows, A->block_size), karst_cuda_row_threads(A->block_size), 0,
                    karst_cuda_of(context)->stream>>>(ghosts_of(halo), A->device_row_start, A->device_column, A->value,
                                                      b, x, g, r);
}

void scale_symmetric(karst_context *context, const karst_halo *halo, const double *d, const double *g)
{
  if (halo->rows > 0)
    scale_ghosts<<<karst_cuda_row_grid(halo->rows, halo->block_size), karst_cuda_row_threads(halo->block_size), 0,
                   karst_cuda_of(context)->stream>>>(ghosts_of(halo), halo->origin->value, halo->value, d, g);
}

void scale_rows(karst_context *context, const karst_halo *halo, const double *S)
{
  if (halo->rows > 0)
    scale_ghost_rows<<<karst_cuda_row_grid(halo->rows, halo->block_size), karst_cuda_row_threads(halo->block_size), 0,
                       karst_cuda_of(context)->stream>>>(ghosts_of(halo), halo->origin->value, halo->value, S);
}

karst_status pin(karst_context *context, size_t bytes, const char *what, void **memory)
{
  return karst_cuda_status(context, cudaMallocHost(memory, bytes > 0 ? bytes : 1), what);
}

void unpin(karst_context *, void *memory) { cudaFreeHost(memory); }

bool prepare(karst_context *context)
{
  const karst_transport *transport = &context->ranks->transport;
  return !transport->queue_prepare || transport->queue_prepare(transport->user) == 1;
}

__global__ void add_parts(int ranks, int count, const double *parts, double *result)
{
  const int i = (int)(blockIdx.x * blockDim.x + threadIdx.x);
  double sum = 0;
  if (i >= count) return;
  for (int r = 0; r < ranks; r++) sum += parts[(int64_t)r * count + i];
  result[i] = sum;
}

karst_status reduce(karst_context *context, int count, double *scalars, double *parts)
{
  const karst_cuda *cuda = karst_cuda_of(context);
  const karst_transport *transport = &context->ranks->transport;
  const karst_status status =
      transport->queue_gather(transport->user, scalars, (size_t)count * sizeof *scalars, parts, cuda->stream);
  if (!status)
    add_parts<<<karst_cuda_grid(count, KARST_CUDA_THREADS), KARST_CUDA_THREADS, 0, cuda->stream>>>(
        transport->ranks, count, parts, scalars);
  return status;
}

karst_status gather(karst_context *context, size_t bytes, const void *own, void *all)
{
  const karst_transport *transport = &context->ranks->transport;
  return transport->queue_gather(transport->user, own, bytes, all, karst_cuda_of(context)->stream);
}

karst_status exchange(karst_context *context, int count, const karst_transfer *transfers)
{
  const karst_transport *transport = &context->ranks->transport;
  return transport->queue_exchange(transport->user, count, transfers, karst_cuda_of(context)->stream);
}

} // namespace

extern "C" {
extern const struct karst_halo_kernels karst_halo_kernels_cuda;
const struct karst_halo_kernels karst_halo_kernels_cuda = {
    .add = karst_cuda_entry<add>::call,
    .residual_precise = karst_cuda_entry<residual_precise>::call,
    .scale_symmetric = karst_cuda_entry<scale_symmetric>::call,
    .scale_rows = karst_cuda_entry<scale_rows>::call,
    .pin = karst_cuda_entry<pin>::call,
    .unpin = karst_cuda_entry<unpin>::call,
    .prepare = karst_cuda_entry<prepare>::call,
    .reduce = karst_cuda_entry<reduce>::call,
    .gather = karst_cuda_entry<gather>::call,
    .exchange = karst_cuda_entry<exchange>::call,
};
}
