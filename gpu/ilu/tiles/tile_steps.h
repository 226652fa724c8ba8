/* tile_steps.h - the work of a warp on a tile in the sweeps by tiles (tile_sweep.h): it starts the copy of the tile,
 * fetches its part of the vectors, waits for other tiles, and takes the steps. */
#ifndef KARST_GPU_ILU_TILES_TILE_STEPS_H
#define KARST_GPU_ILU_TILES_TILE_STEPS_H

#include "gpu/ilu/tiles/tile_sweep.h"

namespace
{

/* Up to 2^MOST_SHIFT lanes, which is KARST_TILE_SHARES, share a scalar row. */
enum { MOST_SHIFT = 3 };

__device__ __forceinline__ unsigned load_mark(const unsigned *mark)
{
  unsigned value;
#if __CUDA_ARCH__ >= 700
  asm volatile("ld.acquire.gpu.global.u32 %0, [%1];" : "=r"(value) : "l"(mark) : "memory");
#else
  value = *(const volatile unsigned *)mark;
  __threadfence();
#endif
  return value;
}

/* By one lane, after __syncwarp: a thread that sees the mark sees the stores of all lanes before it. */
__device__ __forceinline__ void publish_mark(unsigned *mark, unsigned value)
{
#if __CUDA_ARCH__ >= 700
  asm volatile("st.release.gpu.global.u32 [%0], %1;" ::"l"(mark), "r"(value) : "memory");
#else
  __threadfence();
  *(volatile unsigned *)mark = value;
#endif
}

__device__ __forceinline__ unsigned shared_address(const void *pointer)
{
  return (unsigned)__cvta_generic_to_shared(pointer);
}

/* Two copies into shared memory that the warp waits for one by one: barriers of the copy engine, where there is one. */
struct copies {
  uint64_t record, values;
};

__device__ __forceinline__ void begin_barrier(uint64_t *barrier, unsigned bytes)
{
#if __CUDA_ARCH__ >= 900
  asm volatile("mbarrier.init.shared.b64 [%0], 1;" ::"r"(shared_address(barrier)));
  asm volatile("fence.proxy.async.shared::cta;");
  asm volatile("mbarrier.arrive.expect_tx.shared.b64 _, [%0], %1;" ::"r"(shared_address(barrier)), "r"(bytes));
#endif
}

/* Begins to copy bytes, a multiple of 16 and not 0, into shared memory. */
__device__ __forceinline__ void begin_copy(void *to, const void *from, unsigned bytes, uint64_t *barrier)
{
#if __CUDA_ARCH__ >= 900
  if (threadIdx.x % 32 > 0) return;
  begin_barrier(barrier, bytes);
  asm volatile("cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1], %2, [%3];" ::"r"(
                   shared_address(to)),
               "l"(from), "r"(bytes), "r"(shared_address(barrier))
               : "memory");
#else
  for (unsigned k = threadIdx.x % 32; k < bytes / 16; k += 32) ((int4 *)to)[k] = ((const int4 *)from)[k];
#endif
}

/* Begins to bring bytes, a multiple of 16, into the second-level cache, by one thread. */
__device__ __forceinline__ void begin_prefetch(const void *from, unsigned bytes)
{
#if __CUDA_ARCH__ >= 900
  if (bytes > 0) asm volatile("cp.async.bulk.prefetch.L2.global [%0], %1;" ::"l"(from), "r"(bytes));
#endif
}

__device__ __forceinline__ void await_copy(uint64_t *barrier)
{
  __syncwarp();
#if __CUDA_ARCH__ >= 900
  unsigned there = 0;
  while (!there)
    asm volatile("{ .reg .pred p; mbarrier.try_wait.parity.shared.b64 p, [%1], 0; selp.u32 %0, 1, 0, p; }"
                 : "=r"(there)
                 : "r"(shared_address(barrier))
                 : "memory");
#endif
}

/* A near tile, in shared memory, with values of type T. */
template <typename T> struct near_tile {
  const karst_ilu_step *step;
  const karst_index *halo, *wait;
  const unsigned short *order, *local;
  const T *value;
};

/* x = D^-1 x for the block rows of the tile. */
template <int B, typename T> __device__ __forceinline__ void divide_by_pivots(const T *inverse, int rows, double *x)
{
  constexpr int R = 32 / B;
  const int lane = (int)threadIdx.x % 32, q = lane / B, r = lane % B;
  for (int first = 0; first < rows; first += R) {
    const int i = first + q;
    const bool active = q < R && i < rows;
    double sum = 0;
#pragma unroll
    for (int c = 0; c < B; c++)
      if (active) sum += (double)inverse[(c * rows + i) * B + r] * x[i * B + c];
    __syncwarp();
    if (active) x[i * B + r] = sum;
  }
  __syncwarp();
}

/* The blocks of a row whose neighbours a lane loads before it takes the step. */
enum { AHEAD = 3 };

/* A lane's part of a step: a scalar row, or a share of its blocks. All lanes run through a step alike; those without a
 * row take another lane's row. */
template <int B, typename T> struct share {
  bool first;        /* the lane stores the row */
  int shift;         /* 2^shift lanes share a row */
  int rounds;        /* how many of its blocks a lane takes, missing ones included */
  int length;        /* blocks of the row from the lane's first on */
  int column, apart; /* how far the columns of a block are apart, and the lane's blocks */
  int mine;          /* the row's place in x */
  int n;             /* the first block */
  const T *value;
  int neighbour[AHEAD];
};

/* If SHARE, several lanes share the blocks of a row if there are enough lanes. */
template <int B, bool SHARE, typename T>
__device__ __forceinline__ void prepare(const near_tile<T> &from, const karst_ilu_step &step, int count,
                                        share<B, T> &my)
{
  const int lane = (int)threadIdx.x % 32;
  my.shift = SHARE ? min(max(__clz(count * B - 1) - 27, 0), (int)MOST_SHIFT) : 0;
  const int part = SHARE ? lane >> (5 - my.shift) : 0, of = SHARE ? lane & ((32 >> my.shift) - 1) : lane;
  const int q = min(of / B, count - 1), r = of % B;
  my.first = part == 0 && of < count * B;
  my.rounds = (step.length + (1 << my.shift) - 1) >> my.shift;
  my.length = step.length - part;
  my.column = count * B;
  my.apart = count << my.shift;
  my.mine = from.order[step.first + q] * B + r;
  my.n = (int)step.block + part * count;
  my.value = from.value + my.n * (B * B) + q * B + r;
  my.n += q;
#pragma unroll
  for (int k = 0; k < AHEAD; k++)
    if (k < my.rounds && (!SHARE || k << my.shift < my.length)) my.neighbour[k] = from.local[my.n + k * my.apart];
}

template <int B, bool SHARE, typename T>
__device__ __forceinline__ double sum_of(const near_tile<T> &from, const share<B, T> &my, const double *x)
{
  int n = my.n;
  const T *value = my.value;
  double sum = 0;
#pragma unroll
  for (int k = 0; k < AHEAD; k++, value += my.apart * (B * B)) {
    if (k >= my.rounds) break;
    if (SHARE && k << my.shift >= my.length) continue;
#pragma unroll
    for (int c = 0; c < B; c++) sum += (double)value[c * my.column] * x[my.neighbour[k] * B + c];
  }
  n += AHEAD * my.apart;
#pragma unroll 2
  for (int k = AHEAD; k < my.rounds; k++, n += my.apart, value += my.apart * (B * B)) {
    if (SHARE && k << my.shift >= my.length) continue;
    const int at = from.local[n];
#pragma unroll
    for (int c = 0; c < B; c++) sum += (double)value[c * my.column] * x[at * B + c];
  }
  return sum;
}

/* Takes all steps. Data that do not depend on a step are fetched during the one before it. */
template <int B, bool SHARE, typename T>
__device__ __forceinline__ void take_steps(const near_tile<T> &from, int steps, double *x)
{
  karst_ilu_step next = from.step[1];
  share<B, T> now, after;
  prepare<B, SHARE>(from, from.step[0], next.first, now);
  for (int s = 0; s < steps; s++) {
    if (s + 1 < steps) {
      const karst_ilu_step last = from.step[s + 2];
      prepare<B, SHARE>(from, next, last.first - next.first, after);
      next = last;
    }
    double sum = sum_of<B, SHARE>(from, now, x);
    if (SHARE)
      for (int distance = 16; distance >= 32 >> now.shift; distance /= 2) sum += __shfl_xor_sync(~0u, sum, distance);
    if (now.first) x[now.mine] -= sum;
    __syncwarp();
    now = after;
  }
}

/* Begins to fetch a number into shared memory. Many are under way together, and none takes a register. */
__device__ __forceinline__ void begin_fetch(double *to, const double *from)
{
#if __CUDA_ARCH__ >= 800
  asm volatile("cp.async.ca.shared.global [%0], [%1], 8;" ::"r"(shared_address(to)), "l"(from) : "memory");
#else
  *to = __ldcg(from);
#endif
}

__device__ __forceinline__ void await_fetches()
{
#if __CUDA_ARCH__ >= 800
  asm volatile("cp.async.wait_all;" ::: "memory");
#endif
  __syncwarp();
}

/* A tile's part of the right-hand side. */
template <int B> __device__ __forceinline__ void fetch_own(const karst_ilu_tile &tile, const double *in, double *x)
{
  const double *own = in + (int64_t)tile.row * B;
  for (int k = (int)threadIdx.x % 32; k < tile.rows * B; k += 32) begin_fetch(x + k, own + k);
}

/* The halo, and the zeros behind it. */
template <int B>
__device__ __forceinline__ void fetch_halo(int halos, const karst_index *halo, const double *out, double *x)
{
  const int lane = (int)threadIdx.x % 32;
  for (int k = lane; k < halos * B; k += 32) begin_fetch(x + k, out + (int64_t)halo[k / B] * B + k % B);
  if (lane < B) x[halos * B + lane] = 0;
}

__device__ __forceinline__ void await_mark(const unsigned *mark, unsigned solve)
{
  while (__any_sync(~0u, load_mark(mark) != solve)) {}
}

__device__ __forceinline__ void await_tiles(int waits, const karst_index *wait, const unsigned *done, unsigned solve)
{
  for (int k = (int)threadIdx.x % 32; k - (int)threadIdx.x % 32 < waits; k += 32)
    await_mark(done + wait[k < waits ? k : waits - 1], solve);
  __syncwarp(); /* makes the stores that one lane has seen visible to all */
}

} // namespace

#endif
