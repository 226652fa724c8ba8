/* factor_row.cu - block ILU on a given pattern as in factor_slice.cu, for rows of many products, such as those of
 * ILU(1) or of a 27-point stencil: one warp makes one block row, or two of b = 1, in the level order of L.
 *
 * The row is in shared memory: the blocks of L in the order of their slice, D, the blocks of U'. All its products,
 *
 *     a_ie -= a_ip U'_pe,
 *
 * are in one list (lists.cu), pivot after pivot. The lanes fetch the blocks U'_pe side by side, a column each, and
 * subtract the products with a pivot as soon as its columns have arrived. Other warps make the rows that this one
 * depends on at the same time; rows of the level before are the last pivots. So little work follows the last wait: a
 * few products, the inverse of D, and U'. L D^-1 comes after them, because no other row needs it.
 *
 * A level has few rows, and the data of a row are behind chains of loads: task, slots, row and list, product, column of
 * U'. Each link is loaded one stage before the next link needs it. The drawing shows what a warp loads ahead and
 * computes for its own rows 0, 1, 2, ... Row i has the products of chunks 0 to m; time goes to the right:
 *
 *     row i + 2   loads     slots
 *     row i + 1   loads     row, list                                                        products 0, sources
 *     row i       loads     blocks of A  products 1
 *                           columns 0    columns 1   columns 2         -                     inverse 1   inverse 2 ...
 *                           inverse 0    products 2  products 3  ...   -
 *                 waits                  chunk 0     chunk 1     ...   chunk m               inverse 0   inverse 1 ...
 *                 computes               a -= a U'   a -= a U'         a -= a U'   D^-1, U'  L D^-1      L D^-1
 *                 publishes                                                        U', D^-1
 *     function              start_row    eliminate                                           finish_lower
 *
 * products: which blocks a chunk multiplies; columns: the columns of their right blocks, one a lane; inverse: the
 * column of the inverse pivot that an entry of L is multiplied by. While chunk c is subtracted, the columns of chunk c
 * + 1 and the products of chunk c + 2 are on their way. Only products 1 are loaded right before columns 1 need them.
 *
 * Other warps make columns and inverses at the same time. These are loaded a stage ahead like all else, and those that
 * have arrived by then are used. The warp waits only for the absent ones, by loading them until they arrive: pivot
 * after pivot in a chunk (await_pivot), so that a late pivot does not delay the products of an earlier one. Between the
 * last wait of a row and its U' it loads from shared memory only. */
#include "gpu/ilu/pivot_repair.h"
#include "gpu/ilu/warp_inverse.h"

