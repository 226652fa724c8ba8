/* factor_mma.cu - block ILU on a given pattern as in factor_slice.cu, for blocks that nearly fill a tile of 8 by 8. A
 * warp makes a block row, in the level order of L.
 *
 * The products are those of the double-precision matrix units, of 8 x 4 and 4 x 8 elements. Lane l holds, with row =
 * l / 4 and column = l % 4,
 *
 *     of a left factor     (row, column) and (row, column + 4)
 *     of a right factor    (column, row) and (column + 4, row)
 *     of a sum             (row, 2 column) and (row, 2 column + 1)
 *
 * so that blocks are fetched in the shape in which they are used, and sums are stored as they are. Beyond the block a
 * tile is 0. Four lanes for each row of a block instead of one make the chain of a level a quarter as long: a wait, the
 * products of the diagonal block, an inversion, one product. */
#include "gpu/ilu/pivot_repair.h"

#include "gpu/block_inverse.h"
#include "gpu/size.h"

namespace
{

/* Products fetched at once; blocks of U' that are ready before the pivot is inverted; blocks of L finished at once. */
enum { PRODUCTS = 3, EARLY = 4, FINISHED = 3 };

struct place {
  int row, column;
};

/* The two elements of a lane in a factor or a sum. Where there is no block they are 0. */
struct tile {
  double at[2];
};

__device__ __forceinline__ double from_lane(double value, int lane) { return __shfl_sync(~0u, value, lane); }

__device__ __forceinline__ void add_product(const tile &left, const tile &right, tile &sum)
{
#if __CUDA_ARCH__ >= 800
#pragma unroll
  for (int s = 0; s < 2; s++)
    asm volatile("mma.sync.aligned.m8n8k4.row.col.f64.f64.f64.f64 {%0, %1}, {%2}, {%3}, {%0, %1};"
                 : "+d"(sum.at[0]), "+d"(sum.at[1])
                 : "d"(left.at[s]), "d"(right.at[s]));
#else
  const int lane = (int)threadIdx.x % 32, row = lane / 4, column = lane % 4;
#pragma unroll
  for (int k = 0; k < 8; k++) {
    const double factor = from_lane(left.at[k / 4], row * 4 + k % 4);
#pragma unroll
    for (int i = 0; i < 2; i++)
      sum.at[i] = fma(factor, from_lane(right.at[k / 4], (2 * column + i) * 4 + k % 4), sum.at[i]);
  }
#endif
}

__device__ __forceinline__ tile minus(const tile &a) { return {{-a.at[0], -a.at[1]}}; }

/* Returns a sum in the shape of a right factor. */
__device__ __forceinline__ tile as_right(const tile &sum, const place &p)
{
  tile right;
#pragma unroll
  for (int s = 0; s < 2; s++) {
    const int lane = (p.column + 4 * s) * 4 + p.row / 2;
    const double even = from_lane(sum.at[0], lane), odd = from_lane(sum.at[1], lane);
    right.at[s] = p.row % 2 ? odd : even;
  }
  return right;
}

/* in_left, in_right and in_sum return the place of element s of a lane in a left factor, a right factor or a sum, or
 * NULL beyond the block. */
template <int B> __device__ __forceinline__ double *in_left(const karst_triangle &t, int64_t n, place p, int s)
{
  return p.row < B && p.column + 4 * s < B ? karst_ilu_element<B>(t, n, p.row, p.column + 4 * s) : NULL;
}

template <int B> __device__ __forceinline__ double *in_right(const karst_triangle &t, int64_t n, place p, int s)
{
  return p.row < B && p.column + 4 * s < B ? karst_ilu_element<B>(t, n, p.column + 4 * s, p.row) : NULL;
}

template <int B> __device__ __forceinline__ double *in_sum(const karst_triangle &t, int64_t n, place p, int s)
{
  return p.row < B && 2 * p.column + s < B ? karst_ilu_element<B>(t, n, p.row, 2 * p.column + s) : NULL;
}

/* The sizes of a lane's elements of a sum (gpu/size.h). */
struct tile_size {
  float at[2];
};

/* Returns a_ij for block n of t: A's block, less the products of its list. If MEASURED, size becomes the sizes of the
 * sums. */
template <int B, bool MEASURED>
__device__ tile accumulate_block(const karst_triangle &lower, const karst_triangle &upper, const karst_triangle &t,
                                 const double *A, int64_t n, const place &p, tile_size &size)
{
  const karst_index source = t.source[n], begin = t.list[n], end = t.list[n + 1];
  tile sum;
#pragma unroll
  for (int i = 0; i < 2; i++)
    sum.at[i] = source >= 0 && p.row < B && 2 * p.column + i < B
                    ? A[(int64_t)source * B * B + (2 * p.column + i) * B + p.row]
                    : 0;
#pragma unroll
  for (int i = 0; i < 2 && MEASURED; i++) size.at[i] = karst_size(sum.at[i]);
  for (karst_index next = begin; next < end; next += PRODUCTS) {
    const double *from[2 * PRODUCTS];
    double right[2 * PRODUCTS];
    tile left[PRODUCTS];
#pragma unroll
    for (int k = 0; k < PRODUCTS; k++) {
      const bool there = next + k < end;
      karst_ilu_product product = {0, 0};
      if (there) product = t.product[next + k];
#pragma unroll
      for (int s = 0; s < 2; s++) {
        const double *l = there ? in_left<B>(lower, product.left, p, s) : NULL;
        left[k].at[s] = l ? *l : 0;
        from[2 * k + s] = there ? in_right<B>(upper, product.right, p, s) : NULL;
      }
    }
    karst_await<2 * PRODUCTS>(from, right);
#pragma unroll
    for (int k = 0; k < PRODUCTS; k++) {
      add_product(minus(left[k]), {{right[2 * k], right[2 * k + 1]}}, sum);
#pragma unroll
      for (int i = 0; i < 2 && MEASURED; i++) size.at[i] = karst_size_after(size.at[i], sum.at[i]);
    }
  }
#pragma unroll
  for (int i = 0; i < 2 && MEASURED; i++) size.at[i] = karst_size_of_many(size.at[i], (int)(end - begin));
  return sum;
}

/* The same for a block that is not measured. */
template <int B>
__device__ tile accumulate(const karst_triangle &lower, const karst_triangle &upper, const karst_triangle &t,
                           const double *A, int64_t n, const place &p)
{
  tile_size size;
  return accumulate_block<B, false>(lower, upper, t, A, n, p, size);
}

/* Prefetches the inputs of a row's blocks except the factors, an entry a lane, before the waiting begins: the loads of
 * accumulate depend on each other. Returns a number that is not negative, so that the compiler keeps the loads. */
template <int B>
__device__ karst_index touch_row(const karst_triangle &t, const double *A, int64_t first, int64_t length)
{
  karst_index all = 0;
  for (int64_t e = threadIdx.x % 32; e < length; e += 32) {
    const int64_t n = first + e * (32 / B);
    const karst_index source = t.source[n], end = t.list[n + 1];
    for (karst_index k = t.list[n]; k < end; k++) all |= t.product[k].left;
    for (int v = 0; v < B * B && source >= 0; v += 16)
      asm volatile("prefetch.global.L1 [%0];" ::"l"(A + (int64_t)source * B * B + v));
  }
  return all;
}

/* Returns the largest value of the lanes whose numbers differ from this one's only in the bits from first to last. */
__device__ __forceinline__ double largest_across(double mine, int first, int last)
{
  for (int distance = first; distance <= last; distance *= 2) mine = fmax(mine, __shfl_xor_sync(~0u, mine, distance));
  return mine;
}

__device__ __forceinline__ int largest_across(int mine, int first, int last)
{
#pragma unroll
  for (int distance = first; distance <= last; distance *= 2) mine = max(mine, __shfl_xor_sync(~0u, mine, distance));
  return mine;
}

__device__ __forceinline__ float sum_across(float mine, int first, int last)
{
  for (int distance = first; distance <= last; distance *= 2) mine += __shfl_xor_sync(~0u, mine, distance);
  return mine;
}

/* The lanes of a row, and those of the same columns, by the bits of their numbers in which they differ. */
enum { ACROSS_ROW = 1, ACROSS_ROW_LAST = 2, ACROSS_COLUMN = 4, ACROSS_COLUMN_LAST = 16 };

/* Returns the scale of the lane's row as karst_block_balance makes it. word: high words of the lane's sizes; row: that
 * of the row's largest size. */
__device__ double balance(const int (&word)[2], int row)
{
  enum { LARGEST = 1022, BIAS = 1023, EXPONENT = 20 };
  float there[2], exponent[2], rows[2], column[2], own = (float)((row >> EXPONENT) - BIAS), largest = -LARGEST;
  for (int i = 0; i < 2; i++) {
    there[i] = word[i] > 0 ? 1 : 0;
    exponent[i] = there[i] * (float)((word[i] >> EXPONENT) - BIAS);
    rows[i] = fmaxf(1, sum_across(there[i], ACROSS_COLUMN, ACROSS_COLUMN_LAST));
    column[i] = sum_across(exponent[i] - there[i] * own, ACROSS_COLUMN, ACROSS_COLUMN_LAST) / rows[i];
  }
  const float columns = fmaxf(1, sum_across(there[0] + there[1], ACROSS_ROW, ACROSS_ROW_LAST));
  own = exponent[0] - there[0] * column[0] + exponent[1] - there[1] * column[1];
  own = sum_across(own, ACROSS_ROW, ACROSS_ROW_LAST) / columns;
  for (int i = 0; i < 2; i++) {
    column[i] = sum_across(exponent[i] - there[i] * own, ACROSS_COLUMN, ACROSS_COLUMN_LAST) / rows[i];
    if (word[i] > 0) largest = fmaxf(largest, exponent[i] - column[i]);
  }
  for (int distance = ACROSS_ROW; distance <= ACROSS_ROW_LAST; distance *= 2)
    largest = fmaxf(largest, __shfl_xor_sync(~0u, largest, distance));
  return __hiloint2double((BIAS - (int)fminf(largest, LARGEST)) << EXPONENT, 0);
}

/* Holds a sum for karst_cuda_attempt (gpu/block_inverse.h), which leaves the inverse in a as a left factor. Rows are
 * not exchanged: pivot_of and column_of record which row was the pivot of which column. Among candidates that agree in
 * the first 18 bits any may be chosen, so that one instruction finds the maximum. */
template <int B> struct block_in_tile {
  static constexpr bool ALONE = false;
  static constexpr int SIZE = B;
  const place &p;
  tile a;
  const tile_size &size_of_sum;
  bool inside, used; /* whether the lane's row is in the block; whether it was a pivot or is not in it */
  double scale, column_size[2];
  double factor, inverse_pivot; /* of the step: the row's entry in the column, and 1 over that of the pivot */
  int best;
  unsigned pivot_of, column_of; /* four bits for each column, and for each row */

  __device__ __forceinline__ block_in_tile(const place &here, const tile &sum, const tile_size &size)
      : p(here), a(sum), size_of_sum(size), inside(here.row < B), used(!inside), pivot_of(0), column_of(0)
  {
  }

  static constexpr __device__ int size() { return B; }

  __device__ __forceinline__ bool finite() const
  {
    return !__any_sync(~0u, !(fabs(a.at[0]) <= DBL_MAX && fabs(a.at[1]) <= DBL_MAX));
  }

  __device__ __forceinline__ bool measure(int attempt)
  {
    const int word[2] = {karst_size_word(size_of_sum.at[0]), karst_size_word(size_of_sum.at[1])};
    const int row = largest_across(max(word[0], word[1]), ACROSS_ROW, ACROSS_ROW_LAST);
    scale = 1 / fmax(karst_size_number(row), DBL_MIN);
    if (attempt > 0) scale = balance(word, row);
#pragma unroll
    for (int i = 0; i < 2; i++)
      column_size[i] = karst_size_number(largest_across(__double2hiint(karst_size_number(word[i]) * scale),
                                                        ACROSS_COLUMN, ACROSS_COLUMN_LAST)) *
                       (attempt > 0 ? KARST_BLOCK_MARGIN : 1);
    return true; /* choose rejects a pivot from a row of zeros */
  }

  __device__ __forceinline__ bool choose(int c)
  {
    factor = from_lane(a.at[c % 2], p.row * 4 + c / 2);
    const double candidate = fabs(factor) * scale;
    const double reciprocal = 1 / factor; /* in every row, for it takes as long as the search */
    const unsigned key = used ? 0 : ((unsigned)__double2hiint(candidate) & ~7u) + (unsigned)(7 - p.row);
    best = 7 - (int)(karst_largest_of_warp(key) & 7);
    inverse_pivot = from_lane(reciprocal, best * 4);
    return karst_block_pivot_stands(B, from_lane(candidate, best * 4), from_lane(column_size[c % 2], c / 2));
  }

  __device__ __forceinline__ void eliminate(int c)
  {
#pragma unroll
    for (int i = 0; i < 2; i++) {
      const bool here = 2 * p.column + i == c;
      const double of_pivot = from_lane(a.at[i], best * 4 + p.column),
                   in_pivot_row = (here ? 1 : of_pivot) * inverse_pivot;
      a.at[i] = p.row == best ? in_pivot_row : (here ? 0 : a.at[i]) - factor * in_pivot_row;
    }
    used = used || p.row == best;
    pivot_of |= (unsigned)best << (4 * c);
    column_of |= (unsigned)c << (4 * best);
  }

  /* Row r of the inverse is in the row that was the pivot of column r; its column k is in the column whose pivot was
   * row k. */
  __device__ __forceinline__ void reorder()
  {
    const int row = (int)((pivot_of >> (4 * p.row)) & 7);
    tile inverse;
#pragma unroll
    for (int s = 0; s < 2; s++) {
      const int column = (int)((column_of >> (4 * (p.column + 4 * s))) & 7), lane = row * 4 + column / 2;
      const double even = from_lane(a.at[0], lane), odd = from_lane(a.at[1], lane);
      inverse.at[s] = inside && p.column + 4 * s < B ? (column % 2 ? odd : even) : 0;
    }
    a = inverse;
  }
};

struct block_row {
  karst_index number;
  int64_t lower, upper; /* its first blocks in the two triangles, the next ones follow in steps of 32 / B */
  int64_t lower_length, upper_length;
};

/* Returns the largest absolute entry of a block row of A - L U, for the shift. That is rare, so the sums are all
 * made again. */
template <int B>
__device__ double largest_of_row(const karst_triangle &lower, const karst_triangle &upper, const double *A,
                                 const block_row &row, const place &p)
{
  double largest = 0;
  for (int64_t e = 0; e < row.lower_length; e++)
    for (int i = 0; i < 2; i++) {
      const double *entry = in_sum<B>(lower, row.lower + e * (32 / B), p, i);
      if (entry) largest = fmax(largest, fabs(*entry));
    }
  for (int64_t e = 0; e < row.upper_length; e++) {
    const tile sum = accumulate<B>(lower, upper, upper, A, row.upper + e * (32 / B), p);
    largest = fmax(largest, fmax(fabs(sum.at[0]), fabs(sum.at[1])));
  }
  return largest_across(largest, 1, 16);
}

/* Returns the replacement of a failed pivot's inverse, and reports the pivot. */
template <int B>
__device__ tile replace_pivot(const karst_triangle &lower, const karst_triangle &upper, const double *A, double shift,
                              karst_reason reason, const block_row &row, const place &p,
                              karst_ilu_statistics_cuda *statistics)
{
  const double largest = shift > 0 ? largest_of_row<B>(lower, upper, A, row, p) : 0;
  const double replacement =
      karst_ilu_replace_pivot(reason, shift, largest, row.number, threadIdx.x % 32 == 0, statistics);
  tile inverse;
  for (int s = 0; s < 2; s++) inverse.at[s] = p.row < B && p.row == p.column + 4 * s ? replacement : 0;
  return inverse;
}

/* Publishes block n of U', which is the inverse times a sum. Returns 0 unless an entry is NaN or infinite. */
template <int B>
__device__ __forceinline__ double publish_product(const karst_triangle &upper, int64_t n, const place &p,
                                                  const tile &inverse, const tile &sum)
{
  tile product = {};
  double nonfinite = 0;
  add_product(inverse, as_right(sum, p), product);
#pragma unroll
  for (int i = 0; i < 2; i++) {
    double *to = in_sum<B>(upper, n, p, i);
    if (!to) continue;
    karst_publish(to, product.at[i]);
    nonfinite += product.at[i] * 0;
  }
  return nonfinite;
}

/* Makes L_ip = a_ip D_p^-1 for the entries of L. Returns 0 unless an entry is NaN or infinite. */
template <int B>
__device__ double finish_lower(const karst_triangle &lower, const karst_triangle &upper, const block_row &row,
                               const place &p)
{
  constexpr int R = 32 / B;
  double nonfinite = 0;
  for (int64_t e = 0; e < row.lower_length; e += FINISHED) {
    const double *from[2 * FINISHED];
    double right[2 * FINISHED];
    tile left[FINISHED];
    bool there[FINISHED];
#pragma unroll
    for (int k = 0; k < FINISHED; k++) {
      const int64_t n = row.lower + (e + k) * R;
      const karst_index pivot = e + k < row.lower_length ? lower.column[n] : lower.slots;
      there[k] = pivot < lower.slots;
      const karst_index slot = there[k] ? lower.other[pivot] : 0;
      const int64_t diagonal = upper.start[slot / R] * R + slot % R;
#pragma unroll
      for (int s = 0; s < 2; s++) {
        const double *l = there[k] ? in_left<B>(lower, n, p, s) : NULL;
        left[k].at[s] = l ? *l : 0;
        from[2 * k + s] = there[k] ? in_right<B>(upper, diagonal, p, s) : NULL;
      }
    }
    karst_await<2 * FINISHED>(from, right);
    __syncwarp(); /* the blocks have been read by all */
#pragma unroll
    for (int k = 0; k < FINISHED; k++) {
      tile product = {};
      add_product(left[k], {{right[2 * k], right[2 * k + 1]}}, product);
#pragma unroll
      for (int i = 0; i < 2; i++) {
        double *to = there[k] ? in_sum<B>(lower, row.lower + (e + k) * R, p, i) : NULL;
        if (!to) continue;
        *to = product.at[i];
        nonfinite += product.at[i] * 0;
      }
    }
  }
  return nonfinite;
}

template <int B>
__global__ void __launch_bounds__(KARST_ILU_THREADS, 5)
    factor(const karst_triangle lower, const karst_triangle upper, const double *A, double shift,
           karst_ilu_statistics_cuda *statistics)
{
  constexpr int R = 32 / B;
  const int lane = (int)threadIdx.x % 32;
  const int64_t warps = (int64_t)gridDim.x * (KARST_ILU_THREADS / 32);
  place p = {lane / 4, lane % 4};
  for (int64_t slot = ((int64_t)blockIdx.x * KARST_ILU_THREADS + threadIdx.x) / 32; slot < lower.rows; slot += warps) {
    const int64_t slice = slot / R, other = lower.other[slot], other_slice = other / R;
    const block_row row = {lower.row[slot], lower.start[slice] * R + slot % R, upper.start[other_slice] * R + other % R,
                           lower.start[slice + 1] - lower.start[slice],
                           upper.start[other_slice + 1] - upper.start[other_slice]};
    if ((touch_row<B>(lower, A, row.lower, row.lower_length) | touch_row<B>(upper, A, row.upper, row.upper_length)) < 0)
      p.row = 8;

    for (int64_t e = 0; e < row.lower_length; e++) {
      const tile sum = accumulate<B>(lower, upper, lower, A, row.lower + e * R, p);
#pragma unroll
      for (int i = 0; i < 2; i++) {
        double *to = in_sum<B>(lower, row.lower + e * R, p, i);
        if (to) *to = sum.at[i];
      }
      __syncwarp(); /* other lanes take it as a left factor */
    }
    /* The neighbours eliminated next come last. */
    tile early[EARLY], inverse;
    double bad = 0;
#pragma unroll
    for (int k = 0; k < EARLY; k++) {
      const int64_t e = row.upper_length - 1 - k;
      early[k] = e > 0 ? accumulate<B>(lower, upper, upper, A, row.upper + e * R, p) : tile{};
    }
    tile_size size;
    const tile diagonal = accumulate_block<B, true>(lower, upper, upper, A, row.upper, p, size);
    karst_reason reason = KARST_SINGULAR_BLOCK;
#pragma unroll 1
    for (int attempt = 0; attempt < KARST_BLOCK_ATTEMPTS && reason == KARST_SINGULAR_BLOCK; attempt++) {
      block_in_tile<B> pivot(p, diagonal, size);
      reason = karst_cuda_attempt(pivot, attempt);
      inverse = pivot.a;
    }
    if (reason != KARST_SOUND) inverse = replace_pivot<B>(lower, upper, A, shift, reason, row, p, statistics);
#pragma unroll
    for (int k = 0; k < EARLY; k++) {
      const int64_t e = row.upper_length - 1 - k;
      if (e > 0) bad += publish_product<B>(upper, row.upper + e * R, p, inverse, early[k]);
    }
#pragma unroll
    for (int s = 0; s < 2; s++) {
      double *to = in_left<B>(upper, row.upper, p, s);
      if (to) karst_publish(to, inverse.at[s]);
    }
    for (int64_t e = row.upper_length - 1 - EARLY; e > 0; e--)
      bad += publish_product<B>(upper, row.upper + e * R, p, inverse,
                                accumulate<B>(lower, upper, upper, A, row.upper + e * R, p));
    bad += finish_lower<B>(lower, upper, row, p);
    if (__any_sync(~0u, bad != 0) && lane == 0)
      karst_ilu_report_row(statistics, row.number, KARST_FAULT_ROW_NOT_FINITE);
  }
}

const void *kernel_for(int block_size) { return block_size == 7 ? (const void *)factor<7> : (const void *)factor<8>; }

karst_status analyse_mma(karst_context *context, const karst_matrix *A, const karst_ilu_pattern_cuda *pattern,
                         const karst_ilu_shape *shape, karst_ilu_analysis *analysis)
{
  (void)A;
  karst_ilu_cuda *plan = karst_ilu_cuda_of(analysis);
  const karst_status status = karst_ilu_list_by_blocks_cuda(context, pattern, analysis);
  if (status) return status;
  return karst_ilu_resident_cuda(context, kernel_for(shape->block_size), 0, KARST_ILU_HELD_ROWS, shape->rows,
                                 shape->levels, &plan->factor_grid);
}

void launch_mma(karst_context *context, const karst_matrix *A, double shift, const karst_ilu_cuda *plan)
{
  karst_ilu_launch_cuda(context, kernel_for(plan->block_size), A, shift, plan);
}

} // namespace

const karst_ilu_factor_variant karst_ilu_factor_mma_cuda = {analyse_mma, NULL, launch_mma, NULL, NULL, false};
