/* couple.cu - how strongly block rows couple (lib/backend/coupling.h), on the GPU: eight lanes share a row. It runs
 * once when an ordering is made. */
#include "gpu/cuda.h"
#include "gpu/operations.h"
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
    double both = 0, most = 0;
    for (int c = 0; c < b && j != i; c++) {
      const double x = karst_coupling_one_way(b, inverse + karst_cuda_offset(b, i), value + karst_cuda_offset(b, k), c);
      const double y = mirror < 0 ? 0
                                  : karst_coupling_one_way(b, inverse + karst_cuda_offset(b, j),
                                                           value + karst_cuda_offset(b, mirror), c);
      karst_coupling_add(x, y, &both, &most);
    }
    strength[k] = karst_coupling_strength(b, both, most);
  }
}

} // namespace

karst_status karst_couple_cuda(karst_context *context, const karst_matrix *A, const karst_index *diagonal,
                               double *inverse, float *strength, bool *sound)
{
  karst_reason reason = KARST_SOUND;
  karst_index block_row;
  const karst_status status = karst_invert_diagonal_cuda(context, A, diagonal, inverse, &reason, &block_row);
  *sound = !status && reason == KARST_SOUND;
  if (!*sound) return status;
  karst_cuda_instance(A->block_size, [&](auto size) {
    couple<decltype(size)::value><<<karst_cuda_grid(LANES * (int64_t)A->block_rows, KARST_CUDA_THREADS),
                                    KARST_CUDA_THREADS, 0, karst_cuda_of(context)->stream>>>(
        A->block_size, A->block_rows, A->device_row_start, A->device_column, A->value, inverse, strength);
  });
  return KARST_SUCCESS;
}
