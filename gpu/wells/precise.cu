/* precise.cu - the residual b - (A - C^T D^-1 B) x in perforated cells to twice the working precision, on the GPU, as
 * in cpu/wells/precise.c: a thread an equation of a well, and then a thread an element of a perforated cell. These
 * kernels are called rarely and were never tuned. */
#include "gpu/wells/wells_cuda.h"

extern "C" {
#include "lib/backend/wells_steps.h"
}

namespace
{

enum { THREADS = 128 };

__global__ void __launch_bounds__(THREADS) solve_precisely(karst_wells_task task, const double *x)
{
  const karst_well well = task.well[blockIdx.x];
  const int n = well.equations, t = (int)threadIdx.x;
  const double *D = task.D + well.square, *inverse = task.inverse + well.square;
  double *high = task.space + well.unknown, *low = high + task.unknowns, *sum = low + task.unknowns;
  double *error = sum + task.unknowns, *rounded = error + task.unknowns;
  for (int e = t; e < n; e += THREADS) {
    const karst_precise_sum s = karst_wells_precise_product(task.b, &well, task.B, task.cell, x, e);
    sum[e] = s.sum, error[e] = s.error, rounded[e] = s.sum + s.error;
    low[e] = 0;
  }
  __syncthreads();
  for (int e = t; e < n; e += THREADS) high[e] = karst_wells_row_product(n, inverse, rounded, e);
  for (int step = 0; step < KARST_WELLS_REFINEMENTS; step++) {
    __syncthreads();
    for (int e = t; e < n; e += THREADS)
      rounded[e] = karst_wells_defect(n, D, karst_precise_sum{sum[e], error[e]}, high, low, e);
    __syncthreads();
    for (int e = t; e < n; e += THREADS)
      karst_wells_correct(karst_wells_row_product(n, inverse, rounded, e), &high[e], &low[e]);
  }
}

__global__ void __launch_bounds__(1024)
    residual_rows(karst_wells_task task, const karst_index *start, const karst_index *column, const double *value,
                  const double *right, const double *x, double *result)
{
  const int b = task.b;
  karst_index k;
  int r;
  if (!karst_cuda_row(b, task.cells, &k, &r)) return;
  const karst_index i = task.list_cell[k], first = task.lists.list_start[k];
  karst_precise_sum s = {right[(int64_t)i * b + r], 0};
  for (karst_index at = start[i]; at < start[i + 1]; at++)
    for (int c = 0; c < b; c++)
      karst_precise_add(&s, -value[karst_cuda_offset(b, at) + (int64_t)c * b + r], x[(int64_t)column[at] * b + c]);
  karst_wells_subtract_precise(b, task.well, task.lists.owner, task.lists.list + first,
                               task.lists.list_start[k + 1] - first, task.C, task.space, task.space + task.unknowns, r,
                               &s);
  result[(int64_t)i * b + r] = s.sum + s.error;
}

} // namespace

void karst_wells_residual_precise_cuda(karst_context *context, const karst_wells_view *view, const karst_matrix *A,
                                       const double *b, const double *x, double *r)
{
  const cudaStream_t stream = karst_cuda_of(context)->stream;
  const karst_wells *wells = view->wells;
  const karst_wells_task task = karst_wells_task_of(view);
  if (wells->cells == 0) return;
  solve_precisely<<<(unsigned)wells->count, THREADS, 0, stream>>>(task, x);
  residual_rows<<<karst_cuda_row_grid(wells->cells, A->block_size), karst_cuda_row_threads(A->block_size), 0, stream>>>(
      task, A->device_row_start, A->device_column, A->value, b, x, r);
}
