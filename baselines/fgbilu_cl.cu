/* fgbilu_cl.cu - fgbilu in the CL style (Luo, Edwards, Luo, Mueller, Algorithms 8 to 10): one launch a hyperplane, for
 * the factorization and for each sweep. One thread handles an element of a block throughout. The threads of a thread
 * block ("workgroup") share L = max(1, 288 / n^2) cells and exchange data through shared memory. n is the block size; u
 * and v number the rows and columns of a block, q the cells of a hyperplane, qw those of a thread block. 288 is a
 * multiple of the warp's 32 threads and of n^2 for n = 1, 2, 3, 4, 6 and 12.
 *
 * Gauss-Jordan inversion is in place, with two alternating read buffers and one synchronization a step. With pivoting,
 * step r takes the row with the largest scaled entry of column r among the rows not yet taken. Rows are not exchanged:
 * after the last step the thread of (u,v) holds element (step of row u, pivot of column v) of the inverse, and stores
 * it there. The threads of column r vote for their rows in shared memory before the step's synchronization, by the
 * leading 15 bits of the entries, so that the choice needs no other synchronization. Without pivoting, as in the paper,
 * the pivots are on the diagonal. A block is judged singular by the same rule in both cases.
 *
 * If this fails for a block, one of its threads inverts it again (lib/backend/dense.h).
 *
 * Shared memory of a thread block: 8 (3 n^2 + 2 n) L + 4 (n + 1) L bytes for the factorization, which is 7.7 KiB for n
 * = 6 and 24.6 KiB for n = 32; 8 (n^2 + n) L bytes for a sweep. */
#include "gpu/fgbilu/fgbilu_cuda.h"

#include "lib/backend/dense.h"

