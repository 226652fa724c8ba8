/* ilu_factor_large.cu - block ILU on a given pattern as in ilu_factor.cu, for blocks of any size: one block of threads
 * makes a block row, in the level order of L, once the rows that it needs are marked as done.
 *
 * The equations are those of ilu_factor.cu. Blocks are worked on where they are stored, element after element. */
#include "ilu.h"
#include "dense.h"

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

/* The work space of one block of threads, shared memory. Each array has an even length: the last of an odd one is read
 * together with what follows it. */
struct workspace {
  double *scale, *size; /* [b] of the rows and of the columns of a pivot block */
  double *line;         /* [max(b, THREADS)] rows or columns of a block, and the parts of a maximum */
  int *pivot;           /* [b] */
};

__host__ __device__ int even_length(int b) { return b + b % 2; }

__host__ __device__ int line_length(int b) { return b < THREADS ? (int)THREADS : even_length(b); }

__device__ workspace workspace_at(int b, double *shared)
{
  const int even = even_length(b);
  return {shared, shared + even, shared + 2 * even, (int *)(shared + 2 * even + line_length(b))};
}

/* The largest of the threads' values; ties and NaN do not matter to the callers. */
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

/* a_ij into its place: A's block, less the products of its list. */
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

/* block = block right, as many rows at a time as there is work space for. Returns 0 unless an element is not finite. */
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

/* block = left block, by columns. */
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

/* Sizes that pivots are judged by; false where an entry is not finite. *singular: a row of zeros. */
__device__ bool measure(int b, block_view a, const workspace &w, bool *singular)
{
  bool finite = true, zero = false;
  for (int r = threadIdx.x; r < b; r += THREADS) {
    double largest = 0;
    for (int c = 0; c < b; c++) {
      double size = fabs(a.at[c * a.stride + r]);
      finite = finite && size <= DBL_MAX;
      largest = fmax(largest, size);
    }
    zero = zero || largest == 0;
    w.scale[r] = 1 / largest;
  }
  finite = __syncthreads_and(finite);
  *singular = __syncthreads_or(zero);
  for (int c = threadIdx.x; c < b; c += THREADS) {
    double largest = 0;
    for (int r = 0; r < b; r++) largest = fmax(largest, fabs(a.at[c * a.stride + r]) * w.scale[r]);
    w.size[c] = largest;
  }
  __syncthreads();
  return finite;
}

/* The row of the pivot of column c: the first of the largest. */
__device__ int find_pivot(int b, int c, block_view a, const workspace &w, double *size)
{
  double mine = -1;
  int at = b;
  for (int r = c + (int)threadIdx.x; r < b; r += THREADS) {
    double candidate = fabs(a.at[c * a.stride + r]) * w.scale[r];
    if (candidate > mine) {
      mine = candidate;
      at = r;
    }
  }
  *size = largest_of_threads(mine, w.line);
  return b - (int)largest_of_threads(mine == *size ? (double)(b - at) : 0, w.line);
}

__device__ void exchange_rows(int b, int c, int best, block_view a, const workspace &w)
{
  for (int j = threadIdx.x; j < b && best != c; j += THREADS) {
    double entry = a.at[j * a.stride + c];
    a.at[j * a.stride + c] = a.at[j * a.stride + best];
    a.at[j * a.stride + best] = entry;
  }
  if (threadIdx.x == 0) {
    double scale = w.scale[c];
    w.scale[c] = w.scale[best];
    w.scale[best] = scale;
    w.pivot[c] = best;
  }
  __syncthreads();
}

/* Step c of the elimination; line keeps column c as it was. */
__device__ void eliminate(int b, int c, block_view a, const workspace &w)
{
  const double inverse = 1 / a.at[c * a.stride + c];
  for (int r = threadIdx.x; r < b; r += THREADS) w.line[r] = a.at[c * a.stride + r];
  __syncthreads();
  for (int r = threadIdx.x; r < b; r += THREADS) a.at[c * a.stride + r] = r == c;
  __syncthreads();
  for (int j = threadIdx.x; j < b; j += THREADS) a.at[j * a.stride + c] *= inverse;
  __syncthreads();
  for (int64_t v = threadIdx.x; v < (int64_t)b * b; v += THREADS) {
    const int64_t r = v % b, j = v / b;
    if (r != c) a.at[j * a.stride + r] -= w.line[r] * a.at[j * a.stride + c];
  }
  __syncthreads();
}

