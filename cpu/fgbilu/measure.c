/* measure.c - the size of what M leaves out: of each block row, the sum of the absolute values of its blocks without a
 * place, and of all its blocks outside the diagonal. */
#include "cpu/fgbilu/fgbilu_cpu.h"

#include <math.h>

static void measure_cell(const karst_matrix *A, uint64_t place, karst_index row, double *remainder, double *couplings)
{
  const int64_t bb = (int64_t)A->block_size * A->block_size;
  double without = 0, all = 0;
  for (karst_index k = A->row_start[row]; k < A->row_start[row + 1]; k++) {
    double sum = 0;
    for (int64_t v = k * bb; v < (k + 1) * bb; v++) sum += fabs(A->value[v]);
    if (A->column[k] != row) all += sum;
    if (!karst_is_placed(place, k - A->row_start[row])) without += sum;
  }
  remainder[row] = without;
  couplings[row] = all;
}

void karst_fgbilu_measure_cpu(karst_context *context, const karst_matrix *A, const karst_fgbilu_analysis *analysis,
                              double *remainder, double *couplings)
{
  const karst_structured *cells = &analysis->cells;
  const karst_index count = karst_grid_cells(cells->size);
  karst_piece piece = karst_begin(context, KARST_KIND_ONCE, karst_entries(A));
#pragma omp parallel num_threads(piece.threads)
  {
    const karst_part part = karst_part_begin(&piece, count);
    for (karst_index i = part.first; i < part.last; i++) {
      const karst_index row = cells->row ? cells->row[i] : i;
      if (row >= 0) measure_cell(A, cells->place[i], row, remainder, couplings);
    }
    karst_part_end(&piece, &part);
  }
  karst_end(context, &piece);
}
