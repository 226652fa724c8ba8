/* factor.c - the diagonal blocks of DILU on the CPU, with E and F the strict triangles of A and S_k = sum_j F_kj:
 *
 *     D_i = A_ii - sum_{k < i} E_ik D_k^-1 ((1 - R) F_ki + R S_k)
 *
 * where R is the option modified. The bracket equals F_ki + R sum_{j != i} F_kj. For R = 0 only the pairs with both
 * blocks contribute, and S is neither computed nor read. */
#include "cpu/dilu/dilu_cpu.h"

#include "cpu/round.h"

/* The work space of a thread that makes rows. */
struct room {
  double *pivot_block; /* [b*b] D_i while it is made */
  double *size;        /* [b*b] its size, see lib/backend/dense.h */
  double *left;        /* [b*b] E_ik D_k^-1 */
  double *right;       /* [b*b] the bracket where R is not 0 */
  double *scale;       /* [2 b] for the inversion */
  int *pivot;          /* [b] the same */
};

static inline __attribute__((always_inline)) struct room room_in(int b, double *memory, int *pivot)
{
  const int64_t bb = (int64_t)b * b;
  return (struct room){memory, memory + bb, memory + 2 * bb, memory + 3 * bb, memory + 4 * bb, pivot};
}

/* Makes the bracket. mirror is the number of F_ki in A, or -1. */
KARST_INLINE void blend(int b, const karst_matrix *A, karst_index mirror, const double *row_sum, double modified,
                        double *right)
{
  const int64_t bb = (int64_t)b * b;
  for (int64_t v = 0; v < bb; v++) right[v] = modified * row_sum[v];
  if (mirror < 0) return;
  for (int64_t v = 0; v < bb; v++) right[v] += (1 - modified) * A->value[mirror * bb + v];
}

/* Makes D_i. mirror: [blocks of E in the row] the number of F_ki in A for each, or -1. */
KARST_INLINE void make_pivot(int b, double modified, const karst_matrix *A, const karst_dilu *dilu,
                             const double *row_sum, karst_index i, const karst_index *mirror, karst_index diagonal,
                             const struct room *room)
{
  const int64_t bb = (int64_t)b * b;
  for (int64_t v = 0; v < bb; v++) room->pivot_block[v] = A->value[diagonal * bb + v];
  for (int64_t v = 0; v < bb; v++) room->size[v] = fabs(A->value[diagonal * bb + v]);
  for (karst_index e = A->row_start[i]; e < diagonal; e++, mirror++) {
    const int64_t k = A->column[e];
    if (modified == 0 && *mirror < 0) continue;
    if (modified != 0) blend(b, A, *mirror, row_sum + k * bb, modified, room->right);
    const double *right = modified != 0 ? room->right : A->value + *mirror * bb;
    karst_block_multiply(b, A->value + e * bb, dilu->inverse + k * bb, room->left);
    karst_block_subtract_multiply(b, room->left, right, room->pivot_block);
    karst_block_add_size(b, room->pivot_block, room->size);
  }
}

/* Finds entries outside the diagonal block that are not finite. The sweeps read them even if D does not depend on them,
 * and their product with 0 is a NaN. */
KARST_INLINE bool is_finite(int b, const karst_matrix *A, karst_index i, karst_index diagonal)
{
  const int64_t bb = (int64_t)b * b;
  double zero[b], not_finite[b], all = 0;
  for (int r = 0; r < b; r++) zero[r] = not_finite[r] = 0;
  for (karst_index e = A->row_start[i]; e < A->row_start[i + 1]; e++)
    if (e != diagonal) karst_block_add_product(b, A->value + e * bb, zero, not_finite);
  for (int r = 0; r < b; r++) all += not_finite[r];
  return all == 0;
}

/* Inverts D_i. The shift of a singular one is relative to the largest entry of its row of E, D_i and F. */
KARST_INLINE void invert_pivot(int b, const karst_matrix *A, karst_index i, karst_index diagonal, double shift,
                               const struct room *room, double *inverse, karst_thread_outcome *f)
{
  const karst_reason reason = karst_block_inverse(b, room->pivot_block, room->size, inverse, room->scale, room->pivot);
  if (reason == KARST_SOUND) return;
  double largest = karst_block_norm(b, room->pivot_block);
  for (karst_index e = A->row_start[i]; e < A->row_start[i + 1]; e++)
    if (e != diagonal) largest = fmax(largest, karst_block_norm(b, A->value + karst_block_offset(b, e)));
  karst_ilu_shift_pivot(b, A, i, reason, shift, largest, inverse, f);
}

KARST_INLINE void sum_row(int b, const karst_matrix *A, karst_index i, karst_index diagonal, double *row_sum)
{
  const int64_t bb = (int64_t)b * b;
  for (int64_t v = 0; v < bb; v++) row_sum[v] = 0;
  for (karst_index e = diagonal + 1; e < A->row_start[i + 1]; e++)
    for (int64_t v = 0; v < bb; v++) row_sum[v] += A->value[e * bb + v];
}

/* Rounds D_i^-1 and the other blocks of row i for sweeps in float. */
KARST_INLINE void round_row(int b, const karst_matrix *A, const karst_dilu *dilu, karst_index i, karst_index diagonal,
                            karst_thread_outcome *f)
{
  const int64_t bb = (int64_t)b * b, start = A->row_start[i] * bb, end = A->row_start[i + 1] * bb;
  const int64_t lower = diagonal * bb - start, upper = start + lower + bb;
  const bool E = karst_round_values(lower, A->value + start, dilu->value_float + start);
  const bool F = karst_round_values(end - upper, A->value + upper, dilu->value_float + upper);
  const bool inverse = karst_round_inverse(b, dilu->inverse + i * bb, dilu->inverse_float + i * bb);
  if (!E || !F || !inverse) karst_thread_report(f, KARST_OUT_OF_RANGE, i);
}

