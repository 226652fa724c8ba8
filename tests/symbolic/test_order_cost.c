/* The predicted cost of an order is within a factor of two of the measured one, and an order's cost is estimated before
 * it is made. */
#include "tests/support/failing_allocator.h"
#include "solver/auto/order.h"
#include "solver/ordered.h"
#include "symbolic/symbolic.h"
#include "tests/support/machines.h"
#include "tests/support/problem.h"
#include "tests/support/tilings.h"

#include <math.h>
#include <string.h>

/* Predicted times of natural order and tiles on a GPU, against those measured on an H200: M^-1 r of doc/benchmarks.md.
 * The pattern of a 7-point grid with any block size is that of poisson3d. */
static void test_measured(karst_context *context)
{
  static const struct {
    const char *spec, *ordering;
    int block, level, most;
    double milliseconds;
  } measured[] = {
      {"poisson3d:120x120x120", "natural", 1, 0, 0, 0.430}, {"poisson2d:1024x1024", "natural", 1, 0, 0, 1.720},
      {"laplace27:64x64x64", "natural", 1, 0, 0, 0.433},    {"poisson3d:65x65x65", "natural", 2, 1, 0, 0.434},
      {"poisson3d:65x65x65", "natural", 3, 0, 0, 0.253},    {"poisson3d:65x65x65", "natural", 6, 1, 0, 0.876},
      {"poisson3d:65x65x65", "natural", 8, 0, 0, 0.502},    {"poisson3d:100x100x100", "natural", 4, 0, 0, 0.621},
      {"poisson3d:120x120x120", "tiles", 1, 0, 128, 0.092}, {"poisson2d:1024x1024", "tiles", 1, 0, 128, 0.049},
      {"poisson3d:100x100x100", "tiles", 3, 0, 64, 0.275},  {"poisson3d:100x100x100", "tiles", 4, 0, 32, 0.442}};
  for (size_t i = 0; i < sizeof measured / sizeof *measured; i++) {
    karst_order_cost cost;
    karst_matrix *A = matrix_from(context, measured[i].spec, 0);
    karst_order_system system = {.block_rows = A->block_rows,
                                 .block_size = measured[i].block,
                                 .level = measured[i].level,
                                 .row_start = A->row_start,
                                 .column = A->column};
    karst_ordering_choice choice = {.settings = {.tile_size = measured[i].most}, .distance = measured[i].level + 1};
    karst_ordered *ordered = NULL;
    if (measured[i].most > 0) {
      for (size_t o = 0; strcmp(karst_ordering_name(o), "tiles") != 0; o++) choice.ops = karst_ordering_table[o + 1];
      tap_need(context, karst_ordered_create(&choice, A, &ordered), "tiles");
      system.row_start = karst_matrix_row_start(ordered->pattern);
      system.column = karst_matrix_column(ordered->pattern);
      system.tiling = &ordered->tiling;
    }
    tap_need(context, karst_order_predict(context, &system, machine_of(false), &cost), "cost");
    const double predicted = 1e3 * (cost.seconds_bytes + cost.seconds_steps);
    tap_ok(predicted < 2 * measured[i].milliseconds && predicted > 0.5 * measured[i].milliseconds,
           "%s, b = %d, k = %d, %s: %.3f ms predicted, %.3f measured", measured[i].spec, measured[i].block,
           measured[i].level, measured[i].ordering, predicted, measured[i].milliseconds);
    karst_ordered_release(ordered);
    karst_matrix_destroy(A);
  }
}

/* Sweeps go the way that is predicted to be faster: by level sets on a small grid, where tiles wait for whole tiles; by
 * tiles along a line, where each row waits for the one before it. */
