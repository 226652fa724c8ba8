/* tiles_factor.cu - the factorization of fgbilu for blocks of up to 8 by the tiles of fgbilu_tiles.h, in one launch.
 *
 * Lane p N + u of a warp computes row u of D(c)^-1 for the cell c of line p. A cell needs D^-1 of the three cells
 * behind it, all computed in the step before. Those of its own tile are in shared memory. Those of other tiles it reads
 * from the factor itself, whose elements are their own flags. There are no other dependencies. A warp loads its next
 * step's blocks of A while the other warps work: the rows of A(c,c) and E into registers, and F into shared memory,
 * because each lane needs all of it.
 *
 * A hole, or a cell outside the grid, produces zeros: the blocks of a step are multiplied even without a coupling. */
#include "gpu/fgbilu/fgbilu_tiles.h"

#include "gpu/ilu/warp_inverse.h"

namespace
{

enum { WARP = 32, OTHERS = 2 /* neighbours that can be in other tiles */, LARGEST = KARST_BLOCK_SIZE_LARGEST_INSTANCE };

/* The warps that take the steps of a tile in turn, a power of two. The critical path goes from cell to cell: two warps
 * suffice to have the next step's blocks loaded, and leave registers to other tiles. Measured on an H200, four are
 * better for some sizes. */
constexpr int warps_for(int n) { return n <= 2 ? 8 : n == 6 || n == 8 ? 2 : 4; }

/* The distance of the columns of a block in shared memory: each is aligned to 16 bytes. */
template <int N> constexpr int column_of = N + N % 2;

/* The shared memory of a tile. Blocks are BLOCK elements apart, so that the cells of a warp, which read the same
 * element of their blocks at a time, read from different banks. */
template <int N, int TA, int TB, int W> struct alignas(16) memory {
  static constexpr int BLOCK = N * column_of<N> + (N % 2 ? 0 : 2);
  static constexpr int LINES = TA * TB;
  static constexpr int STEPS = W > 1 ? W : 2; /* no warp waits for a step when the one STEPS before is not done */
  struct {
    double after[KARST_FACES_BELOW][LINES][BLOCK]; /* F */
    double sent[OTHERS][LINES][BLOCK];             /* D^-1 from other tiles; zeros multiply other elements */
  } warp[W];
  double made[2][LINES][BLOCK]; /* D^-1 by steps modulo 2: readers of a step are done when the next but one is made */
  uint64_t done[STEPS];
  karst_fgbilu_tile tile;
};

/* The cell of a lane in one step, and those behind it. */
struct cells {
  karst_fgbilu_cell own, along, beside[OTHERS];
};

/* Where the results of a step go, and its inputs from other tiles. */
struct route {
  karst_index row;            /* -1: there is nothing to make */
  const double *from[OTHERS]; /* elements of D^-1; NULL: nothing */
};

__device__ __forceinline__ karst_fgbilu_cell load_cell(const karst_fgbilu_march &m, bool there, int64_t number)
{
  union {
    karst_fgbilu_cell cell;
    int4 part[sizeof(karst_fgbilu_cell) / sizeof(int4)];
  } loaded;
  loaded.cell = {0, -1, ~0ULL};
  if (there)
    for (size_t k = 0; k < sizeof(karst_fgbilu_cell) / sizeof(int4); k++)
      loaded.part[k] = __ldg(reinterpret_cast<const int4 *>(m.cell + number) + k);
  return loaded.cell;
}

/* The position of a lane. */
struct line {
  int p, u;    /* the line, and the row of each block */
  bool active; /* whether this is a lane of a line of the tile; the others have line 0 */
  int a, b;
  karst_index length;                 /* 0 outside the grid */
  int64_t first;                      /* the number of its first cell */
  bool behind[OTHERS], other[OTHERS]; /* whether there is a line behind in a and b, and whether in another tile */
};

template <int N, int TA, int TB>
__device__ __forceinline__ line find_line(const karst_fgbilu_march &m, const karst_fgbilu_tile &tile)
{
  const int lane = (int)threadIdx.x % WARP, u = lane % N;
  const bool active = lane < TA * TB * N;
  const int p = active ? lane / N : 0, a = p % TA, b = p / TA;
  const karst_index across_a = tile.a * TA + a, across_b = tile.b * TB + b;
  const bool own = active && across_a < m.across[0] && across_b < m.across[1];
  line l;
  l.p = p;
  l.u = u;
  l.active = active;
  l.a = a;
  l.b = b;
  l.length = own ? m.length : 0;
  l.first = own ? m.first + across_a * m.beside[0] + across_b * m.beside[1] : m.first;
  l.behind[0] = own && across_a > 0;
  l.behind[1] = own && across_b > 0;
  l.other[0] = l.behind[0] && a == 0;
  l.other[1] = l.behind[1] && b == 0;
  return l;
}

__device__ __forceinline__ cells load_cells(const karst_fgbilu_march &m, const line &l, karst_index s)
{
  const karst_index i = s - l.a - l.b;
  const bool here = i >= 0 && i < l.length;
  const int64_t number = l.first + i * m.step;
  return {load_cell(m, here, number),
          load_cell(m, here && i > 0, number - m.step),
          {load_cell(m, here && l.behind[0], number - m.beside[0]),
           load_cell(m, here && l.behind[1], number - m.beside[1])}};
}

/* Queues a copy of N by N elements from global memory, or zeros, by the N lanes of a cell. */
template <int N> __device__ __forceinline__ void copy_block(double *to, bool there, const double *from, int u)
{
  constexpr int EACH = N % 2 ? 1 : 2; /* A's values have memory of their own, so blocks of even N are 16-byte aligned */
#pragma unroll
  for (int k = 0; k < N / EACH; k++)
    karst_queue_copy<EACH *(int)sizeof(double)>(N % 2 ? to + k * column_of<N> + u : to + (k * N + u) * EACH, there,
                                                from + (k * N + u) * EACH);
}

/* Queues the loads of a coupling: row u of E into before, F into after. Returns whether E D^-1 F is not zero. */
template <int N>
__device__ __forceinline__ bool fetch_coupling(const karst_fgbilu_march &m, const line &l,
                                               const karst_fgbilu_cell &cell, const karst_fgbilu_cell &behind, int face,
                                               double (&before)[N], double *after)
{
  const int e = karst_place(cell.place, face), f = karst_place(behind.place, karst_fgbilu_opposite(face));
  const bool both = e != KARST_PLACE_NONE && f != KARST_PLACE_NONE;
  const double *from = m.value + ((int64_t)cell.start + e) * (N * N) + l.u;
#pragma unroll
  for (int k = 0; k < N; k++) before[k] = karst_load_constant(both, from + k * N);
  if (l.active) copy_block<N>(after, both, m.value + (both ? ((int64_t)behind.start + f) * (N * N) : 0), l.u);
  return both;
}

/* Queues the loads of a step: row u of A(c,c) and E. */
template <int N, typename P>
__device__ __forceinline__ route fetch(const karst_fgbilu_march &m, const line &l, const cells &c, P &to,
                                       double (&d)[N], double (&along)[N], double (&beside_a)[N], double (&beside_b)[N])
{
  const int p = l.p, diagonal = karst_place(c.own.place, KARST_PLACE_DIAGONAL);
  const double *from = m.value + ((int64_t)c.own.start + diagonal) * (N * N) + l.u;
  fetch_coupling<N>(m, l, c.own, c.along, m.face[0], along, to.after[0][p]);
  const bool a = fetch_coupling<N>(m, l, c.own, c.beside[0], m.face[1], beside_a, to.after[1][p]);
  const bool b = fetch_coupling<N>(m, l, c.own, c.beside[1], m.face[2], beside_b, to.after[2][p]);
#pragma unroll
  for (int k = 0; k < N; k++) d[k] = karst_load_constant(diagonal != KARST_PLACE_NONE, from + k * N);
  return {c.own.row,
          {a && l.other[0] ? m.factor + (int64_t)c.beside[0].row * (N * N) + l.u : nullptr,
           b && l.other[1] ? m.factor + (int64_t)c.beside[1].row * (N * N) + l.u : nullptr}};
}

/* Waits for the rows of D^-1 that other tiles compute, and puts them into shared memory. */
template <int N, typename P> __device__ __forceinline__ void collect(const line &l, const route &now, P &to)
{
  if (!__any_sync(~0u, now.from[0] || now.from[1])) return;
  double x[OTHERS * N];
  bool waiting = false;
#pragma unroll
  for (int k = 0; k < OTHERS * N; k++) x[k] = now.from[k / N] ? karst_look(now.from[k / N] + k % N * N) : 0;
#pragma unroll
  for (int k = 0; k < OTHERS * N; k++) waiting |= karst_is_absent(x[k]);
  while (__any_sync(~0u, waiting)) {
    waiting = false;
#pragma unroll
    for (int k = 0; k < OTHERS * N; k++)
      if (karst_is_absent(x[k])) x[k] = karst_look(now.from[k / N] + k % N * N);
#pragma unroll
    for (int k = 0; k < OTHERS * N; k++) waiting |= karst_is_absent(x[k]);
  }
#pragma unroll
  for (int k = 0; k < OTHERS * N; k++)
    if (l.other[k / N]) to.sent[k / N][l.p][k % N * column_of<N> + l.u] = x[k];
}

/* Returns sum + x y for a row x and a column y in shared memory. */
template <int N> __device__ __forceinline__ double add_product(double sum, const double (&x)[N], const double *y)
{
#pragma unroll
  for (int k = 0; k + 1 < N; k += 2) {
    const double2 two = *reinterpret_cast<const double2 *>(y + k);
    sum += x[k] * two.x;
    sum += x[k + 1] * two.y;
  }
  return N % 2 ? sum + x[N - 1] * y[N - 1] : sum;
}

/* d -= E D^-1 F, in rows of d and E. size: of d (gpu/size.h). */
template <int N>
__device__ __forceinline__ void subtract(const double (&before)[N], const double *inverse, const double *after,
                                         double (&d)[N], float (&size)[N])
{
  double product[N];
#pragma unroll
  for (int c = 0; c < N; c++) product[c] = -add_product<N>(0, before, inverse + c * column_of<N>);
#pragma unroll
  for (int c = 0; c < N; c++) {
    d[c] = add_product<N>(d[c], product, after + c * column_of<N>);
    size[c] = karst_size_after(size[c], d[c]);
  }
}

/* A lane's part of the inverse after an elimination without exchanges. */
struct inverse_row {
  int row;          /* of the inverse */
  unsigned columns; /* of a[c]: bits 3 c to 3 c + 2 */
  int fault;        /* the karst_fgbilu_fault that this lane has seen, or NONE */
};

enum { NONE = 3, IDENTITY = 076543210 /* columns where no row has been exchanged */ };

/* A vote for a pivot's row: the leading bits of its size, which ascend with it, and below them the row, from the last
 * to the first. */
__device__ __forceinline__ unsigned vote_for(int u, double size)
{
  return ((unsigned)__double2hiint(size) & ~7U) | (7U - (unsigned)u);
}

/* Returns 1 / x, to about one unit in the last place, without a branch. A division has a branch; after it nvcc no
 * longer assumes that the lanes are together, and generates slow code for each shuffle. Large and small x are scaled by
 * a power of two, because the first guess treats numbers near the ends of the range as infinity or zero. 0 and values
 * that are not finite give a NaN or an infinity. */
__device__ __forceinline__ double invert_pivot(double x)
{
  constexpr unsigned LARGE = 0x65700000, SMALL = 0x1a800000, ONE = 0x3ff00000; /* high words of 2^600, 2^-599 and 1 */
  const unsigned size = (unsigned)__double2hiint(x) & 0x7fffffffU;
  const double scale = __hiloint2double((int)(size > LARGE ? SMALL : size < SMALL ? LARGE : ONE), 0);
  const double scaled = x * scale;
  double y;
  asm("rcp.approx.ftz.f64 %0, %1;" : "=d"(y) : "d"(scaled));
  y = __fma_rn(__fma_rn(-scaled, y, 1), y, y);
  y = __fma_rn(__fma_rn(-scaled, y, 1), y, y);
  return y * scale;
}

template <int N> struct whole_row {
  double at[N];
  karst_reason reason;
};

/* Computes the lane's row of the inverse by karst_fgbilu_invert, with the whole block in each lane. kept: the block in
 * shared memory; scaled: its sizes, with the rows scaled to 1; row: the scale of the lane's row. This is rare; it is
 * not inlined, so that it takes no registers from the rest. */
template <int N, bool pivoting>
__device__ __noinline__ whole_row<N> invert_whole(int p, int u, const double *kept, const double *scaled, double row)
{
  double block[N * N], size[N * N], inverse[N * N], row_scale[N], column_size[N];
  int pivot[N];
  whole_row<N> made;
  for (int c = 0; c < N; c++)
    for (int r = 0; r < N; r++) {
      block[c * N + r] = kept[c * column_of<N> + r];
      size[c * N + r] = scaled[c * column_of<N> + r] * __shfl_sync(~0u, row, p * N + r);
    }
  made.reason = karst_fgbilu_invert(N, pivoting, block, size, inverse, row_scale, column_size, pivot);
  for (int c = 0; c < N; c++) made.at[c] = made.reason == KARST_SOUND ? inverse[c * N + u] : 0;
  return made;
}

__device__ __forceinline__ int fault_of(karst_reason reason)
{
  return reason == KARST_SOUND ? NONE : reason == KARST_NOT_FINITE ? KARST_FGBILU_NOT_FINITE : KARST_FGBILU_SINGULAR;
}

/* Inverts the blocks that the warp holds, a row in each lane, by Gauss-Jordan elimination; the whole warp takes all
 * steps. With pivoting, step c takes the row with the largest scaled entry of column c among those that have not been
 * taken, else row c. Rows stay in their lanes, except where a block needs another attempt. What singular means is the
 * same as in lib/backend/dense.h. real: whether there is a cell; size: of the row (gpu/size.h); scratch, kept: N by N
 * elements each of shared memory for the cell. */
template <int N, bool pivoting>
__device__ __forceinline__ inverse_row invert(const line &l, bool real, const float (&size)[N], double (&a)[N],
                                              double *scratch, double *kept)
{
  const int base = l.p * N;
  double row_scale = 1, column_size = 0; /* of row u, of column u with the rows scaled */
  bool finite = true, taken = false, regular = true;
  inverse_row made = {l.u, 0, NONE};
  int largest = 0;
  if (N > 1) __syncwarp(); /* kept has been read as a factor */
#pragma unroll
  for (int c = 0; c < N; c++) {
    finite = finite && fabs(a[c]) <= DBL_MAX;
    largest = max(largest, karst_size_word(size[c]));
    if (N > 1 && l.active) kept[c * column_of<N> + l.u] = a[c];
  }
  if (N > 1) {
    row_scale = invert_pivot(fmax(karst_size_number(largest), DBL_MIN));
#pragma unroll
    for (int c = 0; c < N; c++)
      if (l.active) scratch[c * column_of<N> + l.u] = karst_size_number(karst_size_word(size[c])) * row_scale;
    __syncwarp();
#pragma unroll
    for (int r = 0; r < N; r++) column_size = fmax(column_size, scratch[l.u * column_of<N> + r]);
    __syncwarp();
  } else {
    column_size = karst_size_number(largest);
  }
#pragma unroll
  for (int c = 0; c < N; c++) {
    const double candidate = fabs(a[c]) * row_scale, over = invert_pivot(a[c]), factor = a[c];
    const double compared = N > 1 ? __shfl_sync(~0u, column_size, base + c) : column_size;
    int best = c;
    if (pivoting && N > 1) {
      const unsigned own = taken ? 0 : vote_for(l.u, candidate);
      unsigned vote = 0;
#pragma unroll
      for (int r = 0; r < N; r++) vote = max(vote, __shfl_sync(~0u, own, base + r));
      best = 7 - (int)(vote & 7U);
    }
    const bool pivot = l.u == best;
    const double inverse = N > 1 ? __shfl_sync(~0u, over, base + best) : over;
    if (pivot) regular = regular && karst_block_pivot_stands(N, candidate, compared);
    taken = taken || pivot;
    if (pivoting && pivot) made.row = c;
    made.columns |= (unsigned)best << 3 * c;
#pragma unroll
    for (int j = 0; j < N; j++) {
      const double entry = j == c ? inverse : __shfl_sync(~0u, a[j], base + best) * inverse;
      a[j] = pivot ? entry : (j == c ? 0 : a[j]) - factor * entry;
    }
  }
  bool overflow = false;
#pragma unroll
  for (int c = 0; c < N; c++) overflow = overflow || !(fabs(a[c]) <= DBL_MAX);
  if (overflow) made.fault = KARST_FGBILU_OVERFLOW;
  if (!regular) made.fault = KARST_FGBILU_SINGULAR;
  if (!finite) made.fault = KARST_FGBILU_NOT_FINITE;
  if constexpr (N > 1) {
    const karst_ilu_place at = {l.p, l.u, l.active, ((1u << N) - 1) << (l.p * N)};
    const bool all_finite = !karst_any_of_group(at, !finite), again = real && all_finite && !regular;
    if (__any_sync(~0u, again)) {
      const whole_row<N> whole =
          invert_whole<N, pivoting>(l.p, l.u, kept, scratch, fmax(karst_size_number(largest), DBL_MIN));
      __syncwarp(); /* others may write where it has read */
      if (karst_any_of_group(at, again)) {
        made = {l.u, IDENTITY, fault_of(whole.reason)};
#pragma unroll
        for (int c = 0; c < N; c++) a[c] = whole.at[c];
      }
    }
  }
  return made;
}

template <int N, int TA, int TB, int W, bool flat, bool pivoting>
__global__ void __launch_bounds__(WARP *W) factor(const __grid_constant__ karst_fgbilu_march m)
{
  using memory_type = memory<N, TA, TB, W>;
  extern __shared__ double2 karst_tile_memory[];
  memory_type *const memory = reinterpret_cast<memory_type *>(karst_tile_memory);
  const int warp = (int)threadIdx.x / WARP, lane = (int)threadIdx.x % WARP;
  if (threadIdx.x == 0) memory->tile = karst_next_tile(m);
  if (threadIdx.x < memory_type::STEPS) karst_step_init(memory->done + threadIdx.x);
  for (int k = (int)threadIdx.x; k < 2 * memory_type::LINES * memory_type::BLOCK; k += WARP * W)
    memory->made[0][0][k] = 0;
  for (int k = lane; k < OTHERS * memory_type::LINES * memory_type::BLOCK; k += WARP)
    memory->warp[warp].sent[0][0][k] = 0;
  __syncthreads();
  const line l = find_line<N, TA, TB>(m, memory->tile);
  const karst_index steps = m.length + TA + TB - 2;
  const int p = l.p;
  auto &own = memory->warp[warp];
  double d[N], along[N], a[N], b[N];
  route now = fetch<N>(m, l, load_cells(m, l, warp), own, d, along, a, b);
  cells next = load_cells(m, l, warp + W);
  for (karst_index s = warp; s < steps; s += W) {
    const double(*made)[memory_type::BLOCK] = memory->made[(s + 1) % 2];
    collect<N>(l, now, own);
    karst_await_copies();
    __syncwarp();
    if (s > 0)
      karst_step_await(memory->done + (s - 1) % memory_type::STEPS, (uint32_t)((s - 1) / memory_type::STEPS) % 2);
    float size[N];
#pragma unroll
    for (int k = 0; k < N; k++) size[k] = karst_size(d[k]);
    subtract<N>(along, made[p], own.after[0][p], d, size);
    subtract<N>(a, l.a > 0 ? made[p - 1] : own.sent[0][p], own.after[1][p], d, size);
    if (!flat) subtract<N>(b, l.b > 0 ? made[p - TA] : own.sent[1][p], own.after[2][p], d, size);
    double *result = memory->made[s % 2][p];
    const bool real = now.row >= 0;
    const inverse_row inverse = invert<N, pivoting>(l, real, size, d, result, own.after[0][p]);
    double *to = m.factor + (real ? (int64_t)now.row * (N * N) : 0);
#pragma unroll
    for (int k = 0; k < N; k++)
      if (l.active) result[(int)(inverse.columns >> 3 * k & 7U) * column_of<N> + inverse.row] = real ? d[k] : 0;
    karst_step_done(memory->done + s % memory_type::STEPS);
#pragma unroll
    for (int k = 0; k < N; k++)
      if (real) karst_publish(to + (int)(inverse.columns >> 3 * k & 7U) * N + inverse.row, d[k]);
    if (real && inverse.fault != NONE)
      atomicMin(m.first_fault, (unsigned long long)(l.first + (s - l.a - l.b) * m.step) * 4 + inverse.fault);
    now = fetch<N>(m, l, next, own, d, along, a, b);
    next = load_cells(m, l, s + 2 * W);
  }
}

struct instance {
  const void *kernel;
  int threads;
  size_t shared;
};

template <int N, bool flat> instance instance_of(bool pivoting)
{
  constexpr karst_fgbilu_shape shape = karst_fgbilu_shape_for(N, flat);
  constexpr int W = warps_for(N);
  return {pivoting ? reinterpret_cast<const void *>(factor<N, shape.a, shape.b, W, flat, true>)
                   : reinterpret_cast<const void *>(factor<N, shape.a, shape.b, W, flat, false>),
          WARP * W, sizeof(memory<N, shape.a, shape.b, W>)};
}

instance find_instance(const karst_fgbilu *fgbilu)
{
  const bool flat = karst_fgbilu_tiles_of(fgbilu)->flat;
  instance found = {};
  karst_cuda_instance(fgbilu->analysis->block_size, [&](auto size) {
    constexpr int N = decltype(size)::value;
    if constexpr (N > 0)
      found = flat ? instance_of<N, true>(fgbilu->pivoting) : instance_of<N, false>(fgbilu->pivoting);
  });
  return found;
}

karst_status plan(karst_context *context, karst_fgbilu *fgbilu)
{
  const int n = fgbilu->analysis->block_size;
  karst_status status = KARST_SUCCESS;
  if (n > LARGEST) {
    status = karst_fgbilu_plan_factor_large_cuda(context, n, fgbilu->pivoting);
  } else {
    const instance use = find_instance(fgbilu);
    status = karst_cuda_status(
        context, cudaFuncSetAttribute(use.kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, (int)use.shared),
        "the factorization of fgbilu");
  }
  if (status) return status;
  return karst_fgbilu_take_mail_cuda(context, fgbilu, 0, &karst_fgbilu_work_of(fgbilu)->factor);
}

void destroy(karst_context *context, karst_fgbilu *fgbilu)
{
  karst_fgbilu_release_mail_cuda(context, karst_fgbilu_work_of(fgbilu)->factor);
}

void launch(karst_context *context, const karst_matrix *A, karst_fgbilu *fgbilu)
{
  const karst_fgbilu_analysis *analysis = fgbilu->analysis;
  const cudaStream_t stream = karst_cuda_of(context)->stream;
  const size_t bytes = (size_t)karst_block_offset(analysis->block_size, analysis->cells.rows) * sizeof(double);
  karst_fgbilu_march m = karst_fgbilu_march_cuda(A, fgbilu, karst_fgbilu_work_of(fgbilu)->factor, false);
  void *arguments[] = {&m};
  cudaMemsetAsync(fgbilu->factor, 0xff, bytes, stream);
  if (m.n > LARGEST) {
    karst_fgbilu_factor_large_cuda(context, &m, fgbilu->pivoting);
    return;
  }
  const instance use = find_instance(fgbilu);
  cudaLaunchKernel(use.kernel, dim3((unsigned)((int64_t)m.tiles[0] * m.tiles[1])), dim3((unsigned)use.threads),
                   arguments, use.shared, stream);
}

} // namespace

const karst_fgbilu_factor_variant karst_fgbilu_factor_tiles_cuda = {plan, destroy, launch};
