/* round.cu - rounds D^-1, E and F of fgbilu to float, for the sweeps of factor-precision float, and reports the cells
 * whose blocks float cannot hold: a number is too large, or a row or a column of D^-1 becomes 0. */
#include "gpu/fgbilu/fgbilu_cuda.h"

#include "lib/backend/dense.h"

namespace
{

enum { THREADS = 256, WARP = 32 };

/* A warp takes a cell. The diagonal block of A is not needed. */
__global__ void __launch_bounds__(THREADS) round_cells(const karst_fgbilu_view m, int64_t cells)
{
  const int64_t cell = (blockIdx.x * (int64_t)THREADS + threadIdx.x) / WARP, bb = karst_cuda_offset(m.b, 1);
  const int lane = (int)threadIdx.x % WARP, b = m.b;
  if (cell >= cells) return;
  const karst_index row = karst_fgbilu_row(m, (karst_index)cell);
  if (row < 0) return;
  const karst_index diagonal = m.row_start[row] + karst_place(m.place[cell], KARST_PLACE_DIAGONAL);
  bool holds = true;
  for (karst_index block = m.row_start[row]; block < m.row_start[row + 1]; block++)
    for (int64_t v = block * bb + lane; v < (block + 1) * bb && block != diagonal; v += WARP) {
      m.value_float[v] = karst_round(m.value[v]);
      holds = holds && !karst_overflows(m.value[v]);
    }
  const double *from = m.factor + row * bb;
  for (int r = lane; r < b; r += WARP) {
    float in_row = 0, in_column = 0;
    for (int c = 0; c < b; c++) {
      const double x = from[c * b + r];
      m.factor_float[row * bb + c * b + r] = karst_round(x);
      in_row += fabsf(karst_round(x));
      in_column += fabsf(karst_round(from[r * b + c]));
      holds = holds && !karst_overflows(x);
    }
    holds = holds && in_row > 0 && in_column > 0;
  }
  if (!holds) karst_fgbilu_report(m, (karst_index)cell, KARST_FGBILU_OUT_OF_RANGE);
}

} // namespace

void karst_fgbilu_round_cuda(karst_context *context, const karst_matrix *A, const karst_fgbilu *fgbilu)
{
  const int64_t cells = karst_grid_cells(fgbilu->analysis->cells.size);
  round_cells<<<karst_cuda_grid(cells * WARP, THREADS), THREADS, 0, karst_cuda_of(context)->stream>>>(
      karst_fgbilu_view_of(A, fgbilu), cells);
}
