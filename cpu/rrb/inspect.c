/* inspect.c - checks that a pattern is that of a stencil of 5 or 9 points on a grid of two dimensions. */
#include "cpu/rrb/rrb_cpu.h"

/* Returns the column of an entry of a row that does not join neighbours, or -1. Sets *corners if an entry joins nodes
 * across a corner. */
static karst_index look_at_row(const karst_matrix *A, const karst_rrb *rrb, karst_index row, bool *corners)
{
  const karst_index nx = rrb->size[0], node = rrb->cell ? rrb->cell[row] : row;
  const karst_index j = node / nx, i = node - j * nx;
  for (karst_index k = A->row_start[row]; k < A->row_start[row + 1]; k++) {
    const karst_index other = rrb->cell ? rrb->cell[A->column[k]] : A->column[k];
    karst_index first = j * nx, dj = 0; /* the first node in the row of the other node */
    if (other < first) {
      first -= nx;
      dj = -1;
    } else if (other - first >= nx) {
      first += nx;
      dj = 1;
    }
    const karst_index di = other - first - i;
    if (other < first || other - first >= nx || di < -1 || di > 1) return A->column[k];
    if (di != 0 && dj != 0) *corners = true;
  }
  return -1;
}

karst_status karst_rrb_inspect_cpu(karst_context *context, const karst_matrix *A, const karst_rrb *rrb,
                                   karst_rrb_pattern *pattern)
{
  karst_index misfit = A->block_rows;
  bool corners = false;
  karst_piece piece = karst_begin(context, KARST_KIND_ONCE, karst_entries(A));
#pragma omp parallel num_threads(piece.threads) reduction(min : misfit) reduction(|| : corners)
  {
    const karst_part part = karst_part_begin(&piece, A->block_rows);
    for (karst_index row = part.first; row < part.last; row++)
      if (row < misfit && look_at_row(A, rrb, row, &corners) >= 0) misfit = row;
    karst_part_end(&piece, &part);
  }
  karst_end(context, &piece);
  *pattern = (karst_rrb_pattern){corners, {-1, -1}};
  if (misfit == A->block_rows) return KARST_SUCCESS;
  pattern->misfit[0] = misfit;
  pattern->misfit[1] = look_at_row(A, rrb, misfit, &corners);
  return KARST_SUCCESS;
}
