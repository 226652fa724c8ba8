/* Tiles that grow are the same for any number of threads, also where the rows are cut into parts. They are valid for
 * graphs in pieces, a single row and a dense one. In colours they keep most of the order of the rows, and on a grid in
 * natural order they are boxes. No tile's colour alone could be better. RCM is applied first only if the order is
 * bad. */
#include "symbolic/ordering/tiles.h"
#include "tests/support/tilings.h"

enum { NX = 600, NY = 500, ROWS = NX * NY }; /* rows of two parts */

/* A 5-point grid with a share of its couplings missing. */
static struct pattern make_plane(karst_index nx, karst_index ny, double missing)
{
  struct pattern A = pattern_empty(nx * ny, 5 * (int64_t)nx * ny);
  karst_index end = 0;
  for (karst_index i = 0; i < nx * ny; i++) {
    const karst_index x = i % nx, y = i / nx;
    const bool inside[] = {y > 0, x > 0, true, x < nx - 1, y < ny - 1};
    const karst_index step[] = {-nx, -1, 0, 1, nx};
    for (int p = 0; p < 5; p++)
      if (inside[p] && (p == 2 || 0.5 * (tap_random() + 1) >= missing)) A.column[end++] = i + step[p];
    A.start[i + 1] = end;
  }
  return A;
}

static karst_ordering_pattern grown_pattern(karst_context *context, const struct pattern *A, int tile_size)
{
  karst_ordering_pattern pattern = tiled_pattern(context, A);
  pattern.settings.tile_size = tile_size;
  pattern.settings.tile_shape = KARST_TILES_GROWN;
  return pattern;
}

static bool are_same(const struct tiled *a, const struct tiled *b, karst_index rows)
{
  const karst_tiling *s = &a->tiling, *t = &b->tiling;
  return s->tiles == t->tiles && s->colours == t->colours &&
         !memcmp(s->start, t->start, (size_t)(s->tiles + 1) * sizeof *s->start) &&
         !memcmp(s->colour_start, t->colour_start, (size_t)(s->colours + 1) * sizeof *s->start) &&
         !memcmp(a->permutation, b->permutation, (size_t)rows * sizeof *a->permutation);
}

static void test_threads(karst_context *context)
{
  static const int threads[] = {1, 2, 7};
  context->crew.steady = true;
  for (int c = 0; c < 4; c++) {
    struct pattern A = make_plane(NX, NY, c < 2 ? 0 : 0.1);
    karst_ordering_pattern pattern = grown_pattern(context, &A, 64);
    struct tiled made[3];
    pattern.distance = 1 + c % 2;
    for (int t = 0; t < 3; t++) {
      tap_need(context, karst_context_set_threads(context, threads[t]), "threads");
      made[t] = tiled_make("tiles", &pattern);
    }
    tap_ok(are_same(&made[0], &made[1], A.n) && are_same(&made[0], &made[2], A.n) &&
               tiled_is_valid(&pattern, &made[0], 64) && tiled_ties(&pattern, &made[0], pattern.distance - 1) == 0,
           "%s plane, level %d: the same %ld tiles for 1, 2 and 7 threads", c < 2 ? "a" : "an unsymmetric",
           pattern.distance - 1, (long)made[0].tiling.tiles);
    for (int t = 0; t < 3; t++) tiled_free(context, &made[t]);
    pattern_free(&A);
  }
  tap_need(context, karst_context_set_threads(context, 1), "threads");
}

/* Separate planes, single rows between them, and a dense row and column. */
static struct pattern make_pieces(bool dense)
{
  enum { SIDE = 20, PIECES = 5, SIZE = SIDE * SIDE + 1, ALL = PIECES * SIZE };
  struct pattern plane = make_plane(SIDE, SIDE, 0), A = pattern_empty(ALL, 8 * ALL);
  karst_index end = 0;
  for (karst_index i = 0; i < ALL; i++) {
    const karst_index inside = i % SIZE, first = i - inside;
    if (dense && i > 0) A.column[end++] = 0;
    if (inside == SIZE - 1 || (dense && i == 0))
      for (karst_index j = i; j < (dense && i == 0 ? ALL : i + 1); j++) A.column[end++] = j;
    else
      for (karst_index k = plane.start[inside]; k < plane.start[inside + 1]; k++)
        if (!dense || first + plane.column[k] > 0) A.column[end++] = first + plane.column[k];
    A.start[i + 1] = end;
  }
  pattern_free(&plane);
  return A;
}

