/* groups.c - the graph of a pattern, and that of groups of its vertices that fill may tie together.
 *
 * An entry of level k of an incomplete factor stands for a path of at most k + 1 edges whose inner vertices come before
 * both ends (Rose and Tarjan; Hysom and Pothen). Groups that no path of that length joins are therefore independent in
 * the factors. */
#include "config.h"

#include "colouring.h"

#include <string.h>

/* A graph of groups may have as many times the entries of the first graph, and looking for them may take as many times
 * as long as going through it. */
enum { GROWTH = 32, PATIENCE = 1000, LEAST = 4096 };
/* A hub has so many times the mean degree, and at least so many neighbours. */
enum { HUB_RATIO = 8, HUB_LEAST = 64 };

static const char what[] = "the graph of an ordering";

karst_status karst_graph_of_pattern(const karst_ordering_pattern *pattern, karst_graph *graph)
{
  *graph = (karst_graph){.vertices = pattern->block_rows};
  return karst_pattern_symmetrise(pattern->context, pattern->block_rows, pattern->row_start, pattern->column,
                                  &graph->start, &graph->neighbour);
}

void karst_graph_destroy(karst_context *context, karst_graph *graph)
{
  karst_release(context, graph->start);
  karst_release(context, graph->neighbour);
  *graph = (karst_graph){0};
}

karst_index karst_hub_degree(karst_index rows, karst_index couplings)
{
  if (rows == 0) return HUB_LEAST;
  const int64_t degree = HUB_RATIO * (int64_t)couplings / rows;
  return degree > HUB_LEAST ? (karst_index)degree : HUB_LEAST;
}

karst_index karst_graph_hub_degree(const karst_graph *graph)
{
  return karst_hub_degree(graph->vertices, graph->start[graph->vertices]);
}

/* A search from group to group. */
struct walk {
  const karst_graph *graph;
  const karst_index *group;    /* [vertices] */
  karst_index *first, *member; /* [groups + 1], [members] the vertices of each group */
  karst_index *queue;          /* [vertices] */
  karst_index *seen;           /* [vertices] 1 + the last group whose search has met the vertex */
  karst_index *met;            /* [groups] 1 + the last group that has met the group */
  karst_index *neighbour;      /* [room] of the groups so far */
  int64_t count, room, most;
  int64_t looks, most_looks;
};

static karst_status make_room(karst_context *context, struct walk *walk)
{
  karst_index *larger;
  const int64_t room = 2 * walk->room;
  karst_status status = karst_allocate(context, &larger, room, sizeof *larger, what);
  if (status) return status;
  memcpy(larger, walk->neighbour, (size_t)walk->count * sizeof *larger);
  karst_release(context, walk->neighbour);
  walk->neighbour = larger;
  walk->room = room;
  return KARST_SUCCESS;
}

/* Looks at the neighbours of vertex v in the search of group g. */
static karst_status visit(karst_context *context, struct walk *walk, karst_index g, karst_index v, karst_index *tail)
{
  const karst_graph *graph = walk->graph;
  walk->looks += graph->start[v + 1] - graph->start[v];
  for (karst_index k = graph->start[v]; k < graph->start[v + 1]; k++) {
    const karst_index w = graph->neighbour[k], other = walk->group[w];
    if (other < 0 || walk->seen[w] == g + 1) continue;
    walk->seen[w] = g + 1;
    walk->queue[(*tail)++] = w;
    if (other == g || walk->met[other] == g + 1) continue;
    walk->met[other] = g + 1;
    if (walk->count == walk->room) {
      karst_status status = make_room(context, walk);
      if (status) return status;
    }
    walk->neighbour[walk->count++] = other;
  }
  return KARST_SUCCESS;
}

