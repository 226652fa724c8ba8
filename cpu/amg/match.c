/* match.c - aggregation: pairs of rows by handshakes, as in AmgX and Ginkgo's PGM.
 *
 * The weight of a coupling is (|a_ij| + |a_ji|) / max(|a_ii|, |a_jj|) where a_ij is strong for row i, else 0. In each
 * round every free row points at its free neighbour of largest weight; weights and ties are the same from both sides of
 * a coupling, so that two rows point at each other wherever a coupling is the heaviest of both. Rows left over join the
 * pair of their heaviest neighbour in a pair. */
#include "cpu/amg/amg_cpu.h"

#include "lib/base/search.h"

#include <math.h>

enum { ROUNDS = 15, NOBODY = -1, ISOLATED = -2 };

struct matching {
  bool single;
  const karst_amg_matrix *A;
  double strength;
  double *weight;       /* [entries] */
  double *diagonal;     /* [rows] |a_ii| */
  karst_index *mate;    /* [rows] the other row of the pair, NOBODY or ISOLATED */
  karst_index *pointed; /* [rows] */
  karst_index *root;    /* [rows] a row of the same pair, the same for all rows of an aggregate */
  karst_index paired;   /* rows, as far as all threads have counted them */
  int rounds;
  karst_barrier barrier;
};

/* Marks strong couplings by a weight of 1 and finds the diagonal, row by row. */
static void begin_rows(struct matching *m, unsigned char *strong, const karst_part *part)
{
  const karst_amg_matrix *A = m->A;
  for (karst_index i = part->first; i < part->last; i++) {
    const bool coupled = m->single ? karst_amg_find_strong(true, A, m->strength, i, strong)
                                   : karst_amg_find_strong(false, A, m->strength, i, strong);
    m->mate[i] = coupled ? NOBODY : ISOLATED;
    m->pointed[i] = NOBODY;
    m->diagonal[i] = 0;
    for (karst_index k = A->row_start[i]; k < A->row_start[i + 1]; k++)
      if (A->column[k] == i) m->diagonal[i] = fabs(karst_amg_value(m->single, A->value, k));
  }
}

/* Computes the weights of a row's couplings. Without diagonals they are infinite, and equal. */
static void weigh_couplings(struct matching *m, const unsigned char *strong, const karst_part *part)
{
  const karst_amg_matrix *A = m->A;
  for (karst_index i = part->first; i < part->last; i++)
    for (karst_index k = A->row_start[i]; k < A->row_start[i + 1]; k++) {
      const karst_index j = A->column[k];
      m->weight[k] = 0;
      if (!strong[k] || m->mate[j] == ISOLATED) continue;
      const karst_index image = karst_find_column(A->column, A->row_start[j], A->row_start[j + 1], i);
      const double both = fabs(karst_amg_value(m->single, A->value, k)) +
                          (image < 0 ? 0 : fabs(karst_amg_value(m->single, A->value, image)));
      const double size = fmax(m->diagonal[i], m->diagonal[j]);
      m->weight[k] = size > 0 ? both / size : HUGE_VAL;
    }
}

/* Returns the neighbour of largest weight of row i among those that are free, or among those in a pair. */
static karst_index heaviest(const struct matching *m, karst_index i, bool in_pair)
{
  karst_index best = NOBODY;
  double weight = 0;
  for (karst_index k = m->A->row_start[i]; k < m->A->row_start[i + 1]; k++) {
    const karst_index j = m->A->column[k];
    if (m->weight[k] == 0 || m->weight[k] < weight || (m->mate[j] >= 0) != in_pair) continue;
    if (m->weight[k] == weight && karst_amg_tie(i, j) <= karst_amg_tie(i, best)) continue;
    best = j;
    weight = m->weight[k];
  }
  return best;
}

/* Points anew from the free rows whose last choice has found another mate. */
static void point(struct matching *m, const karst_part *part, bool first)
{
  for (karst_index i = part->first; i < part->last; i++)
    if (m->mate[i] == NOBODY && (first || (m->pointed[i] >= 0 && m->mate[m->pointed[i]] >= 0)))
      m->pointed[i] = heaviest(m, i, false);
}

static karst_index shake_hands(struct matching *m, const karst_part *part)
{
  karst_index paired = 0;
  for (karst_index i = part->first; i < part->last; i++) {
    const karst_index j = m->pointed[i];
    if (m->mate[i] != NOBODY || j < 0 || m->pointed[j] != i) continue;
    m->mate[i] = j;
    paired++;
  }
  return paired;
}

