/* precise.c - the residual b - (A - C^T D^-1 B) x in perforated cells to twice the working precision, on the CPU. w is
 * the sum of two numbers: D^-1 t with the inverse in working precision, and steps of refinement with t - D w. */
#include "cpu/wells/wells_cpu.h"
#include "lib/backend/wells_steps.h"

/* w = high + low */
static void solve_well(const karst_wells_view *view, const karst_well *well, const double *x, double *high, double *low)
{
  const karst_wells *wells = view->wells;
  const int n = well->equations;
  const double *D = wells->D + well->square, *inverse = wells->inverse + well->square;
  double *sum = low + wells->unknowns, *error = sum + wells->unknowns, *rounded = error + wells->unknowns;
  for (int e = 0; e < n; e++) {
    const karst_precise_sum t = karst_wells_precise_product(wells->block_size, well, wells->B, view->cell, x, e);
    sum[e] = t.sum, error[e] = t.error, rounded[e] = t.sum + t.error;
    low[e] = 0;
  }
  for (int e = 0; e < n; e++) high[e] = karst_wells_row_product(n, inverse, rounded, e);
  for (int step = 0; step < KARST_WELLS_REFINEMENTS; step++) {
    for (int e = 0; e < n; e++)
      rounded[e] = karst_wells_defect(n, D, (karst_precise_sum){sum[e], error[e]}, high, low, e);
    for (int e = 0; e < n; e++) karst_wells_correct(karst_wells_row_product(n, inverse, rounded, e), &high[e], &low[e]);
  }
}

/* Row r of the perforated cell number k. */
static double residual_row(const karst_wells_view *view, const karst_matrix *A, karst_index k, int r, const double *b,
                           const double *x)
{
  const karst_wells *wells = view->wells;
  const karst_index i = view->list_cell[k], *start = A->device_row_start, first = wells->device.list_start[k];
  const int size = A->block_size;
  karst_precise_sum s = {b[(int64_t)i * size + r], 0};
  for (karst_index at = start[i]; at < start[i + 1]; at++)
    for (int c = 0; c < size; c++)
      karst_precise_add(&s, -A->value[karst_block_offset(size, at) + (int64_t)c * size + r],
                        x[(int64_t)A->device_column[at] * size + c]);
  karst_wells_subtract_precise(size, wells->well, wells->device.owner, wells->device.list + first,
                               wells->device.list_start[k + 1] - first, wells->C, view->space,
                               view->space + wells->unknowns, r, &s);
  return s.sum + s.error;
}

void karst_wells_residual_precise_cpu(karst_context *context, const karst_wells_view *view, const karst_matrix *A,
                                      const double *b, const double *x, double *r)
{
  const karst_wells *wells = view->wells;
  (void)context;
  for (karst_index i = 0; i < wells->count; i++) {
    double *high = view->space + wells->well[i].unknown;
    solve_well(view, wells->well + i, x, high, high + wells->unknowns);
  }
  for (karst_index k = 0; k < wells->cells; k++)
    for (int e = 0; e < A->block_size; e++)
      r[(int64_t)view->list_cell[k] * A->block_size + e] = residual_row(view, A, k, e, b, x);
}
