/* measure.cu - the size of what M leaves out: of each block row, the sum of the absolute values of its blocks without a
 * place, and of all its blocks outside the diagonal. */
#include "gpu/fgbilu/fgbilu_cuda.h"

namespace
{

enum { THREADS = 256, WARP = 32 };

/* A warp takes a cell, and its lanes the entries of a block. */
__global__ void __launch_bounds__(THREADS)
    measure(const karst_fgbilu_view m, int64_t cells, double *remainder, double *couplings)
{
  const int64_t cell = (blockIdx.x * (int64_t)THREADS + threadIdx.x) / WARP;
  if (cell >= cells) return;
  const karst_index row = karst_fgbilu_row(m, (karst_index)cell);
  if (row < 0) return;
  const uint64_t place = m.place[cell];
  const karst_index first = m.row_start[row], blocks = m.row_start[row + 1] - first;
  double without = 0, all = 0;
  for (karst_index k = 0; k < blocks; k++) {
    const double *block = m.value + karst_cuda_offset(m.b, (int64_t)first + k);
    double sum = 0;
    for (int v = (int)threadIdx.x % WARP; v < m.b * m.b; v += WARP) sum += fabs(block[v]);
    if (karst_place(place, KARST_PLACE_DIAGONAL) != k) all += sum;
    if (!karst_is_placed(place, k)) without += sum;
  }
  for (int apart = WARP / 2; apart > 0; apart /= 2) {
    all += __shfl_down_sync(~0U, all, apart);
    without += __shfl_down_sync(~0U, without, apart);
  }
  if (threadIdx.x % WARP > 0) return;
  remainder[row] = without;
  couplings[row] = all;
}

} // namespace

void karst_fgbilu_measure_cuda(karst_context *context, const karst_matrix *A, const karst_fgbilu_analysis *analysis,
                               double *remainder, double *couplings)
{
  const int64_t cells = karst_grid_cells(analysis->cells.size);
  karst_fgbilu_view view = karst_fgbilu_view_of(A, analysis);
  view.value = A->value;
  measure<<<karst_cuda_grid(cells * WARP, THREADS), THREADS, 0, karst_cuda_of(context)->stream>>>(view, cells,
                                                                                                  remainder, couplings);
}
