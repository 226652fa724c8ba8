/* lists.cu - finds the products of each block of the factors, once and on the GPU:
 *
 *     a_ij - sum_p a_ip U'_pj        over the p < min(i, j) in row i of L with j in row p of U
 *
 * For each block of L, D and U these are the block of A that it starts from, and a list of pairs (block of L, block of
 * U'); or, if a warp makes a row (factor_row.cu), one list for the row. p comes in the order in which L has its
 * neighbours (ilu_cuda.h). The factorization then searches nothing. */
#include "gpu/bisect.h"
#include "gpu/ilu/ilu_cuda.h"
#include "lib/base/search.h"

namespace
{

enum { THREADS = 256 };

/* A triangle in its slices and by rows. */
struct rows_of {
  karst_triangle t;
  const karst_index *start, *column, *slot;
  karst_index before; /* blocks of a row before its first neighbour: the diagonal block of the upper triangle */
};

struct both_triangles {
  rows_of lower, upper;
};

__device__ int64_t first_block(const rows_of &s, karst_index i)
{
  const karst_index slot = s.slot[i];
  return s.t.start[slot / s.t.group] * s.t.group + slot % s.t.group;
}

/* Returns the place of column[k] among the blocks of row i, in their order in the slice. */
__device__ karst_index place_of(const rows_of &s, karst_index i, karst_index k)
{
  const karst_index begin = s.start[i], end = s.start[i + 1];
  if (end - begin > s.t.sorted) return s.before ? end - k : k - begin;
  const karst_index wanted = s.slot[s.column[k]];
  const karst_index *column = s.t.column + first_block(s, i);
  return karst_cuda_bisect(s.before, s.before + (end - begin) - 1,
                           [&](karst_index place) { return column[(int64_t)place * s.t.group] >= wanted; });
}

__device__ karst_index block_of(const rows_of &s, karst_index i, karst_index k)
{
  return (karst_index)(first_block(s, i) + (int64_t)place_of(s, i, k) * s.t.group);
}

/* Returns the place of column j in row i among the blocks of L, or among those of D and U if j >= i; -1 if it is not in
 * the pattern. */
__device__ karst_index find_place(const both_triangles &f, karst_index i, karst_index j)
{
  if (j == i) return 0;
  const rows_of &s = j < i ? f.lower : f.upper;
  const karst_index k = karst_find_column(s.column, s.start[i], s.start[i + 1], j);
  return k >= 0 ? place_of(s, i, k) : -1;
}

/* Returns the pivot of block n of a row of L. first: the first block of the row. */
__device__ karst_index pivot_of(const rows_of &lower, int64_t first, karst_index n)
{
  return lower.t.row[lower.t.column[first + (int64_t)n * lower.t.group]];
}

/* each_product for pivot n of row i if its row of U' is much longer than row i: searches it for the columns of row i
 * that follow the pivot. */
template <typename visitor>
__device__ void each_product_by_search(const both_triangles &f, karst_index i, karst_index n, karst_index pivot,
                                       visitor visit)
{
  const int64_t left = first_block(f.lower, i), right = first_block(f.upper, i);
  const karst_index from = (karst_index)(left + (int64_t)n * f.lower.t.group), end = f.upper.start[pivot + 1];
  karst_index found = f.upper.start[pivot];
  karst_index k = karst_lower_bound(f.lower.column, f.lower.start[i], f.lower.start[i + 1], pivot + 1);
  const auto look = [&](karst_index j, bool is_upper, int64_t block) {
    found = karst_lower_bound(f.upper.column, found, end, j);
    if (found < end && f.upper.column[found] == j) visit(is_upper, block, from, block_of(f.upper, pivot, found));
  };
  for (; k < f.lower.start[i + 1]; k++)
    look(f.lower.column[k], false, left + (int64_t)place_of(f.lower, i, k) * f.lower.t.group);
  look(i, true, right);
  for (k = f.upper.start[i]; k < f.upper.start[i + 1]; k++)
    look(f.upper.column[k], true, right + (int64_t)place_of(f.upper, i, k) * f.upper.t.group);
}

/* Calls visit(whether it is for U, number of the block, block of L, block of U') for each product of row i, pivots in
 * the order of the slice. */
template <typename visitor> __device__ void each_product(const both_triangles &f, karst_index i, visitor visit)
{
  const int64_t left = first_block(f.lower, i), right = first_block(f.upper, i);
  const karst_index count = f.lower.start[i + 1] - f.lower.start[i];
  const karst_index width = count + 1 + (f.upper.start[i + 1] - f.upper.start[i]);
  for (karst_index n = 0; n < count; n++) {
    const karst_index pivot = pivot_of(f.lower, left, n);
    if ((f.upper.start[pivot + 1] - f.upper.start[pivot]) / 16 > width) {
      each_product_by_search(f, i, n, pivot, visit);
      continue;
    }
    for (karst_index k = f.upper.start[pivot]; k < f.upper.start[pivot + 1]; k++) {
      const karst_index j = f.upper.column[k], place = find_place(f, i, j);
      if (place < 0) continue;
      const int64_t block = j < i ? left + (int64_t)place * f.lower.t.group : right + (int64_t)place * f.upper.t.group;
      visit(j >= i, block, (karst_index)(left + (int64_t)n * f.lower.t.group), block_of(f.upper, pivot, k));
    }
  }
}

/* Finds the blocks of A that the blocks of a slot start from. */
__global__ void find_sources(karst_triangle t, const karst_index *start, const karst_index *column, bool is_upper)
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
    t.source[block] = j >= 0 ? karst_find_column(column, start[i], start[i + 1], j) : -1;
  }
}

