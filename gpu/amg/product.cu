/* product.cu - the pattern of C = A B, and for each product a_ik b_kj the number of c_ij in its row: its slot.
 *
 * A group of threads takes a row of C, and a few of its lanes a row of B: they insert columns into a hash table. A
 * first pass counts the columns, a second one sorts them and finds the slots by bisection. The slots of a row are in
 * the order of k and then j. */
#include "gpu/amg/group.h"
#include "gpu/ilu/ilu_cuda.h"

namespace
{

enum { THREADS = 256, MEASURE = 8 /* lanes that count the products of a row */ };

const char *const what = "a product of matrices";

/* Device memory. */
struct task {
  karst_amg_view<void> A, B;
  karst_index *offset; /* [entries of A] products of the row before this entry's: at most the entries of B */
  int64_t *first;      /* [rows + 1] */
  karst_index *start;  /* [rows + 1] of C */
  karst_index *column; /* [entries of C] */
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

/* Calls f(column, product) for the products of a row, of which first is the first one. */
template <int LANES, typename F> __device__ __forceinline__ void each_product(const task &t, karst_index i, F f)
{
  const int lane = karst_amg_group<LANES>::lane(), width = min(t.width, (int)LANES);
  const int64_t first = t.first[i];
  for (karst_index e = t.A.start[i] + lane / width; e < t.A.start[i + 1]; e += LANES / width) {
    const karst_index k = t.A.column[e], begin = t.B.start[k], end = t.B.start[k + 1];
    const int64_t product = first + t.offset[e];
    for (karst_index f_at = begin + lane % width; f_at < end; f_at += width)
      f(t.B.column[f_at], product + (f_at - begin));
  }
}

/* start[i]: the columns of row i of C, no longer its products; rows without products keep 0. */
template <int BIN>
__global__ void __launch_bounds__(karst_amg_bin<BIN>::THREADS)
    count_columns(task t, karst_index *memory, karst_index room)
{
  enum { LANES = karst_amg_bin<BIN>::LANES };
  using group = karst_amg_group<LANES>;
  karst_amg_each_row<BIN>(
      t.A.rows, memory, room, [&](karst_index i) { return min(t.first[i + 1] - t.first[i], (int64_t)t.B.columns); },
      [&](karst_index i, const karst_amg_set &set) {
        karst_index count = 0;
        karst_amg_clear<LANES>(set);
        each_product<LANES>(t, i, [&](karst_index column, int64_t) { count += karst_amg_insert(set, column); });
        count = group::sum(count);
        group::sync();
        if (group::lane() == 0) t.start[i] = count;
      });
}

template <int BIN, typename S>
__global__ void __launch_bounds__(karst_amg_bin<BIN>::THREADS)
    fill_rows(task t, karst_index *memory, karst_index room, S *__restrict__ slot)
{
  enum { LANES = karst_amg_bin<BIN>::LANES };
  using group = karst_amg_group<LANES>;
  karst_amg_each_row<BIN>(
      t.A.rows, memory, room, [&](karst_index i) { return (int64_t)(t.start[i + 1] - t.start[i]); },
      [&](karst_index i, const karst_amg_set &set) {
        karst_amg_clear<LANES>(set);
        each_product<LANES>(t, i, [&](karst_index column, int64_t) { karst_amg_insert(set, column); });
        const karst_index count = karst_amg_collect<LANES>(set);
        for (karst_index k = group::lane(); k < count; k += LANES) t.column[t.start[i] + k] = set.list[k];
        each_product<LANES>(t, i, [&](karst_index column, int64_t product) {
          slot[product] = (S)karst_amg_find(set.list, count, column);
        });
        group::sync();
      });
}

template <typename S> void launch_fill(karst_context *context, const task &t, const karst_amg_sets &sets, void *slot)
{
  karst_amg_each_bin(&sets, [&](auto bin) {
    fill_rows<bin.value>
        <<<sets.blocks[bin.value], karst_amg_bin<bin.value>::THREADS, 0, karst_cuda_of(context)->stream>>>(
            t, sets.memory, sets.room, static_cast<S *>(slot));
  });
}

/* Sets start from the sizes of the rows, takes the memory of C, and fills it. */
karst_status fill(karst_context *context, const karst_amg *amg, task &t, karst_amg_product *product)
{
  enum { BYTE = 256, WORD = 65536 };
  karst_amg_matrix *C = &product->C;
  karst_amg_tally tally;
  karst_amg_sets sets = {};
  karst_status status = karst_amg_add_up_cuda(context, C->rows, t.start, C->columns, &tally);
  if (status) return status;
  C->entries = (int64_t)tally.sum;
  C->longest = (karst_index)tally.longest;
  product->slot_size = C->longest <= BYTE ? 1 : C->longest <= WORD ? 2 : 4;
  status = karst_amg_take_entries_cuda(context, amg, what, C);
  t.column = C->column;
  if (!status) status = karst_ilu_sum_indices_cuda(context, (int64_t)C->rows + 1, C->row_start);
  if (!status)
    status = karst_amg_take_bytes_cuda(context, amg, product->products * product->slot_size + 1, what, &product->slot);
  if (!status) status = karst_amg_take_sets_cuda(context, C->rows, &tally, &sets);
  if (status) return status;
  if (product->slot_size == 1)
    launch_fill<uint8_t>(context, t, sets, product->slot);
  else if (product->slot_size == 2)
    launch_fill<uint16_t>(context, t, sets, product->slot);
  else
    launch_fill<uint32_t>(context, t, sets, product->slot);
  karst_cuda_work_release(context, sets.memory);
  return KARST_SUCCESS;
}

/* Counts the products, and the columns of each row in start. */
karst_status count(karst_context *context, const task &t, karst_amg_product *product)
{
  cudaStream_t stream = karst_cuda_of(context)->stream;
  const int64_t rows = t.A.rows;
  karst_amg_tally tally;
  karst_amg_sets sets = {};
  measure<<<karst_cuda_grid((rows + 1) * MEASURE, THREADS), THREADS, 0, stream>>>(t);
  karst_status status = karst_amg_add_up_cuda(context, t.A.rows, t.start, t.B.columns, &tally);
  if (!status) status = karst_ilu_sum_offsets_cuda(context, rows + 1, t.first);
  if (!status) status = karst_amg_take_sets_cuda(context, t.A.rows, &tally, &sets);
  if (status) return status;
  product->products = (int64_t)tally.sum;
  karst_amg_each_bin(&sets, [&](auto bin) {
    count_columns<bin.value>
        <<<sets.blocks[bin.value], karst_amg_bin<bin.value>::THREADS, 0, stream>>>(t, sets.memory, sets.room);
  });
  karst_cuda_work_release(context, sets.memory);
  return KARST_SUCCESS;
}

} // namespace

karst_status karst_amg_plan_product_cuda(karst_context *context, const karst_amg *amg, const karst_amg_matrix *A,
                                         const karst_amg_matrix *B, karst_amg_product *product)
{
  const int64_t rows = A->rows;
  task t = {{A->rows, A->columns, A->row_start, A->column}, {B->rows, B->columns, B->row_start, B->column}};
  product->C.rows = A->rows;
  product->C.columns = B->columns;
  t.width = karst_amg_lanes(B->entries, B->rows, 4, 32);
  karst_status status = karst_amg_take_cuda(context, amg, rows + 1, what, &product->C.row_start);
  if (!status) status = karst_amg_take_cuda(context, amg, rows + 1, what, &product->first);
  t.start = product->C.row_start;
  t.first = product->first;
  if (!status) status = karst_cuda_take_work(context, A->entries, what, &t.offset);
  if (!status) status = count(context, t, product);
  if (!status) status = fill(context, amg, t, product);
  karst_cuda_work_release(context, t.offset);
  return status;
}
