/* tile_factor_steps.h - the work of a thread block on a tile of the factorization by tiles (tile_factor.h): it fetches
 * blocks of A, makes wave after wave, and stores. */
#ifndef KARST_GPU_ILU_TILES_TILE_FACTOR_STEPS_H
#define KARST_GPU_ILU_TILES_TILE_FACTOR_STEPS_H

#include "gpu/ilu/pivot_repair.h"
#include "gpu/ilu/warp_inverse.h"
#include "gpu/ilu/tiles/tile_factor.h"
#include "gpu/ilu/tiles/tile_steps.h"

namespace
{

enum { THREADS = 128, WARPS = THREADS / 32 }; /* of a block */

/* A tile in shared memory, with the parts of its record that are read in place. */
struct tile_memory {
  const karst_ilu_wave *wave;
  const karst_ilu_job *job;
  const unsigned long long *outside;
  const karst_ilu_short_step *lower_step, *upper_step;
  const karst_index *wait;
  const unsigned short *product, *row, *lower_place, *upper_place, *lower_divisor, *upper_divisor, *source;
  double *block;
  int blocks;          /* of the tile */
  const double *value; /* D^-1 and U' of all tiles */
};

template <int B>
__device__ __forceinline__ tile_memory tile_memory_of(const karst_ilu_factor_tile &m, char *memory, const char *record,
                                                      const double *value)
{
  const karst_ilu_factor_record at = karst_ilu_factor_record_of(m);
  const int copied = karst_ilu_factor_copied(at, B);
  const char *rest = karst_ilu_reads_in_place(B) ? record : memory;
  const karst_ilu_short_step *step = (const karst_ilu_short_step *)(rest + at.step);
  const unsigned short *place = (const unsigned short *)(rest + at.place);
  const unsigned short *divisor = (const unsigned short *)(rest + at.divisor);
  return {(const karst_ilu_wave *)memory,
          (const karst_ilu_job *)(memory + at.job),
          (const unsigned long long *)(rest + at.outside),
          step,
          step + m.lower_steps + 1,
          (const karst_index *)(memory + at.wait),
          (const unsigned short *)(memory + at.product),
          (const unsigned short *)(rest + at.row),
          place,
          place + m.lower_blocks,
          divisor,
          divisor + m.lower_blocks,
          (const unsigned short *)(rest + at.source),
          (double *)(memory + copied),
          m.blocks,
          value};
}

/* How failed pivots are replaced, where they are reported, and the values that are factored. */
struct pivot_repair {
  double shift;
  karst_ilu_statistics_cuda *statistics;
  const double *A;
};

/* The position of a thread in a wave: scalar row r of every ALL-th job from number before + q on. */
template <int B> struct lane_task {
  static constexpr int R = 32 / B, ALL = R * WARPS;
  int before; /* jobs of the warps before this one */
  int q, r;
  bool there;
  unsigned group; /* the lanes of its job */
  __device__ __forceinline__ lane_task()
  {
    const int lane = (int)threadIdx.x % 32;
    before = (int)threadIdx.x / 32 * R;
    q = lane / B;
    r = lane % B;
    there = q < R;
    group = there ? ((1u << B) - 1u) << (q * B) : 0;
  }
};

/* Begins to copy numbers into shared memory, by a warp. Both addresses are multiples of 16 bytes, or both are 8 more.
 * Returns whether the barrier has to be awaited. */
__device__ __forceinline__ bool begin_numbers(double *to, const double *from, int count, uint64_t *barrier)
{
  const int before = (int)((uintptr_t)from / sizeof(double) % 2), all = before + count, even = all / 2 * 2;
  if (all > even && threadIdx.x % 32 == 0) begin_fetch(to + count - 1, from + count - 1);
  if (even > 0) begin_copy(to - before, from - before, (unsigned)even * (unsigned)sizeof(double), barrier);
  return even > 0;
}

/* Numbers of a list that a thread reads before it uses the first, so that it waits for them together. */
template <int B> constexpr int batch_of = B == 1 ? 4 : 1;

/* Begins to fetch the blocks of a tile with fill. A: the first of its rows. */
template <int B> __device__ __forceinline__ void fetch_source(const tile_memory &w, const double *A)
{
  constexpr int BB = B * B, BATCH = batch_of<B>;
  const int count = w.blocks * BB;
  for (int first = (int)threadIdx.x; first < count; first += BATCH * THREADS) {
    int source[BATCH];
#pragma unroll
    for (int u = 0, k = first; u < BATCH; u++, k += THREADS) source[u] = k < count ? w.source[k / BB] : 0;
#pragma unroll
    for (int u = 0, k = first; u < BATCH; u++, k += THREADS) {
      if (k >= count) continue;
      if (source[u] != KARST_ILU_NO_BLOCK)
        begin_fetch(w.block + k, A + source[u] * BB + k % BB);
      else
        w.block[k] = 0;
    }
  }
}

/* Begins to fetch the blocks of other tiles. */
template <int B> __device__ __forceinline__ void fetch_outside(const tile_memory &w, int outside)
{
  constexpr int BB = B * B, BATCH = batch_of<B>;
  for (int first = (int)threadIdx.x; first < outside * BB; first += BATCH * THREADS) {
    unsigned long long place[BATCH];
#pragma unroll
    for (int u = 0, k = first; u < BATCH; u++, k += THREADS) place[u] = k < outside * BB ? w.outside[k / BB] : 0;
#pragma unroll
    for (int u = 0, k = first; u < BATCH; u++, k += THREADS) {
      const int c = k % BB / B, r = k % B;
      if (k < outside * BB)
        begin_fetch(w.block + w.blocks * BB + k, w.value + (place[u] >> 16) + c * (int)(place[u] & 0xffff) + r);
    }
  }
}

/* Brings a block of the tile into registers. */
template <int B> __device__ __forceinline__ void read_inside(const tile_memory &w, int number, double (&block)[B][B])
{
  const double *from = w.block + number * (B * B);
#pragma unroll
  for (int d = 0; d < B; d++)
#pragma unroll
    for (int c = 0; c < B; c++) block[d][c] = from[d * B + c];
}

/* Brings a block of another tile into registers. */
template <int B> __device__ __forceinline__ void read_outside(const tile_memory &w, int number, double (&block)[B][B])
{
  if constexpr (karst_ilu_fetches_outside(B)) {
    read_inside<B>(w, number, block);
  } else {
    const unsigned long long place = w.outside[number - w.blocks];
    const double *from = w.value + (place >> 16);
    const int apart = (int)(place & 0xffff);
#pragma unroll
    for (int d = 0; d < B; d++)
#pragma unroll
      for (int c = 0; c < B; c++) block[d][c] = __ldcg(from + d * apart + c);
  }
}

/* Returns the largest absolute entry of a block row of A - L U, whose blocks are first .. end - 1. */
template <int B> __device__ double largest_of_row(const double *block, int first, int end)
{
  double largest = 0;
  for (int n = first; n < end; n++)
    for (int v = 0; v < B * B; v++) largest = fmax(largest, fabs(block[n * (B * B) + v]));
  return largest;
}

/* Returns the diagonal of the replacement of a singular pivot's inverse, and reports the pivot if the thread is the
 * first of its row. row: of the tile; number: of the row. */
template <int B>
__device__ __noinline__ double replace_pivot(const unsigned short *row, const double *block, karst_index number,
                                             karst_reason reason, bool first, double shift,
                                             karst_ilu_statistics_cuda *statistics)
{
  const double largest = shift > 0 ? largest_of_row<B>(block, row[0], row[1]) : 0;
  return karst_ilu_replace_pivot(reason, shift, largest, number, first, statistics);
}

/* Makes the thread's row of left times block, in out. Returns whether an entry is NaN or infinite. */
template <int B>
__device__ __forceinline__ bool multiply_row(const double (&left)[B], const double (&block)[B][B], double (&out)[B])
{
  enum { EXPONENT = 0x7ff00000 };
  bool not_finite = false;
#pragma unroll
  for (int d = 0; d < B; d++) {
    out[d] = 0;
#pragma unroll
    for (int c = 0; c < B; c++) out[d] += left[c] * block[d][c];
    not_finite |= (__double2hiint(out[d]) & EXPONENT) == EXPONENT;
  }
  return not_finite;
}

/* Reports the row of a block as not finite. row: of the tile; number: of its first row. */
__device__ __noinline__ void report_block(const unsigned short *row, int block, karst_index number,
                                          karst_ilu_statistics_cuda *statistics)
{
  while (row[1] <= block) {
    row++;
    number++;
  }
  karst_ilu_report_row(statistics, number, KARST_FAULT_ROW_NOT_FINITE);
}

/* Subtracts a product from the thread's scalar row of a block. inner: both blocks are of the tile, and the right one is
 * not multiplied by the inverse of its diagonal block yet. */
template <int B, bool inner>
__device__ __forceinline__ void subtract_product(const tile_memory &w, const unsigned short *product, int r,
                                                 double (&sum)[B])
{
  constexpr int BB = B * B;
  const double *from = w.block + product[0] * BB + r;
  double left[B], right[B][B];
#pragma unroll
  for (int c = 0; c < B; c++) left[c] = from[c * B];
  if (inner) {
    double divided[B], inverse[B][B];
    read_inside<B>(w, product[2], inverse);
    read_inside<B>(w, product[1], right);
    if (B == 1) {
      right[0][0] *= inverse[0][0];
    } else {
#pragma unroll
      for (int d = 0; d < B; d++) {
        divided[d] = 0;
#pragma unroll
        for (int c = 0; c < B; c++) divided[d] += left[c] * inverse[d][c];
      }
#pragma unroll
      for (int d = 0; d < B; d++) left[d] = divided[d];
    }
  } else {
    read_outside<B>(w, product[1], right);
  }
#pragma unroll
  for (int c = 0; c < B; c++)
#pragma unroll
    for (int d = 0; d < B; d++) sum[d] -= left[c] * right[d][c];
}

/* Sums the thread's scalar row of a block again, with its sizes (gpu/size.h). */
template <int B>
__device__ void sum_again(const tile_memory &w, const karst_ilu_factor_tile &m, const double *A, int block, int r,
                          double (&sum)[B], float (&size)[B])
{
  const int source = m.fill ? w.source[block] : block;
  const double *from = A + (m.source + source) * (B * B) + r;
  int products = 0;
#pragma unroll
  for (int d = 0; d < B; d++) {
    sum[d] = source == KARST_ILU_NO_BLOCK ? 0 : from[d * B];
    size[d] = karst_size(sum[d]);
  }
  for (int k = 0; k < m.waves; k++) {
    const int inner = w.wave[k].inner, end = w.wave[k + 1].outer;
    for (int j = w.wave[k].outer; j < end; j++) {
      if (w.job[j].block != block) continue;
      const int last = w.job[j + 1].product;
      for (int n = w.job[j].product; n < last; n += j < inner ? 2 : 3, products++) {
        if (j < inner)
          subtract_product<B, false>(w, w.product + n, r, sum);
        else
          subtract_product<B, true>(w, w.product + n, r, sum);
#pragma unroll
        for (int d = 0; d < B; d++) size[d] = karst_size_after(size[d], sum[d]);
      }
    }
  }
#pragma unroll
  for (int d = 0; d < B; d++) size[d] = karst_size_of_many(size[d], products);
}

/* Whether partial sums of a row were much larger than the entries of its block, which have these scales. size: of the
 * row (gpu/size.h). */
template <int B>
__device__ __forceinline__ bool sums_are_lost(const float (&size)[B], const karst_ilu_scales<B> &scales)
{
  bool lost = false;
#pragma unroll
  for (int c = 0; c < B; c++) {
    const double scaled = karst_size_number(karst_size_word(size[c])) * scales.row_scale;
    lost = lost || __double2hiint(scaled) > scales.column[c] + KARST_SIZE_LOST;
  }
  return lost;
}

/* Measures the blocks that the lanes hold, a scalar row in each, by their entries alone. */
template <int B>
__device__ __forceinline__ karst_ilu_scales<B> measure_entries(const karst_ilu_place &at, const double (&row)[B])
{
  float own[B];
#pragma unroll
  for (int c = 0; c < B; c++) own[c] = karst_size(row[c]);
  return karst_ilu_measure<B>(at, own);
}

/* Makes the thread's row of the inverse of a diagonal block, or of its replacement, in the steps of
 * karst_block_inverse. trace: the block is summed again and judged by its sizes; otherwise by its entries, with the
 * margin of karst_ilu_solve_row. Returns whether the row is right; without trace it is not if the block may be unsound.
 * size: of the thread's row, from the products of this job. The whole warp takes all steps. */
template <int B>
__device__ __forceinline__ bool invert_with_care(const tile_memory &w, const karst_ilu_factor_tile &m,
                                                 const karst_ilu_place &at, const karst_ilu_job &job,
                                                 const float (&size)[B], bool trace, const pivot_repair &f,
                                                 double (&inverse)[B])
{
  const double *from = w.block + job.block * (B * B) + at.r;
  karst_ilu_sized_row<B> row;
#pragma unroll
  for (int c = 0; c < B; c++) {
    row.at[c] = at.active ? from[c * B] : c == at.r;
    row.size[c] = karst_size(row.at[c]);
  }
  if (at.active && trace) sum_again<B>(w, m, f.A, job.block, at.r, row.at, row.size);
  __syncwarp();
#pragma unroll
  for (int c = 0; c < B; c++) inverse[c] = row.at[c];
  const karst_ilu_scales<B> scales = karst_ilu_measure<B>(at, row.size);
  const bool lost = !trace && sums_are_lost<B>(size, scales);
  const double rounding = (trace ? 1 : KARST_ILU_MARGIN) * karst_block_rounding(B);
  karst_reason reason = karst_ilu_eliminate<B>(at, rounding, scales, inverse);
  if (!trace) return !karst_any_of_block<B>(at, lost || reason != KARST_SOUND);
  reason = karst_ilu_invert_again<B>(at, reason, row, inverse);
  if (!at.active || reason == KARST_SOUND) return true;
  const double replacement =
      replace_pivot<B>(w.row + job.pivot, w.block, m.row + job.pivot, reason, at.r == 0, f.shift, f.statistics);
#pragma unroll
  for (int c = 0; c < B; c++) inverse[c] = c == at.r ? replacement : 0;
  return true;
}

/* Overwrites the block with the thread's row of its inverse, if wanted. No lane of the warp reads the block any
 * more. */
template <int B> __device__ __forceinline__ void put_inverse_row(const double (&inverse)[B], double *to, bool wanted)
{
  __syncwarp();
#pragma unroll
  for (int c = 0; c < B; c++)
    if (wanted) to[c * B] = inverse[c];
}

/* Inverts diagonal blocks, one for each active group of lanes: first without exchanging rows; then by invert_with_care,
 * if rows may have to be exchanged; then with trace, which takes long, if a block may be unsound. The lanes of a warp
 * take all steps together. size: of the thread's row, from the products of this job. lost: what do_jobs has returned
 * for the tile. */
template <int B>
__device__ __forceinline__ void invert_pivots(const tile_memory &w, const karst_ilu_factor_tile &m,
                                              const karst_ilu_place &at, const karst_ilu_job &job,
                                              const float (&size)[B], bool lost, const pivot_repair &f)
{
  double a[B][B], inverse[B];
  double *block = w.block + job.block * (B * B);
  karst_ilu_extent<B> extent;
  __syncwarp();
#pragma unroll
  for (int v = 0; v < B * B; v++) a[v % B][v / B] = at.active ? block[v] : v % B == v / B;
  bool sound = karst_ilu_solve_row<B>(a, at.r, extent, inverse);
  int row = extent.row[0];
#pragma unroll
  for (int i = 1; i < B; i++) row = at.r == i ? extent.row[i] : row;
  sound = sound && !karst_ilu_is_lost<B>(size, row, extent.column) && !lost;
  bool trace = B == 1 || lost, left = __any_sync(~0u, at.active && !sound);
  if (left) sound = !karst_any_of_block<B>(at, !sound);
  put_inverse_row<B>(inverse, block + at.r, at.active && sound);
#pragma unroll 1
  while (left) {
    const karst_ilu_place mine = {at.q, at.r, at.active && !sound, at.group};
    const bool right = invert_with_care<B>(w, m, mine, job, size, trace, f, inverse);
    put_inverse_row<B>(inverse, block + at.r, mine.active && right);
    sound = sound || right;
    left = !trace && __any_sync(~0u, at.active && !sound);
    trace = true;
  }
}

/* Does the jobs of one kind in a wave, a thread a scalar row of a block. The lanes of a warp take all steps together.
 * inner: the jobs of products inside the tile. subtract, invert: the steps to take. lost: in jobs before the last
 * barrier, partial sums of a diagonal block were much larger than its entries. Returns whether that is so in these
 * jobs, for blocks that are inverted after the next barrier. */
template <int B, bool inner>
__device__ __forceinline__ bool do_jobs(const tile_memory &w, const karst_ilu_factor_tile &m, int first, int end,
                                        bool subtract, bool invert, bool lost, const pivot_repair &f)
{
  constexpr int length = inner ? 3 : 2;
  const lane_task<B> my;
  bool lost_here = false;
  for (int j = first + my.before; j < end; j += my.ALL) {
    const bool active = my.there && j + my.q < end;
    karst_ilu_job job = {0, 0, KARST_ILU_NO_BLOCK};
    if (active) job = w.job[j + my.q];
    const bool pivot = invert && job.pivot < KARST_ILU_EARLY;
    float size[B];
#pragma unroll
    for (int d = 0; d < B; d++) size[d] = 0;
    if (subtract) { /* lanes without a job too, without effect: nvcc's code is a quarter faster */
      const int last = active ? w.job[j + my.q + 1].product : 0;
      double *to = w.block + job.block * (B * B) + my.r, sum[B];
#pragma unroll
      for (int d = 0; d < B; d++) {
        sum[d] = active ? to[d * B] : 0;
        size[d] = karst_size(sum[d]);
      }
#pragma unroll 2
      for (int n = job.product; n < last; n += length) {
        subtract_product<B, inner>(w, w.product + n, my.r, sum);
#pragma unroll
        for (int d = 0; d < B; d++) size[d] = karst_size_after(size[d], sum[d]);
      }
#pragma unroll
      for (int d = 0; d < B; d++)
        if (active) to[d * B] = sum[d];
      /* Jobs with products inside the tile are the last of their blocks. */
      const bool later = job.pivot != KARST_ILU_NO_BLOCK && !pivot;
      if ((!inner || !invert) && __any_sync(~0u, later)) {
        const karst_ilu_scales<B> scales = measure_entries<B>({my.q, my.r, later, my.group}, sum);
        lost_here = lost_here || (later && sums_are_lost<B>(size, scales));
      }
    }
    if (__any_sync(~0u, pivot)) invert_pivots<B>(w, m, {my.q, my.r, pivot, my.group}, job, size, lost, f);
  }
  return lost_here;
}

/* Makes and stores the thread's row r of a block as the sweeps have it: L_ip = a_ip D_p^-1, U'_ij = D_i^-1 a_ij, or
 * D^-1 without a divisor. apart: from one column to the next. */
template <int B, bool upper>
__device__ __forceinline__ void store_row(const tile_memory &w, int block, int divisor, int r, int apart,
                                          karst_index first_row, const pivot_repair &f, double *value)
{
  constexpr int BB = B * B;
  double left[B], right[B][B], out[B];
  const int from = upper && divisor != KARST_ILU_NO_BLOCK ? divisor : block, by = upper ? block : divisor;
#pragma unroll
  for (int c = 0; c < B; c++) left[c] = out[c] = block != KARST_ILU_NO_BLOCK ? w.block[from * BB + c * B + r] : 0;
  if (divisor != KARST_ILU_NO_BLOCK) {
    if (upper || by < w.blocks)
      read_inside<B>(w, by, right);
    else
      read_outside<B>(w, by, right);
    if (multiply_row<B>(left, right, out)) report_block(w.row, block, first_row, f.statistics);
  }
#pragma unroll
  for (int c = 0; c < B; c++) value[c * apart] = out[c];
}

/* Stores the blocks of a step, by that many threads. first: its first block in the order of the sweeps; first_row: the
 * tile's first. */
template <int B, bool upper>
__device__ __forceinline__ void store_step(const tile_memory &w, int first, int thread, int threads, int count,
                                           int length, karst_index first_row, const pivot_repair &f, double *value)
{
  constexpr int BATCH = batch_of<B>;
  const unsigned short *place = (upper ? w.upper_place : w.lower_place) + first;
  const unsigned short *divided = (upper ? w.upper_divisor : w.lower_divisor) + first;
  const int apart = count * B;
  for (int begin = thread; begin < apart; begin += BATCH * threads)
    for (int e = 0; e < length; e++) {
      int block[BATCH], divisor[BATCH];
#pragma unroll
      for (int u = 0, k = begin; u < BATCH; u++, k += threads) {
        block[u] = k < apart ? place[e * count + k / B] : 0;
        divisor[u] = k < apart ? divided[e * count + k / B] : 0;
      }
#pragma unroll
      for (int u = 0, k = begin; u < BATCH; u++, k += threads)
        if (k < apart)
          store_row<B, upper>(w, block[u], divisor[u], k % B, apart, first_row, f, value + e * B * apart + k);
    }
}

/* Stores the blocks of a triangle, a warp a step; scalars all at once, as one step. value: of the tile. */
template <int B, bool upper>
__device__ __forceinline__ void store_steps(const tile_memory &w, const karst_ilu_factor_tile &m, const pivot_repair &f,
                                            double *value)
{
  const int thread = (int)threadIdx.x;
  if (B == 1)
    store_step<B, upper>(w, 0, thread, (int)THREADS, upper ? m.upper_blocks : m.lower_blocks, 1, m.row, f, value);
  const int steps = upper ? m.upper_steps : m.lower_steps;
  const karst_ilu_short_step *step = upper ? w.upper_step : w.lower_step;
  for (int s = thread / 32; B > 1 && s < steps; s += WARPS)
    store_step<B, upper>(w, step[s].block, thread % 32, 32, step[s + 1].first - step[s].first, step[s].length, m.row, f,
                         value + step[s].block * (B * B));
}

/* Stores D^-1 and U'. */
template <int B>
__device__ __forceinline__ void store_upper(const tile_memory &w, const karst_ilu_factor_tile &m, const pivot_repair &f,
                                            double *value)
{
  if (B > 1) store_step<B, true>(w, 0, (int)threadIdx.x, (int)THREADS, m.rows, 1, m.row, f, value);
  store_steps<B, true>(w, m, f, value);
}

} // namespace

#endif
