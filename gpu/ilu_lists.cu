/* ilu_lists.cu - which products each block of the factors is made of, found once on the GPU:
 *
 *     a_ij - sum_p a_ip U'_pj        over the p < min(i, j) in row i of L with j in row p of U
 *
 * For each block of L, D and U that is: which block of A it starts from, and a list of pairs (block of L, block of U'),
 * p ascending. The factorization then searches nothing. */
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

/* source, and list with zeros. */
static karst_status start_lists(karst_context *context, const karst_matrix *A, bool is_upper, karst_triangle *t,
                                int64_t *bytes)
{
  const char *what = "the plan of block ILU";
  cudaStream_t stream = karst_cuda_of(context)->stream;
  karst_status status = karst_ilu_take(context, t->blocks, what, &t->source, bytes);
  if (!status) status = karst_ilu_take(context, t->blocks + 1, what, &t->list, bytes);
  if (status) return status;
  cudaMemsetAsync(t->list, 0, (size_t)(t->blocks + 1) * sizeof *t->list, stream);
  find_sources<<<karst_ilu_grid(t->slots, THREADS), THREADS, 0, stream>>>(*t, A->device_row_start, A->device_column,
                                                                          is_upper);
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

karst_status karst_ilu_lists_cuda(karst_context *context, const karst_matrix *A, const karst_ilu_pattern_cuda *pattern,
                                  karst_ilu *ilu)
{
  cudaStream_t stream = karst_cuda_of(context)->stream;
  karst_ilu_cuda *plan = karst_ilu_cuda_of(ilu);
  karst_triangle *lower = &plan->lower, *upper = &plan->upper;
  const unsigned grid = karst_ilu_grid(ilu->rows, THREADS);
  unsigned long long *total, products[2] = {0, 0};
  karst_index *lower_next = NULL, *upper_next = NULL;
  int64_t passing = 0;
  karst_status status = karst_ilu_take(context, 2, "the plan of block ILU", &total, &passing);
  if (!status) status = start_lists(context, A, false, lower, &ilu->plan_memory);
  if (!status) status = start_lists(context, A, true, upper, &ilu->plan_memory);
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
  context->backend->release(context, total);
  return status;
}
