/* factor_search.cu - block ILU on a given pattern as in factor_slice.cu, for blocks of any size. A block of threads
 * makes a block row, in the level order of L. With the option modified it adds R times the products that have no place
 * in the pattern to the diagonal block:
 *
 *     D_i = a_ii - R sum_p a_ip U'_pj        over all (i, j) that are not in the pattern
 *
 * The products are in lists (listed_row.h), unless these would take many times the memory of the factors, as with long
 * rows: memplus with k = 1 has 120 products for each entry. Each factorization then searches for them. Pivot after
 * pivot, in the order of elimination, the threads wait until the pivot's row is marked as done, and subtract the
 * products with the blocks of that row of U', an element a thread:
 *
 *     a_ij = a_ij - a_ip U'_pj        for all j > p in row p of U' that are in row i
 *
 * The columns of the longer of the two rows are searched for those of the shorter one. A row waits for a pivot only
 * after it has used the pivots before, so that consecutive long rows are in progress at the same time.
 *
 * Products without a place, for modified ILU, are searched for once all a_ip are known. Neighbours are in the order of
 * elimination in all rows (ilu_cuda.h), so that the place of entry k of a row needs no search. */
#include "gpu/ilu/search/listed_row.h"
#include "lib/base/search.h"

namespace
{

/* The columns of a strict triangle by rows, in device memory. */
struct strict_columns {
  karst_index *start, *column;
};

enum { THREADS = 256 }; /* for a search of the products */

/* factor_state */
struct search_state {
  bool listed, modified;
  strict_columns lower, upper;    /* unless listed */
  karst_ilu_dropped_list dropped; /* if listed and modified */
};

struct search_call {
  large_call f;
  strict_columns lower, upper;
  karst_ilu_dropped_list dropped;
};

/* A pivot of a row: its slot in lower, block number left of L, the entries begin to end - 1 of its row of U, and the
 * number of its D^-1, which the blocks of U' follow. */
struct pivot_row {
  karst_index slot, begin, end;
  int64_t left, right;
};

/* A row and its entries in the strict triangles. */
struct search_row {
  large_row at;
  karst_index number, lower_begin, lower_end, upper_begin, upper_end;
};

__device__ search_row row_to_search(const search_call &call, karst_index slot)
{
  const karst_index i = call.f.lower.row[slot];
  return {row_in(call.f, slot),   i, call.lower.start[i], call.lower.start[i + 1], call.upper.start[i],
          call.upper.start[i + 1]};
}

__device__ int64_t block_of_lower(const search_call &call, const search_row &row, karst_index k)
{
  return row.at.lower + (int64_t)(k - row.lower_begin) * call.f.lower.group;
}

/* Entry k of a row of U' whose D^-1 is block number first and whose last entry is end - 1. */
__device__ int64_t block_of_upper(const search_call &call, int64_t first, karst_index end, karst_index k)
{
  return first + (int64_t)(end - k) * call.f.upper.group;
}

__device__ pivot_row pivot_of(const search_call &call, const search_row &row, karst_index k)
{
  const karst_index p = call.lower.column[k];
  const int64_t left = block_of_lower(call, row, k);
  const karst_index slot = call.f.lower.column[left];
  return {slot, call.upper.start[p], call.upper.start[p + 1], left, first_of_upper(call.f, slot)};
}

/* Subtracts a product from element (r, c) of a block of the row, and updates the size if it is the diagonal block. */
__device__ __forceinline__ void subtract_element(const large_call &f, bool diagonal, block_view to, int64_t r,
                                                 int64_t c, double product)
{
  const double difference = to.at[c * to.stride + r] - product;
  to.at[c * to.stride + r] = difference;
  if (diagonal) size_here(f)[c * f.b + r] += fabs(difference);
}

/* Returns the block of a row in column j; at is NULL if it is not in the pattern. */
__device__ block_view find_block(const search_call &call, const search_row &row, karst_index j)
{
  const large_call &f = call.f;
  if (j == row.number) return block_at(f.upper, f.b, row.at.upper);
  if (j < row.number) {
    const karst_index k = karst_find_column(call.lower.column, row.lower_begin, row.lower_end, j);
    return k < 0 ? block_view{NULL, 0} : block_at(f.lower, f.b, block_of_lower(call, row, k));
  }
  const karst_index k = karst_find_column(call.upper.column, row.upper_begin, row.upper_end, j);
  return k < 0 ? block_view{NULL, 0} : block_at(f.upper, f.b, block_of_upper(call, row.at.upper, row.upper_end, k));
}

/* Fetches the blocks of A. Unless size is NULL, the first one is the diagonal block. */
__device__ void start_blocks(const large_call &f, const karst_triangle &t, int64_t first, int64_t length, double *size)
{
  const int64_t bb = (int64_t)f.b * f.b;
  for (int64_t number = threadIdx.x; number < length * bb; number += THREADS) {
    const int64_t block = first + number / bb * t.group, v = number % bb;
    const block_view to = block_at(t, f.b, block);
    const karst_index source = t.source[block];
    const double element = source >= 0 ? f.A[source * bb + v] : 0;
    to.at[v / f.b * to.stride + v % f.b] = element;
    if (size && number < bb) size[v] = fabs(element);
  }
}

/* Waits for the row of a pivot; afterwards its values can be read, bypassing the first-level cache. */
__device__ __forceinline__ void await_pivot(const large_call &f, const pivot_row &pivot, bool &ready)
{
  if (ready) return;
  while (!*(const volatile int *)&f.done[pivot.slot]) continue;
  __threadfence();
  ready = true;
}

/* Returns element (r, c) of left times right. Another row has made right. */
template <int B>
__device__ __forceinline__ double product(int size, block_view left, block_view right, int64_t r, int64_t c)
{
  const int b = B ? B : size;
  const double *column = right.at + c * right.stride;
  double sum = 0;
  for (int s = 0; s < b; s++) sum += left.at[s * left.stride + r] * __ldcg(&column[s]);
  return sum;
}

/* Subtracts the products with a pivot: walks its row of U' and searches row i. */
template <int B>
__device__ void subtract_by_pivot(const search_call &call, const search_row &row, const pivot_row &pivot)
{
  const large_call &f = call.f;
  const int b = B ? B : f.b;
  const int64_t bb = (int64_t)b * b, elements = (pivot.end - pivot.begin) * bb;
  const block_view left = block_at(f.lower, b, pivot.left);
  bool ready = false;
  for (int64_t number = threadIdx.x; number < elements; number += THREADS) {
    const int64_t v = B == 1 ? 0 : number % bb, r = v % b, c = v / b;
    const karst_index k = pivot.begin + (karst_index)(B == 1 ? number : number / bb);
    const block_view to = find_block(call, row, call.upper.column[k]);
    if (!to.at) continue;
    await_pivot(f, pivot, ready);
    subtract_element(f, call.upper.column[k] == row.number, to, r, c,
                     product<B>(b, left, block_at(f.upper, b, block_of_upper(call, pivot.right, pivot.end, k)), r, c));
  }
}

/* The same the other way round: walks the blocks of row i that follow the pivot, those of L, of D and of U in turn, and
 * searches the pivot's row. next: the entry of L after the pivot's. */
template <int B>
__device__ void subtract_by_row(const search_call &call, const search_row &row, const pivot_row &pivot,
                                karst_index next)
{
  const large_call &f = call.f;
  const int b = B ? B : f.b;
  const int64_t bb = (int64_t)b * b, lower = row.lower_end - next, upper = row.upper_end - row.upper_begin;
  const block_view left = block_at(f.lower, b, pivot.left);
  bool ready = false;
  for (int64_t number = threadIdx.x; number < (lower + 1 + upper) * bb; number += THREADS) {
    const int64_t n = number / bb, v = number % bb, r = v % b, c = v / b;
    const bool is_lower = n < lower;
    const karst_index own = is_lower ? next + (karst_index)n : row.upper_begin + (karst_index)(n - lower - 1);
    const karst_index j = is_lower ? call.lower.column[own] : n == lower ? row.number : call.upper.column[own];
    const karst_index k = karst_find_column(call.upper.column, pivot.begin, pivot.end, j);
    if (k < 0) continue;
    const block_view to =
        is_lower
            ? block_at(f.lower, b, block_of_lower(call, row, own))
            : block_at(f.upper, b, n == lower ? row.at.upper : block_of_upper(call, row.at.upper, row.upper_end, own));
    await_pivot(f, pivot, ready);
    subtract_element(f, n == lower, to, r, c,
                     product<B>(b, left, block_at(f.upper, b, block_of_upper(call, pivot.right, pivot.end, k)), r, c));
  }
}

/* Calls visit(pivot, the entry of L after the pivot's) for each pivot of a row, in the order of elimination, with all
 * threads; they look at many pivots at a time. some: [THREADS] shared memory. */
template <typename visitor>
__device__ void each_pivot(const search_call &call, const search_row &row, pivot_row *some, visitor visit)
{
  for (int64_t first = row.lower_begin; first < row.lower_end; first += THREADS) {
    const int64_t left = row.lower_end - first;
    const int count = left < THREADS ? (int)left : (int)THREADS;
    if ((int)threadIdx.x < count) some[threadIdx.x] = pivot_of(call, row, (karst_index)(first + threadIdx.x));
    __syncthreads();
    for (int n = 0; n < count; n++) {
      visit(some[n], (karst_index)(first + n + 1));
      __syncthreads(); /* the next pivot's block of L has been made */
    }
  }
}

template <int B> __device__ void eliminate(const search_call &call, const search_row &row, pivot_row *some)
{
  const int64_t width = row.lower_end - row.lower_begin + 1 + row.upper_end - row.upper_begin;
  each_pivot(call, row, some, [&](const pivot_row &pivot, karst_index next) {
    if (pivot.end - pivot.begin <= width)
      subtract_by_pivot<B>(call, row, pivot);
    else
      subtract_by_row<B>(call, row, pivot, next);
  });
  /* A pivot without products has not been waited for, but L is multiplied by its D^-1. */
  for (int64_t k = row.lower_begin + threadIdx.x; k < row.lower_end; k += THREADS) {
    bool ready = false;
    await_pivot(call.f, pivot_of(call, row, (karst_index)k), ready);
  }
  __syncthreads();
}

/* Subtracts R times the products without a place from the diagonal block: as many elements at a time as there are
 * threads. Threads beyond the elements of a block take a share of the products. */
template <int B>
__device__ void subtract_dropped(const search_call &call, const search_row &row, pivot_row *some, double *line)
{
  const large_call &f = call.f;
  const int b = B ? B : f.b, t = (int)threadIdx.x;
  const int64_t bb = (int64_t)b * b;
  const int at_once = bb < THREADS ? (int)bb : (int)THREADS, shares = THREADS / at_once, share = t / at_once;
  const block_view to = block_at(f.upper, b, row.at.upper);
  for (int64_t first = 0; first < bb; first += at_once) {
    const int64_t v = first + t % at_once, r = v % b, c = v / b;
    double sum = 0, sizes = 0;
    each_pivot(call, row, some, [&](const pivot_row &pivot, karst_index) {
      if (v >= bb || share >= shares) return;
      const block_view left = block_at(f.lower, b, pivot.left);
      for (int64_t k = (int64_t)pivot.begin + share; k < pivot.end; k += shares)
        if (!find_block(call, row, call.upper.column[k]).at) {
          sum += product<B>(b, left, block_at(f.upper, b, block_of_upper(call, pivot.right, pivot.end, (karst_index)k)),
                            r, c);
          sizes += fabs(sum);
        }
    });
    line[t] = sum;
    __syncthreads();
    if (t < at_once && v < bb) {
      for (int s = 1; s < shares; s++) sum += line[s * at_once + t];
      subtract_element(f, true, to, r, c, f.modified * sum);
    }
    __syncthreads();
    line[t] = sizes;
    __syncthreads();
    if (t < at_once && v < bb)
      for (int s = 0; s < shares; s++) size_here(f)[v] += f.modified * line[s * at_once + t];
    __syncthreads();
  }
}

/* Makes the sums of all blocks of a row, by a search for its products. line: shared memory, as for finish_row. */
template <int B, bool MODIFIED>
__device__ __forceinline__ void sum_searched(const search_call &call, const search_row &row, double *line)
{
  __shared__ pivot_row some[THREADS];
  const large_call &f = call.f;
  start_blocks(f, f.lower, row.at.lower, row.at.lower_length, NULL);
  start_blocks(f, f.upper, row.at.upper, row.at.upper_length, size_here(f));
  __syncthreads();
  eliminate<B>(call, row, some);
  if (MODIFIED) subtract_dropped<B>(call, row, some, line);
}

template <bool LISTED> constexpr int threads_of = LISTED ? (int)LISTED_THREADS : (int)THREADS;

template <int B, bool LISTED, bool MODIFIED>
__global__ void __launch_bounds__(threads_of<LISTED>) factor(const search_call call)
{
  extern __shared__ double line[]; /* shared_bytes(b, threads) */
  const large_call &f = call.f;
  for (karst_index slot = (karst_index)blockIdx.x; slot < f.lower.rows; slot += (karst_index)gridDim.x) {
    if constexpr (LISTED) {
      const large_row row = row_in(f, slot);
      sum_listed<MODIFIED>(f, row, call.dropped);
      finish_row(f, row, line);
    } else {
      const search_row row = row_to_search(call, slot);
      sum_searched<B, MODIFIED>(call, row, line);
      finish_row(f, row.at, line);
    }
  }
}

struct instance {
  const void *kernel;
  int threads;
};

instance instance_for(int b, bool listed, bool modified)
{
  if (listed)
    return {modified ? (const void *)factor<0, true, true> : (const void *)factor<0, true, false>, LISTED_THREADS};
  if (b == 1) return {modified ? (const void *)factor<1, false, true> : (const void *)factor<1, false, false>, THREADS};
  return {modified ? (const void *)factor<0, false, true> : (const void *)factor<0, false, false>, THREADS};
}

/* Copies the columns, because the pattern does not outlive the analysis. */
karst_status keep_columns(karst_context *context, karst_index rows, int64_t blocks, const karst_index *start,
                          const karst_index *column, strict_columns *kept, int64_t *bytes)
{
  const char *what = "the plan of block ILU";
  cudaStream_t stream = karst_cuda_of(context)->stream;
  karst_status status = karst_cuda_take(context, (int64_t)rows + 1, what, &kept->start, bytes);
  if (!status) status = karst_cuda_take(context, blocks, what, &kept->column, bytes);
  if (status) return status;
  cudaMemcpyAsync(kept->start, start, ((size_t)rows + 1) * sizeof *start, cudaMemcpyDeviceToDevice, stream);
  cudaMemcpyAsync(kept->column, column, (size_t)blocks * sizeof *column, cudaMemcpyDeviceToDevice, stream);
  return KARST_SUCCESS;
}

/* With lists, rows of a few levels are in progress at a time, and a row counts as many times as it has warps. With a
 * search, as many blocks of threads work as can be resident, so that rows of many levels are in progress. */
karst_status choose_grid(karst_context *context, const karst_ilu_shape *shape, bool listed, int *grid)
{
  int each = 0;
  const instance use = instance_for(shape->block_size, listed, shape->modified);
  const size_t shared = shared_bytes(shape->block_size, use.threads);
  if (listed)
    return karst_ilu_resident_cuda(context, use.kernel, shared, KARST_ILU_HELD_SLICES, shape->rows * use.threads / 32,
                                   shape->levels, grid);
  /* The limit belongs to the kernel, so it is the same for every plan. */
  const int limit = (int)shared_bytes(KARST_BLOCK_SIZE_MAX, use.threads);
  cudaError_t error = cudaFuncSetAttribute(use.kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, limit);
  if (error == cudaSuccess)
    error = cudaOccupancyMaxActiveBlocksPerMultiprocessor(&each, use.kernel, use.threads, shared);
  const int64_t most = (int64_t)each * shape->multiprocessors;
  *grid = (int)(shape->rows < most ? shape->rows : most);
  return karst_cuda_status(context, error, "the launch of block ILU");
}

karst_status analyse_search(karst_context *context, const karst_matrix *A, const karst_ilu_pattern_cuda *pattern,
                            const karst_ilu_shape *shape, karst_ilu_analysis *analysis)
{
  (void)A;
  karst_ilu_cuda *plan = karst_ilu_cuda_of(analysis);
  search_state *state;
  int64_t *bytes = &analysis->plan_memory;
  karst_status status = karst_allocate_zero(context, &state, 1, sizeof *state, "the plan of block ILU");
  if (status) return status;
  plan->factor_state = state;
  state->listed = !karst_ilu_searches(shape);
  state->modified = shape->modified;
  if (state->listed) {
    status = karst_ilu_list_by_blocks_cuda(context, pattern, analysis);
    if (!status && state->modified) status = karst_ilu_list_dropped_cuda(context, pattern, analysis, &state->dropped);
  } else {
    status = keep_columns(context, analysis->rows, analysis->lower_blocks, pattern->lower_start, pattern->lower_column,
                          &state->lower, bytes);
    if (!status)
      status = keep_columns(context, analysis->rows, analysis->upper_blocks, pattern->upper_start,
                            pattern->upper_column, &state->upper, bytes);
  }
  return status ? status : choose_grid(context, shape, state->listed, &plan->factor_grid);
}

void forget_search(karst_context *context, karst_ilu_cuda *plan)
{
  search_state *state = static_cast<search_state *>(plan->factor_state);
  if (!state) return;
  karst_cuda_release(context, state->lower.start, state->lower.column, state->upper.start, state->upper.column,
                     state->dropped.list, state->dropped.product);
  karst_release(context, state);
}

void launch_search(karst_context *context, const karst_matrix *A, double shift, const karst_ilu_cuda *plan)
{
  const search_state *state = static_cast<const search_state *>(plan->factor_state);
  const instance use = instance_for(plan->block_size, state->listed, state->modified);
  cudaStream_t stream = karst_cuda_of(context)->stream;
  search_call call = {call_of(A, shift, plan), state->lower, state->upper, state->dropped};
  void *arguments[] = {&call};
  cudaMemsetAsync(call.f.done, 0, (size_t)call.f.lower.rows * sizeof *call.f.done, stream);
  cudaLaunchCooperativeKernel(use.kernel, dim3((unsigned)plan->factor_grid), dim3((unsigned)use.threads), arguments,
                              shared_bytes(call.f.b, use.threads), stream);
}

} // namespace

const karst_ilu_factor_variant karst_ilu_factor_block_cuda = {analyse_search, forget_search, launch_search,
                                                              plan_work,      destroy_work,  false};