/* karst_block_invert of lib/dense.h by one block of threads, where the block stands. */
__device__ karst_reason invert(int b, block_view a, const workspace &w)
{
  bool singular, finite = true;
  if (!measure(b, a, w, &singular)) return KARST_NOT_FINITE;
  if (singular) return KARST_SINGULAR_BLOCK;
  for (int c = 0; c < b; c++) {
    double size;
    const int best = find_pivot(b, c, a, w, &size);
    if (!(size > karst_block_rounding(b) * w.size[c])) return KARST_SINGULAR_BLOCK;
    exchange_rows(b, c, best, a, w);
    eliminate(b, c, a, w);
  }
  for (int r = threadIdx.x; r < b; r += THREADS)
    for (int c = b - 1; c >= 0; c--) {
      double entry = a.at[c * a.stride + r];
      a.at[c * a.stride + r] = a.at[w.pivot[c] * a.stride + r];
      a.at[w.pivot[c] * a.stride + r] = entry;
    }
  __syncthreads();
  for (int64_t v = threadIdx.x; v < (int64_t)b * b; v += THREADS)
    finite = finite && fabs(a.at[v / b * a.stride + v % b]) <= DBL_MAX;
  return __syncthreads_and(finite) ? KARST_SOUND : KARST_SINGULAR_BLOCK;
}

/* The largest absolute element of blocks number first, first + group, ... */
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

__global__ void __launch_bounds__(THREADS)
    factor_large(const karst_triangle lower, const karst_triangle upper, int b, const double *A, double shift,
                 int *done, karst_ilu_finding_cuda *finding)
{
  extern __shared__ double shared[];
  const workspace w = workspace_at(b, shared);
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
    double largest = 0;
    if (shift > 0)
      largest = fmax(largest_of_blocks(lower, b, first, lower_length, w.line),
                     largest_of_blocks(upper, b, pivot, upper_length, w.line));
    if (largest == 0) largest = finding->norm;
    const block_view inverse = view(upper, b, pivot);
    const karst_reason reason = invert(b, inverse, w);
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
      bad += multiply_from_left(b, inverse, view(upper, b, pivot + e * upper.group), w.line);
    mark_done(done, slot);
    for (int64_t e = 0; e < lower_length; e++) {
      const karst_index neighbour = lower.column[first + e * lower.group];
      if (neighbour == lower.slots) continue;
      const karst_index their = lower.other[neighbour];
      bad += multiply_from_right(b, view(lower, b, first + e * lower.group),
                                 view(upper, b, upper.start[their / upper.group] * upper.group + their % upper.group),
                                 w.line);
    }
    if (__syncthreads_or(bad != 0) && threadIdx.x == 0) atomicMin(&finding->first, row + KARST_FAULT_ROW_NOT_FINITE);
  }
}

size_t shared_bytes(int b)
{
  return (size_t)(2 * even_length(b) + line_length(b)) * sizeof(double) + (size_t)b * sizeof(int);
}

/* factor_state; factor_work is done, int [rows] in device memory: which slots of lower are factored */
struct large_state {
  int grid; /* blocks of threads that are resident together */
};

karst_status analyse_large(karst_context *context, const karst_ilu_pattern_cuda *pattern, const karst_ilu_shape *shape,
                           karst_ilu_analysis *analysis)
{
  large_state *state;
  karst_status status = karst_allocate_zero(context, &state, 1, sizeof *state, "the plan of block ILU");
  if (status) return status;
  karst_ilu_cuda_of(analysis)->factor_state = state;
  status = karst_ilu_list_by_blocks_cuda(context, pattern, analysis);
  if (status) return status;
  /* A row counts as many times as it has warps. */
  return karst_ilu_resident_cuda(context, (const void *)factor_large, shared_bytes(shape->block_size),
                                 KARST_ILU_HELD_SLICES, shape->rows * THREADS / 32, shape->levels, &state->grid);
}

void forget_large(karst_context *context, karst_ilu_cuda *plan) { karst_release(context, plan->factor_state); }

karst_status plan_large(karst_context *context, karst_ilu *ilu)
{
  int *done;
  karst_status status = karst_ilu_take(context, ilu->rows, "block ILU", &done, &ilu->plan_memory);
  karst_ilu_cuda_of(ilu)->factor_work = done;
  return status;
}

void launch_large(karst_context *context, const karst_matrix *A, double shift, const karst_ilu_cuda *plan)
{
  const large_state *state = static_cast<const large_state *>(plan->factor_state);
  cudaStream_t stream = karst_cuda_of(context)->stream;
  karst_triangle lower = plan->lower, upper = plan->upper;
  karst_ilu_finding_cuda *finding = plan->finding;
  int b = plan->block_size, *done = static_cast<int *>(plan->factor_work);
  const double *value = A->value;
  void *arguments[] = {&lower, &upper, &b, &value, &shift, &done, &finding};
  cudaMemsetAsync(done, 0, (size_t)lower.rows * sizeof *done, stream);
  cudaLaunchCooperativeKernel((const void *)factor_large, dim3((unsigned)state->grid), dim3(THREADS), arguments,
                              shared_bytes(b), stream);
}

void destroy_large(karst_context *context, karst_ilu_cuda *plan)
{
  context->backend->release(context, plan->factor_work);
}

} // namespace

const karst_ilu_factor_variant karst_ilu_factor_large_cuda = {analyse_large, forget_large, launch_large, plan_large,
                                                              destroy_large};
