/* apply.cu - the preconditioner: r enters, the steps of the cycle run, z leaves. r and z differ from call to call, so
 * that their kernels are no part of the graph. A stream that is being captured gets the steps one by one. */
#include "gpu/amg/steps.h"

namespace
{

enum { THREADS = 256, EACH = 4 /* elements of a thread */ };

__device__ __forceinline__ double power_of_two(int exponent)
{
  enum { BIAS = 1023, SHIFT = 52 };
  return __longlong_as_double((long long)(exponent + BIAS) << SHIFT);
}

/* The bits of the largest |r_i|, which order as the numbers do; a NaN exceeds all numbers. */
__global__ void __launch_bounds__(THREADS) measure(int64_t rows, const double *r, karst_amg_scalars *s)
{
  karst_cuda_begin();
  unsigned long long largest = 0;
#pragma unroll 4
  for (int64_t i = blockIdx.x * (int64_t)THREADS + threadIdx.x; i < rows; i += gridDim.x * (int64_t)THREADS)
    largest = max(largest, (unsigned long long)__double_as_longlong(fabs(r[i])));
  largest = karst_amg_group<THREADS>::largest(largest);
  if (threadIdx.x == 0) atomicMax(&s->largest, largest);
}

/* f = r / 2^exponent, where the largest |r_i| has that exponent, or r itself (as_it_is). first: the first sweep
 * of level 0, unless its y is NULL. */
template <typename T>
__global__ void __launch_bounds__(THREADS)
    enter(int64_t rows, const double *r, bool as_it_is, karst_amg_scalars *s, double *f, karst_amg_item<T> first)
{
  karst_cuda_begin();
  const int64_t i = blockIdx.x * (int64_t)(EACH * THREADS) + threadIdx.x;
  double value[EACH];
#pragma unroll
  for (int u = 0; u < EACH; u++) value[u] = i + u * THREADS < rows ? r[i + u * THREADS] : 0;
  const double largest = __longlong_as_double((long long)s->largest);
  const bool sound = as_it_is || (largest > 0 && largest <= DBL_MAX);
  const int exponent = sound && !as_it_is ? max(ilogb(largest) + 1, -1000) : 0;
  const double factor = power_of_two(-exponent);
#pragma unroll
  for (int u = 0; u < EACH; u++) {
    const int64_t at = i + u * THREADS;
    const double scaled = sound ? value[u] * factor : 0;
    if (at >= rows) continue;
    f[at] = scaled;
    if (first.y) karst_amg_first_row(first, first.y, at, scaled);
  }
  if (i > 0) return;
  s->entered = exponent;
  s->size = sound ? 1 : largest;
}

/* z = x 2^(exponent of r - exponent of A), in two factors, as their quotient may exceed what a double holds. */
__global__ void __launch_bounds__(THREADS) leave(int64_t rows, const double *x, karst_amg_scalars *s, double *z)
{
  karst_cuda_begin();
  const int64_t i = blockIdx.x * (int64_t)(EACH * THREADS) + threadIdx.x;
  double value[EACH];
#pragma unroll
  for (int u = 0; u < EACH; u++) value[u] = i + u * THREADS < rows ? x[i + u * THREADS] : 0;
  const int exponent = s->entered - s->exponent, part = min(max(exponent, -1000), 1000);
  const double factor = power_of_two(part), rest = power_of_two(exponent - part), size = s->size;
#pragma unroll
  for (int u = 0; u < EACH; u++)
    if (i + u * THREADS < rows) z[i + u * THREADS] = size == 1 ? value[u] * factor * rest : size == 0 ? 0 : nan("");
  if (i == 0) s->largest = 0;
}

bool is_captured(cudaStream_t stream)
{
  cudaStreamCaptureStatus status = cudaStreamCaptureStatusNone;
  if (cudaStreamIsCapturing(stream, &status) == cudaSuccess) return status != cudaStreamCaptureStatusNone;
  cudaGetLastError();
  return true;
}

} // namespace

void karst_amg_apply_cuda(karst_context *context, const karst_amg *amg, const double *r, double *z)
{
  const struct karst_cuda *cuda = karst_cuda_of(context);
  const karst_amg_cuda *plan = karst_amg_cuda_of(amg);
  const karst_amg_level *level = &amg->level[0];
  const int64_t rows = level->A.rows;
  const unsigned grid = karst_cuda_grid(rows, EACH * THREADS), few = grid < KARST_CUDA_SUMS ? grid : KARST_CUDA_SUMS;
  if (rows == 0 && !amg->call) return;
  if (!amg->call) karst_cuda_launch(cuda, measure, few, THREADS, rows, r, plan->scalars);
  karst_amg_typed(amg, [&](auto zero) {
    using T = decltype(zero);
    karst_amg_item<T> first = {};
    if (plan->entered) first = *static_cast<const karst_amg_item<T> *>(plan->item);
    karst_cuda_launch(cuda, enter<T>, grid, THREADS, rows, r, amg->call != NULL, plan->scalars, level->vector[0],
                      first);
  });
  if (plan->graph && !is_captured(cuda->stream))
    cudaGraphLaunch(plan->graph, cuda->stream);
  else
    karst_amg_launch_steps_cuda(cuda, amg);
  karst_cuda_launch(cuda, leave, grid, THREADS, rows, level->vector[amg->result], plan->scalars, z);
}
