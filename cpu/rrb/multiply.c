/* multiply.c - y = S x, the product with the Schur complement of the black nodes of grid 0, and x . y in the same pass.
 * Each pair of places (I, J) moves 80 bytes of the stencil, 16 of x and 32 of y. */
#include "cpu/rrb/rows.h"
#include "cpu/rrb/rrb_cpu.h"

#include <string.h>

void karst_rrb_multiply_cpu(karst_context *context, const karst_rrb *rrb, const double *x, double *y, double *dot)
{
  const karst_rrb_cpu *plan = rrb->plan;
  if (rrb->grouped == 0) {
    const double sum = karst_rrb_naive_kernels.multiply(plan->naive, x, y);
    if (dot) *dot = sum;
    return;
  }
  const karst_rrb_shape *shape = &rrb->shape[0];
  const int64_t pitch = shape->pitch, array = shape->array, rows = shape->coarse[1];
  double partial[KARST_RRB_SEGMENTS] = {0}, sum = 0;
  for (int guard = 0; guard <= 2; guard++) memset(y + guard * array, 0, (size_t)pitch * sizeof *y);
  karst_piece piece = karst_begin(context, KARST_KIND_PRODUCT, 12 * pitch * rows);
#pragma omp parallel for num_threads(piece.threads) schedule(static)
  for (int s = 0; s < KARST_RRB_SEGMENTS; s++) {
    double lane[KARST_RRB_LANES] = {0};
    for (int64_t J = karst_share(rows, s, KARST_RRB_SEGMENTS); J < karst_share(rows, s + 1, KARST_RRB_SEGMENTS); J++)
      karst_rrb_multiply_rows(shape, J, plan->arrays.schur + pitch, x + pitch, y + pitch, lane);
    partial[s] = karst_rrb_add_lanes(lane);
  }
  karst_end(context, &piece);
  if (!dot) return;
  for (int s = 0; s < KARST_RRB_SEGMENTS; s++) sum += partial[s];
  *dot = sum;
}