static void test_pieces(karst_context *context)
{
  int wrong = 0;
  for (int c = 0; c < 12; c++) {
    struct pattern A = make_pieces(c % 2);
    karst_ordering_pattern pattern = grown_pattern(context, &A, c < 6 ? 16 : 100);
    pattern.distance = 1 + c / 2 % 3;
    wrong += tiled_fault("tiles", &pattern, pattern.settings.tile_size) != NULL;
    struct tiled made = tiled_make("tiles", &pattern);
    if (c % 2) wrong += made.permutation[A.n - 1] != 0;
    tiled_free(context, &made);
    pattern_free(&A);
  }
  tap_ok(wrong == 0, "graphs in pieces, with single rows and with a dense row, which comes last");
  struct pattern one = make_plane(1, 1, 0);
  karst_ordering_pattern pattern = grown_pattern(context, &one, 0);
  struct tiled made = tiled_make("tiles", &pattern);
  tap_ok(!tiled_fault("tiles", &pattern, 1) && made.tiling.tiles == 1 && made.tiling.colours == 1,
         "one row is one tile");
  tiled_free(context, &made);
  pattern_free(&one);
}

/* The share of couplings whose rows keep their order. */
static double count_kept(const struct pattern *A, const struct tiled *made)
{
  karst_index *place = tap_memory(A->n, sizeof *place);
  double kept = 0, all = 0;
  for (karst_index i = 0; i < A->n; i++) place[made->permutation[i]] = i;
  for (karst_index i = 0; i < A->n; i++)
    for (karst_index k = A->start[i]; k < A->start[i + 1] && A->column[k] < i; k++) {
      kept += place[A->column[k]] < place[i];
      all++;
    }
  free(place);
  return kept / all;
}

static void test_order(karst_context *context)
{
  struct pattern square = make_plane(64, 64, 0), rough = make_plane(131, 97, 0.02);
  karst_ordering_pattern pattern = grown_pattern(context, &square, 64);
  struct tiled made = tiled_make("tiles", &pattern);
  int wrong = 0;
  for (karst_index t = 0; t < made.tiling.tiles; t++) {
    const karst_index *row = made.permutation + made.tiling.start[t];
    for (karst_index i = 0; i < 64; i++) wrong += row[i] - row[0] != i % 8 + 64 * (i / 8);
  }
  tap_ok(made.tiling.tiles == 64 && wrong == 0, "tiles of 64 rows of a plane of 64x64 cells are squares");
  tiled_free(context, &made);
  pattern = grown_pattern(context, &rough, 64);
  made = tiled_make("tiles", &pattern);
  const double kept = count_kept(&rough, &made);
  /* 77 % of the couplings lie inside squares of 64 cells; half of the others would be kept by chance. */
  tap_ok(kept > 0.91, "%.3f of the couplings of a rough plane keep their order", kept);
  tiled_free(context, &made);
  pattern_free(&square);
  pattern_free(&rough);
}

/* The strength of couplings that an order of the tiles by colour reverses. */
static double count_reversed(const karst_graph *graph, const float *strength, const karst_tile_set *set)
{
  double sum = 0;
  for (karst_index i = 0; i < graph->vertices; i++)
    for (karst_index e = graph->start[i]; e < graph->start[i + 1]; e++) {
      const karst_index j = graph->neighbour[e];
      if (i < j && set->colour[set->tile[j]] < set->colour[set->tile[i]]) sum += (double)strength[e];
    }
  return sum;
}

/* Whether neighbours have different colours. */
static bool is_coloured(const karst_graph *tiles, const karst_tile_set *set)
{
  bool right = true;
  for (karst_index t = 0; t < tiles->vertices; t++)
    for (karst_index e = tiles->start[t]; e < tiles->start[t + 1]; e++)
      right = right && set->colour[t] != set->colour[tiles->neighbour[e]];
  return right;
}

