/* interpolate.c - extended+i interpolation (De Sterck, Falgout, Nolting, Yang: Distance-two interpolation for parallel
 * algebraic multigrid, Numer. Linear Algebra Appl. 15 (2008), equation 4.10). For an F row i with the set C_i of the C
 * rows on which i or one of its strong F neighbours depends strongly,
 *
 *     w_ij = -1/d_i (a_ij + sum_k a_ik abar_kj / b_ik),    b_ik = sum_l abar_kl over the l in C_i and l = i
 *     d_i  = a_ii + sum_n a_in + sum_k a_ik abar_ki / b_ik
 *
 * where k are the strong F neighbours of i, abar_kl is a_kl if its sign is opposite to that of a_kk and else 0, and n
 * are the other neighbours outside C_i. As in hypre's implementation a_ik goes to d_i if b_ik = 0, and couplings to
 * rows without strong couplings are left out. A long row k is among the n, so that a row with couplings to all others
 * costs each of them no more than that one. The weights are computed in double. */
#include "cpu/amg/amg_cpu.h"

#include <float.h>
#include <math.h>

/* What a row is to others, in 32 bits: this, */
enum { ISOLATED, LONG, FINE, COARSE, KIND = 3 };
/* whether its diagonal entry is below 0, of an F row how many C columns are in its list, up to KARST_AMG_LONG, and how
 * many columns it adds to C_i if row i depends on it strongly. */
enum { NEGATIVE = 4, LISTED_SHIFT = 3, LISTED = 0x1fff, ADDED_SHIFT = 16 };

/* What all threads read. */
struct source {
  bool single;
  const karst_amg_matrix *A;
  const karst_amg_splitting *splitting;
  karst_index most;
  uint32_t *nature;    /* [rows] */
  karst_index *begin;  /* [rows] of the list of each F row: the C columns whose entries have the sign opposite to the */
  karst_index *column; /* [entries] diagonal's; ~j for a column j without a strong coupling */
  void *value;         /* [entries] their entries */
};

/* The row of one thread. The diagonal d_i has the number count while weights are summed. */
struct row {
  karst_index *number; /* [rows] the number in this row of C row j, else -1 */
  karst_index *column; /* [widest + 1] */
  double *weight;      /* [widest + 1] */
  karst_index count;
  karst_index *met; /* [KARST_AMG_LONG + 1] the numbers that a neighbour's list meets, and that of the diagonal, */
  double *share;    /* [KARST_AMG_LONG + 1] and the entries there */
};

KARST_INLINE double entry(const struct source *s, bool single, karst_index k)
{
  return karst_amg_value(single, s->A->value, k);
}

static karst_index listed_of(uint32_t nature) { return (karst_index)(nature >> LISTED_SHIFT & LISTED); }

/* Lists the C columns of opposite sign of F row i from next on, and returns the end of the list. *strong: how many of
 * them are strong */
static karst_index list_columns(const struct source *s, karst_index i, bool negative, karst_index next,
                                karst_index *strong)
{
  const karst_amg_matrix *A = s->A;
  const double sign = negative ? -1 : 1;
  *strong = 0;
  for (karst_index k = A->row_start[i]; k < A->row_start[i + 1]; k++) {
    const karst_index j = A->column[k];
    const double a = entry(s, s->single, k);
    s->column[next] = s->splitting->strong[k] ? j : ~j;
    karst_amg_store(s->single, s->value, next, a);
    next += (s->splitting->place[j] >= 0) & (sign * a < 0);
    *strong += s->splitting->strong[k] & (s->splitting->place[j] >= 0);
  }
  return next;
}

/* Finds what each row is, and lists the columns of F rows. */
static void classify(const struct source *s, const karst_part *part)
{
  const karst_amg_matrix *A = s->A;
  karst_index next = A->row_start[part->first];
  for (karst_index i = part->first; i < part->last; i++) {
    bool strong = false, negative = false;
    karst_index added = 1;
    for (karst_index k = A->row_start[i]; k < A->row_start[i + 1]; k++) {
      strong = strong || s->splitting->strong[k];
      if (A->column[k] == i) negative = entry(s, s->single, k) < 0;
    }
    const bool is_long = A->row_start[i + 1] - A->row_start[i] > KARST_AMG_LONG;
    const int kind = s->splitting->place[i] >= 0 ? COARSE : !strong ? ISOLATED : is_long ? LONG : FINE;
    if (kind != COARSE) added = 0;
    s->begin[i] = next;
    if (kind == FINE) next = list_columns(s, i, negative, next, &added);
    s->nature[i] = (uint32_t)kind | (negative ? NEGATIVE : 0) | (uint32_t)(next - s->begin[i]) << LISTED_SHIFT |
                   (uint32_t)added << ADDED_SHIFT;
  }
}

