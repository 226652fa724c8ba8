/* The ordering colour is a permutation of any pattern, the same in every run, and the factors of ILU(k) couple no rows
 * of one colour. Grids need two colours without fill, and colours are of about equal size. */
#include "tests/support/tilings.h"

static void test_random(karst_context *context)
{
  tap_ok(tiled_count_faults(context, "colour", 80, NULL) == 0,
         "random patterns, empty and nearly full rows: colours differ where ILU(k) couples, k = 0 to 3");
}

static karst_index largest_colour(const struct tiled *made)
{
  karst_index most = 0;
  for (karst_index c = 0; c < made->tiling.colours; c++) {
    const karst_index size = made->tiling.colour_start[c + 1] - made->tiling.colour_start[c];
    if (size > most) most = size;
  }
  return most;
}

/* A grid has two colours, also when its rows are shuffled. */
static void test_grid(karst_context *context)
{
  struct pattern grid = pattern_grid(9, 8, 7);
  karst_index *shuffle = pattern_shuffle(grid.n), *start, *column, *source;
  karst_ordering_pattern pattern = tiled_pattern(context, &grid);
  struct tiled made = tiled_make("colour", &pattern);
  tap_ok(made.tiling.colours == 2 && largest_colour(&made) == grid.n / 2, "a 9x8x7 grid is red and black");
  bool ascends = true;
  for (karst_index i = 1; i < grid.n; i++)
    ascends = ascends && (i == made.tiling.colour_start[1] || made.permutation[i] > made.permutation[i - 1]);
  tap_ok(ascends, "rows of a colour come in natural order");
  tiled_free(context, &made);
  tap_need(context, karst_pattern_permute(context, grid.n, grid.start, grid.column, shuffle, &start, &column, &source),
           "permute");
  pattern.row_start = start;
  pattern.column = column;
  made = tiled_make("colour", &pattern);
  tap_ok(made.tiling.colours == 2, "a shuffled grid is red and black, too");
  tiled_free(context, &made);
  for (pattern.distance = 2; pattern.distance <= 4; pattern.distance++) {
    static const karst_index needed[] = {0, 0, 7, 8, 25}; /* so many cells are within the distance of each other */
    made = tiled_make("colour", &pattern);
    const double share = (double)grid.n / (double)made.tiling.colours;
    tap_ok(made.tiling.colours >= needed[pattern.distance] && made.tiling.colours <= 4 * needed[pattern.distance] &&
               (double)largest_colour(&made) <= 1.6 * share, /* 1.39 at most in 3000 shuffles */
           "distance %d: %ld colours, the largest of %ld rows (mean %.1f)", pattern.distance, (long)made.tiling.colours,
           (long)largest_colour(&made), share);
    tiled_free(context, &made);
  }
  karst_release(context, start);
  karst_release(context, column);
  karst_release(context, source);
  free(shuffle);
  pattern_free(&grid);
}

/* A chain whose first row is coupled to all others, which brings every pair of rows close together. */
static void test_hub(karst_context *context)
{
  enum { ROWS = 500 };
  struct pattern A = pattern_empty(ROWS, 4 * ROWS);
  karst_index k = 0;
  for (karst_index i = 0; i < ROWS; i++) {
    if (i > 1) A.column[k++] = 0;
    if (i > 0) A.column[k++] = i - 1;
    A.column[k++] = i;
    if (i < ROWS - 1) A.column[k++] = i + 1;
    A.start[i + 1] = k;
  }
  karst_ordering_pattern pattern = tiled_pattern(context, &A);
  for (pattern.distance = 1; pattern.distance <= 3; pattern.distance++) {
    struct tiled made = tiled_make("colour", &pattern);
    tap_ok(!tiled_fault("colour", &pattern, 1) && made.tiling.colours <= pattern.distance + 3 &&
               (pattern.distance == 1 || made.permutation[ROWS - 1] == 0),
           "a chain with a dense column has %ld colours for level %d, with the dense one last",
           (long)made.tiling.colours, pattern.distance - 1);
    tiled_free(context, &made);
  }
  pattern_free(&A);
}

static void count_message(void *user, karst_message_kind kind, const char *text)
{
  if (kind == KARST_MESSAGE_WARNING && strstr(text, "colours differ at the distance")) ++*(int *)user;
}

/* Rows have about twelve neighbours, and five steps reach all others, where the graph would be full. */
static void test_far(karst_context *context)
{
  enum { ROWS = 3000 };
  int messages = 0;
  struct pattern A = pattern_random(ROWS, 0);
  karst_index *start = tap_memory(ROWS + 1, sizeof *start), *column = tap_memory(6 * ROWS, sizeof *column);
  karst_index k = 0;
  for (karst_index i = 0; i < ROWS; i++) {
    karst_index j = (karst_index)tap_random_index(ROWS / 6);
    for (int e = 0; e < 6; e++, j += 1 + (karst_index)tap_random_index(ROWS / 6 - 1))
      if (j < ROWS) column[k++] = j;
    start[i + 1] = k;
  }
  karst_ordering_pattern pattern = {
      .context = context, .block_rows = ROWS, .row_start = start, .column = column, .distance = 6};
  karst_context_set_message(context, count_message, &messages);
  struct tiled made = tiled_make("colour", &pattern);
  karst_context_set_message(context, NULL, NULL);
  tap_ok(tiled_is_valid(&pattern, &made, 1) && messages == 1 && made.tiling.colours < ROWS,
         "a message reports the lower distance where all rows are near all others: %ld colours",
         (long)made.tiling.colours);
  tiled_free(context, &made);
  free(start);
  free(column);
  pattern_free(&A);
}

static void test_solves(karst_context *context)
{
  double levels[2] = {0, 0};
  const int plain = tiled_solve(context, "poisson2d:30x30", "cg", "colour", 0, 0, &levels[0]);
  const int filled = tiled_solve(context, "poisson2d:30x30", "cg", "colour", 2, 0, &levels[1]);
  tap_ok(plain > filled && filled > 0, "cg converges, with fewer iterations with fill: %d and %d", plain, filled);
  tap_ok(levels[0] == 2 && levels[1] <= 12, "the factors have %.0f levels, and for level 2 %.0f", levels[0], levels[1]);
}

int main(void)
{
  karst_context *context = tap_context();
  test_random(context);
  test_grid(context);
  test_hub(context);
  test_far(context);
  karst_context_destroy(context);
  tap_each_device(test_solves, "solves in the order of colours");
  return tap_done();
}
