/* split.c - PMIS: which rows of a level make the next one (De Sterck, Yang, Heys: Reducing complexity in parallel
 * algebraic multigrid preconditioners, SIAM J. Matrix Anal. Appl. 27 (2006)).
 *
 * A row without strong couplings, or on which no row depends strongly, becomes F at once. In each round, of every
 * pair of undecided rows with a strong coupling in either direction the one of smaller measure loses; those that lost
 * to no other row become C, and undecided rows that depend strongly on a C row become F. The result is the one of a
 * single walk through the rows in the order of their measures. */
#include "cpu/amg/amg_cpu.h"

/* place[i] during the rounds; later the number of a C row. */
enum { COARSE = 0, FINE = -1, UNDECIDED = -2 };

typedef struct karst_amg_rounds {
  const karst_amg_matrix *A;
  const unsigned char *strong;
  const karst_index *number; /* of karst_amg_rule */
  karst_index *place;
  karst_index *list;   /* [rows] the undecided rows of each thread, from its first row on */
  uint64_t *measure;   /* [rows] */
  unsigned char *lost; /* [rows] whether a row lost in this round */
  karst_index decided; /* rows, as far as all threads have counted them */
  int rounds;
  karst_barrier barrier;
} karst_amg_rounds;

static bool is_above(const karst_amg_rounds *r, karst_index i, karst_index j)
{
  return r->measure[i] != r->measure[j] ? r->measure[i] > r->measure[j] : i > j;
}

/* Counts the rows that depend strongly on each row, in measure. Sums of integers have no order. */
static void count_dependents(karst_amg_rounds *r, unsigned char *strong, bool single, double strength,
                             const karst_part *part)
{
  const bool alone = karst_team() == 1;
  for (karst_index i = part->first; i < part->last; i++) {
    const bool isolated = single ? !karst_amg_find_strong(true, r->A, strength, i, strong)
                                 : !karst_amg_find_strong(false, r->A, strength, i, strong);
    r->place[i] = isolated ? FINE : UNDECIDED;
    for (karst_index k = r->A->row_start[i]; k < r->A->row_start[i + 1]; k++)
      if (alone)
        r->measure[r->A->column[k]] += strong[k];
      else if (strong[k])
        __atomic_fetch_add(&r->measure[r->A->column[k]], 1, __ATOMIC_RELAXED);
  }
}

/* Lists the undecided rows of a part and returns their number. */
static karst_index list_rows(karst_amg_rounds *r, const karst_part *part)
{
  karst_index count = 0;
  for (karst_index i = part->first; i < part->last; i++) {
    const bool is_long = r->A->row_start[i + 1] - r->A->row_start[i] > KARST_AMG_LONG;
    if (r->measure[i] == 0) r->place[i] = FINE;
    if (r->place[i] == UNDECIDED) r->list[part->first + count++] = i;
    r->measure[i] = karst_amg_measure(r->number ? r->number[i] : i, (uint32_t)r->measure[i], is_long);
  }
  return count;
}

/* Marks the losers of a round. Several threads may mark the same row. */
static void mark_losers(karst_amg_rounds *r, const karst_index *list, karst_index count)
{
  for (karst_index n = 0; n < count; n++) {
    const karst_index i = list[n];
    for (karst_index k = r->A->row_start[i]; k < r->A->row_start[i + 1]; k++) {
      const karst_index j = r->A->column[k];
      if (r->strong[k] && r->place[j] == UNDECIDED)
        __atomic_store_n(&r->lost[is_above(r, i, j) ? j : i], 1, __ATOMIC_RELAXED);
    }
  }
}

static void take_winners(karst_amg_rounds *r, const karst_index *list, karst_index count)
{
  for (karst_index n = 0; n < count; n++) {
    if (!r->lost[list[n]]) r->place[list[n]] = COARSE;
    r->lost[list[n]] = 0;
  }
}

/* Makes F rows of those that depend strongly on a C row, and returns how many rows remain on the list. Other threads
 * make F rows at the same time, which are not C before or after. */
static karst_index drop_neighbours(karst_amg_rounds *r, karst_index *list, karst_index count)
{
  karst_index left = 0;
  for (karst_index n = 0; n < count; n++) {
    const karst_index i = list[n];
    bool fine = false;
    if (r->place[i] == COARSE) continue;
    for (karst_index k = r->A->row_start[i]; k < r->A->row_start[i + 1] && !fine; k++)
      fine = r->strong[k] && __atomic_load_n(&r->place[r->A->column[k]], __ATOMIC_RELAXED) == COARSE;
    if (fine)
      __atomic_store_n(&r->place[i], FINE, __ATOMIC_RELAXED);
    else
      list[left++] = i;
  }
  return left;
}

/* All rounds, as one thread sees them; strong is r->strong. */
static void split_rounds(karst_amg_rounds *r, unsigned char *strong, bool single, double strength,
                         const karst_part *part)
{
  const int team = karst_team();
  karst_index *list = r->list + part->first;
  count_dependents(r, strong, single, strength, part);
  karst_barrier_wait(&r->barrier, team);
  karst_index count = list_rows(r, part), decided = part->last - part->first - count;
  for (int round = 0;; round++) {
    __atomic_fetch_add(&r->decided, decided, __ATOMIC_RELAXED);
    karst_barrier_wait(&r->barrier, team);
    if (__atomic_load_n(&r->decided, __ATOMIC_RELAXED) == r->A->rows) {
      if (karst_thread() == 0) r->rounds = round;
      return;
    }
    mark_losers(r, list, count);
    karst_barrier_wait(&r->barrier, team);
    take_winners(r, list, count);
    karst_barrier_wait(&r->barrier, team);
    const karst_index left = drop_neighbours(r, list, count);
    decided = count - left;
    count = left;
  }
}

/* Numbers the C rows and returns how many there are. */
static karst_index number_rows(karst_index rows, karst_index *place)
{
  karst_index coarse = 0;
  for (karst_index i = 0; i < rows; i++)
    if (place[i] == COARSE) place[i] = coarse++;
  return coarse;
}

karst_status karst_amg_split_cpu(karst_context *context, const karst_amg *amg, const karst_amg_matrix *A,
                                 const karst_amg_rule *rule, karst_amg_splitting *splitting)
{
  static const char what[] = "the splitting of a multigrid level";
  karst_amg_rounds r = {.A = A, .number = rule->number};
  karst_status status = karst_amg_take_cpu(context, &splitting->place, A->rows, sizeof *splitting->place, what);
  if (!status) status = karst_amg_take_cpu(context, &splitting->strong, A->entries, 1, what);
  if (!status) status = karst_allocate_zero(context, &r.measure, A->rows, sizeof *r.measure, what);
  if (!status) status = karst_allocate_zero(context, &r.lost, A->rows, 1, what);
  if (!status) status = karst_allocate(context, &r.list, A->rows, sizeof *r.list, what);
  if (status) goto finish;
  r.place = splitting->place;
  r.strong = splitting->strong;
  karst_piece piece = karst_begin(context, KARST_KIND_ONCE, A->entries);
#pragma omp parallel num_threads(piece.threads)
  {
    const karst_part part = karst_part_rows(&piece, A->rows, A->row_start);
    split_rounds(&r, splitting->strong, amg->single, rule->strength, &part);
    karst_part_end(&piece, &part);
  }
  karst_end(context, &piece);
  splitting->coarse = number_rows(A->rows, splitting->place);
  splitting->rounds = r.rounds;
finish:
  karst_release(context, r.measure);
  karst_release(context, r.lost);
  karst_release(context, r.list);
  return status;
}
