/* load.c - loads finished factors into the arrays of the triangular solves, on the CPU: L unchanged, D_i^-1, and
 * U'_ij = D_i^-1 U_ij (Yang, Liu, He, Chen, equation (5)). D_i is U_ii. It is judged as the sum
 * A_ii - sum_k L_ik U_ki, which it approximates. Rows are independent. */
#include "cpu/ilu/ilu_cpu.h"

#include "cpu/cpu.h"
#include "lib/backend/dense.h"
#include "lib/base/search.h"

/* Loads rows first .. last - 1. The blocks of A and of value are those of a matrix on the pattern of ilu, so that row i
 * begins with block number lower_start[i] + i + upper_start[i]. */
typedef void load_rows_function(const double *A, const double *value, karst_ilu *ilu, karst_index first,
                                karst_index last, karst_ilu_workspace *w, karst_thread_outcome *f);

/* Computes the size of U_ii, which is pivot (lib/backend/dense.h). The last of the partial sums is pivot itself. sum:
 * [b*b] */
KARST_INLINE void measure_pivot(int b, const double *A, const double *value, const karst_ilu *ilu, karst_index i,
                                const double *pivot, double *sum, double *size)
{
  const int64_t bb = (int64_t)b * b, row = (int64_t)ilu->lower_start[i] + i + ilu->upper_start[i];
  const karst_index first = ilu->lower_start[i], end = ilu->lower_start[i + 1];
  const double *diagonal = A + (row + (end - first)) * bb;
  for (int64_t v = 0; v < bb; v++) sum[v] = diagonal[v];
  for (int64_t v = 0; v < bb; v++) size[v] = fabs(pivot[v]);
  for (karst_index l = first; l < end; l++) {
    const karst_index p = ilu->lower_column[l];
    const karst_index k = karst_find_column(ilu->upper_column, ilu->upper_start[p], ilu->upper_start[p + 1], i);
    if (k < 0) continue;
    const double *left = value + (row + (l - first)) * bb, *right = value + (ilu->lower_start[p + 1] + p + 1 + k) * bb;
    karst_block_add_size(b, sum, size);
    karst_block_subtract_multiply(b, left, right, sum);
  }
}

KARST_INLINE void load_rows(int b, const double *A, const double *value, karst_ilu *ilu, karst_index first,
                            karst_index last, karst_ilu_workspace *w, karst_thread_outcome *f)
{
  const int64_t bb = (int64_t)b * b;
  for (karst_index i = first; i < last; i++) {
    const int64_t lower = ilu->lower_start[i + 1] - ilu->lower_start[i];
    const double *entry = value + ((int64_t)ilu->lower_start[i] + i + ilu->upper_start[i]) * bb;
    double *to = ilu->single ? NULL : ilu->lower + ilu->lower_start[i] * bb, *inverse = ilu->inverse_diagonal + i * bb;
    double not_finite = 0; /* stays 0 unless an entry is NaN or infinite */
    for (int64_t v = 0; v < lower * bb; v++) not_finite += entry[v] * 0;
    for (int64_t v = 0; v < lower * bb && !ilu->single; v++) to[v] = entry[v];
    bool holds = true; /* whether float holds L */
    if (ilu->single) holds = karst_round_values(lower * bb, entry, ilu->lower_float + ilu->lower_start[i] * bb);
    entry += lower * bb;
    measure_pivot(b, A, value, ilu, i, entry, w->block, w->block + bb);
    karst_reason reason = karst_block_inverse(b, entry, w->block + bb, inverse, w->block + 2 * bb, w->pivot);
    entry += bb;
    for (karst_index k = ilu->upper_start[i]; k < ilu->upper_start[i + 1]; k++, entry += bb) {
      to = ilu->upper + k * bb;
      karst_block_multiply(b, inverse, entry, to);
      for (int64_t v = 0; v < bb; v++) not_finite += to[v] * 0;
    }
    if (reason != KARST_SOUND || not_finite != 0)
      karst_thread_report(f, reason != KARST_SOUND ? reason : KARST_NOT_FINITE, i);
    if (ilu->single && !(karst_ilu_round_upper(b, ilu, i) && holds)) karst_thread_report(f, KARST_OUT_OF_RANGE, i);
  }
}

#define INSTANCE(NAME, B)                                                                                              \
  KARST_KERNEL static void load_rows_##NAME(const double *A, const double *value, karst_ilu *ilu, karst_index first,   \
                                            karst_index last, karst_ilu_workspace *w, karst_thread_outcome *f)         \
  {                                                                                                                    \
    load_rows(B, A, value, ilu, first, last, w, f);                                                                    \
  }
#define INSTANCES(B) INSTANCE(B, B)
KARST_BLOCK_SIZES(INSTANCES)
INSTANCE(any, ilu->block_size)
#undef INSTANCES
#undef INSTANCE

karst_status karst_ilu_load_cpu(karst_context *context, const karst_matrix *A, const double *value, karst_ilu *ilu,
                                karst_factor_outcome *outcome)
{
#define ENTRY(B) [B] = load_rows_##B,
  static load_rows_function *const instance[] = {load_rows_any, KARST_BLOCK_SIZES(ENTRY)};
#undef ENTRY
  const karst_ilu_plan *plan = ilu->plan;
  load_rows_function *rows = instance[ilu->block_size <= KARST_BLOCK_SIZE_LARGEST_INSTANCE ? ilu->block_size : 0];
  karst_thread_outcome all = {.reason = KARST_SOUND, .block_row = ilu->rows};
  karst_piece piece = karst_begin_at_most(context, KARST_KIND_ONCE, karst_entries(A), plan->threads);
#pragma omp parallel num_threads(piece.threads)
  {
    const karst_part part = karst_part_rows(&piece, ilu->rows, A->row_start);
    karst_thread_outcome mine = {.reason = KARST_SOUND, .block_row = ilu->rows};
    rows(A->value, value, ilu, part.first, part.last, &plan->workspace[karst_thread()], &mine);
    karst_part_end(&piece, &part);
#pragma omp critical(karst_ilu_load)
    karst_thread_report(&all, mine.reason, mine.block_row);
  }
  karst_end(context, &piece);
  karst_thread_conclude(ilu->rows, &all, outcome);
  return KARST_SUCCESS;
}
