/* tiles_sweep_large.cu - both sweeps of fgbilu on tiles (fgbilu_tiles.h), one launch each, for blocks of 9 to 32:
 *
 *     downward   y(c) = D(c)^-1 (r(c) - sum over faces 0 to 2: E(c,m) y(m))
 *     upward     z(c) = y(c) - D(c)^-1 sum over faces 3 to 5: F(c,m) z(m)
 *
 * A lane computes one scalar row of a cell. The blocks of a step do not fit into registers until they are needed. So
 * each warp copies those of its next step into its own shared memory, bypassing the registers, while the other warps
 * work. Work that does not depend on the step before is done before the wait for it: the products with values from the
 * mail, and the loads of the rows of the other blocks. Lanes exchange components of neighbours and of the sum through
 * shared memory.
 *
 * An inbox has for each step the n values of the line at a = 0, then those of all lines at b = 0. */
#include "gpu/fgbilu/fgbilu_tiles.h"
#include "gpu/ilu/ilu_cuda.h"

#include <algorithm>

namespace
{

enum { VECTORS = 3, BLOCKS = 4, INVERSE = 3, STATIC = 128 /* bytes, enough for mbarriers and the tile */ };

/* Warps of a tile for blocks of up to WIDTH. More warps hide more of the memory's latency behind the chain of steps.
 * Two tiles must fit one multiprocessor, by registers (6 warps of 170) and by shared memory: 3 warps with blocks of 32
 * take 99 KiB, which is the limit of a thread block on some devices. */
template <int WIDTH> constexpr int warps_of_tile = WIDTH <= 10 ? 6 : WIDTH <= 24 ? 4 : 3;

/* The steps whose values and mbarriers are in shared memory, a power of two. The parity that a warp waits for says that
 * step s - 1 is done only if step s - 1 - ring_of_tile is. That holds, because the warp's own last step, s -
 * warps_of_tile, is done. No step overwrites values that are still read: step s + 1 begins to write when step s is
 * done. */
template <int WIDTH> constexpr int ring_of_tile = warps_of_tile<WIDTH> <= 3 ? 2 : 8;

/* Shared memory of a tile in bytes. */
template <int LINES, int WIDTH> constexpr size_t shared_of_tile(int n)
{
  constexpr size_t WARPS = warps_of_tile<WIDTH>;
  return ((ring_of_tile<WIDTH> + WARPS * VECTORS) * 32 + WARPS * LINES * BLOCKS * n * n) * sizeof(double);
}

/* Copies from global to shared memory that overlap with the lane's other work. The lanes of a warp share them. A lane
 * copies At bytes at a time; all addresses are aligned to At. */
template <int AT> __device__ __forceinline__ void begin_copy(uint32_t to, const double *from, int bytes, int lane)
{
  const char *source = (const char *)from + lane * AT;
  to += (uint32_t)(lane * AT);
#pragma unroll 2
  for (int rest = bytes - lane * AT; rest > 0; rest -= 32 * AT) {
#if __CUDA_ARCH__ >= 800
    if constexpr (AT == 16)
      asm volatile("cp.async.cg.shared.global [%0], [%1], 16;" ::"r"(to), "l"(source) : "memory");
    else
      asm volatile("cp.async.ca.shared.global [%0], [%1], 8;" ::"r"(to), "l"(source) : "memory");
#else
    for (int k = 0; k < AT / (int)sizeof(double); k++)
      asm volatile("st.shared.f64 [%0], %1;" ::"r"(to + 8 * k), "d"(((const double *)source)[k]) : "memory");
#endif
    to += 32 * AT;
    source += 32 * AT;
  }
}

/* Loads a row of a block of n, padded with zeros. If n is not a constant it is hidden from the optimizer, which would
 * hold the offsets of all columns in registers throughout the sweep. */
template <bool exact, int WIDTH>
__device__ __forceinline__ void load_row(const double *block, int n, double (&row)[WIDTH])
{
  if (!exact) asm volatile("" : "+r"(n));
#pragma unroll
  for (int c = 0; c < WIDTH; c++) {
    row[c] = c < n ? *block : 0;
    block += n;
  }
}

/* The sum over the columns of a row as four independent sums, to hide the latency of additions. x is aligned to 16
 * bytes, and has finite numbers where the row is padded. */
template <int WIDTH> __device__ __forceinline__ double row_times(const double (&row)[WIDTH], const double *x)
{
  double sum[4] = {};
#pragma unroll
  for (int c = 0; c < WIDTH; c += 2) {
    const double2 pair = *(const double2 *)(x + c);
    sum[c % 4] += row[c] * pair.x;
    sum[c % 4 + 1] += row[c + 1] * pair.y;
  }
  return (sum[0] + sum[1]) + (sum[2] + sum[3]);
}

/* The position of a lane: scalar row u of the cells of line p of the tile; step i + p computes cell i. */
struct course {
  int n, p, u;
  bool own;                        /* whether there is such a line and row */
  karst_index lines, steps;        /* of the tile */
  const karst_fgbilu_cell *corner; /* its first cell */
  bool mail;                       /* whether other tiles send values to this one, */
  bool takes_a, takes_b;           /* to the lane, which waits for them */
  bool gives_a, gives_b;           /* whether the lane sends values */
  int places;                      /* of a step in an inbox */
  double *from_a, *from_b, *to_a, *to_b;
};

template <int LINES>
__device__ __forceinline__ course find_course(const karst_fgbilu_march &m, const karst_fgbilu_tile &tile, int n)
{
  constexpr int LANES = 32 / LINES; /* of a line */
  const int lane = (int)threadIdx.x % 32;
  course c;
  c.n = n;
  c.p = min(lane / LANES, LINES - 1);
  c.u = lane - c.p * LANES;
  const int64_t line_a = (int64_t)tile.a * LINES + c.p;
  c.lines = min((karst_index)LINES, m.across[0] - tile.a * LINES);
  c.steps = m.length + LINES - 1;
  c.corner = m.cell + m.first + (int64_t)tile.a * LINES * m.beside[0] + tile.b * m.beside[1];
  c.own = c.u < n && c.p < c.lines;
  c.mail = tile.a > 0 || tile.b > 0;
  c.takes_a = c.own && c.p == 0 && tile.a > 0;
  c.takes_b = c.own && tile.b > 0;
  c.gives_a = c.own && c.p == LINES - 1 && line_a + 1 < m.across[0];
  c.gives_b = c.own && tile.b + 1 < m.across[1];
  c.places = (LINES + 1) * n;
  const int64_t box = (int64_t)c.steps * c.places;
  double *inbox = m.inbox + ((int64_t)tile.b * m.tiles[0] + tile.a) * box;
  c.from_a = inbox + c.u;
  c.from_b = inbox + n + c.p * n + c.u;
  /* The line at a = 0 of the next tile makes cell i in step i, which is p steps earlier than this one. */
  c.to_a = inbox + box + c.u - (int64_t)c.p * c.places;
  c.to_b = inbox + m.tiles[0] * box + n + c.p * n + c.u;
  return c;
}

/* The inputs of a lane for a step, besides the blocks and the step before. */
struct stage {
  bool behind[3]; /* whether the cell couples with those behind it */
  double right;   /* r downward, y upward */
  double mail[2]; /* read early; 0 if none is due */
  karst_index row;
};

/* Finds the cells of all lines in a step. */
template <int LINES>
__device__ __forceinline__ void find_cells(const karst_fgbilu_march &m, const course &c, karst_index s,
                                           karst_fgbilu_cell (&next)[LINES])
{
#pragma unroll
  for (int q = 0; q < LINES; q++) {
    const karst_index i = s - q;
    next[q] = {0, -1, ~0ULL};
    if (q < c.lines && i >= 0 && i < m.length) next[q] = c.corner[q * m.beside[0] + i * m.step];
  }
}

/* Begins to copy the blocks of the cells of a step to the warp's shared memory, and loads the other inputs. wide:
 * whether blocks are copied in pieces of 16 bytes. */
template <int LINES>
__device__ __forceinline__ void fetch(const karst_fgbilu_march &m, const course &c, karst_index s,
                                      const karst_fgbilu_cell (&next)[LINES], const double *in, uint32_t to_block,
                                      bool wide, stage &now)
{
  const int lane = (int)threadIdx.x % 32, size = c.n * c.n;
  const karst_index i = s - c.p;
  const bool here = i >= 0 && i < m.length;
  const auto copy = [&](int number, const double *from) {
    const uint32_t to = to_block + (uint32_t)(number * size * (int)sizeof(double));
    if (wide)
      begin_copy<16>(to, from, size * (int)sizeof(double), lane);
    else
      begin_copy<8>(to, from, size * (int)sizeof(double), lane);
  };
  karst_fgbilu_cell mine = next[0];
#pragma unroll
  for (int q = 1; q < LINES; q++)
    if (q == c.p) mine = next[q];
  now.row = c.u < c.n ? mine.row : -1;
  now.right = karst_load(now.row >= 0, in + (int64_t)now.row * c.n + c.u);
  now.mail[0] = c.takes_a && here ? karst_look(c.from_a + (int64_t)s * c.places) : 0;
  now.mail[1] = c.takes_b && here ? karst_look(c.from_b + (int64_t)s * c.places) : 0;
#pragma unroll
  for (int f = 0; f < 3; f++) now.behind[f] = karst_place(mine.place, m.face[f]) != KARST_PLACE_NONE;
#pragma unroll
  for (int q = 0; q < LINES; q++) {
    if (next[q].row < 0) continue;
#pragma unroll
    for (int f = 0; f < 3; f++) {
      const int at = karst_place(next[q].place, m.face[f]);
      if (at != KARST_PLACE_NONE) copy(q * BLOCKS + f, m.value + ((int64_t)next[q].start + at) * size);
    }
    copy(q * BLOCKS + INVERSE, m.factor + (int64_t)next[q].row * size);
  }
}

/* Waits for the mail of a step, and stores it where the lanes of the warp read it. */
__device__ __forceinline__ void await_mail(const course &c, karst_index s, const stage &now, double *from_mail)
{
  double x_a = now.mail[0], x_b = now.mail[1];
  while (c.mail && __any_sync(~0U, karst_is_absent(x_a) || karst_is_absent(x_b))) {
    if (karst_is_absent(x_a)) x_a = karst_look(c.from_a + (int64_t)s * c.places);
    if (karst_is_absent(x_b)) x_b = karst_look(c.from_b + (int64_t)s * c.places);
  }
  from_mail[threadIdx.x % 32] = x_a;
  from_mail[32 + threadIdx.x % 32] = x_b;
  __syncwarp();
}

/* Stores the result of a step, sends it to other tiles, and marks the mail of the step absent. */
__device__ __forceinline__ void store(const course &c, karst_index s, karst_index row, double result, double *out)
{
  if (c.gives_a) karst_publish(c.to_a + (int64_t)s * c.places, result);
  if (c.gives_b) karst_publish(c.to_b + (int64_t)s * c.places, result);
  if (row >= 0) out[(int64_t)row * c.n + c.u] = result;
  if (c.takes_a) c.from_a[(int64_t)s * c.places] = karst_absent();
  if (c.takes_b) c.from_b[(int64_t)s * c.places] = karst_absent();
}

/* LINES lines of cells with blocks of up to WIDTH; exact: of just that. The tile is LINES by 1 lines, so that all its
 * cells have their neighbours at b - 1 in another tile. */
template <int LINES, int WIDTH, bool exact, bool upward>
__global__ void __launch_bounds__(32 * warps_of_tile<WIDTH>, 2)
    sweep(const __grid_constant__ karst_fgbilu_march m, bool wide, const double *in, double *out)
{
  constexpr int WARPS = warps_of_tile<WIDTH>, RING = ring_of_tile<WIDTH>, LANES = 32 / LINES; /* of a line */
  constexpr bool EARLY = WIDTH <= 16; /* whether all four rows fit registers while the mail is waited for */
  static_assert(RING >= WARPS - 1 && WIDTH <= LANES && WIDTH % 2 == 0 && LANES % 2 == 0, "see above");
  extern __shared__ double2 memory[];
  __shared__ uint64_t done[RING];
  __shared__ karst_fgbilu_tile taken;
  const int lane = (int)threadIdx.x % 32, warp = (int)threadIdx.x / 32;
  const int n = exact ? WIDTH : m.n, size = n * n;
  if (threadIdx.x == 0) taken = karst_next_tile(m);
  if (threadIdx.x < RING) karst_step_init(done + threadIdx.x);
  __syncthreads();

  const course c = find_course<LINES>(m, taken, n);
  double *made = (double *)memory, *from_mail = made + RING * 32 + warp * (VECTORS * 32), *sums = from_mail + 64;
  double *block = made + (RING + WARPS * VECTORS) * 32 + warp * (LINES * BLOCKS * size);
  const uint32_t to_block = karst_shared_address(block);
  const double *rows = block + c.p * (BLOCKS * size) + min(c.u, n - 1);
  karst_fgbilu_cell next[LINES];
  stage now;
  find_cells(m, c, warp, next);
  fetch(m, c, warp, next, in, to_block, wide, now);
  find_cells(m, c, warp + WARPS, next);
  for (karst_index s = warp; s < c.steps; s += WARPS) {
    const karst_index i = s - c.p, before = (s - 1) & (RING - 1);
    double along[WIDTH], beside_a[WIDTH], beside_b[WIDTH], inverse[WIDTH], product_a = 0;
    karst_await_copies();
    __syncwarp();
    load_row<exact>(rows, n, along);
    load_row<exact>(rows + INVERSE * size, n, inverse);
    if (EARLY) load_row<exact>(rows + size, n, beside_a);
    if (EARLY) load_row<exact>(rows + 2 * size, n, beside_b);
    await_mail(c, s, now, from_mail);
    const double *values = made + before * 32 + c.p * LANES;
    if (!EARLY) load_row<exact>(rows + size, n, beside_a);
    if (LINES == 1) product_a = row_times(beside_a, from_mail);
    if (!EARLY) load_row<exact>(rows + 2 * size, n, beside_b);
    const double product_b = row_times(beside_b, from_mail + 32 + c.p * LANES);
    if (s > 0) karst_step_await(done + before, (uint32_t)((s - 1) / RING) & 1U);
    const double product = row_times(along, values);
    if (LINES > 1) product_a = row_times(beside_a, c.p == 0 ? from_mail : values - LANES);
    double sum = upward ? 0 : now.right;
    sum -= (now.behind[1] ? product_a : 0) + (now.behind[2] ? product_b : 0);
    sum -= now.behind[0] ? product : 0;
    sums[lane] = c.u < n ? sum : 0;
    __syncwarp();
    const double solved = (upward ? now.right : 0) + row_times(inverse, sums + c.p * LANES);
    const double result = now.row >= 0 ? solved : 0;
    made[(s & (RING - 1)) * 32 + lane] = result;
    karst_step_done(done + (s & (RING - 1)));
    if (i >= 0 && i < m.length) store(c, s, now.row, result, out);
    fetch(m, c, s + WARPS, next, in, to_block, wide, now);
    find_cells(m, c, s + 2 * WARPS, next);
  }
}

struct instance {
  const void *downward, *upward;
  int warps;
  size_t shared, largest; /* bytes of shared memory, for these blocks and for those of WIDTH */
};

template <int LINES, int WIDTH, bool exact = false> instance instance_of(int n)
{
  return {(const void *)sweep<LINES, WIDTH, exact, false>, (const void *)sweep<LINES, WIDTH, exact, true>,
          warps_of_tile<WIDTH>, shared_of_tile<LINES, WIDTH>(n), shared_of_tile<LINES, WIDTH>(WIDTH)};
}

instance choose_instance(int n)
{
  if (n == 16) return instance_of<2, 16, true>(n);
  if (n == 32) return instance_of<1, 32, true>(n);
  if (n <= 10) return instance_of<3, 10>(n);
  if (n <= 16) return instance_of<2, 16>(n);
  return n <= 24 ? instance_of<1, 24>(n) : instance_of<1, 32>(n);
}

bool aligned(const void *address) { return (uintptr_t)address % 16 == 0; }

} // namespace

