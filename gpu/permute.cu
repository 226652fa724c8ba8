/* permute.cu - permutes a matrix's pattern in device memory: P A P^T, and the source of each of its blocks in A.
 *
 * A thread takes a row and sorts it by insertion. Rows that are too long for that are gathered into one list and sorted
 * as its segments. */
#include "gpu/ilu/ilu_cuda.h"

#include <cub/device/device_segmented_sort.cuh>

namespace
{

enum { THREADS = 256, SHORT = 32 /* blocks of the longest row that is sorted by insertion */ };

const char *const what = "a permuted pattern";

/* The pattern of A, and the permuted one under way; device memory. */
struct patterns {
  karst_index rows;
  const karst_index *from_start, *from_column, *permutation;
  karst_index *inverse; /* [rows] */
  karst_index *start, *column, *source;
};

/* The number of invalid entries of the permutation, and the long rows with all of their blocks. */
struct tally {
  unsigned long long faults, rows, blocks;
};

/* The long rows, in any order, and their blocks one row after another; device memory. */
struct long_rows {
  int64_t count, blocks;
  karst_index *memory;
  karst_index *row, *begin, *end; /* [count] of memory: the blocks of row number k are begin[k] .. end[k] - 1 */
  karst_index *column, *source;   /* [blocks] of memory, as A has them */
  karst_index *sorted, *permuted; /* [blocks] of memory: both sorted by the columns */
};

__global__ void invert(patterns p)
{
  const int64_t i = blockIdx.x * (int64_t)blockDim.x + threadIdx.x;
  if (i >= p.rows) return;
  const karst_index from = p.permutation[i];
  if (from >= 0 && from < p.rows) p.inverse[from] = (karst_index)i;
}

/* start[i]: the blocks of row i, and 0 behind the last. Entries in range are all different if each finds itself in the
 * inverse. */
__global__ void measure(patterns p, tally *found)
{
  const int64_t i = blockIdx.x * (int64_t)blockDim.x + threadIdx.x;
  if (i > p.rows) return;
  p.start[i] = 0;
  if (i == p.rows) return;
  const karst_index from = p.permutation[i];
  if (from < 0 || from >= p.rows || p.inverse[from] != i) {
    atomicAdd(&found->faults, 1ull);
    return;
  }
  const karst_index length = p.from_start[from + 1] - p.from_start[from];
  p.start[i] = length;
  if (length <= SHORT) return;
  atomicAdd(&found->rows, 1ull);
  atomicAdd(&found->blocks, (unsigned long long)length);
}

__global__ void fill_short(patterns p)
{
  const int64_t i = blockIdx.x * (int64_t)blockDim.x + threadIdx.x;
  if (i >= p.rows) return;
  const karst_index first = p.from_start[p.permutation[i]], begin = p.start[i], length = p.start[i + 1] - begin;
  if (length > SHORT) return;
  for (karst_index e = 0; e < length; e++) {
    const karst_index column = p.inverse[p.from_column[first + e]];
    karst_index at = begin + e;
    for (; at > begin && p.column[at - 1] > column; at--) {
      p.column[at] = p.column[at - 1];
      p.source[at] = p.source[at - 1];
    }
    p.column[at] = column;
    p.source[at] = first + e;
  }
}

/* found: 0 at first. */
__global__ void list_long(patterns p, tally *found, long_rows list)
{
  const int64_t i = blockIdx.x * (int64_t)blockDim.x + threadIdx.x;
  if (i >= p.rows || p.start[i + 1] - p.start[i] <= SHORT) return;
  const karst_index length = p.start[i + 1] - p.start[i];
  const int64_t k = (int64_t)atomicAdd(&found->rows, 1ull);
  const karst_index begin = (karst_index)atomicAdd(&found->blocks, (unsigned long long)length);
  list.row[k] = (karst_index)i;
  list.begin[k] = begin;
  list.end[k] = begin + length;
}

/* A thread block a row. */
__global__ void gather_long(patterns p, long_rows list)
{
  const karst_index first = p.from_start[p.permutation[list.row[blockIdx.x]]];
  const karst_index begin = list.begin[blockIdx.x], length = list.end[blockIdx.x] - begin;
  for (int64_t e = threadIdx.x; e < length; e += blockDim.x) {
    list.column[begin + e] = p.inverse[p.from_column[first + e]];
    list.source[begin + e] = (karst_index)(first + e);
  }
}

__global__ void scatter_long(patterns p, long_rows list)
{
  const karst_index to = p.start[list.row[blockIdx.x]];
  const karst_index begin = list.begin[blockIdx.x], length = list.end[blockIdx.x] - begin;
  for (int64_t e = threadIdx.x; e < length; e += blockDim.x) {
    p.column[to + e] = list.sorted[begin + e];
    p.source[to + e] = list.permuted[begin + e];
  }
}

karst_status sort_long(karst_context *context, const long_rows *list)
{
  cudaStream_t stream = karst_cuda_of(context)->stream;
  size_t bytes = 0;
  void *work;
  cudaError_t error =
      cub::DeviceSegmentedSort::SortPairs(NULL, bytes, list->column, list->sorted, list->source, list->permuted,
                                          list->blocks, list->count, list->begin, list->end, stream);
  karst_status status = karst_cuda_status(context, error, what);
  if (!status) status = karst_cuda_work_take(context, bytes + 1, what, &work);
  if (status) return status;
  error = cub::DeviceSegmentedSort::SortPairs(work, bytes, list->column, list->sorted, list->source, list->permuted,
                                              list->blocks, list->count, list->begin, list->end, stream);
  karst_cuda_work_release(context, work);
  return karst_cuda_status(context, error, what);
}

karst_status fill_long(karst_context *context, const patterns &p, tally *found, long_rows *list)
{
  cudaStream_t stream = karst_cuda_of(context)->stream;
  karst_status status = karst_cuda_take_work(context, 3 * list->count + 4 * list->blocks, what, &list->memory);
  if (status) return status;
  list->row = list->memory;
  list->begin = list->row + list->count;
  list->end = list->begin + list->count;
  list->column = list->end + list->count;
  list->source = list->column + list->blocks;
  list->sorted = list->source + list->blocks;
  list->permuted = list->sorted + list->blocks;
  cudaMemsetAsync(found, 0, sizeof *found, stream);
  list_long<<<karst_cuda_grid(p.rows, THREADS), THREADS, 0, stream>>>(p, found, *list);
  gather_long<<<(unsigned)list->count, THREADS, 0, stream>>>(p, *list);
  status = sort_long(context, list);
  if (!status) scatter_long<<<(unsigned)list->count, THREADS, 0, stream>>>(p, *list);
  karst_cuda_work_release(context, list->memory);
  return status;
}

/* found: work space for one tally. */
karst_status permute(karst_context *context, const patterns &p, tally *found)
{
  cudaStream_t stream = karst_cuda_of(context)->stream;
  const unsigned grid = karst_cuda_grid((int64_t)p.rows + 1, THREADS);
  tally all;
  long_rows list = {};
  cudaMemsetAsync(found, 0, sizeof *found, stream);
  invert<<<grid, THREADS, 0, stream>>>(p);
  measure<<<grid, THREADS, 0, stream>>>(p, found);
  karst_status status = karst_ilu_sum_indices_cuda(context, (int64_t)p.rows + 1, p.start);
  if (!status) status = context->backend->download(context, &all, found, sizeof all);
  if (!status && all.faults > 0)
    status = karst_fail(context, KARST_ERROR_ARGUMENT, "not a permutation: %llu entries are repeated or out of range",
                        all.faults);
  if (status) return status;
  fill_short<<<grid, THREADS, 0, stream>>>(p);
  list.count = (int64_t)all.rows;
  list.blocks = (int64_t)all.blocks;
  return list.count > 0 ? fill_long(context, p, found, &list) : KARST_SUCCESS;
}

} // namespace

karst_status karst_permute_cuda(karst_context *context, const karst_matrix *A, const karst_index *permutation,
                                karst_permuted *permuted)
{
  const int64_t rows = A->block_rows, blocks = karst_matrix_blocks(A);
  karst_index *inverse = NULL;
  tally *found = NULL;
  karst_status status = karst_cuda_take_work(context, rows, what, &inverse);
  if (!status) status = karst_cuda_take_work(context, 1, what, &found);
  if (!status) status = karst_cuda_take(context, rows + 1, what, &permuted->device_row_start, NULL);
  if (!status) status = karst_cuda_take(context, blocks, what, &permuted->device_column, NULL);
  if (!status) status = karst_cuda_take(context, blocks, what, &permuted->device_source, NULL);
  const patterns p = {A->block_rows, A->device_row_start,        A->device_column,        permutation,
                      inverse,       permuted->device_row_start, permuted->device_column, permuted->device_source};
  if (!status) status = permute(context, p, found);
  karst_cuda_work_release(context, inverse, found);
  karst_cuda_work_end(context);
  return status;
}
