/* settle.c - chooses among the colours of tiles those that reverse little coupling.
 *
 * An incomplete factorization is the same in all orders in which coupled rows keep their order, and its iterations grow
 * with the coupling that is reversed (Doi and Washio, "Ordering strategies and related techniques to overcome the
 * trade-off between parallelism and convergence in incomplete factorizations", Parallel Computing 25 (1999)). Rows keep
 * their order inside tiles. So each tile in turn, forwards and backwards through all of them, takes the colour that its
 * neighbours leave free and that reverses the least strength. On a corner-point grid this takes off more iterations
 * than half as many colours again. */
#include "config.h"

#include "symbolic/ordering/tiles.h"

#include <string.h>

enum { SWEEPS = 10 };

/* Returns the colour for tile t that reverses the least strength, its own if no other is better. apart: the graph in
 * which neighbours need different colours; cost: [colours] work space. */
static karst_index find_colour(const karst_tile_set *set, const karst_graph *apart, karst_index t, double *cost)
{
  static const double taken = 1e300;
  const karst_index colours = set->colours, *colour = set->colour;
  karst_index best = colour[t];
  double sum = 0;
  memset(cost, 0, (size_t)colours * sizeof *cost);
  for (karst_index e = set->near.start[t]; e < set->near.start[t + 1]; e++) {
    const karst_index behind = colour[set->near.neighbour[e]] + 1;
    if (behind < colours) cost[behind] += (double)set->ahead[e];
  }
  for (karst_index k = 0; k < colours; k++) cost[k] = sum += cost[k];
  for (karst_index e = apart->start[t]; e < apart->start[t + 1]; e++) cost[colour[apart->neighbour[e]]] = taken;
  for (karst_index k = 0; k < colours; k++)
    if (cost[k] < cost[best] - 1e-6) best = k;
  return best;
}

karst_status karst_tile_set_settle(karst_context *context, const karst_graph *apart, karst_tile_set *set)
{
  const karst_index tiles = apart->vertices;
  double *cost = NULL;
  bool moved = true;
  karst_status status = karst_allocate(context, &cost, set->colours, sizeof *cost, "the colours of tiles");
  for (int sweep = 0; sweep < SWEEPS && moved && !status; sweep++) {
    moved = false;
    for (karst_index i = 0; i < tiles; i++) {
      const karst_index t = sweep % 2 ? tiles - 1 - i : i;
      const karst_index best = find_colour(set, apart, t, cost);
      moved = moved || best != set->colour[t];
      set->colour[t] = best;
    }
  }
  karst_release(context, cost);
  return status;
}
