/* tiles.cu - see fgbilu_tiles.h: cuts the grid into tiles, and allocates the mail of sweeps. */
#include "gpu/fgbilu/fgbilu_tiles.h"

#include <algorithm>

namespace
{

enum { THREADS = 256, LINE_LEAST = 8 };

__global__ void record_cells(karst_index cells, const karst_index *row, const uint64_t *place,
                             const karst_index *row_start, karst_fgbilu_cell *record)
{
  const int64_t i = blockIdx.x * (int64_t)blockDim.x + threadIdx.x;
  if (i >= cells) return;
  const karst_index r = row ? row[i] : (karst_index)i;
  record[i].start = r < 0 ? 0 : row_start[r];
  record[i].row = r;
  record[i].place = place[i];
}

/* Lines go along x, whose rows are adjacent in memory, unless there are only a few cells along it and more along
 * another axis. An axis of one cell comes last. */
void choose_axes(const karst_index size[3], int axis[3])
{
  axis[0] = 0;
  for (int i = 1; i < 3; i++)
    if (size[0] < LINE_LEAST && size[i] > size[axis[0]]) axis[0] = i;
  axis[1] = axis[0] == 0 ? 1 : 0;
  axis[2] = axis[0] == 2 ? 1 : 2;
  if (size[axis[1]] < size[axis[2]] && size[axis[1]] == 1) std::swap(axis[1], axis[2]);
}

karst_status order_tiles(karst_context *context, karst_fgbilu_tiles *tiles, int64_t *bytes)
{
  const char *what = "the tiles of fgbilu";
  const int64_t count = (int64_t)tiles->tiles[0] * tiles->tiles[1];
  karst_fgbilu_tile *order;
  karst_status status = karst_cuda_take(context, count, what, &tiles->order, bytes);
  if (!status) status = karst_allocate(context, &order, (size_t)count, sizeof *order, what);
  if (status) return status;
  int64_t k = 0;
  for (karst_index diagonal = 0; diagonal <= tiles->tiles[0] + tiles->tiles[1] - 2; diagonal++)
    for (karst_index b = std::max<karst_index>(0, diagonal - tiles->tiles[0] + 1);
         b <= std::min<karst_index>(diagonal, tiles->tiles[1] - 1); b++)
      order[k++] = {diagonal - b, b};
  status = context->backend->upload(context, tiles->order, order, (size_t)count * sizeof *order);
  karst_release(context, order);
  return status;
}

} // namespace

cudaError_t karst_fgbilu_allow_shared_cuda(karst_context *context, const void *kernel, size_t largest)
{
  cudaFuncAttributes own;
  int most = 0;
  cudaError_t error = cudaFuncGetAttributes(&own, kernel);
  if (!error)
    error = cudaDeviceGetAttribute(&most, cudaDevAttrMaxSharedMemoryPerBlockOptin, karst_cuda_of(context)->device);
  if (error) return error;
  const int bytes = std::min((int)largest, most - (int)own.sharedSizeBytes);
  return cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, bytes);
}

karst_status karst_fgbilu_cut_tiles_cuda(karst_context *context, const karst_matrix *A, karst_fgbilu_analysis *analysis)
{
  karst_fgbilu_cuda *plan = karst_fgbilu_cuda_of(analysis);
  const karst_index *size = analysis->cells.size, cells = karst_grid_cells(size);
  karst_fgbilu_tiles *tiles;
  karst_status status = karst_allocate_zero(context, &tiles, 1, sizeof *tiles, "the tiles of fgbilu");
  if (status) return status;
  plan->state = tiles;
  choose_axes(size, tiles->axis);
  tiles->length = size[tiles->axis[0]];
  for (int i = 0; i < 2; i++) tiles->across[i] = size[tiles->axis[i + 1]];
  tiles->flat = tiles->across[1] == 1;
  const karst_fgbilu_shape shape = karst_fgbilu_shape_for(A->block_size, tiles->flat);
  tiles->tiles[0] = (tiles->across[0] + shape.a - 1) / shape.a;
  tiles->tiles[1] = (tiles->across[1] + shape.b - 1) / shape.b;
  status = karst_cuda_take(context, cells, "the cells of fgbilu", &tiles->cell, &analysis->plan_memory);
  if (!status) status = order_tiles(context, tiles, &analysis->plan_memory);
  if (status || cells == 0) return status;
  record_cells<<<karst_cuda_grid(cells, THREADS), THREADS, 0, karst_cuda_of(context)->stream>>>(
      cells, plan->row, plan->place, A->device_row_start, tiles->cell);
  return KARST_SUCCESS;
}