/* Adds the number of products of each block to list[block], and of each triangle to total [2]. */
__global__ void count_products(both_triangles f, unsigned long long *total)
{
  const int64_t i = blockIdx.x * (int64_t)blockDim.x + threadIdx.x;
  unsigned long long count[2] = {0, 0};
  if (i >= f.lower.t.rows) return;
  each_product(f, (karst_index)i, [&](bool is_upper, int64_t block, karst_index, karst_index) {
    (is_upper ? f.upper : f.lower).t.list[block]++;
    count[is_upper]++;
  });
  if (count[0]) atomicAdd(&total[0], count[0]);
  if (count[1]) atomicAdd(&total[1], count[1]);
}

/* Fills the lists. lower_next and upper_next, [blocks] of each triangle, tell where each block's next product goes. */
__global__ void fill_products(both_triangles f, karst_index *lower_next, karst_index *upper_next)
{
  const int64_t i = blockIdx.x * (int64_t)blockDim.x + threadIdx.x;
  if (i >= f.lower.t.rows) return;
  each_product(f, (karst_index)i, [&](bool is_upper, int64_t block, karst_index left, karst_index right) {
    karst_index *next = is_upper ? upper_next : lower_next;
    (is_upper ? f.upper : f.lower).t.product[next[block]++] = {left, right};
  });
}

/* Writes the positions of the rows of L, D and U', by the slots of L. */
__global__ void place_rows(karst_triangle lower, karst_triangle upper, karst_ilu_row *place)
{
  const int64_t slot = blockIdx.x * (int64_t)blockDim.x + threadIdx.x;
  if (slot >= lower.rows) return;
  const int64_t slice = slot / lower.group, other = lower.other[slot], other_slice = other / upper.group;
  place[slot] = {(karst_index)(lower.start[slice] * lower.group + slot % lower.group),
                 (karst_index)(upper.start[other_slice] * upper.group + other % upper.group),
                 (int)(lower.start[slice + 1] - lower.start[slice]),
                 (int)(upper.start[other_slice + 1] - upper.start[other_slice])};
}

/* Finds the products of the rows, a warp a row. Counts them in list [rows + 1] if product is NULL, else stores them
 * from list[slot] on. */
