/* order.c - see order.h: what preconditioners need of an order, which of natural order and tiles is predicted to be
 * faster, and what an order costs.
 *
 * On a GPU the sweeps of natural order wait for each level set. Tiles that are boxes of a grid wait for a few colours
 * only and take a few more iterations. On irregular grids rows are joined to tiles along couplings, which is slow: an
 * H100 solves a system of a Norne-like field in 13 ms for 17 of natural order, but sets it up in 35 ms for 4. So these
 * tiles are taken only after a measurement. On a CPU few threads divide natural order into runs of rows
 * (symbolic/ilu/schedule.c), wait for little and keep its iterations. */
#include "solver/auto/order.h"

#include "lib/backend/backend.h"
#include "lib/backend/dense.h"
#include "lib/backend/ilu_kernels.h"
#include "lib/base/number.h"
#include "lib/grid/grid.h"
#include "symbolic/ordering/tiles.h"
#include "symbolic/symbolic.h"

#include <limits.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

/* With fewer block rows, which the reason names, launches take most of the time in any order. */
enum { FEW_ROWS = 1000 };

/* Tiles must save at least a twentieth of an iteration, because set-up makes them and permutes the matrix. */
static const double gain = 0.95;

/* Vectors that an iteration reads or writes beside the triangular solves and the product with A. */
enum { VECTORS = 10 };

/* Whether sweeps go by level sets even in tiles: a GPU has sweeps by tiles for some block sizes only. */
static bool go_by_level_sets(const karst_order_needs *needs, const karst_matrix *A)
{
  return needs->level_sets || A->block_size > needs->largest_block;
}

/* Reads how far fill reaches: ILU(k) couples only rows that at most k + 1 couplings of A join. */
static void read_distance(const karst_options *options, const karst_option *row, karst_order_needs *needs)
{
  int level = 0;
  if (row->kind != KARST_OPTION_INTEGER || strcmp(row->name, "level") != 0) return;
  karst_options_read_row(options, row, &level);
  const int distance = level < INT_MAX ? level + 1 : level;
  if (distance > needs->distance) needs->distance = distance;
}

/* Reads an option that concerns triangular solves. */
static void read_sweeps(const karst_options *options, const karst_option *row, karst_order_needs *needs)
{
  if (row->kind == KARST_OPTION_NAME && strcmp(row->name, "trisolve") == 0) {
    int trisolve = KARST_TRISOLVE_AUTO;
    karst_options_read_row(options, row, &trisolve);
    if (trisolve == KARST_TRISOLVE_TILES) needs->tiles = true;
    needs->level_sets = trisolve == KARST_TRISOLVE_LEVEL || trisolve == KARST_TRISOLVE_DATAFLOW;
    if (trisolve == KARST_TRISOLVE_JACOBI) needs->sweeps = false;
  } else if (row->kind == KARST_OPTION_REAL && strcmp(row->name, "modified") == 0) {
    double modified = 0;
    karst_options_read_row(options, row, &modified);
    if (modified != 0) needs->natural = "in tiles modified factors take many more iterations, or break down";
  }
}

/* Adds the needs of a preconditioner inside another one. */
static karst_status add_needs(karst_context *context, const karst_options *options, const karst_option *row,
                              karst_order_needs *needs)
{
  const struct karst_precond_ops *chosen = NULL;
  karst_order_needs inner_needs = {.sweeps = false};
  karst_options *inner;
  karst_status status = karst_options_inner(context, options, row, &inner);
  if (!status) status = karst_precond_chosen(context, inner, &chosen);
  if (!status) status = karst_order_find_needs(context, chosen, inner, &inner_needs);
  karst_options_destroy(inner);
  needs->sweeps = needs->sweeps || inner_needs.sweeps;
  needs->tiles = needs->tiles || inner_needs.tiles;
  needs->level_sets = needs->level_sets || inner_needs.level_sets;
  if (inner_needs.distance > needs->distance) needs->distance = inner_needs.distance;
  if (inner_needs.largest_block < needs->largest_block) needs->largest_block = inner_needs.largest_block;
  if (inner_needs.natural) needs->natural = inner_needs.natural;
  return status;
}

karst_status karst_order_find_needs(karst_context *context, const struct karst_precond_ops *ops,
                                    const karst_options *options, karst_order_needs *needs)
{
  karst_status status = KARST_SUCCESS;
  const bool sweeps = ops->order == KARST_ORDER_SWEEPS;
  *needs = (karst_order_needs){.sweeps = sweeps, .level_sets = sweeps && !ops->by_tiles, .distance = 1};
  needs->largest_block = ops->by_tiles ? ops->by_tiles : KARST_BLOCK_SIZE_LARGEST_INSTANCE;
  if (ops->order == KARST_ORDER_OWN) needs->natural = "the preconditioner may rely on the order of the matrix";
  for (const karst_option *const *list = ops->options; list && *list; list++)
    for (const karst_option *row = *list; row->name && !status; row++) {
      read_distance(options, row, needs);
      if (sweeps) read_sweeps(options, row, needs);
      if (row->kind == KARST_OPTION_PRECOND && ops->shares_matrix) status = add_needs(context, options, row, needs);
    }
  return status;
}

