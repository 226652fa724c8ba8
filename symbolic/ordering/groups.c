/* groups.c - the graph of a pattern, and the graph of groups of its vertices that fill may couple.
 *
 * An entry of level k of an incomplete factor corresponds to a path of at most k + 1 edges whose inner vertices come
 * before both ends (Rose and Tarjan; Hysom and Pothen). Groups that no path of that length joins are therefore
 * independent in the factors. */
#include "config.h"

#include "symbolic/ordering/colouring.h"
#include "lib/base/threads.h"

#include <string.h>

/* A graph of groups may have GROWTH times the entries of the first graph, and the search for them may take PATIENCE
 * times as long as a pass over it. */
enum { GROWTH = 32, PATIENCE = 1000, LEAST = 4096 };
/* The threads of the search together take at most about this many numbers per vertex. */
enum { NUMBERS = 16 };
/* A hub has at least HUB_RATIO times the mean degree, and HUB_LEAST neighbours. */
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

karst_status karst_list_groups(karst_context *context, karst_index count, const karst_index *group, karst_index groups,
                               karst_index *first, karst_index *member)
{
  const int64_t threads = karst_threads_for(context, count), fitting = 2 * (int64_t)count / (groups + 1) + 1;
  const int chunks = (int)(threads < fitting ? threads : fitting);
  karst_index *next; /* [chunks][groups] where each chunk's next vertex of a group goes */
  karst_status status = karst_allocate_zero(context, &next, (int64_t)chunks * groups, sizeof *next, what);
  if (status) return status;
  karst_piece counting = karst_begin_at_most(context, KARST_KIND_ONCE, count, chunks);
#pragma omp parallel num_threads(counting.threads)
  {
    const karst_part part = karst_part_begin(&counting, chunks);
    for (karst_index c = part.first; c < part.last; c++)
      for (int64_t v = karst_share(count, (int)c, chunks); v < karst_share(count, (int)c + 1, chunks); v++)
        if (group[v] >= 0) next[c * (int64_t)groups + group[v]]++;
    karst_part_end(&counting, &part);
  }
  karst_end(context, &counting);
  first[0] = 0;
  for (karst_index g = 0; g < groups; g++) {
    first[g + 1] = first[g];
    for (int c = 0; c < chunks; c++) {
      karst_index *entry = &next[c * (int64_t)groups + g];
      const karst_index size = *entry;
      *entry = first[g + 1];
      first[g + 1] += size;
    }
  }
  karst_piece filling = karst_begin_at_most(context, KARST_KIND_ONCE, count, chunks);
#pragma omp parallel num_threads(filling.threads)
  {
    const karst_part part = karst_part_begin(&filling, chunks);
    for (karst_index c = part.first; c < part.last; c++)
      for (int64_t v = karst_share(count, (int)c, chunks); v < karst_share(count, (int)c + 1, chunks); v++)
        if (group[v] >= 0) member[next[c * (int64_t)groups + group[v]]++] = (karst_index)v;
    karst_part_end(&filling, &part);
  }
  karst_end(context, &filling);
  karst_release(context, next);
  return KARST_SUCCESS;
}

/* A search from group to group, which threads share. */
struct walk {
  const karst_graph *graph;
  karst_index groups;
  const karst_index *group;    /* [vertices] */
  karst_index *first, *member; /* [groups + 1], [members] the vertices of each group */
  int distance, threads;
  karst_index *queue; /* [threads][vertices] and NULL at the distance 1 */
  karst_index *seen;  /* [threads][vertices] 1 + the last group whose search has met the vertex; or NULL */
  karst_index *met;   /* [threads][groups] 1 + the last group that has met the group */
  int64_t most, most_looks;
};

/* The result of a thread. */
struct trail {
  karst_index *queue, *seen, *met;
  karst_index tail;     /* vertices in the queue */
  karst_index count;    /* neighbours of the group */
  karst_index *found;   /* [count] or NULL */
  int64_t looks, total; /* entries looked at, and neighbours of all its groups */
};

/* Visits the neighbours of vertex v in the search of group g. more: whether the search goes on from them. */
static void visit(const struct walk *walk, struct trail *t, karst_index g, karst_index v, bool more)
{
  const karst_graph *graph = walk->graph;
  t->looks += graph->start[v + 1] - graph->start[v];
  for (karst_index k = graph->start[v]; k < graph->start[v + 1]; k++) {
    const karst_index w = graph->neighbour[k], other = walk->group[w];
    if (other < 0) continue;
    if (more) {
      if (t->seen[w] == g + 1) continue;
      t->seen[w] = g + 1;
      t->queue[t->tail++] = w;
    }
    if (other == g || t->met[other] == g + 1) continue;
    t->met[other] = g + 1;
    if (t->found) t->found[t->count] = other;
    t->count++;
  }
}

/* Finds the groups around group g. */
static void search_groups(const struct walk *walk, struct trail *t, karst_index g)
{
  const karst_index *front = walk->member + walk->first[g];
  karst_index size = walk->first[g + 1] - walk->first[g], head = 0;
  t->count = t->tail = 0;
  for (karst_index i = 0; i < size && walk->distance > 1; i++) t->seen[front[i]] = g + 1;
  for (int step = 1; step <= walk->distance && size > 0; step++) {
    for (karst_index i = 0; i < size; i++) visit(walk, t, g, front[i], step < walk->distance);
    if (step == walk->distance) return;
    front = t->queue + head;
    size = t->tail - head;
    head = t->tail;
  }
}