__global__ void find_row_products(both_triangles f, const karst_ilu_row *row, int64_t *list,
                                  karst_ilu_row_product *product)
{
  const int64_t slot = (blockIdx.x * (int64_t)blockDim.x + threadIdx.x) / 32;
  const unsigned lane = threadIdx.x % 32;
  if (slot >= f.lower.t.rows) return;
  const karst_ilu_row at = row[slot];
  const karst_index i = f.lower.t.row[slot], pivots = f.lower.start[i + 1] - f.lower.start[i];
  const int64_t first = product ? list[slot] : 0;
  int64_t count = 0;
  for (karst_index n = 0; n < pivots; n++) {
    const karst_index pivot = pivot_of(f.lower, at.lower, n), last = f.upper.start[pivot + 1];
    for (int64_t begin = f.upper.start[pivot]; begin < last; begin += 32) {
      const karst_index k = (karst_index)(begin + lane);
      const karst_index j = begin + lane < last ? f.upper.column[k] : -1;
      const karst_index place = j >= 0 ? find_place(f, i, j) : -1, entry = j >= i ? at.lower_length + place : place;
      const unsigned found = __ballot_sync(~0u, place >= 0);
      if (product && place >= 0)
        product[first + count + __popc(found & ((1u << lane) - 1))] = {block_of(f.upper, pivot, k),
                                                                       (unsigned)n << 16 | (unsigned)entry};
      count += __popc(found);
    }
  }
  if (!product && lane == 0) list[slot] = count;
}

/* Finds the products that have no place in the pattern, a thread a row. Counts or stores them as find_row_products
 * does. */
__global__ void find_dropped(both_triangles f, int64_t *list, karst_ilu_product *product)
{
  const int64_t slot = blockIdx.x * (int64_t)blockDim.x + threadIdx.x;
  if (slot >= f.lower.t.rows) return;
  const karst_index i = f.lower.t.row[slot], pivots = f.lower.start[i + 1] - f.lower.start[i];
  const int64_t left = first_block(f.lower, i), first = product ? list[slot] : 0;
  int64_t count = 0;
  for (karst_index n = 0; n < pivots; n++) {
    const karst_index pivot = pivot_of(f.lower, left, n);
    for (karst_index k = f.upper.start[pivot]; k < f.upper.start[pivot + 1]; k++) {
      if (find_place(f, i, f.upper.column[k]) >= 0) continue;
      if (product)
        product[first + count] = {(karst_index)(left + (int64_t)n * f.lower.t.group), block_of(f.upper, pivot, k)};
      count++;
    }
  }
  if (!product) list[slot] = count;
}

__device__ void raise(unsigned long long *number, unsigned long long to)
{
  if (to > *(volatile unsigned long long *)number) atomicMax(number, to);
}

/* Raises *longest to the number of entries of the longest row, padding included. */
__global__ void measure_rows(karst_triangle lower, karst_triangle upper, unsigned long long *longest)
{
  const int64_t slot = blockIdx.x * (int64_t)blockDim.x + threadIdx.x;
  if (slot >= lower.rows) return;
  const int64_t slice = slot / lower.group, other = lower.other[slot] / upper.group;
  const unsigned long long length =
      (unsigned long long)(lower.start[slice + 1] - lower.start[slice] + upper.start[other + 1] - upper.start[other]);
  raise(longest, length);
}

/* The maxima over the rows. */
struct row_bounds {
  unsigned long long products, most_products, longest; /* all together; of a row; its blocks */
};

/* dropped: products without a place count too, because they are added to the diagonal. */
__global__ void bound_rows(karst_index rows, karst_ilu_pattern_cuda factor, bool dropped, row_bounds *bounds)
{
  const int64_t i = blockIdx.x * (int64_t)blockDim.x + threadIdx.x;
  if (i >= rows) return;
  const karst_index begin = factor.lower_start[i], end = factor.lower_start[i + 1];
  const karst_index width = end - begin + (factor.upper_start[i + 1] - factor.upper_start[i]);
  unsigned long long mine = 0;
  for (karst_index k = begin; k < end; k++) {
    const karst_index p = factor.lower_column[k], length = factor.upper_start[p + 1] - factor.upper_start[p];
    mine += (unsigned long long)(dropped ? length : min(length, width));
  }
  if (mine) atomicAdd(&bounds->products, mine);
  raise(&bounds->most_products, mine);
  raise(&bounds->longest, (unsigned long long)width + 1);
}

both_triangles both_of(const karst_ilu_cuda *plan, const karst_ilu_pattern_cuda *pattern)
{
  return {{plan->lower, pattern->lower_start, pattern->lower_column, pattern->lower_slot, 0},
          {plan->upper, pattern->upper_start, pattern->upper_column, pattern->upper_slot, 1}};
}