/* Finds the groups around group g. */
static karst_status search(karst_context *context, struct walk *walk, karst_index g, int distance)
{
  karst_index head = 0, tail = 0;
  for (karst_index k = walk->first[g]; k < walk->first[g + 1]; k++) {
    walk->queue[tail++] = walk->member[k];
    walk->seen[walk->member[k]] = g + 1;
  }
  for (int step = 0; step < distance && head < tail; step++)
    for (karst_index end = tail; head < end; head++) {
      karst_status status = visit(context, walk, g, walk->queue[head], &tail);
      if (status) return status;
    }
  return KARST_SUCCESS;
}

/* Searches from all groups; *fits: whether the result is small enough. */
static karst_status search_all(karst_context *context, struct walk *walk, karst_index groups, int distance,
                               karst_index *start, bool *fits)
{
  for (karst_index v = 0; v < walk->graph->vertices; v++) walk->seen[v] = 0;
  for (karst_index g = 0; g < groups; g++) walk->met[g] = 0;
  walk->count = walk->looks = 0;
  *fits = true;
  for (karst_index g = 0; g < groups; g++) {
    start[g] = (karst_index)walk->count;
    karst_status status = search(context, walk, g, distance);
    *fits = distance == 1 || (walk->count <= walk->most && walk->looks <= walk->most_looks);
    if (status || !*fits) return status;
  }
  start[groups] = (karst_index)walk->count;
  return KARST_SUCCESS;
}

/* Sorts the vertices that have a group by it. */
static void list_members(struct walk *walk, karst_index groups)
{
  for (karst_index g = 0; g <= groups; g++) walk->first[g] = 0;
  for (karst_index v = 0; v < walk->graph->vertices; v++)
    if (walk->group[v] >= 0) walk->first[walk->group[v] + 1]++;
  for (karst_index g = 0; g < groups; g++) walk->first[g + 1] += walk->first[g];
  for (karst_index v = 0; v < walk->graph->vertices; v++)
    if (walk->group[v] >= 0) walk->member[walk->first[walk->group[v]]++] = v;
  for (karst_index g = groups; g > 0; g--) walk->first[g] = walk->first[g - 1];
  walk->first[0] = 0;
}

karst_status karst_graph_of_groups(karst_context *context, const karst_graph *graph, karst_index groups,
                                   const karst_index *group, int *distance, karst_graph *result)
{
  const karst_index n = graph->vertices;
  const int64_t size = (int64_t)graph->start[n] + n + LEAST;
  const int64_t most = GROWTH * size < KARST_INDEX_MAX / 2 ? GROWTH * size : KARST_INDEX_MAX / 2;
  struct walk walk = {.graph = graph, .group = group, .room = size, .most = most, .most_looks = PATIENCE * size};
  bool fits = false;
  karst_status status;
  *result = (karst_graph){.vertices = groups};
  if ((status = karst_allocate(context, &walk.first, (int64_t)groups + 1, sizeof *walk.first, what)) ||
      (status = karst_allocate(context, &walk.member, n, sizeof *walk.member, what)) ||
      (status = karst_allocate(context, &walk.queue, n, sizeof *walk.queue, what)) ||
      (status = karst_allocate(context, &walk.seen, n, sizeof *walk.seen, what)) ||
      (status = karst_allocate(context, &walk.met, groups, sizeof *walk.met, what)) ||
      (status = karst_allocate(context, &walk.neighbour, walk.room, sizeof *walk.neighbour, what)) ||
      (status = karst_allocate(context, &result->start, (int64_t)groups + 1, sizeof *result->start, what)))
    goto finish;
  list_members(&walk, groups);
  if (*distance > n) *distance = n > 1 ? (int)n : 1; /* no path is longer */
  for (; !fits && !status; *distance -= fits ? 0 : 1)
    status = search_all(context, &walk, groups, *distance, result->start, &fits);
  result->neighbour = walk.neighbour;
  walk.neighbour = NULL;

finish:
  karst_release(context, walk.first);
  karst_release(context, walk.member);
  karst_release(context, walk.queue);
  karst_release(context, walk.seen);
  karst_release(context, walk.met);
  karst_release(context, walk.neighbour);
  if (status) karst_graph_destroy(context, result);
  return status;
}