/* Searches from the groups of a thread, and counts the neighbours of each in start[g + 1], or stores them. Ends if
 * there are too many. */
static void search_share(const struct walk *walk, int thread, int team, karst_index *start, karst_index *neighbour,
                         struct trail *t)
{
  const karst_index n = walk->graph->vertices, groups = walk->groups;
  const karst_index end = karst_share_rows(groups, walk->first, thread + 1, team);
  *t = (struct trail){.met = walk->met + thread * (int64_t)groups};
  memset(t->met, 0, (size_t)groups * sizeof *t->met);
  if (walk->distance > 1) {
    t->queue = walk->queue + thread * (int64_t)n;
    t->seen = walk->seen + thread * (int64_t)n;
    memset(t->seen, 0, (size_t)n * sizeof *t->seen);
  }
  for (karst_index g = karst_share_rows(groups, walk->first, thread, team); g < end; g++) {
    if (neighbour) t->found = neighbour + start[g];
    search_groups(walk, t, g);
    if (!neighbour) start[g + 1] = t->count;
    t->total += t->count;
    if (walk->distance > 1 && (t->total > walk->most || t->looks > walk->most_looks)) return;
  }
}

/* Searches from all groups; returns whether the result is small enough. */
static bool search_all(karst_context *context, const struct walk *walk, karst_index *start, karst_index *neighbour)
{
  const karst_graph *graph = walk->graph;
  int64_t looks = 0, total = 0;
  karst_piece piece = karst_begin_at_most(context, KARST_KIND_ONCE, graph->start[graph->vertices], walk->threads);
#pragma omp parallel num_threads(piece.threads) reduction(+ : looks, total)
  {
    const karst_part part = karst_part_begin(&piece, walk->groups);
    struct trail trail;
    search_share(walk, karst_thread(), karst_team(), start, neighbour, &trail);
    looks += trail.looks;
    total += trail.total;
    karst_part_end(&piece, &part);
  }
  karst_end(context, &piece);
  return walk->distance == 1 || (total <= walk->most && looks <= walk->most_looks);
}

/* Takes memory for a search, for as many threads as NUMBERS numbers per vertex allow. */
static karst_status begin_walk(karst_context *context, struct walk *walk)
{
  const karst_graph *graph = walk->graph;
  const int64_t n = graph->vertices, each = (walk->distance > 1 ? 2 * n : 0) + walk->groups + 1;
  const int64_t size = graph->start[n] + n + LEAST, fitting = NUMBERS * n / each + 1;
  const int threads = karst_threads_for(context, graph->start[n]);
  walk->most = GROWTH * size < KARST_INDEX_MAX / 2 ? GROWTH * size : KARST_INDEX_MAX / 2;
  walk->most_looks = PATIENCE * size;
  walk->threads = threads < fitting ? threads : (int)fitting;
  karst_status status;
  if ((status = karst_allocate(context, &walk->first, (int64_t)walk->groups + 1, sizeof *walk->first, what)) ||
      (status = karst_allocate(context, &walk->member, n, sizeof *walk->member, what)) ||
      (status = karst_list_groups(context, graph->vertices, walk->group, walk->groups, walk->first, walk->member)) ||
      (status = karst_allocate(context, &walk->met, (int64_t)walk->threads * walk->groups, sizeof *walk->met, what)) ||
      walk->distance == 1)
    return status;
  status = karst_allocate(context, &walk->queue, walk->threads * n, sizeof *walk->queue, what);
  return status ? status : karst_allocate(context, &walk->seen, walk->threads * n, sizeof *walk->seen, what);
}

karst_status karst_graph_of_groups(karst_context *context, const karst_graph *graph, karst_index groups,
                                   const karst_index *group, int *distance, karst_graph *result)
{
  const karst_index n = graph->vertices;
  if (*distance > n) *distance = n > 1 ? (int)n : 1; /* no path is longer */
  struct walk walk = {.graph = graph, .groups = groups, .group = group, .distance = *distance};
  karst_status status = begin_walk(context, &walk);
  *result = (karst_graph){.vertices = groups};
  if (status || (status = karst_allocate(context, &result->start, (int64_t)groups + 1, sizeof *result->start, what)))
    goto finish;
  while (!search_all(context, &walk, result->start, NULL)) walk.distance--;
  *distance = walk.distance;
  if ((status = karst_counts_to_starts(context, groups, result->start, what)) ||
      (status = karst_allocate(context, &result->neighbour, result->start[groups], sizeof *result->neighbour, what)))
    goto finish;
  search_all(context, &walk, result->start, result->neighbour);

finish:
  karst_release(context, walk.first);
  karst_release(context, walk.member);
  karst_release(context, walk.queue);
  karst_release(context, walk.seen);
  karst_release(context, walk.met);
  if (status) karst_graph_destroy(context, result);
  return status;
}