/* Returns an upper bound of |C_i|, or of the entries of C row i. */
static int64_t bound(const struct source *s, karst_index i)
{
  int64_t all = 0;
  if ((s->nature[i] & KIND) == COARSE) return 1;
  for (karst_index k = s->A->row_start[i]; k < s->A->row_start[i + 1]; k++)
    all += (int64_t)s->splitting->strong[k] * (s->nature[s->A->column[k]] >> ADDED_SHIFT);
  return all < s->splitting->coarse ? all : s->splitting->coarse;
}

/* Adds column j to C_i, which has count columns, if it is wanted and new. Returns their number then. */
KARST_INLINE karst_index add_column(karst_index j, bool wanted, karst_index count, karst_index *restrict number,
                                    karst_index *restrict column)
{
  const bool is_new = wanted & (number[j] < 0); /* as a number: a branch would often be mispredicted */
  number[j] = is_new ? count : number[j];
  column[count] = j;
  return count + is_new;
}

/* Prefetches what distribute reads of row k soon, so that its searches do not wait: a third of the time. */
KARST_INLINE void prefetch_row(const struct source *s, karst_index k, karst_index begin, karst_index end)
{
  const int64_t first = s->A->row_start[k], entries = s->A->row_start[k + 1] - first;
  const int64_t scalar = s->single ? sizeof(float) : sizeof(double);
  karst_prefetch(s->A->column + first, entries * (int64_t)sizeof *s->A->column, 0);
  karst_prefetch((const char *)s->A->value + first * scalar, entries * scalar, 0);
  karst_prefetch((const char *)s->value + begin * scalar, (end - begin) * scalar, 0);
}

/* Collects C_i: the C rows on which row i depends strongly, then those of its strong F neighbours. */
static void collect_columns(const struct source *s, karst_index i, struct row *row)
{
  const karst_amg_matrix *A = s->A;
  karst_index count = 0;
  for (karst_index k = A->row_start[i]; k < A->row_start[i + 1]; k++)
    count = add_column(A->column[k], s->splitting->strong[k] & (s->splitting->place[A->column[k]] >= 0), count,
                       row->number, row->column);
  for (karst_index k = A->row_start[i]; k < A->row_start[i + 1]; k++) {
    const karst_index j = A->column[k], begin = s->begin[j], end = begin + listed_of(s->nature[j]);
    if (!s->splitting->strong[k] || (s->nature[j] & KIND) != FINE) continue;
    prefetch_row(s, j, begin, end);
    for (karst_index f = begin; f < end; f++)
      count = add_column(s->column[f] < 0 ? ~s->column[f] : s->column[f], s->column[f] >= 0, count, row->number,
                         row->column);
  }
  row->count = count;
}

/* a_ki if its sign is opposite to that of a_kk, else 0. The search has no branch to mispredict. */
KARST_INLINE double find_back(const struct source *s, bool single, karst_index i, karst_index k)
{
  const karst_index *column = s->A->column;
  karst_index at = s->A->row_start[k];
  for (karst_index left = s->A->row_start[k + 1] - at; left > 1; left -= left / 2)
    at += column[at + left / 2] <= i ? left / 2 : 0;
  const double a = entry(s, single, at);
  return column[at] == i && (s->nature[k] & NEGATIVE ? a > 0 : a < 0) ? a : 0;
}

/* Distributes a_ik = a over C_i and the diagonal by row k, whose entry a_ki has its place among those of the list. */
KARST_INLINE void distribute(const struct source *s, bool single, karst_index i, karst_index k, double a,
                             struct row *row)
{
  const karst_index begin = s->begin[k], end = begin + listed_of(s->nature[k]);
  const double own = find_back(s, single, i, k);
  const bool adds = own != 0;
  karst_index *restrict met = row->met, count = 0, before = 0;
  double sum = 0, *restrict share = row->share;
  for (karst_index f = begin; f < end; f++) {
    const karst_index j = s->column[f] < 0 ? ~s->column[f] : s->column[f], number = row->number[j];
    met[count + (adds & (j > i))] = number;
    share[count + (adds & (j > i))] = karst_amg_value(single, s->value, f);
    count += number >= 0;
    before += (number >= 0) & (j < i);
  }
  if (adds) {
    met[before] = row->count;
    share[before] = own;
    count++;
  }
  for (karst_index n = 0; n < count; n++) sum += share[n];
  if (sum == 0) {
    row->weight[row->count] += a;
    return;
  }
  const double part = a / sum;
  for (karst_index n = 0; n < count; n++) row->weight[met[n]] += part * share[n];
}

