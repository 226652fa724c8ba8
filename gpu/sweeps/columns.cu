/* columns.cu - the strictly upper blocks of a pattern by columns, where parilu searches for products: the blocks sorted
 * by column. The sort is stable, and so leaves the rows of a column ascending. */
#include "lib/base/search.h"
#include "gpu/sweeps/sweeps_cuda.h"

#include <cub/device/device_radix_sort.cuh>

namespace
{

const char *const what = "the columns of the sweeps";

/* Two arrays between which a sort alternates. */
struct two_arrays {
  karst_index *of[2];
};

/* key: [blocks] the column of each block that is strictly upper, rows of the others. */
__global__ void number_blocks(int64_t blocks, karst_index rows, const karst_index *row, const karst_index *column,
                              karst_index *key, karst_index *block)
{
  const int64_t k = blockIdx.x * (int64_t)blockDim.x + threadIdx.x;
  if (k >= blocks) return;
  key[k] = column[k] > row[k] ? column[k] : rows;
  block[k] = (karst_index)k;
}

__global__ void find_starts(karst_index blocks, karst_index rows, const karst_index *key, karst_index *start)
{
  const int64_t j = blockIdx.x * (int64_t)blockDim.x + threadIdx.x;
  if (j <= rows) start[j] = karst_lower_bound(key, 0, blocks, (karst_index)j);
}

__global__ void fill_columns(int64_t count, const karst_index *row_of_block, const karst_index *sorted,
                             karst_index *row, karst_index *block)
{
  const int64_t n = blockIdx.x * (int64_t)blockDim.x + threadIdx.x;
  if (n >= count) return;
  block[n] = sorted[n];
  row[n] = row_of_block[sorted[n]];
}

/* Sorts by keys from 0 to most. */
karst_status sort(karst_context *context, karst_index count, karst_index most, two_arrays *key, two_arrays *block)
{
  cudaStream_t stream = karst_cuda_of(context)->stream;
  cub::DoubleBuffer<karst_index> keys(key->of[0], key->of[1]), values(block->of[0], block->of[1]);
  size_t bytes = 0;
  void *work;
  int bits = 1;
  while (most >> bits > 0) bits++;
  cub::DeviceRadixSort::SortPairs(NULL, bytes, keys, values, count, 0, bits, stream);
  karst_status status = context->backend->allocate(context, bytes + 1, what, &work);
  if (status) return status;
  cudaError_t error = cub::DeviceRadixSort::SortPairs(work, bytes, keys, values, count, 0, bits, stream);
  context->backend->release(context, work);
  *key = {{keys.Current(), keys.Alternate()}};
  *block = {{values.Current(), values.Alternate()}};
  return karst_cuda_status(context, error, what);
}

karst_status make(karst_context *context, const karst_matrix *F, const karst_index *row, two_arrays *key,
                  two_arrays *block, karst_parilu_columns_cuda *columns, int64_t *bytes)
{
  enum { THREADS = KARST_CUDA_THREADS };
  cudaStream_t stream = karst_cuda_of(context)->stream;
  const karst_index rows = F->block_rows, blocks = F->row_start[rows];
  karst_index count;
  number_blocks<<<karst_cuda_grid(blocks, THREADS), THREADS, 0, stream>>>(blocks, rows, row, F->device_column,
                                                                          key->of[0], block->of[0]);
  karst_status status = sort(context, blocks, rows, key, block);
  if (status) return status;
  find_starts<<<karst_cuda_grid((int64_t)rows + 1, THREADS), THREADS, 0, stream>>>(blocks, rows, key->of[0],
                                                                                   columns->start);
  status = context->backend->download(context, &count, columns->start + rows, sizeof count);
  if (!status) status = karst_cuda_take(context, count, what, &columns->row, bytes);
  if (!status) status = karst_cuda_take(context, count, what, &columns->block, bytes);
  if (status || count == 0) return status;
  fill_columns<<<karst_cuda_grid(count, THREADS), THREADS, 0, stream>>>(count, row, block->of[0], columns->row,
                                                                        columns->block);
  return KARST_SUCCESS;
}

} // namespace

karst_status karst_parilu_make_columns_cuda(karst_context *context, const karst_matrix *F, const karst_index *row,
                                            karst_parilu_columns_cuda *columns, int64_t *bytes)
{
  const karst_index blocks = F->row_start[F->block_rows];
  two_arrays key = {{NULL, NULL}}, block = {{NULL, NULL}};
  karst_status status = karst_cuda_take(context, (int64_t)F->block_rows + 1, what, &columns->start, bytes);
  for (int n = 0; n < 2 && !status; n++) {
    status = karst_cuda_take(context, blocks, what, &key.of[n], NULL);
    if (!status) status = karst_cuda_take(context, blocks, what, &block.of[n], NULL);
  }
  if (!status) status = make(context, F, row, &key, &block, columns, bytes);
  karst_cuda_release(context, key.of[0], block.of[0], key.of[1], block.of[1]);
  return status;
}

void karst_parilu_release_columns_cuda(karst_context *context, karst_parilu_columns_cuda *columns)
{
  karst_cuda_release(context, columns->start, columns->row, columns->block);
  *columns = {NULL, NULL, NULL};
}
