/* factor.cu - inverts the blocks D of wells on the GPU, a thread block a well, and finds values that are not finite;
 * and the table of the kernels. */
#include "gpu/block_inverse.h"
#include "gpu/wells/wells_cuda.h"

namespace
{

/* Keeps in *first the first well with an outcome and the reason: the smallest well * 256 - reason, where reasons are
 * negative. */
__global__ void __launch_bounds__(KARST_CUDA_THREADS)
    invert(int b, const karst_well *wells, const double *B, const double *C, const double *D, double *inverse,
           unsigned long long *first)
{
  extern __shared__ double shared[];
  const karst_well well = wells[blockIdx.x];
  const int n = well.equations, t = (int)threadIdx.x, threads = (int)blockDim.x;
  const int64_t entries = (int64_t)well.count * b * n;
  const double *from = D + well.square;
  double *to = inverse + well.square;
  bool finite = true, couples = false;
  for (int64_t v = t; v < entries; v += threads) {
    const double largest = fmax(fabs(B[well.entry + v]), fabs(C[well.entry + v]));
    finite = finite && fabs(B[well.entry + v]) <= DBL_MAX && fabs(C[well.entry + v]) <= DBL_MAX;
    couples = couples || largest != 0;
  }
  for (int v = t; v < n * n; v += threads) {
    to[v] = from[v];
    finite = finite && fabs(from[v]) <= DBL_MAX;
  }
  finite = __syncthreads_and(finite);
  couples = __syncthreads_or(couples);
  const bool regular = finite && karst_cuda_invert(n, to, from, from, shared) == KARST_SOUND;
  __syncthreads();
  if (regular) return;
  for (int v = t; v < n * n; v += threads) to[v] = 0;
  const karst_reason reason = finite ? KARST_SINGULAR_BLOCK : KARST_NOT_FINITE;
  if (t == 0 && (couples || !finite)) atomicMin(first, (unsigned long long)((int64_t)blockIdx.x * 256 - reason));
}

} // namespace

karst_status karst_wells_factor_cuda(karst_context *context, karst_wells *wells, karst_reason *reason, karst_index *bad)
{
  const karst_cuda *cuda = karst_cuda_of(context);
  unsigned long long *first = (unsigned long long *)cuda->partial, found;
  cudaMemsetAsync(first, 0xff, sizeof *first, cuda->stream);
  invert<<<(unsigned)wells->count, KARST_CUDA_THREADS, karst_cuda_invert_shared(wells->most_equations), cuda->stream>>>(
      wells->block_size, wells->well, wells->B, wells->C, wells->D, wells->inverse, first);
  const karst_status status = karst_cuda_fetch(context, &found, first, sizeof found);
  if (status || found == ~0ULL) return status;
  *bad = (karst_index)(found / 256);
  *reason = static_cast<karst_reason>(-(int)(found % 256));
  return KARST_SUCCESS;
}

extern "C" {
extern const struct karst_wells_kernels karst_wells_kernels_cuda;
const struct karst_wells_kernels karst_wells_kernels_cuda = {karst_cuda_entry<karst_wells_factor_cuda>::call,
                                                             karst_cuda_entry<karst_wells_solve_cuda>::call,
                                                             karst_cuda_entry<karst_wells_add_cuda>::call,
                                                             karst_cuda_entry<karst_wells_add_size_cuda>::call,
                                                             karst_cuda_entry<karst_wells_residual_precise_cuda>::call,
                                                             karst_cuda_entry<karst_wells_pressure_cuda>::call};
}
