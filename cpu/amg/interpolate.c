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

/* What a row is to others. */
enum { ISOLATED, LONG, FINE, COARSE };

/* What all threads read. */
struct source {
  bool single;
  const karst_amg_matrix *A;
  const karst_amg_splitting *splitting;
  karst_index most;
  const unsigned char *kind;     /* [rows] */
  const unsigned char *negative; /* [rows] whether the diagonal entry is below 0 */
  const karst_index *c_start;    /* [rows + 1] for the C rows on which each row depends strongly */
  const karst_index *c_column;   /* [c_start[rows]] */
};

/* The row of one thread. The diagonal d_i has the number count while weights are summed. */
struct row {
  karst_index *number; /* [rows] the number in this row of C row j, else -1 */
  karst_index *column; /* [widest + 1] */
  double *weight;      /* [widest + 1] */
  karst_index count;
  karst_index *met; /* [KARST_AMG_LONG] the numbers that a neighbour's row meets, */
  double *share;    /* [KARST_AMG_LONG] and its entries there */
};

KARST_INLINE double entry(const struct source *s, bool single, karst_index k)
{
  return karst_amg_value(single, s->A->value, k);
}

/* Finds what each row is, and counts the C rows on which it depends strongly in c_start, one element further on. */
static void classify(const struct source *s, const karst_part *part, unsigned char *kind, unsigned char *negative,
                     karst_index *c_start)
{
  const karst_amg_matrix *A = s->A;
  for (karst_index i = part->first; i < part->last; i++) {
    bool strong = false;
    karst_index count = 0;
    negative[i] = 0;
    for (karst_index k = A->row_start[i]; k < A->row_start[i + 1]; k++) {
      strong = strong || s->splitting->strong[k];
      count += s->splitting->strong[k] && s->splitting->place[A->column[k]] >= 0;
      if (A->column[k] == i) negative[i] = entry(s, s->single, k) < 0;
    }
    c_start[i + 1] = count;
    if (s->splitting->place[i] >= 0)
      kind[i] = COARSE;
    else if (!strong)
      kind[i] = ISOLATED;
    else
      kind[i] = A->row_start[i + 1] - A->row_start[i] > KARST_AMG_LONG ? LONG : FINE;
  }
}

/* Lists the C rows on which each row depends strongly. */
static void list_dependences(const struct source *s, const karst_part *part, karst_index *c_column)
{
  for (karst_index i = part->first; i < part->last; i++) {
    karst_index next = s->c_start[i];
    for (karst_index k = s->A->row_start[i]; k < s->A->row_start[i + 1]; k++)
      if (s->splitting->strong[k] && s->kind[s->A->column[k]] == COARSE) c_column[next++] = s->A->column[k];
  }
}

/* Returns an upper bound of |C_i|. */
static int64_t bound(const struct source *s, karst_index i)
{
  int64_t most = s->c_start[i + 1] - s->c_start[i];
  if (s->kind[i] == COARSE) return 1;
  if (s->kind[i] == ISOLATED) return 0;
  for (karst_index k = s->A->row_start[i]; k < s->A->row_start[i + 1]; k++) {
    const karst_index j = s->A->column[k];
    if (s->splitting->strong[k] && s->kind[j] == FINE) most += s->c_start[j + 1] - s->c_start[j];
  }
  return most < s->A->rows ? most : s->A->rows;
}

/* Adds the C rows on which row i depends strongly. */
static void add_dependences(const struct source *s, karst_index i, struct row *row)
{
  for (karst_index k = s->c_start[i]; k < s->c_start[i + 1]; k++) {
    const karst_index j = s->c_column[k];
    const bool is_new = row->number[j] < 0; /* as a number: a branch would often be mispredicted */
    row->number[j] = is_new ? row->count : row->number[j];
    row->column[row->count] = j;
    row->count += is_new;
  }
}

