/* load.cu - the values of level 0: those of A divided by a power of two near the largest one. */
#include "gpu/amg/group.h"

namespace
{

enum { THREADS = 256 };

__device__ __forceinline__ bool is_finite(double value) { return fabs(value) <= DBL_MAX; }

/* The bits of the largest |a| of the finite rows, and the first other row. Numbers ascend as their bits do. */
template <int LANES>
__global__ void measure(karst_index rows, const karst_index *__restrict__ start, const double *__restrict__ value,
                        karst_amg_scalars *s)
{
  using group = karst_amg_group<LANES>;
  const int64_t i = (blockIdx.x * (int64_t)THREADS + threadIdx.x) / LANES;
  double largest = 0;
  bool finite = true;
  if (i < rows)
    for (karst_index e = start[i] + group::lane(); e < start[i + 1]; e += LANES) {
      largest = fmax(largest, fabs(value[e]));
      finite = finite && is_finite(value[e]);
    }
  if (!finite) atomicMin(&s->not_finite, (unsigned long long)i);
  largest = karst_amg_group<THREADS>::largest(largest);
  if (threadIdx.x == 0) atomicMax(&s->largest, (unsigned long long)__double_as_longlong(largest));
}

/* Sets the exponent: the given one, or that of the largest value, 0 if that is 0 or not finite. */
__global__ void choose_exponent(bool is_given, int given, karst_amg_scalars *s)
{
  const double largest = __longlong_as_double((long long)s->largest);
  const int own = largest > 0 && is_finite(largest) ? ilogb(largest) + 1 : 0;
  s->exponent = max(is_given ? given : own, -1000);
  s->largest = 0;
}

/* Finds the first row of zeros too. */
template <int LANES, typename T>
__global__ void scale(karst_index rows, const karst_index *__restrict__ start, const double *__restrict__ value,
                      karst_amg_scalars *s, T *scaled)
{
  using group = karst_amg_group<LANES, true>;
  const int64_t i = (blockIdx.x * (int64_t)THREADS + threadIdx.x) / LANES;
  if (i >= rows) return;
  const double factor = ldexp(1.0, -s->exponent);
  int any = 0;
  for (karst_index e = start[i] + group::lane(); e < start[i + 1]; e += LANES) {
    const T now = (T)(value[e] * factor);
    scaled[e] = now;
    any += now != 0;
  }
  any = group::sum(any);
  if (group::lane() == 0 && any == 0) atomicMin(&s->zero, (unsigned long long)i);
}

void report(const karst_amg_scalars *s, karst_amg_outcome *outcome)
{
  *outcome = {KARST_SOUND, -1, 0};
  if (s->not_finite != ~0ULL)
    *outcome = {KARST_NOT_FINITE, (karst_index)s->not_finite, 0};
  else if (s->zero != ~0ULL)
    *outcome = {KARST_SINGULAR_BLOCK, (karst_index)s->zero, 0};
}

} // namespace

karst_status karst_amg_load_cuda(karst_context *context, const karst_matrix *A, karst_amg *amg,
                                 karst_amg_outcome *outcome)
{
  karst_amg_scalars *s = karst_amg_cuda_of(amg)->scalars, found;
  cudaStream_t stream = karst_cuda_of(context)->stream;
  cudaMemsetAsync(s, 0, sizeof *s, stream);
  cudaMemsetAsync(&s->not_finite, 0xff, sizeof s->not_finite, stream);
  cudaMemsetAsync(&s->zero, 0xff, sizeof s->zero, stream);
  karst_amg_with_lanes(karst_amg_lanes(A->blocks, A->block_rows, 4, 32), [&](auto lanes) {
    const unsigned grid = karst_cuda_grid((int64_t)A->block_rows * lanes.value, THREADS);
    measure<lanes.value><<<grid, THREADS, 0, stream>>>(A->block_rows, A->device_row_start, A->value, s);
    choose_exponent<<<1, 1, 0, stream>>>(amg->has_exponent, amg->exponent, s);
    karst_amg_typed(amg, [&](auto zero) {
      scale<lanes.value><<<grid, THREADS, 0, stream>>>(A->block_rows, A->device_row_start, A->value, s,
                                                       static_cast<decltype(zero) *>(amg->level[0].A.value));
    });
  });
  const karst_status status = karst_cuda_fetch(context, &found, s, sizeof found);
  if (status) return status;
  report(&found, outcome);
  amg->exponent = found.exponent;
  return KARST_SUCCESS;
}
