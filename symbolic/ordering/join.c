/* join.c - joins rows into tiles by handshakes along strong couplings.
 *
 * Each row begins as a group of its own. In a round each free group points at the free neighbour to which it is coupled
 * most strongly, relative to their size together; two that point at each other become a pair (the handshakes of
 * multigrid's aggregation: M. Naumov et al., "AmgX", SIAM J. Sci. Comput. 37 (2015)). When no more pairs are found,
 * each pair becomes one group, and couplings of the same two groups are added up. This goes on until no two neighbours
 * fit into a tile, or LEVELS times. So tiles end where couplings are weak. Threads share each round, and tiles do not
 * depend on their number.
 *
 * Both ends of a coupling judge it alike: strengths are multiples of 1/1024, whose sums are exact up to 2^14, and of
 * equal ones both prefer the same. These are couplings that divide a line of rows into pairs from its start, and the
 * nearest of them, so that tiles are boxes where couplings are equal on a grid.
 *
 * Tiles are numbered by their first rows. Pieces of the graph that are smaller than a tile share tiles. */
#include "config.h"

#include "lib/base/threads.h"
#include "symbolic/ordering/tiles.h"

/* Real systems took up to 38 levels. Leaves around a row that is no hub, or around a group, would take a level each. */
enum { ROUNDS = 20, LEVELS = 64, FREE = -1 };

static const char what[] = "the tiles of an ordering";

/* Groups of rows and the couplings between them. */
struct level {
  karst_index vertices, edges; /* edges: a bound of their number */
  karst_index longest;         /* a bound of the number of neighbours of a group */
  karst_index *size;           /* [vertices] rows of each */
  karst_index *begin, *end;    /* [vertices] where its edges begin and end */
  karst_index *neighbour;      /* [edges] */
  float *weight;               /* of each edge, the strength of all its couplings */
  float *ahead; /* of those whose row in the neighbour comes later, less that of the others; NULL: rows */
};

struct joining {
  karst_context *context;
  karst_index rows, most;
  karst_index *group;                 /* [rows] the group of each row; -1: it is a hub */
  karst_index *mate;                  /* [rows] the other group of a pair, or FREE */
  karst_index *target;                /* [rows] the group that each points at, or -1 */
  karst_index *coarse;                /* [rows] the pair or single group of the next level that each belongs to */
  struct level level[3], *now, *next; /* the first has the arrays of the graph */
};

/* Rounds follow each other at once, so that threads are awake. */
static karst_piece begin_round(const struct joining *j)
{
  return karst_begin(j->context, KARST_KIND_FACTOR, j->now->edges);
}

/* Makes rows groups. A hub is as large as a tile, so that it joins no other row. */
static void begin_rows(struct joining *j, const karst_graph *graph, karst_index hub_degree)
{
  karst_piece piece = karst_begin(j->context, KARST_KIND_ONCE, j->rows);
#pragma omp parallel num_threads(piece.threads)
  {
    const karst_part part = karst_part_begin(&piece, j->rows);
    for (karst_index v = part.first; v < part.last; v++) {
      const bool hub = karst_graph_is_hub(graph, hub_degree, v);
      j->now->size[v] = hub ? j->most : 1;
      j->group[v] = hub ? -1 : v;
    }
    karst_part_end(&piece, &part);
  }
  karst_end(j->context, &piece);
}

/* Whether of two equal couplings of group v that to a comes before that to b. */
static bool is_nearer(karst_index v, karst_index a, karst_index b)
{
  const karst_index to_a = a < v ? v - a : a - v, to_b = b < v ? v - b : b - v;
  const bool odd_a = (a < v ? a : v) / to_a % 2, odd_b = (b < v ? b : v) / to_b % 2;
  if (odd_a != odd_b) return odd_b;
  return to_a < to_b || (to_a == to_b && a < b);
}

/* Returns the free group that group v is coupled to most strongly, or -1. */
static karst_index find_target(const struct joining *j, karst_index v)
{
  const struct level *now = j->now;
  karst_index best = -1;
  double weight = 0, size = 1;
  for (karst_index e = now->begin[v]; e < now->end[v]; e++) {
    const karst_index w = now->neighbour[e];
    if (j->mate[w] != FREE || now->size[w] > j->most - now->size[v]) continue;
    const karst_index together = now->size[v] + now->size[w];
    const double here = (double)now->weight[e] * size, there = weight * (double)together;
    if (here < there || (here == there && best >= 0 && !is_nearer(v, w, best))) continue;
    best = w;
    weight = (double)now->weight[e];
    size = (double)together;
  }
  return best;
}

/* Free groups point at others; anew only if the last one has found another mate. */
static void point(const struct joining *j, bool first)
{
  karst_piece piece = begin_round(j);
#pragma omp parallel num_threads(piece.threads)
  {
    const karst_part part = karst_part_begin(&piece, j->now->vertices);
    for (karst_index v = part.first; v < part.last; v++)
      if (first || (j->mate[v] == FREE && j->target[v] >= 0 && j->mate[j->target[v]] != FREE))
        j->target[v] = find_target(j, v);
    karst_part_end(&piece, &part);
  }
  karst_end(j->context, &piece);
}

