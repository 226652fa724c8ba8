/* settle.c - chooses among the colours of tiles those that reverse little coupling.
 *
 * An incomplete factorization is the same in all orders in which coupled rows keep their order, and its iterations grow
 * with the coupling that is reversed (Doi and Washio, "Ordering strategies and related techniques to overcome the
 * trade-off between parallelism and convergence in incomplete factorizations", Parallel Computing 25 (1999)). Rows keep
 * their order inside tiles. So each tile in turn, forwards and backwards through all of them, takes the colour that its
 * neighbours leave free and that reverses the least strength. On a corner-point grid this takes off more iterations
 * than half as many colours again. */
#include "config.h"

#include "lib/base/threads.h"
#include "symbolic/ordering/tiles.h"

#include <string.h>

enum { SWEEPS = 10 };

static const char what[] = "the colours of tiles";

/* Couplings between tiles. */
struct couplings {
  const karst_graph *rows;
  const float *strength;       /* of the edges of rows */
  const karst_index *group;    /* [vertices of rows] the tile of each row, or -1 */
  karst_graph near;            /* tiles with coupled rows */
  karst_index *first, *member; /* [tiles + 1], [vertices of rows] the rows of each tile */
  float *ahead; /* for each entry (t,u) of near: the strength of couplings whose row of t is the first, less that of
                 * the others */
};

/* Adds up the couplings of tile t. at: [tiles] work space. */
static void add_couplings(const struct couplings *c, karst_index t, karst_index *at)
{
  const karst_graph *rows = c->rows;
  for (karst_index e = c->near.start[t]; e < c->near.start[t + 1]; e++) {
    at[c->near.neighbour[e]] = e;
    c->ahead[e] = 0;
  }
  for (karst_index m = c->first[t]; m < c->first[t + 1]; m++) {
    const karst_index i = c->member[m];
    for (karst_index k = rows->start[i]; k < rows->start[i + 1]; k++) {
      const karst_index j = rows->neighbour[k], u = c->group[j];
      if (u >= 0 && u != t) c->ahead[at[u]] += i < j ? c->strength[k] : -c->strength[k];
    }
  }
}

static karst_status find_couplings(karst_context *context, struct couplings *c)
{
  const karst_index n = c->rows->vertices, tiles = c->near.vertices;
  const int threads = karst_threads_for(context, c->rows->start[n]);
  karst_index *at;
  karst_status status;
  if ((status = karst_allocate(context, &c->first, (int64_t)tiles + 1, sizeof *c->first, what)) ||
      (status = karst_allocate(context, &c->member, n, sizeof *c->member, what)) ||
      (status = karst_allocate(context, &c->ahead, c->near.start[tiles], sizeof *c->ahead, what)) ||
      (status = karst_list_groups(context, n, c->group, tiles, c->first, c->member)) ||
      (status = karst_allocate(context, &at, (int64_t)threads * tiles, sizeof *at, what)))
    return status;
  karst_piece piece = karst_begin_at_most(context, KARST_KIND_ONCE, c->rows->start[n], threads);
#pragma omp parallel num_threads(piece.threads)
  {
    const karst_part part = karst_part_rows(&piece, tiles, c->near.start);
    for (karst_index t = part.first; t < part.last; t++) add_couplings(c, t, at + karst_thread() * (int64_t)tiles);
    karst_part_end(&piece, &part);
  }
  karst_end(context, &piece);
  karst_release(context, at);
  return KARST_SUCCESS;
}

/* Returns the colour for tile t that reverses the least strength, its own if no other is better. apart: the graph in
 * which neighbours need different colours; cost: [colours] work space. */
static karst_index find_colour(const struct couplings *c, const karst_graph *apart, karst_index t, karst_index colours,
                               const karst_index *colour, double *cost)
{
  static const double taken = 1e300;
  karst_index best = colour[t];
  double sum = 0;
  memset(cost, 0, (size_t)colours * sizeof *cost);
  for (karst_index e = c->near.start[t]; e < c->near.start[t + 1]; e++) {
    const karst_index behind = colour[c->near.neighbour[e]] + 1;
    if (behind < colours) cost[behind] += (double)c->ahead[e];
  }
  for (karst_index k = 0; k < colours; k++) cost[k] = sum += cost[k];
  for (karst_index e = apart->start[t]; e < apart->start[t + 1]; e++) cost[colour[apart->neighbour[e]]] = taken;
  for (karst_index k = 0; k < colours; k++)
    if (cost[k] < cost[best] - 1e-6) best = k;
  return best;
}

karst_status karst_tile_set_settle(karst_context *context, const karst_graph *graph, const float *strength,
                                   const karst_index *group, const karst_graph *apart, int distance,
                                   karst_tile_set *set)
{
  const karst_index tiles = apart->vertices;
  struct couplings c = {.rows = graph, .strength = strength, .group = group, .near = *apart};
  double *cost = NULL;
  int one = 1;
  bool moved = true;
  karst_status status = KARST_SUCCESS;
  if (distance > 1) status = karst_graph_of_groups(context, graph, tiles, group, &one, &c.near);
  if (!status) status = find_couplings(context, &c);
  if (!status) status = karst_allocate(context, &cost, set->colours, sizeof *cost, what);
  for (int sweep = 0; sweep < SWEEPS && moved && !status; sweep++) {
    moved = false;
    for (karst_index i = 0; i < tiles; i++) {
      const karst_index t = sweep % 2 ? tiles - 1 - i : i;
      const karst_index best = find_colour(&c, apart, t, set->colours, set->colour, cost);
      moved = moved || best != set->colour[t];
      set->colour[t] = best;
    }
  }
  if (distance > 1) karst_graph_destroy(context, &c.near);
  karst_release(context, c.first);
  karst_release(context, c.member);
  karst_release(context, c.ahead);
  karst_release(context, cost);
  return status;
}
