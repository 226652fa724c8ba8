/* jacobi.cu - z ~ (L D U')^-1 r on the GPU by a few Jacobi sweeps for each triangle (Anzt, Chow, Dongarra: Iterative
 * sparse triangular solves for preconditioning, Euro-Par 2015), for triangles with too many level sets:
 *
 *     x_0 = r,  x_k+1 = r - (L - I) x_k;      g = D^-1 x;      z_0 = g,  z_k+1 = g - (U' - I) z_k
 *
 * A sweep is a product with the triangle in its slices (ilu_cuda.h), one thread a scalar row; no thread waits for
 * another. */
#include "gpu/ilu/ilu_cuda.h"

namespace
{

enum { THREADS = 128 };

/* to = right - (strict triangle) x. right and to are in the order of the slots, or of the rows if row numbers are
 * given. */
template <int B, bool upper>
__global__ void __launch_bounds__(THREADS)
    sweep(const karst_triangle t, int size, const double *right, const karst_index *right_row, const double *x,
          double *to, const karst_index *to_row)
{
  const int b = B ? B : size;
  const int64_t number = blockIdx.x * (int64_t)THREADS + threadIdx.x, slot = number / b;
  const int r = (int)(number % b);
  if (slot >= t.rows) return;
  const int64_t slice = slot / t.group, q = slot % t.group, stride = (int64_t)t.group * b;
  const double *value = t.value + q * b + r;
  double sum = right[(right_row ? right_row[slot] : slot) * b + r];
  for (int64_t e = t.start[slice] + (upper ? 1 : 0); e < t.start[slice + 1]; e++) {
    const double *part = x + (int64_t)t.column[e * t.group + q] * b;
    for (int c = 0; c < b; c++) sum -= value[(e * b + c) * stride] * part[c];
  }
  to[(to_row ? to_row[slot] : slot) * b + r] = sum;
}

/* g = D^-1 y, from the slots of L to those of U'. */
__global__ void __launch_bounds__(THREADS) divide(const karst_triangle upper, int b, const double *y, double *g)
{
  const int64_t number = blockIdx.x * (int64_t)THREADS + threadIdx.x, slot = number / b;
  const int r = (int)(number % b);
  if (slot >= upper.rows) return;
  const int64_t slice = slot / upper.group, q = slot % upper.group, stride = (int64_t)upper.group * b;
  const double *inverse = upper.value + upper.start[slice] * b * stride + q * b + r;
  const double *part = y + (int64_t)upper.other[slot] * b;
  double sum = 0;
  for (int c = 0; c < b; c++) sum += inverse[c * stride] * part[c];
  g[slot * b + r] = sum;
}

/* sweep_work is two vectors, [2][b*(slots + 1)] in device memory. */
karst_status plan_jacobi(karst_context *context, karst_ilu *ilu)
{
  karst_ilu_cuda *plan = karst_ilu_cuda_of(ilu);
  /* The padding reads a block of zeros after the last slot. */
  const int64_t length = ((int64_t)plan->lower.slots + 1) * plan->block_size;
  double *vectors;
  const karst_status status =
      karst_cuda_take(context, 2 * length, "the vectors of block ILU", &vectors, &ilu->plan_memory);
  plan->sweep_work = vectors;
  if (!status) cudaMemsetAsync(vectors, 0, (size_t)(2 * length) * sizeof *vectors, karst_cuda_of(context)->stream);
  return status;
}

void solve_jacobi(karst_context *context, const karst_ilu_cuda *plan, const double *r, double *z)
{
  double *vectors = static_cast<double *>(plan->sweep_work);
  const karst_triangle &lower = plan->lower, &upper = plan->upper;
  const int b = plan->block_size, sweeps = plan->trisolve_sweeps;
  cudaStream_t stream = karst_cuda_of(context)->stream;
  const unsigned grid = karst_cuda_grid((int64_t)lower.rows * b, THREADS);
  double *vector[2] = {vectors, vectors + ((int64_t)lower.slots + 1) * b};
  context->backend->gather(context, lower.rows, b, lower.row, r, vector[0]);
  karst_cuda_instance(b, [&](auto size) {
    constexpr int B = decltype(size)::value;
    for (int s = 0; s < sweeps; s++)
      sweep<B, false><<<grid, THREADS, 0, stream>>>(lower, b, r, lower.row, vector[s % 2], vector[(s + 1) % 2], NULL);
    divide<<<grid, THREADS, 0, stream>>>(upper, b, vector[sweeps % 2], upper.x);
    for (int s = 0; s < sweeps; s++) {
      const bool last = s == sweeps - 1;
      sweep<B, true><<<grid, THREADS, 0, stream>>>(upper, b, upper.x, NULL, s == 0 ? upper.x : vector[s % 2],
                                                   last ? z : vector[(s + 1) % 2], last ? upper.row : NULL);
    }
  });
  if (sweeps == 0) context->backend->scatter(context, upper.rows, b, upper.row, upper.x, z);
}

void destroy_jacobi(karst_context *context, karst_ilu_cuda *plan)
{
  context->backend->release(context, plan->sweep_work);
}

} // namespace

const karst_ilu_sweep_variant karst_ilu_sweep_jacobi_cuda = {
    "jacobi", "sweeps of Jacobi's", NULL, NULL, NULL, solve_jacobi, plan_jacobi, destroy_jacobi};