/* Turns the sums of row i into weights, without those that exceed limit or are none because d_i is 0. */
static void divide_row(karst_index i, double limit, struct row *row)
{
  const double diagonal = row->weight[row->count];
  const karst_index all = diagonal == 0 ? 0 : row->count;
  for (karst_index n = 0; n < row->count; n++) row->number[row->column[n]] = -1;
  row->number[i] = -1;
  row->count = 0;
  for (karst_index n = 0; n < all; n++) {
    const double weight = row->weight[n] / -diagonal;
    if (!(fabs(weight) <= limit)) continue;
    row->column[row->count] = row->column[n];
    row->weight[row->count++] = weight;
  }
}

/* Sums the weights of row i and its diagonal. */
KARST_INLINE void sum_weights(const struct source *s, bool single, karst_index i, struct row *row)
{
  const karst_amg_matrix *A = s->A;
  collect_columns(s, i, row);
  row->number[i] = row->count;
  for (karst_index n = 0; n <= row->count; n++) row->weight[n] = 0;
  for (karst_index k = A->row_start[i]; k < A->row_start[i + 1]; k++) {
    const karst_index j = A->column[k];
    const double a = entry(s, single, k);
    if (row->number[j] >= 0)
      row->weight[row->number[j]] += a;
    else if (s->splitting->strong[k] && (s->nature[j] & KIND) == FINE)
      distribute(s, single, i, j, a, row);
    else if ((s->nature[j] & KIND) != ISOLATED)
      row->weight[row->count] += a;
  }
}

/* The rows of P before their number of entries is known. */
struct rows {
  int64_t *start;      /* [rows + 1] the room for each row */
  karst_index *column; /* [start[rows]] */
  double *weight;      /* [start[rows]] */
  int64_t widest;      /* the largest |C_i| at most */
};

/* Makes row i of P and returns its number of entries. */
static karst_index make_entries(const struct source *s, karst_index i, const struct rows *rows, struct row *row)
{
  const double limit = s->single ? FLT_MAX : DBL_MAX;
  karst_index *column = rows->column + rows->start[i];
  double *weight = rows->weight + rows->start[i];
  if ((s->nature[i] & KIND) == ISOLATED) return 0;
  if ((s->nature[i] & KIND) == COARSE) {
    column[0] = s->splitting->place[i];
    weight[0] = 1;
    return 1;
  }
  if (s->single)
    sum_weights(s, true, i, row);
  else
    sum_weights(s, false, i, row);
  divide_row(i, limit, row);
  row->count = karst_amg_truncate_cpu(s->most, limit, row->count, row->column, row->weight);
  for (karst_index n = 0; n < row->count; n++) {
    column[n] = s->splitting->place[row->column[n]];
    weight[n] = row->weight[n];
  }
  return row->count;
}

static karst_status create_row(karst_context *context, karst_index rows, int64_t widest, struct row *row)
{
  static const char what[] = "the work space of an interpolation";
  karst_status status = karst_allocate(context, &row->number, rows, sizeof *row->number, what);
  if (!status) status = karst_allocate(context, &row->column, widest + 1, sizeof *row->column, what);
  if (!status) status = karst_allocate(context, &row->weight, widest + 1, sizeof *row->weight, what);
  if (!status) status = karst_allocate(context, &row->met, KARST_AMG_LONG + 1, sizeof *row->met, what);
  if (!status) status = karst_allocate(context, &row->share, KARST_AMG_LONG + 1, sizeof *row->share, what);
  for (karst_index j = 0; j < rows && !status; j++) row->number[j] = -1;
  return status;
}

/* Takes memory for all rows, from the bounds of |C_i| in rows->start, one element further on. */
static karst_status take_rows(karst_context *context, const struct source *s, struct rows *rows)
{
  static const char what[] = "the rows of an interpolation";
  const karst_index n = s->A->rows;
  rows->start[0] = 0;
  for (karst_index i = 0; i < n; i++) {
    const int64_t room = rows->start[i + 1];
    if (room > rows->widest) rows->widest = room;
    rows->start[i + 1] = rows->start[i] + (room < s->most ? room : s->most);
  }
  const karst_status status = karst_allocate(context, &rows->column, rows->start[n], sizeof *rows->column, what);
  return status ? status : karst_allocate(context, &rows->weight, rows->start[n], sizeof *rows->weight, what);
}

