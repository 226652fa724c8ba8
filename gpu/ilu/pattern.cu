/* pattern.cu - the patterns of L and U in device memory, and their level sets (Anderson and Saad 1989,
 * symbolic/ilu/levels.c), made there.
 *
 * The pattern of level 0 is that of A, which is in device memory already; fill comes from the host. A row's level is
 * one more than the highest among the rows that it depends on. As many rows as there are lanes are worked on at once,
 * in the order of elimination, and wait for each other's levels. This takes about as long as a triangular solve. */
#include "gpu/ilu/ilu_cuda.h"

#include <cub/device/device_radix_sort.cuh>
#include <cub/device/device_scan.cuh>

namespace
{

enum { THREADS = 256 };

const char *const what = "the plan of block ILU";

/* Counts the entries of each row of A in the strict triangles; [rows + 1] each, the last one 0. */
__global__ void count_triangles(karst_index rows, const karst_index *start, const karst_index *column,
                                karst_index *lower, karst_index *upper)
{
  const int64_t i = blockIdx.x * (int64_t)blockDim.x + threadIdx.x;
  if (i > rows) return;
  lower[i] = upper[i] = 0;
  if (i == rows) return;
  const karst_index begin = start[i], end = start[i + 1];
  karst_index diagonal = begin; /* where it is or would be */
  while (diagonal < end && column[diagonal] < i) diagonal++;
  lower[i] = diagonal - begin;
  upper[i] = end - diagonal - (diagonal < end && column[diagonal] == i);
}

__global__ void copy_triangles(karst_index rows, const karst_index *start, const karst_index *column,
                               karst_ilu_pattern_cuda factor)
{
  const int64_t i = blockIdx.x * (int64_t)blockDim.x + threadIdx.x;
  if (i >= rows) return;
  const karst_index lower = factor.lower_start[i + 1] - factor.lower_start[i];
  const karst_index upper = factor.upper_start[i + 1] - factor.upper_start[i];
  for (karst_index k = 0; k < lower; k++) factor.lower_column[factor.lower_start[i] + k] = column[start[i] + k];
  for (karst_index k = 0; k < upper; k++)
    factor.upper_column[factor.upper_start[i] + k] = column[start[i + 1] - upper + k];
}

template <typename T> karst_status sum(karst_context *context, int64_t count, T *list)
{
  cudaStream_t stream = karst_cuda_of(context)->stream;
  size_t bytes = 0;
  void *work;
  cub::DeviceScan::ExclusiveSum(NULL, bytes, list, list, count, stream);
  const karst_status status = karst_cuda_work_take(context, bytes + 1, what, &work);
  if (status) return status;
  const cudaError_t error = cub::DeviceScan::ExclusiveSum(work, bytes, list, list, count, stream);
  karst_cuda_work_release(context, work);
  return karst_cuda_status(context, error, what);
}

/* The two triangles of A. */
karst_status split(karst_context *context, const karst_matrix *A, karst_ilu_analysis *analysis,
                   karst_ilu_pattern_cuda *pattern)
{
  const struct karst_backend *backend = context->backend;
  cudaStream_t stream = karst_cuda_of(context)->stream;
  const karst_index rows = analysis->rows;
  karst_index blocks[2];
  karst_status status = karst_cuda_take(context, (int64_t)rows + 1, what, &pattern->lower_start, NULL);
  if (!status) status = karst_cuda_take(context, (int64_t)rows + 1, what, &pattern->upper_start, NULL);
  if (status) return status;
  count_triangles<<<karst_cuda_grid((int64_t)rows + 1, THREADS), THREADS, 0, stream>>>(
      rows, A->device_row_start, A->device_column, pattern->lower_start, pattern->upper_start);
  status = sum(context, (int64_t)rows + 1, pattern->lower_start);
  if (!status) status = sum(context, (int64_t)rows + 1, pattern->upper_start);
  if (!status) status = backend->download(context, &blocks[0], pattern->lower_start + rows, sizeof blocks[0]);
  if (!status) status = backend->download(context, &blocks[1], pattern->upper_start + rows, sizeof blocks[1]);
  if (!status) status = karst_cuda_take(context, blocks[0], what, &pattern->lower_column, NULL);
  if (!status) status = karst_cuda_take(context, blocks[1], what, &pattern->upper_column, NULL);
  if (status) return status;
  analysis->lower_blocks = blocks[0];
  analysis->upper_blocks = blocks[1];
  copy_triangles<<<karst_cuda_grid(rows, THREADS), THREADS, 0, stream>>>(rows, A->device_row_start, A->device_column,
                                                                         *pattern);
  return KARST_SUCCESS;
}

karst_status upload(karst_context *context, const karst_ilu_analysis *analysis, karst_ilu_pattern_cuda *pattern)
{
  const int64_t rows = analysis->rows;
  karst_status status = karst_device_indices(context, rows + 1, analysis->lower_start, what, &pattern->lower_start);
  if (!status) status = karst_device_indices(context, rows + 1, analysis->upper_start, what, &pattern->upper_start);
  if (!status)
    status =
        karst_device_indices(context, analysis->lower_blocks, analysis->lower_column, what, &pattern->lower_column);
  if (!status)
    status =
        karst_device_indices(context, analysis->upper_blocks, analysis->upper_column, what, &pattern->upper_column);
  return status;
}

/* The state of a lane that searches for the level of its row. */
struct search {
  karst_index row, begin, end; /* begin .. end - 1: the neighbours not yet looked at, the nearest one last */
  karst_index next;            /* the first of these, by its place in the order of elimination */
  karst_index level, found;    /* so far; the level once it is known, -1 before */
};

/* Level -1: not known yet. lower: rows are eliminated ascending, their neighbours are smaller. */
struct level_search {
  karst_index rows;
  const karst_index *start, *column;
  bool lower;
  karst_index *level; /* [rows] */
};

__device__ __forceinline__ karst_index mirrored(const level_search &t, karst_index i)
{
  return t.lower ? i : t.rows - 1 - i;
}

/* Goes on to the next neighbour. After the last one the level is known. */
__device__ __forceinline__ void go_on(const level_search &t, search &s)
{
  if (s.begin < s.end) {
    s.next = mirrored(t, t.column[t.lower ? s.begin : s.end - 1]);
    return;
  }
  s.found = s.level;
  *(volatile karst_index *)&t.level[s.row] = s.found;
}

__device__ __forceinline__ void use_neighbour(const level_search &t, karst_index level, search &s)
{
  s.level = max(s.level, level + 1);
  if (t.lower)
    s.begin++;
  else
    s.end--;
  go_on(t, s);
}

/* The counts of the search, of both triangles; 0 at first. */
struct search_counts {
  unsigned long long highest[2]; /* of all levels */
  unsigned long long taken[2];   /* groups of 32 rows */
};

__device__ int64_t take_number(unsigned long long *taken)
{
  unsigned long long number = 0;
  if (threadIdx.x % 32 == 0) number = atomicAdd(taken, 1ull);
  return (int64_t)__shfl_sync(~0u, number, 0);
}

/* Searches both triangles at once, each with every other thread block. Warps take 32 consecutive rows at a time in the
 * order of elimination, so that the first row whose level is not known always belongs to a running warp. */
__global__ void __launch_bounds__(KARST_ILU_THREADS)
    find_levels(level_search lower, level_search upper, search_counts *counts)
{
  const int lane = (int)threadIdx.x % 32;
  const bool is_upper = blockIdx.x % 2 == 1;
  const level_search t = is_upper ? upper : lower;
  long long most = 0;
  for (int64_t group = take_number(&counts->taken[is_upper]); group * 32 < t.rows;
       group = take_number(&counts->taken[is_upper])) {
    const bool active = group * 32 + lane < t.rows;
    search s = {0, 0, 0, 0, 0, -1};
    if (active) {
      s.row = mirrored(t, (karst_index)(group * 32 + lane));
      s.begin = t.start[s.row];
      s.end = t.start[s.row + 1];
      go_on(t, s);
    }
    for (;;) {
      bool moved;
      do { /* neighbours in this warp */
        const karst_index level = __shfl_sync(~0u, s.found, (int)(s.next % 32));
        moved = s.begin < s.end && s.next / 32 == group && level >= 0;
        if (moved) use_neighbour(t, level, s);
      } while (__any_sync(~0u, moved));
      if (!__any_sync(~0u, s.begin < s.end)) break;
      while (s.begin < s.end && s.next / 32 != group) {
        const karst_index level = *(const volatile karst_index *)&t.level[mirrored(t, s.next)];
        if (level < 0) break;
        use_neighbour(t, level, s);
      }
      __syncwarp();
    }
    most = max(most, (long long)s.found);
  }
  for (int distance = 16; distance > 0; distance /= 2) most = max(most, __shfl_xor_sync(~0u, most, distance));
  if (lane == 0) atomicMax(&counts->highest[is_upper], (unsigned long long)most);
}

__global__ void number_rows(karst_index rows, karst_index *row)
{
  const int64_t i = blockIdx.x * (int64_t)blockDim.x + threadIdx.x;
  if (i < rows) row[i] = (karst_index)i;
}

/* level: ascending, without gaps. start[levels] is set too. */
__global__ void mark_levels(karst_index rows, const karst_index *level, karst_index *start)
{
  const int64_t s = blockIdx.x * (int64_t)blockDim.x + threadIdx.x;
  if (s >= rows) return;
  if (s == 0 || level[s] != level[s - 1]) start[level[s]] = (karst_index)s;
  if (s == rows - 1) start[level[s] + 1] = rows;
}

/* Work space, device memory. */
struct sorting {
  search_counts *counts; /* one */
  karst_index *memory;
  karst_index *level[2]; /* [rows + 1] of memory: of both triangles, then where the levels start */
  karst_index *sorted;   /* [rows] of memory */
  karst_index *number;   /* [rows] of memory: 0, 1, 2, ... */
  void *work;
  size_t work_bytes;
};

karst_status make_sorting(karst_context *context, karst_index rows, sorting *s)
{
  enum { BITS = 8 * sizeof(karst_index) };
  cudaStream_t stream = karst_cuda_of(context)->stream;
  const int64_t n = rows;
  cub::DeviceRadixSort::SortPairs(NULL, s->work_bytes, s->sorted, s->sorted, s->number, s->number, rows, 0, (int)BITS,
                                  stream);
  karst_status status = karst_cuda_take_work(context, 1, what, &s->counts);
  if (!status) status = karst_cuda_take_work(context, 4 * n + 2, what, &s->memory);
  if (!status) status = karst_cuda_work_take(context, s->work_bytes + 1, what, &s->work);
  if (status) return status;
  s->level[0] = s->memory;
  s->level[1] = s->memory + n + 1;
  s->sorted = s->memory + 2 * n + 2;
  s->number = s->memory + 3 * n + 2;
  number_rows<<<karst_cuda_grid(n, THREADS), THREADS, 0, stream>>>(rows, s->number);
  return KARST_SUCCESS;
}

/* Finds how many levels both triangles have, and the level of each row. */
karst_status search_levels(karst_context *context, karst_index rows, const sorting *s, karst_ilu_pattern_cuda *pattern)
{
  enum { BLOCKS = 8 }; /* of a multiprocessor: those that wait keep the second-level cache busy */
  const struct karst_cuda *cuda = karst_cuda_of(context);
  level_search lower = {rows, pattern->lower_start, pattern->lower_column, true, s->level[0]};
  level_search upper = {rows, pattern->upper_start, pattern->upper_column, false, s->level[1]};
  search_counts found;
  int each = 0;
  const cudaError_t error = cudaOccupancyMaxActiveBlocksPerMultiprocessor(&each, find_levels, KARST_ILU_THREADS, 0);
  karst_status status = karst_cuda_status(context, error, what);
  if (status) return status;
  const int grid = (each < BLOCKS ? each : BLOCKS) * cuda->multiprocessors / 2 * 2;
  cudaMemsetAsync(s->level[0], 0xff, 2 * ((size_t)rows + 1) * sizeof *s->level[0], cuda->stream);
  cudaMemsetAsync(s->counts, 0, sizeof *s->counts, cuda->stream);
  find_levels<<<(unsigned)grid, KARST_ILU_THREADS, 0, cuda->stream>>>(lower, upper, s->counts);
  status = context->backend->download(context, &found, s->counts, sizeof found);
  if (status) return status;
  pattern->lower.count = (karst_index)found.highest[0] + 1;
  pattern->upper.count = (karst_index)found.highest[1] + 1;
  return KARST_SUCCESS;
}

/* Sorts the rows by level, ascending in each, and finds where the levels start. level: of the rows, then the starts. */
karst_status sort_rows(karst_context *context, karst_index rows, sorting *s, karst_index *level, karst_index *row,
                       karst_ilu_levels_cuda *levels)
{
  cudaStream_t stream = karst_cuda_of(context)->stream;
  const int64_t count = (int64_t)levels->count + 1;
  int bits = 1;
  while (((int64_t)levels->count - 1) >> bits) bits++;
  karst_status status = karst_allocate(context, &levels->start, count, sizeof *levels->start, what);
  if (status) return status;
  cudaError_t error =
      cub::DeviceRadixSort::SortPairs(s->work, s->work_bytes, level, s->sorted, s->number, row, rows, 0, bits, stream);
  status = karst_cuda_status(context, error, what);
  if (status) return status;
  mark_levels<<<karst_cuda_grid(rows, THREADS), THREADS, 0, stream>>>(rows, s->sorted, level);
  return context->backend->download(context, levels->start, level, (size_t)count * sizeof *level);
}

} // namespace

