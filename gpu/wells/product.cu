/* product.cu - w = D^-1 (g - B x) and y + C^T w for wells on the GPU, and the bound of their rounding errors. A thread
 * block takes a well: its warps take the equations in turn, and the lanes of a warp the perforations and the unknowns
 * of their cells. Then a thread takes an element of a perforated cell, with all its perforations. */
#include "gpu/wells/wells_cuda.h"

namespace
{

enum { THREADS = 128, WARPS = THREADS / 32 };

/* The length of a vector of n elements in shared memory: even, for the compiler loads elements in pairs. */
__host__ __device__ inline int padded(int n) { return n + n % 2; }

/* The sum over lanes of equation e of B x, or |B| |x|, in the first lane. */
template <bool SIZE>
__device__ __forceinline__ double multiply_row(const karst_wells_task &task, const karst_well &well, int unknown, int e,
                                               const double *__restrict__ x)
{
  const int n = well.equations, b = task.b, width = unknown < 0 ? b : 1;
  const int64_t terms = (int64_t)well.count * width;
  double sum = 0;
#pragma unroll 4
  for (int64_t v = threadIdx.x % 32; v < terms; v += 32) {
    const int64_t p = v / width, c = unknown < 0 ? v % width : unknown, cell = task.cell[well.first + p];
    const double product = task.B[well.entry + (p * b + c) * n + e] * (unknown < 0 ? x[cell * b + c] : x[cell]);
    sum += SIZE ? fabs(product) : product;
  }
  return karst_cuda_warp_sum(sum);
}

/* y = square x, or |square| |x|, by all threads of a thread block. */
template <bool SIZE>
__device__ __forceinline__ void multiply_square(int n, const double *__restrict__ square, const double *x, double *y)
{
  for (int e = (int)threadIdx.x; e < n; e += THREADS) {
    double sum = 0;
#pragma unroll 4
    for (int f = 0; f < n; f++)
      sum += SIZE ? fabs(square[(int64_t)f * n + e]) * x[f] : square[(int64_t)f * n + e] * x[f];
    y[e] = sum;
  }
}

__global__ void __launch_bounds__(THREADS)
    solve(karst_wells_task task, int unknown, const double *__restrict__ g, const double *__restrict__ x, double *w)
{
  extern __shared__ double t[];
  karst_cuda_begin();
  const karst_well well = task.well[blockIdx.x];
  const int n = well.equations;
  for (int e = (int)threadIdx.x / 32; e < n; e += WARPS) {
    const double sum = x ? multiply_row<false>(task, well, unknown, e, x) : 0;
    if (threadIdx.x % 32 == 0) t[e] = (g ? g[well.unknown + e] : 0) - sum;
  }
  __syncthreads();
  multiply_square<false>(n, task.inverse + well.square, t, w + well.unknown);
}

/* w = |D^-1| (s + |D| |D^-1| s), s = |B| |x|; shared memory for three of them. */
__global__ void __launch_bounds__(THREADS) size_wells(karst_wells_task task, const double *__restrict__ x, double *w)
{
  extern __shared__ double s[];
  const karst_well well = task.well[blockIdx.x];
  const int n = well.equations;
  double *t = s + padded(n), *u = t + padded(n);
  for (int e = (int)threadIdx.x / 32; e < n; e += WARPS) {
    const double sum = multiply_row<true>(task, well, -1, e, x);
    if (threadIdx.x % 32 == 0) s[e] = sum;
  }
  __syncthreads();
  multiply_square<true>(n, task.inverse + well.square, s, t);
  __syncthreads();
  multiply_square<true>(n, task.D + well.square, t, u);
  for (int e = (int)threadIdx.x; e < n; e += THREADS) s[e] += u[e];
  __syncthreads();
  multiply_square<true>(n, task.inverse + well.square, s, w + well.unknown);
}

/* y = y + sign C^T w, or y + |C|^T w */
template <bool SIZE>
__global__ void __launch_bounds__(1024)
    add(karst_wells_task task, double sign, const double *__restrict__ w, double *__restrict__ y)
{
  karst_index k;
  int r;
  karst_cuda_begin();
  if (!karst_cuda_row(task.b, task.cells, &k, &r)) return;
  double sum = 0;
  for (karst_index l = task.lists.list_start[k]; l < task.lists.list_start[k + 1]; l++) {
    const karst_index p = task.lists.list[l];
    const karst_well well = task.well[task.lists.owner[p]];
    const double *column = task.C + karst_wells_block(task.b, well, p) + (int64_t)r * well.equations;
#pragma unroll 4
    for (int e = 0; e < well.equations; e++) sum += (SIZE ? fabs(column[e]) : column[e]) * w[well.unknown + e];
  }
  y[(int64_t)task.list_cell[k] * task.b + r] += sign * sum;
}

} // namespace

void karst_wells_solve_cuda(karst_context *context, const karst_wells_view *view, int unknown, const double *g,
                            const double *x, double *w)
{
  const karst_cuda *cuda = karst_cuda_of(context);
  const size_t shared = (size_t)padded(view->wells->most_equations) * sizeof(double);
  if (view->wells->count > 0)
    karst_cuda_launch_with(cuda, cuda->launch_early, solve, (unsigned)view->wells->count, THREADS, shared,
                           karst_wells_task_of(view), unknown, g, x, w);
}

void karst_wells_add_cuda(karst_context *context, const karst_wells_view *view, double sign, const double *w, double *y)
{
  const karst_wells *wells = view->wells;
  const int b = wells->block_size;
  if (wells->cells > 0)
    karst_cuda_launch(karst_cuda_of(context), add<false>, karst_cuda_row_grid(wells->cells, b),
                      karst_cuda_row_threads(b), karst_wells_task_of(view), sign, w, y);
}

void karst_wells_add_size_cuda(karst_context *context, const karst_wells_view *view, const double *x, double *size)
{
  const karst_cuda *cuda = karst_cuda_of(context);
  const karst_wells *wells = view->wells;
  const int b = wells->block_size;
  if (wells->cells == 0) return;
  const size_t shared = 3 * (size_t)padded(wells->most_equations) * sizeof(double);
  size_wells<<<(unsigned)wells->count, THREADS, shared, cuda->stream>>>(karst_wells_task_of(view), x, view->space);
  add<true><<<karst_cuda_row_grid(wells->cells, b), karst_cuda_row_threads(b), 0, cuda->stream>>>(
      karst_wells_task_of(view), 1, view->space, size);
}