/* Makes all rows; P->row_start gets the number of entries of each. */
static karst_status make_rows(karst_context *context, const struct source *s, const struct rows *rows,
                              karst_amg_matrix *P)
{
  const int64_t work = 8 * s->A->entries; /* each row visits its neighbours' */
  const int threads = karst_threads_for(context, work);
  struct row *row;
  karst_status status = karst_allocate_zero(context, &row, threads, sizeof *row, "the work space of an interpolation");
  if (status) return status;
  for (int t = 0; t < threads && !status; t++) status = create_row(context, s->A->rows, rows->widest, &row[t]);
  if (!status) {
    karst_piece piece = karst_begin_at_most(context, KARST_KIND_ONCE, work, threads);
#pragma omp parallel num_threads(piece.threads)
    {
      const karst_part part = karst_part_rows(&piece, s->A->rows, s->A->row_start);
      for (karst_index i = part.first; i < part.last; i++)
        P->row_start[i + 1] = make_entries(s, i, rows, &row[karst_thread()]);
      karst_part_end(&piece, &part);
    }
    karst_end(context, &piece);
  }
  for (int t = 0; t < threads; t++) {
    karst_release(context, row[t].number);
    karst_release(context, row[t].column);
    karst_release(context, row[t].weight);
    karst_release(context, row[t].met);
    karst_release(context, row[t].share);
  }
  karst_release(context, row);
  return status;
}

static void copy_rows(karst_context *context, bool single, const struct rows *rows, karst_amg_matrix *P)
{
  karst_piece piece = karst_begin(context, KARST_KIND_ONCE, P->entries);
#pragma omp parallel num_threads(piece.threads)
  {
    const karst_part part = karst_part_rows(&piece, P->rows, P->row_start);
    for (karst_index i = part.first; i < part.last; i++) {
      const int64_t from = rows->start[i] - P->row_start[i];
      for (karst_index k = P->row_start[i]; k < P->row_start[i + 1]; k++) {
        P->column[k] = rows->column[from + k];
        karst_amg_store(single, P->value, k, rows->weight[from + k]);
      }
    }
    karst_part_end(&piece, &part);
  }
  karst_end(context, &piece);
}

/* Finds what all rows are, their lists, and the bounds of |C_i|. */
static void classify_all(karst_context *context, const struct source *s, const struct rows *rows)
{
  const karst_amg_matrix *A = s->A;
  karst_piece piece = karst_begin(context, KARST_KIND_ONCE, A->entries);
#pragma omp parallel num_threads(piece.threads)
  {
    const karst_part part = karst_part_rows(&piece, A->rows, A->row_start);
    classify(s, &part);
    karst_part_end(&piece, &part);
  }
  karst_end(context, &piece);
  piece = karst_begin(context, KARST_KIND_ONCE, A->entries);
#pragma omp parallel num_threads(piece.threads)
  {
    const karst_part part = karst_part_rows(&piece, A->rows, A->row_start);
    for (karst_index i = part.first; i < part.last; i++) rows->start[i + 1] = bound(s, i);
    karst_part_end(&piece, &part);
  }
  karst_end(context, &piece);
}

karst_status karst_amg_interpolate_cpu(karst_context *context, const karst_amg *amg, const karst_amg_matrix *A,
                                       const karst_amg_rule *rule, const karst_amg_splitting *splitting,
                                       karst_amg_matrix *P)
{
  static const char what[] = "the interpolation of a multigrid level";
  struct rows rows = {0};
  struct source s = {.single = amg->single, .A = A, .splitting = splitting, .most = rule->most_entries};
  karst_status status = karst_amg_take_cpu(context, &P->row_start, (int64_t)A->rows + 1, sizeof *P->row_start, what);
  if (!status) status = karst_allocate(context, &s.nature, A->rows, sizeof *s.nature, what);
  if (!status) status = karst_allocate(context, &s.begin, A->rows, sizeof *s.begin, what);
  if (!status) status = karst_allocate(context, &s.column, A->entries, sizeof *s.column, what);
  if (!status) status = karst_allocate(context, &s.value, A->entries, karst_amg_scalar(amg), what);
  if (!status) status = karst_allocate(context, &rows.start, (int64_t)A->rows + 1, sizeof *rows.start, what);
  if (status) goto finish;
  P->rows = A->rows;
  P->columns = splitting->coarse;
  classify_all(context, &s, &rows);
  status = take_rows(context, &s, &rows);
  if (!status) status = make_rows(context, &s, &rows, P);
  if (!status) status = karst_amg_take_matrix_cpu(context, amg, what, P);
  if (!status) copy_rows(context, amg->single, &rows, P);
finish:
  karst_release(context, s.nature);
  karst_release(context, s.begin);
  karst_release(context, s.column);
  karst_release(context, s.value);
  karst_release(context, rows.start);
  karst_release(context, rows.column);
  karst_release(context, rows.weight);
  return status;
}
