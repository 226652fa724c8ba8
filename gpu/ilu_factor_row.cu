/* ilu_factor_row.cu - ILU on a given pattern as in ilu_factor.cu, for b = 1 and rows of many products, such as those of
 * a 27-point stencil: one warp makes one row, in the level order of L.
 *
 * The row stands in shared memory: the entries of L as they stand in their slice, D, the entries of U'. All its
 * products,
 *
 *     a_ie -= a_ip U'_pe        p ascending,
 *
 * are in one list (ilu_lists.cu). The lanes fetch the entries U'_pe side by side and wait for them together; then one
 * pivot follows the other, and the products with a pivot are taken at once. A level costs a wait and a step through
 * shared memory for each pivot, where lanes that work on rows of their own need a step of the second-level cache for
 * each entry. */
#include "ilu.h"
#include "dense.h"

/* Products that a lane fetches at once. */
enum { PRODUCTS = 2, WARPS = KARST_ILU_THREADS / 32 };

/* A lane's products of a chunk of 32 * PRODUCTS: without one, pivot is -1. */
struct products {
  karst_index right[PRODUCTS];
  int pivot[PRODUCTS], entry[PRODUCTS];
};

static __device__ __forceinline__ products fetch(const karst_ilu_row_product *product, int64_t first, int64_t end)
{
  products chunk;
#pragma unroll
  for (int k = 0; k < PRODUCTS; k++) {
    const int64_t n = first + 32 * k + threadIdx.x % 32;
    karst_ilu_row_product one = {0, 0};
    if (n < end) one = product[n];
    chunk.right[k] = one.right;
    chunk.pivot[k] = n < end ? (int)(one.place >> 16) : -1;
    chunk.entry[k] = (int)(one.place & 0xffff);
  }
  return chunk;
}

/* Takes the products first .. end - 1 of a row. */
static __device__ __forceinline__ void eliminate(const karst_triangle &upper, const karst_ilu_row_product *product,
                                                 int64_t first, int64_t end, products chunk, double *row)
{
  int pivot = 0;
  for (; first < end; first += 32 * PRODUCTS) {
    const double *from[PRODUCTS];
    double value[PRODUCTS];
    int last = 0;
#pragma unroll
    for (int k = 0; k < PRODUCTS; k++) {
      from[k] = chunk.pivot[k] >= 0 ? upper.value + chunk.right[k] : NULL;
      last = max(last, chunk.pivot[k]);
    }
    last = (int)karst_largest_of_warp((unsigned)last);
    const products next = fetch(product, first + 32 * PRODUCTS, end);
    karst_await<PRODUCTS>(from, value);
    for (; pivot <= last; pivot++) {
      __syncwarp();
      const double factor = row[pivot];
#pragma unroll
      for (int k = 0; k < PRODUCTS; k++)
        if (chunk.pivot[k] == pivot) row[chunk.entry[k]] -= factor * value[k];
    }
    pivot = last; /* the next chunk may have more of it */
    chunk = next;
  }
  __syncwarp();
}

/* The entries of A that entries first, first + group, ... of a triangle start from. */
static __device__ __forceinline__ void start_row(const karst_triangle &t, int64_t first, int length, const double *A,
                                                 double *row)
{
  for (int e = (int)threadIdx.x % 32; e < length; e += 32) {
    const karst_index source = t.source[first + (int64_t)e * 32];
    row[e] = source >= 0 ? A[source] : 0;
  }
}

/* 1 / pivot, or what replaces it; 0 where nothing does. length: of the row. */
static __device__ __forceinline__ double invert(double pivot, double shift, const double *row, int length,
                                                unsigned long long number, karst_ilu_finding *finding)
{
  const bool finite = fabs(pivot) <= DBL_MAX, sound = finite && pivot != 0 && fabs(1 / pivot) <= DBL_MAX;
  if (sound) return 1 / pivot; /* the same in all lanes */
  double largest = 0;
  for (int e = (int)threadIdx.x % 32; e < length && shift > 0; e += 32) largest = fmax(largest, fabs(row[e]));
  for (int distance = 16; distance > 0; distance /= 2) largest = fmax(largest, __shfl_xor_sync(~0u, largest, distance));
  const bool singular = pivot == 0, replace = singular && largest > 0;
  if (threadIdx.x % 32 == 0 && replace) atomicAdd(&finding->shifted, 1ull);
  if (threadIdx.x % 32 == 0 && !replace)
    atomicMin(&finding->first, 4 * number + (singular ? KARST_FAULT_SINGULAR : KARST_FAULT_PIVOT_NOT_FINITE));
  return replace ? 1 / (shift * largest) : 0;
}

