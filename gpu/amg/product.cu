/* product.cu - the pattern of C = A B, and for each product a_ik b_kj the number of c_ij in its row: its slot.
 *
 * A warp takes a row of C with few products, with a lane for each: it compares their columns. Of other rows a group of
 * threads collects the columns in a hash table. Either finds the rank of each column among those of its row. The
 * columns go to work space with room for one a product, until the sizes of all rows are known. The slots of a row are
 * in the order of k and then j. */
#include "gpu/amg/sets.h"
#include "gpu/bisect.h"
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
  karst_index *start;  /* [rows + 1] of C; -1: the row is postponed */
  karst_index *column; /* [products] the columns of each row from its first product on */
  int64_t most;        /* that a row is said to have */
  int width;           /* lanes that share a row of B: a power of two */
};

/* start[i] and first[i]: the products of row i, at most the entries of B, and 0 behind the last one. */
__global__ void measure(task t)
{
  using group = karst_amg_group<MEASURE>;
  const int64_t i = (blockIdx.x * (int64_t)THREADS + threadIdx.x) / MEASURE;
  if (i > t.A.rows) return;
  const karst_index end = i < t.A.rows ? t.A.start[i + 1] : 0;
  karst_index before = 0, all;
  for (karst_index base = i < t.A.rows ? t.A.start[i] : 0; base < end; base += MEASURE) {
    const karst_index e = base + group::lane(), k = e < end ? t.A.column[e] : 0;
    const karst_index mine = group::sum_before(e < end ? t.B.start[k + 1] - t.B.start[k] : 0, &all);
    if (e < end) t.offset[e] = before + mine;
    before += all;
  }
  if (group::lane() == 0) t.first[i] = t.start[i] = before;
}

/* Rows of the first bin: a warp each. */
template <typename S> __global__ void __launch_bounds__(THREADS) find_few(task t, S *__restrict__ slot)
{
  const int64_t i = (blockIdx.x * (int64_t)THREADS + threadIdx.x) / WARP;
  if (i >= t.A.rows) return;
  const int lane = (int)threadIdx.x % WARP;
  const int64_t first = t.first[i], many = t.first[i + 1] - first;
  if (lane >= many || karst_amg_bin_of(many) > 0) return;
  const karst_index begin = t.A.start[i], end = t.A.start[i + 1];
  const karst_index e = karst_cuda_bisect(begin, end, [&](karst_index at) { return t.offset[at] > lane; }) - 1;
  const karst_index column = t.B.column[t.B.start[t.A.column[e]] + (lane - t.offset[e])];
  const unsigned mask = (1u << (int)many) - 1;
  const bool is_first = (__match_any_sync(mask, column) & ((1u << lane) - 1)) == 0;
  const unsigned all = __ballot_sync(mask, is_first);
  int rank = 0;
  for (unsigned left = all; left != 0; left &= left - 1)
    rank += __shfl_sync(mask, column, __ffs((int)left) - 1) < column;
  slot[first + lane] = (S)rank;
  if (is_first) t.column[first + rank] = column;
  if (lane == 0) t.start[i] = __popc(all);
}

/* Calls f(column, product) for the products of a row. A warp, or a smaller group, takes every WARPS-th entry of A: each
 * lane finds the row of B of one of them, and all lanes share these rows. */
template <int LANES, typename F> __device__ __forceinline__ void each_product(const task &t, karst_index i, F f)
{
  enum { SHARED = LANES < WARP ? LANES : WARP, WARPS = LANES / SHARED };
  const unsigned mask = karst_amg_group<LANES>::mask();
  const int lane = (int)threadIdx.x % SHARED, width = min(t.width, (int)SHARED);
  const karst_index end = t.A.start[i + 1];
  const int64_t first = t.first[i];
  for (karst_index base = t.A.start[i] + karst_amg_group<LANES>::lane() / SHARED; base < end; base += LANES) {
    const karst_index e = base + lane * WARPS, left = (end - base + WARPS - 1) / WARPS;
    karst_index begin = 0, count = 0, offset = 0;
    if (lane < left) {
      const karst_index k = t.A.column[e];
      begin = t.B.start[k];
      count = t.B.start[k + 1] - begin;
      offset = t.offset[e];
    }
    for (int q = 0; q < SHARED && q < left; q += SHARED / width) {
      const int from = q + lane / width;
      const karst_index b = __shfl_sync(mask, begin, from, SHARED), c = __shfl_sync(mask, count, from, SHARED);
      const int64_t product = first + __shfl_sync(mask, offset, from, SHARED);
      for (karst_index k = lane % width; k < c; k += width) f(t.B.column[b + k], product + k);
    }
  }
}

