/* product.cu - the pattern of C = A B, and for each product a_ik b_kj the number of c_ij in its row: its slot.
 *
 * A group of threads collects the columns of a row of C in a hash table, and finds the rank of each among
 * those of its row. The columns go to work space with room for one a product, until the sizes of all rows are known.
 * The slots of a row are in the order of k and then j. */
#include "gpu/amg/sets.h"
#include "gpu/ilu/ilu_cuda.h"

namespace
{

enum { THREADS = 256, MEASURE = 8 /* lanes that count the products of a row, or copy its columns */, WARP = 32 };

const char *const what = "a product of matrices";

/* Device memory. */
struct task {
  karst_amg_view<void> A, B;
  karst_index *offset; /* [entries of A] products of the row before this entry's: at most the entries of B */
  int64_t *first;      /* [rows + 1] */
  karst_index *start;  /* [rows + 1] of C */
  karst_index *column; /* [products] the columns of each row from its first product on */
  int shift;           /* 2^shift lanes share a row of B */
};

/* start[i] and first[i]: the products of row i, at most the entries of B, and 0 behind the last one. */
__global__ void measure(task t)
{
  using group = karst_amg_group<MEASURE, true>;
  const int64_t i = (blockIdx.x * (int64_t)THREADS + threadIdx.x) / MEASURE;
  if (i > t.A.rows) return;
  const karst_index end = i < t.A.rows ? t.A.start[i + 1] : 0;
  karst_index before = 0, all;
  for (karst_index base = i < t.A.rows ? t.A.start[i] : 0; group::any(base < end); base += MEASURE) {
    const karst_index e = base + group::lane(), k = e < end ? t.A.column[e] : 0;
    const karst_index mine = group::sum_before(e < end ? t.B.start[k + 1] - t.B.start[k] : 0, &all);
    if (e < end) t.offset[e] = before + mine;
    before += all;
  }
  if (group::lane() == 0) t.first[i] = t.start[i] = before;
}

/* Calls f(column, product) for the products of a row. A warp, or a smaller group, takes every WARPS-th entry of A: each
 * lane finds the row of B of one of them, and all lanes share these rows. */
template <int LANES, typename F> __device__ __forceinline__ void each_product(const task &t, karst_index i, F f)
{
  using group = karst_amg_group<LANES, true>;
  enum { SHARED = LANES < WARP ? LANES : WARP, WARPS = LANES / SHARED };
  enum { MOST = SHARED == 4 ? 2 : SHARED == 8 ? 3 : SHARED == 16 ? 4 : 5 };
  const int lane = (int)threadIdx.x % SHARED, shift = min(t.shift, (int)MOST), width = 1 << shift;
  const karst_index end = i < 0 ? 0 : t.A.start[i + 1];
  const int64_t first = i < 0 ? 0 : t.first[i];
  karst_index base = i < 0 ? 0 : t.A.start[i] + group::lane() / SHARED;
  for (; group::any(base < end); base += LANES) {
    const karst_index e = base + lane * WARPS, left = (end - base + WARPS - 1) / WARPS;
    karst_index begin = 0, count = 0, offset = 0;
    if (lane < left) {
      const karst_index k = t.A.column[e];
      begin = t.B.start[k];
      count = t.B.start[k + 1] - begin;
      offset = t.offset[e];
    }
    for (int q = 0; q < SHARED && group::any(q < left); q += SHARED >> shift) {
      const int from = q + (lane >> shift);
      const karst_index b = group::pass(begin, from), c = group::pass(count, from);
      const int64_t product = first + group::pass(offset, from);
      for (karst_index k = lane & (width - 1); group::any(k < c); k += width)
        if (k < c) f(t.B.column[b + k], product + k);
    }
  }
}

/* Lists the columns of a table, ascending if they are many. Returns their number. */
template <int LANES>
__device__ __forceinline__ karst_index list_columns(const karst_amg_set &set, karst_index *list, karst_index many)
{
  using group = karst_amg_group<LANES, true>;
  karst_index count = 0, all;
  for (karst_index base = 0; base < set.slots; base += LANES) {
    const karst_index column = set.table[base + group::lane()];
    const karst_index before = group::count_before(column >= 0, &all);
    if (column >= 0) list[count + before] = column;
    count += all;
  }
  if (set.slots > many && count > many) {
    karst_index padded = 1;
    while (padded < count) padded *= 2;
    for (karst_index k = count + group::lane(); k < padded; k += LANES) list[k] = (karst_index)KARST_INDEX_MAX;
    group::sync();
    karst_amg_sort<LANES>(list, padded);
  }
  group::sync();
  return count;
}

template <int BIN, typename S>
__global__ void __launch_bounds__(karst_amg_bin<BIN>::THREADS) find_columns(task t, karst_amg_sets sets, S *slot)
{
  enum { LANES = karst_amg_bin<BIN>::LANES, MANY = 128 /* columns; more are sorted by a warp or more */ };
  enum { FITS = karst_amg_bin<BIN>::SLOTS <= 256 /* elements: a slot holds one until it is known */ };
  using group = karst_amg_group<LANES, true>;
  karst_amg_each_row<BIN>(
      sets,
      [&](karst_index i, const karst_amg_set &set) {
        each_product<LANES>(t, i, [&](karst_index column, int64_t product) {
          const karst_index at = karst_amg_place(set, column);
          if (FITS) slot[product] = (S)at;
        });
      },
      [&](karst_index i, const karst_amg_set &set) {
        karst_index *const list = set.work, *const number = set.work + set.slots;
        const karst_index count = list_columns<LANES>(set, list, MANY);
        const bool is_sorted = set.slots > MANY && count > MANY;
        for (karst_index k = group::lane(); k < count; k += LANES) {
          const karst_index column = list[k];
          karst_index rank = is_sorted ? k : 0;
#pragma unroll 4
          for (karst_index q = 0; q < (is_sorted ? 0 : count); q++) rank += list[q] < column;
          t.column[t.first[i] + rank] = column;
          number[karst_amg_find(set, column)] = rank;
        }
        group::sync();
        const int64_t first = FITS && i >= 0 ? t.first[i] : 0, end = FITS && i >= 0 ? t.first[i + 1] : 0;
        for (int64_t k = first + group::lane(); k < end; k += LANES) slot[k] = (S)number[slot[k]];
        if (!FITS)
          each_product<LANES>(t, i, [&](karst_index column, int64_t product) {
            slot[product] = (S)number[karst_amg_find(set, column)];
          });
        if (group::lane() == 0 && i >= 0) t.start[i] = count;
      });
}

template <typename S> void launch_find(karst_context *context, const task &t, const karst_amg_sets &sets, void *slot)
{
  karst_amg_each_bin(&sets, [&](auto bin) {
    find_columns<bin.value>
        <<<sets.blocks[bin.value], karst_amg_bin<bin.value>::THREADS, 0, karst_cuda_of(context)->stream>>>(
            t, sets, static_cast<S *>(slot));
  });
}

/* Takes the memory of the slots, and finds them and the columns; then C has its row_start. */
karst_status find(karst_context *context, const karst_amg *amg, const task &t, const karst_amg_sets &sets,
                  karst_amg_product *product)
{
  karst_status status =
      karst_amg_take_bytes_cuda(context, amg, product->products * product->slot_size + 1, what, &product->slot);
  if (status) return status;
  if (product->slot_size == 1)
    launch_find<uint8_t>(context, t, sets, product->slot);
  else if (product->slot_size == 2)
    launch_find<uint16_t>(context, t, sets, product->slot);
  else
    launch_find<uint32_t>(context, t, sets, product->slot);
  return karst_amg_sum_rows_cuda(context, &product->C);
}

/* Copies the columns of each row. */
__global__ void pack(task t, karst_index *__restrict__ column)
{
  const int64_t i = (blockIdx.x * (int64_t)THREADS + threadIdx.x) / MEASURE;
  if (i >= t.A.rows) return;
  const karst_index begin = t.start[i], count = t.start[i + 1] - begin;
  for (karst_index k = (int)threadIdx.x % MEASURE; k < count; k += MEASURE)
    column[begin + k] = t.column[t.first[i] + k];
}

/* Finds slots of one byte, and again larger ones if they do not suffice. Then makes C. */
karst_status fill(karst_context *context, const karst_amg *amg, const task &t, const karst_amg_sets &sets,
                  karst_amg_product *product)
{
  enum { BYTE = 256, WORD = 65536 };
  karst_amg_matrix *C = &product->C;
  product->slot_size = 1;
  karst_status status = find(context, amg, t, sets, product);
  if (!status && C->longest > BYTE) {
    karst_cuda_work_release(context, product->slot);
    product->slot = NULL;
    product->slot_size = C->longest <= WORD ? 2 : 4;
    cudaMemsetAsync(C->row_start, 0, ((size_t)C->rows + 1) * sizeof *C->row_start, karst_cuda_of(context)->stream);
    status = context->backend->upload(context, sets.tally, &sets.found, sizeof sets.found); /* rows move back */
    if (!status) status = find(context, amg, t, sets, product);
  }
  if (!status) status = karst_amg_take_entries_cuda(context, amg, what, C);
  if (!status)
    pack<<<karst_cuda_grid((int64_t)C->rows * MEASURE, THREADS), THREADS, 0, karst_cuda_of(context)->stream>>>(
        t, C->column);
  return status;
}

/* Counts the products of each row; waits. */
karst_status count(karst_context *context, task &t, karst_amg_sets *sets, karst_amg_product *product)
{
  const int64_t rows = t.A.rows;
  measure<<<karst_cuda_grid((rows + 1) * MEASURE, THREADS), THREADS, 0, karst_cuda_of(context)->stream>>>(t);
  karst_status status = karst_amg_sort_rows_cuda(context, t.A.rows, t.start, t.B.columns, sets);
  if (!status) status = karst_ilu_sum_offsets_cuda(context, rows + 1, t.first);
  if (status) return status;
  product->products = (int64_t)sets->found.sum;
  return karst_cuda_take_work(context, product->products, what, &t.column);
}

} // namespace

karst_status karst_amg_plan_product_cuda(karst_context *context, const karst_amg *amg, const karst_amg_matrix *A,
                                         const karst_amg_matrix *B, karst_amg_product *product)
{
  const int64_t rows = A->rows;
  task t = {{A->rows, A->columns, A->row_start, A->column}, {B->rows, B->columns, B->row_start, B->column}};
  karst_amg_sets sets = {};
  product->C.rows = A->rows;
  product->C.columns = B->columns;
  while (1 << t.shift < karst_amg_lanes(B->entries, B->rows, 1, WARP)) t.shift++;
  karst_status status = karst_amg_take_cuda(context, amg, rows + 1, what, &product->C.row_start);
  if (!status) status = karst_amg_take_cuda(context, amg, rows + 1, what, &product->first);
  t.start = product->C.row_start;
  t.first = product->first;
  if (!status) status = karst_cuda_take_work(context, A->entries, what, &t.offset);
  if (!status) status = count(context, t, &sets, product);
  if (!status) status = fill(context, amg, t, sets, product);
  karst_cuda_work_release(context, t.offset, t.column, sets.tally, sets.list[0], sets.memory);
  return status;
}