/* Where the inverse of the pivot of an entry of L stands; NULL for padding. */
static __device__ __forceinline__ const double *inverse_of_pivot(const karst_triangle &lower,
                                                                 const karst_triangle &upper, int64_t entry)
{
  const karst_index pivot = lower.column[entry];
  if (pivot == lower.slots) return NULL;
  const karst_index slot = lower.other[pivot];
  return upper.value + upper.start[slot / 32] * 32 + slot % 32;
}

static __global__ void __launch_bounds__(KARST_ILU_THREADS)
    factor(const karst_triangle lower, const karst_triangle upper, const int64_t *list,
           const karst_ilu_row_product *product, int longest, const double *A, double shift, karst_ilu_finding *finding)
{
  extern __shared__ double shared[];
  double *row = shared + threadIdx.x / 32 * longest;
  const int lane = (int)threadIdx.x % 32;
  const int64_t warps = (int64_t)gridDim.x * WARPS;
  for (int64_t slot = (int64_t)blockIdx.x * WARPS + threadIdx.x / 32; slot < lower.rows; slot += warps) {
    const int64_t slice = slot / 32, other = lower.other[slot], other_slice = other / 32;
    const int64_t left = lower.start[slice] * 32 + slot % 32, right = upper.start[other_slice] * 32 + other % 32;
    const int lower_length = (int)(lower.start[slice + 1] - lower.start[slice]);
    const int upper_length = (int)(upper.start[other_slice + 1] - upper.start[other_slice]);
    const int64_t first = list[slot], end = list[slot + 1];
    const products chunk = fetch(product, first, end);
    const double *inverse_at = lane < lower_length ? inverse_of_pivot(lower, upper, left + (int64_t)lane * 32) : NULL;
    double bad = 0;

    start_row(lower, left, lower_length, A, row);
    start_row(upper, right, upper_length, A, row + lower_length);
    __syncwarp();
    eliminate(upper, product, first, end, chunk, row);
    const unsigned long long number = (unsigned long long)lower.row[slot];
    const double inverse = invert(row[lower_length], shift, row, lower_length + upper_length, number, finding);
    for (int e = lane; e < upper_length; e += 32) {
      const double value = e > 0 ? inverse * row[lower_length + e] : inverse;
      karst_publish(upper.value + right + (int64_t)e * 32, value);
      if (e > 0) bad += value * 0;
    }
    for (int begin = 0; begin < lower_length; begin += 32) {
      const int e = begin + lane;
      const double *const from[1] = {inverse_at};
      double value[1];
      karst_await<1>(from, value);
      if (inverse_at) {
        value[0] *= row[e];
        lower.value[left + (int64_t)e * 32] = value[0];
        bad += value[0] * 0;
      }
      inverse_at = e + 32 < lower_length ? inverse_of_pivot(lower, upper, left + (int64_t)(e + 32) * 32) : NULL;
    }
    if (__any_sync(~0u, bad != 0) && lane == 0) atomicMin(&finding->first, 4 * number + KARST_FAULT_ROW_NOT_FINITE);
    __syncwarp(); /* the next row takes the place of this one */
  }
}

const void *karst_ilu_factor_row_kernel_cuda(void) { return (const void *)factor; }

size_t karst_ilu_factor_row_shared_cuda(int longest) { return (size_t)longest * WARPS * sizeof(double); }

void karst_ilu_factor_row_cuda(karst_context *context, const karst_matrix *A, double shift, const karst_ilu_cuda *plan)
{
  cudaStream_t stream = karst_cuda_of(context)->stream;
  karst_triangle lower = plan->lower, upper = plan->upper;
  karst_ilu_finding *finding = plan->finding;
  const int64_t *list = plan->row_list;
  const karst_ilu_row_product *product = plan->row_product;
  const double *value = A->value;
  int longest = plan->longest;
  void *arguments[] = {&lower, &upper, &list, &product, &longest, &value, &shift, &finding};
  cudaMemsetAsync(upper.value, 0xff, (size_t)upper.blocks * sizeof(double), stream);
  cudaLaunchCooperativeKernel((const void *)factor, dim3((unsigned)plan->factor_grid), dim3(KARST_ILU_THREADS),
                              arguments, karst_ilu_factor_row_shared_cuda(longest), stream);
}
