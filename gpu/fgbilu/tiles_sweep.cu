/* tiles_sweep.cu - both sweeps of fgbilu on tiles (fgbilu_tiles.h), one launch each, for blocks of up to 8:
 *
 *     downward   y(c) = D(c)^-1 (r(c) - sum over faces 0 to 2: E(c,m) y(m))
 *     upward     z(c) = y(c) - D(c)^-1 sum over faces 3 to 5: F(c,m) z(m)
 *
 * A lane makes one scalar row of a cell. It has its row of the three blocks and of D^-1 in registers before the step
 * that it waits for is done; components of neighbours and of the sum go from lane to lane by shuffles.
 *
 * An inbox has for each step the b (TA + TB) values of the lines at a = 0, then at b = 0. */
#include "gpu/fgbilu/fgbilu_tiles.h"
#include "gpu/ilu/ilu_cuda.h"

namespace
{

/* Warps of a tile. More hide more of the memory's latency behind the chain of steps, and leave fewer tiles room on a
 * multiprocessor: measured on an H200. */
template <int N> constexpr int warps_of_tile = N == 1 ? 12 : N <= 4 ? 8 : N <= 6 ? 6 : 4;

/* The steps that stand in shared memory: a power of two. No warp is more than its turn behind. */
template <int WARPS> constexpr int ring_of = WARPS <= 4 ? 8 : WARPS <= 8 ? 16 : 32;

/* What a lane needs for a step besides the step before. */
template <int N> struct stage {
  double behind[3][N]; /* its row of the blocks that couple with the cells behind */
  double inverse[N];   /* of D^-1 */
  double right;        /* r downward, y upward */
  double mail[2];      /* of the tiles at a - 1 and b - 1, looked at early; 0 where none is due */
  karst_index row;
};

template <int N, int TA, int TB, bool upward>
__global__ void __launch_bounds__(32 * warps_of_tile<N>)
    sweep(const __grid_constant__ karst_fgbilu_march m, const double *in, double *out)
{
  constexpr int WARPS = warps_of_tile<N>, RING = ring_of<WARPS>, PLACES = (TA + TB) * N, SIZE = N * N;
  static_assert(TA * TB * N <= 32, "the lines of a tile are the lanes of a warp");
  __shared__ double made[RING * 32];
  __shared__ uint64_t done[RING];
  __shared__ karst_fgbilu_tile taken;
  const int lane = (int)threadIdx.x % 32, warp = (int)threadIdx.x / 32;
  const int p = lane / N, u = lane % N, base = p * N, a = p % TA, b = p / TA, lag = a + b;
  if (threadIdx.x == 0) taken = karst_next_tile(m);
  if (threadIdx.x < RING) karst_step_init(done + threadIdx.x);
  for (int k = (int)threadIdx.x; k < RING * 32; k += 32 * WARPS) made[k] = 0;
  __syncthreads();

  const karst_fgbilu_tile tile = taken;
  const int64_t line_a = (int64_t)tile.a * TA + a, line_b = (int64_t)tile.b * TB + b;
  const bool own = b < TB && line_a < m.across[0] && line_b < m.across[1];
  const karst_index length = own ? m.length : 0, steps = m.length + TA + TB - 2;
  const karst_fgbilu_cell *line = m.cell + (own ? m.first + line_a * m.beside[0] + line_b * m.beside[1] : 0);
  const int64_t box = (int64_t)steps * PLACES;
  double *inbox = m.inbox + ((int64_t)tile.b * m.tiles[0] + tile.a) * box;
  const bool takes_a = own && a == 0 && tile.a > 0, takes_b = own && b == 0 && tile.b > 0;
  const bool gives_a = own && a == TA - 1 && line_a + 1 < m.across[0];
  const bool gives_b = own && b == TB - 1 && line_b + 1 < m.across[1];
  const bool mail = tile.a > 0 || tile.b > 0;
  double *from_a = inbox + b * N + u, *from_b = inbox + (TB + a) * N + u;
  /* The line at a = 0 of the next tile makes cell i in step i + b, which is a steps earlier than this one. */
  double *to_a = inbox + box + b * N + u - (int64_t)a * PLACES;
  double *to_b = inbox + m.tiles[0] * box + (TB + a) * N + u - (int64_t)b * PLACES;

  stage<N> now;
  karst_fgbilu_cell next;
  auto find = [&](karst_index s) {
    const karst_index i = s - lag;
    next = {0, -1, ~0U};
    if (i >= 0 && i < length) next = line[i * m.step];
  };
  auto fetch = [&](karst_index s) {
    const karst_index i = s - lag;
    const bool here = i >= 0 && i < length, real = next.row >= 0;
    const double *block = m.value + (int64_t)next.start * SIZE + u;
#pragma unroll
    for (int f = 0; f < 3; f++) {
      const int at = karst_place(next.place, m.face[f]);
#pragma unroll
      for (int c = 0; c < N; c++)
        now.behind[f][c] = karst_load_constant(real && at != KARST_PLACE_NONE, block + at * SIZE + c * N);
    }
#pragma unroll
    for (int c = 0; c < N; c++)
      now.inverse[c] = karst_load_constant(real, m.factor + (int64_t)next.row * SIZE + c * N + u);
    now.right = karst_load(real, in + (int64_t)next.row * N + u);
    now.row = next.row;
    now.mail[0] = takes_a && here ? karst_look(from_a + (int64_t)s * PLACES) : 0;
    now.mail[1] = takes_b && here ? karst_look(from_b + (int64_t)s * PLACES) : 0;
    find(s + WARPS);
  };

  find(warp);
  fetch(warp);
  for (karst_index s = warp; s < steps; s += WARPS) {
    const karst_index i = s - lag, before = (s - 1) & (RING - 1);
    const bool here = i >= 0 && i < length;
    double x_a = now.mail[0], x_b = now.mail[1];
    while (mail && __any_sync(~0U, karst_is_absent(x_a) || karst_is_absent(x_b))) {
      if (karst_is_absent(x_a)) x_a = karst_look(from_a + (int64_t)s * PLACES);
      if (karst_is_absent(x_b)) x_b = karst_look(from_b + (int64_t)s * PLACES);
    }
    if (s > 0) karst_step_await(done + before, (uint32_t)((s - 1) / RING) & 1U);
    const double *values = made + before * 32 + lane;
    const double x = values[0], y_a = values[a > 0 ? -N : 0], y_b = values[b > 0 ? -TA * N : 0];
    if (a > 0) x_a = y_a;
    if (b > 0) x_b = y_b;
    double sum = upward ? 0 : now.right, sum_a = 0, sum_b = 0;
#pragma unroll
    for (int c = 0; c < N; c++) {
      sum -= now.behind[0][c] * (N > 1 ? __shfl_sync(~0U, x, base + c) : x);
      sum_a += now.behind[1][c] * (N > 1 ? __shfl_sync(~0U, x_a, base + c) : x_a);
      sum_b += now.behind[2][c] * (N > 1 ? __shfl_sync(~0U, x_b, base + c) : x_b);
    }
    sum -= sum_a + sum_b;
    double result = upward ? now.right : 0;
#pragma unroll
    for (int c = 0; c < N; c++) result += now.inverse[c] * (N > 1 ? __shfl_sync(~0U, sum, base + c) : sum);
    if (here) made[(s & (RING - 1)) * 32 + lane] = result;
    karst_step_done(done + (s & (RING - 1)));
    if (here) {
      if (gives_a) karst_publish(to_a + (int64_t)s * PLACES, result);
      if (gives_b) karst_publish(to_b + (int64_t)s * PLACES, result);
      if (now.row >= 0) out[(int64_t)now.row * N + u] = result;
      if (takes_a) from_a[(int64_t)s * PLACES] = karst_absent();
      if (takes_b) from_b[(int64_t)s * PLACES] = karst_absent();
    }
    fetch(s + WARPS);
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
  karst_fgbilu_return_mail_cuda(context, karst_fgbilu_work_of(fgbilu)->sweep);
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
