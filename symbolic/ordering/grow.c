/* grow.c - grows tiles along strong couplings, and along the order of the rows.
 *
 * A row is ready when all coupled rows before it have tiles. A tile begins with a ready row, if possible one that is
 * coupled to tiles before it. It repeatedly takes in the ready row that is coupled to it most strongly, until it is
 * full. It takes other rows if none is ready, or rather than ready rows that are coupled weakly. Tiles numbered in this
 * way keep the order of nearly all coupled rows, and so the iterations of the order of the rows (S. Doi and T. Washio,
 * "Ordering strategies and related techniques to overcome the trade-off between parallelism and convergence in
 * incomplete factorizations", Parallel Computing 25 (1999)). Rows that are coupled to a tile wait in a heap with the
 * sum of their couplings to it. Of equal ones the row that came first is taken, so that tiles of a matrix with equal
 * couplings are round.
 *
 * A row with no more than one strong coupling to its tile begins a new layer of it. A tile that is half full begins a
 * layer only if it has room for as many rows as in the layer before. So on a grid tiles are boxes, and elsewhere they
 * end where couplings are weak. Ragged ends cost iterations.
 *
 * Rows are cut into parts in which threads grow tiles at the same time. The parts depend on the pattern alone, and are
 * so large that their ends matter little. */
#include "config.h"

#include "lib/base/spread.h"
#include "lib/base/threads.h"
#include "symbolic/ordering/tiles.h"

/* A part has PART_ROWS rows or more, and PART_REACHES times the average distance of coupled rows, about ten planes. */
enum { PART_ROWS = 131072, PART_REACHES = 32, MOST_PARTS = 4096 };
enum { FREE = -1, HUB = -2 }; /* in the place of a row's tile */

static const char what[] = "the tiles of an ordering";
/* A row with so much of the strongest coupling is taken into the tile even if it is not ready. */
static const float much = 0.7f;

double karst_order_reach(karst_index rows, const karst_index *row_start, const karst_index *column)
{
  enum { LOOKED_AT = 16384 };
  const karst_index count = rows < LOOKED_AT ? rows : LOOKED_AT;
  double sum = 0, entries = 0;
  for (karst_index s = 0; s < count; s++) {
    const karst_index i = karst_spread_row(rows, LOOKED_AT, s);
    for (karst_index k = row_start[i]; k < row_start[i + 1]; k++)
      sum += (double)(column[k] < i ? i - column[k] : column[k] - i);
    entries += (double)(row_start[i + 1] - row_start[i]);
  }
  return entries > 0 ? sum / entries : 0;
}

/* Arrays over all rows; each part uses its own places. */
struct field {
  karst_context *context;
  const karst_graph *graph;
  const float *strength;
  karst_index hub_degree, most;
  karst_index *tile;    /* [vertices] the tile of each row in its part, FREE or HUB */
  float *gain;          /* [vertices] for a row in the heap: the sum of its couplings to the tile that grows */
  karst_index *arrival; /* [vertices] when it came into the heap */
  karst_index *place;   /* [vertices] where it is in the heap, -1: it is not */
  karst_index *before;  /* [vertices] the number of coupled rows before it, in its part, that have no tile */
  karst_index *heap;    /* [vertices] */
  karst_index *later;   /* [vertices] ready rows that a tile has left behind, each once */
  bool *listed;         /* [vertices] whether it is in later */
};

/* The state of the growth in a part, the rows from begin to end. */
struct growth {
  const struct field *f;
  karst_index begin, end;
  karst_index *heap, *later; /* [end - begin] those of the field, from the part's first row */
  karst_index waiting;       /* vertices in the heap */
  karst_index left, next_left, next_row;
};

/* Whether v is taken before w: first a row that is coupled to the tile strongly, then one that is ready. */
static bool precedes(const struct field *f, karst_index v, karst_index w)
{
  if ((f->gain[v] >= much) != (f->gain[w] >= much)) return f->gain[v] >= much;
  if ((f->before[v] == 0) != (f->before[w] == 0)) return f->before[v] == 0;
  return f->gain[v] > f->gain[w] || (f->gain[v] == f->gain[w] && f->arrival[v] < f->arrival[w]);
}