static void test_ways(karst_context *context)
{
  static const char *const specs[] = {"poisson3d:40x40x40", "poisson2d:3000x1"};
  for (size_t i = 0; i < sizeof specs / sizeof *specs; i++) {
    karst_order_cost cost[3];
    double seconds[3];
    karst_matrix *A = matrix_from(context, specs[i], 0);
    karst_ordering_choice choice = {.settings = {.tile_size = i == 0 ? 64 : 1500}, .distance = 1};
    karst_ordered *ordered;
    for (size_t o = 0; strcmp(karst_ordering_name(o), "tiles") != 0; o++) choice.ops = karst_ordering_table[o + 1];
    tap_need(context, karst_ordered_create(&choice, A, &ordered), "tiles");
    for (int way = 0; way < 3; way++) {
      const karst_order_system system = {.block_rows = A->block_rows,
                                         .block_size = 1,
                                         .row_start = karst_matrix_row_start(ordered->pattern),
                                         .column = karst_matrix_column(ordered->pattern),
                                         .tiling = &ordered->tiling,
                                         .by_tiles = way == 1,
                                         .level_sets = way == 2};
      tap_need(context, karst_order_predict(context, &system, machine_of(false), &cost[way]), "cost");
      seconds[way] = cost[way].seconds_bytes + cost[way].seconds_steps;
    }
    tap_ok(seconds[0] == fmin(seconds[1], seconds[2]) && (seconds[1] < seconds[2]) == (i == 1),
           "%s: %.3f ms by tiles, %.3f by level sets, %.3f where the device chooses", specs[i], 1e3 * seconds[1],
           1e3 * seconds[2], 1e3 * seconds[0]);
    karst_ordered_release(ordered);
    karst_matrix_destroy(A);
  }
}

/* The pattern of A that an ordering receives for ILU(level), without a grid. */
static karst_ordering_pattern pattern_of(karst_context *context, const karst_matrix *A, int level)
{
  return (karst_ordering_pattern){.context = context,
                                  .block_rows = A->block_rows,
                                  .row_start = A->row_start,
                                  .column = A->column,
                                  .matrix = A,
                                  .distance = level + 1};
}

/* The number of levels that is estimated from some rows of a grid is that of the factors, in the grid's order and any
 * other. */
static void test_levels(karst_context *context)
{
  static const char *const specs[] = {"poisson2d:31x17",  "poisson3d:9x12x7", "laplace27:8x7x9",
                                      "bilinear2d:20x11", "poisson3d:40x1x1", "blackoil:7x9x5"};
  for (size_t i = 0; i < sizeof specs / sizeof *specs; i++) {
    bool right = true;
    karst_matrix *A = matrix_from(context, specs[i], 0);
    for (int k = 0; k < 3; k++) {
      karst_ordering_pattern pattern = pattern_of(context, A, k);
      if (k == 1) pattern.grid = &A->grid;
      const karst_order_system system = {
          .block_rows = A->block_rows, .block_size = 1, .level = k, .row_start = A->row_start, .column = A->column};
      karst_order_outlook outlook;
      karst_order_cost cost;
      tap_need(context, karst_order_estimate(&pattern, machine_of(false), false, &outlook), "estimate");
      tap_need(context, karst_order_predict(context, &system, machine_of(false), &cost), "cost");
      if (outlook.levels != (double)cost.levels)
        tap_note("k = %d: %g levels estimated, %lld counted", k, outlook.levels, (long long)cost.levels);
      right = right && outlook.levels == (double)cost.levels;
    }
    tap_ok(right, "%s shows its level sets for k = 0, 1, 2", specs[i]);
    karst_matrix_destroy(A);
  }
}

/* The test runs on a CPU: only the device's numbers differ on a GPU. */
static void test_colours(karst_context *context)
{
  static const char *const specs[] = {"poisson2d:90x80", "poisson3d:30x24x28", "laplace27:20x22x24", "poisson2d:1x500"};
  for (size_t i = 0; i < sizeof specs / sizeof *specs; i++) {
    bool right = true;
    karst_matrix *A = matrix_from(context, specs[i], 0);
    for (int k = 0; k < 3; k++) {
      karst_ordering_pattern pattern = pattern_of(context, A, k);
      pattern.settings.tile_size = 27;
      karst_order_outlook outlook;
      struct tiled made = tiled_make("tiles", &pattern);
      tap_need(context, karst_order_estimate(&pattern, machine_of(true), false, &outlook), "estimate");
      if (outlook.colours != (double)made.tiling.colours)
        tap_note("k = %d: %g colours estimated, %lld counted", k, outlook.colours, (long long)made.tiling.colours);
      right = right && outlook.colours == (double)made.tiling.colours;
      tiled_free(context, &made);
    }
    tap_ok(right, "%s: boxes have as many colours as estimated for k = 0, 1, 2", specs[i]);
    karst_matrix_destroy(A);
  }
}

