/* tile_factor_steps.h - what a block of threads does with a tile of the factorization by tiles (tile_factor.h): it
 * fetches blocks of A, makes wave after wave, and stores. */
#ifndef KARST_GPU_ILU_TILE_FACTOR_STEPS_H
#define KARST_GPU_ILU_TILE_FACTOR_STEPS_H

#include "invert.h"
#include "tile_factor.h"
#include "tile_steps.h"

namespace
{

/* Warps of a block of threads of which W make the waves. */
template <int W> constexpr int warps_of = W == 1 ? 2 : W;

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
  const karst_ilu_short_product *product;
  const karst_ilu_pivot *pivot;
  const karst_ilu_quotient *quotient;
  const unsigned short *row, *lower_place, *upper_place, *divisor, *source;
  double *block;
  int blocks;          /* of the tile */
  const double *value; /* of D^-1 and U' by tiles, where other tiles have theirs */
};

__device__ __forceinline__ workbench workbench_of(const karst_ilu_making &m, char *memory, const double *value)
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
          (const karst_ilu_short_product *)(memory + at.product),
          (const karst_ilu_pivot *)(memory + at.pivot),
          (const karst_ilu_quotient *)(memory + at.quotient),
          (const unsigned short *)(memory + at.row),
          place,
          place + m.lower_blocks,
          (const unsigned short *)(memory + at.divisor),
          (const unsigned short *)(memory + at.source),
          (double *)(memory + at.bytes),
          m.blocks,
          value};
}

/* What a row that has no pivot is mended by, and where it is reported. */
struct findings {
  double shift;
  karst_ilu_finding_cuda *finding;
};

