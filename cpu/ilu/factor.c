/* factor.c - block ILU on a given pattern (Yang, Liu, He, Chen, Algorithm 4), on the CPU.
 *
 * Row i of A is spread over the row's pattern; then, for each p < i in the pattern, ascending,
 *
 *     a_ij -= a_ip U'_pj          for the j > p in both patterns
 *
 * with a_ip not yet multiplied by D_p^-1: as L_ip U_pj = (a_ip D_p^-1) (D_p U'_pj), the split U = D U' of equation (5)
 * costs nothing extra. At the end of the row D_i = a_ii is inverted, L_ip = a_ip D_p^-1 and U'_ij = D_i^-1 a_ij.
 *
 * With the option modified R, before that,
 *
 *     a_ii -= R a_ip sum_j U'_pj      over the j > p that the pattern of row i has no place for
 *
 * which for R = 1 gives L U the block row sums of A (Gustafsson: A class of first order factorization methods, BIT 18
 * (1978)). */
#include "cpu/ilu/ilu_cpu.h"

#include "cpu/cpu.h"
#include "lib/backend/dense.h"
#include "lib/base/search.h"

#include <string.h>

/* Numbers the columns of row i (L, diagonal, U) in w->position and returns their count; forget undoes it. */
KARST_INLINE karst_index number_columns(const karst_ilu *ilu, karst_index i, karst_ilu_workspace *w)
{
  karst_index count = 0;
  for (karst_index k = ilu->lower_start[i]; k < ilu->lower_start[i + 1]; k++)
    w->position[ilu->lower_column[k]] = count++;
  w->position[i] = count++;
  for (karst_index k = ilu->upper_start[i]; k < ilu->upper_start[i + 1]; k++)
    w->position[ilu->upper_column[k]] = count++;
  return count;
}

KARST_INLINE void forget_columns(const karst_ilu *ilu, karst_index i, karst_ilu_workspace *w)
{
  for (karst_index k = ilu->lower_start[i]; k < ilu->lower_start[i + 1]; k++) w->position[ilu->lower_column[k]] = -1;
  w->position[i] = -1;
  for (karst_index k = ilu->upper_start[i]; k < ilu->upper_start[i + 1]; k++) w->position[ilu->upper_column[k]] = -1;
}

/* The size of the diagonal block of the current row (lib/backend/dense.h). */
KARST_INLINE double *size_of_pivot(int b, const karst_ilu_workspace *w) { return w->block + (int64_t)b * b; }

/* Spreads row i of A over the pattern, into w->row. A row without fill has the same blocks in the same order. */
KARST_INLINE void spread_row(int b, const karst_matrix *A, karst_index i, karst_index width, karst_ilu_workspace *w)
{
  const int64_t bb = (int64_t)b * b;
  if (A->row_start[i + 1] - A->row_start[i] == width) {
    const double *value = A->value + A->row_start[i] * bb;
    for (karst_index k = 0; k < width; k++)
      for (int64_t v = 0; v < bb; v++) w->row[k * bb + v] = value[k * bb + v];
    return;
  }
  for (int64_t v = 0; v < width * bb; v++) w->row[v] = 0;
  for (karst_index k = A->row_start[i]; k < A->row_start[i + 1]; k++)
    for (int64_t v = 0; v < bb; v++) w->row[w->position[A->column[k]] * bb + v] = A->value[k * bb + v];
}

/* Returns the column of the block at position of row i. L comes first, then the diagonal, then U. */
KARST_INLINE karst_index column_at(const karst_ilu *ilu, karst_index i, karst_index position)
{
  const karst_index lower = ilu->lower_start[i + 1] - ilu->lower_start[i];
  if (position < lower) return ilu->lower_column[ilu->lower_start[i] + position];
  return position == lower ? i : ilu->upper_column[ilu->upper_start[i] + (position - lower - 1)];
}

/* Subtracts the products of row i with a row p of U' that is much longer. Row p is searched for the columns of row i
 * that follow p, in the order in which a walk along row p would find them. pivot is the position of a_ip. Returns
 * whether a product was subtracted from the diagonal block. */
