/* ilu_lists.cu - which products each block of the factors is made of, found once on the GPU:
 *
 *     a_ij - sum_p a_ip U'_pj        over the p < min(i, j) in row i of L with j in row p of U
 *
 * For each block of L, D and U that is: which block of A it starts from, and a list of pairs (block of L, block of U'),
 * p ascending; or, where a warp makes a row (ilu_factor_row.cu), one list for the row. The factorization then searches
 * nothing. */
#include "ilu.h"

enum { THREADS = 256 };

/* Where wanted stands among the ascending column[begin .. end), or -1. */
static __device__ karst_index find_column(const karst_index *column, karst_index begin, karst_index end,
                                          karst_index wanted)
{
  karst_index last = end;
  while (begin < end) {
    karst_index middle = begin + (end - begin) / 2;
    if (column[middle] < wanted)
      begin = middle + 1;
    else
      end = middle;
  }
  return begin < last && column[begin] == wanted ? begin : -1;
}

/* The number of block k of row p of U, in the slices; one past its last is the diagonal block. */
static __device__ karst_index upper_block(const karst_triangle &upper, const karst_ilu_pattern_cuda &factor,
                                          karst_index p, karst_index k)
{
  const karst_index slot = factor.upper_slot[p], count = factor.upper_start[p + 1] - factor.upper_start[p];
  const int64_t diagonal = upper.start[slot / upper.group] * upper.group + slot % upper.group;
  karst_index low = 1, high = count;
  if (k == factor.upper_start[p + 1]) return (karst_index)diagonal;
  const karst_index wanted = factor.upper_slot[factor.upper_column[k]];
  if (count > KARST_ILU_SORTED) low = high = factor.upper_start[p + 1] - k;
  while (low < high) {
    karst_index middle = low + (high - low) / 2;
    if (upper.column[diagonal + (int64_t)middle * upper.group] < wanted)
      low = middle + 1;
    else
      high = middle;
  }
  return (karst_index)(diagonal + (int64_t)low * upper.group);
}

/* Calls visit(whether it is U's, number of the block, block of L, block of U') for each product of row i, pivots
 * ascending. */
template <typename visitor>
static __device__ void each_product(const karst_triangle &lower, const karst_triangle &upper,
                                    const karst_ilu_pattern_cuda &factor, karst_index i, visitor visit)
{
  const karst_index slot = factor.lower_slot[i], begin = factor.lower_start[i], end = factor.lower_start[i + 1];
  const int64_t first = lower.start[slot / lower.group] * lower.group + slot % lower.group;
  for (karst_index l = begin; l < end; l++) {
    const karst_index pivot = factor.lower_column[l];
    const int64_t left = first + (int64_t)(l - begin) * lower.group;
    for (karst_index k = factor.upper_start[pivot]; k < factor.upper_start[pivot + 1]; k++) {
      const karst_index j = factor.upper_column[k];
      int64_t block = -1;
      if (j < i) {
        const karst_index to = find_column(factor.lower_column, begin, end, j);
        if (to >= 0) block = first + (int64_t)(to - begin) * lower.group;
      } else if (j == i) {
        block = upper_block(upper, factor, i, factor.upper_start[i + 1]);
      } else {
        const karst_index to = find_column(factor.upper_column, factor.upper_start[i], factor.upper_start[i + 1], j);
        if (to >= 0) block = upper_block(upper, factor, i, to);
      }
      if (block >= 0) visit(j >= i, block, (karst_index)left, upper_block(upper, factor, pivot, k));
    }
  }
}