karst_status karst_ilu_sum_indices_cuda(karst_context *context, int64_t count, karst_index *list)
{
  return sum(context, count, list);
}

karst_status karst_ilu_sum_offsets_cuda(karst_context *context, int64_t count, int64_t *list)
{
  return sum(context, count, list);
}

karst_status karst_ilu_pattern_create_cuda(karst_context *context, const karst_matrix *A, karst_ilu_analysis *analysis,
                                           karst_ilu_pattern_cuda *pattern)
{
  return analysis->lower_start ? upload(context, analysis, pattern) : split(context, A, analysis, pattern);
}

void karst_ilu_pattern_release_cuda(karst_context *context, karst_ilu_pattern_cuda *pattern)
{
  karst_cuda_release(context, pattern->lower_start, pattern->lower_column, pattern->upper_start, pattern->upper_column);
  karst_cuda_work_release(context, pattern->lower_slot, pattern->upper_slot);
  karst_release(context, pattern->lower.start);
  karst_release(context, pattern->upper.start);
}

karst_status karst_ilu_find_levels_cuda(karst_context *context, karst_index rows, karst_ilu_pattern_cuda *pattern,
                                        karst_index *lower_row, karst_index *upper_row)
{
  sorting s = {};
  karst_status status = make_sorting(context, rows, &s);
  if (!status) status = search_levels(context, rows, &s, pattern);
  if (!status) status = sort_rows(context, rows, &s, s.level[0], lower_row, &pattern->lower);
  if (!status) status = sort_rows(context, rows, &s, s.level[1], upper_row, &pattern->upper);
  karst_cuda_work_release(context, s.counts, s.memory, s.work);
  return status;
}

karst_status karst_ilu_cut_levels_cuda(karst_context *context, const karst_ilu_levels_cuda *levels, int step,
                                       karst_index *parts, karst_index **first, int64_t *bytes)
{
  const karst_index rows = levels->start[levels->count];
  const int64_t most = (int64_t)rows / step + levels->count + 2;
  karst_index *cut, count = 0;
  karst_status status = karst_allocate(context, &cut, most, sizeof *cut, what);
  if (status) return status;
  for (karst_index level = 0; level < levels->count; level++)
    for (int64_t s = levels->start[level]; s < levels->start[level + 1]; s = (s / step + 1) * step)
      cut[count++] = (karst_index)s;
  cut[count] = rows;
  *parts = count;
  status = karst_device_indices(context, (int64_t)count + 1, cut, what, first);
  if (!status) *bytes += ((int64_t)count + 1) * (int64_t)sizeof *cut;
  karst_release(context, cut);
  return status;
}