namespace
{

enum { WARPS = KARST_ILU_THREADS / 32 };

/* How many products of a chunk a lane has. */
template <int B> constexpr int products_at_once = B <= 3 ? 2 : 1;

/* How many pivots' columns a wait loads together. Pivots of one level arrive at the same time, but too many loads slow
 * down the one that is waited for. */
template <int B> constexpr int pivots_at_once = B == 1 ? 3 : 1;

/* The thread blocks that a multiprocessor has to hold, which limits the registers. */
template <int B> constexpr int least_blocks = B == 1 ? 7 : B <= 4 ? 4 : 3;

/* The lanes of a row work on columns of blocks side by side. A lane works on column c of the n-th block. */
template <int B, int ROWS> struct lanes {
  static constexpr int of_row = 32 / ROWS, blocks = of_row / B;
  int n, c;
};

template <int B, int ROWS> __device__ __forceinline__ lanes<B, ROWS> lane_here()
{
  const int lane = (int)threadIdx.x % lanes<B, ROWS>::of_row;
  return {lane / B, lane % B};
}

/* The arguments of the kernel: the triangles, the products of their rows, and the values of A. */
struct matrices {
  karst_triangle lower, upper;
  karst_index tasks;
  const karst_index *task;
  const karst_ilu_row *row;
  const int64_t *list;
  const karst_ilu_row_product *product;
  const double *A;
};

/* A row to make: its slot, its position, and its products, numbers first .. end - 1. Without a row all lengths are
 * 0. */
struct row_task {
  karst_index slot;
  bool there;
  karst_ilu_row place;
  int64_t first, end;
};

/* The first slot of a task, and one past its last. They are loaded a row earlier than the data that they lead to. */
struct slots {
  karst_index first, last;
};

__device__ __forceinline__ slots find_slots(const matrices &m, int64_t task)
{
  slots found = {0, 0};
  if (task < m.tasks) found = {m.task[task], m.task[task + 1]};
  return found;
}

template <int B, int ROWS> __device__ __forceinline__ row_task find_row(const matrices &m, const slots &of_task)
{
  const karst_index slot = of_task.first + (karst_index)(threadIdx.x % 32 / lanes<B, ROWS>::of_row);
  row_task found = {slot, slot < of_task.last, {0, 0, 0, 0}, 0, 0};
  if (!found.there) return found;
  found.place = m.row[slot];
  found.first = m.list[slot];
  found.end = m.list[slot + 1];
  return found;
}

/* The products of a lane in a chunk. pivot is -1 in an empty place. */
template <int B> struct products {
  karst_index right[products_at_once<B>];
  int pivot[products_at_once<B>], entry[products_at_once<B>];
};

/* The products of a chunk, and the lane's column of the right block of each. */
template <int B> struct chunk {
  products<B> product;
  double column[products_at_once<B>][B];
};

template <int B, int ROWS>
__device__ __forceinline__ products<B> fetch(const karst_ilu_row_product *product, int64_t first, int64_t end)
{
  const lanes<B, ROWS> lane = lane_here<B, ROWS>();
  products<B> fetched;
#pragma unroll
  for (int k = 0; k < products_at_once<B>; k++) {
    const int64_t number = first + k * lanes<B, ROWS>::blocks + lane.n;
    const bool there = lane.n < lanes<B, ROWS>::blocks && number < end;
    karst_ilu_row_product one = {0, 0};
    if (there) one = product[number];
    fetched.right[k] = one.right;
    fetched.pivot[k] = there ? (int)(one.place >> 16) : -1;
    fetched.entry[k] = (int)(one.place & 0xffff);
  }
  return fetched;
}

/* Starts a chunk: loads the columns of its products, which may be absent. */
template <int B, int ROWS>
__device__ __forceinline__ chunk<B> start_chunk(const karst_triangle &upper, const products<B> &product)
{
  chunk<B> started;
  started.product = product;
#pragma unroll
  for (int k = 0; k < products_at_once<B>; k++) {
    const double *from = karst_ilu_element<B>(upper, product.right[k], 0, lane_here<B, ROWS>().c);
#pragma unroll
    for (int r = 0; r < B; r++) started.column[k][r] = product.pivot[k] >= 0 ? karst_look(from + r) : 0;
  }
  return started;
}

/* Tells whether the lane lacks columns of the pivot. */
template <int B> __device__ __forceinline__ bool lacks(int pivot, const chunk<B> &chunk)
{
  bool lacking = false;
#pragma unroll
  for (int k = 0; k < products_at_once<B>; k++)
#pragma unroll
    for (int r = 0; r < B; r++) lacking |= chunk.product.pivot[k] == pivot && karst_is_absent(chunk.column[k][r]);
  return lacking;
}

template <int B, int ROWS>
__device__ __forceinline__ void await_pivot(const karst_triangle &upper, int pivot, chunk<B> &chunk)
{
  while (__any_sync(~0u, lacks<B>(pivot, chunk)))
#pragma unroll
    for (int k = 0; k < products_at_once<B>; k++) {
      const double *from = karst_ilu_element<B>(upper, chunk.product.right[k], 0, lane_here<B, ROWS>().c);
      const int later = chunk.product.pivot[k] - pivot;
#pragma unroll
      for (int r = 0; r < B; r++)
        if (later >= 0 && later < pivots_at_once<B> && karst_is_absent(chunk.column[k][r]))
          chunk.column[k][r] = karst_look(from + r);
    }
}

/* Subtracts the lane's columns of the products with one pivot from the row. size: the lane's share of the sizes of its
 * column of D, which is entry number diagonal: of the values before each of its products (gpu/size.h). */
template <int B, int ROWS>
__device__ __forceinline__ void subtract(int pivot, const chunk<B> &chunk, int diagonal, double *row, float (&size)[B])
{
  const double *left = row + pivot * (B * B);
#pragma unroll
  for (int k = 0; k < products_at_once<B>; k++) {
    if (chunk.product.pivot[k] != pivot) continue;
    double *to = row + chunk.product.entry[k] * (B * B) + lane_here<B, ROWS>().c * B, sum[B];
#pragma unroll
    for (int r = 0; r < B; r++) sum[r] = to[r];
    const bool measured = chunk.product.entry[k] == diagonal;
#pragma unroll
    for (int r = 0; r < B; r++)
      if (measured) size[r] = karst_size_after(size[r], sum[r]);
#pragma unroll
    for (int j = 0; j < B; j++)
#pragma unroll
      for (int r = 0; r < B; r++) sum[r] -= left[j * B + r] * chunk.column[k][j];
#pragma unroll
    for (int r = 0; r < B; r++) to[r] = sum[r];
  }
}

/* Subtracts the products of a chunk. diagonal, size: see subtract. */
template <int B, int ROWS>
__device__ __forceinline__ void take_chunk(const karst_triangle &upper, chunk<B> &chunk, int diagonal, double *row,
                                           float (&size)[B])
{
  int last = 0;
#pragma unroll
  for (int k = 0; k < products_at_once<B>; k++) last = max(last, chunk.product.pivot[k]);
  last = (int)karst_largest_of_warp((unsigned)last);
  /* Products are sorted by their pivots; -1 is the largest unsigned number. */
  const int first = max(0, (int)~karst_largest_of_warp(~(unsigned)chunk.product.pivot[0]));
  for (int pivot = first; pivot <= last; pivot++) {
    await_pivot<B, ROWS>(upper, pivot, chunk);
    __syncwarp();
    subtract<B, ROWS>(pivot, chunk, diagonal, row, size);
  }
}

/* Subtracts all products of the rows. now is the first chunk; size: see subtract. */
template <int B, int ROWS>
__device__ __forceinline__ void eliminate(const matrices &m, const row_task &task, chunk<B> now, double *row,
                                          float (&size)[B])
{
  constexpr int STEP = lanes<B, ROWS>::blocks * products_at_once<B>;
  int64_t first = task.first + STEP;
  bool more = __any_sync(~0u, first < task.end);
  products<B> after = {};
#pragma unroll
  for (int r = 0; r < B; r++) size[r] = 0;
  if (more) after = fetch<B, ROWS>(m.product, first, task.end);
  for (;;) {
    chunk<B> next = {};
    const bool go_on = more;
    if (go_on) {
      next = start_chunk<B, ROWS>(m.upper, after);
      first += STEP;
      more = __any_sync(~0u, first < task.end);
      if (more) after = fetch<B, ROWS>(m.product, first, task.end);
    }
    take_chunk<B, ROWS>(m.upper, now, task.place.lower_length, row, size);
    if (!go_on) break;
    now = next;
  }
  __syncwarp();
}

/* The blocks of A from which a lane's first elements start. A lane starts the elements lane, lane + of_row, ... of a
 * row. */
template <int B> constexpr int sources_at_once = B == 1 ? 2 : 4;
template <int B> struct sources {
  karst_index block[sources_at_once<B>];
};

template <int B> __device__ __forceinline__ karst_index source_of(const matrices &m, const karst_ilu_row &place, int v)
{
  constexpr int GROUP = 32 / B;
  const int e = v / (B * B), n = e - place.lower_length;
  if (n >= place.upper_length) return -1;
  return __ldg(n < 0 ? &m.lower.source[place.lower + (int64_t)e * GROUP]
                     : &m.upper.source[place.upper + (int64_t)n * GROUP]);
}

template <int B, int ROWS>
__device__ __forceinline__ sources<B> find_sources(const matrices &m, const karst_ilu_row &place)
{
  constexpr int LANES = lanes<B, ROWS>::of_row;
  sources<B> found;
#pragma unroll
  for (int k = 0; k < sources_at_once<B>; k++)
    found.block[k] = source_of<B>(m, place, k * LANES + (int)threadIdx.x % LANES);
  return found;
}

/* Fills the row with the blocks of A, and 0 where A has no block. */
template <int B, int ROWS>
__device__ __forceinline__ void start_row(const matrices &m, const karst_ilu_row &place, const sources<B> &found,
                                          double *row)
{
  constexpr int LANES = lanes<B, ROWS>::of_row;
  const int elements = (place.lower_length + place.upper_length) * (B * B);
  int v = (int)threadIdx.x % LANES;
#pragma unroll
  for (int k = 0; k < sources_at_once<B>; k++, v += LANES)
    if (v < elements) row[v] = found.block[k] >= 0 ? __ldg(&m.A[(int64_t)found.block[k] * (B * B) + v % (B * B)]) : 0;
#pragma unroll 4
  for (; v < elements; v += LANES) {
    const karst_index source = source_of<B>(m, place, v);
    row[v] = source >= 0 ? __ldg(&m.A[(int64_t)source * (B * B) + v % (B * B)]) : 0;
  }
}

/* Whether the partial sums of D were so large that its pivots need a careful check. column, size: the lane's column of
 * D and the size that subtract has found; scales: of the entries of D. */
template <int B>
__device__ __forceinline__ bool is_lost(const karst_ilu_place &at, const karst_ilu_scales<B> &scales, int column,
                                        const float (&size)[B])
{
  bool lost = false;
  int most = scales.column[0];
#pragma unroll
  for (int c = 1; c < B; c++) most = column == c ? scales.column[c] : most;
  most += KARST_SIZE_LOST;
#pragma unroll
  for (int r = 0; r < B; r++) {
    const double scale = B > 1 ? __shfl_sync(~0u, scales.row_scale, at.q * B + r) : 1;
    lost = lost || __double2hiint(karst_size_number(karst_size_word(size[r])) * scale) > most;
  }
  return lost;
}

/* The sizes of the lane's column of D, as subtract leaves them. */
template <int B> struct column_size {
  float at[B];
};

/* Makes the lane's row of D^-1 as karst_ilu_invert does, from the sizes that all lanes have of their columns. products:
 * of an entry of D at most. This is rare; it is not inlined, so that it takes no registers from the rest. */
template <int B, int ROWS>
__device__ __noinline__ karst_ilu_inverse_row<B>
invert_with_care(karst_ilu_place at, bool there, const double *diagonal, column_size<B> size, int products)
{
  constexpr int LANES = lanes<B, ROWS>::of_row;
  const int first = (int)threadIdx.x % 32 / LANES * LANES;
  karst_ilu_inverse_row<B> inverse;
  float whole[B];
#pragma unroll
  for (int c = 0; c < B; c++) {
    inverse.at[c] = there ? diagonal[c * B + at.r] : 1;
    whole[c] = karst_size(inverse.at[c]);
    for (int n = 0; n < lanes<B, ROWS>::blocks; n++)
#pragma unroll
      for (int r = 0; r < B; r++) {
        const float part = __shfl_sync(~0u, size.at[r], first + n * B + c);
        if (at.r == r) whole[c] = fmaxf(whole[c], part);
      }
    whole[c] = karst_size_of_many(whole[c], products);
  }
  inverse.reason = karst_ilu_invert<B>(at, whole, inverse.at);
  return inverse;
}

/* Makes the lane's row of D^-1. size: as subtract leaves it. */
template <int B, int ROWS>
__device__ __forceinline__ karst_reason invert(const karst_ilu_place &at, const row_task &task, const double *diagonal,
                                               const float (&size)[B], double (&inverse)[B])
{
  float own[B];
#pragma unroll
  for (int c = 0; c < B; c++) {
    inverse[c] = task.there ? diagonal[c * B + at.r] : 1;
    own[c] = karst_size(inverse[c]);
  }
  const karst_ilu_scales<B> scales = karst_ilu_measure<B>(at, own);
  const bool lost = is_lost<B>(at, scales, lane_here<B, ROWS>().c, size);
  const karst_reason reason = karst_ilu_eliminate<B>(at, 0x1p20 * karst_block_rounding(B), scales, inverse);
  if (!__any_sync(~0u, lost || reason != KARST_SOUND)) return KARST_SOUND;
  column_size<B> column;
#pragma unroll
  for (int r = 0; r < B; r++) column.at[r] = size[r];
  const karst_ilu_inverse_row<B> careful =
      invert_with_care<B, ROWS>(at, task.there, diagonal, column, task.place.lower_length);
#pragma unroll
  for (int c = 0; c < B; c++) inverse[c] = careful.at[c];
  return careful.reason;
}

/* Computes row r of the replacement of a failed pivot's inverse, and reports the pivot. All lanes of the warp take
 * part, whether the pivot of their row has failed or not. */
template <int B, int ROWS>
__device__ void replace_pivot(karst_reason reason, double shift, const matrices &m, const row_task &task,
                              const double *row, int r, karst_ilu_statistics_cuda *statistics, double (&inverse)[B])
{
  constexpr int LANES = lanes<B, ROWS>::of_row;
  const int elements = (task.place.lower_length + task.place.upper_length) * (B * B);
  double largest = 0;
  for (int v = (int)threadIdx.x % LANES; v < elements && shift > 0; v += LANES) largest = fmax(largest, fabs(row[v]));
  for (int distance = LANES / 2; distance > 0; distance /= 2)
    largest = fmax(largest, __shfl_xor_sync(~0u, largest, distance));
  if (reason == KARST_SOUND || !task.there) return;
  const double replacement =
      karst_ilu_replace_pivot(reason, shift, largest, m.lower.row[task.slot], threadIdx.x % LANES == 0, statistics);
#pragma unroll
  for (int c = 0; c < B; c++) inverse[c] = c == r ? replacement : 0;
}

/* Publishes U' = D^-1 U, the last blocks first, and D^-1. inverse: row r of D^-1. Returns 0 unless a number is NaN or
 * infinite. */
template <int B, int ROWS>
__device__ __forceinline__ double publish_upper(const karst_triangle &upper, const row_task &task, int r,
                                                const double (&inverse)[B], const double *row)
{
  constexpr int N = lanes<B, ROWS>::blocks, GROUP = 32 / B;
  const int n = lane_here<B, ROWS>().n;
  double nonfinite = 0;
  for (int e = task.place.upper_length - 1 - n; e > 0 && n < N; e -= N) {
    const double *block = row + e * (B * B);
#pragma unroll
    for (int d = 0; d < B; d++) {
      double sum = 0;
#pragma unroll
      for (int c = 0; c < B; c++) sum += inverse[c] * block[d * B + c];
      karst_publish(karst_ilu_element<B>(upper, task.place.upper + (int64_t)e * GROUP, r, d), sum);
      nonfinite += sum * 0;
    }
  }
#pragma unroll
  for (int c = 0; c < B; c++)
    if (n == 0 && task.there) karst_publish(karst_ilu_element<B>(upper, task.place.upper, r, c), inverse[c]);
  return nonfinite;
}

/* Loads a column, which may be absent; from NULL makes it 0. */
template <int B> __device__ __forceinline__ void look_at_column(const double *from, double (&column)[B])
{
#pragma unroll
  for (int r = 0; r < B; r++) column[r] = from ? karst_look(from + r) : 0;
}

template <int B> __device__ __forceinline__ void await_column(const double *from, double (&column)[B])
{
  for (;;) {
    bool lacking = false;
#pragma unroll
    for (int r = 0; r < B; r++) lacking |= karst_is_absent(column[r]);
    if (!__any_sync(~0u, lacking)) return;
    if (lacking) look_at_column<B>(from, column);
  }
}

/* Returns the lane's column of the inverse of the pivot of entry e of L; NULL for padding. */
template <int B, int ROWS>
__device__ __forceinline__ const double *inverse_of_pivot(const matrices &m, const karst_ilu_row &place, int e)
{
  constexpr int GROUP = 32 / B;
  const lanes<B, ROWS> lane = lane_here<B, ROWS>();
  if (lane.n >= lanes<B, ROWS>::blocks || e >= place.lower_length) return NULL;
  const karst_index pivot = m.lower.column[place.lower + (int64_t)e * GROUP];
  return pivot < m.lower.slots ? karst_ilu_element<B>(m.upper, m.row[pivot].upper, 0, lane.c) : NULL;
}

/* Makes L_ip = a_ip D_p^-1. Returns 0 unless a number is NaN or infinite. from: the lane's first inverse_of_pivot,
 * which has been loaded into inverse and may be absent. */
template <int B, int ROWS>
__device__ __forceinline__ double finish_lower(const matrices &m, const karst_ilu_row &place, const double *from,
                                               double (&inverse)[B], const double *row)
{
  constexpr int N = lanes<B, ROWS>::blocks, GROUP = 32 / B;
  const lanes<B, ROWS> lane = lane_here<B, ROWS>();
  double nonfinite = 0;
  for (int begin = 0; __any_sync(~0u, begin < place.lower_length); begin += N) {
    const int e = begin + lane.n;
    const double *next = inverse_of_pivot<B, ROWS>(m, place, e + N);
    await_column<B>(from, inverse);
    if (from) {
      const double *left = row + e * (B * B);
#pragma unroll
      for (int r = 0; r < B; r++) {
        double sum = 0;
#pragma unroll
        for (int j = 0; j < B; j++) sum += left[j * B + r] * inverse[j];
        *karst_ilu_element<B>(m.lower, place.lower + (int64_t)e * GROUP, r, lane.c) = sum;
        nonfinite += sum * 0;
      }
    }
    from = next;
    look_at_column<B>(from, inverse);
  }
  return nonfinite;
}

template <int B, int ROWS>
__global__ void __launch_bounds__(KARST_ILU_THREADS, least_blocks<B>)
    factor(const matrices m, int longest, double shift, karst_ilu_statistics_cuda *statistics)
{
  extern __shared__ double shared[];
  constexpr int LANES = lanes<B, ROWS>::of_row;
  const lanes<B, ROWS> lane = lane_here<B, ROWS>();
  double *row = shared + (int)threadIdx.x / LANES * longest * (B * B);
  const int64_t warps = (int64_t)gridDim.x * WARPS;
  /* Lanes beyond the last block have the positions of its lanes. */
  karst_ilu_place at = {B == 1 ? (int)threadIdx.x % 32 : min(lane.n, lanes<B, ROWS>::blocks - 1), lane.c, true, 0};
  at.group = ((1u << B) - 1) << (at.q * B);
  int64_t number = ((int64_t)blockIdx.x * KARST_ILU_THREADS + threadIdx.x) / 32;
  row_task task = find_row<B, ROWS>(m, find_slots(m, number));
  slots ahead = find_slots(m, number + warps);
  products<B> product = fetch<B, ROWS>(m.product, task.first, task.end);
  sources<B> found = find_sources<B, ROWS>(m, task.place);
  for (; number < m.tasks; number += warps) {
    const chunk<B> now = start_chunk<B, ROWS>(m.upper, product);
    const row_task next = find_row<B, ROWS>(m, ahead);
    ahead = find_slots(m, number + 2 * warps);
    double *const diagonal = row + task.place.lower_length * (B * B);
    double pivot_inverse[B], inverse[B];
    float size[B];
    start_row<B, ROWS>(m, task.place, found, row);
    const double *from = inverse_of_pivot<B, ROWS>(m, task.place, lane.n);
    look_at_column<B>(from, pivot_inverse);
    __syncwarp();
    eliminate<B, ROWS>(m, task, now, row, size);
    const karst_reason reason = invert<B, ROWS>(at, task, diagonal, size, inverse);
    if (__any_sync(~0u, reason != KARST_SOUND))
      replace_pivot<B, ROWS>(reason, shift, m, task, row, at.r, statistics, inverse);
    double bad = publish_upper<B, ROWS>(m.upper, task, at.r, inverse, diagonal);
    product = fetch<B, ROWS>(m.product, next.first, next.end);
    found = find_sources<B, ROWS>(m, next.place);
    bad += finish_lower<B, ROWS>(m, task.place, from, pivot_inverse, row);
    if (bad != 0) karst_ilu_report_row(statistics, m.lower.row[task.slot], KARST_FAULT_ROW_NOT_FINITE);
    __syncwarp(); /* the next row overwrites this one */
    task = next;
  }
}

/* The factor_state of a plan. */
struct row_state {
  int longest;      /* blocks of the longest row of L, D and U' */
  int rows_of_warp; /* the most that a warp makes at a time, 1 or 2 */
  karst_ilu_row_lists lists;
};

const void *kernel_for(int block_size, int rows_of_warp)
{
  static const void *const table[KARST_ILU_SLICE_LARGEST + 1] = {NULL,
                                                                 (const void *)factor<1, 1>,
                                                                 (const void *)factor<2, 1>,
                                                                 (const void *)factor<3, 1>,
                                                                 (const void *)factor<4, 1>,
                                                                 (const void *)factor<5, 1>,
                                                                 (const void *)factor<6, 1>};
  return rows_of_warp > 1 ? (const void *)factor<1, 2> : table[block_size];
}

size_t shared_bytes(int b, const row_state *state)
{
  const int rows = WARPS * state->rows_of_warp;
  return (size_t)rows * (size_t)state->longest * (size_t)(b * b) * sizeof(double);
}

karst_status analyse_rows(karst_context *context, const karst_matrix *A, const karst_ilu_pattern_cuda *pattern,
                          const karst_ilu_shape *shape, karst_ilu_analysis *analysis)
{
  (void)A;
  const int b = shape->block_size;
  karst_ilu_cuda *plan = karst_ilu_cuda_of(analysis);
  row_state *state;
  karst_status status = karst_allocate_zero(context, &state, 1, sizeof *state, "the plan of block ILU");
  if (status) return status;
  plan->factor_state = state;
  state->longest = (int)shape->longest;
  state->rows_of_warp = karst_ilu_choose_rows_of_warp(shape);
  status = karst_ilu_list_by_rows_cuda(context, pattern, state->rows_of_warp, analysis, &state->lists);
  if (status) return status;
  return karst_ilu_resident_cuda(context, kernel_for(b, state->rows_of_warp), shared_bytes(b, state),
                                 KARST_ILU_HELD_ROWS, state->lists.tasks, shape->levels, &plan->factor_grid);
}

void launch_rows(karst_context *context, const karst_matrix *A, double shift, const karst_ilu_cuda *plan)
{
  const row_state *state = static_cast<const row_state *>(plan->factor_state);
  const karst_ilu_row_lists &lists = state->lists;
  const int b = plan->block_size;
  cudaStream_t stream = karst_cuda_of(context)->stream;
  matrices all = {plan->lower, plan->upper, lists.tasks, lists.task, lists.row, lists.list, lists.product, A->value};
  karst_ilu_statistics_cuda *statistics = plan->statistics;
  int longest = state->longest;
  void *arguments[] = {&all, &longest, &shift, &statistics};
  cudaMemsetAsync(plan->upper.value, 0xff, (size_t)karst_block_offset(b, plan->upper.blocks) * sizeof(double), stream);
  cudaLaunchCooperativeKernel(kernel_for(b, state->rows_of_warp), dim3((unsigned)plan->factor_grid),
                              dim3(KARST_ILU_THREADS), arguments, shared_bytes(b, state), stream);
}

void forget_rows(karst_context *context, karst_ilu_cuda *plan)
{
  row_state *state = static_cast<row_state *>(plan->factor_state);
  if (!state) return;
  karst_cuda_release(context, state->lists.task, state->lists.row, state->lists.list, state->lists.product);
  karst_release(context, state);
}

} // namespace

const karst_ilu_factor_variant karst_ilu_factor_row_cuda = {analyse_rows, forget_rows, launch_rows, NULL, NULL, false};
