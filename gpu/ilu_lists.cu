/* ilu_lists.cu - which products each block of the factors is made of, found once on the GPU:
 *
 *     a_ij - sum_p a_ip U'_pj        over the p < min(i, j) in row i of L with j in row p of U
 *
 * For each block of L, D and U that is: which block of A it starts from, and a list of pairs (block of L, block of U'),
 * p ascending. The factorization then searches nothing. */
#include "ilu.h"

#include <cub/device/device_scan.cuh>

enum { THREADS = 256 };

struct patterns {
  const karst_index *start, *column; /* of A */
  karst_ilu_pattern_cuda factor;
};

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

/* The number of block k of row p of U, in the slices. */
static __device__ karst_index upper_block(const karst_triangle &upper, const karst_ilu_pattern_cuda &factor,
                                          karst_index p, karst_index k)
{
  const karst_index slot = factor.upper_slot[p], count = factor.upper_start[p + 1] - factor.upper_start[p];
  const karst_index wanted = factor.upper_slot[factor.upper_column[k]];
  const int64_t diagonal = upper.start[slot / upper.group] * upper.group + slot % upper.group;
  karst_index low = 1, high = count;
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

/* Calls visit(block of L, block of U') for each product of block (i, j). */
template <typename visitor>
static __device__ void each_product(const karst_triangle &lower, const karst_triangle &upper, const patterns &p,
                                    karst_index i, karst_index j, visitor visit)
{
  const karst_ilu_pattern_cuda &factor = p.factor;
  karst_index slot = factor.lower_slot[i], begin = factor.lower_start[i];
  int64_t first = lower.start[slot / lower.group] * lower.group + slot % lower.group;
  for (karst_index l = begin; l < factor.lower_start[i + 1]; l++) {
    karst_index pivot = factor.lower_column[l];
    if (pivot >= j) return;
    karst_index k = find_column(factor.upper_column, factor.upper_start[pivot], factor.upper_start[pivot + 1], j);
    if (k >= 0) visit((karst_index)(first + (int64_t)(l - begin) * lower.group), upper_block(upper, factor, pivot, k));
  }
}

/* Calls visit(number of the block, its row, its column or -1 for padding) for each entry of a slot. */
template <typename visitor>
static __device__ void each_block(const karst_triangle &t, bool is_upper, int64_t slot, visitor visit)
{
  const int64_t slice = slot / t.group, length = t.start[slice + 1] - t.start[slice];
  const int64_t first = t.start[slice] * t.group + slot % t.group;
  const karst_index i = slot < t.rows ? t.row[slot] : -1;
  for (int64_t e = 0; e < length; e++) {
    const int64_t block = first + e * t.group;
    const karst_index neighbour = t.column[block];
    karst_index j = neighbour < t.slots ? t.row[neighbour] : -1;
    if (is_upper && e == 0) j = i;
    visit(block, i, j);
  }
}

/* list[block]: how many products; source[block]: which block of A. */
static __global__ void count_products(karst_triangle lower, karst_triangle upper, patterns p, bool is_upper,
                                      unsigned long long *total)
{
  const karst_triangle &t = is_upper ? upper : lower;
  int64_t slot = blockIdx.x * (int64_t)blockDim.x + threadIdx.x;
  unsigned long long mine = 0;
  if (slot >= t.slots) return;
  each_block(t, is_upper, slot, [&](int64_t block, karst_index i, karst_index j) {
    karst_index count = 0;
    if (j >= 0) each_product(lower, upper, p, i, j, [&](karst_index, karst_index) { count++; });
    t.list[block] = count;
    t.source[block] = j >= 0 ? find_column(p.column, p.start[i], p.start[i + 1], j) : -1;
    mine += (unsigned long long)count;
  });
  atomicAdd(total, mine);
}

static __global__ void fill_products(karst_triangle lower, karst_triangle upper, patterns p, bool is_upper)
{
  const karst_triangle &t = is_upper ? upper : lower;
  int64_t slot = blockIdx.x * (int64_t)blockDim.x + threadIdx.x;
  if (slot >= t.slots) return;
  each_block(t, is_upper, slot, [&](int64_t block, karst_index i, karst_index j) {
    karst_ilu_product *product = t.product + t.list[block];
    if (j >= 0)
      each_product(lower, upper, p, i, j, [&](karst_index left, karst_index right) { *product++ = {left, right}; });
  });
}

/* Counts [count + 1], of which the last does not matter, become starts. */
static karst_status sum_counts(karst_context *context, int64_t count, karst_index *list)
{
  cudaStream_t stream = karst_cuda_of(context)->stream;
  size_t bytes = 0;
  void *work;
  cub::DeviceScan::ExclusiveSum(NULL, bytes, list, list, count + 1, stream);
  karst_status status = context->backend->allocate(context, bytes + 1, "the plan of block ILU", &work);
  if (status) return status;
  cudaError_t error = cub::DeviceScan::ExclusiveSum(work, bytes, list, list, count + 1, stream);
  context->backend->release(context, work);
  return karst_cuda_status(context, error, "the plan of block ILU");
}

static karst_status make_lists(karst_context *context, const patterns *p, bool is_upper, karst_ilu_cuda *plan,
                               unsigned long long *total, int64_t *bytes)
{
  const char *what = "the plan of block ILU";
  cudaStream_t stream = karst_cuda_of(context)->stream;
  karst_triangle *t = is_upper ? &plan->upper : &plan->lower;
  unsigned grid = karst_ilu_grid(t->slots, THREADS);
  unsigned long long products = 0;
  karst_status status = karst_ilu_take(context, t->blocks, what, &t->source, bytes);
  if (!status) status = karst_ilu_take(context, t->blocks + 1, what, &t->list, bytes);
  if (status) return status;
  cudaMemsetAsync(total, 0, sizeof *total, stream);
  cudaMemsetAsync(t->list + t->blocks, 0, sizeof *t->list, stream);
  count_products<<<grid, THREADS, 0, stream>>>(plan->lower, plan->upper, *p, is_upper, total);
  status = context->backend->download(context, &products, total, sizeof products);
  if (!status && products > (unsigned long long)KARST_ILU_INDEX_MAX)
    status = karst_fail(context, KARST_ERROR_INDEX_OVERFLOW,
                        "the products of the factorization cannot be numbered: %llu", products);
  if (!status) status = sum_counts(context, t->blocks, t->list);
  if (!status) status = karst_ilu_take(context, (int64_t)products, what, &t->product, bytes);
  if (!status) fill_products<<<grid, THREADS, 0, stream>>>(plan->lower, plan->upper, *p, is_upper);
  return status;
}

karst_status karst_ilu_lists_cuda(karst_context *context, const karst_matrix *A, const karst_ilu_pattern_cuda *pattern,
                                  karst_ilu *ilu)
{
  karst_ilu_cuda *plan = karst_ilu_cuda_of(ilu);
  patterns p = {A->device_row_start, A->device_column, *pattern};
  unsigned long long *total;
  int64_t passing = 0;
  karst_status status = karst_ilu_take(context, 1, "the plan of block ILU", &total, &passing);
  if (!status) status = make_lists(context, &p, false, plan, total, &ilu->plan_memory);
  if (!status) status = make_lists(context, &p, true, plan, total, &ilu->plan_memory);
  context->backend->release(context, total);
  return status;
}