/* Makes the array source of a triangle. */
karst_status start_blocks(karst_context *context, const karst_matrix *A, bool is_upper, karst_triangle *t,
                          int64_t *bytes)
{
  karst_status status = karst_cuda_take(context, t->blocks, "the plan of block ILU", &t->source, bytes);
  if (status) return status;
  find_sources<<<karst_cuda_grid(t->slots, THREADS), THREADS, 0, karst_cuda_of(context)->stream>>>(
      *t, A->device_row_start, A->device_column, is_upper);
  return KARST_SUCCESS;
}

/* Makes the array list of a triangle, filled with zeros. */
karst_status start_list(karst_context *context, karst_triangle *t, int64_t *bytes)
{
  karst_status status = karst_cuda_take(context, t->blocks + 1, "the plan of block ILU", &t->list, bytes);
  if (status) return status;
  cudaMemsetAsync(t->list, 0, (size_t)(t->blocks + 1) * sizeof *t->list, karst_cuda_of(context)->stream);
  return KARST_SUCCESS;
}

/* Turns the counts in list into starts, copies these to *next, and gets memory for the products. */
karst_status make_room(karst_context *context, unsigned long long products, karst_triangle *t, karst_index **next,
                       int64_t *bytes)
{
  const char *what = "the plan of block ILU";
  if (products > (unsigned long long)KARST_ILU_INDEX_MAX)
    return karst_fail(context, KARST_ERROR_INDEX_OVERFLOW, "the products of the factorization cannot be numbered: %llu",
                      products);
  karst_status status = karst_ilu_sum_indices_cuda(context, t->blocks + 1, t->list);
  if (!status) status = karst_cuda_take(context, (int64_t)products, what, &t->product, bytes);
  if (!status) status = karst_cuda_take(context, t->blocks, what, next, NULL);
  if (!status)
    cudaMemcpyAsync(*next, t->list, (size_t)t->blocks * sizeof **next, cudaMemcpyDeviceToDevice,
                    karst_cuda_of(context)->stream);
  return status;
}

} // namespace

karst_status karst_ilu_find_sources_cuda(karst_context *context, const karst_matrix *A, karst_ilu_analysis *analysis)
{
  karst_ilu_cuda *plan = karst_ilu_cuda_of(analysis);
  karst_status status = start_blocks(context, A, false, &plan->lower, &analysis->plan_memory);
  if (!status) status = start_blocks(context, A, true, &plan->upper, &analysis->plan_memory);
  return status;
}

karst_status karst_ilu_bound_rows_cuda(karst_context *context, const karst_ilu_pattern_cuda *pattern,
                                       const karst_ilu_analysis *analysis, karst_ilu_shape *shape)
{
  row_bounds bounds;
  const karst_status status = karst_cuda_compute(context, 1, "the plan of block ILU", &bounds, [&](row_bounds *found) {
    bound_rows<<<karst_cuda_grid(analysis->rows, THREADS), THREADS, 0, karst_cuda_of(context)->stream>>>(
        analysis->rows, *pattern, analysis->modified, found);
  });
  if (status) return status;
  shape->products = (int64_t)bounds.products;
  shape->most_products = (int64_t)bounds.most_products;
  shape->longest = (int64_t)bounds.longest;
  return KARST_SUCCESS;
}

karst_status karst_ilu_measure_rows_cuda(karst_context *context, const karst_ilu_cuda *plan, int64_t *longest)
{
  unsigned long long measured;
  const karst_status status =
      karst_cuda_compute(context, 1, "the plan of block ILU", &measured, [&](unsigned long long *found) {
        measure_rows<<<karst_cuda_grid(plan->lower.rows, THREADS), THREADS, 0, karst_cuda_of(context)->stream>>>(
            plan->lower, plan->upper, found);
      });
  if (!status) *longest = (int64_t)measured;
  return status;
}

