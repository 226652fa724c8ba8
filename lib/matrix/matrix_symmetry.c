/* matrix_symmetry.c - checks whether the values of a matrix with a symmetric pattern are symmetric.
 *
 * Entries that were summed up in another order above the diagonal than below differ by rounding. Entry a_ij of a
 * positive definite matrix is at most sqrt(a_ii a_jj), so differences are relative to that, or to the entries if these
 * are larger. A scaling of rows and columns that keeps a matrix symmetric does not change them. */
#include "lib/matrix/matrix.h"

#include "lib/base/search.h"
#include "lib/base/threads.h"

#include <math.h>

static const double rounding = 1e-10;

/* Stores the root of |a_rr| in size[r] for each scalar row r, and 0 in a block row without its diagonal block. */
static void measure_diagonal(const karst_matrix *A, const double *value, double *size)
{
  const int b = A->block_size;
  for (karst_index i = 0; i < A->block_rows; i++) {
    double *row_size = size + karst_layout_first(karst_matrix_layout(A), i);
    const karst_index k = karst_find_column(A->column, A->row_start[i], A->row_start[i + 1], i);
    for (int64_t r = 0; r < b; r++) row_size[r] = k < 0 ? 0 : sqrt(fabs(value[karst_block_offset(b, k) + r * b + r]));
  }
}

/* Returns whether two entries differ by more than rounding; size is that of their row times that of their column.
 * Numbers that are not finite count as equal. */
static bool differ(double a, double b, double size)
{
  return fabs(a - b) > rounding * fmax(size, fmax(fabs(a), fabs(b)));
}

/* Returns whether a block is the other one's transpose. row_size and column_size, [b] each, are the sizes of its rows
 * and columns. */
static bool is_transpose(int b, const double *block, const double *other, const double *row_size,
                         const double *column_size)
{
  bool same = true;
  for (int c = 0; c < b; c++)
    for (int r = 0; r < b; r++)
      same = same && !differ(block[c * b + r], other[r * b + c], row_size[r] * column_size[c]);
  return same;
}

/* Returns whether each block of block row i from the diagonal on is the transpose of its image, if it has one. */
static bool is_symmetric_row(const karst_matrix *A, const double *value, const double *size, karst_index i)
{
  const int b = A->block_size;
  const karst_layout layout = karst_matrix_layout(A);
  bool same = true;
  for (karst_index k = A->row_start[i]; k < A->row_start[i + 1] && same; k++) {
    const karst_index j = A->column[k];
    if (j < i) continue;
    const karst_index image = karst_find_column(A->column, A->row_start[j], A->row_start[j + 1], i);
    same = image < 0 || is_transpose(b, value + karst_block_offset(b, k), value + karst_block_offset(b, image),
                                     size + karst_layout_first(layout, i), size + karst_layout_first(layout, j));
  }
  return same;
}

karst_status karst_matrix_find_asymmetry(const karst_matrix *A, karst_index *block_row)
{
  karst_context *context = A->context;
  karst_index first = A->block_rows;
  double *value, *size;
  *block_row = -1;
  karst_status status = karst_matrix_fetch_pattern(A);
  if (!status) status = karst_allocate(context, &size, karst_matrix_rows(A), sizeof *size, "the test for symmetry");
  if (status) return status;
  status = karst_matrix_host_value(A, &value);
  if (!status) {
    measure_diagonal(A, value, size);
    karst_piece piece = karst_begin(context, KARST_KIND_ONCE, karst_entries(A));
#pragma omp parallel num_threads(piece.threads) reduction(min : first)
    {
      const karst_part part = karst_part_begin(&piece, A->block_rows);
      for (karst_index i = part.first; i < part.last; i++)
        if (i < first && !is_symmetric_row(A, value, size, i)) first = i;
      karst_part_end(&piece, &part);
    }
    karst_end(context, &piece);
    if (first < A->block_rows) *block_row = first;
    karst_matrix_host_value_done(A, value);
  }
  karst_release(context, size);
  return status;
}