KARST_INLINE bool eliminate_by_search(int b, const karst_ilu *ilu, karst_index i, karst_index p, karst_index pivot,
                                      karst_index width, karst_ilu_workspace *w)
{
  const int64_t bb = (int64_t)b * b;
  const karst_index end = ilu->upper_start[p + 1];
  karst_index k = ilu->upper_start[p];
  bool met = false;
  for (karst_index position = pivot + 1; position < width; position++) {
    const karst_index j = column_at(ilu, i, position);
    k = karst_lower_bound(ilu->upper_column, k, end, j);
    if (k == end || ilu->upper_column[k] != j) continue;
    karst_block_subtract_multiply(b, w->row + pivot * bb, ilu->upper + k * bb, w->row + position * bb);
    met |= j == i;
  }
  return met;
}

/* Does the same by a walk along the row. */
KARST_INLINE bool eliminate_by_walk(int b, const karst_ilu *ilu, karst_index i, karst_index p, karst_index pivot,
                                    karst_ilu_workspace *w)
{
  const int64_t bb = (int64_t)b * b;
  bool met = false;
  for (karst_index k = ilu->upper_start[p]; k < ilu->upper_start[p + 1]; k++) {
    const karst_index j = ilu->upper_column[k], position = w->position[j];
    if (position < 0) continue;
    karst_block_subtract_multiply(b, w->row + pivot * bb, ilu->upper + k * bb, w->row + position * bb);
    met |= j == i;
  }
  return met;
}

/* Subtracts all products from row i, and sums the size of its diagonal block. searching: whether rows of U' that are
 * much longer than row i are searched. */
KARST_INLINE void eliminate(int b, bool searching, const karst_ilu *ilu, karst_index i, karst_index width,
                            karst_ilu_workspace *w)
{
  const int64_t bb = (int64_t)b * b;
  const karst_index first = ilu->lower_start[i], lower = ilu->lower_start[i + 1] - first;
  const double *diagonal = w->row + lower * bb;
  double *size = size_of_pivot(b, w);
  for (int64_t v = 0; v < bb; v++) size[v] = fabs(diagonal[v]);
  for (karst_index pivot = 0; pivot < lower; pivot++) {
    const karst_index p = ilu->lower_column[first + pivot];
    bool met;
    if (searching && karst_ilu_searches(ilu->upper_start[p + 1] - ilu->upper_start[p], width))
      met = eliminate_by_search(b, ilu, i, p, pivot, width, w);
    else
      met = eliminate_by_walk(b, ilu, i, p, pivot, w);
    if (met) karst_block_add_size(b, diagonal, size);
  }
}

/* Sums the blocks of row p of U' whose columns are not in the pattern of row i, into dropped. */
KARST_INLINE void sum_dropped(int b, const karst_ilu *ilu, karst_index p, const karst_ilu_workspace *w, double *dropped)
{
  const int64_t bb = (int64_t)b * b;
  for (int64_t v = 0; v < bb; v++) dropped[v] = 0;
  for (karst_index k = ilu->upper_start[p]; k < ilu->upper_start[p + 1]; k++)
    for (int64_t v = 0; v < bb && w->position[ilu->upper_column[k]] < 0; v++) dropped[v] += ilu->upper[k * bb + v];
}

/* Does the same for a row p of U' that is much longer than row i, from the sum of all its blocks. pivot is the position
 * of a_ip. */
KARST_INLINE void sum_dropped_by_search(int b, const karst_ilu *ilu, karst_index i, karst_index p, karst_index pivot,
                                        karst_index width, double *dropped)
{
  const int64_t bb = (int64_t)b * b;
  const karst_ilu_plan *plan = ilu->plan;
  const karst_index end = ilu->upper_start[p + 1];
  karst_index k = ilu->upper_start[p];
  for (int64_t v = 0; v < bb; v++) dropped[v] = plan->row_sum[p * bb + v];
  for (karst_index position = pivot + 1; position < width; position++) {
    const karst_index j = column_at(ilu, i, position);
    k = karst_lower_bound(ilu->upper_column, k, end, j);
    for (int64_t v = 0; v < bb && k < end && ilu->upper_column[k] == j; v++) dropped[v] -= ilu->upper[k * bb + v];
  }
}

/* Subtracts R times the products that the pattern has no place for from the diagonal block of row i, whose a_ip are
 * final. */
