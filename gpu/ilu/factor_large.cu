/* factor_large.cu - block ILU on a given pattern as in factor.cu, for blocks of any size. A block of threads makes a
 * block row, in the level order of L, once the rows that it needs are marked as done.
 *
 * The equations are those of factor.cu. A second variant, for modified ILU, adds R times the products that have no
 * place in the pattern to the diagonal block:
 *
 *     D_i = a_ii - R sum_p a_ip U'_pj        over all (i, j) that are not in the pattern
 *
 * Blocks are worked on where they are stored, element after element. */
#include "ilu.h"

#include "gpu/invert.h"

namespace
{

enum { THREADS = KARST_ILU_THREADS };

/* A block in the slices: element (r, c) is at[c * stride + r]. */
struct block_view {
  double *at;
  int64_t stride;
};

__device__ block_view view(const karst_triangle &t, int b, int64_t block)
{
  int64_t stride = (int64_t)t.group * b, entry = block / t.group, q = block % t.group;
  return {t.value + entry * b * stride + q * b, stride};
}

/* Returns the scalars of the line of one block of threads. It is shared memory for rows or columns of a block, or
 * for the parts of a maximum. While a block is inverted, the work space of the inversion takes its place. */
int line_length(int b) { return b < THREADS ? (int)THREADS : b; }

/* Returns the largest of the threads' values. Ties and NaN do not matter to the callers. */
__device__ double largest_of_threads(double mine, double *line)
{
  __syncthreads();
  line[threadIdx.x] = mine;
  for (int half = THREADS / 2; half > 0; half /= 2) {
    __syncthreads();
    if (threadIdx.x < half) line[threadIdx.x] = fmax(line[threadIdx.x], line[threadIdx.x + half]);
  }
  __syncthreads();
  double largest = line[0];
  __syncthreads();
  return largest;
}

/* Puts a_ij into its place: A's block, less the products of its list. */
__device__ void accumulate(const karst_triangle &lower, const karst_triangle &upper, const karst_triangle &t, int b,
                           const double *A, int64_t number)
{
  const int64_t bb = (int64_t)b * b;
  const block_view to = view(t, b, number);
  const karst_index source = t.source[number];
  for (int64_t v = threadIdx.x; v < bb; v += THREADS) {
    const int64_t r = v % b, c = v / b;
    double sum = source >= 0 ? A[source * bb + v] : 0;
    for (karst_index n = t.list[number]; n < t.list[number + 1]; n++) {
      const block_view left = view(lower, b, t.product[n].left), right = view(upper, b, t.product[n].right);
      const double *column = right.at + c * right.stride;
      for (int s = 0; s < b; s++) sum -= left.at[s * left.stride + r] * __ldcg(&column[s]);
    }
    to.at[c * to.stride + r] = sum;
  }
  __syncthreads();
}

/* Multiplies block by right from the right, as many rows at a time as line has room for. Returns 0 unless an element is
 * not finite. */
__device__ double multiply_from_right(int b, block_view block, block_view right, double *line)
{
  const int at_once = b < THREADS ? THREADS / b : 1;
  double poison = 0;
  for (int first = 0; first < b; first += at_once) {
    const int count = min(at_once, b - first);
    for (int v = threadIdx.x; v < count * b; v += THREADS)
      line[v] = block.at[v / count * block.stride + first + v % count];
    __syncthreads();
    for (int v = threadIdx.x; v < count * b; v += THREADS) {
      const int r = v % count, c = v / count;
      double sum = 0;
      for (int s = 0; s < b; s++) sum += line[s * count + r] * __ldcg(&right.at[c * right.stride + s]);
      block.at[c * block.stride + first + r] = sum;
      poison += sum * 0;
    }
    __syncthreads();
  }
  return poison;
}

/* Multiplies block by left from the left, as many columns at a time as line has room for. Returns 0 unless an element
 * is not finite. */
__device__ double multiply_from_left(int b, block_view left, block_view block, double *line)
{
  const int at_once = b < THREADS ? THREADS / b : 1;
  double poison = 0;
  for (int first = 0; first < b; first += at_once) {
    const int count = min(at_once, b - first);
    for (int v = threadIdx.x; v < count * b; v += THREADS) line[v] = block.at[(first + v / b) * block.stride + v % b];
    __syncthreads();
    for (int v = threadIdx.x; v < count * b; v += THREADS) {
      const int r = v % b, c = v / b;
      double sum = 0;
      for (int s = 0; s < b; s++) sum += left.at[s * left.stride + r] * line[c * b + s];
      block.at[(first + c) * block.stride + r] = sum;
      poison += sum * 0;
    }
    __syncthreads();
  }
  return poison;
}

/* Returns the largest absolute element of count blocks, which are numbers first, first + group and so on. */
__device__ double largest_of_blocks(const karst_triangle &t, int b, int64_t first, int64_t count, double *line)
{
  double largest = 0;
  for (int64_t e = 0; e < count; e++) {
    const block_view block = view(t, b, first + e * t.group);
    for (int64_t v = threadIdx.x; v < (int64_t)b * b; v += THREADS)
      largest = fmax(largest, fabs(block.at[v / b * block.stride + v % b]));
  }
  return largest_of_threads(largest, line);
}

/* Waits for the rows that this one needs; the values that they stored can be read then. */
__device__ void await_rows(const karst_triangle &lower, int64_t block, int64_t length, const int *done)
{
  for (int64_t e = threadIdx.x; e < length; e += THREADS) {
    const karst_index pivot = lower.column[block + e * lower.group];
    if (pivot == lower.slots) continue;
    while (!*(const volatile int *)&done[pivot]) continue;
  }
  __threadfence();
  __syncthreads();
}

__device__ void mark_done(int *done, karst_index slot)
{
  __threadfence();
  __syncthreads();
  if (threadIdx.x == 0) *(volatile int *)&done[slot] = 1;
}

/* Subtracts R times the dropped products of the row in a slot from a block, which the threads have elements of as in
 * accumulate. */
__device__ void subtract_dropped(const karst_triangle &lower, const karst_triangle &upper, int b, karst_index slot,
                                 const karst_ilu_dropped_list &dropped, double modified, block_view to)
{
  for (int64_t v = threadIdx.x; v < (int64_t)b * b; v += THREADS) {
    const int64_t r = v % b, c = v / b;
    double sum = 0;
    for (int64_t n = dropped.list[slot]; n < dropped.list[slot + 1]; n++) {
      const block_view left = view(lower, b, dropped.product[n].left), right = view(upper, b, dropped.product[n].right);
      const double *column = right.at + c * right.stride;
      for (int s = 0; s < b; s++) sum += left.at[s * left.stride + r] * __ldcg(&column[s]);
    }
    to.at[c * to.stride + r] -= modified * sum;
  }
  __syncthreads();
}

template <bool MODIFIED>
__global__ void __launch_bounds__(THREADS)
    factor_large(const karst_triangle lower, const karst_triangle upper, int b, const double *A, double shift,
                 int *done, karst_ilu_finding_cuda *finding, const karst_ilu_dropped_list dropped, double modified)
{
  extern __shared__ double line[]; /* shared_bytes(b) */
  for (karst_index slot = (karst_index)blockIdx.x; slot < lower.rows; slot += (karst_index)gridDim.x) {
    const karst_index slice = slot / lower.group, other = lower.other[slot], other_slice = other / upper.group;
    const int64_t first = lower.start[slice] * lower.group + slot % lower.group;
    const int64_t pivot = upper.start[other_slice] * upper.group + other % upper.group;
    const int64_t lower_length = lower.start[slice + 1] - lower.start[slice];
    const int64_t upper_length = upper.start[other_slice + 1] - upper.start[other_slice];
    const unsigned long long row = 4 * (unsigned long long)lower.row[slot];
    double bad = 0;

    await_rows(lower, first, lower_length, done);
    for (int64_t e = 0; e < lower_length; e++) accumulate(lower, upper, lower, b, A, first + e * lower.group);
    for (int64_t e = 0; e < upper_length; e++) accumulate(lower, upper, upper, b, A, pivot + e * upper.group);
    if (MODIFIED) subtract_dropped(lower, upper, b, slot, dropped, modified, view(upper, b, pivot));
    double largest = 0;
    if (shift > 0)
      largest = fmax(largest_of_blocks(lower, b, first, lower_length, line),
                     largest_of_blocks(upper, b, pivot, upper_length, line));
    if (largest == 0) largest = finding->norm;
    const block_view inverse = view(upper, b, pivot);
    karst_block_in_memory diagonal(b, inverse.at, (int)inverse.stride, line);
    const karst_reason reason = karst_cuda_invert(diagonal);
    __syncthreads();
    if (reason != KARST_SOUND) {
      const bool replace = reason == KARST_SINGULAR_BLOCK && shift > 0 && largest > 0;
      for (int64_t v = threadIdx.x; v < (int64_t)b * b; v += THREADS)
        inverse.at[v / b * inverse.stride + v % b] = replace && v / b == v % b ? 1 / (shift * largest) : 0;
      if (threadIdx.x == 0 && replace) atomicAdd(&finding->shifted, 1ull);
      if (threadIdx.x == 0 && !replace)
        atomicMin(&finding->first,
                  row + (reason == KARST_SINGULAR_BLOCK ? KARST_FAULT_SINGULAR : KARST_FAULT_PIVOT_NOT_FINITE));
    }
    __syncthreads();
    for (int64_t e = 1; e < upper_length; e++)
      bad += multiply_from_left(b, inverse, view(upper, b, pivot + e * upper.group), line);
    mark_done(done, slot);
    for (int64_t e = 0; e < lower_length; e++) {
      const karst_index neighbour = lower.column[first + e * lower.group];
      if (neighbour == lower.slots) continue;
      const karst_index their = lower.other[neighbour];
      bad += multiply_from_right(b, view(lower, b, first + e * lower.group),
                                 view(upper, b, upper.start[their / upper.group] * upper.group + their % upper.group),
                                 line);
    }
    if (__syncthreads_or(bad != 0) && threadIdx.x == 0) atomicMin(&finding->first, row + KARST_FAULT_ROW_NOT_FINITE);
  }
}

size_t shared_bytes(int b)
{
  const size_t work = (size_t)line_length(b) * sizeof(double), inversion = karst_cuda_invert_shared(b);
  return work > inversion ? work : inversion;
}

/* factor_state; factor_work is done, int [rows] in device memory: which slots of lower are factored */
struct large_state {
  int grid; /* blocks of threads that are resident together */
  karst_ilu_dropped_list dropped;
};

const void *kernel_for(bool modified)
{
  return modified ? (const void *)factor_large<true> : (const void *)factor_large<false>;
}

karst_status analyse_large(karst_context *context, const karst_matrix *A, const karst_ilu_pattern_cuda *pattern,
                           const karst_ilu_shape *shape, karst_ilu_analysis *analysis)
{
  (void)A;
  large_state *state;
  karst_status status = karst_allocate_zero(context, &state, 1, sizeof *state, "the plan of block ILU");
  if (status) return status;
  karst_ilu_cuda_of(analysis)->factor_state = state;
  status = karst_ilu_list_by_blocks_cuda(context, pattern, analysis);
  if (!status && shape->modified) status = karst_ilu_list_dropped_cuda(context, pattern, analysis, &state->dropped);
  if (status) return status;
  /* A row counts as many times as it has warps. */
  return karst_ilu_resident_cuda(context, kernel_for(shape->modified), shared_bytes(shape->block_size),
                                 KARST_ILU_HELD_SLICES, shape->rows * THREADS / 32, shape->levels, &state->grid);
}

void forget_large(karst_context *context, karst_ilu_cuda *plan)
{
  large_state *state = static_cast<large_state *>(plan->factor_state);
  if (!state) return;
  context->backend->release(context, state->dropped.list);
  context->backend->release(context, state->dropped.product);
  karst_release(context, state);
}

karst_status plan_large(karst_context *context, karst_ilu *ilu)
{
  int *done;
  karst_status status = karst_ilu_take(context, ilu->rows, "block ILU", &done, &ilu->plan_memory);
  karst_ilu_cuda_of(ilu)->factor_work = done;
  return status;
}

template <bool MODIFIED>
void launch_large(karst_context *context, const karst_matrix *A, double shift, const karst_ilu_cuda *plan)
{
  const large_state *state = static_cast<const large_state *>(plan->factor_state);
  cudaStream_t stream = karst_cuda_of(context)->stream;
  karst_triangle lower = plan->lower, upper = plan->upper;
  karst_ilu_finding_cuda *finding = plan->finding;
  karst_ilu_dropped_list dropped = state->dropped;
  int b = plan->block_size, *done = static_cast<int *>(plan->factor_work);
  const double *value = A->value;
  double modified = plan->modified;
  void *arguments[] = {&lower, &upper, &b, &value, &shift, &done, &finding, &dropped, &modified};
  cudaMemsetAsync(done, 0, (size_t)lower.rows * sizeof *done, stream);
  cudaLaunchCooperativeKernel(kernel_for(MODIFIED), dim3((unsigned)state->grid), dim3(THREADS), arguments,
                              shared_bytes(b), stream);
}

void destroy_large(karst_context *context, karst_ilu_cuda *plan)
{
  context->backend->release(context, plan->factor_work);
}

} // namespace

const karst_ilu_factor_variant karst_ilu_factor_large_cuda = {analyse_large, forget_large,  launch_large<false>,
                                                              plan_large,    destroy_large, false};
const karst_ilu_factor_variant karst_ilu_factor_modified_cuda = {analyse_large, forget_large,  launch_large<true>,
                                                                 plan_large,    destroy_large, false};
