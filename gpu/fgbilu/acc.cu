/* acc.cu - fgbilu in the ACC style (Luo, Edwards, Luo, Mueller, Algorithms 4 and 6): the threads of one launch are
 * independent, and each dependency begins a new launch. n is the block size, u and v number the rows and columns of a
 * block, q the cells of a hyperplane.
 *
 * The factorization takes 3 + 3n launches a hyperplane; the paper has 2 + 3n:
 *
 *     multiply                     its kernel #1, s(f) = E(f) D(f)^-1 for the faces f = 0, 1, 2
 *     subtract                     its kernel #2, D = A(c,c) - sum of s(f) F(f), with its size (lib/backend/dense.h)
 *     measure                      finds the largest sizes, by which pivots are chosen and judged
 *     scale, eliminate, invert     its kernels #3 to #5, for each of the n steps; the last invert is part of
 *     finish                       which stores D^-1 in its order, checks its entries, and inverts again the blocks
 *                                  that the steps could not
 *
 * Pivoting takes no launch: measure and invert, with a thread for each cell, also choose the next pivot. Rows are not
 * exchanged. Step r eliminates column r with row pivot(r); after the last step row pivot(i), column j holds element (i,
 * pivot(j)) of the inverse. Without pivoting, as in the paper, pivot(r) = r. A sweep takes 2 launches a hyperplane. */
#include "gpu/fgbilu/fgbilu_cuda.h"

#include "lib/backend/dense.h"