/* Returns how many groups have found a mate. */
static karst_index shake_hands(const struct joining *j)
{
  karst_index paired = 0;
  karst_piece piece = begin_round(j);
#pragma omp parallel num_threads(piece.threads) reduction(+ : paired)
  {
    const karst_part part = karst_part_begin(&piece, j->now->vertices);
    for (karst_index v = part.first; v < part.last; v++) {
      const karst_index w = j->target[v];
      if (j->mate[v] != FREE || w < 0 || j->target[w] != v) continue;
      j->mate[v] = w;
      paired++;
    }
    karst_part_end(&piece, &part);
  }
  karst_end(j->context, &piece);
  return paired;
}

/* Finds pairs of groups; returns whether there are any. */
static bool find_pairs(const struct joining *j)
{
  bool any = false;
  for (karst_index v = 0; v < j->now->vertices; v++) j->mate[v] = FREE;
  for (int round = 0; round < ROUNDS; round++) {
    point(j, round == 0);
    if (shake_hands(j) == 0) break;
    any = true;
  }
  return any;
}

/* Numbers the groups of the next level by their first rows, and makes room for their edges. */
static void number_pairs(struct joining *j)
{
  const struct level *now = j->now;
  struct level *next = j->next;
  next->vertices = next->edges = next->longest = 0;
  for (karst_index v = 0; v < now->vertices; v++) {
    const karst_index w = j->mate[v], c = next->vertices;
    const bool hub = now == j->level && j->group[v] < 0;
    if (hub) j->coarse[v] = -1;
    if (hub || (w != FREE && w < v)) continue;
    next->size[c] = now->size[v] + (w == FREE ? 0 : now->size[w]);
    next->begin[c] = next->end[c] = next->edges;
    const karst_index length = now->end[v] - now->begin[v] + (w == FREE ? 0 : now->end[w] - now->begin[w]);
    if (length > next->longest) next->longest = length;
    next->edges += length;
    j->coarse[v] = c;
    if (w != FREE) j->coarse[w] = c;
    j->target[c] = v; /* the first of the pair: c <= v, whose own target is no longer needed */
    next->vertices++;
  }
}

/* Adds the edges of group v to those of its pair c. slot: [mask + 1] one more than where the edge to a
 * neighbour is, by its last bits. What other pairs have left there is not among the edges of c. */
static void add_edges(const struct joining *j, karst_index v, karst_index c, karst_index *slot, karst_index mask)
{
  const struct level *now = j->now;
  struct level *next = j->next;
  const karst_index begin = next->begin[c];
  karst_index end = next->end[c];
  for (karst_index e = now->begin[v]; e < now->end[v]; e++) {
    const karst_index w = now->neighbour[e], d = j->coarse[w];
    karst_index h = d & mask;
    if (d == c || d < 0) continue;
    while (slot[h] > begin && slot[h] <= end && next->neighbour[slot[h] - 1] != d) h = (h + 1) & mask;
    if (slot[h] <= begin || slot[h] > end) {
      next->neighbour[end] = d;
      next->weight[end] = next->ahead[end] = 0;
      slot[h] = ++end;
    }
    next->weight[slot[h] - 1] += now->weight[e];
    next->ahead[slot[h] - 1] += now->ahead ? now->ahead[e] : v < w ? now->weight[e] : -now->weight[e];
  }
  next->end[c] = end;
}

/* Makes the next level from the pairs of this one. */
static karst_status join_pairs(struct joining *j)
{
  const int threads = karst_threads_worth(j->context, j->now->edges);
  karst_index *slots, mask = 1;
  number_pairs(j);
  while (mask < 2 * j->next->longest) mask = 2 * mask + 1;
  karst_status status = karst_allocate_zero(j->context, &slots, threads * ((int64_t)mask + 1), sizeof *slots, what);
  if (status) return status;
  karst_piece piece = karst_begin_at_most(j->context, KARST_KIND_FACTOR, j->now->edges, threads);
#pragma omp parallel num_threads(piece.threads)
  {
    const karst_part part = karst_part_begin(&piece, j->next->vertices);
    karst_index *slot = slots + karst_thread() * ((int64_t)mask + 1);
    for (karst_index c = part.first; c < part.last; c++) {
      const karst_index v = j->target[c];
      add_edges(j, v, c, slot, mask);
      if (j->mate[v] != FREE) add_edges(j, j->mate[v], c, slot, mask);
    }
    karst_part_end(&piece, &part);
  }
  karst_end(j->context, &piece);
  karst_release(j->context, slots);
  return KARST_SUCCESS;
}

/* Gives the rows new groups: number[g] for g. */
static void regroup(const struct joining *j, const karst_index *number)
{
  karst_piece piece = karst_begin(j->context, KARST_KIND_ONCE, j->rows);
#pragma omp parallel num_threads(piece.threads)
  {
    const karst_part part = karst_part_begin(&piece, j->rows);
    for (karst_index i = part.first; i < part.last; i++)
      if (j->group[i] >= 0) j->group[i] = number[j->group[i]];
    karst_part_end(&piece, &part);
  }
  karst_end(j->context, &piece);
}

