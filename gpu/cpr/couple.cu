/* couple.cu - how strongly the pressures of neighbours hold each other, by rows of A_p on the GPU, a thread a row
 * (lib/backend/cpr_kernels.h). It runs once for each unknown when a preconditioner is made. */
#include "gpu/cpr/cpr_cuda.h"

extern "C" {
#include "lib/base/search.h"
}

namespace
{

__global__ void __launch_bounds__(KARST_CUDA_THREADS)
    couple(karst_index rows, const karst_index *start, const karst_index *column, const karst_index *diagonal,
           const double *value, double *root)
{
  const int64_t i = (int64_t)blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= rows) return;
  double sum = 0;
  for (karst_index k = start[i]; k < start[i + 1]; k++) {
    const karst_index j = column[k];
    const karst_index mirror = karst_find_column(column, start[j], start[j + 1], (karst_index)i);
    if (j != i && mirror >= 0)
      sum += karst_cpr_coupling(value[diagonal[i]], value[k], value[mirror], value[diagonal[j]]);
  }
  root[i] = sqrt(sum);
}

} // namespace

void karst_cpr_couple_cuda(karst_context *context, const karst_cpr *cpr, const karst_matrix *pressure, double *root)
{
  const unsigned grid = karst_cuda_grid(cpr->rows, KARST_CUDA_THREADS);
  couple<<<grid, KARST_CUDA_THREADS, 0, karst_cuda_of(context)->stream>>>(
      cpr->rows, pressure->device_row_start, pressure->device_column, karst_cpr_cuda_of(cpr)->diagonal, pressure->value,
      root);
}
