/* transpose.cu - R = P^T. A stable radix sort of the columns of P keeps the rows in order. */
#include "gpu/amg/group.h"
#include "lib/base/search.h"

#include <cub/device/device_radix_sort.cuh>

namespace
{

enum { THREADS = 256 };

const char *const what = "a transposed matrix";

/* Device memory; [entries] each. */
struct lists {
  karst_index *row;             /* of each entry of P */
  karst_index *number, *sorted; /* of the entries of P */
  karst_index *key;             /* the columns, sorted */
};

__global__ void list_entries(karst_index rows, const karst_index *start, lists t)
{
  const int64_t i = blockIdx.x * (int64_t)THREADS + threadIdx.x;
  if (i >= rows) return;
  for (karst_index e = start[i]; e < start[i + 1]; e++) {
    t.row[e] = (karst_index)i;
    t.number[e] = e;
  }
}

/* start[j]: the first entry of column j or a later one. */
__global__ void find_starts(karst_index rows, int64_t entries, const karst_index *__restrict__ key, karst_index *start)
{
  const int64_t j = blockIdx.x * (int64_t)THREADS + threadIdx.x;
  if (j <= rows) start[j] = karst_lower_bound(key, 0, (karst_index)entries, (karst_index)j);
}

__global__ void find_longest(karst_index rows, const karst_index *__restrict__ start, unsigned long long *longest)
{
  const int64_t i = blockIdx.x * (int64_t)THREADS + threadIdx.x;
  const karst_index mine = i < rows ? start[i + 1] - start[i] : 0;
  const karst_index most = karst_amg_group<THREADS>::largest(mine);
  if (threadIdx.x == 0) atomicMax(longest, (unsigned long long)most);
}

template <typename T>
__global__ void move_entries(int64_t entries, lists t, const T *__restrict__ value, karst_index *column, T *moved)
{
  const int64_t e = blockIdx.x * (int64_t)THREADS + threadIdx.x;
  if (e >= entries) return;
  column[e] = t.row[t.sorted[e]];
  moved[e] = value[t.sorted[e]];
}

karst_status sort(karst_context *context, const karst_amg_matrix *P, const lists &t)
{
  cudaStream_t stream = karst_cuda_of(context)->stream;
  size_t bytes = 0;
  void *work;
  int bits = 1;
  while (bits < KARST_INDEX_BITS - 1 && (int64_t)P->columns >> bits > 0) bits++;
  cub::DeviceRadixSort::SortPairs(NULL, bytes, P->column, t.key, t.number, t.sorted, P->entries, 0, bits, stream);
  const karst_status status = karst_cuda_work_take(context, bytes + 1, what, &work);
  if (status) return status;
  const cudaError_t error =
      cub::DeviceRadixSort::SortPairs(work, bytes, P->column, t.key, t.number, t.sorted, P->entries, 0, bits, stream);
  karst_cuda_work_release(context, work);
  return karst_cuda_status(context, error, what);
}

} // namespace

karst_status karst_amg_longest_row_cuda(karst_context *context, karst_index rows, const karst_index *start,
                                        karst_index *longest)
{
  unsigned long long found;
  const karst_status status = karst_cuda_compute(context, 1, what, &found, [&](unsigned long long *memory) {
    find_longest<<<karst_cuda_grid(rows, THREADS), THREADS, 0, karst_cuda_of(context)->stream>>>(rows, start, memory);
  });
  if (!status) *longest = (karst_index)found;
  return status;
}

karst_status karst_amg_transpose_cuda(karst_context *context, const karst_amg *amg, const karst_amg_matrix *P,
                                      karst_amg_matrix *R)
{
  const int64_t entries = P->entries;
  cudaStream_t stream = karst_cuda_of(context)->stream;
  lists t = {};
  R->rows = P->columns;
  R->columns = P->rows;
  R->entries = entries;
  karst_status status = karst_amg_take_cuda(context, amg, (int64_t)R->rows + 1, what, &R->row_start);
  if (!status) status = karst_amg_take_entries_cuda(context, amg, what, R);
  if (!status) status = karst_cuda_take_work(context, 4 * entries, what, &t.row);
  if (status) return status;
  t.number = t.row + entries;
  t.sorted = t.number + entries;
  t.key = t.sorted + entries;
  list_entries<<<karst_cuda_grid(P->rows, THREADS), THREADS, 0, stream>>>(P->rows, P->row_start, t);
  if (entries > 0) status = sort(context, P, t);
  if (!status) {
    find_starts<<<karst_cuda_grid((int64_t)R->rows + 1, THREADS), THREADS, 0, stream>>>(R->rows, entries, t.key,
                                                                                        R->row_start);
    karst_amg_typed(amg, [&](auto zero) {
      using T = decltype(zero);
      move_entries<<<karst_cuda_grid(entries, THREADS), THREADS, 0, stream>>>(
          entries, t, static_cast<const T *>(P->value), R->column, static_cast<T *>(R->value));
    });
    status = karst_amg_longest_row_cuda(context, R->rows, R->row_start, &R->longest);
  }
  karst_cuda_work_release(context, t.row);
  return status;
}