karst_status karst_ilu_list_by_blocks_cuda(karst_context *context, const karst_ilu_pattern_cuda *pattern,
                                           karst_ilu_analysis *analysis)
{
  cudaStream_t stream = karst_cuda_of(context)->stream;
  karst_ilu_cuda *plan = karst_ilu_cuda_of(analysis);
  karst_triangle *lower = &plan->lower, *upper = &plan->upper;
  const unsigned grid = karst_cuda_grid(analysis->rows, THREADS);
  unsigned long long products[2];
  karst_index *lower_next = NULL, *upper_next = NULL;
  karst_status status = start_list(context, lower, &analysis->plan_memory);
  if (!status) status = start_list(context, upper, &analysis->plan_memory);
  if (!status)
    status = karst_cuda_compute(context, 2, "the plan of block ILU", products, [&](unsigned long long *total) {
      count_products<<<grid, THREADS, 0, stream>>>(both_of(plan, pattern), total);
    });
  if (!status) status = make_room(context, products[0], lower, &lower_next, &analysis->plan_memory);
  if (!status) status = make_room(context, products[1], upper, &upper_next, &analysis->plan_memory);
  if (!status) fill_products<<<grid, THREADS, 0, stream>>>(both_of(plan, pattern), lower_next, upper_next);
  karst_cuda_release(context, lower_next, upper_next);
  return status;
}

karst_status karst_ilu_list_by_rows_cuda(karst_context *context, const karst_ilu_pattern_cuda *pattern,
                                         int rows_of_warp, karst_ilu_analysis *analysis, karst_ilu_row_lists *lists)
{
  const char *what = "the plan of block ILU";
  cudaStream_t stream = karst_cuda_of(context)->stream;
  const karst_ilu_cuda *plan = karst_ilu_cuda_of(analysis);
  const both_triangles both = both_of(plan, pattern);
  const int64_t rows = analysis->rows;
  const unsigned grid = karst_cuda_grid(rows * 32, THREADS);
  int64_t products;
  karst_status status = karst_ilu_cut_levels_cuda(context, &pattern->lower, rows_of_warp, &lists->tasks, &lists->task,
                                                  &analysis->plan_memory);
  if (!status) status = karst_cuda_take(context, rows, what, &lists->row, &analysis->plan_memory);
  if (!status) status = karst_cuda_take(context, rows + 1, what, &lists->list, &analysis->plan_memory);
  if (status) return status;
  place_rows<<<karst_cuda_grid(rows, THREADS), THREADS, 0, stream>>>(plan->lower, plan->upper, lists->row);
  cudaMemsetAsync(lists->list + rows, 0, sizeof *lists->list, stream);
  find_row_products<<<grid, THREADS, 0, stream>>>(both, lists->row, lists->list, NULL);
  status = karst_ilu_sum_offsets_cuda(context, rows + 1, lists->list);
  if (!status) status = context->backend->download(context, &products, lists->list + rows, sizeof products);
  if (!status) status = karst_cuda_take(context, products, what, &lists->product, &analysis->plan_memory);
  if (status) return status;
  find_row_products<<<grid, THREADS, 0, stream>>>(both, lists->row, lists->list, lists->product);
  return KARST_SUCCESS;
}

karst_status karst_ilu_list_dropped_cuda(karst_context *context, const karst_ilu_pattern_cuda *pattern,
                                         karst_ilu_analysis *analysis, karst_ilu_dropped_list *dropped)
{
  const char *what = "the dropped products of block ILU";
  cudaStream_t stream = karst_cuda_of(context)->stream;
  const both_triangles both = both_of(karst_ilu_cuda_of(analysis), pattern);
  const int64_t rows = analysis->rows;
  const unsigned grid = karst_cuda_grid(rows, THREADS);
  int64_t products;
  karst_status status = karst_cuda_take(context, rows + 1, what, &dropped->list, &analysis->plan_memory);
  if (status) return status;
  cudaMemsetAsync(dropped->list + rows, 0, sizeof *dropped->list, stream);
  find_dropped<<<grid, THREADS, 0, stream>>>(both, dropped->list, NULL);
  status = karst_ilu_sum_offsets_cuda(context, rows + 1, dropped->list);
  if (!status) status = context->backend->download(context, &products, dropped->list + rows, sizeof products);
  if (!status) status = karst_cuda_take(context, products, what, &dropped->product, &analysis->plan_memory);
  if (!status) find_dropped<<<grid, THREADS, 0, stream>>>(both, dropped->list, dropped->product);
  return status;
}