/* Where a thread that makes a wave works: scalar row r of every ALL-th block row from number before + q on. */
template <int B, int W> struct seat {
  static constexpr int R = 32 / B, ALL = R * W;
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

/* Begins to fetch the blocks of a tile with fill. A: the first of its rows. */
template <int B, int W> __device__ __forceinline__ void fetch_source(const workbench &w, const double *A)
{
  constexpr int BB = B * B;
  for (int k = (int)threadIdx.x; k < w.blocks * BB; k += 32 * warps_of<W>) {
    const int source = w.source[k / BB];
    if (source != KARST_ILU_NO_BLOCK)
      begin_fetch(w.block + k, A + source * BB + k % BB);
    else
      w.block[k] = 0;
  }
}

/* Begins to fetch the blocks of other tiles. */
template <int B, int W> __device__ __forceinline__ void fetch_outside(const workbench &w, int outside)
{
  constexpr int BB = B * B;
  for (int k = (int)threadIdx.x; k < outside * BB; k += 32 * warps_of<W>) {
    const unsigned long long place = w.outside[k / BB];
    const int c = k % BB / B, r = k % B;
    begin_fetch(w.block + w.blocks * BB + k, w.value + (place >> 16) + c * (int)(place & 0xffff) + r);
  }
}

/* Brings a block of the tile into registers. */
template <int B> __device__ __forceinline__ void read_inside(const workbench &w, int number, double (&block)[B][B])
{
  const double *from = w.block + number * (B * B);
#pragma unroll
  for (int d = 0; d < B; d++)
#pragma unroll
    for (int c = 0; c < B; c++) block[d][c] = from[d * B + c];
}

/* Brings a block of another tile into registers. */
template <int B> __device__ __forceinline__ void read_outside(const workbench &w, int number, double (&block)[B][B])
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

/* Subtracts products from blocks. A thread makes a scalar row of a block. outer: with blocks of other tiles. */
template <int B, int W, bool outer>
__device__ __forceinline__ void subtract_products(const workbench &w, int first, int end)
{
  constexpr int BB = B * B;
  const seat<B, W> my;
  for (int j = first + my.before + my.q; j < end && my.there; j += my.ALL) {
    const karst_ilu_job job = w.job[j];
    const int last = w.job[j + 1].product;
    double *to = w.block + job.block * BB + my.r, sum[B];
#pragma unroll
    for (int d = 0; d < B; d++) sum[d] = to[d * B];
#pragma unroll 2
    for (int n = job.product; n < last; n++) {
      const karst_ilu_short_product product = w.product[n];
      const double *left = w.block + product.left * BB + my.r;
      double right[B][B];
      if (outer)
        read_outside<B>(w, product.right, right);
      else
        read_inside<B>(w, product.right, right);
#pragma unroll
      for (int c = 0; c < B; c++)
#pragma unroll
        for (int d = 0; d < B; d++) sum[d] -= left[c * B] * right[d][c];
    }
#pragma unroll
    for (int d = 0; d < B; d++) to[d * B] = sum[d];
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

/* Returns what stands on the diagonal of the inverse of a pivot that has none, and reports the pivot if the thread is
 * the first of its row. row: of the tile; number: of the row. */
template <int B>
__device__ __noinline__ double mend_pivot(const unsigned short *row, const double *block, karst_index number,
                                          karst_reason reason, bool first, double shift,
                                          karst_ilu_finding_cuda *finding)
{
  double largest = shift > 0 ? largest_of_row<B>(block, row[0], row[1]) : 0;
  if (largest == 0) largest = finding->norm;
  const bool replace = reason == KARST_SINGULAR_BLOCK && shift > 0 && largest > 0;
  if (first && replace) atomicAdd(&finding->shifted, 1ull);
  if (first && !replace)
    atomicMin(&finding->first,
              4 * (unsigned long long)number +
                  (reason == KARST_SINGULAR_BLOCK ? KARST_FAULT_SINGULAR : KARST_FAULT_PIVOT_NOT_FINITE));
  return replace ? 1 / (shift * largest) : 0;
}

/* Makes the thread's row of left times block, in out. Returns whether an entry is NaN or infinite. */
template <int B>
__device__ __forceinline__ bool multiply_row(const double (&left)[B], const double (&block)[B][B], double (&out)[B])
{
  enum { EXPONENT = 0x7ff00000 };
  bool poisoned = false;
#pragma unroll
  for (int d = 0; d < B; d++) {
    out[d] = 0;
#pragma unroll
    for (int c = 0; c < B; c++) out[d] += left[c] * block[d][c];
    poisoned |= (__double2hiint(out[d]) & EXPONENT) == EXPONENT;
  }
  return poisoned;
}

/* Reports the row that has a block as not finite. row: of the tile, whose first one has that number. */
__device__ __noinline__ void report_block(const unsigned short *row, int block, karst_index number,
                                          karst_ilu_finding_cuda *finding)
{
  while (row[1] <= block) {
    row++;
    number++;
  }
  atomicMin(&finding->first, 4 * (unsigned long long)number + KARST_FAULT_ROW_NOT_FINITE);
}

/* Makes the thread's row of the inverse of a pivot in the steps of karst_block_invert, or of what stands for it. The
 * whole warp takes all steps. */
template <int B>
__device__ __forceinline__ void invert_with_care(const workbench &w, const karst_ilu_place &at, karst_ilu_pivot pivot,
                                                 karst_index number, const findings &f, double (&inverse)[B])
{
#pragma unroll
  for (int c = 0; c < B; c++) inverse[c] = at.active ? w.block[pivot.diagonal * (B * B) + c * B + at.r] : c == at.r;
  const karst_reason reason = karst_ilu_invert<B>(at, inverse);
  if (!at.active || reason == KARST_SOUND) return;
  const double mended = mend_pivot<B>(w.row + pivot.row, w.block, number, reason, at.r == 0, f.shift, f.finding);
#pragma unroll
  for (int c = 0; c < B; c++) inverse[c] = c == at.r ? mended : 0;
}

/* Makes the thread's row of the inverse of a pivot; with care where rows may have to be exchanged, or it may not be
 * sound. */
template <int B>
__device__ __forceinline__ void invert_pivot(const workbench &w, const karst_ilu_place &at, karst_ilu_pivot pivot,
                                             karst_index number, const findings &f, double (&inverse)[B])
{
  double a[B][B], careful[B];
  const double *block = w.block + pivot.diagonal * (B * B);
#pragma unroll
  for (int v = 0; v < B * B; v++) a[v % B][v / B] = at.active ? block[v] : v % B == v / B;
  const bool sound = karst_ilu_solve_row<B>(a, at.r, inverse);
  if (!__any_sync(~0u, !sound)) return;
  invert_with_care<B>(w, at, pivot, number, f, careful);
#pragma unroll
  for (int c = 0; c < B; c++)
    if (!sound) inverse[c] = careful[c];
}

/* Inverts the diagonal blocks of a wave. first_row: the tile's first. The lanes of a warp take all steps together. */
template <int B, int W>
__device__ __forceinline__ void invert_pivots(const workbench &w, karst_index first_row, int first, int end,
                                              const findings &f)
{
  const seat<B, W> my;
  const unsigned group = my.there ? ((1u << B) - 1u) << (my.q * B) : 0;
  for (int k = first + my.before; k < end; k += my.ALL) {
    const bool active = my.there && k + my.q < end;
    const karst_ilu_place at = {my.q, my.r, active, group};
    karst_ilu_pivot pivot = {};
    double inverse[B];
    if (active) pivot = w.pivot[k + my.q];
    invert_pivot<B>(w, at, pivot, first_row + pivot.row, f, inverse);
    __syncwarp();
#pragma unroll
    for (int c = 0; c < B; c++)
      if (active) w.block[pivot.diagonal * (B * B) + c * B + my.r] = inverse[c];
  }
}

/* Makes the blocks of U' of a wave. The lanes of a warp take all steps together. */
template <int B, int W>
__device__ __forceinline__ void divide_blocks(const workbench &w, karst_index first_row, int first, int end,
                                              const findings &f)
{
  constexpr int BB = B * B;
  const seat<B, W> my;
  for (int k = first + my.before; k < end; k += my.ALL) {
    const bool active = my.there && k + my.q < end;
    karst_ilu_quotient quotient = {};
    double inverse[B], block[B][B], out[B];
    if (active) {
      quotient = w.quotient[k + my.q];
#pragma unroll
      for (int c = 0; c < B; c++) inverse[c] = w.block[quotient.diagonal * BB + c * B + my.r];
      read_inside<B>(w, quotient.block, block);
      if (multiply_row<B>(inverse, block, out)) report_block(w.row, quotient.block, first_row, f.finding);
    }
    if (B > 1) __syncwarp();
#pragma unroll
    for (int d = 0; d < B; d++)
      if (active) w.block[quotient.block * BB + d * B + my.r] = out[d];
  }
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
      const double *from = w.block + block * (B * B) + k % B;
#pragma unroll
      for (int c = 0; c < B; c++) value[(e * B + c) * count * B + k] = block != KARST_ILU_NO_BLOCK ? from[c * B] : 0;
    }
}

/* Stores D^-1, with all threads, and U', a step by each warp. Scalars stand as in one step. value: of the tile. */
template <int B, int W>
__device__ __forceinline__ void store_upper(const workbench &w, const karst_ilu_making &m, double *value)
{
  const int thread = (int)threadIdx.x;
  store_step<B>(w, w.upper_place, thread, 32 * warps_of<W>, B == 1 ? m.upper_blocks : m.rows, 1, value);
  for (int s = thread / 32; B > 1 && s < m.upper_steps; s += warps_of<W>) {
    const karst_ilu_short_step now = w.upper_step[s];
    store_step<B>(w, w.upper_place + now.block, thread % 32, 32, w.upper_step[s + 1].first - now.first, now.length,
                  value + now.block * (B * B));
  }
}

/* Makes L_ip = a_ip D_p^-1 of the blocks of a step and stores them as the sweeps have them; by the first threads of
 * some. first: number of the first block as the sweeps have them; first_row: the tile's first. */
template <int B>
__device__ __forceinline__ void store_lower_step(const workbench &w, int first, int thread, int threads, int count,
                                                 int length, karst_index first_row, const findings &f, double *value)
{
  constexpr int BB = B * B;
  for (int k = thread; k < count * B; k += threads)
    for (int e = 0; e < length; e++) {
      const int block = w.lower_place[first + e * count + k / B], divisor = w.divisor[first + e * count + k / B];
      double left[B], out[B];
#pragma unroll
      for (int c = 0; c < B; c++) left[c] = out[c] = 0;
      if (block != KARST_ILU_NO_BLOCK) {
#pragma unroll
        for (int c = 0; c < B; c++) left[c] = w.block[block * BB + c * B + k % B];
        double inverse[B][B];
        if (divisor < w.blocks)
          read_inside<B>(w, divisor, inverse);
        else
          read_outside<B>(w, divisor, inverse);
        if (multiply_row<B>(left, inverse, out)) report_block(w.row, block, first_row, f.finding);
      }
#pragma unroll
      for (int c = 0; c < B; c++) value[(e * B + c) * count * B + k] = out[c];
    }
}

/* Makes and stores L, a step by each warp. value: of the tile. */
template <int B, int W>
__device__ __forceinline__ void store_lower(const workbench &w, const karst_ilu_making &m, const findings &f,
                                            double *value)
{
  const int thread = (int)threadIdx.x;
  if (B == 1) store_lower_step<B>(w, 0, thread, 32 * warps_of<W>, m.lower_blocks, 1, m.row, f, value);
  for (int s = thread / 32; B > 1 && s < m.lower_steps; s += warps_of<W>) {
    const karst_ilu_short_step now = w.lower_step[s];
    store_lower_step<B>(w, now.block, thread % 32, 32, w.lower_step[s + 1].first - now.first, now.length, m.row, f,
                        value + now.block * (B * B));
  }
}

} // namespace

#endif
