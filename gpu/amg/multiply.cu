/* multiply.cu - the values of C = A B on a pattern whose slots are known.
 *
 * A thread block takes as many rows as it has groups of lanes. Their values of C follow one another, and are summed in
 * shared memory if that has room for them, else where they belong. A group adds the products of its row k by k, with a
 * lane for each element of row k of B, so that each c_ij is a sum in the order of k. */
#include "gpu/amg/group.h"

namespace
{

enum { THREADS = 256, BUFFER = 16384 /* bytes */, AHEAD = 4 /* rows of B whose products are loaded together */ };

/* The row of B that an entry of A multiplies. */
template <typename T> struct factor {
  T a;
  karst_index begin, count;
};

template <int LANES, typename T> __device__ __forceinline__ factor<T> pass(const factor<T> &mine, int from)
{
  using group = karst_amg_group<LANES, true>;
  return {group::pass(mine.a, from), group::pass(mine.begin, from), group::pass(mine.count, from)};
}

/* Adds the products of row i; -1: no row. The first ones with AHEAD rows of B are loaded before any is added, so that
 * they do not wait for one another. */
template <int LANES, typename T, typename S>
__device__ __forceinline__ void add_row(const karst_amg_view<T> &A, const karst_amg_view<T> &B, karst_index i,
                                        const S *__restrict__ slot, T *sums)
{
  using group = karst_amg_group<LANES, true>;
  const int lane = group::lane();
  const karst_index end = i < 0 ? 0 : A.start[i + 1];
  for (karst_index base = i < 0 ? 0 : A.start[i]; group::any(base < end); base += LANES) {
    factor<T> mine = {0, 0, 0};
    if (base + lane < end) {
      const karst_index k = A.column[base + lane];
      mine = {A.value[base + lane], B.start[k], B.start[k + 1] - B.start[k]};
    }
    const int many = end - base < LANES ? (int)(end - base) : LANES;
    for (int from = 0; group::any(from < many); from += AHEAD) {
      factor<T> now[AHEAD];
      T value[AHEAD];
      int place[AHEAD];
      const S *at = slot;
#pragma unroll
      for (int u = 0; u < AHEAD; u++) {
        now[u] = pass<LANES>(mine, from + u);
        value[u] = lane < now[u].count ? B.value[now[u].begin + lane] : 0;
        place[u] = lane < now[u].count ? (int)at[lane] : -1;
        at += now[u].count;
      }
#pragma unroll
      for (int u = 0; u < AHEAD; u++) {
        if (place[u] >= 0) sums[place[u]] += now[u].a * value[u];
#pragma unroll 1
        for (karst_index f = lane + LANES; f < now[u].count; f += LANES)
          sums[slot[f]] += now[u].a * B.value[now[u].begin + f];
        slot += now[u].count;
        group::sync();
      }
    }
  }
}

template <int LANES, typename T, typename S>
__global__ void __launch_bounds__(THREADS, sizeof(T) == sizeof(float) ? 5 : 4)
    multiply(karst_amg_view<T> A, karst_amg_view<T> B, const karst_index *__restrict__ start,
             const int64_t *__restrict__ first, const S *__restrict__ slot, T *value)
{
  enum { ROWS = THREADS / LANES, ROOM = BUFFER / sizeof(T) };
  __shared__ T buffer[ROOM];
  const int64_t begin = (int64_t)blockIdx.x * ROWS, end = min(begin + ROWS, (int64_t)A.rows);
  const int64_t here = begin + threadIdx.x / LANES;
  const karst_index i = here < end ? (karst_index)here : -1;
  const S *const own = slot + (i < 0 ? 0 : first[i]);
  const karst_index from = start[begin], all = start[end] - from;
  T *const sums = all <= ROOM ? buffer : value + from;
  for (karst_index k = threadIdx.x; k < all; k += THREADS) sums[k] = 0;
  __syncthreads();
  const karst_index to = i < 0 ? from : start[i];
  if (sums == buffer) add_row<LANES>(A, B, i, own, buffer + (to - from));
  if (sums != buffer) add_row<LANES>(A, B, i, own, value + to);
  if (sums != buffer) return;
  __syncthreads();
  for (karst_index k = threadIdx.x; k < all; k += THREADS) value[from + k] = buffer[k];
}

template <typename T, typename S>
void launch(karst_context *context, const karst_amg_matrix *A, const karst_amg_matrix *B,
            const karst_amg_product *product)
{
  const karst_amg_matrix *C = &product->C;
  karst_amg_with_lanes(karst_amg_lanes(B->entries, B->rows, 4, 32), [&](auto lanes) {
    multiply<lanes.value>
        <<<karst_cuda_grid((int64_t)A->rows * lanes.value, THREADS), THREADS, 0, karst_cuda_of(context)->stream>>>(
            karst_amg_view_of<T>(A), karst_amg_view_of<T>(B), C->row_start, product->first,
            static_cast<const S *>(product->slot), static_cast<T *>(C->value));
  });
}

} // namespace

void karst_amg_multiply_cuda(karst_context *context, const karst_amg *amg, const karst_amg_matrix *A,
                             const karst_amg_matrix *B, const karst_amg_product *product)
{
  if (A->rows == 0) return;
  karst_amg_typed(amg, [&](auto zero) {
    using T = decltype(zero);
    if (product->slot_size == 1)
      launch<T, uint8_t>(context, A, B, product);
    else if (product->slot_size == 2)
      launch<T, uint16_t>(context, A, B, product);
    else
      launch<T, uint32_t>(context, A, B, product);
  });
}
