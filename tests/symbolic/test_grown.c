/* Tiles that grow are the same for any number of threads. They are valid for graphs in pieces, a single row and a dense
 * one, and know the couplings between them. Single rows share tiles. In colours they keep most of the order of the
 * rows, and on a grid in natural order they are boxes. No tile's colour alone could be better. RCM is applied first
 * only if the order is bad. */
#include "symbolic/ordering/tiles.h"
#include "tests/support/tilings.h"

#include <math.h>

enum { NX = 600, NY = 500, ROWS = NX * NY }; /* work for several threads */

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
  struct pattern rows = pattern_empty(100, 1);
  karst_ordering_pattern apart = grown_pattern(context, &rows, 16);
  struct tiled shared = tiled_make("tiles", &apart);
  tap_ok(tiled_is_valid(&apart, &shared, 16) && shared.tiling.tiles == 7, "100 single rows share 7 tiles of 16");
  tiled_free(context, &shared);
  pattern_free(&rows);
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

/* A plane of rows in random couplings, and its tiles. */
struct joined {
  struct pattern A;
  karst_graph graph;
  float *strength; /* multiples of 1 / 1024, whose sums are exact */
  karst_tile_set set;
};

static struct joined join_plane(karst_context *context, karst_index side)
{
  struct joined j = {.A = make_plane(side, side, 0)};
  const karst_ordering_pattern pattern = tiled_pattern(context, &j.A);
  tap_need(context, karst_graph_of_pattern(&pattern, &j.graph), "graph");
  j.strength = tap_memory(j.graph.start[j.A.n], sizeof *j.strength);
  for (karst_index i = 0; i < j.A.n; i++)
    for (karst_index e = j.graph.start[i]; e < j.graph.start[i + 1]; e++) {
      const karst_index other = j.graph.neighbour[e];
      karst_index m = j.graph.start[other];
      while (j.graph.neighbour[m] != i) m++;
      j.strength[e] = other < i ? j.strength[m] : roundf((float)(512 + 400 * tap_random())) / 1024;
    }
  tap_need(context, karst_tile_set_join(context, &j.graph, j.strength, 64, 16, &j.set), "tiles");
  return j;
}

static void joined_free(karst_context *context, struct joined *j)
{
  karst_tile_set_destroy(context, &j->set);
  karst_graph_destroy(context, &j->graph);
  free(j->strength);
  pattern_free(&j->A);
}

/* Adds the couplings between tiles t and u, which differ, as set->ahead has them, to *ahead, and their number to
 * *count. */
static void add_between(const struct joined *j, karst_index t, karst_index u, float *ahead, int *count)
{
  for (karst_index i = 0; i < j->A.n; i++)
    for (karst_index e = j->graph.start[i]; e < j->graph.start[i + 1]; e++) {
      const karst_index other = j->graph.neighbour[e];
      if (j->set.tile[i] != t || j->set.tile[other] != u) continue;
      *ahead += i < other ? j->strength[e] : -j->strength[e];
      ++*count;
    }
}

static void test_couplings(karst_context *context)
{
  struct joined j = join_plane(context, 20);
  int wrong = 0;
  for (karst_index t = 0; t < j.set.tiles; t++)
    for (karst_index u = 0; u < j.set.tiles; u++) {
      float ahead = 0;
      int count = 0, found = 0;
      if (t != u) add_between(&j, t, u, &ahead, &count);
      for (karst_index e = j.set.near.start[t]; e < j.set.near.start[t + 1]; e++)
        if (j.set.near.neighbour[e] == u) {
          found++;
          wrong += j.set.ahead[e] != ahead;
        }
      wrong += found != (count > 0);
    }
  tap_ok(wrong == 0, "%ld tiles of a plane know the strength of the couplings between them", (long)j.set.tiles);
  joined_free(context, &j);
}

static void test_settle(karst_context *context, int distance)
{
  struct joined j = join_plane(context, 40);
  karst_tile_set *set = &j.set;
  karst_graph tiles;
  int better = 0, reach = distance;
  tap_need(context, karst_graph_of_groups(context, &j.graph, set->tiles, set->tile, &reach, &tiles), "tiles");
  tap_need(context, karst_allocate(context, &set->colour, set->tiles, sizeof *set->colour, "colours"), "memory");
  tap_need(context, karst_graph_colour(context, &tiles, set->colour, &set->colours), "colours");
  set->colours += 2;
  const double before = count_reversed(&j.graph, j.strength, set);
  tap_need(context, karst_tile_set_settle(context, &tiles, set), "settle");
  const double after = count_reversed(&j.graph, j.strength, set);
  bool right = is_coloured(&tiles, set);
  for (karst_index t = 0; t < set->tiles; t++)
    for (karst_index c = 0, own = set->colour[t]; c < set->colours; c++, set->colour[t] = own) {
      set->colour[t] = c;
      better += is_coloured(&tiles, set) && count_reversed(&j.graph, j.strength, set) < after - 1e-4;
    }
  tap_ok(right && after < before && better == 0,
         "distance %d: other colours reverse a strength of %.0f, not %.0f, and no single change reverses less",
         distance, after, before);
  karst_graph_destroy(context, &tiles);
  joined_free(context, &j);
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
  double apart = 0;
  for (karst_index i = 0; i < ROWS; i++)
    for (karst_index k = ground.pattern.row_start[i]; k < ground.pattern.row_start[i + 1]; k++)
      apart += fabs((double)(ground.pattern.column[k] - i));
  apart /= (double)ground.pattern.row_start[ROWS];
  tap_ok(ground.sequence && apart < NX, "a shuffled plane gets the order of RCM: coupled rows are %.0f apart", apart);
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
  test_couplings(context);
  test_settle(context, 1);
  test_settle(context, 2);
  test_ground(context);
  karst_context_destroy(context);
  return tap_done();
}