/* The levels of A are counted if its pattern is no grid. */
static void test_counted(karst_context *context)
{
  enum { ROWS = 50 };
  karst_index start[ROWS + 1] = {0}, column[ROWS * 3];
  karst_order_outlook outlook;
  karst_index n = 0;
  for (karst_index i = 0; i < ROWS; i++) { /* row i depends on row i / 2, as in a tree */
    if (i > 0) column[n++] = i / 2;
    column[n++] = i;
    start[i + 1] = n;
  }
  const karst_ordering_pattern pattern = {
      .context = context, .block_rows = ROWS, .row_start = start, .column = column, .distance = 1};
  tap_need(context, karst_order_estimate(&pattern, machine_of(false), false, &outlook), "estimate");
  tap_ok(outlook.levels == 7, "a tree of 50 rows has %g levels", outlook.levels);
  const karst_ordering_pattern none = {.context = context, .row_start = start};
  tap_ok(!karst_order_estimate(&none, machine_of(false), false, &outlook) && outlook.levels == 0,
         "and no row has none");
}

/* A path in an order that is not a grid's: its levels are counted. */
static karst_status estimate(karst_context *context, void *user)
{
  enum { ROWS = 1500 };
  static karst_index start[ROWS + 1], column[2 * ROWS];
  static double value[2 * ROWS];
  karst_matrix *A = NULL;
  karst_index n = 0;
  karst_order_choice *choice = user;
  for (karst_index i = 0; i < ROWS; i++) {
    if (i > 0) column[n++] = i / 2;
    value[n] = 1;
    column[n++] = i;
    start[i + 1] = n;
  }
  karst_status status = karst_matrix_create(context, ROWS, 1, start, column, value, KARST_COPY, &A);
  if (!status) status = karst_order_compare(A, machine_of(false), 1, 0, false, choice);
  karst_matrix_destroy(A);
  return status;
}

/* A dense row and column at the start: factors of level 1 are full, unless an order puts them last. */
static karst_matrix *make_arrow(karst_context *context, karst_index n)
{
  struct pattern arrow = pattern_arrow(n);
  double *value = tap_memory(arrow.start[n], sizeof *value);
  for (karst_index i = 0; i < n; i++)
    for (karst_index k = arrow.start[i]; k < arrow.start[i + 1]; k++)
      value[k] = arrow.column[k] != i ? 1 : i > 0 ? 2 : 2 * (double)n;
  karst_matrix *A = pattern_matrix(context, &arrow, 1, value);
  free(value);
  pattern_free(&arrow);
  return A;
}

/* The cost of an order is reported even if there is no memory to count the cost of natural order. */
static void test_too_large(void)
{
  enum { ROWS = 2000, LARGE = 20000, SPARE = 1 << 20 };
  struct failing_allocator memory = {0};
  karst_order_cost cost;
  karst_context *context = failing_context(&memory);
  karst_matrix *A = make_arrow(context, ROWS);
  karst_solver *solver = solver_from(context, PAIRS("ordering", "colour", "level", "1"));
  tap_need(context, karst_solver_setup(solver, A), "setup");
  memory.limit = memory.bytes + SPARE;
  const karst_status status = karst_solver_order_cost(solver, &cost);
  tap_ok(!status && cost.levels == 2 && cost.natural_levels == 0 && cost.natural_seconds == 0,
         "natural order is left out where its factors are too large: %s, %lld levels", karst_status_text(status),
         (long long)cost.levels);
  memory.limit = 0;
  tap_ok(!karst_solver_order_cost(solver, &cost) && cost.natural_levels == ROWS, "and reported where there is room");
  karst_matrix *large = make_arrow(context, LARGE);
  tap_need(context, karst_solver_setup(solver, large), "setup");
  tap_ok(!karst_solver_order_cost(solver, &cost) && cost.levels == 2 && cost.natural_levels == 0,
         "2^28 blocks of one row are not counted");
  karst_solver_destroy(solver);
  karst_matrix_destroy(large);
  karst_matrix_destroy(A);
  karst_context_destroy(context);
}

int main(void)
{
  karst_order_choice choice;
  karst_context *context = tap_context();
  test_measured(context);
  test_ways(context);
  test_levels(context);
  test_colours(context);
  test_counted(context);
  karst_context_destroy(context);
  fail_each_allocation(estimate, &choice, "the estimate");
  test_too_large();
  return tap_done();
}