/* Squares of 4 by 4 rows of a plane, in the fewest colours and two more. */
static void test_settle(karst_context *context, int distance)
{
  enum { SIDE = 40, N = SIDE * SIDE, EACH = 4, TILES = N / EACH / EACH };
  struct pattern A = make_plane(SIDE, SIDE, 0);
  const karst_ordering_pattern pattern = tiled_pattern(context, &A);
  karst_index tile[N], colour[TILES];
  karst_tile_set set = {.tiles = TILES, .tile = tile, .colour = colour};
  karst_graph graph, tiles;
  int better = 0, reach = distance;
  tap_need(context, karst_graph_of_pattern(&pattern, &graph), "graph");
  float *strength = tap_memory(graph.start[N], sizeof *strength);
  for (karst_index i = 0; i < N; i++) tile[i] = i % SIDE / EACH + SIDE / EACH * (i / SIDE / EACH);
  for (karst_index e = 0; e < graph.start[N]; e++) strength[e] = (float)(1 + 0.9 * tap_random());
  for (karst_index i = 0; i < N; i++)
    for (karst_index e = graph.start[i]; e < graph.start[i + 1]; e++)
      for (karst_index m = graph.start[graph.neighbour[e]]; m < graph.start[graph.neighbour[e] + 1]; m++)
        if (graph.neighbour[m] == i) strength[m] = strength[e];
  tap_need(context, karst_graph_of_groups(context, &graph, TILES, tile, &reach, &tiles), "tiles");
  tap_need(context, karst_graph_colour(context, &tiles, colour, &set.colours), "colours");
  set.colours += 2;
  const double before = count_reversed(&graph, strength, &set);
  tap_need(context, karst_tile_set_settle(context, &graph, strength, tile, &tiles, distance, &set), "settle");
  const double after = count_reversed(&graph, strength, &set);
  bool right = is_coloured(&tiles, &set);
  for (karst_index t = 0; t < TILES; t++)
    for (karst_index c = 0, own = colour[t]; c < set.colours; c++, colour[t] = own) {
      colour[t] = c;
      /* sums of a few numbers in float */
      better += is_coloured(&tiles, &set) && count_reversed(&graph, strength, &set) < after - 1e-4;
    }
  tap_ok(right && after < before && better == 0,
         "distance %d: other colours reverse a strength of %.0f, not %.0f, and no single change reverses less",
         distance, after, before);
  karst_graph_destroy(context, &graph);
  karst_graph_destroy(context, &tiles);
  free(strength);
  pattern_free(&A);
}

static void test_ground(karst_context *context)
{
  struct pattern A = make_plane(NX, NY, 0), strip = make_plane(NX, 20, 0);
  karst_index *shuffle = pattern_shuffle(ROWS), *start, *column, *source;
  karst_ordering_pattern pattern = tiled_pattern(context, &A);
  karst_ground ground;
  tap_need(context, karst_ground_choose(&pattern, &ground), "ground");
  tap_ok(!ground.sequence && ground.pattern.column == A.column, "a large plane keeps its natural order");
  karst_ground_destroy(&ground);
  pattern = tiled_pattern(context, &strip);
  tap_need(context, karst_ground_choose(&pattern, &ground), "ground");
  tap_ok(!ground.sequence, "so does a long strip, whose coupled rows RCM would bring much nearer");
  karst_ground_destroy(&ground);
  pattern_free(&strip);
  pattern = tiled_pattern(context, &A);
  tap_need(context, karst_pattern_permute(context, ROWS, A.start, A.column, shuffle, &start, &column, &source),
           "permute");
  pattern.row_start = start;
  pattern.column = column;
  tap_need(context, karst_ground_choose(&pattern, &ground), "ground");
  const double reach = karst_order_reach(ROWS, ground.pattern.row_start, ground.pattern.column);
  tap_ok(ground.sequence && reach < NX, "a shuffled plane gets the order of RCM: coupled rows are %.0f apart", reach);
  karst_ground_destroy(&ground);
  karst_release(context, start);
  karst_release(context, column);
  karst_release(context, source);
  free(shuffle);
  pattern_free(&A);
}

int main(void)
{
  karst_context *context = tap_context();
  if (strstr(karst_build_features(), "OpenMP"))
    test_threads(context);
  else
    tap_skip("built without OpenMP", "the same tiles for any number of threads");
  test_pieces(context);
  test_order(context);
  test_settle(context, 1);
  test_settle(context, 2);
  test_ground(context);
  karst_context_destroy(context);
  return tap_done();
}
