/* grid.cu - checks that the couplings of a matrix join neighbours of a grid, as lib/grid/grid_fit.c does on the
 * host. */
#include "gpu/cuda.h"

namespace
{

enum { THREADS = 256 };

struct grid_size {
  karst_index x, y, z;
};

/* The result, in the work space of the reductions. */
struct grid_survey {
  unsigned long long axes, row;
};

__device__ __forceinline__ bool is_near(karst_index a, karst_index b) { return a - b <= 1 && b - a <= 1; }

__global__ void __launch_bounds__(THREADS) look_at_rows(karst_index rows, grid_size size, const karst_index *start,
                                                        const karst_index *column, grid_survey *found)
{
  const int64_t i = blockIdx.x * (int64_t)blockDim.x + threadIdx.x;
  if (i >= rows) return;
  const karst_index line = (karst_index)i / size.x, x = (karst_index)i - line * size.x;
  const karst_index z = line / size.y, y = line - z * size.y;
  int most = 0;
  for (karst_index k = start[i]; k < start[i + 1]; k++) {
    const karst_index there = column[k] / size.x, other_x = column[k] - there * size.x;
    const karst_index other_z = there / size.y, other_y = there - other_z * size.y;
    if (!is_near(x, other_x) || !is_near(y, other_y) || !is_near(z, other_z)) {
      atomicMin(&found->row, (unsigned long long)i);
      return;
    }
    most = max(most, (x != other_x) + (y != other_y) + (z != other_z));
  }
  if ((unsigned long long)most > found->axes) atomicMax(&found->axes, (unsigned long long)most);
}

} // namespace

karst_status karst_grid_reach_cuda(karst_context *context, const karst_matrix *A, const karst_index size[3], int *axes,
                                   karst_index *misfit)
{
  const karst_cuda *cuda = karst_cuda_of(context);
  if (cudaPeekAtLastError() != cudaSuccess) return KARST_ERROR_DEVICE;
  grid_survey *place = reinterpret_cast<grid_survey *>(cuda->partial), found = {0, (unsigned long long)A->block_rows};
  karst_status status = context->backend->upload(context, place, &found, sizeof found);
  if (status) return status;
  look_at_rows<<<karst_cuda_grid(A->block_rows, THREADS), THREADS, 0, cuda->stream>>>(
      A->block_rows, {size[0], size[1], size[2]}, A->device_row_start, A->device_column, place);
  status = context->backend->download(context, &found, place, sizeof found);
  *axes = (int)found.axes;
  *misfit = (karst_index)found.row;
  return status;
}