/* The blocks of A that the blocks of a slot start from. */
static __global__ void find_sources(karst_triangle t, const karst_index *start, const karst_index *column,
                                    bool is_upper)
{
  const int64_t slot = blockIdx.x * (int64_t)blockDim.x + threadIdx.x;
  if (slot >= t.slots) return;
  const int64_t slice = slot / t.group, length = t.start[slice + 1] - t.start[slice];
  const int64_t first = t.start[slice] * t.group + slot % t.group;
  const karst_index i = slot < t.rows ? t.row[slot] : -1;
  for (int64_t e = 0; e < length; e++) {
    const int64_t block = first + e * t.group;
    const karst_index neighbour = t.column[block];
    karst_index j = neighbour < t.slots ? t.row[neighbour] : -1;
    if (is_upper && e == 0) j = i;
    t.source[block] = j >= 0 ? find_column(column, start[i], start[i + 1], j) : -1;
  }
}

/* Adds to list[block] how many products each block has; total [2]: of both triangles. */
static __global__ void count_products(karst_triangle lower, karst_triangle upper, karst_ilu_pattern_cuda factor,
                                      unsigned long long *total)
{
  const int64_t i = blockIdx.x * (int64_t)blockDim.x + threadIdx.x;
  unsigned long long count[2] = {0, 0};
  if (i >= lower.rows) return;
  each_product(lower, upper, factor, (karst_index)i, [&](bool is_upper, int64_t block, karst_index, karst_index) {
    (is_upper ? upper : lower).list[block]++;
    count[is_upper]++;
  });
  if (count[0]) atomicAdd(&total[0], count[0]);
  if (count[1]) atomicAdd(&total[1], count[1]);
}

/* Fills the lists; next [2][blocks]: where each block's next product goes. */
static __global__ void fill_products(karst_triangle lower, karst_triangle upper, karst_ilu_pattern_cuda factor,
                                     karst_index *lower_next, karst_index *upper_next)
{
  const int64_t i = blockIdx.x * (int64_t)blockDim.x + threadIdx.x;
  if (i >= lower.rows) return;
  each_product(lower, upper, factor, (karst_index)i,
               [&](bool is_upper, int64_t block, karst_index left, karst_index right) {
                 karst_index *next = is_upper ? upper_next : lower_next;
                 (is_upper ? upper : lower).product[next[block]++] = {left, right};
               });
}

/* The products of the rows, a warp for each. product NULL: counts them in list [rows + 1]; else puts them where list
 * says. */
static __global__ void find_row_products(karst_triangle lower, karst_triangle upper, karst_ilu_pattern_cuda factor,
                                         int64_t *list, karst_ilu_row_product *product)
{
  const int64_t slot = (blockIdx.x * (int64_t)blockDim.x + threadIdx.x) / 32;
  const unsigned lane = threadIdx.x % 32;
  if (slot >= lower.rows) return;
  const karst_index i = lower.row[slot], other = lower.other[slot];
  const karst_index begin = factor.lower_start[i], end = factor.lower_start[i + 1];
  const int64_t diagonal = upper.start[other / upper.group] * upper.group + other % upper.group;
  const int64_t lower_length = lower.start[slot / lower.group + 1] - lower.start[slot / lower.group];
  const int64_t first = product ? list[slot] : 0;
  int64_t count = 0;
  for (karst_index l = begin; l < end; l++) {
    const karst_index pivot = factor.lower_column[l], last = factor.upper_start[pivot + 1];
    for (int64_t block = factor.upper_start[pivot]; block < last; block += 32) {
      const karst_index k = (karst_index)(block + lane);
      const karst_index j = block + lane < last ? factor.upper_column[k] : -1;
      int64_t entry = -1;
      if (j >= i) {
        const karst_index to =
            j == i ? factor.upper_start[i + 1]
                   : find_column(factor.upper_column, factor.upper_start[i], factor.upper_start[i + 1], j);
        if (to >= 0) entry = lower_length + (upper_block(upper, factor, i, to) - diagonal) / upper.group;
      } else if (j >= 0) {
        const karst_index to = find_column(factor.lower_column, begin, end, j);
        if (to >= 0) entry = to - begin;
      }
      const unsigned found = __ballot_sync(~0u, entry >= 0);
      if (product && entry >= 0)
        product[first + count + __popc(found & ((1u << lane) - 1))] = {upper_block(upper, factor, pivot, k),
                                                                       (unsigned)(l - begin) << 16 | (unsigned)entry};
      count += __popc(found);
    }
  }
  if (!product && lane == 0) list[slot] = count;
}