KARST_INLINE void subtract_dropped(int b, double modified, const karst_ilu *ilu, karst_index i, karst_index width,
                                   karst_ilu_workspace *w)
{
  const int64_t bb = (int64_t)b * b;
  const karst_index lower = ilu->lower_start[i + 1] - ilu->lower_start[i];
  for (karst_index pivot = 0; pivot < lower; pivot++) {
    const karst_index p = ilu->lower_column[ilu->lower_start[i] + pivot];
    if (karst_ilu_searches(ilu->upper_start[p + 1] - ilu->upper_start[p], width))
      sum_dropped_by_search(b, ilu, i, p, pivot, width, w->block);
    else
      sum_dropped(b, ilu, p, w, w->block);
    for (int64_t v = 0; v < bb; v++) w->block[v] *= modified;
    karst_block_subtract_multiply(b, w->row + pivot * bb, w->block, w->row + lower * bb);
    karst_block_add_size(b, w->row + lower * bb, size_of_pivot(b, w));
  }
}

/* Inverts the diagonal block of the row into ilu->inverse_diagonal. A singular one is replaced if shift > 0. */
KARST_INLINE void invert_pivot(int b, const karst_matrix *A, karst_ilu *ilu, karst_index i, karst_index width,
                               double shift, karst_ilu_workspace *w, karst_thread_outcome *f)
{
  const int64_t bb = (int64_t)b * b;
  const double *diagonal = w->row + (ilu->lower_start[i + 1] - ilu->lower_start[i]) * bb;
  double *inverse = ilu->inverse_diagonal + i * bb, largest = 0;
  double *size = size_of_pivot(b, w);
  karst_reason reason = karst_block_inverse(b, diagonal, size, inverse, size + bb, w->pivot);
  if (reason == KARST_SOUND) return;
  for (karst_index k = 0; k < width; k++) largest = fmax(largest, karst_block_norm(b, w->row + k * bb));
  karst_ilu_shift_pivot(b, A, i, reason, shift, largest, inverse, f);
}

/* Stores L_ip = a_ip D_p^-1 and U'_ij = D_i^-1 a_ij, and the rounded factors. Rows that follow need U' and D^-1 in
 * double. */
KARST_INLINE void store_row(int b, karst_ilu *ilu, karst_index i, const karst_ilu_workspace *w, karst_thread_outcome *f)
{
  const int64_t bb = (int64_t)b * b;
  const double *entry = w->row;
  double not_finite = 0; /* stays 0 unless an entry is NaN or infinite */
  bool holds = true;     /* whether float holds L */
  for (karst_index k = ilu->lower_start[i]; k < ilu->lower_start[i + 1]; k++, entry += bb) {
    double *stored = ilu->single ? w->block : ilu->lower + k * bb;
    karst_block_multiply(b, entry, ilu->inverse_diagonal + ilu->lower_column[k] * bb, stored);
    for (int64_t v = 0; v < bb; v++) not_finite += stored[v] * 0;
    if (ilu->single) holds = karst_round_values(bb, stored, ilu->lower_float + k * bb) && holds;
  }
  entry += bb;
  for (karst_index k = ilu->upper_start[i]; k < ilu->upper_start[i + 1]; k++, entry += bb) {
    double *stored = ilu->upper + k * bb;
    karst_block_multiply(b, ilu->inverse_diagonal + i * bb, entry, stored);
    for (int64_t v = 0; v < bb; v++) not_finite += stored[v] * 0;
  }
  if (not_finite != 0) karst_thread_report(f, KARST_NOT_FINITE, i);
  if (ilu->single && !(karst_ilu_round_upper(b, ilu, i) && holds)) karst_thread_report(f, KARST_OUT_OF_RANGE, i);
}

/* Sums row i of U' if other rows may need the sum. */
KARST_INLINE void sum_row(int b, karst_ilu *ilu, karst_index i)
{
  const int64_t bb = (int64_t)b * b;
  double *row_sum = ((const karst_ilu_plan *)ilu->plan)->row_sum;
  if (!row_sum) return;
  for (int64_t v = 0; v < bb; v++) row_sum[i * bb + v] = 0;
  for (karst_index k = ilu->upper_start[i]; k < ilu->upper_start[i + 1]; k++)
    for (int64_t v = 0; v < bb; v++) row_sum[i * bb + v] += ilu->upper[k * bb + v];
}

typedef void factor_rows_function(const karst_matrix *A, karst_ilu *ilu, karst_index first, karst_index last,
                                  double shift, double modified, karst_ilu_workspace *w, karst_thread_outcome *f);

