/* order_cost.c - what the order of a solver costs, and natural order, as symbolic/ordering/cost.c predicts it. */
#include "lib/backend/dense.h"
#include "solver/auto/distance.h"
#include "solver/auto/order_choice.h"
#include "solver/solver.h"
#include "symbolic/symbolic.h"

/* How the solver's sweeps go in tiles: a GPU has sweeps by tiles for some block sizes. */
struct sweeps {
  bool told;       /* by tiles, whether or not these suit them */
  bool level_sets; /* by level sets, whatever the tiles are */
};

static karst_status find_sweeps(const karst_solver *solver, const karst_matrix *A, struct sweeps *sweeps)
{
  karst_order_needs needs;
  const karst_status status = karst_order_find_needs(solver->context, solver->precond->ops, solver->options, &needs);
  if (!status) *sweeps = (struct sweeps){needs.tiles, needs.level_sets || A->block_size > needs.largest_block};
  return status;
}

/* The cost of a pattern that has tiles, or NULL. */
static karst_status predict(const karst_matrix *A, int level, const karst_tiling *tiling, const struct sweeps *sweeps,
                            karst_order_cost *cost)
{
  karst_status status = karst_matrix_fetch_pattern(A);
  if (status) return status;
  const karst_order_system system = {.block_rows = A->block_rows,
                                     .block_size = A->block_size,
                                     .level = level,
                                     .row_start = A->row_start,
                                     .column = A->column,
                                     .tiling = tiling,
                                     .told = sweeps->told};
  const bool host = karst_context_is_host(A->context);
  const karst_order_machine machine = sweeps->level_sets ? karst_order_machine_without_tiles(host, A->block_size)
                                                         : *karst_order_machine_of(host, A->block_size);
  return karst_order_predict(A->context, &system, &machine, cost);
}

/* Natural order beside another one, or nothing where its factors are too large: to count them would take seconds, or
 * more memory than there is. */
static karst_status predict_natural(const karst_matrix *A, int level, const struct sweeps *sweeps,
                                    karst_order_cost *natural)
{
  static const double most_blocks = 1 << 28;
  double least = 0;
  *natural = (karst_order_cost){0};
  karst_status status = karst_matrix_fetch_pattern(A);
  if (!status && level > 0) status = karst_ilu_least_blocks(A->context, A->block_rows, A->row_start, A->column, &least);
  if (!status && least > most_blocks) return KARST_SUCCESS;
  if (!status) status = predict(A, level, NULL, sweeps, natural);
  if (status != KARST_ERROR_NO_MEMORY && status != KARST_ERROR_INDEX_OVERFLOW) return status;
  *natural = (karst_order_cost){0};
  return KARST_SUCCESS;
}

karst_status karst_solver_order_cost(const karst_solver *solver, karst_order_cost *cost)
{
  if (cost) *cost = (karst_order_cost){0};
  if (!solver || !cost) return karst_missing(solver ? solver->context : NULL, "the place for the cost of the order");
  karst_order_cost natural;
  int distance;
  karst_status status = karst_solver_check_ready(solver);
  if (!status) status = karst_fill_distance(solver->context, solver->precond->ops, solver->options, &distance);
  if (status) return status;
  const karst_system *system = &solver->system;
  const karst_matrix *A = solver->apart ? solver->apart : system->matrix;
  const karst_tiling *tiling = system->ordered ? &system->ordered->tiling : NULL;
  struct sweeps sweeps;
  status = find_sweeps(solver, A, &sweeps);
  if (!status) status = predict(A, distance - 1, tiling, &sweeps, cost);
  if (status) return status;
  natural = *cost;
  if (karst_ordering_table[solver->chosen.ordering]->compute)
    status = predict_natural(system->original, distance - 1, &sweeps, &natural);
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
