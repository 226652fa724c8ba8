/* order_cost.c - the order of the block rows in a solver, and its cost. */
#include "solver/auto/order.h"
#include "solver/solver.h"

karst_status karst_solver_order_cost(const karst_solver *solver, karst_order_cost *cost)
{
  if (cost) *cost = (karst_order_cost){0};
  if (!solver || !cost) return karst_missing(solver ? solver->context : NULL, "the place for the cost of the order");
  karst_order_cost natural;
  karst_order_needs needs;
  karst_status status = karst_solver_check_ready(solver);
  if (!status) status = karst_order_find_needs(solver->context, solver->precond->ops, solver->options, &needs);
  if (status) return status;
  const karst_system *system = &solver->system;
  const karst_matrix *A = solver->apart ? solver->apart : system->matrix;
  const karst_tiling *tiling = system->ordered ? &system->ordered->tiling : NULL;
  status = karst_order_predict_in(A, tiling, &needs, cost);
  if (status) return status;
  natural = *cost;
  if (karst_ordering_table[solver->chosen.ordering]->compute)
    status = karst_order_predict_natural(system->original, &needs, &natural);
  cost->natural_levels = natural.levels;
  cost->natural_seconds = natural.seconds_bytes + natural.seconds_steps;
  return status;
}

karst_status karst_solver_get_order(const karst_solver *solver, karst_index *row)
{
  if (!solver || !row) return karst_missing(solver ? solver->context : NULL, "the place for the order");
  const karst_status status = karst_solver_check_ready(solver);
  if (status) return status;
  const karst_ordered *ordered = solver->system.ordered;
  const karst_index rows = solver->system.original->block_rows;
  for (karst_index i = 0; i < rows; i++) row[i] = ordered ? ordered->permutation[i] : i;
  return KARST_SUCCESS;
}
