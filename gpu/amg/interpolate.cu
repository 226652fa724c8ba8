/* interpolate.cu - extended+i interpolation (De Sterck, Falgout, Nolting, Yang 2008, equation 4.10). For an F row i
 * with the set C_i of the C rows on which i or one of its strong F neighbours depends strongly,
 *
 *     w_ij = -1/d_i (a_ij + sum_k a_ik abar_kj / b_ik),    b_ik = sum_l abar_kl over the l in C_i and l = i
 *     d_i  = a_ii + sum_n a_in + sum_k a_ik abar_ki / b_ik
 *
 * as in cpu/amg/interpolate.c, which explains the terms.
 *
 * A first kernel lists the C columns of abar_k for each F row k. Then a group of threads takes a row. It collects C_i
 * in a hash table, with a lane for each k. A lane for each a_ik finds the sum b_ik and what a_ik adds to d_i. Then the
 * group adds the terms to w k by k, with a lane for each l. Sums have the order of the CPU and no fused products, so
 * that equal weights, of which some are left out, are equal there and here. */
#include "gpu/amg/sets.h"
#include "gpu/bisect.h"
#include "gpu/ilu/ilu_cuda.h"

namespace
{

enum { THREADS = 256 };

const char *const what = "an interpolation";

/* What a row is to others, in 32 bits: this, */
enum : unsigned { ISOLATED, LONG, FINE, COARSE, KIND = 3 };
/* whether its diagonal entry is below 0, and of an F row the C columns in its list, and how many of them are strong:
 * numbers up to KARST_AMG_LONG. */
enum : unsigned {
  NEGATIVE = 4,
  LISTED_SHIFT = 3,
  STRONG_SHIFT = 16,
  LISTED = (1u << (STRONG_SHIFT - LISTED_SHIFT)) - 1
};

/* Device memory. */
template <typename T> struct task {
  karst_amg_view<T> A;
  const unsigned char *strong; /* [entries] */
  const karst_index *place;    /* [rows] */
  karst_index coarse;
  int64_t most;            /* entries of a row of P */
  T limit;                 /* of the levels' precision */
  unsigned *nature;        /* [rows] */
  karst_index *column;     /* [entries] the lists, each from the start of its row on; a weak column j is -1 - j */
  T *value;                /* [entries] */
  karst_index *bound;      /* [rows] of the columns of an F row; 0 for others */
  karst_index *count;      /* [rows + 1] of entries of P */
  karst_index *out_column; /* [rows * most] those of F rows */
  T *out_value;            /* [rows * most] */
};

/* Whether a coupling has the sign opposite to that of the diagonal entry of its row. */
template <typename T> __device__ __forceinline__ bool is_opposite(bool negative, T a)
{
  return negative ? a > 0 : a < 0;
}

/* Lists the C columns of opposite sign of an F row. Returns their number, and in *strong that of the strong ones. */
template <int LANES, typename T>
__device__ __forceinline__ unsigned list_columns(const task<T> &t, karst_index i, bool negative, unsigned *strong)
{
  using group = karst_amg_group<LANES>;
  const karst_index begin = t.A.start[i], end = t.A.start[i + 1];
  karst_index listed = 0, near = 0, all;
  for (karst_index base = begin; base < end; base += LANES) {
    const karst_index e = base + group::lane();
    const karst_index j = e < end ? t.A.column[e] : (karst_index)i;
    const bool is_strong = e < end && t.strong[e];
    const bool wanted = e < end && t.place[j] >= 0 && is_opposite(negative, t.A.value[e]);
    const karst_index before = group::count_before(wanted, &all);
    if (wanted) {
      t.column[begin + listed + before] = is_strong ? j : -1 - j;
      t.value[begin + listed + before] = t.A.value[e];
    }
    listed += all;
    group::count_before(wanted && is_strong, &all);
    near += all;
  }
  *strong = (unsigned)near;
  return (unsigned)listed;
}

template <int LANES, typename T> __global__ void __launch_bounds__(THREADS) classify(task<T> t)
{
  using group = karst_amg_group<LANES>;
  const int64_t i = (blockIdx.x * (int64_t)THREADS + threadIdx.x) / LANES;
  if (i >= t.A.rows) return;
  const karst_index begin = t.A.start[i], end = t.A.start[i + 1];
  bool strong = false, negative = false;
  for (karst_index e = begin + group::lane(); e < end; e += LANES) {
    if (t.A.column[e] == i) negative = t.A.value[e] < 0;
    strong |= t.strong[e];
  }
  karst_index many;
  group::count_before(strong, &many);
  strong = many > 0;
  group::count_before(negative, &many);
  negative = many > 0;
  const unsigned kind = t.place[i] >= 0 ? COARSE : !strong ? ISOLATED : end - begin > KARST_AMG_LONG ? LONG : FINE;
  unsigned listed = 0, near = 0;
  if (kind == FINE) listed = list_columns<LANES>(t, (karst_index)i, negative, &near);
  if (group::lane() == 0)
    t.nature[i] = kind + (negative ? NEGATIVE : 0) + (listed << LISTED_SHIFT) + (near << STRONG_SHIFT);
}

__device__ __forceinline__ karst_index listed_of(unsigned nature)
{
  return (karst_index)(nature >> LISTED_SHIFT & LISTED);
}

/* Bounds C_i, and sets count for rows that are not F. */
template <int LANES, typename T> __global__ void __launch_bounds__(THREADS) find_bound(task<T> t)
{
  using group = karst_amg_group<LANES>;
  const int64_t i = (blockIdx.x * (int64_t)THREADS + threadIdx.x) / LANES;
  if (i >= t.A.rows) return;
  const bool coarse = (t.nature[i] & KIND) == COARSE;
  karst_index bound = 0; /* at most rows times KARST_AMG_LONG, if a row has that many */
  for (karst_index e = t.A.start[i] + group::lane(); e < t.A.start[i + 1] && !coarse; e += LANES) {
    if (!t.strong[e]) continue;
    const unsigned nature = t.nature[t.A.column[e]];
    bound += (nature & KIND) == COARSE ? 1 : (karst_index)(nature >> STRONG_SHIFT);
    bound = min(bound, t.coarse);
  }
  bound = (karst_index)min(group::sum((int64_t)bound), (int64_t)t.coarse);
  if (group::lane() > 0) return;
  t.bound[i] = bound;
  t.count[i] = coarse;
}

template <typename T, int LANES>
__device__ __forceinline__ void collect_columns(const task<T> &t, karst_index i, const karst_amg_set &set)
{
  const karst_index end = t.A.start[i + 1];
  for (karst_index e = t.A.start[i] + karst_amg_group<LANES>::lane(); e < end; e += LANES) {
    if (!t.strong[e]) continue;
    const karst_index k = t.A.column[e];
    const unsigned nature = t.nature[k];
    if ((nature & KIND) == COARSE) karst_amg_insert(set, k);
    if ((nature & KIND) != FINE) continue;
    const karst_index begin = t.A.start[k], listed = listed_of(nature);
    for (karst_index f = begin; f < begin + listed; f++)
      if (t.column[f] >= 0) karst_amg_insert(set, t.column[f]);
  }
}

/* What an entry of row i contributes. */
struct term {
  double part;       /* times the list of row k goes to w, or, if count < 0, itself */
  double d;          /* goes to d_i */
  karst_index begin; /* the list, or the element of w */
  karst_index count; /* of the list */
};

/* a_ki if its sign is opposite to that of a_kk, else 0. */
template <typename T>
__device__ __forceinline__ double find_back(const task<T> &t, karst_index i, karst_index k, bool negative)
{
  const karst_index end = t.A.start[k + 1];
  const karst_index f = karst_cuda_bisect(t.A.start[k], end, [&](karst_index at) { return t.A.column[at] >= i; });
  return f < end && t.A.column[f] == i && is_opposite(negative, t.A.value[f]) ? (double)t.A.value[f] : 0;
}

/* Distributes a_ik = a over C_i and d_i by row k. */
template <typename T>
__device__ __forceinline__ term distribute(const task<T> &t, karst_index i, karst_index k, unsigned nature, double a,
                                           const karst_amg_set &set)
{
  const karst_index begin = t.A.start[k], listed = listed_of(nature);
  const double own = find_back(t, i, k, nature & NEGATIVE);
  double sum = 0;
  bool passed = false;
  for (karst_index f = begin; f < begin + listed; f++) {
    const karst_index found = t.column[f], j = found < 0 ? -1 - found : found;
    if (!passed && j > i) sum += own;
    passed = passed || j > i;
    if (karst_amg_find(set, j) >= 0) sum += t.value[f];
  }
  if (!passed) sum += own;
  if (sum == 0) return {0, a, 0, 0};
  const double part = a / sum;
  return {part, own == 0 ? 0 : __dmul_rn(part, own), begin, listed};
}

template <typename T>
__device__ __forceinline__ term make_term(const task<T> &t, karst_index i, karst_index e, const karst_amg_set &set)
{
  const karst_index j = t.A.column[e];
  const double a = t.A.value[e];
  const unsigned nature = t.nature[j], kind = nature & KIND;
  const karst_index at = kind == COARSE ? karst_amg_find(set, j) : -1;
  if (at >= 0) return {a, 0, at, -1};
  if (j != i && t.strong[e] && kind == FINE) return distribute(t, i, j, nature, a, set);
  return {0, j == i || kind != ISOLATED ? a : 0, 0, 0};
}

/* An entry of a list, or no column. */
template <typename T> struct listed {
  karst_index column;
  T value;
};

template <typename T> __device__ __forceinline__ listed<T> entry_of(const task<T> &t, const term &now, karst_index f)
{
  if (f >= now.count) return {-1, 0};
  const karst_index found = t.column[now.begin + f];
  return {found < 0 ? -1 - found : found, t.value[now.begin + f]};
}

/* Adds a term to w, with a lane for each entry of the list, of which the first ones are loaded. */
template <int LANES, typename T>
__device__ __forceinline__ void add_term(const task<T> &t, const term &now, listed<T> entry, const karst_amg_set &set,
                                         double *w)
{
  const int lane = karst_amg_group<LANES>::lane();
  if (now.count < 0 && lane == 0) w[now.begin] += now.part;
  for (karst_index f = lane; f < now.count; entry = entry_of(t, now, f)) {
    const karst_index at = karst_amg_find(set, entry.column);
    if (at >= 0) w[at] = __dadd_rn(w[at], __dmul_rn(now.part, entry.value));
    f += LANES;
  }
}

/* Sets w but for the division, and returns d_i. terms: [LANES] shared memory. While a term is added the list of the
 * next one is under way. */
template <int LANES, typename T>
__device__ __forceinline__ double sum_weights(const task<T> &t, karst_index i, const karst_amg_set &set, term *terms,
                                              double *w)
{
  using group = karst_amg_group<LANES>;
  const karst_index end = t.A.start[i + 1];
  double d = 0;
  for (karst_index k = group::lane(); k < set.slots; k += LANES) w[k] = 0;
  for (karst_index base = t.A.start[i]; base < end; base += LANES) {
    const int many = (int)min((karst_index)LANES, end - base);
    if (group::lane() < many) terms[group::lane()] = make_term(t, i, base + group::lane(), set);
    group::sync();
    term next = terms[0];
    listed<T> next_entry = entry_of(t, next, group::lane());
    for (int q = 0; q < many; q++) {
      const term now = next;
      const listed<T> entry = next_entry;
      next = terms[min(q + 1, many - 1)];
      next_entry = entry_of(t, next, group::lane());
      d += now.d;
      if (now.count == 0) continue;
      add_term<LANES>(t, now, entry, set, w);
      group::sync();
    }
    group::sync();
  }
  return d;
}

/* Divides by d_i, and moves the weights that the levels' precision holds, with their columns, to the front in the order
 * of the table. Returns their number. */
template <int LANES, typename T>
__device__ __forceinline__ karst_index divide(const task<T> &t, double d, const karst_amg_set &set, double *w)
{
  using group = karst_amg_group<LANES>;
  karst_index held = 0, all;
  for (karst_index base = 0; base < set.slots; base += LANES) {
    const karst_index k = base + group::lane(), column = set.table[k];
    const double weight = column >= 0 && d != 0 ? w[k] / -d : nan("");
    const bool holds = fabs(weight) <= t.limit;
    const karst_index before = group::count_before(holds, &all);
    group::sync();
    if (holds) {
      set.table[held + before] = column;
      w[held + before] = weight;
    }
    held += all;
  }
  group::sync();
  return held;
}

/* The larger absolute value wins, then the smaller column. */
__device__ __forceinline__ bool is_before(double w, karst_index column, double other, karst_index other_column)
{
  return w > other || (w == other && column < other_column);
}

/* Moves the most entries of largest |w| to the front. Returns what scales them so that their sum is that of all. */
template <int LANES>
__device__ __forceinline__ double truncate_row(karst_index most, karst_index *column, karst_index count, double *w,
                                               double limit)
{
  using group = karst_amg_group<LANES>;
  double all = 0, kept = 0;
  for (karst_index k = group::lane(); k < count; k += LANES) all += w[k];
  all = group::sum(all);
  for (karst_index turn = 0; turn < most; turn++) {
    double best = -1;
    karst_index at = turn, own = 0;
    for (karst_index k = turn + group::lane(); k < count; k += LANES)
      if (is_before(fabs(w[k]), column[k], best, own)) {
        best = fabs(w[k]);
        own = column[k];
        at = k;
      }
    const double largest = group::largest(best);
    const karst_index first = -group::largest(best == largest ? -own : -(karst_index)KARST_INDEX_MAX);
    if (best == largest && own == first) {
      const double weight = w[at];
      w[at] = w[turn];
      w[turn] = weight;
      column[at] = column[turn];
      column[turn] = own;
    }
    group::sync();
    kept += w[turn];
  }
  return kept == 0 || !(fabs(all / kept) <= limit) ? 1 : all / kept;
}

/* Writes a row of P, of the first entries that w holds. */
template <int LANES, typename T>
__device__ __forceinline__ void write_row(const task<T> &t, karst_index i, karst_index *column, karst_index held,
                                          double *w)
{
  using group = karst_amg_group<LANES>;
  const karst_index most = (karst_index)min((int64_t)held, t.most);
  const double scale = held > most ? truncate_row<LANES>(most, column, held, w, t.limit) : 1;
  for (karst_index k = group::lane(); k < most; k += LANES) {
    int64_t at = i * t.most;
    for (karst_index q = 0; q < most; q++) at += column[q] < column[k];
    t.out_column[at] = t.place[column[k]];
    t.out_value[at] = (T)(scale * w[k]);
  }
  if (group::lane() == 0) t.count[i] = most;
}

template <int BIN, typename T>
__global__ void __launch_bounds__(karst_amg_bin<BIN>::THREADS)
    interpolate(task<T> t, karst_index *memory, karst_index room)
{
  using bin = karst_amg_bin<BIN>;
  __shared__ term terms[bin::THREADS];
  term *const mine = terms + threadIdx.x / bin::LANES * bin::LANES;
  karst_amg_each_row<BIN>(
      t.A.rows, memory, room, [&](karst_index i) { return (int64_t)t.bound[i]; },
      [&](karst_index i) { t.bound[i] = (karst_index)KARST_INDEX_MAX; },
      [&](karst_index i, const karst_amg_set &set) { collect_columns<T, bin::LANES>(t, i, set); },
      [&](karst_index i, const karst_amg_set &set) {
        double *const w = reinterpret_cast<double *>(set.work);
        const double d = sum_weights<bin::LANES>(t, i, set, mine, w);
        const karst_index held = divide<bin::LANES>(t, d, set, w);
        write_row<bin::LANES>(t, i, set.table, held, w);
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
  if (!status) status = karst_cuda_take_work(context, rows, what, &t.nature);
  if (!status) status = karst_cuda_take_work(context, A->entries, what, &t.column);
  if (!status) status = karst_cuda_take_work(context, A->entries, what, &t.value);
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
  karst_cuda_work_release(context, t.nature, t.column, t.value, t.bound, t.out_column, t.out_value);
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
