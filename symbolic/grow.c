/* grow.c - grows tiles along strong couplings.
 *
 * A tile begins with a row that is coupled to tiles before it, if there is one, and takes in the row that is coupled to
 * it most strongly, until it is full. Such rows wait in a heap with the sum of their couplings to the tile; of equal
 * ones the row that came first is taken, so that tiles of a matrix with equal couplings are round. */
#include "config.h"

#include "tiles.h"

static const char what[] = "the tiles of an ordering";

struct growth {
  const karst_graph *graph;
  const float *strength;
  karst_index hub_degree;
  karst_index *tile;    /* [vertices] -1: none yet */
  float *gain;          /* [vertices] the strength of the couplings to the tile that grows, of those in the heap */
  karst_index *arrival; /* [vertices] when it came into the heap */
  karst_index *place;   /* [vertices] where it is in the heap, -1: it is not */
  karst_index *heap;    /* [vertices] */
  karst_index waiting;  /* vertices in the heap */
  karst_index *later;   /* [vertices] those that a tile has left behind, each once */
  bool *listed;         /* [vertices] whether it is in later */
  karst_index left, next_left, next_row;
};

static bool precedes(const struct growth *g, karst_index v, karst_index w)
{
  return g->gain[v] > g->gain[w] || (g->gain[v] == g->gain[w] && g->arrival[v] < g->arrival[w]);
}

static void set_place(struct growth *g, karst_index v, karst_index place)
{
  g->heap[place] = v;
  g->place[v] = place;
}

static void rise(struct growth *g, karst_index v)
{
  karst_index place = g->place[v];
  while (place > 0 && precedes(g, v, g->heap[(place - 1) / 2])) {
    set_place(g, g->heap[(place - 1) / 2], place);
    place = (place - 1) / 2;
  }
  set_place(g, v, place);
}

static void sink(struct growth *g, karst_index v, karst_index place)
{
  for (karst_index child; place < g->waiting / 2; place = child) {
    child = 2 * place + 1;
    if (child + 1 < g->waiting && precedes(g, g->heap[child + 1], g->heap[child])) child++;
    if (!precedes(g, g->heap[child], v)) break;
    set_place(g, g->heap[child], place);
  }
  set_place(g, v, place);
}

static karst_index take_first(struct growth *g)
{
  const karst_index first = g->heap[0], last = g->heap[--g->waiting];
  g->place[first] = -1;
  if (g->waiting > 0) sink(g, last, 0);
  return first;
}

static bool is_free(const struct growth *g, karst_index v)
{
  return g->tile[v] < 0 && !karst_graph_is_hub(g->graph, g->hub_degree, v);
}

/* Takes vertex v into a tile. arrivals counts those that have come into the heap. */
static void take_in(struct growth *g, karst_index v, karst_index tile, karst_index *arrivals)
{
  g->tile[v] = tile;
  for (karst_index k = g->graph->start[v]; k < g->graph->start[v + 1]; k++) {
    const karst_index w = g->graph->neighbour[k];
    if (!is_free(g, w)) continue;
    if (g->place[w] < 0) {
      g->gain[w] = 0;
      g->arrival[w] = (*arrivals)++;
      g->place[w] = g->waiting++;
    }
    g->gain[w] += g->strength[k];
    rise(g, w);
  }
}

/* The next vertex to begin with: what tiles have left behind comes first. Returns -1 where all have a tile. */
static karst_index find_seed(struct growth *g)
{
  for (; g->next_left < g->left; g->next_left++)
    if (is_free(g, g->later[g->next_left])) return g->later[g->next_left];
  for (; g->next_row < g->graph->vertices; g->next_row++)
    if (is_free(g, g->next_row)) return g->next_row;
  return -1;
}

/* Empties the heap; what was in it is to be in tiles that come soon. */
static void leave_behind(struct growth *g)
{
  for (karst_index i = 0; i < g->waiting; i++) {
    const karst_index v = g->heap[i];
    g->place[v] = -1;
    if (g->listed[v]) continue;
    g->listed[v] = true;
    g->later[g->left++] = v;
  }
  g->waiting = 0;
}

/* Grows one tile from a seed. One that finds no more neighbours goes on elsewhere while it is less than half full. */
static void grow(struct growth *g, karst_index seed, karst_index tile, karst_index most)
{
  karst_index arrivals = 0;
  for (karst_index rows = 0; rows < most; rows++) {
    if (rows > 0) seed = g->waiting > 0 ? take_first(g) : rows < most / 2 ? find_seed(g) : -1;
    if (seed < 0) break;
    take_in(g, seed, tile, &arrivals);
  }
  leave_behind(g);
}

karst_status karst_tile_set_grow(karst_context *context, const karst_graph *graph, const float *strength,
                                 karst_index hub_degree, karst_index most, karst_tile_set *set)
{
  const karst_index n = graph->vertices;
  struct growth g = {.graph = graph, .strength = strength, .hub_degree = hub_degree};
  karst_status status;
  if ((status = karst_allocate(context, &set->tile, n, sizeof *set->tile, what)) ||
      (status = karst_allocate(context, &g.gain, n, sizeof *g.gain, what)) ||
      (status = karst_allocate(context, &g.arrival, n, sizeof *g.arrival, what)) ||
      (status = karst_allocate(context, &g.place, n, sizeof *g.place, what)) ||
      (status = karst_allocate(context, &g.heap, n, sizeof *g.heap, what)) ||
      (status = karst_allocate(context, &g.later, n, sizeof *g.later, what)) ||
      (status = karst_allocate_zero(context, &g.listed, n, sizeof *g.listed, what)))
    goto finish;
  g.tile = set->tile;
  for (karst_index v = 0; v < n; v++) g.tile[v] = g.place[v] = -1;
  for (karst_index seed; (seed = find_seed(&g)) >= 0;) grow(&g, seed, set->tiles++, most);

finish:
  karst_release(context, g.gain);
  karst_release(context, g.arrival);
  karst_release(context, g.place);
  karst_release(context, g.heap);
  karst_release(context, g.later);
  karst_release(context, g.listed);
  return status;
}
