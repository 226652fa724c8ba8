/* find_faults.cu - finds the cell whose entry of A is not finite. In E(c,m) D(m)^-1 F(m,c), a NaN of F in the block row
 * of cell m makes the factorization fail at cell c. A coupling without its mirror image does not contribute to D at
 * all. The error names the cell of the entry's block row in A. */
#include "gpu/fgbilu/fgbilu_cuda.h"

namespace
{

enum { THREADS = 256, WARP = 32 };

__global__ void __launch_bounds__(THREADS) find_one_sided(const karst_fgbilu_view m, int64_t cells, int *found)
{
  const int64_t cell = blockIdx.x * (int64_t)THREADS + threadIdx.x;
  if (cell >= cells) return;
  for (int face = 0; face < KARST_FACES; face++)
    if (karst_place(m.place[cell], face) != KARST_PLACE_NONE &&
        karst_place(m.place[cell + m.step[face]], karst_fgbilu_opposite(face)) == KARST_PLACE_NONE)
      *found = 1;
}

/* A warp takes a cell. */
__global__ void __launch_bounds__(THREADS) find_not_finite(const karst_fgbilu_view m, int64_t cells)
{
  const int64_t cell = (blockIdx.x * (int64_t)THREADS + threadIdx.x) / WARP;
  if (cell >= cells) return;
  const karst_index row = karst_fgbilu_row(m, (karst_index)cell);
  if (row < 0) return;
  const int64_t end = karst_cuda_offset(m.b, m.row_start[row + 1]);
  bool finite = true;
  for (int64_t v = karst_cuda_offset(m.b, m.row_start[row]) + threadIdx.x % WARP; v < end; v += WARP)
    finite = finite && fabs(m.value[v]) <= DBL_MAX;
  if (!finite) karst_fgbilu_report(m, (karst_index)cell, KARST_FGBILU_NOT_FINITE);
}

} // namespace

karst_status karst_fgbilu_find_one_sided_cuda(karst_context *context, const karst_matrix *A,
                                              const karst_fgbilu_analysis *analysis, bool *found)
{
  const int64_t cells = karst_grid_cells(analysis->cells.size);
  const cudaStream_t stream = karst_cuda_of(context)->stream;
  int *flag, one_sided;
  karst_status status = karst_cuda_take(context, 1, "fgbilu", &flag, NULL);
  if (status) return status;
  cudaMemsetAsync(flag, 0, sizeof *flag, stream);
  find_one_sided<<<karst_cuda_grid(cells, THREADS), THREADS, 0, stream>>>(karst_fgbilu_view_of(A, analysis), cells,
                                                                          flag);
  status = context->backend->download(context, &one_sided, flag, sizeof one_sided);
  context->backend->release(context, flag);
  *found = !status && one_sided;
  return status;
}

void karst_fgbilu_find_not_finite_cuda(karst_context *context, const karst_matrix *A, const karst_fgbilu *fgbilu)
{
  const int64_t cells = karst_grid_cells(fgbilu->analysis->cells.size);
  find_not_finite<<<karst_cuda_grid(cells * WARP, THREADS), THREADS, 0, karst_cuda_of(context)->stream>>>(
      karst_fgbilu_view_of(A, fgbilu), cells);
}