karst_status karst_order_compare(const karst_matrix *A, const karst_machine *machine, int distance, int tile_size,
                                 bool level_sets, karst_order_choice *choice)
{
  const karst_ordering_pattern pattern = {.context = A->context,
                                          .block_rows = A->block_rows,
                                          .row_start = A->row_start,
                                          .column = A->column,
                                          .grid = karst_has_grid(A) ? &A->grid : NULL,
                                          .matrix = A,
                                          .distance = distance,
                                          .settings = {.tile_size = tile_size}};
  const double rows = (double)karst_matrix_rows(A);
  karst_order_outlook outlook;
  karst_grid grid;
  int stencil;
  const bool few = A->block_rows < FEW_ROWS;
  *choice = (karst_order_choice){.open = !machine->host && !few};
  if (machine->host || few || !karst_tiles_find_grid(&pattern, &grid, &stencil)) {
    snprintf(choice->reason, sizeof choice->reason, "%s",
             machine->host ? "on a CPU natural order waits for little, and takes fewer iterations"
             : few         ? "fewer than 1000 block rows"
                           : "no box of cells is known or found, and other tiles take long to make");
    return KARST_SUCCESS;
  }
  const bool large = A->block_size > KARST_BLOCK_SIZE_LARGEST_INSTANCE;
  const karst_status status = karst_order_estimate(&pattern, machine, level_sets || large, &outlook);
  if (status) return status;
  if (2 * outlook.levels > (double)A->block_rows) {
    choice->open = false;
    snprintf(choice->reason, sizeof choice->reason,
             "rows wait one by one, as in a band whose factors are nearly exact");
    return KARST_SUCCESS;
  }
  const double moved = karst_traffic_of(karst_entries(A) + (int64_t)VECTORS * (int64_t)rows, karst_matrix_blocks(A));
  const double rest = machine->launches + moved / machine->copy_bandwidth;
  choice->tiles = KARST_ORDER_MORE_ITERATIONS * (outlook.tiles + rest) < gain * (outlook.natural + rest);
  karst_print(choice->reason, sizeof choice->reason,
              "triangular solves estimated: %.2g ms in natural order, %.2g ms by tiles", 1e3 * outlook.natural,
              1e3 * outlook.tiles);
  return KARST_SUCCESS;
}

karst_status karst_order_choose(const karst_options *options, const karst_matrix *A,
                                const struct karst_precond_ops *ops, int tile_size, karst_order_choice *choice)
{
  karst_context *context = A->context;
  karst_order_needs needs;
  karst_status status = karst_order_find_needs(context, ops, options, &needs);
  if (status) return status;
  *choice = (karst_order_choice){.tiles = needs.tiles};
  if (!needs.tiles && !needs.natural && needs.sweeps)
    return karst_order_compare(A, context->backend->machine, needs.distance, tile_size, go_by_level_sets(&needs, A),
                               choice);
  snprintf(choice->reason, sizeof choice->reason, "%s",
           needs.tiles     ? "trisolve tiles asks for them"
           : needs.natural ? needs.natural
                           : "no triangular solves wait for rows");
  return KARST_SUCCESS;
}

karst_status karst_order_predict_in(const karst_matrix *A, const karst_tiling *tiling, const karst_order_needs *needs,
                                    karst_order_cost *cost)
{
  karst_status status = karst_matrix_fetch_pattern(A);
  if (status) return status;
  const karst_order_system system = {.block_rows = A->block_rows,
                                     .block_size = A->block_size,
                                     .level = needs->distance - 1,
                                     .row_start = A->row_start,
                                     .column = A->column,
                                     .tiling = tiling,
                                     .by_tiles = needs->tiles,
                                     .level_sets = go_by_level_sets(needs, A)};
  return karst_order_predict(A->context, &system, A->context->backend->machine, cost);
}

karst_status karst_order_predict_natural(const karst_matrix *A, const karst_order_needs *needs,
                                         karst_order_cost *natural)
{
  static const double most_blocks = 1 << 28;
  double least = 0;
  *natural = (karst_order_cost){0};
  karst_status status = karst_matrix_fetch_pattern(A);
  if (!status && needs->distance > 1)
    status = karst_ilu_least_blocks(A->context, A->block_rows, A->row_start, A->column, &least);
  if (!status && least > most_blocks) return KARST_SUCCESS;
  if (!status) status = karst_order_predict_in(A, NULL, needs, natural);
  if (status != KARST_ERROR_NO_MEMORY && status != KARST_ERROR_INDEX_OVERFLOW) return status;
  *natural = (karst_order_cost){0};
  return KARST_SUCCESS;
}
