/* The choice of block ILU's kernels on a GPU: its rules are functions of numbers, tested without a GPU. */
#include "gpu/ilu/choice.h"
#include "lib/backend/tile_join.h"

#include "tests/support/machines.h"
#include "tests/support/tap.h"

enum { PROCESSORS = 132, LONG = 1000000 };

static void test_factor(void)
{
  enum { SLICE = KARST_ILU_FACTOR_SLICE, ROW = KARST_ILU_FACTOR_ROW, MMA = KARST_ILU_FACTOR_MMA };
  enum { BLOCK = KARST_ILU_FACTOR_BLOCK };
  const struct {
    int b, rows, neighbours, levels, longest, modified;
    int kind;
    const char *what;
  } of[] = {
      {1, 1000, 6000, 28, 7, 0, SLICE, "a 7-point stencil: rows by slices"},
      {1, 1000, 26000, 100, 27, 0, ROW, "a 27-point stencil: a warp a row"},
      {1, 1000, 10000, 100, 27, 0, SLICE, "10 neighbours on average are not many"},
      {1, 1000, 10001, 100, 1536, 0, ROW, "10.001 are many, and 1536 elements fit"},
      {1, 1000, 10001, 100, 1537, 0, SLICE, "1537 elements do not fit"},
      {6, 1000, 26000, 100, 42, 0, ROW, "blocks of 6: 42 of them fit"},
      {6, 1000, 26000, 100, 43, 0, SLICE, "blocks of 6: 43 of them do not"},
      {7, 1000, 26000, 100, 27, 0, MMA, "blocks of 7: the matrix units, for any number of neighbours"},
      {8, 1, 0, 1, 1, 0, MMA, "blocks of 8: a single row too"},
      {9, 1000, 6000, 28, 7, 0, BLOCK, "blocks of 9: a block of threads a row"},
      {1024, 1, 0, 1, 1, 0, BLOCK, "the largest blocks"},
      {1, 1, 0, 1, 1, 0, SLICE, "one scalar"},
      {3, 1000, 10001, 100, 0, 0, ROW, "a row not measured yet is tried"},
      {2, 1000, 10001, 100, 384, 0, ROW, "blocks of 2: 384 of them fit"},
      {2, 1000, 10001, 100, 385, 0, SLICE, "blocks of 2: 385 do not"},
      {6, 1000, 10000, 100, 11, 0, SLICE, "blocks of 6 with few neighbours"},
      {1, 1000, 26000, 100, 27, 1, BLOCK, "modified: the kernel that sums dropped products"},
      {8, 1000, 6000, 28, 7, 1, BLOCK, "modified with blocks of 8"},
  };
  for (size_t i = 0; i < sizeof of / sizeof *of; i++) {
    const karst_ilu_shape shape = {
        of[i].b, of[i].rows, of[i].neighbours, of[i].levels, of[i].longest, PROCESSORS, of[i].modified, 0, 0};
    tap_ok((int)karst_ilu_choose_listed(&shape) == of[i].kind, "%s", of[i].what);
  }
}

static void test_rows_of_warp(void)
{
  enum { WIDE = 7 * PROCESSORS };
  const struct {
    karst_ilu_shape shape;
    int rows;
    const char *what;
  } of[] = {
      {{1, WIDE + 1, 0, 1, 768, PROCESSORS, false, 0, 0}, 2, "a warp makes two scalar rows where levels are wide"},
      {{1, WIDE, 0, 1, 768, PROCESSORS, false, 0, 0}, 1, "one row where levels are narrower"},
      {{1, WIDE + 1, 0, 2, 768, PROCESSORS, false, 0, 0}, 1, "one row where two levels share the rows"},
      {{1, WIDE + 1, 0, 1, 769, PROCESSORS, false, 0, 0}, 1, "one row if two do not fit"},
      {{2, WIDE + 1, 0, 1, 7, PROCESSORS, false, 0, 0}, 1, "one row if rows are of blocks"},
  };
  for (size_t i = 0; i < sizeof of / sizeof *of; i++)
    tap_ok(karst_ilu_choose_rows_of_warp(&of[i].shape) == of[i].rows, "%s", of[i].what);
}