typedef void dilu_rows_function(const karst_matrix *A, karst_dilu *dilu, karst_index first, karst_index last,
                                double shift, double modified, int thread, karst_thread_outcome *f);

KARST_INLINE void factor_rows(int b, const karst_matrix *A, karst_dilu *dilu, karst_index first, karst_index last,
                              double shift, double modified, const struct room *room, karst_thread_outcome *f)
{
  const int64_t bb = (int64_t)b * b;
  const karst_dilu_runs *runs = karst_dilu_runs_of(dilu);
  double *row_sum = ((const karst_dilu_work *)dilu->plan)->row_sum;
  for (karst_index i = first; i < last; i++) {
    const karst_index diagonal = A->row_start[i] + (runs->lower[i + 1] - runs->lower[i]);
    make_pivot(b, modified, A, dilu, row_sum, i, runs->mirror + runs->lower[i], diagonal, room);
    invert_pivot(b, A, i, diagonal, shift, room, dilu->inverse + i * bb, f);
    if (modified != 0) sum_row(b, A, i, diagonal, row_sum + i * bb);
    if (!is_finite(b, A, i, diagonal)) karst_thread_report(f, KARST_NOT_FINITE, i);
    if (dilu->analysis->single) round_row(b, A, dilu, i, diagonal, f);
  }
}

/* Two instances for each block size: one of them knows that R is 0. */
#define INSTANCE(NAME, B, MODIFIED)                                                                                    \
  KARST_KERNEL static void NAME(const karst_matrix *A, karst_dilu *dilu, karst_index first, karst_index last,          \
                                double shift, double modified, int thread, karst_thread_outcome *f)                    \
  {                                                                                                                    \
    double memory[4 * (B) * (B) + 2 * (B)];                                                                            \
    int pivot[B];                                                                                                      \
    const struct room room = room_in(B, memory, pivot);                                                                \
    (void)thread, (void)modified;                                                                                      \
    factor_rows(B, A, dilu, first, last, shift, MODIFIED, &room, f);                                                   \
  }
#define INSTANCES(B) INSTANCE(dilu_rows_##B, B, 0) INSTANCE(dilu_rows_modified_##B, B, modified)
KARST_BLOCK_SIZES(INSTANCES)
#undef INSTANCES
#undef INSTANCE

KARST_KERNEL static void dilu_rows_any(const karst_matrix *A, karst_dilu *dilu, karst_index first, karst_index last,
                                       double shift, double modified, int thread, karst_thread_outcome *f)
{
  const karst_dilu_work *work = dilu->plan;
  const int64_t b = dilu->analysis->block_size;
  const struct room room = room_in((int)b, work->room + thread * (4 * b * b + 2 * b), work->pivot + thread * b);
  factor_rows((int)b, A, dilu, first, last, shift, modified, &room, f);
}

static dilu_rows_function *instance(int b, bool modified)
{
#define ENTRY(B) [B] = {dilu_rows_##B, dilu_rows_modified_##B},
  static dilu_rows_function *const table[][2] = {{dilu_rows_any, dilu_rows_any}, KARST_BLOCK_SIZES(ENTRY)};
#undef ENTRY
  return table[b <= KARST_BLOCK_SIZE_LARGEST_INSTANCE ? b : 0][modified];
}

karst_status karst_dilu_factor_cpu(karst_context *context, const karst_matrix *A, double shift, double modified,
                                   karst_dilu *dilu, karst_factor_outcome *outcome)
{
  const karst_dilu_runs *runs = karst_dilu_runs_of(dilu);
  const karst_schedule *schedule = &runs->forward;
  const karst_index n = A->block_rows;
  dilu_rows_function *rows = instance(A->block_size, modified != 0);
  karst_thread_outcome all = {.reason = KARST_SOUND, .block_row = n};
  karst_piece piece = karst_schedule_begin(context, KARST_KIND_FACTOR, A->block_size, runs->threads, schedule);
  karst_barrier barrier = {0};
#pragma omp parallel num_threads(piece.threads)
  {
    const karst_part part = karst_part_begin(&piece, n);
    karst_thread_outcome mine = {.reason = KARST_SOUND, .block_row = n};
    if (karst_team() == 1) rows(A, dilu, 0, n, shift, modified, 0, &mine);
    for (karst_index level = 0; level < schedule->levels && karst_team() > 1; level++) {
      karst_index run, end;
      if (level > 0) karst_barrier_wait(&barrier, karst_team());
      karst_schedule_share(schedule, level, karst_thread(), karst_team(), &run, &end);
      for (; run < end; run++)
        rows(A, dilu, schedule->run_first[run], schedule->run_last[run], shift, modified, karst_thread(), &mine);
    }
    karst_part_end(&piece, &part);
#pragma omp critical(karst_dilu_factor)
    {
      karst_thread_report(&all, mine.reason, mine.block_row);
      all.shifted += mine.shifted;
    }
  }
  karst_end(context, &piece);
  karst_thread_conclude(n, &all, outcome);
  return KARST_SUCCESS;
}