namespace
{

enum { GROUP = 288, GROUP_LARGEST = 1024 };

/* Returns L. */
__host__ __device__ constexpr int cells_of_group(int n) { return n * n < GROUP ? GROUP / (n * n) : 1; }

/* Threads of a thread block at most, for the instances. */
template <int B> constexpr int threads_of_group = B ? cells_of_group(B) * (B * B) : GROUP_LARGEST;

/* The position of a thread (Algorithm 8). Surplus threads of the last thread block repeat the last cell's work and must
 * not store it. */
struct element {
  int qw, u, v;
  bool stores;
  karst_index cell;
};

template <int B> __device__ __forceinline__ element find_element(int n, const karst_index *cell, karst_index count)
{
  const int t = (int)threadIdx.x, qw = t / (n * n), rest = t - qw * (n * n);
  const int64_t q = (int64_t)blockIdx.x * cells_of_group(n) + qw;
  return {qw, rest % n, rest / n, q < count, cell[q < count ? q : count - 1]};
}

/* Returns sum over k of x[k n] y[k]. */
template <int B> __device__ __forceinline__ double dot(int n, const double *x, const double *y)
{
  double sum = 0;
#pragma unroll(B ? B : 4)
  for (int k = 0; k < (B ? B : n); k++) sum += x[k * n] * y[k];
  return sum;
}

/* The shared memory of a cell to factor. */
struct shared_cell {
  double *s;           /* [n n] column by column, and the second and third such block stride later each */
  int stride;          /* all the cells' blocks together */
  double *row_scale;   /* [n] the scale of each row, as in lib/backend/dense.h */
  double *column_size; /* [n] the largest size of each column with the rows scaled */
  unsigned *vote;      /* [n] for the pivot of each column */
  unsigned *again;     /* whether the block needs another attempt */
};

size_t bytes_to_factor(int n)
{
  const size_t cell = (KARST_FACES_BELOW * n + 2) * n * sizeof(double) + (n + 1) * sizeof(unsigned);
  return (size_t)cells_of_group(n) * cell;
}

__device__ __forceinline__ shared_cell find_shared(int n, int qw)
{
  extern __shared__ double shared[];
  const int cells = cells_of_group(n), stride = cells * n * n;
  double *scales = shared + KARST_FACES_BELOW * stride;
  unsigned *votes = reinterpret_cast<unsigned *>(scales + 2 * cells * n);
  return {shared + qw * n * n,       stride,         scales + qw * n,
          scales + (cells + qw) * n, votes + qw * n, votes + cells * n + qw};
}

/* Returns this thread's element of D = A(c,c) - sum over faces of E(f) D(f)^-1 F(f), and its size
 * (lib/backend/dense.h). */
template <int B>
__device__ __forceinline__ double make_block(const karst_fgbilu_view &m, int n, const element &at,
                                             const shared_cell &to, double *size)
{
  const int e = at.v * n + at.u;
  const double *after[KARST_FACES_BELOW];
#pragma unroll
  for (int face = 0; face < KARST_FACES_BELOW; face++) {
    const double *before = karst_fgbilu_block(m, n, at.cell, face);
    after[face] = nullptr;
    if (!before) continue;
    const karst_index neighbour = at.cell + m.step[face];
    after[face] = karst_fgbilu_block(m, n, neighbour, karst_fgbilu_opposite(face));
    to.s[face * to.stride + e] = dot<B>(n, before + at.u, karst_fgbilu_inverse(m, n, neighbour) + at.v * n);
  }
  const double *diagonal = karst_fgbilu_block(m, n, at.cell, KARST_PLACE_DIAGONAL);
  double d = diagonal ? diagonal[e] : 0, sizes = fabs(d);
  __syncthreads();
#pragma unroll
  for (int face = 0; face < KARST_FACES_BELOW; face++)
    if (after[face]) {
      d -= dot<B>(n, to.s + face * to.stride + at.u, after[face] + at.v * n);
      sizes += fabs(d);
    }
  __syncthreads();
  *size = sizes;
  return d;
}

/* Computes the scales by which pivots are judged, as karst_block_equilibrate does. size: of this thread's element. */
template <int B>
__device__ __forceinline__ void measure(const karst_fgbilu_view &m, int n, const element &at, const shared_cell &to,
                                        double size)
{
  double *block = to.s + 2 * to.stride; /* the read buffers are the other two */
  block[at.v * n + at.u] = size;
  if (at.v == 0) to.vote[at.u] = 0;
  if (at.u == 0 && at.v == 0) *to.again = 0;
  if (at.stores && !(size <= DBL_MAX)) karst_fgbilu_report(m, at.cell, KARST_FGBILU_NOT_FINITE);
  __syncthreads();
  if (at.v == 0) {
    double largest = 0;
    for (int k = 0; k < n; k++) largest = fmax(largest, block[k * n + at.u]);
    if (at.stores && largest == 0) karst_fgbilu_report(m, at.cell, KARST_FGBILU_SINGULAR);
    to.row_scale[at.u] = 1 / fmax(largest, DBL_MIN);
  }
  __syncthreads();
  if (at.u == 0) {
    double largest = 0;
    for (int k = 0; k < n; k++) largest = fmax(largest, block[at.v * n + k] * to.row_scale[k]);
    to.column_size[at.v] = largest;
  }
}

/* A vote: the leading bits of a size, which ascend with it, and below them the row, from the last to the first. */
__device__ __forceinline__ unsigned vote_for(int u, double size)
{
  return ((unsigned)__double2hiint(size) & ~31U) | (31U - (unsigned)u);
}

__device__ __forceinline__ int voted(unsigned vote) { return 31 - (int)(vote & 31U); }

/* Inverts each block that needs it by one thread. The sizes of the block are still in shared memory. made: this
 * thread's element. Returns whether its block was inverted here. */
__device__ __forceinline__ bool invert_again(const karst_fgbilu_view &m, int n, bool pivoting, const element &at,
                                             const shared_cell &to, double made)
{
  double *block = to.s, *inverse = to.s + to.stride, *size = to.s + 2 * to.stride;
  const bool again = *to.again > 0;
  if (!__syncthreads_or(again)) return false;
  block[at.v * n + at.u] = made;
  __syncthreads();
  if (again && at.stores && at.u == 0 && at.v == 0) {
    const karst_reason reason = karst_fgbilu_invert(n, pivoting, block, size, inverse, to.row_scale, to.column_size,
                                                    reinterpret_cast<int *>(to.vote));
    if (reason == KARST_SINGULAR_BLOCK) karst_fgbilu_report(m, at.cell, KARST_FGBILU_SINGULAR);
  }
  __syncthreads();
  if (again && at.stores) karst_fgbilu_inverse(m, n, at.cell)[at.v * n + at.u] = inverse[at.v * n + at.u];
  return again;
}

template <int B, bool pivoting>
__global__ void __launch_bounds__(threads_of_group<B>)
    factor(const karst_fgbilu_view m, const karst_index *cells, karst_index count)
{
  const int n = B ? B : m.b;
  const element at = find_element<B>(n, cells, count);
  const shared_cell to = find_shared(n, at.qw);
  const int e = at.v * n + at.u;
  int row = pivoting ? n : at.u, column = at.v; /* of this element in the inverse; n: not known yet */
  double size;
  double d = make_block<B>(m, n, at, to, &size);
  const double made = d;
  measure<B>(m, n, at, to, size);
  const double scale = to.row_scale[at.u];
  for (int r = 0; r < n; r++) {
    double *s = to.s + r % 2 * to.stride;
    if (pivoting || at.u == r || at.v == r) s[e] = d;
    if (pivoting && at.v == r && row == n) atomicMax(to.vote + r, vote_for(at.u, fabs(d) * scale));
    __syncthreads();
    const int best = pivoting ? voted(to.vote[r]) : r;
    const bool a = at.u == best, b = at.v == r;
    const double pivot = s[r * n + best];
    if (pivoting && a) row = r;
    if (pivoting && b) column = best;
    if (a && b && !karst_block_pivot_stands(n, fabs(pivot) * scale, to.column_size[r])) *to.again = 1;
    /* The product is of a quotient, so that small entries do not underflow in it. */
    const double over = (a ? (b ? 1 : d) : b ? -d : s[at.v * n + best]) / pivot;
    d = a || b ? over : d - s[r * n + at.u] * over;
  }
  __syncthreads();
  if (invert_again(m, n, pivoting, at, to, made) || !at.stores) return;
  karst_fgbilu_inverse(m, n, at.cell)[column * n + row] = d;
  if (!(fabs(d) <= DBL_MAX)) karst_fgbilu_report(m, at.cell, KARST_FGBILU_OVERFLOW);
}

void launch_factor(karst_context *context, const karst_matrix *A, karst_fgbilu *fgbilu)
{
  const karst_fgbilu_hyperplanes *planes = karst_fgbilu_hyperplanes_of(fgbilu);
  const karst_fgbilu_view m = karst_fgbilu_view_of(A, fgbilu);
  const cudaStream_t stream = karst_cuda_of(context)->stream;
  const int n = m.b, each = cells_of_group(n);
  const size_t shared = bytes_to_factor(n);
  for (karst_index p = 0; p < planes->count; p++) {
    const karst_index *cell = planes->cell + planes->start[p], count = planes->start[p + 1] - planes->start[p];
    if (count == 0) continue;
    karst_cuda_instance(n, [&](auto size) {
      constexpr int B = decltype(size)::value;
      if (fgbilu->pivoting)
        factor<B, true><<<karst_cuda_grid(count, each), each * n * n, shared, stream>>>(m, cell, count);
      else
        factor<B, false><<<karst_cuda_grid(count, each), each * n * n, shared, stream>>>(m, cell, count);
    });
  }
}

template <int B> __device__ __forceinline__ double sum_row(int n, const double *s, int u)
{
  double sum = 0;
#pragma unroll 8
  for (int k = 0; k < (B ? B : n); k++) sum += s[k * n + u];
  return sum;
}

/* Algorithm 10. x: the solution; forward it is made of r, backward in place. */
template <int B, bool backward>
__global__ void __launch_bounds__(threads_of_group<B>)
    sweep(const karst_fgbilu_view m, const karst_index *cells, karst_index count, const double *r, double *x)
{
  extern __shared__ double shared[];
  const int n = B ? B : m.b;
  const element at = find_element<B>(n, cells, count);
  const int e = at.v * n + at.u;
  const int64_t row = karst_fgbilu_row(m, at.cell);
  double *s = shared + at.qw * (n * n), *z = shared + cells_of_group(n) * (n * n) + at.qw * n;
  double sum = 0;
#pragma unroll
  for (int f = 0; f < KARST_FACES_BELOW; f++) {
    const int face = backward ? KARST_FACES_BELOW + f : f;
    const double *block = karst_fgbilu_block(m, n, at.cell, face);
    if (block) sum += block[e] * x[(int64_t)karst_fgbilu_row(m, at.cell + m.step[face]) * n + at.v];
  }
  s[e] = sum;
  __syncthreads();
  if (at.v == 0) z[at.u] = backward ? sum_row<B>(n, s, at.u) : r[row * n + at.u] - sum_row<B>(n, s, at.u);
  __syncthreads();
  s[e] = karst_fgbilu_inverse(m, n, at.cell)[e] * z[at.v];
  __syncthreads();
  if (at.v > 0 || !at.stores) return;
  const double product = sum_row<B>(n, s, at.u);
  x[row * n + at.u] = backward ? x[row * n + at.u] - product : product;
}

template <bool backward>
void launch_sweep(const karst_fgbilu_view &m, const karst_fgbilu_hyperplanes *planes, karst_index p, const double *r,
                  double *x, cudaStream_t stream)
{
  const karst_index *cell = planes->cell + planes->start[p], count = planes->start[p + 1] - planes->start[p];
  const int n = m.b, each = cells_of_group(n);
  const size_t bytes = (size_t)each * (n * n + n) * sizeof(double);
  if (count == 0) return;
  karst_cuda_instance(n, [&](auto size) {
    sweep<decltype(size)::value, backward>
        <<<karst_cuda_grid(count, each), each * n * n, bytes, stream>>>(m, cell, count, r, x);
  });
}

void solve(karst_context *context, const karst_matrix *A, const karst_fgbilu *fgbilu, const double *r, double *z)
{
  const karst_fgbilu_hyperplanes *planes = karst_fgbilu_hyperplanes_of(fgbilu);
  const karst_fgbilu_view m = karst_fgbilu_view_of(A, fgbilu);
  const cudaStream_t stream = karst_cuda_of(context)->stream;
  for (karst_index p = 0; p < planes->count; p++) launch_sweep<false>(m, planes, p, r, z, stream);
  for (karst_index p = planes->count - 1; p >= 0; p--) launch_sweep<true>(m, planes, p, r, z, stream);
}

const karst_fgbilu_factor_variant factor_cl = {nullptr, nullptr, launch_factor};
const karst_fgbilu_sweep_variant sweep_cl = {nullptr, nullptr, solve};

} // namespace

/* A thread for each element of a block, in thread blocks of 1024 at most. */
const karst_fgbilu_variant karst_fgbilu_baselines_cuda[KARST_FGBILU_BASELINES] = {
    {KARST_FGBILU_CL, "cl", 32, karst_fgbilu_list_hyperplanes_cuda, karst_fgbilu_forget_hyperplanes_cuda, &factor_cl,
     &sweep_cl},
    {KARST_FGBILU_MIXED, "mixed", 32, karst_fgbilu_list_hyperplanes_cuda, karst_fgbilu_forget_hyperplanes_cuda,
     &factor_cl, &karst_fgbilu_sweep_acc_cuda},
};
