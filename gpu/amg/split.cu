/* split.cu - PMIS: which rows of a level make the next one (De Sterck, Yang, Heys 2006), as in cpu/amg/split.c.
 *
 * A round has two launches, in which a few lanes take each undecided row. In the first, the row compares its measure
 * with those of its strong neighbours, and marks the smaller one of each pair as beaten; in the second, rows that
 * nothing has beaten become C, and rows that depend on one of these become F. Marks and counts are integers, and lists
 * of undecided rows have any order, so that the order of the threads does not matter. The host looks at the number of
 * undecided rows once in a few rounds; rounds after the last one return at once. */
#include "gpu/amg/group.h"
#include "gpu/ilu/ilu_cuda.h"

namespace
{

enum { THREADS = 256, WARP = 32, BLOCKS = 8 /* of a multiprocessor */, ROUNDS = 4 /* between two looks: even */ };
enum : unsigned char { UNDECIDED, FINE, COARSE };

const char *const what = "the splitting of a level";

/* Device memory. */
struct task {
  karst_index rows;
  const karst_index *start, *column;
  const karst_index *number; /* of karst_amg_rule */
  unsigned char *strong;     /* [entries] */
  unsigned char *state;      /* [rows] at first whether it has a strong coupling */
  unsigned *dependents;      /* [rows] rows that depend strongly on this one */
  uint64_t *measure;         /* [rows] */
  int *beaten;               /* [rows] the last round in which it was */
  unsigned long long *left;  /* [ROUNDS + 1] undecided rows before and after each round of a batch */
  karst_index *list;         /* [2 rows] those before an even round, and before an odd one, in any order */
};

/* The undecided rows before a round. */
__device__ __forceinline__ karst_index *list_of(const task &t, int round)
{
  return t.list + round % 2 * (int64_t)t.rows;
}

/* Adds the rows of those lanes of a warp that have one to the list before a round. */
__device__ __forceinline__ void append(const task &t, int round, bool has_row, karst_index i)
{
  using warp = karst_amg_group<WARP>;
  unsigned long long begin = 0;
  karst_index all;
  const karst_index before = warp::count_before(has_row, &all);
  if (warp::lane() == 0 && all > 0) begin = atomicAdd(t.left + round, (unsigned long long)all);
  begin = __shfl_sync(warp::mask(), begin, 0);
  if (has_row) list_of(t, round)[begin + before] = i;
}

/* Rows on which no other one depends become F at once. */
__global__ void open_rows(task t)
{
  const int64_t i = blockIdx.x * (int64_t)THREADS + threadIdx.x;
  bool undecided = false;
  if (i < t.rows) {
    const unsigned dependents = t.dependents[i];
    undecided = t.state[i] && dependents > 0;
    t.state[i] = undecided ? UNDECIDED : FINE;
    t.measure[i] = karst_amg_measure(t.number ? t.number[i] : (karst_index)i, dependents,
                                     t.start[i + 1] - t.start[i] > KARST_AMG_LONG);
  }
  append(t, 0, undecided, (karst_index)i);
}

__device__ __forceinline__ bool is_above(const task &t, karst_index i, karst_index j)
{
  return t.measure[i] != t.measure[j] ? t.measure[i] > t.measure[j] : i > j;
}

template <int LANES> __global__ void __launch_bounds__(THREADS) compare(task t, int round, int number)
{
  const int64_t left = (int64_t)t.left[round], groups = gridDim.x * (int64_t)(THREADS / LANES);
  for (int64_t n = (blockIdx.x * (int64_t)THREADS + threadIdx.x) / LANES; n < left; n += groups) {
    const karst_index i = list_of(t, round)[n];
    for (karst_index e = t.start[i] + karst_amg_group<LANES>::lane(); e < t.start[i + 1]; e += LANES) {
      const karst_index j = t.column[e];
      if (t.strong[e] && t.state[j] == UNDECIDED) t.beaten[is_above(t, i, j) ? j : i] = number;
    }
  }
}

/* Rows that become F meanwhile were beaten, so that they are not taken for C before or after; nor are rows that become
 * C missed. */
__device__ __forceinline__ bool is_coarse(const task &t, karst_index j, int number)
{
  const unsigned char state = t.state[j];
  return state == COARSE || (state == UNDECIDED && t.beaten[j] != number);
}

template <int LANES> __global__ void __launch_bounds__(THREADS) decide(task t, int round, int number)
{
  using group = karst_amg_group<LANES, true>;
  const int64_t left = (int64_t)t.left[round], groups = gridDim.x * (int64_t)(THREADS / LANES);
  const int64_t mine = threadIdx.x % WARP / LANES, first = (blockIdx.x * (int64_t)THREADS + threadIdx.x) / LANES - mine;
  for (int64_t n = first; n < left; n += groups) { /* the same n in all lanes of a warp */
    const karst_index i = n + mine < left ? list_of(t, round)[n + mine] : -1;
    const bool beaten = i >= 0 && t.beaten[i] == number;
    bool depends = false;
    for (karst_index e = beaten ? t.start[i] + group::lane() : 0; beaten && e < t.start[i + 1] && !depends; e += LANES)
      depends = t.strong[e] && is_coarse(t, t.column[e], number);
    karst_index many;
    group::count_before(depends, &many);
    if (group::lane() == 0 && i >= 0 && (!beaten || many > 0)) t.state[i] = beaten ? FINE : COARSE;
    append(t, round + 1, group::lane() == 0 && beaten && many == 0, i);
  }
}

/* place[i]: 1 for C rows, and 0 behind the last row. */
__global__ void flag_coarse(task t, karst_index *place)
{
  const int64_t i = blockIdx.x * (int64_t)THREADS + threadIdx.x;
  if (i <= t.rows) place[i] = i < t.rows && t.state[i] == COARSE;
}

__global__ void keep_coarse(task t, karst_index *place)
{
  const int64_t i = blockIdx.x * (int64_t)THREADS + threadIdx.x;
  if (i < t.rows && t.state[i] != COARSE) place[i] = -1;
}

void launch_rounds(karst_context *context, const task &t, int lanes, int rounds)
{
  cudaStream_t stream = karst_cuda_of(context)->stream;
  const unsigned most = (unsigned)(BLOCKS * karst_cuda_of(context)->multiprocessors);
  cudaMemsetAsync(t.left + 1, 0, ROUNDS * sizeof *t.left, stream);
  karst_amg_with_lanes(lanes, [&](auto many) {
    const unsigned all = karst_cuda_grid((int64_t)t.rows * many.value, THREADS);
    const unsigned grid = all < most ? all : most;
    for (int round = 0; round < ROUNDS; round++) {
      compare<many.value><<<grid, THREADS, 0, stream>>>(t, round, rounds + round + 1);
      decide<many.value><<<grid, THREADS, 0, stream>>>(t, round, rounds + round + 1);
    }
  });
}

karst_status run_rounds(karst_context *context, const task &t, int lanes, int *rounds)
{
  cudaStream_t stream = karst_cuda_of(context)->stream;
  unsigned long long left[ROUNDS + 1] = {};
  *rounds = 0;
  cudaMemsetAsync(t.left, 0, sizeof *t.left, stream);
  open_rows<<<karst_cuda_grid(t.rows, THREADS), THREADS, 0, stream>>>(t);
  do {
    launch_rounds(context, t, lanes, *rounds);
    const karst_status status = karst_cuda_fetch(context, left, t.left, sizeof left);
    if (status) return status;
    cudaMemcpyAsync(t.left, t.left + ROUNDS, sizeof *t.left, cudaMemcpyDeviceToDevice, stream);
    for (int round = 0; round < ROUNDS && left[round] > 0; round++) ++*rounds;
  } while (left[ROUNDS] > 0);
  return KARST_SUCCESS;
}

/* Numbers the C rows. */
karst_status number_coarse(karst_context *context, const task &t, karst_amg_splitting *splitting)
{
  cudaStream_t stream = karst_cuda_of(context)->stream;
  const unsigned grid = karst_cuda_grid((int64_t)t.rows + 1, THREADS);
  flag_coarse<<<grid, THREADS, 0, stream>>>(t, splitting->place);
  karst_status status = karst_ilu_sum_indices_cuda(context, (int64_t)t.rows + 1, splitting->place);
  if (status) return status;
  keep_coarse<<<grid, THREADS, 0, stream>>>(t, splitting->place);
  return karst_cuda_fetch(context, &splitting->coarse, splitting->place + t.rows, sizeof splitting->coarse);
}

} // namespace

