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
  karst_index *bound;      /* [rows] of the columns of an F row; 0 for others, and for those without */
  karst_index *count;      /* [rows + 1] of entries of P */
  karst_index *out_column; /* [rows * most] those of F rows */
  T *out_value;            /* [rows * most] */
};

/* Whether a coupling has the sign opposite to that of the diagonal entry of its row. */
template <typename T> __device__ __forceinline__ bool is_opposite(bool negative, T a)
{
  return negative ? a > 0 : a < 0;
}

/* Lists the C columns of opposite sign of an F row; i = -1: no row. Returns their number, and in *strong that of the
 * strong ones. */
template <int LANES, typename T>
__device__ __forceinline__ unsigned list_columns(const task<T> &t, karst_index i, bool negative, unsigned *strong)
{
  using group = karst_amg_group<LANES, true>;
  const karst_index begin = i < 0 ? 0 : t.A.start[i], end = i < 0 ? 0 : t.A.start[i + 1];
  karst_index listed = 0, near = 0, all;
  for (karst_index base = begin; group::any(base < end); base += LANES) {
    const karst_index e = base + group::lane();
    const karst_index j = e < end ? t.A.column[e] : i;
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
  using group = karst_amg_group<LANES, true>;
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
  unsigned near;
  const unsigned listed = list_columns<LANES>(t, kind == FINE ? (karst_index)i : -1, negative, &near);
  if (group::lane() == 0)
    t.nature[i] = kind + (negative ? NEGATIVE : 0) + (listed << LISTED_SHIFT) + (near << STRONG_SHIFT);
}

__device__ __forceinline__ karst_index listed_of(unsigned nature)
{
  return (karst_index)(nature >> LISTED_SHIFT & LISTED);
}

/* Bounds C_i and, roughly, the work for row i, and sets count for rows that are not F. */
template <int LANES, typename T> __global__ void __launch_bounds__(THREADS) find_bound(task<T> t)
{
  using group = karst_amg_group<LANES, true>;
  const int64_t i = (blockIdx.x * (int64_t)THREADS + threadIdx.x) / LANES;
  if (i >= t.A.rows) return;
  const bool coarse = (t.nature[i] & KIND) == COARSE;
  const karst_index begin = t.A.start[i], end = coarse ? begin : t.A.start[i + 1];
  int64_t bound = 0;
  for (karst_index e = begin + group::lane(); e < end; e += LANES) {
    if (!t.strong[e]) continue;
    const unsigned nature = t.nature[t.A.column[e]];
    bound += (nature & KIND) == COARSE ? 1 : nature >> STRONG_SHIFT;
  }
  bound = group::sum(bound);
  if (group::lane() > 0) return;
  t.bound[i] = bound == 0 ? 0 : (karst_index)min(max(bound, (int64_t)(end - begin) / 2), (int64_t)KARST_INDEX_MAX);
  t.count[i] = coarse;
}

/* An entry of a list. */
template <typename T> struct listed {
  karst_index code; /* the column, or -1 - column if weak */
  T value;
  __device__ __forceinline__ karst_index column() const { return code < 0 ? -1 - code : code; }
};

/* Entry f of a list of count entries, anything else if it has less. */
template <typename T>
__device__ __forceinline__ listed<T> entry_of(const task<T> &t, karst_index begin, karst_index count, karst_index f)
{
  return f < count ? listed<T>{t.column[begin + f], t.value[begin + f]} : listed<T>{0, 0};
}

/* Calls use(entry) for a list. The next entry is under way meanwhile. LANES > 1: all lanes of a warp come together. */
template <int LANES, typename T, typename F>
__device__ __forceinline__ void each_listed(const task<T> &t, karst_index begin, karst_index count, F use)
{
  listed<T> next = entry_of(t, begin, count, 0);
  for (karst_index f = 1; karst_amg_group<LANES, true>::any(f <= count); f++) {
    const listed<T> now = next;
    next = entry_of(t, begin, count, f);
    if (f <= count) use(now);
  }
}

template <int LANES, typename T>
__device__ __forceinline__ void collect_columns(const task<T> &t, karst_index i, const karst_amg_set &set)
{
  using group = karst_amg_group<LANES, true>;
  const karst_index end = i < 0 ? 0 : t.A.start[i + 1];
  for (karst_index base = i < 0 ? 0 : t.A.start[i]; group::any(base < end); base += LANES) {
    const karst_index e = base + group::lane(), k = e < end && t.strong[e] ? t.A.column[e] : -1;
    const unsigned nature = k < 0 ? ISOLATED : t.nature[k], kind = nature & KIND;
    if (kind == COARSE) karst_amg_insert(set, k);
    each_listed<LANES>(t, kind == FINE ? t.A.start[k] : 0, kind == FINE ? listed_of(nature) : 0,
                       [&](const listed<T> &entry) {
                         if (entry.code >= 0) karst_amg_insert(set, entry.code);
                       });
  }
}

/* What an entry of row i adds to w. */
struct term {
  double part;       /* times the list of row k, or, if count < 0, itself */
  karst_index begin; /* the list, or the element of w */
  karst_index count; /* of the list; 0: nothing */
};

/* a_ki if its sign is opposite to that of a_kk, else 0. */
template <typename T>
__device__ __forceinline__ double find_back(const task<T> &t, karst_index i, karst_index k, bool negative)
{
  const karst_index end = t.A.start[k + 1];
  const karst_index f = karst_cuda_bisect(t.A.start[k], end, [&](karst_index at) { return t.A.column[at] >= i; });
  return f < end && t.A.column[f] == i && is_opposite(negative, t.A.value[f]) ? (double)t.A.value[f] : 0;
}

/* Distributes a_ik = a over C_i and d_i by row k. d: what goes to d_i. */
template <typename T>
__device__ __forceinline__ term distribute(const task<T> &t, karst_index i, karst_index k, unsigned nature, double a,
                                           const karst_amg_set &set, double *d)
{
  const double own = find_back(t, i, k, nature & NEGATIVE);
  double sum = 0;
  bool passed = false;
  const karst_index begin = t.A.start[k], count = listed_of(nature);
  each_listed<1>(t, begin, count, [&](const listed<T> &entry) {
    const karst_index j = entry.column();
    if (!passed && j > i) sum += own;
    passed = passed || j > i;
    if (entry.code >= 0 || karst_amg_find(set, j) >= 0) sum += entry.value; /* strong ones are in C_i */
  });
  if (!passed) sum += own;
  const double part = sum == 0 ? 0 : a / sum;
  *d = sum == 0 ? a : own == 0 ? 0 : __dmul_rn(part, own);
  return {part, begin, sum == 0 ? 0 : count};
}

template <typename T>
__device__ __forceinline__ term make_term(const task<T> &t, karst_index i, karst_index e, const karst_amg_set &set,
                                          double *d)
{
  const karst_index j = t.A.column[e];
  const double a = t.A.value[e];
  const unsigned nature = t.nature[j], kind = nature & KIND;
  const karst_index at = kind == COARSE ? karst_amg_find(set, j) : -1;
  if (at >= 0) return {a, at, -1};
  if (j != i && t.strong[e] && kind == FINE) return distribute(t, i, j, nature, a, set, d);
  *d = j == i || kind != ISOLATED ? a : 0;
  return {0, 0, 0};
}

/* Adds a term to w, with a lane for each entry of the list, of which the first ones are loaded. */
template <int LANES, typename T>
__device__ __forceinline__ void add_term(const task<T> &t, const term &now, listed<T> entry, const karst_amg_set &set,
                                         double *w)
{
  const int lane = karst_amg_group<LANES>::lane();
  if (now.count < 0 && lane == 0) w[now.begin] += now.part;
  for (karst_index f = lane; f < now.count; entry = entry_of(t, now.begin, now.count, f)) {
    const karst_index at = karst_amg_find(set, entry.column());
    if (at >= 0) w[at] = __dadd_rn(w[at], __dmul_rn(now.part, entry.value));
    f += LANES;
  }
}

/* Sets w but for the division, and returns d_i. terms and added: [LANES] shared memory. While a term is added the list
 * of the next one is under way. */
template <int LANES, typename T>
__device__ __forceinline__ double sum_weights(const task<T> &t, karst_index i, const karst_amg_set &set, term *terms,
                                              double *added, double *w)
{
  using group = karst_amg_group<LANES, true>;
  const karst_index end = i < 0 ? 0 : t.A.start[i + 1];
  double d = 0;
  for (karst_index base = 0; base < set.slots; base += LANES) w[base + group::lane()] = 0;
  for (karst_index base = i < 0 ? 0 : t.A.start[i]; group::any(base < end); base += LANES) {
    const karst_index e = base + group::lane();
    const int many = (int)min((karst_index)LANES, end - base);
    double mine = 0;
    karst_index all;
    const term own = e < end ? make_term(t, i, e, set, &mine) : term{0, 0, 0};
    const karst_index before = group::count_before(own.count != 0, &all);
    if (own.count != 0) terms[before] = own;
    added[group::lane()] = mine;
    group::sync();
    for (int q = 0; q < many; q++) d += added[q];
    term next = all > 0 ? terms[0] : term{0, 0, 0};
    listed<T> next_entry = entry_of(t, next.begin, next.count, group::lane());
    for (karst_index q = 1; group::any(q <= all); q++) {
      const term now = next;
      const listed<T> entry = next_entry;
      next = q < all ? terms[q] : term{0, 0, 0};
      next_entry = entry_of(t, next.begin, next.count, group::lane());
      add_term<LANES>(t, now, entry, set, w);
      group::sync();
    }
    group::sync();
  }
  return d;
}

/* Moves those of count entries that have a column, and a value(w) of at most limit, to the front. Returns how many. */
template <int LANES, typename F>
__device__ __forceinline__ karst_index keep(karst_index count, karst_index *column, double *w, double limit, F value)
{
  using group = karst_amg_group<LANES, true>;
  karst_index held = 0, all;
  for (karst_index base = 0; group::any(base < count); base += LANES) {
    const karst_index k = base + group::lane(), own = k < count ? column[k] : -1;
    const double weight = own >= 0 ? value(w[k]) : nan("");
    const bool holds = fabs(weight) <= limit;
    const karst_index before = group::count_before(holds, &all);
    group::sync();
    if (holds) {
      column[held + before] = own;
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
  using group = karst_amg_group<LANES, true>;
  double all = 0, kept = 0;
  for (karst_index k = group::lane(); k < count; k += LANES) all += w[k];
  all = group::sum(all);
  for (karst_index turn = 0; group::any(turn < most); turn++) {
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
    if (turn < most && best == largest && own == first) {
      const double weight = w[at];
      w[at] = w[turn];
      w[turn] = weight;
      column[at] = column[turn];
      column[turn] = own;
    }
    group::sync();
    if (turn < most) kept += w[turn];
  }
  return kept == 0 || !(fabs(all / kept) <= limit) ? 1 : all / kept;
}

/* Writes a row of P, of the first entries that w holds. */
template <int LANES, typename T>
__device__ __forceinline__ void write_row(const task<T> &t, karst_index i, karst_index *column, karst_index held,
                                          double *w)
{
  using group = karst_amg_group<LANES, true>;
  const karst_index most = (karst_index)min((int64_t)held, t.most);
  double scale = 1;
  if (group::any(held > most)) scale = truncate_row<LANES>(held > most ? most : 0, column, held, w, t.limit);
  for (karst_index k = group::lane(); k < most; k += LANES) {
    int64_t at = i * t.most;
    for (karst_index q = 0; q < most; q++) at += column[q] < column[k];
    t.out_column[at] = t.place[column[k]];
    t.out_value[at] = (T)(scale * w[k]);
  }
  if (group::lane() == 0 && i >= 0) t.count[i] = most;
}

template <int BIN, typename T>
__global__ void __launch_bounds__(karst_amg_bin<BIN>::THREADS) interpolate(task<T> t, karst_amg_sets sets)
{
  enum { LANES = karst_amg_bin<BIN>::LANES, THREADS = karst_amg_bin<BIN>::THREADS };
  __shared__ term terms[THREADS];
  __shared__ double added[THREADS];
  const int first = (int)threadIdx.x / LANES * LANES;
  karst_amg_each_row<BIN>(
      sets, [&](karst_index i, const karst_amg_set &set) { collect_columns<LANES>(t, i, set); },
      [&](karst_index i, const karst_amg_set &set) {
        double *const w = reinterpret_cast<double *>(set.work);
        const double d = sum_weights<LANES>(t, i, set, terms + first, added + first, w);
        karst_index held = keep<LANES>(set.slots, set.table, w, DBL_MAX, [](double sum) { return sum; });
        held = keep<LANES>(d != 0 ? held : 0, set.table, w, t.limit, [&](double sum) { return sum / -d; });
        write_row<LANES>(t, i, set.table, held, w);
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
  karst_status status = karst_amg_sort_rows_cuda(context, t.A.rows, t.bound, t.coarse, &sets);
  if (!status) t.most = min(t.most, min((int64_t)t.coarse, (int64_t)sets.found.longest));
  if (!status) status = karst_cuda_take_work(context, t.A.rows * t.most, what, &t.out_column);
  if (!status) status = karst_cuda_take_work(context, t.A.rows * t.most, what, &t.out_value);
  if (!status)
    karst_amg_each_bin(&sets, [&](auto bin) {
      interpolate<bin.value>
          <<<sets.blocks[bin.value], karst_amg_bin<bin.value>::THREADS, 0, karst_cuda_of(context)->stream>>>(t, sets);
    });
  karst_cuda_work_release(context, sets.tally, sets.list[0], sets.memory);
  return status;
}

/* Sets row_start from the sizes of the rows, and packs them. */
template <typename T>
karst_status finish(karst_context *context, const karst_amg *amg, const task<T> &t, karst_amg_matrix *P)
{
  P->rows = t.A.rows;
  P->columns = t.coarse;
  karst_status status = karst_amg_sum_rows_cuda(context, P);
  if (!status) status = karst_amg_take_entries_cuda(context, amg, what, P);
  if (!status)
    pack<<<karst_cuda_grid(P->rows, THREADS), THREADS, 0, karst_cuda_of(context)->stream>>>(t, P->column,
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
