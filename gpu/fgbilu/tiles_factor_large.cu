/* tiles_factor_large.cu - the factorization of fgbilu for blocks of 9 to 32 in one launch. A thread block computes a
 * line of cells of fgbilu_tiles.h, cell after cell. D^-1 of the cell before stays in shared memory. D^-1 of the cells
 * in the lines beside it is read from the factor itself, whose elements are their own flags. The next cell's blocks of
 * A are copied to shared memory while D is inverted.
 *
 * Lines are taken by tickets, tile by tile, by ascending a in each. A line needs only lines with earlier tickets. */
#include "gpu/fgbilu/fgbilu_tiles.h"

#include "gpu/ilu/ilu_cuda.h"
#include "gpu/block_inverse.h"

namespace
{

enum {
  LARGEST = 32, /* block size */
  COLUMNS = 4,  /* of a row that a thread makes at a time */
  PARTS = 3,    /* such parts of E D^-1 that a thread makes, at most */
  LOOKS = 4,    /* elements of a D^-1 that a thread looks for, at most */
  BESIDE = 2,
  BLOCKS = 11 /* in shared memory: E, F, D^-1 of three cells each, A(c,c) of the next and D */
};

constexpr int threads_for(int n) { return n <= 16 ? 128 : 256; }

int blocks_apart(int n) { return n * n + n % 2; }

/* Shared memory of a thread block in bytes; the last 8 are for its ticket. */
size_t shared_for(int n)
{
  return (size_t)(BLOCKS * blocks_apart(n)) * sizeof(double) + (karst_cuda_invert_shared(n) + 7) / 8 * 8 + 8;
}

/* karst_block_in_memory without row exchanges: a pivot that cannot be divided by makes the block singular. */
struct block_unpivoted : karst_block_in_memory {
  using karst_block_in_memory::karst_block_in_memory;