void karst_fgbilu_forget_tiles_cuda(karst_context *context, karst_fgbilu_cuda *plan)
{
  karst_fgbilu_tiles *tiles = static_cast<karst_fgbilu_tiles *>(plan->state);
  if (!tiles) return;
  karst_cuda_release(context, tiles->cell, tiles->order);
  karst_release(context, tiles);
}

karst_status karst_fgbilu_take_mail_cuda(karst_context *context, karst_fgbilu *fgbilu, int64_t places, void **mail)
{
  const karst_fgbilu_tiles *tiles = karst_fgbilu_tiles_of(fgbilu);
  const karst_fgbilu_shape shape = karst_fgbilu_shape_for(fgbilu->analysis->block_size, tiles->flat);
  const int64_t steps = (int64_t)tiles->length + shape.a + shape.b - 2;
  const int64_t values = places * steps * tiles->tiles[0] * tiles->tiles[1];
  const cudaStream_t stream = karst_cuda_of(context)->stream;
  karst_fgbilu_mail *own;
  karst_status status = karst_allocate_zero(context, &own, 1, sizeof *own, "fgbilu");
  if (status) return status;
  *mail = own;
  status = karst_cuda_take(context, 1, "fgbilu", &own->ticket, &fgbilu->plan_memory);
  if (status) return status;
  cudaMemsetAsync(own->ticket, 0, sizeof *own->ticket, stream);
  if (places == 0) return KARST_SUCCESS;
  status = karst_cuda_take(context, values, "the mail of fgbilu", &own->inbox, &fgbilu->plan_memory);
  if (!status) cudaMemsetAsync(own->inbox, 0xff, (size_t)values * sizeof *own->inbox, stream);
  return status;
}

void karst_fgbilu_release_mail_cuda(karst_context *context, void *mail)
{
  karst_fgbilu_mail *own = static_cast<karst_fgbilu_mail *>(mail);
  if (!own) return;
  karst_cuda_release(context, own->inbox, own->ticket);
  karst_release(context, own);
}

karst_fgbilu_march karst_fgbilu_march_cuda(const karst_matrix *A, const karst_fgbilu *fgbilu, const void *mail,
                                           bool upward)
{
  const karst_fgbilu_tiles *tiles = karst_fgbilu_tiles_of(fgbilu);
  const karst_fgbilu_mail *own = static_cast<const karst_fgbilu_mail *>(mail);
  const karst_index *size = fgbilu->analysis->cells.size;
  const int64_t stride[3] = {1, size[0], (int64_t)size[0] * size[1]}, sign = upward ? -1 : 1;
  karst_fgbilu_march m = {};
  m.n = A->block_size;
  m.length = tiles->length;
  m.first = upward ? (int64_t)karst_grid_cells(size) - 1 : 0;
  m.step = sign * stride[tiles->axis[0]];
  for (int i = 0; i < 2; i++) {
    m.across[i] = tiles->across[i];
    m.tiles[i] = tiles->tiles[i];
    m.beside[i] = sign * stride[tiles->axis[i + 1]];
  }
  /* Faces 0, 1, 2 look down along z, y, x, and 3, 4, 5 up along x, y, z. */
  for (int i = 0; i < 3; i++) m.face[i] = upward ? 3 + tiles->axis[i] : 2 - tiles->axis[i];
  m.cell = tiles->cell;
  m.order = tiles->order;
  m.value = A->value;
  m.factor = fgbilu->factor;
  m.inbox = own->inbox;
  m.ticket = own->ticket;
  m.first_fault = karst_fgbilu_work_of(fgbilu)->first_fault;
  return m;
}