/* Distributes a_ik = a over C_i and the diagonal by row k. */
KARST_INLINE void distribute(const struct source *s, bool single, karst_index k, double a, struct row *row)
{
  const double sign = s->negative[k] ? -1 : 1;
  karst_index count = 0;
  double sum = 0;
  for (karst_index q = s->A->row_start[k]; q < s->A->row_start[k + 1]; q++) {
    const double b = entry(s, single, q);
    const karst_index number = row->number[s->A->column[q]];
    row->met[count] = number;
    row->share[count] = b;
    count += (number >= 0) & (sign * b < 0);
  }
  for (karst_index n = 0; n < count; n++) sum += row->share[n];
  if (sum == 0) {
    row->weight[row->count] += a;
    return;
  }
  const double part = a / sum;
  for (karst_index n = 0; n < count; n++) row->weight[row->met[n]] += part * row->share[n];
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
  row->count = 0;
  add_dependences(s, i, row);
  for (karst_index k = A->row_start[i]; k < A->row_start[i + 1]; k++)
    if (s->splitting->strong[k] && s->kind[A->column[k]] == FINE) add_dependences(s, A->column[k], row);
  row->number[i] = row->count;
  for (karst_index n = 0; n <= row->count; n++) row->weight[n] = 0;
  for (karst_index k = A->row_start[i]; k < A->row_start[i + 1]; k++) {
    const karst_index j = A->column[k];
    const double a = entry(s, single, k);
    if (row->number[j] >= 0)
      row->weight[row->number[j]] += a;
    else if (s->splitting->strong[k] && s->kind[j] == FINE)
      distribute(s, single, j, a, row);
    else if (s->kind[j] != ISOLATED)
      row->weight[row->count] += a;
  }
}

/* Whether entry m of a row is kept rather than entry n. */
static bool is_larger(const struct row *row, karst_index m, karst_index n)
{
  const double a = fabs(row->weight[m]), b = fabs(row->weight[n]);
  return a > b || (a == b && row->column[m] < row->column[n]);
}

static void exchange_entries(struct row *row, karst_index m, karst_index n)
{
  const karst_index column = row->column[m];
  const double weight = row->weight[m];
  row->column[m] = row->column[n];
  row->weight[m] = row->weight[n];
  row->column[n] = column;
  row->weight[n] = weight;
}

/* Moves entry n down the heap of the first count entries, whose smallest one is at its top. */
static void sift(struct row *row, karst_index n, karst_index count)
{
  for (karst_index child = 2 * n + 1; child < count; n = child, child = 2 * n + 1) {
    if (child + 1 < count && is_larger(row, child, child + 1)) child++;
    if (!is_larger(row, n, child)) return;
    exchange_entries(row, n, child);
  }
}

/* Keeps the most largest weights and scales them so that their sum stays, unless one would exceed limit. */
static void truncate_row(karst_index most, double limit, struct row *row)
{
  double all = 0, kept = 0, largest = 0;
  if (row->count <= most) return;
  for (karst_index n = 0; n < row->count; n++) all += row->weight[n];
  for (karst_index n = most / 2; n-- > 0;) sift(row, n, most);
  for (karst_index n = most; n < row->count; n++) {
    if (!is_larger(row, n, 0)) continue;
    exchange_entries(row, n, 0);
    sift(row, 0, most);
  }
  row->count = most;
  for (karst_index n = 0; n < most; n++) {
    kept += row->weight[n];
    largest = fmax(largest, fabs(row->weight[n]));
  }
  if (kept == 0 || !(fabs(all / kept) * largest <= limit)) return;
  for (karst_index n = 0; n < most; n++) row->weight[n] *= all / kept;
}