/* Numbers the tiles that the groups of the last level are, in j->target. Those without neighbours share tiles. Counts
 * their edges in near->start. */
static void number_tiles(const struct joining *j, karst_graph *near)
{
  const struct level *now = j->now;
  karst_index shared = -1, room = 0;
  near->vertices = 0;
  for (karst_index v = 0; v < now->vertices; v++) {
    const bool alone = now->begin[v] == now->end[v];
    if (alone && now->size[v] <= room) {
      room -= now->size[v];
      j->target[v] = shared;
      continue;
    }
    if (alone) {
      shared = near->vertices;
      room = j->most - now->size[v];
    }
    j->target[v] = near->vertices++;
    near->start[near->vertices] = now->end[v] - now->begin[v];
  }
}

/* Makes the tiles and their couplings from the groups of the last level. */
static karst_status end_joining(struct joining *j, karst_tile_set *set)
{
  const struct level *now = j->now;
  karst_status status;
  if ((status =
           karst_allocate(j->context, &set->near.start, (int64_t)now->vertices + 1, sizeof *set->near.start, what)))
    return status;
  number_tiles(j, &set->near);
  set->tiles = set->near.vertices;
  if ((status = karst_counts_to_starts(j->context, set->tiles, set->near.start, what))) return status;
  const karst_index edges = set->near.start[set->tiles];
  if ((status = karst_allocate(j->context, &set->near.neighbour, edges, sizeof *set->near.neighbour, what)) ||
      (status = karst_allocate(j->context, &set->ahead, edges, sizeof *set->ahead, what)))
    return status;
  for (karst_index v = 0; v < now->vertices; v++)
    for (karst_index e = now->begin[v], k = set->near.start[j->target[v]]; e < now->end[v]; e++, k++) {
      set->near.neighbour[k] = j->target[now->neighbour[e]];
      set->ahead[k] = now->ahead[e];
    }
  regroup(j, j->target);
  return KARST_SUCCESS;
}

static karst_status begin_joining(struct joining *j, const karst_graph *graph, float *strength)
{
  const karst_index n = j->rows, edges = graph->start[n];
  karst_status status;
  j->level[0] = (struct level){.vertices = n, .edges = edges, .begin = graph->start, .end = graph->start + 1};
  j->level[0].neighbour = graph->neighbour;
  j->level[0].weight = strength;
  j->now = &j->level[0];
  j->next = &j->level[1];
  for (struct level *level = &j->level[1]; level < &j->level[3]; level++)
    if ((status = karst_allocate(j->context, &level->size, n, sizeof *level->size, what)) ||
        (status = karst_allocate(j->context, &level->begin, n, sizeof *level->begin, what)) ||
        (status = karst_allocate(j->context, &level->end, n, sizeof *level->end, what)) ||
        (status = karst_allocate(j->context, &level->neighbour, edges, sizeof *level->neighbour, what)) ||
        (status = karst_allocate(j->context, &level->weight, edges, sizeof *level->weight, what)) ||
        (status = karst_allocate(j->context, &level->ahead, edges, sizeof *level->ahead, what)))
      return status;
  if ((status = karst_allocate(j->context, &j->now->size, n, sizeof *j->now->size, what)) ||
      (status = karst_allocate(j->context, &j->mate, n, sizeof *j->mate, what)) ||
      (status = karst_allocate(j->context, &j->target, n, sizeof *j->target, what)))
    return status;
  return karst_allocate(j->context, &j->coarse, n, sizeof *j->coarse, what);
}

static void release(struct joining *j)
{
  for (struct level *level = &j->level[1]; level < &j->level[3]; level++) {
    karst_release(j->context, level->size);
    karst_release(j->context, level->begin);
    karst_release(j->context, level->end);
    karst_release(j->context, level->neighbour);
    karst_release(j->context, level->weight);
    karst_release(j->context, level->ahead);
  }
  karst_release(j->context, j->level[0].size);
  karst_release(j->context, j->mate);
  karst_release(j->context, j->target);
  karst_release(j->context, j->coarse);
}

karst_status karst_tile_set_join(karst_context *context, const karst_graph *graph, float *strength,
                                 karst_index hub_degree, karst_index most, karst_tile_set *set)
{
  struct joining j = {.context = context, .rows = graph->vertices, .most = most};
  bool any = true;
  karst_status status = karst_allocate(context, &set->tile, j.rows, sizeof *set->tile, what);
  if (!status) status = begin_joining(&j, graph, strength);
  j.group = set->tile;
  if (!status) begin_rows(&j, graph, hub_degree);
  for (int level = 0; level < LEVELS && any && !status; level++) {
    any = find_pairs(&j);
    if ((status = join_pairs(&j))) break;
    regroup(&j, j.coarse);
    j.now = j.next;
    j.next = &j.level[j.now == &j.level[1] ? 2 : 1];
  }
  if (!status) status = end_joining(&j, set);
  release(&j);
  return status;
}