static void test_search(void)
{
  const struct {
    karst_ilu_shape shape;
    bool searches;
    const char *what;
  } of[] = {
      {{1, 1000, 9000, 100, 99, PROCESSORS, false, 640000, 4096}, false, "64 products for each block have lists"},
      {{1, 1000, 9000, 100, 99, PROCESSORS, false, 640001, 4096}, true, "one product more has no lists"},
      {{9, 1000, 9000, 100, 99, PROCESSORS, true, 640001, 9}, true, "nor has it with large modified blocks"},
      {{1, 1000, 9000, 100, 99, PROCESSORS, false, 640000, 4097}, true, "a long list of one row is searched, too"},
      {{1, 1000, 19000, 100, 99, PROCESSORS, false, 640000, 4097},
       false,
       "no search with many neighbours: a warp a row"},
      {{1, 1000, 19000, 100, 1537, PROCESSORS, false, 640000, 4097},
       true,
       "a search where the row has no room in a warp"},
      {{7, 1000, 9000, 100, 99, PROCESSORS, false, 640000, 4097}, false, "no search with the matrix units"},
  };
  for (size_t i = 0; i < sizeof of / sizeof *of; i++)
    tap_ok(karst_ilu_searches(&of[i].shape) == of[i].searches, "%s", of[i].what);
}

static void test_factor_by_tiles(void)
{
  const karst_ilu_shape six = {6, 1000, 6000, 28, 0, PROCESSORS, false, 0, 0},
                        seven = {7, 1000, 6000, 28, 0, PROCESSORS, false, 0, 0};
  const karst_ilu_shape modified = {1, 1000, 6000, 28, 0, PROCESSORS, true, 0, 0};
  tap_ok(karst_ilu_may_factor_tiles(&six), "tiles are factored in shared memory with blocks of 6");
  tap_ok(!karst_ilu_may_factor_tiles(&seven), "and not with blocks of 7");
  tap_ok(!karst_ilu_may_factor_tiles(&modified), "nor with dropped products on the diagonal");
}

static void test_sweep(void)
{
  tap_ok(karst_ilu_choose_sweep(KARST_TRISOLVE_AUTO, 8) == KARST_ILU_SWEEP_LEVEL, "auto, 8 levels: a launch for each");
  tap_ok(karst_ilu_choose_sweep(KARST_TRISOLVE_AUTO, 9) == KARST_ILU_SWEEP_DATAFLOW,
         "auto, 9 levels: one launch for all");
  tap_ok(karst_ilu_choose_sweep(KARST_TRISOLVE_LEVEL, LONG) == KARST_ILU_SWEEP_LEVEL,
         "level, for any number of levels");
  tap_ok(karst_ilu_choose_sweep(KARST_TRISOLVE_DATAFLOW, 2) == KARST_ILU_SWEEP_DATAFLOW,
         "dataflow, for any number of levels");
  tap_ok(karst_ilu_choose_sweep(KARST_TRISOLVE_JACOBI, 2) == KARST_ILU_SWEEP_JACOBI &&
             karst_ilu_choose_sweep(KARST_TRISOLVE_JACOBI, LONG) == KARST_ILU_SWEEP_JACOBI,
         "jacobi, for any number of levels");
}

static void test_tiles(void)
{
  enum { ROWS = 40, LARGE = KARST_BLOCK_SIZE_LARGEST_INSTANCE + 1 };
  karst_index start[] = {0, 20, ROWS}, colour_start[] = {0, 1, 2}, single[ROWS + 1];
  for (karst_index i = 0; i <= ROWS; i++) single[i] = i;
  const karst_tiling tiling = {2, start, 2, colour_start}, rows = {ROWS, single, 2, colour_start};
  tap_ok(karst_ilu_may_solve_tiles(KARST_TRISOLVE_TILES, ROWS, 3, &tiling) &&
             karst_ilu_may_solve_tiles(KARST_TRISOLVE_AUTO, ROWS, 3, &tiling),
         "tiles, if the order has tiles");
  tap_ok(!karst_ilu_may_solve_tiles(KARST_TRISOLVE_TILES, ROWS, 3, NULL) &&
             !karst_ilu_may_solve_tiles(KARST_TRISOLVE_TILES, ROWS, LARGE, &tiling),
         "no tiles without tiles in the order, nor for large blocks");
  tap_ok(karst_ilu_may_solve_tiles(KARST_TRISOLVE_TILES, ROWS, 3, &rows) &&
             !karst_ilu_may_solve_tiles(KARST_TRISOLVE_AUTO, ROWS, 3, &rows),
         "tiles of single rows only if the option says tiles");
  tap_ok(!karst_ilu_may_solve_tiles(KARST_TRISOLVE_LEVEL, ROWS, 3, &tiling) &&
             !karst_ilu_may_solve_tiles(KARST_TRISOLVE_DATAFLOW, ROWS, 3, &tiling),
         "no tiles if the option names another way");
}