/* The entries of the longest row, padding included. */
static __global__ void measure_rows(karst_triangle lower, karst_triangle upper, unsigned long long *longest)
{
  const int64_t slot = blockIdx.x * (int64_t)blockDim.x + threadIdx.x;
  if (slot >= lower.rows) return;
  const int64_t slice = slot / lower.group, other = lower.other[slot] / upper.group;
  const unsigned long long length =
      (unsigned long long)(lower.start[slice + 1] - lower.start[slice] + upper.start[other + 1] - upper.start[other]);
  if (length > *(volatile unsigned long long *)longest) atomicMax(longest, length);
}

/* source */
static karst_status start_blocks(karst_context *context, const karst_matrix *A, bool is_upper, karst_triangle *t,
                                 int64_t *bytes)
{
  karst_status status = karst_ilu_take(context, t->blocks, "the plan of block ILU", &t->source, bytes);
  if (status) return status;
  find_sources<<<karst_ilu_grid(t->slots, THREADS), THREADS, 0, karst_cuda_of(context)->stream>>>(
      *t, A->device_row_start, A->device_column, is_upper);
  return KARST_SUCCESS;
}

/* list with zeros */
static karst_status start_list(karst_context *context, karst_triangle *t, int64_t *bytes)
{
  karst_status status = karst_ilu_take(context, t->blocks + 1, "the plan of block ILU", &t->list, bytes);
  if (status) return status;
  cudaMemsetAsync(t->list, 0, (size_t)(t->blocks + 1) * sizeof *t->list, karst_cuda_of(context)->stream);
  return KARST_SUCCESS;
}

/* From counts to starts, a copy of them in *next, and memory for the products. */
static karst_status make_room(karst_context *context, unsigned long long products, karst_triangle *t,
                              karst_index **next, int64_t *bytes)
{
  const char *what = "the plan of block ILU";
  int64_t passing = 0;
  if (products > (unsigned long long)KARST_ILU_INDEX_MAX)
    return karst_fail(context, KARST_ERROR_INDEX_OVERFLOW, "the products of the factorization cannot be numbered: %llu",
                      products);
  karst_status status = karst_ilu_sum_indices_cuda(context, t->blocks + 1, t->list);
  if (!status) status = karst_ilu_take(context, (int64_t)products, what, &t->product, bytes);
  if (!status) status = karst_ilu_take(context, t->blocks, what, next, &passing);
  if (!status)
    cudaMemcpyAsync(*next, t->list, (size_t)t->blocks * sizeof **next, cudaMemcpyDeviceToDevice,
                    karst_cuda_of(context)->stream);
  return status;
}

/* A list for each block. total [2]: work space. */
static karst_status list_by_blocks(karst_context *context, const karst_ilu_pattern_cuda *pattern, karst_ilu *ilu,
                                   unsigned long long *total)
{
  cudaStream_t stream = karst_cuda_of(context)->stream;
  karst_ilu_cuda *plan = karst_ilu_cuda_of(ilu);
  karst_triangle *lower = &plan->lower, *upper = &plan->upper;
  const unsigned grid = karst_ilu_grid(ilu->rows, THREADS);
  unsigned long long products[2] = {0, 0};
  karst_index *lower_next = NULL, *upper_next = NULL;
  karst_status status = start_list(context, lower, &ilu->plan_memory);
  if (!status) status = start_list(context, upper, &ilu->plan_memory);
  if (!status) {
    cudaMemsetAsync(total, 0, sizeof products, stream);
    count_products<<<grid, THREADS, 0, stream>>>(*lower, *upper, *pattern, total);
    status = context->backend->download(context, products, total, sizeof products);
  }
  if (!status) status = make_room(context, products[0], lower, &lower_next, &ilu->plan_memory);
  if (!status) status = make_room(context, products[1], upper, &upper_next, &ilu->plan_memory);
  if (!status) fill_products<<<grid, THREADS, 0, stream>>>(*lower, *upper, *pattern, lower_next, upper_next);
  context->backend->release(context, lower_next);
  context->backend->release(context, upper_next);
  return status;
}