/* Sorts the few entries of a truncated row by columns. */
static void sort_entries(struct row *row)
{
  for (karst_index m = 1; m < row->count; m++)
    for (karst_index n = m; n > 0 && row->column[n] < row->column[n - 1]; n--) exchange_entries(row, n, n - 1);
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
  if (s->kind[i] == ISOLATED) return 0;
  if (s->kind[i] == COARSE) {
    column[0] = s->splitting->place[i];
    weight[0] = 1;
    return 1;
  }
  if (s->single)
    sum_weights(s, true, i, row);
  else
    sum_weights(s, false, i, row);
  divide_row(i, limit, row);
  truncate_row(s->most, limit, row);
  sort_entries(row);
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
  if (!status) status = karst_allocate(context, &row->met, KARST_AMG_LONG, sizeof *row->met, what);
  if (!status) status = karst_allocate(context, &row->share, KARST_AMG_LONG, sizeof *row->share, what);
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

/* Finds what all rows are, on which C rows they depend, and the bounds of |C_i|. All arrays but c_column are there. */
static karst_status classify_all(karst_context *context, struct source *s, unsigned char *kind, unsigned char *negative,
                                 karst_index *c_start, karst_index **c_column, struct rows *rows)
{
  const karst_amg_matrix *A = s->A;
  karst_piece piece = karst_begin(context, KARST_KIND_ONCE, A->entries);
#pragma omp parallel num_threads(piece.threads)
  {
    const karst_part part = karst_part_rows(&piece, A->rows, A->row_start);
    classify(s, &part, kind, negative, c_start);
    karst_part_end(&piece, &part);
  }
  karst_end(context, &piece);
  c_start[0] = 0;
  for (karst_index i = 0; i < A->rows; i++) c_start[i + 1] += c_start[i];
  const karst_status status =
      karst_allocate(context, c_column, c_start[A->rows], sizeof **c_column, "the strong couplings of a level");
  if (status) return status;
  s->c_column = *c_column;
  piece = karst_begin(context, KARST_KIND_ONCE, 2 * A->entries);
#pragma omp parallel num_threads(piece.threads)
  {
    const karst_part part = karst_part_rows(&piece, A->rows, A->row_start);
    list_dependences(s, &part, *c_column);
    for (karst_index i = part.first; i < part.last; i++) rows->start[i + 1] = bound(s, i);
    karst_part_end(&piece, &part);
  }
  karst_end(context, &piece);
  return KARST_SUCCESS;
}

karst_status karst_amg_interpolate_cpu(karst_context *context, const karst_amg *amg, const karst_amg_matrix *A,
                                       const karst_amg_rule *rule, const karst_amg_splitting *splitting,
                                       karst_amg_matrix *P)
{
  static const char what[] = "the interpolation of a multigrid level";
  struct rows rows = {0};
  unsigned char *kind = NULL, *negative = NULL;
  karst_index *c_start = NULL, *c_column = NULL;
  karst_status status = karst_amg_take_cpu(context, &P->row_start, (int64_t)A->rows + 1, sizeof *P->row_start, what);
  if (!status) status = karst_allocate(context, &kind, A->rows, 1, what);
  if (!status) status = karst_allocate(context, &negative, A->rows, 1, what);
  if (!status) status = karst_allocate(context, &c_start, (int64_t)A->rows + 1, sizeof *c_start, what);
  if (!status) status = karst_allocate(context, &rows.start, (int64_t)A->rows + 1, sizeof *rows.start, what);
  if (status) goto finish;
  P->rows = A->rows;
  P->columns = splitting->coarse;
  struct source s = {.single = amg->single,
                     .A = A,
                     .splitting = splitting,
                     .most = rule->most_entries,
                     .kind = kind,
                     .negative = negative,
                     .c_start = c_start};
  status = classify_all(context, &s, kind, negative, c_start, &c_column, &rows);
  if (!status) status = take_rows(context, &s, &rows);
  if (!status) status = make_rows(context, &s, &rows, P);
  if (!status) status = karst_amg_take_matrix_cpu(context, amg, what, P);
  if (!status) copy_rows(context, amg->single, &rows, P);
finish:
  karst_release(context, kind);
  karst_release(context, negative);
  karst_release(context, c_start);
  karst_release(context, c_column);
  karst_release(context, rows.start);
  karst_release(context, rows.column);
  karst_release(context, rows.weight);
  return status;
}