static void set_place(struct growth *g, karst_index v, karst_index place)
{
  g->heap[place] = v;
  g->f->place[v] = place;
}

static void rise(struct growth *g, karst_index v)
{
  karst_index place = g->f->place[v];
  while (place > 0 && precedes(g->f, v, g->heap[(place - 1) / 2])) {
    set_place(g, g->heap[(place - 1) / 2], place);
    place = (place - 1) / 2;
  }
  set_place(g, v, place);
}

static void sift_down(struct growth *g, karst_index v, karst_index place)
{
  for (karst_index child; place < g->waiting / 2; place = child) {
    child = 2 * place + 1;
    if (child + 1 < g->waiting && precedes(g->f, g->heap[child + 1], g->heap[child])) child++;
    if (!precedes(g->f, g->heap[child], v)) break;
    set_place(g, g->heap[child], place);
  }
  set_place(g, v, place);
}

static karst_index take_first(struct growth *g)
{
  const karst_index first = g->heap[0], last = g->heap[--g->waiting];
  g->f->place[first] = -1;
  if (g->waiting > 0) sift_down(g, last, 0);
  return first;
}

/* Takes vertex v into a tile. arrivals counts those that have come into the heap. */
static void take_in(struct growth *g, karst_index v, karst_index tile, karst_index *arrivals)
{
  const struct field *f = g->f;
  f->tile[v] = tile;
  for (karst_index k = f->graph->start[v]; k < f->graph->start[v + 1]; k++) {
    const karst_index w = f->graph->neighbour[k];
    if (w < g->begin || w >= g->end || f->tile[w] != FREE) continue;
    if (w > v) f->before[w]--;
    if (f->place[w] < 0) {
      f->gain[w] = 0;
      f->arrival[w] = (*arrivals)++;
      f->place[w] = g->waiting++;
    }
    f->gain[w] += f->strength[k];
    rise(g, w);
  }
}

/* Returns the next vertex to begin with, first of those that tiles have left behind; -1 if all have a tile. */
static karst_index find_seed(struct growth *g)
{
  const karst_index *tile = g->f->tile;
  for (; g->next_left < g->left; g->next_left++)
    if (tile[g->later[g->next_left]] == FREE) return g->later[g->next_left];
  for (; g->next_row < g->end; g->next_row++)
    if (tile[g->next_row] == FREE) return g->next_row;
  return -1;
}

/* Empties the heap. Its ready rows go to later, from where the next tiles begin. */
static void leave_behind(struct growth *g)
{
  const struct field *f = g->f;
  for (karst_index i = 0; i < g->waiting; i++) {
    const karst_index v = g->heap[i];
    f->place[v] = -1;
    if (f->listed[v] || f->before[v] > 0) continue;
    f->listed[v] = true;
    g->later[g->left++] = v;
  }
  g->waiting = 0;
}

/* Grows one tile from a seed. One that finds no more neighbours goes on elsewhere while it is less than half full. */
static void grow(struct growth *g, karst_index seed, karst_index tile)
{
  const karst_index most = g->f->most;
  karst_index arrivals = 0, layer_begin = 0;
  for (karst_index rows = 0; rows < most; rows++) {
    if (rows > 0 && g->waiting > 0 && g->f->gain[g->heap[0]] <= 1) {
      if (rows >= most / 2 && most - rows < rows - layer_begin) break;
      layer_begin = rows;
    }
    if (rows > 0) seed = g->waiting > 0 ? take_first(g) : rows < most / 2 ? find_seed(g) : -1;
    if (seed < 0) break;
    take_in(g, seed, tile, &arrivals);
  }
  leave_behind(g);
}

