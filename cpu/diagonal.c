/* diagonal.c - inverts and multiplies diagonal blocks, and scales rows and columns, on the CPU. */
#include "cpu/cpu.h"
#include "lib/backend/dense.h"
#include "lib/matrix/matrix.h"

#include <string.h>

/* Inverts the diagonal blocks of rows first to last - 1. Returns the first row whose block cannot be inverted, with the
 * cause in *reason, else last. Compiled like the factorizations, so that blocks are judged with the same roundings. */
KARST_KERNEL static karst_index invert_rows(const karst_matrix *A, const karst_index *diagonal, karst_index first,
                                            karst_index last, double *inverse, karst_reason *reason)
{
  const int b = A->block_size;
  karst_index found = last;
  double work[2 * b];
  int pivot[b];
  for (karst_index i = first; i < last; i++) {
    const double *from = A->value + karst_block_offset(b, diagonal[i]);
    const karst_reason of_row = karst_block_inverse(b, from, from, inverse + karst_block_offset(b, i), work, pivot);
    if (of_row == KARST_SOUND || found < last) continue;
    found = i;
    *reason = of_row;
  }
  return found;
}

karst_status karst_invert_diagonal_cpu(karst_context *context, const karst_matrix *A, const karst_index *diagonal,
                                       double *inverse, karst_reason *reason, karst_index *block_row)
{
  karst_reason first_reason = KARST_SOUND;
  karst_index first = A->block_rows;
  karst_piece piece = karst_begin(context, KARST_KIND_ONCE, karst_entries(A));
#pragma omp parallel num_threads(piece.threads)
  {
    const karst_part part = karst_part_begin(&piece, A->block_rows);
    karst_reason found = KARST_SOUND;
    const karst_index row = invert_rows(A, diagonal, part.first, part.last, inverse, &found);
#pragma omp critical(karst_invert_diagonal)
    if (found != KARST_SOUND && row < first) {
      first = row;
      first_reason = found;
    }
    karst_part_end(&piece, &part);
  }
  karst_end(context, &piece);
  if (first_reason != KARST_SOUND) {
    *reason = first_reason;
    *block_row = first;
  }
  return KARST_SUCCESS;
}

void karst_multiply_diagonal_cpu(karst_context *context, karst_index count, int b, const double *S, const double *x,
                                 double *y)
{
  karst_piece piece = karst_begin(context, KARST_KIND_DIAGONAL, karst_block_offset(b, count));
#pragma omp parallel for num_threads(piece.threads) schedule(static)
  for (karst_index i = 0; i < count; i++) {
    for (int r = 0; r < b; r++) y[(int64_t)i * b + r] = 0;
    karst_block_add_product(b, S + karst_block_offset(b, i), x + (int64_t)i * b, y + (int64_t)i * b);
  }
  karst_end(context, &piece);
}

void karst_scale_rows_cpu(karst_context *context, karst_matrix *A, const double *S)
{
  int b = A->block_size;
  karst_piece piece = karst_begin(context, KARST_KIND_ONCE, karst_entries(A));
#pragma omp parallel num_threads(piece.threads)
  {
    const karst_part part = karst_part_begin(&piece, A->block_rows);
    for (karst_index i = part.first; i < part.last; i++)
      for (karst_index k = A->row_start[i]; k < A->row_start[i + 1]; k++) {
        double *block = A->value + karst_block_offset(b, k), column[b];
        for (int c = 0; c < b; c++) {
          memcpy(column, block + (int64_t)c * b, (size_t)b * sizeof *column);
          for (int r = 0; r < b; r++) block[c * b + r] = 0;
          karst_block_add_product(b, S + karst_block_offset(b, i), column, block + (int64_t)c * b);
        }
      }
    karst_part_end(&piece, &part);
  }
  karst_end(context, &piece);
}

void karst_diagonal_scale_cpu(karst_context *context, const karst_matrix *A, const karst_index *diagonal, double *d)
{
  int b = A->block_size;
  karst_piece piece = karst_begin(context, KARST_KIND_ONCE, karst_entries(A));
#pragma omp parallel num_threads(piece.threads)
  {
    const karst_part part = karst_part_begin(&piece, A->block_rows);
    for (karst_index i = part.first; i < part.last; i++)
      for (int r = 0; r < b; r++) {
        double size = fabs(A->value[karst_block_offset(b, diagonal[i]) + r * b + r]);
        d[(int64_t)i * b + r] = 1 / sqrt(size > 0 && size <= DBL_MAX ? size : 1);
      }
    karst_part_end(&piece, &part);
  }
  karst_end(context, &piece);
}

void karst_scale_symmetric_cpu(karst_context *context, karst_matrix *A, const double *d)
{
  int b = A->block_size;
  karst_piece piece = karst_begin(context, KARST_KIND_ONCE, karst_entries(A));
#pragma omp parallel num_threads(piece.threads)
  {
    const karst_part part = karst_part_begin(&piece, A->block_rows);
    for (karst_index i = part.first; i < part.last; i++)
      for (karst_index k = A->row_start[i]; k < A->row_start[i + 1]; k++)
        for (int c = 0; c < b; c++)
          for (int r = 0; r < b; r++)
            A->value[karst_block_offset(b, k) + c * b + r] *= d[(int64_t)i * b + r] * d[(int64_t)A->column[k] * b + c];
    karst_part_end(&piece, &part);
  }
  karst_end(context, &piece);
}

void karst_multiply_elements_cpu(karst_context *context, int64_t n, const double *d, const double *x, double *y)
{
  karst_piece piece = karst_begin(context, KARST_KIND_ELEMENTS, n);
#pragma omp parallel for num_threads(piece.threads) schedule(static)
  for (int64_t i = 0; i < n; i++) y[i] = d[i] * x[i];
  karst_end(context, &piece);
}

void karst_divide_elements_cpu(karst_context *context, int64_t n, const double *d, const double *x, double *y)
{
  karst_piece piece = karst_begin(context, KARST_KIND_ELEMENTS, n);
#pragma omp parallel for num_threads(piece.threads) schedule(static)
  for (int64_t i = 0; i < n; i++) y[i] = x[i] / d[i];
  karst_end(context, &piece);
}