namespace
{

enum { THREADS = 256 };

/* Work space of a factorization for the cells of a hyperplane; arrays in device memory. */
struct factor_work {
  double *s;           /* [3][largest n n] the products by faces, each block column by column; then the first of them
                          has copies of d */
  double *d;           /* [largest n n] the blocks that are inverted */
  double *size;        /* [largest n n] their sizes */
  double *row_scale;   /* [largest n] the scale of each row */
  double *column_size; /* [largest n] the largest size of each column with the rows scaled */
  int *pivot;          /* [largest n] the row that each column is eliminated with */
  int *step;           /* [largest n] the column that each row eliminated; n: none yet */
  int *again;          /* [largest] whether the block needs another attempt (lib/backend/dense.h) */
};

/* The cells of a hyperplane. */
struct plane {
  const karst_index *cell; /* [count] */
  int64_t count;
};

__device__ __forceinline__ int64_t thread_number() { return blockIdx.x * (int64_t)THREADS + threadIdx.x; }

/* Splits the number of a thread into a cell and a part of it; returns false if there is no such cell. */
__device__ __forceinline__ bool find_cell(const plane &p, int threads, int64_t *q, int *rest)
{
  const int64_t number = thread_number();
  *q = number / threads;
  *rest = (int)(number - *q * threads);
  return *q < p.count;
}

/* Returns sum over k of x[k n] y[k]. */
template <int B>
__device__ __forceinline__ double dot(int n, const double *__restrict__ x, const double *__restrict__ y)
{
  double sum = 0;
#pragma unroll 8
  for (int k = 0; k < (B ? B : n); k++) sum += x[k * n] * y[k];
  return sum;
}

template <int B>
__global__ void __launch_bounds__(THREADS) multiply(const karst_fgbilu_view m, const plane p, const factor_work w)
{
  const int n = B ? B : m.b;
  int64_t q;
  int e;
  if (!find_cell(p, n * n, &q, &e)) return;
  const karst_index cell = p.cell[q];
  const int u = e % n, v = e / n;
#pragma unroll
  for (int face = 0; face < KARST_FACES_BELOW; face++) {
    const double *before = karst_fgbilu_block(m, n, cell, face);
    if (!before) continue;
    const double *inverse = karst_fgbilu_inverse(m, n, cell + m.step[face]);
    w.s[karst_cuda_offset(n, face * p.count + q) + e] = dot<B>(n, before + u, inverse + v * n);
  }
}

template <int B>
__global__ void __launch_bounds__(THREADS) subtract(const karst_fgbilu_view m, const plane p, const factor_work w)
{
  const int n = B ? B : m.b;
  int64_t q;
  int e;
  if (!find_cell(p, n * n, &q, &e)) return;
  const karst_index cell = p.cell[q];
  const int u = e % n, v = e / n;
  const double *diagonal = karst_fgbilu_block(m, n, cell, KARST_PLACE_DIAGONAL);
  double sum = diagonal ? diagonal[e] : 0, size = fabs(sum);
#pragma unroll
  for (int face = 0; face < KARST_FACES_BELOW; face++) {
    if (!karst_fgbilu_block(m, n, cell, face)) continue;
    const double *after = karst_fgbilu_block(m, n, cell + m.step[face], karst_fgbilu_opposite(face));
    if (!after) continue;
    sum -= dot<B>(n, w.s + karst_cuda_offset(n, face * p.count + q) + u, after + v * n);
    size += fabs(sum);
  }
  w.d[karst_cuda_offset(n, q) + e] = sum;
  w.size[karst_cuda_offset(n, q) + e] = size;
}

/* Chooses the pivot of column r of a block, the first of the largest scaled entries among the rows without a step, or
 * row r without pivoting, and judges it. */
__device__ void choose_pivot(int n, const factor_work &w, bool pivoting, int64_t q, int r)
{
  const double *column = w.d + karst_cuda_offset(n, q) + r * n, *scale = w.row_scale + q * n;
  int best = r;
  double best_size = fabs(column[r]) * scale[r];
  if (pivoting) {
    best = -1;
    for (int u = 0; u < n; u++) {
      if (w.step[q * n + u] < n) continue;
      const double size = fabs(column[u]) * scale[u];
      if (best >= 0 && !(size > best_size)) continue;
      best = u;
      best_size = size;
    }
  }
  w.pivot[q * n + r] = best;
  w.step[q * n + best] = r;
  if (!karst_block_pivot_stands(n, best_size, w.column_size[q * n + r])) w.again[q] = 1;
}

/* A warp measures a block; its lanes read whole rows and then whole columns. */
__global__ void __launch_bounds__(THREADS)
    measure(const karst_fgbilu_view m, const plane p, const factor_work w, bool pivoting)
{
  const int n = m.b;
  int64_t q;
  int lane;
  if (!find_cell(p, 32, &q, &lane)) return;
  const double *size = w.size + karst_cuda_offset(n, q);
  for (int u = lane; u < n; u += 32) {
    double largest = 0;
    bool finite = true;
    for (int v = 0; v < n; v++) {
      const double entry = size[v * n + u];
      finite = finite && entry <= DBL_MAX;
      if (entry > largest) largest = entry;
      w.s[karst_cuda_offset(n, q) + v * n + u] = w.d[karst_cuda_offset(n, q) + v * n + u];
    }
    if (!finite) karst_fgbilu_report(m, p.cell[q], KARST_FGBILU_NOT_FINITE);
    if (largest == 0) karst_fgbilu_report(m, p.cell[q], KARST_FGBILU_SINGULAR);
    w.row_scale[q * n + u] = 1 / fmax(largest, DBL_MIN);
    w.step[q * n + u] = n;
  }
  __syncwarp();
  for (int v = lane; v < n; v += 32) {
    double largest = 0;
    for (int u = 0; u < n; u++) {
      const double entry = size[v * n + u] * w.row_scale[q * n + u];
      if (entry > largest) largest = entry;
    }
    w.column_size[q * n + v] = largest;
  }
  __syncwarp();
  if (lane > 0) return;
  w.again[q] = 0;
  choose_pivot(n, w, pivoting, q, 0);
}

/* Step r: divides the column, which changes its sign, and the pivot row by the pivot. The n - 1 threads from 0 have an
 * element of the row, the others one of the column; neither has the pivot. */
__global__ void __launch_bounds__(THREADS) scale(int n, const plane p, const factor_work w, int r)
{
  int64_t q;
  int i;
  if (!find_cell(p, 2 * (n - 1), &q, &i)) return;
  const int best = w.pivot[q * n + r];
  const bool column = i >= n - 1;
  if (column) i -= n - 1;
  i += i >= (column ? best : r) ? 1 : 0;
  double *d = w.d + karst_cuda_offset(n, q);
  const double pivot = d[r * n + best];
  double *entry = column ? d + r * n + i : d + i * n + best;
  *entry = (column ? -*entry : *entry) / pivot;
}

/* Step r: eliminates in all other rows and columns. */
__global__ void __launch_bounds__(THREADS) eliminate(int n, const plane p, const factor_work w, int r)
{
  int64_t q;
  int e;
  if (!find_cell(p, (n - 1) * (n - 1), &q, &e)) return;
  const int best = w.pivot[q * n + r];
  int u = e % (n - 1), v = e / (n - 1);
  u += u >= best ? 1 : 0;
  v += v >= r ? 1 : 0;
  double *d = w.d + karst_cuda_offset(n, q);
  /* The product in parentheses contains the quotient, so that large and small blocks overflow and underflow no
   * earlier. */
  d[v * n + u] += d[r * n + u] * (d[v * n + best] * d[r * n + best]);
}

/* Step r, which is not the last: inverts the pivot, and chooses the next. */
__global__ void __launch_bounds__(THREADS)
    invert(const karst_fgbilu_view m, const plane p, const factor_work w, bool pivoting, int r)
{
  const int64_t q = thread_number();
  if (q >= p.count) return;
  double *pivot = w.d + karst_cuda_offset(m.b, q) + r * m.b + w.pivot[q * m.b + r];
  *pivot = 1 / *pivot;
  choose_pivot(m.b, w, pivoting, q, r + 1);
}

/* Inverts a block by one thread, from its copy. */
__device__ void invert_again(const karst_fgbilu_view &m, const plane &p, const factor_work &w, bool pivoting, int64_t q)
{
  const int n = m.b;
  const int64_t at = karst_cuda_offset(n, q);
  const karst_reason reason =
      karst_fgbilu_invert(n, pivoting, w.s + at, w.size + at, karst_fgbilu_inverse(m, n, p.cell[q]),
                          w.row_scale + q * n, w.column_size + q * n, w.pivot + q * n);
  if (reason == KARST_SINGULAR_BLOCK) karst_fgbilu_report(m, p.cell[q], KARST_FGBILU_SINGULAR);
}

/* Inverts the last pivot and stores the inverse. */
__global__ void __launch_bounds__(THREADS)
    finish(const karst_fgbilu_view m, const plane p, const factor_work w, bool pivoting)
{
  const int n = m.b;
  int64_t q;
  int e;
  if (!find_cell(p, n * n, &q, &e)) return;
  if (w.again[q]) {
    if (e == 0) invert_again(m, p, w, pivoting, q);
    return;
  }
  const int u = e % n, v = e / n, row = w.step[q * n + u];
  double entry = w.d[karst_cuda_offset(n, q) + e];
  if (v == n - 1 && row == n - 1) entry = 1 / entry;
  if (!(fabs(entry) <= DBL_MAX)) karst_fgbilu_report(m, p.cell[q], KARST_FGBILU_OVERFLOW);
  karst_fgbilu_inverse(m, n, p.cell[q])[w.pivot[q * n + v] * n + row] = entry;
}

void launch_plane(const karst_fgbilu_view &m, const plane &p, const factor_work &w, bool pivoting, cudaStream_t stream)
{
  const int n = m.b;
  const auto grid = [&](int threads) { return karst_cuda_grid(p.count * threads, THREADS); };
  karst_cuda_instance(n, [&](auto size) {
    multiply<decltype(size)::value><<<grid(n * n), THREADS, 0, stream>>>(m, p, w);
    subtract<decltype(size)::value><<<grid(n * n), THREADS, 0, stream>>>(m, p, w);
  });
  measure<<<grid(32), THREADS, 0, stream>>>(m, p, w, pivoting);
  for (int r = 0; r < n; r++) {
    if (n > 1) {
      scale<<<grid(2 * (n - 1)), THREADS, 0, stream>>>(n, p, w, r);
      eliminate<<<grid((n - 1) * (n - 1)), THREADS, 0, stream>>>(n, p, w, r);
    }
    if (r < n - 1) invert<<<grid(1), THREADS, 0, stream>>>(m, p, w, pivoting, r);
  }
  finish<<<grid(n * n), THREADS, 0, stream>>>(m, p, w, pivoting);
}

void launch_factor(karst_context *context, const karst_matrix *A, karst_fgbilu *fgbilu)
{
  const karst_fgbilu_hyperplanes *planes = karst_fgbilu_hyperplanes_of(fgbilu);
  const factor_work *work = static_cast<const factor_work *>(karst_fgbilu_work_of(fgbilu)->factor);
  const karst_fgbilu_view m = karst_fgbilu_view_of(A, fgbilu);
  for (karst_index p = 0; p < planes->count; p++) {
    const plane cells = {planes->cell + planes->start[p], planes->start[p + 1] - planes->start[p]};
    if (cells.count > 0) launch_plane(m, cells, *work, fgbilu->pivoting, karst_cuda_of(context)->stream);
  }
}

karst_status plan_factor(karst_context *context, karst_fgbilu *fgbilu)
{
  const char *what = "the work space of fgbilu";
  const int n = fgbilu->analysis->block_size;
  const int64_t rows = (int64_t)n * karst_fgbilu_hyperplanes_of(fgbilu)->largest;
  int64_t *bytes = &fgbilu->plan_memory;
  factor_work *work;
  karst_status status = karst_allocate_zero(context, &work, 1, sizeof *work, what);
  if (status) return status;
  karst_fgbilu_work_of(fgbilu)->factor = work;
  status = karst_cuda_take(context, KARST_FACES_BELOW * rows * n, what, &work->s, bytes);
  if (!status) status = karst_cuda_take(context, rows * n, what, &work->d, bytes);
  if (!status) status = karst_cuda_take(context, rows * n, what, &work->size, bytes);
  if (!status) status = karst_cuda_take(context, rows, what, &work->row_scale, bytes);
  if (!status) status = karst_cuda_take(context, rows, what, &work->column_size, bytes);
  if (!status) status = karst_cuda_take(context, rows, what, &work->pivot, bytes);
  if (!status) status = karst_cuda_take(context, rows, what, &work->step, bytes);
  if (!status) status = karst_cuda_take(context, rows / n, what, &work->again, bytes);
  return status;
}

void destroy_factor(karst_context *context, karst_fgbilu *fgbilu)
{
  factor_work *work = static_cast<factor_work *>(karst_fgbilu_work_of(fgbilu)->factor);
  if (!work) return;
  karst_cuda_release(context, work->s, work->d, work->size, work->row_scale, work->column_size, work->pivot, work->step,
                     work->again);
  karst_release(context, work);
}

/* ---- the sweeps: a thread a scalar row ---- */

/* Forward z = r - sum of E x, backward z = sum of F x, x: the solution of the hyperplanes before. z: [count n] */
template <int B, bool backward>
__global__ void __launch_bounds__(THREADS)
    gather(const karst_fgbilu_view m, const plane p, const double *r, const double *x, double *z)
{
  const int n = B ? B : m.b;
  int64_t q;
  int u;
  if (!find_cell(p, n, &q, &u)) return;
  const karst_index cell = p.cell[q];
  double sum = 0;
#pragma unroll
  for (int f = 0; f < KARST_FACES_BELOW; f++) {
    const int face = backward ? KARST_FACES_BELOW + f : f;
    const double *block = karst_fgbilu_block(m, n, cell, face);
    if (block) sum += dot<B>(n, block + u, x + (int64_t)karst_fgbilu_row(m, cell + m.step[face]) * n);
  }
  z[q * n + u] = backward ? sum : r[(int64_t)karst_fgbilu_row(m, cell) * n + u] - sum;
}

/* Forward x = D^-1 z, backward x = x - D^-1 z. */
template <int B, bool backward>
__global__ void __launch_bounds__(THREADS) apply(const karst_fgbilu_view m, const plane p, const double *z, double *x)
{
  const int n = B ? B : m.b;
  int64_t q;
  int u;
  if (!find_cell(p, n, &q, &u)) return;
  const karst_index cell = p.cell[q];
  const double product = dot<B>(n, karst_fgbilu_inverse(m, n, cell) + u, z + q * n);
  double *to = x + (int64_t)karst_fgbilu_row(m, cell) * n + u;
  *to = backward ? *to - product : product;
}

template <bool backward>
void sweep(const karst_fgbilu_view &m, const plane &p, const double *r, double *x, double *z, cudaStream_t stream)
{
  const unsigned grid = karst_cuda_grid(p.count * m.b, THREADS);
  karst_cuda_instance(m.b, [&](auto size) {
    gather<decltype(size)::value, backward><<<grid, THREADS, 0, stream>>>(m, p, r, x, z);
    apply<decltype(size)::value, backward><<<grid, THREADS, 0, stream>>>(m, p, z, x);
  });
}

void solve(karst_context *context, const karst_matrix *A, const karst_fgbilu *fgbilu, const double *r, double *z)
{
  const karst_fgbilu_hyperplanes *planes = karst_fgbilu_hyperplanes_of(fgbilu);
  const karst_fgbilu_view m = karst_fgbilu_view_of(A, fgbilu);
  const cudaStream_t stream = karst_cuda_of(context)->stream;
  double *part = static_cast<double *>(karst_fgbilu_work_of(fgbilu)->sweep);
  const auto cells = [&](karst_index p) {
    return plane{planes->cell + planes->start[p], planes->start[p + 1] - planes->start[p]};
  };
  for (karst_index p = 0; p < planes->count; p++)
    if (cells(p).count > 0) sweep<false>(m, cells(p), r, z, part, stream);
  for (karst_index p = planes->count - 1; p >= 0; p--)
    if (cells(p).count > 0) sweep<true>(m, cells(p), r, z, part, stream);
}

/* The paper's z: [largest n] */
karst_status plan_sweep(karst_context *context, karst_fgbilu *fgbilu)
{
  double *z;
  karst_status status =
      karst_cuda_take(context, (int64_t)fgbilu->analysis->block_size * karst_fgbilu_hyperplanes_of(fgbilu)->largest,
                      "the work space of fgbilu", &z, &fgbilu->plan_memory);
  karst_fgbilu_work_of(fgbilu)->sweep = z;
  return status;
}

void destroy_sweep(karst_context *context, karst_fgbilu *fgbilu)
{
  context->backend->release(context, karst_fgbilu_work_of(fgbilu)->sweep);
}

} // namespace

const karst_fgbilu_factor_variant karst_fgbilu_factor_acc_cuda = {plan_factor, destroy_factor, launch_factor};
const karst_fgbilu_sweep_variant karst_fgbilu_sweep_acc_cuda = {plan_sweep, destroy_sweep, solve};
