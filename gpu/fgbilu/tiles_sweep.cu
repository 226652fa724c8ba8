/* tiles_sweep.cu - both sweeps of fgbilu on tiles (fgbilu_tiles.h), one launch each, for blocks of up to 8:
 *
 *     downward   y(c) = D(c)^-1 (r(c) - sum over faces 0 to 2: E(c,m) y(m))
 *     upward     z(c) = y(c) - D(c)^-1 sum over faces 3 to 5: F(c,m) z(m)
 *
 * A lane computes one scalar row of a cell. It loads its row of the three blocks and of D^-1 into registers before the
 * step that it waits for is done. Lanes exchange components of neighbours and of the sum by shuffles.
 *
 * An inbox has for each step the b (TA + TB) values of the lines at a = 0, then at b = 0. */
#include "gpu/fgbilu/fgbilu_tiles.h"
#include "gpu/ilu/ilu_cuda.h"

namespace
{

/* Warps of a tile. More warps hide more of the memory's latency behind the chain of steps, and leave room for fewer
 * tiles on a multiprocessor. Measured on an H200. */
template <int N> constexpr int warps_of_tile = N == 1 ? 12 : N <= 4 ? 8 : N <= 6 ? 6 : 4;

/* The steps that are in shared memory: a power of two. No warp is more than its turn behind. */
template <int WARPS> constexpr int ring_of = WARPS <= 4 ? 8 : WARPS <= 8 ? 16 : 32;

/* The inputs of a lane for a step, besides the step before. */
template <int N> struct stage {
  double behind[3][N]; /* its row of the blocks that couple with the cells behind */
  double inverse[N];   /* of D^-1 */
  double right;        /* r downward, y upward */
  double mail[2];      /* of the tiles at a - 1 and b - 1, read early; 0 if none is due */
  karst_index row;
};

/* The position of a lane: scalar row u of the cells of line (a, b) of the tile; step i + lag computes cell i. */
struct course {
  int u, base, a, b, lag;        /* base: the first lane of the line */
  karst_index length, steps;     /* cells of the line, 0 outside the grid; steps of the tile */
  const karst_fgbilu_cell *line; /* its cells are m.step apart */
  bool mail;                     /* whether other tiles send values to this one, */
  bool takes_a, takes_b;         /* to the lane, which waits for them */
  bool gives_a, gives_b;         /* whether the lane sends values */
  double *from_a, *from_b, *to_a, *to_b;
};

template <int N, int TA, int TB>
__device__ __forceinline__ course find_course(const karst_fgbilu_march &m, const karst_fgbilu_tile &tile)
{
  constexpr int PLACES = (TA + TB) * N;
  const int lane = (int)threadIdx.x % 32, p = lane / N;
  course c;
  c.u = lane % N;
  c.base = p * N;
  c.a = p % TA;
  c.b = p / TA;
  c.lag = c.a + c.b;
  const int64_t line_a = (int64_t)tile.a * TA + c.a, line_b = (int64_t)tile.b * TB + c.b;
  const bool own = c.b < TB && line_a < m.across[0] && line_b < m.across[1];
  c.length = own ? m.length : 0;
  c.steps = m.length + TA + TB - 2;
  c.line = m.cell + (own ? m.first + line_a * m.beside[0] + line_b * m.beside[1] : 0);
  c.mail = tile.a > 0 || tile.b > 0;
  c.takes_a = own && c.a == 0 && tile.a > 0;
  c.takes_b = own && c.b == 0 && tile.b > 0;
  c.gives_a = own && c.a == TA - 1 && line_a + 1 < m.across[0];
  c.gives_b = own && c.b == TB - 1 && line_b + 1 < m.across[1];
  const int64_t box = (int64_t)c.steps * PLACES;
  double *inbox = m.inbox + ((int64_t)tile.b * m.tiles[0] + tile.a) * box;
  c.from_a = inbox + c.b * N + c.u;
  c.from_b = inbox + (TB + c.a) * N + c.u;
  /* The line at a = 0 of the next tile makes cell i in step i + b, which is a steps earlier than this one. */
  c.to_a = inbox + box + c.b * N + c.u - (int64_t)c.a * PLACES;
  c.to_b = inbox + m.tiles[0] * box + (TB + c.a) * N + c.u - (int64_t)c.b * PLACES;
  return c;
}

/* Returns the cell that the lane makes in a step. */
__device__ __forceinline__ karst_fgbilu_cell find_cell(const karst_fgbilu_march &m, const course &c, karst_index s)
{
  const karst_index i = s - c.lag;
  karst_fgbilu_cell found = {0, -1, ~0ULL};
  if (i >= 0 && i < c.length) found = c.line[i * m.step];
  return found;
}

/* Loads the inputs of a step for its cell, and reads its mail. */
template <int N, int PLACES>
__device__ __forceinline__ void fetch(const karst_fgbilu_march &m, const course &c, karst_index s,
                                      const karst_fgbilu_cell &cell, const double *in, stage<N> &now)
{
  constexpr int SIZE = N * N;
  const karst_index i = s - c.lag;
  const bool here = i >= 0 && i < c.length, real = cell.row >= 0;
  const double *block = m.value + (int64_t)cell.start * SIZE + c.u;
#pragma unroll
  for (int f = 0; f < 3; f++) {
    const int at = karst_place(cell.place, m.face[f]);
#pragma unroll
    for (int k = 0; k < N; k++)
      now.behind[f][k] = karst_load_constant(real && at != KARST_PLACE_NONE, block + at * SIZE + k * N);
  }
#pragma unroll
  for (int k = 0; k < N; k++)
    now.inverse[k] = karst_load_constant(real, m.factor + (int64_t)cell.row * SIZE + k * N + c.u);
  now.right = karst_load(real, in + (int64_t)cell.row * N + c.u);
  now.row = cell.row;
  now.mail[0] = c.takes_a && here ? karst_look(c.from_a + (int64_t)s * PLACES) : 0;
  now.mail[1] = c.takes_b && here ? karst_look(c.from_b + (int64_t)s * PLACES) : 0;
}

/* Waits for the mail of a step. x_a and x_b are the values read so far. */
template <int PLACES>
__device__ __forceinline__ void await_mail(const course &c, karst_index s, double &x_a, double &x_b)
{
  while (c.mail && __any_sync(~0U, karst_is_absent(x_a) || karst_is_absent(x_b))) {
    if (karst_is_absent(x_a)) x_a = karst_look(c.from_a + (int64_t)s * PLACES);
    if (karst_is_absent(x_b)) x_b = karst_look(c.from_b + (int64_t)s * PLACES);
  }
}

/* Returns the lane's component of the cell, from its components of the cells behind. */
template <int N, bool upward>
__device__ __forceinline__ double solve_cell(const stage<N> &now, int base, double x, double x_a, double x_b)
{
  double sum = upward ? 0 : now.right, sum_a = 0, sum_b = 0, result = upward ? now.right : 0;
#pragma unroll
  for (int c = 0; c < N; c++) {
    sum -= now.behind[0][c] * (N > 1 ? __shfl_sync(~0U, x, base + c) : x);
    sum_a += now.behind[1][c] * (N > 1 ? __shfl_sync(~0U, x_a, base + c) : x_a);
    sum_b += now.behind[2][c] * (N > 1 ? __shfl_sync(~0U, x_b, base + c) : x_b);
  }
  sum -= sum_a + sum_b;
#pragma unroll
  for (int c = 0; c < N; c++) result += now.inverse[c] * (N > 1 ? __shfl_sync(~0U, sum, base + c) : sum);
  return result;
}

/* Stores the result of a step, sends it to other tiles, and marks the mail of the step absent. */
template <int N, int PLACES>
__device__ __forceinline__ void store(const course &c, karst_index s, karst_index row, double result, double *out)
{
  if (c.gives_a) karst_publish(c.to_a + (int64_t)s * PLACES, result);
  if (c.gives_b) karst_publish(c.to_b + (int64_t)s * PLACES, result);
  if (row >= 0) out[(int64_t)row * N + c.u] = result;
  if (c.takes_a) c.from_a[(int64_t)s * PLACES] = karst_absent();
  if (c.takes_b) c.from_b[(int64_t)s * PLACES] = karst_absent();
}

template <int N, int TA, int TB, bool upward>
__global__ void __launch_bounds__(32 * warps_of_tile<N>)
    sweep(const __grid_constant__ karst_fgbilu_march m, const double *in, double *out)
{
  constexpr int WARPS = warps_of_tile<N>, RING = ring_of<WARPS>, PLACES = (TA + TB) * N;
  static_assert(TA * TB * N <= 32, "the lines of a tile are the lanes of a warp");
  __shared__ double made[RING * 32];
  __shared__ uint64_t done[RING];
  __shared__ karst_fgbilu_tile taken;
  const int lane = (int)threadIdx.x % 32, warp = (int)threadIdx.x / 32;
  if (threadIdx.x == 0) taken = karst_next_tile(m);
  if (threadIdx.x < RING) karst_step_init(done + threadIdx.x);
  for (int k = (int)threadIdx.x; k < RING * 32; k += 32 * WARPS) made[k] = 0;
  __syncthreads();

  const course c = find_course<N, TA, TB>(m, taken);
  stage<N> now;
  karst_fgbilu_cell next = find_cell(m, c, warp);
  fetch<N, PLACES>(m, c, warp, next, in, now);
  next = find_cell(m, c, warp + WARPS);
  for (karst_index s = warp; s < c.steps; s += WARPS) {
    const karst_index i = s - c.lag, before = (s - 1) & (RING - 1);
    const bool here = i >= 0 && i < c.length;
    double x_a = now.mail[0], x_b = now.mail[1];
    await_mail<PLACES>(c, s, x_a, x_b);
    if (s > 0) karst_step_await(done + before, (uint32_t)((s - 1) / RING) & 1U);
    const double *values = made + before * 32 + lane;
    const double x = values[0], y_a = values[c.a > 0 ? -N : 0], y_b = values[c.b > 0 ? -TA * N : 0];
    const double result = solve_cell<N, upward>(now, c.base, x, c.a > 0 ? y_a : x_a, c.b > 0 ? y_b : x_b);
    if (here) made[(s & (RING - 1)) * 32 + lane] = result;
    karst_step_done(done + (s & (RING - 1)));
    if (here) store<N, PLACES>(c, s, now.row, result, out);
    fetch<N, PLACES>(m, c, s + WARPS, next, in, now);
    next = find_cell(m, c, s + 2 * WARPS);
  }
}

template <int N, bool flat, bool upward> const void *kernel_of()
{
  constexpr karst_fgbilu_shape shape = karst_fgbilu_shape_for(N, flat);
  return (const void *)sweep<N, shape.a, shape.b, upward>;
}

template <bool upward>
void launch(karst_context *context, karst_fgbilu_march m, bool flat, const double *in, double *out)
{
  void *arguments[] = {&m, &in, &out};
  karst_cuda_instance(m.n, [&](auto size) {
    constexpr int N = decltype(size)::value;
    if constexpr (N == 0)
      karst_fgbilu_sweep_large_cuda(context, &m, upward, in, out);
    else
      cudaLaunchKernel(flat ? kernel_of<N, true, upward>() : kernel_of<N, false, upward>(),
                       dim3((unsigned)(m.tiles[0] * m.tiles[1])), dim3(32 * warps_of_tile<N>), arguments, 0,
                       karst_cuda_of(context)->stream);
  });
}

karst_status plan(karst_context *context, karst_fgbilu *fgbilu)
{
  const int n = fgbilu->analysis->block_size;
  const karst_fgbilu_shape shape = karst_fgbilu_shape_for(n, karst_fgbilu_tiles_of(fgbilu)->flat);
  if (n > KARST_BLOCK_SIZE_LARGEST_INSTANCE) {
    const karst_status status = karst_fgbilu_plan_sweep_large_cuda(context, n);
    if (status) return status;
  }
  return karst_fgbilu_take_mail_cuda(context, fgbilu, (int64_t)(shape.a + shape.b) * n,
                                     &karst_fgbilu_work_of(fgbilu)->sweep);
}

void destroy(karst_context *context, karst_fgbilu *fgbilu)
{
  karst_fgbilu_release_mail_cuda(context, karst_fgbilu_work_of(fgbilu)->sweep);
}

void solve(karst_context *context, const karst_matrix *A, const karst_fgbilu *fgbilu, const double *r, double *z)
{
  const void *mail = karst_fgbilu_work_of(fgbilu)->sweep;
  const bool flat = karst_fgbilu_tiles_of(fgbilu)->flat;
  launch<false>(context, karst_fgbilu_march_cuda(A, fgbilu, mail, false), flat, r, z);
  launch<true>(context, karst_fgbilu_march_cuda(A, fgbilu, mail, true), flat, z, z);
}

} // namespace

const karst_fgbilu_sweep_variant karst_fgbilu_sweep_tiles_cuda = {plan, destroy, solve};