karst_status karst_amg_split_cuda(karst_context *context, const karst_amg *amg, const karst_amg_matrix *A,
                                  const karst_amg_rule *rule, karst_amg_splitting *splitting)
{
  const int64_t rows = A->rows;
  cudaStream_t stream = karst_cuda_of(context)->stream;
  task t = {A->rows, A->row_start, A->column, rule->number};
  karst_status status = karst_cuda_take_work(context, rows + 1, what, &splitting->place);
  if (!status) status = karst_cuda_take_work(context, A->entries, what, &splitting->strong);
  if (!status) status = karst_cuda_take_work(context, rows, what, &t.state);
  if (!status) status = karst_cuda_take_work(context, rows, what, &t.dependents);
  if (!status) status = karst_cuda_take_work(context, rows, what, &t.measure);
  if (!status) status = karst_cuda_take_work(context, rows, what, &t.beaten);
  if (!status) status = karst_cuda_take_work(context, ROUNDS + 1, what, &t.left);
  if (!status) status = karst_cuda_take_work(context, 2 * rows, what, &t.list);
  if (!status) {
    t.strong = splitting->strong;
    cudaMemsetAsync(t.dependents, 0, (size_t)rows * sizeof *t.dependents, stream);
    cudaMemsetAsync(t.beaten, 0, (size_t)rows * sizeof *t.beaten, stream);
    karst_amg_find_strong_cuda(context, amg, A, rule->strength, t.strong, t.state, t.dependents);
    status = run_rounds(context, t, karst_amg_lanes(A->entries, rows, 4, 32), &splitting->rounds);
  }
  if (!status) status = number_coarse(context, t, splitting);
  karst_cuda_work_release(context, t.state, t.dependents, t.measure, t.beaten, t.left, t.list);
  return status;
}
