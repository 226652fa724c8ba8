/* couple.cu - how strongly block rows couple (lib/backend/coupling.h), on the GPU: eight lanes share a row. It runs
 * once when an ordering is made. */
#include "gpu/cuda.h"
#include "lib/backend/coupling.h"
#include "lib/base/search.h"

namespace
{

enum { LANES = 8 };

template <int B>
__global__ void __launch_bounds__(KARST_CUDA_THREADS)
    couple(int size, karst_index rows, const karst_index *start, const karst_index *column, const double *value,
           const double *inverse, float *strength)
{
  const int b = B ? B : size;
  const int64_t thread = (int64_t)blockIdx.x * blockDim.x + threadIdx.x, i = thread / LANES;
  if (i >= rows) return;
  for (karst_index k = start[i] + (karst_index)(thread % LANES); k < start[i + 1]; k += LANES) {
    const karst_index j = column[k], mirror = karst_find_column(column, start[j], start[j + 1], (karst_index)i);
    strength[k] = j == i ? 0
                         : karst_coupling(b, inverse + karst_cuda_offset(b, i), value + karst_cuda_offset(b, k),
                                          inverse + karst_cuda_offset(b, j),
                                          mirror < 0 ? nullptr : value + karst_cuda_offset(b, mirror));
  }
}

} // namespace

void karst_couple_cuda(karst_context *context, const karst_matrix *A, const double *inverse, float *strength)
{
  karst_cuda_instance(A->block_size, [&](auto size) {
    couple<decltype(size)::value><<<karst_cuda_grid(LANES * (int64_t)A->block_rows, KARST_CUDA_THREADS),
                                    KARST_CUDA_THREADS, 0, karst_cuda_of(context)->stream>>>(
        A->block_size, A->block_rows, A->device_row_start, A->device_column, A->value, inverse, strength);
  });
}