/* Auto takes the sweeps that were faster on an H200 or H100: M^-1 r in milliseconds, by tiles and by level sets. Chains
 * are those of the tiles that the kernels make. */
static void test_tiles_against_levels(void)
{
  const karst_machine *gpu = machine_of(false);
  const struct {
    int64_t rows, neighbours;
    double levels; /* times the rounds of a warp */
    int64_t padded, steps, rounds, tiles_of_chain;
    int b;
    bool tiles;
    const char *what;
  } of[] = {{1728000, 10281600, 128, 12955128, 128, 407, 8, 1, true, "120^3: 0.086 and 0.153"},
            {1728000, 20390400, 208, 26797192, 208, 574, 16, 1, true, "120^3, fill of level 1: 0.192 and 0.260"},
            {26400, 130880, 40, 171044, 48, 148, 4, 3, true, "two layers of SPE10: 0.023 and 0.028"},
            {26400, 242044, 194, 269000, 168, 380, 12, 3, true, "with fill of level 1: 0.11 and 0.12"},
            {44910, 272596, 221, 423864, 472, 1784, 20, 3, false, "Norne-like, grown tiles: 0.17 and 0.17"},
            {44910, 591868, 546, 740360, 705, 1305, 27, 3, false, "with fill of level 1: 0.37 and 0.31"},
            {262144, 6596856, 128, 6931200, 128, 864, 16, 1, false, "27 points on 64^3: 0.122 and 0.078"}};
  for (size_t i = 0; i < sizeof of / sizeof *of; i++) {
    const bool share = karst_tile_rows_are_long(of[i].rows, of[i].neighbours);
    const double chain = karst_tile_seconds(gpu, of[i].b, share, of[i].steps, of[i].rounds) +
                         (double)(of[i].tiles_of_chain - 1) * gpu->outer_step;
    const karst_sweep_work work = {of[i].rows, of[i].b, of[i].neighbours, of[i].levels, of[i].padded, chain, 0, false};
    tap_ok(karst_ilu_solves_tiles(gpu, KARST_TRISOLVE_AUTO, &work) == of[i].tiles &&
               karst_ilu_solves_tiles(gpu, KARST_TRISOLVE_TILES, &work),
           "%s ms; predicted %.3f and %.3f", of[i].what, 1e3 * karst_sweep_seconds_by_tiles(gpu, &work),
           1e3 * karst_sweep_seconds_by_levels(gpu, &work));
  }
  karst_sweep_work crowded = {1000000, 1, 6000000, 100, 7000000, 100e-6, 0, false};
  const double free = karst_sweep_seconds_by_tiles(gpu, &crowded);
  crowded.single = true;
  tap_ok(karst_sweep_seconds_by_tiles(gpu, &crowded) < free, "factors in float are read faster");
  crowded.occupied = 1e-3 * gpu->tile_memory;
  tap_ok(karst_sweep_seconds_by_tiles(gpu, &crowded) > 1e-3 && free < 0.5e-3,
         "tiles that fill the shared memory wait for each other");
}

/* The tiles of the kernels: small ones of a colour are joined while many find room in shared memory, large ones cut. */
static void test_joining(void)
{
  enum { TILES = 6, COLOURS = 2, MOST = 100 };
  const struct {
    int b, rows, length; /* rows of a tile, blocks of a row in a triangle */
    karst_index tiles, first;
    const char *what;
  } of[] = {{3, 32, 3, 4, 64, "three tiles of 32 rows: two are joined"},
            {3, 32, 7, 6, 32, "not with fill, for which fewer tiles find room"},
            {1, 32, 3, 2, 96, "scalar rows: all of a colour"},
            {1, 256, 3, 6, 256, "large tiles stay as they are"},
            {3, 500, 3, 18, 166, "or are cut"}};
  for (size_t i = 0; i < sizeof of / sizeof *of; i++) {
    karst_index start[TILES + 1], colour_start[] = {0, TILES / 2, TILES}, made[MOST];
    for (karst_index t = 0; t <= TILES; t++) start[t] = t * of[i].rows;
    const karst_tiling tiling = {TILES, start, COLOURS, colour_start};
    const karst_tile_limits limits = karst_tile_limits_for(&tiling, of[i].b, (int64_t)start[TILES] * of[i].length);
    const karst_index count = karst_tile_join(&tiling, &limits, made);
    tap_ok(count == of[i].tiles && count < karst_tile_most(&tiling, &limits) && made[0] == 0 &&
               made[1] == of[i].first && made[count] == start[TILES],
           "%s (%lld tiles, the first of %lld rows)", of[i].what, (long long)count, (long long)made[1]);
  }
}