/* Grows the tiles of a part, and returns their number. */
static karst_index grow_part(const struct field *f, karst_index begin, karst_index end)
{
  struct growth g = {
      .f = f, .begin = begin, .end = end, .heap = f->heap + begin, .later = f->later + begin, .next_row = begin};
  karst_index tiles = 0;
  for (karst_index v = begin; v < end; v++) {
    f->tile[v] = karst_graph_is_hub(f->graph, f->hub_degree, v) ? HUB : FREE;
    f->place[v] = -1;
    f->listed[v] = false;
    f->before[v] = 0;
    for (karst_index k = f->graph->start[v]; k < f->graph->start[v + 1] && f->graph->neighbour[k] < v; k++)
      f->before[v] += f->graph->neighbour[k] >= begin && f->tile[f->graph->neighbour[k]] == FREE;
  }
  for (karst_index seed; (seed = find_seed(&g)) >= 0;) grow(&g, seed, tiles++);
  return tiles;
}

/* Grows tiles in all parts, and numbers them part by part. first: [parts + 1] the first tile of each part. */
static void grow_parts(const struct field *f, int parts, karst_index *first)
{
  const karst_index n = f->graph->vertices;
  karst_piece growth = karst_begin(f->context, KARST_KIND_ONCE, f->graph->start[n]);
#pragma omp parallel num_threads(growth.threads)
  {
    const karst_part part = karst_part_begin(&growth, parts);
#pragma omp for schedule(dynamic, 1) nowait
    for (int p = 0; p < parts; p++)
      first[p + 1] = grow_part(f, (karst_index)karst_share(n, p, parts), (karst_index)karst_share(n, p + 1, parts));
    karst_part_end(&growth, &part);
  }
  karst_end(f->context, &growth);
  first[0] = 0;
  for (int p = 0; p < parts; p++) first[p + 1] += first[p];
  karst_piece numbering = karst_begin(f->context, KARST_KIND_ONCE, n);
#pragma omp parallel num_threads(numbering.threads)
  {
    const karst_part part = karst_part_begin(&numbering, parts);
    for (int p = (int)part.first; p < (int)part.last; p++)
      for (karst_index v = (karst_index)karst_share(n, p, parts); v < (karst_index)karst_share(n, p + 1, parts); v++)
        f->tile[v] = f->tile[v] == HUB ? -1 : f->tile[v] + first[p];
    karst_part_end(&numbering, &part);
  }
  karst_end(f->context, &numbering);
}

/* Returns how many parts the rows are cut into. */
static int count_parts(const karst_graph *graph)
{
  const karst_index n = graph->vertices;
  const double reach = PART_REACHES * karst_order_reach(n, graph->start, graph->neighbour);
  const double parts = (double)n / (reach > PART_ROWS ? reach : PART_ROWS);
  return parts < 1 ? 1 : parts < MOST_PARTS ? (int)parts : MOST_PARTS;
}

karst_status karst_tile_set_grow(karst_context *context, const karst_graph *graph, const float *strength,
                                 karst_index hub_degree, karst_index most, karst_tile_set *set)
{
  const karst_index n = graph->vertices;
  const int parts = count_parts(graph);
  struct field f = {.context = context, .graph = graph, .strength = strength, .hub_degree = hub_degree, .most = most};
  karst_index *first = NULL;
  karst_status status;
  if ((status = karst_allocate(context, &set->tile, n, sizeof *set->tile, what)) ||
      (status = karst_allocate(context, &f.gain, n, sizeof *f.gain, what)) ||
      (status = karst_allocate(context, &f.arrival, n, sizeof *f.arrival, what)) ||
      (status = karst_allocate(context, &f.place, n, sizeof *f.place, what)) ||
      (status = karst_allocate(context, &f.before, n, sizeof *f.before, what)) ||
      (status = karst_allocate(context, &f.heap, n, sizeof *f.heap, what)) ||
      (status = karst_allocate(context, &f.later, n, sizeof *f.later, what)) ||
      (status = karst_allocate(context, &f.listed, n, sizeof *f.listed, what)) ||
      (status = karst_allocate(context, &first, (int64_t)parts + 1, sizeof *first, what)))
    goto finish;
  f.tile = set->tile;
  grow_parts(&f, parts, first);
  set->tiles = first[parts];

finish:
  karst_release(context, f.gain);
  karst_release(context, f.arrival);
  karst_release(context, f.place);
  karst_release(context, f.before);
  karst_release(context, f.heap);
  karst_release(context, f.later);
  karst_release(context, f.listed);
  karst_release(context, first);
  return status;
}