  __device__ bool choose(int c)
  {
    if (threadIdx.x == 0)
      pivot[c] = karst_block_pivot_stands(b, fabs(at[c * stride + c]) * row_scale[c], column_size[c]) ? c : -1;
    __syncthreads();
    return pivot[c] >= 0;
  }
};

/* A cell, the one behind it in its line, and those in the lines beside it. */
struct cells {
  karst_fgbilu_cell own, along, beside[BESIDE];
};

/* A line, and whether there are lines behind it in a and b. */
struct line {
  int64_t first;
  bool behind[BESIDE];
};

__device__ __forceinline__ cells load_cells(const karst_fgbilu_march &m, const line &l, karst_index i)
{
  const karst_fgbilu_cell none = {0, -1, ~0ULL}, *at = m.cell + l.first + i * m.step;
  const bool here = i < m.length;
  cells c = {none, none, {none, none}};
  if (here) c.own = *at;
  if (here && i > 0) c.along = at[-m.step];
  if (here && l.behind[0]) c.beside[0] = at[-m.beside[0]];
  if (here && l.behind[1]) c.beside[1] = at[-m.beside[1]];
  return c;
}

/* Queues a copy of a block of A, or of zeros. A's values have memory of their own, so blocks of even n are 16-byte
 * aligned. */
template <bool even>
__device__ __forceinline__ void copy_block(const karst_fgbilu_march &m, double *to, bool there, int64_t block)
{
  constexpr int EACH = even ? 2 : 1;
  const int size = m.n * m.n;
  const double *from = m.value + (there ? block * size : 0);
  for (int k = (int)threadIdx.x * EACH; k < size; k += (int)blockDim.x * EACH)
    karst_queue_copy<EACH * 8>(to + k, there, from + k);
}

/* Queues copies of E and F; returns whether E D^-1 F is not zero. */
template <bool even>
__device__ __forceinline__ bool copy_coupling(const karst_fgbilu_march &m, const karst_fgbilu_cell &cell,
                                              const karst_fgbilu_cell &behind, int face, double *before, double *after)
{
  const int e = karst_place(cell.place, face), f = karst_place(behind.place, karst_fgbilu_opposite(face));
  const bool both = e != KARST_PLACE_NONE && f != KARST_PLACE_NONE;
  copy_block<even>(m, before, both, (int64_t)cell.start + e);
  copy_block<even>(m, after, both, (int64_t)behind.start + f);
  return both;
}

/* Where the results of a cell go, and the positions of D^-1 of the cells beside it. */
struct route {
  karst_index row;            /* -1: a hole */
  const double *from[BESIDE]; /* NULL: not needed */
};

template <bool even>
__device__ __forceinline__ route fetch(const karst_fgbilu_march &m, const cells &c, int apart, double *before,
                                       double *after, double *diagonal)
{
  const int64_t size = (int64_t)m.n * m.n;
  const int place = karst_place(c.own.place, KARST_PLACE_DIAGONAL);
  copy_coupling<even>(m, c.own, c.along, m.face[0], before, after);
  const bool a = copy_coupling<even>(m, c.own, c.beside[0], m.face[1], before + apart, after + apart);
  const bool b = copy_coupling<even>(m, c.own, c.beside[1], m.face[2], before + 2 * apart, after + 2 * apart);
  copy_block<even>(m, diagonal, place != KARST_PLACE_NONE, (int64_t)c.own.start + place);
  return {c.own.row,
          {a ? m.factor + c.beside[0].row * size : nullptr, b ? m.factor + c.beside[1].row * size : nullptr}};
}

/* Waits for D^-1 of the cells beside this one and copies them to shared memory. */
__device__ __forceinline__ void collect(const route &now, int size, int apart, double *to)
{
  const int t = (int)threadIdx.x, threads = (int)blockDim.x;
  double x[BESIDE * LOOKS];
  bool waiting = true;
#pragma unroll
  for (int k = 0; k < BESIDE * LOOKS; k++) x[k] = karst_absent();
  while (__any_sync(~0U, waiting)) {
    waiting = false;
#pragma unroll
    for (int k = 0; k < BESIDE * LOOKS; k++) {
      const int e = t + k % LOOKS * threads;
      const bool needed = now.from[k / LOOKS] && e < size;
      if (karst_is_absent(x[k])) x[k] = needed ? karst_look(now.from[k / LOOKS] + e) : 0;
    }
#pragma unroll
    for (int k = 0; k < BESIDE * LOOKS; k++) waiting |= karst_is_absent(x[k]);
  }
#pragma unroll
  for (int k = 0; k < BESIDE * LOOKS; k++)
    if (t + k % LOOKS * threads < size) to[k / LOOKS * apart + t + k % LOOKS * threads] = x[k];
}

/* Subtracts row u of x times COLUMNS columns of y, from column v; those past the last repeat it. */
template <bool even>
__device__ __forceinline__ void subtract_product(int n, const double *x, const double *y, int u, int v,
                                                 double (&sum)[COLUMNS])
{
  const double *column[COLUMNS];
#pragma unroll
  for (int i = 0; i < COLUMNS; i++) column[i] = y + min(v + i, n - 1) * n;
  x += u;
  if (even)
#pragma unroll 2
    for (int k = 0; k < n; k += 2) {
      const double first = x[k * n], second = x[k * n + n];
#pragma unroll
      for (int i = 0; i < COLUMNS; i++) {
        const double2 two = *reinterpret_cast<const double2 *>(column[i] + k);
        sum[i] -= first * two.x;
        sum[i] -= second * two.y;
      }
    }
  else
#pragma unroll 3
    for (int k = 0; k < n; k++)
#pragma unroll
      for (int i = 0; i < COLUMNS; i++) sum[i] -= x[k * n] * column[i][k];
}

/* Computes D from A(c,c), E, D^-1 of the cells behind and F. E is overwritten. The memory of beside receives the size
 * of D (lib/backend/dense.h) and a copy of D. */
template <bool even>
__device__ __forceinline__ void make_block(int n, int apart, double *before, const double *after, const double *along,
                                           double *beside, const double *diagonal, double *to)
{
  const int t = (int)threadIdx.x, threads = (int)blockDim.x;
  const int block = (n + COLUMNS - 1) / COLUMNS * n, all = KARST_FACES_BELOW * block;
  double product[PARTS][COLUMNS] = {};
#pragma unroll
  for (int part = 0; part < PARTS; part++) {
    const int e = t + part * threads, q = e / block, u = e % block % n, v = e % block / n * COLUMNS;
    if (e < all)
      subtract_product<even>(n, before + q * apart, q == 0 ? along : beside + (q - 1) * apart, u, v, product[part]);
  }
  __syncthreads();
#pragma unroll
  for (int part = 0; part < PARTS; part++) {
    const int e = t + part * threads, q = e / block, u = e % block % n, v = e % block / n * COLUMNS;
#pragma unroll
    for (int i = 0; i < COLUMNS; i++)
      if (e < all && v + i < n) before[q * apart + (v + i) * n + u] = -product[part][i];
  }
  __syncthreads();
  for (int e = t; e < block; e += threads) {
    const int u = e % n, v = e / n * COLUMNS;
    double d[COLUMNS], size[COLUMNS];
#pragma unroll
    for (int i = 0; i < COLUMNS; i++) {
      d[i] = diagonal[min(v + i, n - 1) * n + u];
      size[i] = fabs(d[i]);
    }
    for (int q = 0; q < KARST_FACES_BELOW; q++) {
      subtract_product<even>(n, before + q * apart, after + q * apart, u, v, d);
#pragma unroll
      for (int i = 0; i < COLUMNS; i++) size[i] += fabs(d[i]);
    }
#pragma unroll
    for (int i = 0; i < COLUMNS; i++)
      if (v + i < n) {
        to[(v + i) * n + u] = beside[apart + (v + i) * n + u] = d[i];
        beside[(v + i) * n + u] = size[i];
      }
  }
  __syncthreads();
}

__device__ __forceinline__ void report(const karst_fgbilu_march &m, int64_t cell, karst_reason reason)
{
  const karst_fgbilu_fault fault = reason == KARST_NOT_FINITE ? KARST_FGBILU_NOT_FINITE : KARST_FGBILU_SINGULAR;
  atomicMin(m.first_fault, (unsigned long long)cell * 4 + fault);
}

template <bool even, bool pivoting>
__global__ void __launch_bounds__(256) factor(const __grid_constant__ karst_fgbilu_march m, const int lines)
{
  extern __shared__ double2 karst_line_memory[];
  const int n = m.n, size = n * n, apart = size + n % 2, t = (int)threadIdx.x, threads = (int)blockDim.x;
  double *before = reinterpret_cast<double *>(karst_line_memory), *after = before + KARST_FACES_BELOW * apart;
  double *beside = after + KARST_FACES_BELOW * apart, *next = beside + BESIDE * apart;
  double *along = next + apart, *own = along + apart, *work = own + apart;
  unsigned long long *ticket = reinterpret_cast<unsigned long long *>(work + 4 * (n + n % 2) + (n + 1) / 2);
  if (t == 0) *ticket = atomicAdd(m.ticket, 1ULL) % ((unsigned long long)m.tiles[0] * m.tiles[1] * lines);
  for (int k = t; k < apart; k += threads) along[k] = 0;
  __syncthreads();
  const karst_fgbilu_tile tile = m.order[*ticket / lines];
  const karst_index a = tile.a * lines + (karst_index)(*ticket % lines), b = tile.b;
  if (a >= m.across[0]) return;
  const line l = {m.first + a * m.beside[0] + b * m.beside[1], {a > 0, b > 0}};
  route now = fetch<even>(m, load_cells(m, l, 0), apart, before, after, next);
  cells following = load_cells(m, l, 1);
  for (karst_index i = 0; i < m.length; i++) {
    double *to = m.factor + (now.row >= 0 ? (int64_t)now.row * size : 0);
    const bool real = now.row >= 0;
    karst_await_copies();
    if (real) {
      collect(now, size, apart, beside);
      __syncthreads();
      make_block<even>(n, apart, before, after, along, beside, next, own);
    }
    now = fetch<even>(m, following, apart, before, after, next);
    following = load_cells(m, l, i + 2);
    if (!real) continue;
    karst_block_in_memory block(n, own, n, beside + apart, beside, work);
    block_unpivoted unpivoted(n, own, n, beside + apart, beside, work);
    const karst_reason reason = pivoting ? karst_cuda_invert(block) : karst_cuda_invert(unpivoted);
    __syncthreads();
    for (int k = t; k < size; k += threads) karst_publish(to + k, own[k]);
    if (reason != KARST_SOUND && t == 0) report(m, l.first + i * m.step, reason);
    double *made = own;
    own = along;
    along = made;
  }
}

const void *find_kernel(int n, bool pivoting)
{
  if (n % 2 == 0)
    return pivoting ? reinterpret_cast<const void *>(factor<true, true>)
                    : reinterpret_cast<const void *>(factor<true, false>);
  return pivoting ? reinterpret_cast<const void *>(factor<false, true>)
                  : reinterpret_cast<const void *>(factor<false, false>);
}

} // namespace

size_t karst_fgbilu_factor_large_shared_cuda(int n) { return shared_for(n); }

karst_status karst_fgbilu_plan_factor_large_cuda(karst_context *context, int n, bool pivoting)
{
  return karst_cuda_status(context,
                           karst_fgbilu_allow_shared_cuda(context, find_kernel(n, pivoting), shared_for(LARGEST)),
                           "the factorization of fgbilu");
}

void karst_fgbilu_factor_large_cuda(karst_context *context, const karst_fgbilu_march *march, bool pivoting)
{
  karst_fgbilu_march m = *march;
  int lines = karst_fgbilu_shape_for(m.n, false).a;
  void *arguments[] = {&m, &lines};
  cudaLaunchKernel(find_kernel(m.n, pivoting), dim3((unsigned)((int64_t)m.tiles[0] * m.tiles[1] * lines)),
                   dim3((unsigned)threads_for(m.n)), arguments, shared_for(m.n), karst_cuda_of(context)->stream);
}
