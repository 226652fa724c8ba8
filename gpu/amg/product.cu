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

struct tally {
  unsigned long long bin[KARST_AMG_BINS]; /* rows in each */
  unsigned long long bound;               /* of the columns of the rows in the last bin */
  unsigned long long entries, longest;    /* of C */
  unsigned long long products;
};

/* Device memory. */
struct task {
  karst_amg_view<void> A, B;
  karst_index *offset; /* [entries of A] products of the row before this entry's: at most the entries of B */
  int64_t *first;      /* [rows + 1] */
  karst_index *start;  /* [rows + 1] of C */
  karst_index *column; /* [entries of C] */
  int width;           /* lanes that share a row of B: a power of two */
  tally *found;
};

__device__ __forceinline__ int64_t bound_of(const task &t, int64_t products)
{
  return min(products, (int64_t)t.B.columns);
}

/* first[i]: the products of row i, and 0 behind the last one. */
__global__ void measure(task t)
{
  using group = karst_amg_group<MEASURE>;
  const int64_t i = (blockIdx.x * (int64_t)THREADS + threadIdx.x) / MEASURE;
  __shared__ unsigned rows[KARST_AMG_BINS];
  __shared__ unsigned long long products;
  if (threadIdx.x < KARST_AMG_BINS) rows[threadIdx.x] = 0;
  if (threadIdx.x == 0) products = 0;
  __syncthreads();
  if (i == t.A.rows && group::lane() == 0) t.first[i] = 0;
  if (i < t.A.rows) {
    const karst_index end = t.A.start[i + 1];
    karst_index before = 0, all;
    for (karst_index base = t.A.start[i]; base < end; base += MEASURE) {
      const karst_index e = base + group::lane(), k = e < end ? t.A.column[e] : 0;
      const karst_index mine = group::sum_before(e < end ? t.B.start[k + 1] - t.B.start[k] : 0, &all);
      if (e < end) t.offset[e] = before + mine;
      before += all;
    }
    const int64_t bound = bound_of(t, before);
    const int bin = karst_amg_bin_of(bound);
    if (group::lane() == 0) {
      t.first[i] = before;
      atomicAdd(&products, (unsigned long long)before);
      if (bound > 0) atomicAdd(rows + bin, 1u);
      if (bin == KARST_AMG_BINS - 1) atomicMax(&t.found->bound, (unsigned long long)bound);
    }
  }
  __syncthreads();
  if (threadIdx.x < KARST_AMG_BINS && rows[threadIdx.x] > 0)
    atomicAdd(t.found->bin + threadIdx.x, (unsigned long long)rows[threadIdx.x]);
  if (threadIdx.x == 0 && products > 0) atomicAdd(&t.found->products, products);
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

/* start[i]: the columns of row i of C; rows without products keep 0. */
template <int BIN>
__global__ void __launch_bounds__(karst_amg_bin<BIN>::THREADS)
    count_columns(task t, karst_index *memory, karst_index room)
{
  enum { LANES = karst_amg_bin<BIN>::LANES };
  using group = karst_amg_group<LANES>;
  unsigned long long entries = 0, longest = 0;
  karst_amg_each_row<BIN>(
      t.A.rows, memory, room, [&](karst_index i) { return bound_of(t, t.first[i + 1] - t.first[i]); },
      [&](karst_index i, const karst_amg_set &set) {
        karst_index count = 0;
        karst_amg_clear<LANES>(set);
        each_product<LANES>(t, i, [&](karst_index column, int64_t) { count += karst_amg_insert(set, column); });
        count = group::sum(count);
        group::sync();
        if (group::lane() > 0) return;
        t.start[i] = count;
        entries += (unsigned long long)count;
        longest = max(longest, (unsigned long long)count);
      });
  if (entries == 0) return;
  atomicAdd(&t.found->entries, entries);
  atomicMax(&t.found->longest, longest);
}

template <int BIN, typename S>
__global__ void __launch_bounds__(karst_amg_bin<BIN>::THREADS)
    fill_rows(task t, karst_index *memory, karst_index room, S *__restrict__ slot)
{
  enum { LANES = karst_amg_bin<BIN>::LANES };
  using group = karst_amg_group<LANES>;
  karst_amg_each_row<BIN>(
      t.A.rows, memory, room, [&](karst_index i) { return bound_of(t, t.first[i + 1] - t.first[i]); },
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

/* Calls f with each bin that has rows. */
template <typename F> void each_bin(const karst_amg_sets &sets, F f)
{
  if (sets.blocks[0] > 0) f(std::integral_constant<int, 0>());
  if (sets.blocks[1] > 0) f(std::integral_constant<int, 1>());
  if (sets.blocks[2] > 0) f(std::integral_constant<int, 2>());
  if (sets.blocks[3] > 0) f(std::integral_constant<int, 3>());
}

template <typename S> void launch_fill(karst_context *context, const task &t, const karst_amg_sets &sets, void *slot)
{
  each_bin(sets, [&](auto bin) {
    fill_rows<bin.value>
        <<<sets.blocks[bin.value], karst_amg_bin<bin.value>::THREADS, 0, karst_cuda_of(context)->stream>>>(
            t, sets.memory, sets.room, static_cast<S *>(slot));
  });
}

/* Takes the memory of C whose entries are counted, and fills it. */
karst_status fill(karst_context *context, const karst_amg *amg, task &t, const tally &found, const karst_amg_sets &sets,
                  karst_amg_product *product)
{
  enum { BYTE = 256, WORD = 65536 };
  karst_amg_matrix *C = &product->C;
  void *slot = NULL;
  product->products = (int64_t)found.products;
  C->entries = (int64_t)found.entries;
  C->longest = (karst_index)found.longest;
  product->slot_size = C->longest <= BYTE ? 1 : C->longest <= WORD ? 2 : 4;
  karst_status status = karst_amg_take_entries_cuda(context, amg, what, C);
  if (!status) status = karst_ilu_sum_indices_cuda(context, (int64_t)C->rows + 1, C->row_start);
  if (!status)
    status = karst_amg_take_bytes_cuda(context, amg, product->products * product->slot_size + 1, what, &slot);
  if (status) return status;
  product->slot = slot;
  t.column = C->column;
  if (product->slot_size == 1)
    launch_fill<uint8_t>(context, t, sets, slot);
  else if (product->slot_size == 2)
    launch_fill<uint16_t>(context, t, sets, slot);
  else
    launch_fill<uint32_t>(context, t, sets, slot);
  return KARST_SUCCESS;
}

/* found, offset: work space. */
karst_status plan(karst_context *context, const karst_amg *amg, task &t, karst_amg_product *product)
{
  cudaStream_t stream = karst_cuda_of(context)->stream;
  const int64_t rows = t.A.rows;
  karst_amg_sets sets = {};
  tally found;
  cudaMemsetAsync(t.found, 0, sizeof *t.found, stream);
  cudaMemsetAsync(t.start, 0, (size_t)(rows + 1) * sizeof *t.start, stream);
  measure<<<karst_cuda_grid((rows + 1) * MEASURE, THREADS), THREADS, 0, stream>>>(t);
  karst_status status = karst_ilu_sum_offsets_cuda(context, rows + 1, t.first);
  if (!status) status = context->backend->download(context, &found, t.found, sizeof found);
  if (!status) status = karst_amg_take_sets_cuda(context, t.A.rows, found.bin, found.bound, &sets);
  if (!status) {
    each_bin(sets, [&](auto bin) {
      count_columns<bin.value>
          <<<sets.blocks[bin.value], karst_amg_bin<bin.value>::THREADS, 0, stream>>>(t, sets.memory, sets.room);
    });
    status = context->backend->download(context, &found, t.found, sizeof found);
  }
  if (!status) status = fill(context, amg, t, found, sets, product);
  karst_cuda_work_release(context, sets.memory);
  return status;
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
  if (!status) status = karst_cuda_take_work(context, 1, what, &t.found);
  if (!status) status = plan(context, amg, t, product);
  karst_cuda_work_release(context, t.offset, t.found);
  return status;
}
