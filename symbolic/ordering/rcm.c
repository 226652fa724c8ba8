/* rcm.c - reverse Cuthill-McKee on the graph of A + A^T, component by component.
 *
 * Vertices are numbered by a breadth-first search that visits neighbours by ascending degree, from a vertex of high
 * eccentricity (George and Liu, "An implementation of a pseudoperipheral node finder", ACM Trans. Math. Softw. 5
 * (1979)); the order is then reversed. Adjacency lists are sorted by degree all at once, which makes the search itself
 * linear (Chan and George, "A linear time implementation of the reverse Cuthill-McKee algorithm", BIT 20 (1980)). */
#include "config.h"

#include "symbolic/symbolic.h"

struct graph {
  karst_index n;
  karst_index *start;     /* [n + 1] */
  karst_index *neighbour; /* [start[n]] by ascending degree, then number */
  karst_index *by_degree; /* [n] the vertices by ascending degree, then number */
};

static karst_index row_degree(const struct graph *graph, karst_index v)
{
  return graph->start[v + 1] - graph->start[v];
}

/* Fills by_degree. count, [n + 1], is work space. */
static void sort_vertices(struct graph *graph, karst_index *count)
{
  for (karst_index d = 0; d <= graph->n; d++) count[d] = 0;
  for (karst_index v = 0; v < graph->n; v++) count[row_degree(graph, v) + 1]++;
  for (karst_index d = 0; d < graph->n; d++) count[d + 1] += count[d];
  for (karst_index v = 0; v < graph->n; v++) graph->by_degree[count[row_degree(graph, v)]++] = v;
}

/* Sorts the adjacency lists: appends each vertex, by ascending degree, to the lists of its neighbours. cursor, [n], is
 * work space. */
static void sort_neighbours(struct graph *graph, const karst_index *unsorted, karst_index *cursor)
{
  for (karst_index v = 0; v < graph->n; v++) cursor[v] = graph->start[v];
  for (karst_index i = 0; i < graph->n; i++) {
    karst_index v = graph->by_degree[i];
    for (karst_index k = graph->start[v]; k < graph->start[v + 1]; k++) graph->neighbour[cursor[unsorted[k]]++] = v;
  }
}

/* Searches breadth first from root. queue receives the vertices reached, *reached their number, and *last_level the
 * place in queue where the last level begins. Returns the number of levels. */
static karst_index breadth_first(const struct graph *graph, karst_index root, bool *seen, karst_index *queue,
                                 karst_index *reached, karst_index *last_level)
{
  karst_index head = 0, tail = 1, depth = 0;
  queue[0] = root;
  seen[root] = true;
  while (head < tail) {
    *last_level = head;
    for (karst_index end = tail; head < end; head++) {
      for (karst_index k = graph->start[queue[head]]; k < graph->start[queue[head] + 1]; k++) {
        karst_index w = graph->neighbour[k];
        if (seen[w]) continue;
        seen[w] = true;
        queue[tail++] = w;
      }
    }
    depth++;
  }
  *reached = tail;
  return depth;
}

/* Numbers the component of root in queue, from a pseudo-peripheral vertex: while a vertex of least degree in the last
 * level sees further than its root, the search starts again from there. Returns the component's size. */
static karst_index number_component(const struct graph *graph, karst_index root, bool *seen, karst_index *queue)
{
  karst_index reached, last_level;
  karst_index depth = breadth_first(graph, root, seen, queue, &reached, &last_level);
  for (karst_index deeper;; depth = deeper) {
    karst_index end = queue[last_level];
    for (karst_index i = last_level; i < reached; i++)
      if (row_degree(graph, queue[i]) < row_degree(graph, end)) end = queue[i];
    for (karst_index i = 0; i < reached; i++) seen[queue[i]] = false;
    deeper = breadth_first(graph, end, seen, queue, &reached, &last_level);
    if (deeper <= depth) return reached;
  }
}

karst_status karst_order_rcm(const karst_ordering_pattern *pattern, karst_index *permutation, karst_tiling *tiling)
{
  (void)tiling;
  const char *what = "the graph for RCM";
  karst_context *context = pattern->context;
  const karst_index n = pattern->block_rows;
  struct graph graph = {.n = n};
  karst_index *unsorted = NULL, *work = NULL;
  bool *seen = NULL;
  karst_status status;
  if ((status = karst_pattern_symmetrise(context, n, pattern->row_start, pattern->column, &graph.start, &unsorted)) ||
      (status = karst_allocate(context, &graph.neighbour, graph.start[n], sizeof *graph.neighbour, what)) ||
      (status = karst_allocate(context, &graph.by_degree, n, sizeof *graph.by_degree, what)) ||
      (status = karst_allocate(context, &work, (int64_t)n + 1, sizeof *work, what)) ||
      (status = karst_allocate_zero(context, &seen, n, sizeof *seen, what)))
    goto finish;
  sort_vertices(&graph, work);
  sort_neighbours(&graph, unsorted, work);

  karst_index numbered = 0;
  for (karst_index i = 0; i < n; i++)
    if (!seen[graph.by_degree[i]])
      numbered += number_component(&graph, graph.by_degree[i], seen, permutation + numbered);
  for (karst_index i = 0; i < n / 2; i++) {
    karst_index other = permutation[n - 1 - i];
    permutation[n - 1 - i] = permutation[i];
    permutation[i] = other;
  }

finish:
  karst_release(context, graph.start);
  karst_release(context, graph.neighbour);
  karst_release(context, graph.by_degree);
  karst_release(context, unsorted);
  karst_release(context, work);
  karst_release(context, seen);
  return status;
}