size_t karst_fgbilu_sweep_large_shared_cuda(int n) { return choose_instance(n).shared + STATIC; }

karst_status karst_fgbilu_plan_sweep_large_cuda(karst_context *context, int n)
{
  const instance chosen = choose_instance(n);
  cudaError_t error = cudaSuccess;
  for (const void *kernel : {chosen.downward, chosen.upward}) {
    if (!error) error = karst_fgbilu_allow_shared_cuda(context, kernel, chosen.largest);
    if (!error)
      error =
          cudaFuncSetAttribute(kernel, cudaFuncAttributePreferredSharedMemoryCarveout, cudaSharedmemCarveoutMaxShared);
  }
  return karst_cuda_status(context, error, "the sweeps of fgbilu");
}

void karst_fgbilu_sweep_large_cuda(karst_context *context, const karst_fgbilu_march *march, bool upward,
                                   const double *in, double *out)
{
  const instance chosen = choose_instance(march->n);
  karst_fgbilu_march m = *march;
  bool wide = m.n % 2 == 0 && aligned(m.value) && aligned(m.factor);
  void *arguments[] = {&m, &wide, &in, &out};
  cudaLaunchKernel(upward ? chosen.upward : chosen.downward, dim3((unsigned)(m.tiles[0] * m.tiles[1])),
                   dim3((unsigned)(32 * chosen.warps)), arguments, chosen.shared, karst_cuda_of(context)->stream);
}