/* Lists the columns of a table, ascending if they are many. Returns their number. */
template <int LANES>
__device__ __forceinline__ karst_index list_columns(const karst_amg_set &set, karst_index *list, karst_index many)
{
  using group = karst_amg_group<LANES>;
  karst_index count = 0, all;
  for (karst_index base = 0; base < set.slots; base += LANES) {
    const karst_index column = set.table[base + group::lane()];
    const karst_index before = group::count_before(column >= 0, &all);
    if (column >= 0) list[count + before] = column;
    count += all;
  }
  if (count > many) {
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
__global__ void __launch_bounds__(karst_amg_bin<BIN>::THREADS)
    find_columns(task t, karst_index *memory, karst_index room, S *__restrict__ slot)
{
  enum { LANES = karst_amg_bin<BIN>::LANES, MANY = 128 /* columns, of which more are sorted */ };
  using group = karst_amg_group<LANES>;
  karst_amg_each_row<BIN>(
      t.A.rows, memory, room,
      [&](karst_index i) { return t.start[i] < 0 ? INT64_MAX : min(t.first[i + 1] - t.first[i], t.most); },
      [&](karst_index i) { t.start[i] = -1; },
      [&](karst_index i, const karst_amg_set &set) {
        each_product<LANES>(t, i, [&](karst_index column, int64_t) { karst_amg_insert(set, column); });
      },
      [&](karst_index i, const karst_amg_set &set) {
        karst_index *const list = set.work, *const number = set.work + set.slots;
        const karst_index count = list_columns<LANES>(set, list, MANY);
        for (karst_index k = group::lane(); k < count; k += LANES) {
          const karst_index column = list[k];
          karst_index rank = count > MANY ? k : 0;
          for (karst_index q = 0; q < count && count <= MANY; q++) rank += list[q] < column;
          t.column[t.first[i] + rank] = column;
          number[karst_amg_find(set, column)] = rank;
        }
        group::sync();
        each_product<LANES>(
            t, i, [&](karst_index column, int64_t product) { slot[product] = (S)number[karst_amg_find(set, column)]; });
        if (group::lane() == 0) t.start[i] = count;
      });
}

template <typename S> void launch_find(karst_context *context, const task &t, const karst_amg_sets &sets, void *slot)
{
  cudaStream_t stream = karst_cuda_of(context)->stream;
  karst_amg_each_bin(&sets, [&](auto bin) {
    if constexpr (bin.value == 0)
      find_few<<<karst_cuda_grid(t.A.rows * (int64_t)WARP, THREADS), THREADS, 0, stream>>>(t, static_cast<S *>(slot));
    else
      find_columns<bin.value><<<sets.blocks[bin.value], karst_amg_bin<bin.value>::THREADS, 0, stream>>>(
          t, sets.memory, sets.room, static_cast<S *>(slot));
  });
}

/* Takes the memory of the slots, and finds them, the columns, and the size of each row in start; waits. */
karst_status find(karst_context *context, const karst_amg *amg, const task &t, const karst_amg_sets &sets,
                  karst_amg_product *product)
{
  karst_amg_tally tally;
  karst_status status =
      karst_amg_take_bytes_cuda(context, amg, product->products * product->slot_size + 1, what, &product->slot);
  if (status) return status;
  if (product->slot_size == 1)
    launch_find<uint8_t>(context, t, sets, product->slot);
  else if (product->slot_size == 2)
    launch_find<uint16_t>(context, t, sets, product->slot);
  else
    launch_find<uint32_t>(context, t, sets, product->slot);
  status = karst_amg_add_up_cuda(context, t.A.rows, t.start, t.B.columns, &tally);
  product->C.entries = (int64_t)tally.sum;
  product->C.longest = (karst_index)tally.longest;
  return status;
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

/* Finds slots of one byte, and again larger ones if they do not suffice. Then sums start, and makes C. */
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
    status = find(context, amg, t, sets, product);
  }
  if (!status) status = karst_amg_take_entries_cuda(context, amg, what, C);
  if (!status) status = karst_ilu_sum_indices_cuda(context, (int64_t)C->rows + 1, C->row_start);
  if (!status)
    pack<<<karst_cuda_grid((int64_t)C->rows * MEASURE, THREADS), THREADS, 0, karst_cuda_of(context)->stream>>>(
        t, C->column);
  return status;
}

/* Counts the products of each row; waits. */
karst_status count(karst_context *context, task &t, karst_amg_sets *sets, karst_amg_product *product)
{
  cudaStream_t stream = karst_cuda_of(context)->stream;
  const int64_t rows = t.A.rows;
  karst_amg_tally tally;
  t.most = max((int64_t)t.B.columns, (int64_t)karst_amg_bin<0>::SLOTS); /* so that the first bin has few products */
  measure<<<karst_cuda_grid((rows + 1) * MEASURE, THREADS), THREADS, 0, stream>>>(t);
  karst_status status = karst_amg_add_up_cuda(context, t.A.rows, t.start, (karst_index)t.most, &tally);
  if (!status) status = karst_ilu_sum_offsets_cuda(context, rows + 1, t.first);
  if (status) return status;
  product->products = (int64_t)tally.sum;
  status = karst_cuda_take_work(context, product->products, what, &t.column);
  return status ? status : karst_amg_take_sets_cuda(context, t.A.rows, &tally, sets);
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
  t.width = karst_amg_lanes(B->entries, B->rows, 4, 32);
  karst_status status = karst_amg_take_cuda(context, amg, rows + 1, what, &product->C.row_start);
  if (!status) status = karst_amg_take_cuda(context, amg, rows + 1, what, &product->first);
  t.start = product->C.row_start;
  t.first = product->first;
  if (!status) status = karst_cuda_take_work(context, A->entries, what, &t.offset);
  if (!status) status = count(context, t, &sets, product);
  if (!status) status = fill(context, amg, t, sets, product);
  karst_cuda_work_release(context, t.offset, t.column, sets.memory);
  return status;
}
