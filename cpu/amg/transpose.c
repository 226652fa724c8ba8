/* transpose.c - R = P^T. Each thread makes the rows of R that are its share of P's columns, from a walk through all of
 * P; so the columns of R ascend. */
#include "cpu/amg/amg_cpu.h"

/* Counts the entries of the columns first .. last - 1 of P in row_start of R, one element further on. */
static void count_entries(const karst_amg_matrix *P, karst_index first, karst_index last, karst_index *row_start)
{
  for (karst_index j = first; j < last; j++) row_start[j + 1] = 0;
  for (int64_t k = 0; k < P->entries; k++)
    if (P->column[k] >= first && P->column[k] < last) row_start[P->column[k] + 1]++;
}

/* Copies them. next: [rows of R] the place of the next entry of each row */
KARST_INLINE void copy_entries(bool single, const karst_amg_matrix *P, karst_index first, karst_index last,
                               karst_index *next, karst_amg_matrix *R)
{
  for (karst_index j = first; j < last; j++) next[j] = R->row_start[j];
  for (karst_index i = 0; i < P->rows; i++)
    for (karst_index k = P->row_start[i]; k < P->row_start[i + 1]; k++) {
      const karst_index j = P->column[k];
      if (j < first || j >= last) continue;
      R->column[next[j]] = i;
      karst_amg_store(single, R->value, next[j]++, karst_amg_value(single, P->value, k));
    }
}

karst_status karst_amg_transpose_cpu(karst_context *context, const karst_amg *amg, const karst_amg_matrix *P,
                                     karst_amg_matrix *R)
{
  static const char what[] = "the restriction of a multigrid level";
  karst_index *next = NULL;
  karst_status status = karst_amg_take_cpu(context, &R->row_start, (int64_t)P->columns + 1, sizeof *R->row_start, what);
  if (!status) status = karst_allocate(context, &next, P->columns, sizeof *next, what);
  if (status) goto finish;
  R->rows = P->columns;
  R->columns = P->rows;
  karst_piece piece = karst_begin(context, KARST_KIND_ONCE, P->entries);
#pragma omp parallel num_threads(piece.threads)
  {
    const karst_part part = karst_part_begin(&piece, R->rows);
    count_entries(P, part.first, part.last, R->row_start);
    karst_part_end(&piece, &part);
  }
  karst_end(context, &piece);
  status = karst_amg_take_matrix_cpu(context, amg, what, R);
  if (status) goto finish;
  piece = karst_begin(context, KARST_KIND_ONCE, P->entries);
#pragma omp parallel num_threads(piece.threads)
  {
    const karst_part part = karst_part_begin(&piece, R->rows);
    if (amg->single)
      copy_entries(true, P, part.first, part.last, next, R);
    else
      copy_entries(false, P, part.first, part.last, next, R);
    karst_part_end(&piece, &part);
  }
  karst_end(context, &piece);
finish:
  karst_release(context, next);
  return status;
}
