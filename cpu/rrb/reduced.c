/* reduced.c - goes over to the system of the black nodes, if the first elimination is exact, and back. With
 * A = L_1 diag(D_r, S) L_1^T both are the first level's own substitutions: b' = b_b - A_br D_r^-1 b_r, and
 * x_r = D_r^-1 b_r - D_r^-1 A_rb x_b. Each happens once in a solve. */
#include "cpu/rrb/rrb_sweeps.h"

#include <string.h>

/* Grid 0 with its first level alone, in the work space. */
static karst_rrb_sweep first_level(const karst_rrb *rrb)
{
  const karst_rrb_cpu *plan = rrb->plan;
  const karst_rrb_shape *shape = &rrb->shape[0];
  karst_rrb_sweep sweep = {.shape = shape};
  for (int e = 0; e <= KARST_RRB_FACTOR_R2; e++)
    for (int part = 0; part < KARST_RRB_PARTS; part++)
      sweep.l[e][part] = plan->arrays.first + karst_rrb_factor_array(rrb, 0, e, part);
  for (int g = 0; g < KARST_RRB_GROUPS; g++)
    sweep.from[g] = sweep.to[g] = plan->arrays.vector[0] + karst_rrb_array(shape, g);
  return sweep;
}

/* NOLINTBEGIN(readability-non-const-parameter): the start is written through a copy of the pointer */
void karst_rrb_enter_cpu(karst_context *context, const karst_rrb *rrb, const double *b, const double *x,
                         double *reduced_b, double *reduced_x)
/* NOLINTEND(readability-non-const-parameter) */
{
  const karst_rrb_cpu *plan = rrb->plan;
  const bool natural = rrb->grouped == 0;
  double *all = natural ? plan->naive->vector : plan->arrays.vector[0];
  const karst_rrb_place right = {rrb, all, natural ? 0 : KARST_RRB_GROUPS};
  const karst_rrb_place start = {rrb, reduced_x, natural ? 1 : 2};
  karst_rrb_put_cpu(context, &right, b);
  karst_rrb_put_cpu(context, &start, x);
  if (natural) {
    karst_rrb_naive_kernels.enter(plan->naive, all, reduced_b);
    return;
  }
  karst_rrb_sweep sweep = first_level(rrb);
  const int64_t rows = sweep.shape->coarse[1], odd_rows = karst_rrb_nodes(sweep.shape, 1, 1);
  const int64_t even = karst_rrb_nodes(sweep.shape, 0, 0), odd = karst_rrb_nodes(sweep.shape, 0, 1);
  double *b2 = reduced_b + karst_rrb_array(sweep.shape, KARST_RRB_B2);
  sweep.to[KARST_RRB_B1] = reduced_b + karst_rrb_array(sweep.shape, KARST_RRB_B1);
  karst_fill_cpu(context, rrb->reduced, 0, reduced_b);
  karst_piece piece = karst_begin(context, KARST_KIND_FORWARD, 12 * rows * sweep.shape->pitch);
#pragma omp parallel for num_threads(piece.threads) schedule(static)
  for (int64_t J = 0; J < rows; J++) {
    const int64_t at = J * sweep.shape->pitch;
    if (J < odd_rows) karst_rrb_red_to_b1(&sweep, at, odd);
    karst_rrb_red_to_b2(&sweep, at, even, b2 + at);
  }
  karst_end(context, &piece);
}

void karst_rrb_leave_cpu(karst_context *context, const karst_rrb *rrb, const double *b, const double *reduced_x,
                         double *x)
{
  const karst_rrb_cpu *plan = rrb->plan;
  const bool natural = rrb->grouped == 0;
  double *all = natural ? plan->naive->vector : plan->arrays.vector[0];
  const karst_rrb_place place = {rrb, all, natural ? 0 : KARST_RRB_GROUPS};
  karst_rrb_put_cpu(context, &place, b);
  if (natural) {
    karst_rrb_naive_kernels.leave(plan->naive, reduced_x, all);
    for (int64_t node = 0; node < rrb->reduced; node++)
      if ((node / rrb->size[0] + node % rrb->size[0]) % 2 == 0) all[node] = reduced_x[node];
    karst_rrb_get_cpu(context, &place, x);
    return;
  }
  /* The guards between the groups are zero in both. */
  karst_copy_cpu(context, rrb->reduced, reduced_x, all);
  const karst_rrb_sweep sweep = first_level(rrb);
  const int64_t rows = sweep.shape->coarse[1], odd_rows = karst_rrb_nodes(sweep.shape, 1, 1);
  const int64_t even = karst_rrb_nodes(sweep.shape, 0, 0), odd = karst_rrb_nodes(sweep.shape, 0, 1);
  karst_piece piece = karst_begin(context, KARST_KIND_BACKWARD, 14 * rows * sweep.shape->pitch);
#pragma omp parallel for num_threads(piece.threads) schedule(static)
  for (int64_t J = 0; J < rows; J++) {
    const int64_t at = J * sweep.shape->pitch;
    karst_rrb_r1_back(&sweep, at, odd);
    if (J < odd_rows) karst_rrb_r2_back(&sweep, at, even);
  }
  karst_end(context, &piece);
  karst_rrb_get_cpu(context, &place, x);
}
