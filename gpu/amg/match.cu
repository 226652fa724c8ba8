/* match.cu - aggregation: pairs of rows by handshakes, as in cpu/amg/match.c, and the interpolation of aggregates.
 *
 * A thread takes a row. Rows point at others in one launch and become pairs in the next, so that no launch reads what
 * it writes. All rounds are queued at once; those after one without a new pair return at once. */
#include "gpu/amg/group.h"
#include "gpu/ilu/ilu_cuda.h"
#include "lib/base/search.h"

#include <cmath>

namespace
{

enum { THREADS = 256, ROUNDS = 15 };
enum : karst_index { NOBODY = -1, ALONE = -2 /* without strong couplings */ };

const char *const what = "the pairs of a level";

/* Device memory. */
template <typename T> struct matching {
  karst_amg_view<T> A;
  unsigned char *strong;  /* [entries] */
  unsigned char *coupled; /* [rows] */
  double *weight;         /* [entries] 0 for couplings that are not strong */
  double *diagonal;       /* [rows] |a_ii| */
  karst_index *mate;      /* [rows] the other row of the pair, NOBODY or ALONE */
  karst_index *pointed;   /* [rows] at which row */
  karst_index *root;      /* [rows] a row of the same pair, the same for all rows of an aggregate; NOBODY: no place */
  karst_index *first;     /* [rows] of the roots: the first row of the aggregate */
  karst_index *place;     /* [rows + 1] */
  unsigned long long *paired; /* [ROUNDS] rows in new pairs */
};

template <typename T> __global__ void begin_rows(matching<T> m)
{
  const int64_t i = blockIdx.x * (int64_t)THREADS + threadIdx.x;
  if (i < ROUNDS) m.paired[i] = 0;
  if (i >= m.A.rows) return;
  m.mate[i] = m.coupled[i] ? NOBODY : ALONE;
  m.pointed[i] = NOBODY;
  m.first[i] = (karst_index)KARST_INDEX_MAX;
  m.diagonal[i] = 0;
  for (karst_index k = m.A.start[i]; k < m.A.start[i + 1]; k++)
    if (m.A.column[k] == i) m.diagonal[i] = fabs((double)m.A.value[k]);
}

/* Computes the weights of a row's couplings. Without diagonals they are infinite, and equal. */
template <typename T> __global__ void weigh_rows(matching<T> m)
{
  const int64_t i = blockIdx.x * (int64_t)THREADS + threadIdx.x;
  if (i >= m.A.rows) return;
  for (karst_index k = m.A.start[i]; k < m.A.start[i + 1]; k++) {
    const karst_index j = m.A.column[k];
    m.weight[k] = 0;
    if (!m.strong[k] || !m.coupled[j]) continue;
    const karst_index image = karst_find_column(m.A.column, m.A.start[j], m.A.start[j + 1], (karst_index)i);
    const double both = fabs((double)m.A.value[k]) + (image < 0 ? 0 : fabs((double)m.A.value[image]));
    const double size = fmax(m.diagonal[i], m.diagonal[j]);
    m.weight[k] = size > 0 ? both / size : HUGE_VAL;
  }
}

/* The neighbour of largest weight among those that are free, or among those in a pair. */
template <typename T> __device__ __forceinline__ karst_index heaviest(const matching<T> &m, karst_index i, bool in_pair)
{
  karst_index best = NOBODY;
  double weight = 0;
  for (karst_index k = m.A.start[i]; k < m.A.start[i + 1]; k++) {
    const karst_index j = m.A.column[k];
    if (m.weight[k] == 0 || m.weight[k] < weight || (m.mate[j] >= 0) != in_pair) continue;
    if (m.weight[k] == weight && karst_amg_tie(i, j) <= karst_amg_tie(i, best)) continue;
    best = j;
    weight = m.weight[k];
  }
  return best;
}

template <typename T> __global__ void point(matching<T> m, int round)
{
  const int64_t i = blockIdx.x * (int64_t)THREADS + threadIdx.x;
  if (i >= m.A.rows || (round > 0 && m.paired[round - 1] == 0) || m.mate[i] != NOBODY) return;
  const karst_index last = m.pointed[i];
  if (round == 0 || (last >= 0 && m.mate[last] >= 0)) m.pointed[i] = heaviest(m, (karst_index)i, false);
}

template <typename T> __global__ void shake_hands(matching<T> m, int round)
{
  const int64_t i = blockIdx.x * (int64_t)THREADS + threadIdx.x;
  bool paired = false;
  if (round > 0 && m.paired[round - 1] == 0) return;
  if (i < m.A.rows && m.mate[i] == NOBODY) {
    const karst_index j = m.pointed[i];
    paired = j >= 0 && m.pointed[j] == i;
    if (paired) m.mate[i] = j;
  }
  const int many = __syncthreads_count(paired);
  if (threadIdx.x == 0 && many > 0) atomicAdd(m.paired + round, (unsigned long long)many);
}

__device__ __forceinline__ void keep_first(karst_index *first, karst_index i)
{
#if KARST_INDEX_BITS == 64
  atomicMin(reinterpret_cast<long long *>(first), (long long)i);
#else
  atomicMin(first, i);
#endif
}

template <typename T> __global__ void find_roots(matching<T> m)
{
  const int64_t i = blockIdx.x * (int64_t)THREADS + threadIdx.x;
  if (i >= m.A.rows) return;
  const karst_index row = (karst_index)i, j = m.mate[i] == NOBODY ? heaviest(m, row, true) : row;
  karst_index root = j < 0 ? row : m.mate[j] >= 0 && m.mate[j] < j ? m.mate[j] : j;
  if (m.mate[i] == ALONE) root = NOBODY;
  m.root[i] = root;
  if (root >= 0) keep_first(m.first + root, row);
}

/* place[i]: 1 for the first row of an aggregate; 0 behind the last row. */
template <typename T> __global__ void flag_first(matching<T> m)
{
  const int64_t i = blockIdx.x * (int64_t)THREADS + threadIdx.x;
  if (i <= m.A.rows) m.place[i] = i < m.A.rows && m.root[i] >= 0 && m.first[m.root[i]] == i;
}

/* sum: place after the scan. */
template <typename T> __global__ void number(matching<T> m, const karst_index *__restrict__ sum)
{
  const int64_t i = blockIdx.x * (int64_t)THREADS + threadIdx.x;
  if (i < m.A.rows) m.pointed[i] = m.root[i] < 0 ? -1 : sum[m.first[m.root[i]]];
}

/* Runs the rounds, and numbers the aggregates. */
template <typename T> karst_status run(karst_context *context, const matching<T> &m, karst_amg_splitting *splitting)
{
  cudaStream_t stream = karst_cuda_of(context)->stream;
  const int64_t rows = m.A.rows;
  const unsigned grid = karst_cuda_grid(rows + 1, THREADS);
  unsigned long long paired[ROUNDS];
  begin_rows<<<grid, THREADS, 0, stream>>>(m);
  weigh_rows<<<grid, THREADS, 0, stream>>>(m);
  for (int round = 0; round < ROUNDS; round++) {
    point<<<grid, THREADS, 0, stream>>>(m, round);
    shake_hands<<<grid, THREADS, 0, stream>>>(m, round);
  }
  find_roots<<<grid, THREADS, 0, stream>>>(m);
  flag_first<<<grid, THREADS, 0, stream>>>(m);
  karst_status status = karst_ilu_sum_indices_cuda(context, rows + 1, m.place);
  if (status) return status;
  number<<<grid, THREADS, 0, stream>>>(m, m.place);
  status = context->backend->download(context, &splitting->coarse, m.place + rows, sizeof splitting->coarse);
  if (!status) status = context->backend->download(context, paired, m.paired, sizeof paired);
  if (status) return status;
  cudaMemcpyAsync(m.place, m.pointed, (size_t)rows * sizeof *m.place, cudaMemcpyDeviceToDevice, stream);
  splitting->rounds = 1;
  while (splitting->rounds < ROUNDS && paired[splitting->rounds - 1] > 0) splitting->rounds++;
  return KARST_SUCCESS;
}

template <typename T>
karst_status match(karst_context *context, const karst_amg *amg, const karst_amg_matrix *A, double strength,
                   karst_amg_splitting *splitting)
{
  const int64_t rows = A->rows;
  matching<T> m = {karst_amg_view_of<T>(A)};
  karst_status status = karst_cuda_take_work(context, rows + 1, what, &splitting->place);
  m.place = splitting->place;
  if (!status) status = karst_cuda_take_work(context, A->entries, what, &m.strong);
  if (!status) status = karst_cuda_take_work(context, rows, what, &m.coupled);
  if (!status) status = karst_cuda_take_work(context, A->entries, what, &m.weight);
  if (!status) status = karst_cuda_take_work(context, rows, what, &m.diagonal);
  if (!status) status = karst_cuda_take_work(context, 4 * rows, what, &m.mate);
  if (!status) status = karst_cuda_take_work(context, ROUNDS, what, &m.paired);
  if (!status) {
    m.pointed = m.mate + rows;
    m.root = m.pointed + rows;
    m.first = m.root + rows;
    karst_amg_find_strong_cuda(context, amg, A, strength, m.strong, m.coupled, NULL);
    status = run(context, m, splitting);
  }
  karst_cuda_work_release(context, m.strong, m.coupled, m.weight, m.diagonal, m.mate, m.paired);
  return status;
}

__global__ void compose(karst_index rows, karst_index *place, const karst_index *next)
{
  const int64_t i = blockIdx.x * (int64_t)THREADS + threadIdx.x;
  if (i < rows && place[i] >= 0) place[i] = next[place[i]];
}

__global__ void flag_placed(karst_index rows, const karst_index *__restrict__ place, karst_index *start)
{
  const int64_t i = blockIdx.x * (int64_t)THREADS + threadIdx.x;
  if (i <= rows) start[i] = i < rows && place[i] >= 0;
}

template <typename T>
__global__ void fill(karst_index rows, const karst_index *__restrict__ place, const karst_index *__restrict__ start,
                     karst_index *column, T *value)
{
  const int64_t i = blockIdx.x * (int64_t)THREADS + threadIdx.x;
  if (i >= rows || place[i] < 0) return;
  column[start[i]] = place[i];
  value[start[i]] = 1;
}

} // namespace