/* All rounds, as one thread sees them. */
static void match_rounds(struct matching *m, unsigned char *strong, const karst_part *part)
{
  const int team = karst_team();
  karst_index before = 0;
  begin_rows(m, strong, part);
  karst_barrier_wait(&m->barrier, team);
  weigh_couplings(m, strong, part);
  for (int round = 0; round < ROUNDS; round++) {
    point(m, part, round == 0);
    karst_barrier_wait(&m->barrier, team);
    __atomic_fetch_add(&m->paired, shake_hands(m, part), __ATOMIC_RELAXED);
    karst_barrier_wait(&m->barrier, team);
    const karst_index paired = __atomic_load_n(&m->paired, __ATOMIC_RELAXED);
    if (karst_thread() == 0) m->rounds = round + 1;
    if (paired == before) break;
    before = paired;
  }
  for (karst_index i = part->first; i < part->last; i++) {
    const karst_index j = m->mate[i] == NOBODY ? heaviest(m, i, true) : i;
    m->root[i] = m->mate[i] == ISOLATED ? NOBODY : j < 0 ? i : m->mate[j] >= 0 && m->mate[j] < j ? m->mate[j] : j;
  }
}

/* Numbers the aggregates in the order of their first rows and returns how many there are. number: [rows] work space */
static karst_index number_aggregates(karst_index rows, const karst_index *root, karst_index *number, karst_index *place)
{
  karst_index count = 0;
  for (karst_index i = 0; i < rows; i++) number[i] = -1;
  for (karst_index i = 0; i < rows; i++) {
    if (root[i] >= 0 && number[root[i]] < 0) number[root[i]] = count++;
    place[i] = root[i] < 0 ? -1 : number[root[i]];
  }
  return count;
}

karst_status karst_amg_match_cpu(karst_context *context, const karst_amg *amg, const karst_amg_matrix *A,
                                 const karst_amg_rule *rule, karst_amg_splitting *splitting)
{
  static const char what[] = "the pairs of a multigrid level";
  struct matching m = {.single = amg->single, .A = A, .strength = rule->strength};
  unsigned char *strong = NULL;
  karst_status status = karst_amg_take_cpu(context, &splitting->place, A->rows, sizeof *splitting->place, what);
  if (!status) status = karst_allocate(context, &strong, A->entries, 1, what);
  if (!status) status = karst_allocate(context, &m.weight, A->entries, sizeof *m.weight, what);
  if (!status) status = karst_allocate(context, &m.diagonal, A->rows, sizeof *m.diagonal, what);
  if (!status) status = karst_allocate(context, &m.mate, A->rows, sizeof *m.mate, what);
  if (!status) status = karst_allocate(context, &m.pointed, A->rows, sizeof *m.pointed, what);
  if (!status) status = karst_allocate(context, &m.root, A->rows, sizeof *m.root, what);
  if (status) goto finish;
  karst_piece piece = karst_begin(context, KARST_KIND_ONCE, 2 * A->entries);
#pragma omp parallel num_threads(piece.threads)
  {
    const karst_part part = karst_part_rows(&piece, A->rows, A->row_start);
    match_rounds(&m, strong, &part);
    karst_part_end(&piece, &part);
  }
  karst_end(context, &piece);
  splitting->coarse = number_aggregates(A->rows, m.root, m.pointed, splitting->place);
  splitting->rounds = m.rounds;
finish:
  karst_release(context, strong);
  karst_release(context, m.weight);
  karst_release(context, m.diagonal);
  karst_release(context, m.mate);
  karst_release(context, m.pointed);
  karst_release(context, m.root);
  return status;
}

void karst_amg_compose_cpu(karst_context *context, karst_index rows, karst_amg_splitting *splitting,
                           const karst_amg_splitting *next)
{
  (void)context;
  for (karst_index i = 0; i < rows; i++)
    if (splitting->place[i] >= 0) splitting->place[i] = next->place[splitting->place[i]];
  splitting->coarse = next->coarse;
}

karst_status karst_amg_aggregate_cpu(karst_context *context, const karst_amg *amg, karst_index rows,
                                     const karst_amg_splitting *splitting, karst_amg_matrix *P)
{
  static const char what[] = "the interpolation of a multigrid level";
  karst_status status = karst_amg_take_cpu(context, &P->row_start, (int64_t)rows + 1, sizeof *P->row_start, what);
  if (status) return status;
  P->rows = rows;
  P->columns = splitting->coarse;
  for (karst_index i = 0; i < rows; i++) P->row_start[i + 1] = splitting->place[i] >= 0;
  status = karst_amg_take_matrix_cpu(context, amg, what, P);
  if (status) return status;
  for (karst_index i = 0; i < rows; i++) {
    if (splitting->place[i] < 0) continue;
    P->column[P->row_start[i]] = splitting->place[i];
    karst_amg_store(amg->single, P->value, P->row_start[i], 1);
  }
  return KARST_SUCCESS;
}
