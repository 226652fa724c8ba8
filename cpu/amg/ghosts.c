/* ghosts.c - what levels that ranks share need besides on the CPU: their square matrices, and interpolations with the rows
 * of ghosts. */
#include "cpu/amg/amg_cpu.h"

#include <string.h>

/* Counts the entries of rows first .. last - 1 that are not in columns of ghosts, one element further on. */
static void count_square(const karst_amg_matrix *A, karst_index first, karst_index last, karst_index *row_start)
{
  for (karst_index i = first; i < last; i++) {
    karst_index count = 0;
    for (karst_index k = A->row_start[i]; k < A->row_start[i + 1]; k++) count += A->column[k] < A->rows;
    row_start[i + 1] = count;
  }
}

/* Copies them. Without a diagonal entry the sum of a row is not kept. */
KARST_INLINE void fill_square(bool single, const karst_amg_matrix *A, karst_index first, karst_index last,
                              karst_amg_matrix *square)
{
  for (karst_index i = first; i < last; i++) {
    karst_index at = square->row_start[i], diagonal = -1;
    double ghosts = 0;
    for (karst_index k = A->row_start[i]; k < A->row_start[i + 1]; k++) {
      const double a = karst_amg_value(single, A->value, k);
      if (A->column[k] >= A->rows) {
        ghosts += a;
        continue;
      }
      if (A->column[k] == i) diagonal = at;
      square->column[at] = A->column[k];
      karst_amg_store(single, square->value, at++, a);
    }
    if (diagonal >= 0)
      karst_amg_store(single, square->value, diagonal, karst_amg_value(single, square->value, diagonal) + ghosts);
  }
}

karst_status karst_amg_square_cpu(karst_context *context, const karst_amg *amg, const karst_amg_matrix *A,
                                  karst_amg_matrix *square)
{
  static const char what[] = "the square matrix of a multigrid level";
  square->rows = square->columns = A->rows;
  karst_status status =
      karst_amg_take_cpu(context, &square->row_start, (int64_t)A->rows + 1, sizeof *square->row_start, what);
  if (status) return status;
  karst_piece piece = karst_begin(context, KARST_KIND_ONCE, A->entries);
#pragma omp parallel num_threads(piece.threads)
  {
    const karst_part part = karst_part_rows(&piece, A->rows, A->row_start);
    count_square(A, part.first, part.last, square->row_start);
    karst_part_end(&piece, &part);
  }
  karst_end(context, &piece);
  status = karst_amg_take_matrix_cpu(context, amg, what, square);
  if (status) return status;
  piece = karst_begin(context, KARST_KIND_ONCE, A->entries);
#pragma omp parallel num_threads(piece.threads)
  {
    const karst_part part = karst_part_rows(&piece, A->rows, A->row_start);
    if (amg->single)
      fill_square(true, A, part.first, part.last, square);
    else
      fill_square(false, A, part.first, part.last, square);
    karst_part_end(&piece, &part);
  }
  karst_end(context, &piece);
  return KARST_SUCCESS;
}

karst_status karst_amg_append_cpu(karst_context *context, const karst_amg *amg, const karst_amg_matrix *rows,
                                  karst_index columns, karst_amg_matrix *P)
{
  static const char what[] = "the interpolation of ghosts";
  const size_t scalar = karst_amg_scalar(amg);
  karst_amg_matrix all = {.rows = P->rows + rows->rows, .columns = columns};
  karst_status status = karst_amg_take_cpu(context, &all.row_start, (int64_t)all.rows + 1, sizeof *all.row_start, what);
  if (status) return status;
  for (karst_index i = 0; i < P->rows; i++) all.row_start[i + 1] = P->row_start[i + 1] - P->row_start[i];
  for (karst_index i = 0; i < rows->rows; i++)
    all.row_start[P->rows + i + 1] = rows->row_start[i + 1] - rows->row_start[i];
  status = karst_amg_take_matrix_cpu(context, amg, what, &all);
  if (status) {
    karst_amg_release_matrix_cpu(context, &all);
    return status;
  }
  memcpy(all.column, P->column, (size_t)P->entries * sizeof *all.column);
  memcpy(all.value, P->value, (size_t)P->entries * scalar);
  for (int64_t k = 0; k < rows->entries; k++) {
    all.column[P->entries + k] = rows->column[k];
    karst_amg_store(amg->single, all.value, P->entries + k, ((const double *)rows->value)[k]);
  }
  karst_amg_release_matrix_cpu(context, P);
  *P = all;
  return KARST_SUCCESS;
}