karst_status karst_amg_match_cuda(karst_context *context, const karst_amg *amg, const karst_amg_matrix *A,
                                  const karst_amg_rule *rule, karst_amg_splitting *splitting)
{
  return amg->single ? match<float>(context, amg, A, rule->strength, splitting)
                     : match<double>(context, amg, A, rule->strength, splitting);
}

void karst_amg_compose_cuda(karst_context *context, karst_index rows, karst_amg_splitting *splitting,
                            const karst_amg_splitting *next)
{
  compose<<<karst_cuda_grid(rows, THREADS), THREADS, 0, karst_cuda_of(context)->stream>>>(rows, splitting->place,
                                                                                          next->place);
  splitting->coarse = next->coarse;
}

karst_status karst_amg_aggregate_cuda(karst_context *context, const karst_amg *amg, karst_index rows,
                                      const karst_amg_splitting *splitting, karst_amg_matrix *P)
{
  cudaStream_t stream = karst_cuda_of(context)->stream;
  const unsigned grid = karst_cuda_grid((int64_t)rows + 1, THREADS);
  karst_index entries;
  karst_status status = karst_amg_take_cuda(context, amg, (int64_t)rows + 1, what, &P->row_start);
  if (status) return status;
  flag_placed<<<grid, THREADS, 0, stream>>>(rows, splitting->place, P->row_start);
  status = karst_ilu_sum_indices_cuda(context, (int64_t)rows + 1, P->row_start);
  if (!status) status = context->backend->download(context, &entries, P->row_start + rows, sizeof entries);
  if (status) return status;
  P->rows = rows;
  P->columns = splitting->coarse;
  P->entries = entries;
  P->longest = entries > 0;
  status = karst_amg_take_entries_cuda(context, amg, what, P);
  if (status) return status;
  karst_amg_typed(amg, [&](auto zero) {
    fill<<<grid, THREADS, 0, stream>>>(rows, splitting->place, P->row_start, P->column,
                                       static_cast<decltype(zero) *>(P->value));
  });
  return KARST_SUCCESS;
}