/* A list for each row. */
static karst_status list_by_rows(karst_context *context, const karst_ilu_pattern_cuda *pattern, karst_ilu *ilu)
{
  const char *what = "the plan of block ILU";
  cudaStream_t stream = karst_cuda_of(context)->stream;
  karst_ilu_cuda *plan = karst_ilu_cuda_of(ilu);
  const int64_t rows = ilu->rows;
  const unsigned grid = karst_ilu_grid(rows * 32, THREADS);
  int64_t products;
  karst_status status = karst_ilu_take(context, rows + 1, what, &plan->row_list, &ilu->plan_memory);
  if (status) return status;
  cudaMemsetAsync(plan->row_list + rows, 0, sizeof *plan->row_list, stream);
  find_row_products<<<grid, THREADS, 0, stream>>>(plan->lower, plan->upper, *pattern, plan->row_list, NULL);
  status = karst_ilu_sum_offsets_cuda(context, rows + 1, plan->row_list);
  if (!status) status = context->backend->download(context, &products, plan->row_list + rows, sizeof products);
  if (!status) status = karst_ilu_take(context, products, what, &plan->row_product, &ilu->plan_memory);
  if (status) return status;
  find_row_products<<<grid, THREADS, 0, stream>>>(plan->lower, plan->upper, *pattern, plan->row_list,
                                                  plan->row_product);
  return KARST_SUCCESS;
}

/* The length of the longest row where a warp is to make one, else 0. longest: work space. */
static karst_status choose_rows(karst_context *context, const karst_ilu *ilu, unsigned long long *longest, int *length)
{
  cudaStream_t stream = karst_cuda_of(context)->stream;
  const karst_ilu_cuda *plan = karst_ilu_cuda_of(ilu);
  unsigned long long found;
  *length = 0;
  if (ilu->block_size > 1 || ilu->lower_blocks + ilu->upper_blocks <= KARST_ILU_ROW_AVERAGE * (int64_t)ilu->rows)
    return KARST_SUCCESS;
  cudaMemsetAsync(longest, 0, sizeof *longest, stream);
  measure_rows<<<karst_ilu_grid(ilu->rows, THREADS), THREADS, 0, stream>>>(plan->lower, plan->upper, longest);
  karst_status status = context->backend->download(context, &found, longest, sizeof found);
  if (!status && found <= KARST_ILU_ROW_LONGEST) *length = (int)found;
  return status;
}

karst_status karst_ilu_lists_cuda(karst_context *context, const karst_matrix *A, const karst_ilu_pattern_cuda *pattern,
                                  karst_ilu *ilu)
{
  karst_ilu_cuda *plan = karst_ilu_cuda_of(ilu);
  unsigned long long *total; /* [2] */
  int64_t passing = 0;
  karst_status status = karst_ilu_take(context, 2, "the plan of block ILU", &total, &passing);
  if (!status) status = start_blocks(context, A, false, &plan->lower, &ilu->plan_memory);
  if (!status) status = start_blocks(context, A, true, &plan->upper, &ilu->plan_memory);
  if (!status) status = choose_rows(context, ilu, total, &plan->longest);
  if (!status)
    status = plan->longest > 0 ? list_by_rows(context, pattern, ilu) : list_by_blocks(context, pattern, ilu, total);
  context->backend->release(context, total);
  return status;
}
