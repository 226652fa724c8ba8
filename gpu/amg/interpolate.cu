/* interpolate.cu - extended+i interpolation (De Sterck, Falgout, Nolting, Yang 2008, equation 4.10). For an F row i
 * with the set C_i of the C rows on which i or one of its strong F neighbours depends strongly,
 *
 *     w_ij = -1/d_i (a_ij + sum_k a_ik abar_kj / b_ik),    b_ik = sum_l abar_kl over the l in C_i and l = i
 *     d_i  = a_ii + sum_n a_in + sum_k a_ik abar_ki / b_ik
 *
 * as in cpu/amg/interpolate.c, which explains the terms. A group of threads takes a row: it collects C_i in a hash
 * table, sorts it, and adds the terms to w k by k, with a lane for each l. Sums have the order of the CPU and no fused
 * products, so that equal weights, of which some are left out, are equal there and here. */
#include "gpu/amg/group.h"
#include "gpu/ilu/ilu_cuda.h"

namespace
{

enum { THREADS = 256 };

/* What a row is to others; NEGATIVE is added if its diagonal entry is below 0. */
enum : unsigned char { ISOLATED, LONG, FINE, COARSE, KIND = 3, NEGATIVE = 4 };

const char *const what = "an interpolation";

/* Device memory. */
template <typename T> struct task {
  karst_amg_view<T> A;
  const unsigned char *strong; /* [entries] */
  const karst_index *place;    /* [rows] */
  karst_index coarse;
  int64_t most;            /* entries of a row of P */
  T limit;                 /* of the levels' precision */
  unsigned char *kind;     /* [rows] */
  karst_index *near;       /* [rows] strong C neighbours */
  karst_index *bound;      /* [rows] of the columns of an F row; 0 for others */
  karst_index *count;      /* [rows + 1] of entries of P */
  karst_index *out_column; /* [rows * most] those of F rows */
  T *out_value;            /* [rows * most] */
};

template <int LANES, typename T> __global__ void classify(task<T> t)
{
  using group = karst_amg_group<LANES>;
  const int64_t i = (blockIdx.x * (int64_t)THREADS + threadIdx.x) / LANES;
  if (i >= t.A.rows) return;
  const karst_index begin = t.A.start[i], end = t.A.start[i + 1];
  karst_index near = 0;
  int strong = 0, negative = 0;
  for (karst_index e = begin + group::lane(); e < end; e += LANES) {
    const karst_index j = t.A.column[e];
    if (j == i) negative = t.A.value[e] < 0;
    strong |= t.strong[e];
    near += t.strong[e] && t.place[j] >= 0;
  }
  near = group::sum(near);
  strong = group::sum(strong);
  negative = group::sum(negative);
  if (group::lane() > 0) return;
  const int kind = t.place[i] >= 0 ? COARSE : !strong ? ISOLATED : end - begin > KARST_AMG_LONG ? LONG : FINE;
  t.near[i] = near;
  t.kind[i] = (unsigned char)(negative ? kind + NEGATIVE : kind);
}

template <typename T> __device__ __forceinline__ int kind_of(const task<T> &t, int64_t i) { return t.kind[i] & KIND; }

/* Bounds C_i, and sets count for rows that are not F. */
template <int LANES, typename T> __global__ void find_bound(task<T> t)
{
  using group = karst_amg_group<LANES>;
  const int64_t i = (blockIdx.x * (int64_t)THREADS + threadIdx.x) / LANES;
  if (i >= t.A.rows) return;
  const bool coarse = kind_of(t, i) == COARSE;
  int64_t bound = 0;
  for (karst_index e = t.A.start[i] + group::lane(); e < t.A.start[i + 1] && !coarse; e += LANES) {
    const karst_index k = t.A.column[e];
    const int kind = kind_of(t, k);
    if (t.strong[e]) bound += kind == COARSE ? 1 : kind == FINE ? t.near[k] : 0;
  }
  bound = min(group::sum(bound), (int64_t)t.coarse);
  if (group::lane() > 0) return;
  t.bound[i] = (karst_index)bound;
  t.count[i] = coarse;
}

template <int LANES, typename T>
__device__ __forceinline__ void collect_columns(const task<T> &t, karst_index i, const karst_amg_set &set)
{
  using group = karst_amg_group<LANES>;
  karst_amg_clear<LANES>(set);
  for (karst_index e = t.A.start[i] + group::lane(); e < t.A.start[i + 1]; e += LANES) {
    const karst_index k = t.A.column[e];
    if (!t.strong[e]) continue;
    if (t.place[k] >= 0) karst_amg_insert(set, t.place[k]);
    if (kind_of(t, k) != FINE) continue;
    for (karst_index f = t.A.start[k]; f < t.A.start[k + 1]; f++)
      if (t.strong[f] && t.place[t.A.column[f]] >= 0) karst_amg_insert(set, t.place[t.A.column[f]]);
  }
}

/* The number of abar_kl in C_i, its count if l = i, or -1 if it is not there or abar_kl = 0. */
template <typename T>
__device__ __forceinline__ karst_index number_of(const task<T> &t, karst_index i, bool negative, karst_index f,
                                                 const karst_index *list, karst_index count)
{
  const karst_index l = t.A.column[f];
  if (negative ? !(t.A.value[f] > 0) : !(t.A.value[f] < 0)) return -1;
  if (l == i) return count;
  return t.place[l] < 0 ? -1 : karst_amg_find(list, count, t.place[l]);
}

/* sum + a b, rounded twice. */
__device__ __forceinline__ double add_product(double sum, double a, double b)
{
  return __dadd_rn(sum, __dmul_rn(a, b));
}

/* Distributes a_ik = a over C_i and d by row k, a lane for each entry. Returns the new d. */
template <int LANES, typename T>
__device__ __forceinline__ double distribute(const task<T> &t, karst_index i, karst_index k, double a, double d,
                                             const karst_index *list, karst_index count, double *w)
{
  using group = karst_amg_group<LANES>;
  const bool negative = t.kind[k] & NEGATIVE;
  const karst_index begin = t.A.start[k], end = t.A.start[k + 1];
  double sum = 0, own = 0;
  for (karst_index base = begin; base < end; base += LANES) {
    const karst_index f = base + group::lane();
    const karst_index number = f < end ? number_of(t, i, negative, f, list, count) : -1;
    const double value = number >= 0 ? t.A.value[f] : 0;
    if (number == count) own = value;
    sum = group::add_in_order(sum, value, (int)min((karst_index)LANES, end - base));
  }
  if (sum == 0) return d + a;
  const double part = a / sum;
  for (karst_index f = begin + group::lane(); f < end; f += LANES) {
    const karst_index number = number_of(t, i, negative, f, list, count);
    if (number >= 0 && number < count) w[number] = add_product(w[number], part, t.A.value[f]);
  }
  own = group::sum(own);
  group::sync();
  return own == 0 ? d : add_product(d, part, own);
}

/* Sets w but for the division, and returns d_i. */
template <int LANES, typename T>
__device__ __forceinline__ double sum_weights(const task<T> &t, karst_index i, const karst_index *list,
                                              karst_index count, double *w)
{
  using group = karst_amg_group<LANES>;
  double d = 0;
  for (karst_index k = group::lane(); k < count; k += LANES) w[k] = 0;
  group::sync();
  for (karst_index e = t.A.start[i]; e < t.A.start[i + 1]; e++) {
    const karst_index j = t.A.column[e];
    const karst_index at = t.place[j] >= 0 ? karst_amg_find(list, count, t.place[j]) : -1;
    const int kind = kind_of(t, j);
    const double a = t.A.value[e];
    if (at >= 0) {
      if (group::lane() == 0) w[at] += a;
      group::sync();
    } else if (j != i && t.strong[e] && kind == FINE)
      d = distribute<LANES>(t, i, j, a, d, list, count, w);
    else if (j == i || kind != ISOLATED)
      d += a;
  }
  return d;
}

/* Divides by d_i, and returns how many weights the levels' precision holds. The others become NaN. */
template <int LANES, typename T>
__device__ __forceinline__ karst_index divide(const task<T> &t, double d, karst_index count, double *w)
{
  using group = karst_amg_group<LANES>;
  karst_index held = 0;
  for (karst_index k = group::lane(); k < count; k += LANES) {
    w[k] = d == 0 ? nan("") : w[k] / -d;
    const bool holds = fabs(w[k]) <= t.limit;
    held += holds;
    if (!holds) w[k] = nan("");
  }
  return group::sum(held);
}

/* The larger absolute value wins, then the smaller column. */
__device__ __forceinline__ bool is_before(double w, karst_index at, double other, karst_index other_at)
{
  return w > other || (w == other && at < other_at);
}

/* The place of the largest |w| that is not marked, in all threads. A marked column is -1 - column. */
template <int LANES>
__device__ __forceinline__ karst_index find_largest(const karst_index *list, karst_index count, const double *w)
{
  using group = karst_amg_group<LANES>;
  double best = -1;
  karst_index at = (karst_index)KARST_INDEX_MAX;
  for (karst_index k = group::lane(); k < count; k += LANES)
    if (list[k] >= 0 && is_before(fabs(w[k]), k, best, at)) {
      best = fabs(w[k]);
      at = k;
    }
  const double largest = group::largest(best);
  return -group::largest(best == largest ? -at : -(karst_index)KARST_INDEX_MAX);
}

/* Marks the most entries of largest |w|. Returns what scales them so that their sum is that of all. */
template <int LANES>
__device__ __forceinline__ double truncate_row(karst_index most, karst_index *list, karst_index count, const double *w,
                                               double limit)
{
  using group = karst_amg_group<LANES>;
  double all = 0, kept = 0;
  for (karst_index k = group::lane(); k < count; k += LANES) all += fabs(w[k]) <= limit ? w[k] : 0;
  all = group::sum(all);
  for (karst_index turn = 0; turn < most; turn++) {
    const karst_index at = find_largest<LANES>(list, count, w);
    kept += w[at];
    group::sync();
    if (group::lane() == 0) list[at] = -1 - list[at];
    group::sync();
  }
  return kept == 0 || !(fabs(all / kept) <= limit) ? 1 : all / kept;
}

/* Writes a row of P; w has held numbers. */
template <int LANES, typename T>
__device__ __forceinline__ void write_row(const task<T> &t, karst_index i, karst_index *list, karst_index count,
                                          karst_index held, const double *w)
{
  using group = karst_amg_group<LANES>;
  const karst_index most = (karst_index)min((int64_t)held, t.most);
  double scale = 1;
  group::sync();
  if (held > most)
    scale = truncate_row<LANES>(most, list, count, w, t.limit);
  else
    for (karst_index k = group::lane(); k < count; k += LANES)
      if (fabs(w[k]) <= t.limit) list[k] = -1 - list[k];
  group::sync();
  for (karst_index k = group::lane(); k < count; k += LANES) {
    int64_t at = i * t.most;
    if (list[k] >= 0) continue;
    for (karst_index q = 0; q < k; q++) at += list[q] < 0;
    t.out_column[at] = -1 - list[k];
    t.out_value[at] = (T)(scale * w[k]);
  }
  if (group::lane() == 0) t.count[i] = most;
  group::sync();
}

template <int BIN, typename T>
__global__ void __launch_bounds__(karst_amg_bin<BIN>::THREADS)
    interpolate(task<T> t, karst_index *memory, karst_index room)
{
  enum { LANES = karst_amg_bin<BIN>::LANES };
  karst_amg_each_row<BIN>(
      t.A.rows, memory, room, [&](karst_index i) { return (int64_t)t.bound[i]; },
      [&](karst_index i, const karst_amg_set &set) {
        double *w = reinterpret_cast<double *>(set.table);
        collect_columns<LANES>(t, i, set);
        const karst_index count = karst_amg_collect<LANES>(set);
        const double d = sum_weights<LANES>(t, i, set.list, count, w);
        const karst_index held = divide<LANES>(t, d, count, w);
        write_row<LANES>(t, i, set.list, count, held, w);
      });
}

template <typename T> __global__ void pack(task<T> t, karst_index *column, T *value)
{
  const int64_t i = blockIdx.x * (int64_t)THREADS + threadIdx.x;
  if (i >= t.A.rows) return;
  const karst_index place = t.place[i];
  for (karst_index e = t.count[i]; e < t.count[i + 1]; e++) {
    const int64_t from = i * t.most + e - t.count[i];
    column[e] = place >= 0 ? place : t.out_column[from];
    value[e] = place >= 0 ? 1 : t.out_value[from];
  }
}

/* Takes the memory of the rows, and fills it. */
template <typename T> karst_status fill(karst_context *context, task<T> &t)
{
  karst_amg_sets sets = {};
  karst_amg_tally tally;
  karst_status status = karst_amg_add_up_cuda(context, t.A.rows, t.bound, t.coarse, &tally);
  if (status) return status;
  if (t.most > (int64_t)tally.longest) t.most = (int64_t)tally.longest;
  status = karst_cuda_take_work(context, t.A.rows * t.most, what, &t.out_column);
  if (!status) status = karst_cuda_take_work(context, t.A.rows * t.most, what, &t.out_value);
  if (!status) status = karst_amg_take_sets_cuda(context, t.A.rows, &tally, &sets);
  if (status) return status;
  karst_amg_each_bin(&sets, [&](auto bin) {
    interpolate<bin.value>
        <<<sets.blocks[bin.value], karst_amg_bin<bin.value>::THREADS, 0, karst_cuda_of(context)->stream>>>(
            t, sets.memory, sets.room);
  });
  karst_cuda_work_release(context, sets.memory);
  return KARST_SUCCESS;
}

/* Sets row_start from the sizes of the rows, and packs them. */
template <typename T>
karst_status finish(karst_context *context, const karst_amg *amg, const task<T> &t, karst_amg_matrix *P)
{
  const int64_t rows = t.A.rows;
  karst_amg_tally tally;
  karst_status status = karst_amg_add_up_cuda(context, t.A.rows, t.count, t.coarse, &tally);
  if (status) return status;
  P->rows = t.A.rows;
  P->columns = t.coarse;
  P->entries = (int64_t)tally.sum;
  P->longest = (karst_index)tally.longest;
  status = karst_amg_take_entries_cuda(context, amg, what, P);
  if (!status) status = karst_ilu_sum_indices_cuda(context, rows + 1, t.count);
  if (!status)
    pack<<<karst_cuda_grid(rows, THREADS), THREADS, 0, karst_cuda_of(context)->stream>>>(t, P->column,
                                                                                         static_cast<T *>(P->value));
  return status;
}

template <typename T>
karst_status make(karst_context *context, const karst_amg *amg, const karst_amg_matrix *A, const karst_amg_rule *rule,
                  const karst_amg_splitting *splitting, karst_amg_matrix *P)
{
  const int64_t rows = A->rows;
  task<T> t = {karst_amg_view_of<T>(A), splitting->strong,  splitting->place,
               splitting->coarse,       rule->most_entries, karst_amg_limit<T>()};
  karst_status status = karst_amg_take_cuda(context, amg, rows + 1, what, &P->row_start);
  t.count = P->row_start;
  if (!status) status = karst_cuda_take_work(context, rows, what, &t.kind);
  if (!status) status = karst_cuda_take_work(context, rows, what, &t.near);
  if (!status) status = karst_cuda_take_work(context, rows, what, &t.bound);
  if (!status) {
    cudaStream_t stream = karst_cuda_of(context)->stream;
    cudaMemsetAsync(t.count, 0, (size_t)(rows + 1) * sizeof *t.count, stream);
    karst_amg_with_lanes(karst_amg_lanes(A->entries, A->rows, 4, 32), [&](auto lanes) {
      const unsigned grid = karst_cuda_grid(rows * lanes.value, THREADS);
      classify<lanes.value><<<grid, THREADS, 0, stream>>>(t);
      find_bound<lanes.value><<<grid, THREADS, 0, stream>>>(t);
    });
    status = fill(context, t);
  }
  if (!status) status = finish(context, amg, t, P);
  karst_cuda_work_release(context, t.kind, t.near, t.bound, t.out_column, t.out_value);
  return status;
}

} // namespace

karst_status karst_amg_interpolate_cuda(karst_context *context, const karst_amg *amg, const karst_amg_matrix *A,
                                        const karst_amg_rule *rule, const karst_amg_splitting *splitting,
                                        karst_amg_matrix *P)
{
  return amg->single ? make<float>(context, amg, A, rule, splitting, P)
                     : make<double>(context, amg, A, rule, splitting, P);
}