/* As few lanes share a row as can wait for all its neighbours at once, 4 each, or 3 with larger blocks, in one warp. */
static void test_parts(void)
{
  const struct {
    int b, neighbours; /* of 100 rows */
    int parts;
  } of[] = {{1, 0, 1},   {1, 400, 1}, {1, 401, 2}, {2, 800, 2},  {2, 801, 4},   {1, 1601, 8},  {1, 10000, 8},
            {3, 300, 1}, {3, 301, 2}, {3, 601, 4}, {4, 1201, 8}, {5, 10000, 4}, {8, 10000, 4}, {9, 10000, 1}};
  for (size_t i = 0; i < sizeof of / sizeof *of; i++)
    tap_ok(karst_ilu_choose_parts(of[i].b, 100, of[i].neighbours) == of[i].parts,
           "b = %d, %d neighbours of 100 rows: %d lanes a row", of[i].b, of[i].neighbours, of[i].parts);
}

/* Returns the long rows of a triangle with count[i] rows of length[i]. count: [lengths] */
static karst_ilu_long_rows count_long(int lengths, const int64_t *length, const int64_t *count, int64_t *rows,
                                      int64_t *neighbours)
{
  karst_ilu_long_rows found = {{0}, {0}};
  *rows = *neighbours = 0;
  for (int i = 0; i < lengths; i++) {
    *rows += count[i];
    *neighbours += count[i] * length[i];
    for (int l = 0; l < KARST_ILU_LONG_LIMITS; l++)
      if (length[i] > (int64_t)KARST_ILU_LONG << l) {
        found.rows[l] += (unsigned long long)count[i];
        found.neighbours[l] += (unsigned long long)(count[i] * length[i]);
      }
  }
  return found;
}

static void test_long(void)
{
  const struct {
    int64_t length[3], count[3], levels;
    int limit;
    const char *what;
  } of[] = {
      {{3, 13, 64}, {1000000, 1000, 1}, 300, -1, "rows of 64 neighbours are not long"},
      {{3, 65, 500}, {1000000, 0, 100}, 300, 0, "wells in a grid: all beyond 64"},
      {{3, 100, 600}, {1000, 15990, 10}, 1000, 0, "16 a level on average are few"},
      {{3, 100, 600}, {1000, 16000, 10}, 999, 1, "more are many, unless they are beyond 128"},
      {{100, 120, 128}, {100000, 100000, 100000}, 700, -1, "all are about as long"},
      {{0, 3, 100}, {3000, 0, 40}, 2, 0, "many in a level, but much longer than the average"},
      {{7, 100, 3000}, {1000, 1000, 40}, 2, 4, "beyond 1024 they are 8 times the average"},
  };
  for (size_t i = 0; i < sizeof of / sizeof *of; i++) {
    int64_t rows, neighbours;
    const karst_ilu_long_rows found = count_long(3, of[i].length, of[i].count, &rows, &neighbours);
    const int limit = karst_ilu_choose_long(&found, rows, neighbours, of[i].levels);
    tap_ok(limit == of[i].limit, "long rows: %s (limit %d)", of[i].what, limit);
  }
  bool right = true;
  for (int b = 1; b <= 12; b++)
    for (int64_t neighbours = 0; neighbours < 60; neighbours++) {
      const int parts = karst_ilu_choose_parts_beside_long(b, 1, neighbours);
      right = right && (parts == 1 || ((parts == 4 || parts == 8) && parts * b <= 32)) &&
              parts >= karst_ilu_choose_parts(b, 1, neighbours);
    }
  tap_ok(right, "long rows: one, four or eight lanes for the others, in one warp");
}

int main(void)
{
  test_factor();
  test_rows_of_warp();
  test_search();
  test_factor_by_tiles();
  test_sweep();
  test_tiles();
  test_tiles_against_levels();
  test_joining();
  test_parts();
  test_long();
  return tap_done();
}
