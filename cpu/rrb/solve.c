/* solve.c - z = M^-1 r of the repeated red-black method: forward from grid to grid, the remaining nodes, and back (de
 * Jong, van der Ploeg, Ditzel and Vuik, ETNA 46 (2017), section 3). M = L D L^T. */
#include "cpu/rrb/rrb_sweeps.h"

/* The sweep over grid m where its vector is the work space. */
static karst_rrb_pass pass_of(const karst_rrb *rrb, int m)
{
  double *vector = ((karst_rrb_cpu *)rrb->plan)->arrays.vector[m] + rrb->shape[m].pitch;
  return (karst_rrb_pass){.rrb = rrb, .grid = m, .red = true, .from = vector, .to = vector};
}

/* Solves for the remaining nodes in a vector of grid levels / 2. */
static void solve_rest(const karst_rrb *rrb, double *vector)
{
  const karst_rrb_cpu *plan = rrb->plan;
  for (karst_index q = 0; q < rrb->rest; q++) plan->left[q] = vector[plan->place[q]];
  karst_rrb_rest_solve_cpu(rrb->rest, rrb->rest_band, plan->band, plan->left);
  for (karst_index q = 0; q < rrb->rest; q++) vector[plan->place[q]] = plan->left[q];
}

/* Solves on the grids from number first on, in place. */
static void solve_grids(karst_context *context, const karst_rrb *rrb, int first)
{
  const karst_rrb_cpu *plan = rrb->plan;
  for (int m = first; m < rrb->grouped; m++) {
    const karst_rrb_pass pass = pass_of(rrb, m);
    karst_rrb_forward_cpu(context, &pass);
  }
  if (plan->naive)
    karst_rrb_naive_kernels.solve(plan->naive, plan->naive->vector);
  else
    solve_rest(rrb, plan->arrays.vector[rrb->levels / 2]);
  for (int m = rrb->grouped - 1; m >= first; m--) {
    const karst_rrb_pass pass = pass_of(rrb, m);
    karst_rrb_backward_cpu(context, &pass, NULL);
  }
}

void karst_rrb_solve_cpu(karst_context *context, const karst_rrb *rrb, const double *r, double *z)
{
  const karst_rrb_cpu *plan = rrb->plan;
  const bool natural = rrb->grouped == 0 && plan->naive;
  const karst_rrb_place place = {rrb, natural ? plan->naive->vector : plan->arrays.vector[0],
                                 natural ? 0 : KARST_RRB_GROUPS};
  karst_rrb_put_cpu(context, &place, r);
  solve_grids(context, rrb, 0);
  karst_rrb_get_cpu(context, &place, z);
}

/* Does so on the black nodes of grid 0 alone, in z. */
static void solve_black(karst_context *context, const karst_rrb *rrb, const double *r, double *z, double *dot)
{
  const karst_rrb_cpu *plan = rrb->plan;
  karst_copy_cpu(context, rrb->reduced, r, z);
  if (plan->naive)
    karst_rrb_naive_kernels.solve_black(plan->naive, z);
  else
    solve_rest(rrb, z);
  if (dot) karst_dots_cpu(context, rrb->reduced, 1, &r, z, dot);
}

void karst_rrb_solve_reduced_cpu(karst_context *context, const karst_rrb *rrb, const double *r, double *z, double *dot)
{
  if (rrb->grouped == 0 || rrb->levels == 1) {
    solve_black(context, rrb, r, z, dot);
    return;
  }
  const int64_t pitch = rrb->shape[0].pitch;
  const karst_rrb_pass pass = {.rrb = rrb, .grid = 0, .red = false, .from = r + pitch, .to = z + pitch};
  karst_rrb_forward_cpu(context, &pass);
  solve_grids(context, rrb, 1);
  const double sum = karst_rrb_backward_cpu(context, &pass, dot ? r + pitch : NULL);
  if (dot) *dot = sum;
}
