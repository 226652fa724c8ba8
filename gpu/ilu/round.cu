/* round.cu - rounds the factors of block ILU to float, for the sweeps of factor-precision float, and reports the rows
 * that float cannot hold: a number is too large, or a row or a column of D^-1 becomes 0. The factorizations are in
 * double. */
#include "gpu/ilu/pivot_repair.h"

#include "lib/backend/dense.h"

namespace
{

enum { THREADS = 128 };

/* The slices of a triangle, a scalar row by each thread. */
template <bool upper>
__global__ void __launch_bounds__(THREADS)
    round_rows(const karst_triangle t, int b, karst_ilu_statistics_cuda *statistics)
{
  const int64_t number = blockIdx.x * (int64_t)THREADS + threadIdx.x, slot = number / b;
  const int r = (int)(number % b);
  if (slot >= t.rows) return;
  const int64_t slice = slot / t.group, stride = (int64_t)t.group * b, in_slice = slot % t.group * b;
  const int64_t first = t.start[slice] * b, end = t.start[slice + 1] * b;
  bool holds = true;
  for (int64_t column = first; column < end; column++) {
    const double x = t.value[column * stride + in_slice + r];
    t.single[column * stride + in_slice + r] = karst_round(x);
    holds = holds && !karst_overflows(x);
  }
  float in_row = 0, in_column = 0;
  for (int k = 0; k < b && upper; k++) {
    in_row += fabsf(karst_round(t.value[(first + k) * stride + in_slice + r]));
    in_column += fabsf(karst_round(t.value[(first + r) * stride + in_slice + k]));
  }
  if (upper) holds = holds && in_row > 0 && in_column > 0;
  if (!holds) karst_ilu_report_row(statistics, t.row[slot], KARST_FAULT_OUT_OF_RANGE);
}

} // namespace

void karst_ilu_round_cuda(karst_context *context, const karst_ilu_cuda *plan)
{
  const karst_triangle &lower = plan->lower, &upper = plan->upper;
  const unsigned grid = karst_cuda_grid((int64_t)lower.rows * plan->block_size, THREADS);
  cudaStream_t stream = karst_cuda_of(context)->stream;
  if (!lower.single) return;
  round_rows<false><<<grid, THREADS, 0, stream>>>(lower, plan->block_size, plan->statistics);
  round_rows<true><<<grid, THREADS, 0, stream>>>(upper, plan->block_size, plan->statistics);
}
