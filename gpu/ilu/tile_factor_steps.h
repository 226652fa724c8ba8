/* tile_factor_steps.h - what a block of threads does with a tile of the factorization by tiles (tile_factor.h): it
 * fetches blocks of A and of other tiles, makes wave after wave, and stores. */
#ifndef KARST_GPU_ILU_TILE_FACTOR_STEPS_H
#define KARST_GPU_ILU_TILE_FACTOR_STEPS_H

#include "invert.h"
#include "tile_factor.h"
#include "tile_steps.h"

namespace
{

/* Warps of a block of threads, and how many of them make the waves: of scalars one has lanes enough. */
template <int B> constexpr int warps_of = B == 1 ? 2 : 4;
template <int B> constexpr int wave_warps = B == 1 ? 1 : warps_of<B>;

template <int warps> __device__ __forceinline__ void await_warps()
{
  if (warps == 1)
    __syncwarp();
  else
    __syncthreads();
}

/* A tile in shared memory. */
struct workbench {
  const karst_ilu_wave *wave;
  const karst_ilu_job *job;
  const unsigned long long *outside;
  const karst_ilu_short_step *lower_step, *upper_step;
  const karst_index *wait;
  const karst_ilu_tile_row *row;
  const karst_ilu_short_product *product;
  const unsigned short *pivot, *lower_place, *upper_place, *divisor, *source;
  double *block;
};

__device__ __forceinline__ workbench workbench_of(const karst_ilu_making &m, char *memory)
{
  const karst_ilu_making_record at = karst_ilu_making_record_of(m);
  const karst_ilu_short_step *step = (const karst_ilu_short_step *)(memory + at.step);
  const unsigned short *place = (const unsigned short *)(memory + at.place);
  return {(const karst_ilu_wave *)memory,
          (const karst_ilu_job *)(memory + at.job),
          (const unsigned long long *)(memory + at.outside),
          step,
          step + m.lower_steps + 1,
          (const karst_index *)(memory + at.wait),
          (const karst_ilu_tile_row *)(memory + at.row),
          (const karst_ilu_short_product *)(memory + at.product),
          (const unsigned short *)(memory + at.pivot),
          place,
          place + m.lower_blocks,
          (const unsigned short *)(memory + at.divisor),
          (const unsigned short *)(memory + at.source),
          (double *)(memory + at.bytes)};
}

/* What a row that has no pivot is mended by, and where it is reported. */
struct findings {
  double shift;
  karst_ilu_finding_cuda *finding;
};

/* Where a thread that makes a wave works: scalar row r of every ALL-th block row from number before + q on. */
template <int B> struct seat {
  static constexpr int R = 32 / B, ALL = R * wave_warps<B>;
  int before; /* block rows of the warps before this one */
  int q, r;
  bool there;
  __device__ __forceinline__ seat()
  {
    const int lane = (int)threadIdx.x % 32;
    before = (int)threadIdx.x / 32 * R;
    q = lane / B;
    r = lane % B;
    there = q < R;
  }
};

/* Begins to copy numbers into shared memory, by a warp. Both places are multiples of 16 bytes, or both 8 more. Returns
 * whether there is something to wait for. */
__device__ __forceinline__ bool begin_numbers(double *to, const double *from, int count, uint64_t *barrier)
{
  const int before = (int)((uintptr_t)from / sizeof(double) % 2), all = before + count, even = all / 2 * 2;
  if (all > even && threadIdx.x % 32 == 0) begin_fetch(to + count - 1, from + count - 1);
  if (even > 0) begin_copy(to - before, from - before, (unsigned)even * (unsigned)sizeof(double), barrier);
  return even > 0;
}

/* Begins to fetch the blocks of a tile one by one. A: the first of its rows. */
template <int B>
__device__ __forceinline__ void fetch_blocks(const workbench &w, const karst_ilu_making &m, const double *A)
{
  constexpr int BB = B * B, APART = karst_ilu_block_apart(B);
  for (int k = (int)threadIdx.x; k < m.blocks * BB; k += 32 * warps_of<B>) {
    const int block = k / BB, v = k % BB, source = m.fill ? w.source[block] : block;
    if (source != KARST_ILU_NO_BLOCK)
      begin_fetch(w.block + block * APART + v, A + source * BB + v);
    else
      w.block[block * APART + v] = 0;
  }
}

/* Begins to fetch the blocks of other tiles. value: of D^-1 and U' by tiles. */
template <int B>
__device__ __forceinline__ void fetch_outside(const workbench &w, const karst_ilu_making &m, const double *value)
{
  constexpr int BB = B * B, APART = karst_ilu_block_apart(B);
  for (int k = (int)threadIdx.x; k < m.outside * BB; k += 32 * warps_of<B>) {
    const int n = k / BB, c = k % BB / B, r = k % B;
    const unsigned long long place = w.outside[n];
    begin_fetch(w.block + (m.blocks + n) * APART + c * B + r, value + (place >> 16) + c * (int)(place & 0xffff) + r);
  }
}

/* Subtracts products from the blocks of a wave. A thread makes a scalar row of a block. */
template <int B> __device__ __forceinline__ void subtract_products(const workbench &w, int first, int end)
{
  constexpr int APART = karst_ilu_block_apart(B);
  const seat<B> my;
  for (int j = first + my.before + my.q; j < end && my.there; j += my.ALL) {
    const karst_ilu_job job = w.job[j];
    const int last = w.job[j + 1].product;
    double *to = w.block + job.block * APART + my.r, sum[B];
#pragma unroll
    for (int d = 0; d < B; d++) sum[d] = to[d * B];
#pragma unroll 2
    for (int n = job.product; n < last; n++) {
      const karst_ilu_short_product product = w.product[n];
      const double *left = w.block + product.left * APART + my.r, *right = w.block + product.right * APART;
#pragma unroll
      for (int c = 0; c < B; c++)
#pragma unroll
        for (int d = 0; d < B; d++) sum[d] -= left[c * B] * right[d * B + c];
    }
#pragma unroll
    for (int d = 0; d < B; d++) to[d * B] = sum[d];
  }
  await_warps<wave_warps<B>>();
}

/* Returns the largest absolute entry of a block row of A - L U. */
template <int B> __device__ double largest_of_row(const workbench &w, int row)
{
  double largest = 0;
  for (int block = w.row[row].first; block < w.row[row + 1].first; block++)
    for (int v = 0; v < B * B; v++) largest = fmax(largest, fabs(w.block[block * karst_ilu_block_apart(B) + v]));
  return largest;
}

/* Makes the thread's row of what stands for the inverse of a pivot that has none, and reports the pivot. first: the
 * tile's first row. */
template <int B>
__device__ __noinline__ void mend_pivot(const workbench &w, karst_index first, int row, karst_reason reason, int r,
                                        const findings &f, double (&inverse)[B])
{
  double largest = f.shift > 0 ? largest_of_row<B>(w, row) : 0;
  if (largest == 0) largest = f.finding->norm;
  const bool replace = reason == KARST_SINGULAR_BLOCK && f.shift > 0 && largest > 0;
#pragma unroll
  for (int c = 0; c < B; c++) inverse[c] = replace && c == r ? 1 / (f.shift * largest) : 0;
  if (r > 0) return;
  if (replace)
    atomicAdd(&f.finding->shifted, 1ull);
  else
    atomicMin(&f.finding->first, 4 * (unsigned long long)(first + row) + (reason == KARST_SINGULAR_BLOCK
                                                                               ? KARST_FAULT_SINGULAR
                                                                               : KARST_FAULT_PIVOT_NOT_FINITE));
}

/* Makes the thread's row of left times block, in out. Returns 0 unless an entry is NaN or infinite. */
template <int B>
__device__ __forceinline__ double multiply_row(const double (&left)[B], const double *block, double (&out)[B])
{
  double poison = 0;
#pragma unroll
  for (int d = 0; d < B; d++) {
    out[d] = 0;
#pragma unroll
    for (int c = 0; c < B; c++) out[d] += left[c] * block[d * B + c];
    poison += out[d] * 0;
  }
  return poison;
}

__device__ __forceinline__ void report_row(const findings &f, karst_index row)
{
  atomicMin(&f.finding->first, 4 * (unsigned long long)row + KARST_FAULT_ROW_NOT_FINITE);
}

/* Makes U' of the blocks right of a diagonal one, D^-1 of which the thread has a row of. Scalars are the thread's own
 * affair; else the lanes of a warp take all steps together, and rows that have no more blocks go along. Returns 0 unless
 * an entry is NaN or infinite. */
template <int B>
__device__ __forceinline__ double divide_upper(const double (&inverse)[B], int length, int r, double *diagonal)
{
  constexpr int APART = karst_ilu_block_apart(B), K = B == 1 ? 3 : 1;
  double poison = 0;
  for (int e = 1; B == 1 ? e <= length : __any_sync(~0u, e <= length); e += K) {
    double out[K][B];
#pragma unroll
    for (int k = 0; k < K; k++)
      if (e + k <= length) poison += multiply_row<B>(inverse, diagonal + (e + k) * APART, out[k]);
    if (B > 1) __syncwarp();
#pragma unroll
    for (int k = 0; k < K; k++)
#pragma unroll
      for (int d = 0; d < B; d++)
        if (e + k <= length) diagonal[(e + k) * APART + d * B + r] = out[k][d];
  }
  return poison;
}

/* Inverts the diagonal blocks of a wave, and makes U' of the blocks right of them. first_row: the tile's first. */
template <int B>
__device__ __forceinline__ void divide_rows(const workbench &w, karst_index first_row, int first, int end,
                                            const findings &f)
{
  const seat<B> my;
  const unsigned group = my.there ? ((B < 32 ? 1u << B : 0u) - 1u) << (my.q * B) : 0;
  for (int k = first + my.before; k < end; k += my.ALL) {
    const bool active = my.there && k + my.q < end;
    const karst_ilu_place at = {my.q, my.r, active, group};
    const int row = active ? w.pivot[k + my.q] : 0;
    const karst_ilu_tile_row stands = w.row[row];
    const int length = active ? w.row[row + 1].first - 1 - stands.diagonal : 0;
    double *diagonal = w.block + stands.diagonal * karst_ilu_block_apart(B), inverse[B];
#pragma unroll
    for (int c = 0; c < B; c++) inverse[c] = active ? diagonal[c * B + my.r] : c == my.r;
    const karst_reason reason = karst_ilu_invert<B>(at, inverse);
    if (active && reason != KARST_SOUND) mend_pivot<B>(w, first_row, row, reason, my.r, f, inverse);
    __syncwarp();
#pragma unroll
    for (int c = 0; c < B; c++)
      if (active) diagonal[c * B + my.r] = inverse[c];
    if (divide_upper<B>(inverse, length, my.r, diagonal) != 0) report_row(f, first_row + row);
  }
  await_warps<wave_warps<B>>();
}

/* Stores the blocks of a step as the sweeps have them, or those of D^-1; by the first threads of some. place: their
 * numbers. */
template <int B>
__device__ __forceinline__ void store_step(const workbench &w, const unsigned short *place, int thread, int threads,
                                           int count, int length, double *value)
{
  for (int k = thread; k < count * B; k += threads)
    for (int e = 0; e < length; e++) {
      const int block = place[e * count + k / B];
      const double *from = w.block + block * karst_ilu_block_apart(B) + k % B;
#pragma unroll
      for (int c = 0; c < B; c++)
        value[(e * B + c) * count * B + k] = block != KARST_ILU_NO_BLOCK ? from[c * B] : 0;
    }
}

/* Stores D^-1, with all threads, and U', a step by each warp. Scalars stand as in one step. value: of the tile. */
template <int B> __device__ __forceinline__ void store_upper(const workbench &w, const karst_ilu_making &m, double *value)
{
  const int thread = (int)threadIdx.x;
  store_step<B>(w, w.upper_place, thread, 32 * warps_of<B>, B == 1 ? m.upper_blocks : m.rows, 1, value);
  for (int s = thread / 32; B > 1 && s < m.upper_steps; s += warps_of<B>) {
    const karst_ilu_short_step now = w.upper_step[s];
    store_step<B>(w, w.upper_place + now.block, thread % 32, 32, w.upper_step[s + 1].first - now.first, now.length,
                  value + now.block * (B * B));
  }
}

/* Returns the row of the tile that has a block. */
__device__ __noinline__ int row_of_block(const workbench &w, int block)
{
  int row = 0;
  while (w.row[row + 1].first <= block) row++;
  return row;
}

/* Makes L_ip = a_ip D_p^-1 of the blocks of a step and stores them as the sweeps have them; by the first threads of
 * some. first: number of the first block as the sweeps have them; first_row: the tile's first. */
template <int B>
__device__ __forceinline__ void store_lower_step(const workbench &w, int first, int thread, int threads, int count,
                                                 int length, karst_index first_row, const findings &f, double *value)
{
  constexpr int APART = karst_ilu_block_apart(B);
  for (int k = thread; k < count * B; k += threads)
    for (int e = 0; e < length; e++) {
      const int block = w.lower_place[first + e * count + k / B], divisor = w.divisor[first + e * count + k / B];
      double left[B], out[B];
#pragma unroll
      for (int c = 0; c < B; c++) left[c] = out[c] = 0;
      if (block != KARST_ILU_NO_BLOCK) {
#pragma unroll
        for (int c = 0; c < B; c++) left[c] = w.block[block * APART + c * B + k % B];
        if (multiply_row<B>(left, w.block + divisor * APART, out) != 0)
          report_row(f, first_row + row_of_block(w, block));
      }
#pragma unroll
      for (int c = 0; c < B; c++) value[(e * B + c) * count * B + k] = out[c];
    }
}

/* Makes and stores L, a step by each warp. value: of the tile. */
template <int B>
__device__ __forceinline__ void store_lower(const workbench &w, const karst_ilu_making &m, const findings &f,
                                            double *value)
{
  const int thread = (int)threadIdx.x;
  if (B == 1) store_lower_step<B>(w, 0, thread, 32 * warps_of<B>, m.lower_blocks, 1, m.row, f, value);
  for (int s = thread / 32; B > 1 && s < m.lower_steps; s += warps_of<B>) {
    const karst_ilu_short_step now = w.lower_step[s];
    store_lower_step<B>(w, now.block, thread % 32, 32, w.lower_step[s + 1].first - now.first, now.length, m.row, f,
                        value + now.block * (B * B));
  }
}

} // namespace

#endif