KARST_INLINE void factor_rows(int b, bool searching, const karst_matrix *A, karst_ilu *ilu, karst_index first,
                              karst_index last, double shift, double modified, karst_ilu_workspace *w,
                              karst_thread_outcome *f)
{
  for (karst_index i = first; i < last; i++) {
    karst_index width = number_columns(ilu, i, w);
    spread_row(b, A, i, width, w);
    eliminate(b, searching, ilu, i, width, w);
    if (modified != 0) subtract_dropped(b, modified, ilu, i, width, w);
    forget_columns(ilu, i, w);
    invert_pivot(b, A, ilu, i, width, shift, w, f);
    store_row(b, ilu, i, w, f);
    if (modified != 0) sum_row(b, ilu, i);
  }
}

/* Three instances for each block size. Searching costs rows of few products a tenth more even if no row is searched. R
 * = 0 as a constant keeps the dropped products out of the loops. */
#define INSTANCE(NAME, B, SEARCHING, MODIFIED)                                                                         \
  KARST_KERNEL static void NAME(const karst_matrix *A, karst_ilu *ilu, karst_index first, karst_index last,            \
                                double shift, double modified, karst_ilu_workspace *w, karst_thread_outcome *f)        \
  {                                                                                                                    \
    (void)modified;                                                                                                    \
    factor_rows(B, SEARCHING, A, ilu, first, last, shift, MODIFIED, w, f);                                             \
  }
#define INSTANCES(NAME, B)                                                                                             \
  INSTANCE(factor_rows_##NAME, B, false, 0)                                                                            \
  INSTANCE(factor_rows_searching_##NAME, B, true, 0)                                                                   \
  INSTANCE(factor_rows_modified_##NAME, B, true, modified)
#define INSTANCES_OF(B) INSTANCES(B, B)
KARST_BLOCK_SIZES(INSTANCES_OF)
INSTANCES(any, ilu->block_size)
#undef INSTANCES_OF
#undef INSTANCES
#undef INSTANCE

static factor_rows_function *instance(int b, bool searching, bool modified)
{
#define ENTRY(B) [B] = {factor_rows_##B, factor_rows_searching_##B, factor_rows_modified_##B},
  static factor_rows_function *const table[][3] = {
      {factor_rows_any, factor_rows_searching_any, factor_rows_modified_any}, KARST_BLOCK_SIZES(ENTRY)};
#undef ENTRY
  return table[b <= KARST_BLOCK_SIZE_LARGEST_INSTANCE ? b : 0][modified ? 2 : searching];
}

karst_status karst_ilu_factor_cpu(karst_context *context, const karst_matrix *A, double shift, double modified,
                                  karst_ilu *ilu, karst_factor_outcome *outcome)
{
  const karst_ilu_plan *plan = ilu->plan;
  const karst_schedule *schedule = &plan->lower;
  factor_rows_function *rows = instance(ilu->block_size, plan->searching, modified != 0);
  karst_thread_outcome all = {.reason = KARST_SOUND, .block_row = ilu->rows};
  karst_piece piece = karst_schedule_begin(context, KARST_KIND_FACTOR, ilu->block_size, plan->threads, schedule);
  karst_barrier barrier = {0};
#pragma omp parallel num_threads(piece.threads)
  {
    const karst_part part = karst_part_begin(&piece, ilu->rows);
    karst_thread_outcome mine = {.reason = KARST_SOUND, .block_row = ilu->rows};
    if (karst_team() == 1) rows(A, ilu, 0, ilu->rows, shift, modified, &plan->workspace[0], &mine);
    for (karst_index level = 0; level < schedule->levels && karst_team() > 1; level++) {
      karst_index run, end;
      if (level > 0) karst_barrier_wait(&barrier, karst_team());
      karst_schedule_share(schedule, level, karst_thread(), karst_team(), &run, &end);
      for (; run < end; run++)
        rows(A, ilu, schedule->run_first[run], schedule->run_last[run], shift, modified,
             &plan->workspace[karst_thread()], &mine);
    }
    karst_part_end(&piece, &part);
#pragma omp critical(karst_ilu_factor)
    {
      karst_thread_report(&all, mine.reason, mine.block_row);
      all.shifted += mine.shifted;
    }
  }
  karst_end(context, &piece);
  karst_thread_conclude(ilu->rows, &all, outcome);
  return KARST_SUCCESS;
}
