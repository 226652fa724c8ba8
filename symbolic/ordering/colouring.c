/* colouring.c - colours a graph greedily and evens the colours out.
 *
 * Vertices get the first colour that is free, in three sequences. Smallest last (Matula and Beck, "Smallest-last
 * ordering and clustering and graph coloring algorithms", J. ACM 30 (1983)) needs at most one colour more than the
 * degeneracy. Breadth first needs two colours for a graph with two. By number suits grids. The fewest colours are kept.
 * Then vertices of colours with more than their share move to free ones with less (Lu, Halappanavar, Chavarria-Miranda,
 * Gebremedhin, Kalyanaraman, "Balanced coloring for parallel computing applications", IPDPS 2015). All is linear in the
 * graph, except the last step, which checks each colour once for a vertex that may move.
 *
 * If neighbours are to have colours in the order of their numbers, colours come in a cycle: neighbours are in another
 * order only where the cycle begins again. A few more colours than are needed make that rare (Doi and Washio, "Ordering
 * strategies and related techniques to overcome the trade-off between parallelism and convergence in incomplete
 * factorizations", Parallel Computing 25 (1999)). */
#include "config.h"

#include "symbolic/ordering/colouring.h"

#include <string.h>

enum { MORE = 2 }; /* colours of a cycle beyond those that are needed */

static const char what[] = "the colours of an ordering";

static karst_index degree(const karst_graph *graph, karst_index v) { return graph->start[v + 1] - graph->start[v]; }

static karst_index largest_degree(const karst_graph *graph)
{
  karst_index most = 0;
  for (karst_index v = 0; v < graph->vertices; v++)
    if (degree(graph, v) > most) most = degree(graph, v);
  return most;
}

/* Lists of the remaining vertices, one for each degree in the rest of the graph. */
struct buckets {
  karst_index *head;            /* [largest degree + 1] or -1 */
  karst_index *next, *previous; /* [vertices] or -1 */
  karst_index *left;            /* [vertices] the degree in the rest, -1 for a vertex that is taken */
};

static void put(struct buckets *b, karst_index v)
{
  const karst_index d = b->left[v], other = b->head[d];
  b->next[v] = other;
  b->previous[v] = -1;
  if (other >= 0) b->previous[other] = v;
  b->head[d] = v;
}

static void take(struct buckets *b, karst_index v)
{
  if (b->previous[v] >= 0)
    b->next[b->previous[v]] = b->next[v];
  else
    b->head[b->left[v]] = b->next[v];
  if (b->next[v] >= 0) b->previous[b->next[v]] = b->previous[v];
}

/* The vertex with the fewest neighbours left comes last, is left out, and so on. */
static void order_smallest_last(const karst_graph *graph, struct buckets *b, karst_index *sequence)
{
  karst_index least = 0;
  for (karst_index d = 0; d <= largest_degree(graph); d++) b->head[d] = -1;
  for (karst_index v = graph->vertices; v-- > 0;) {
    b->left[v] = degree(graph, v);
    put(b, v);
  }
  for (karst_index place = graph->vertices; place-- > 0;) {
    while (b->head[least] < 0) least++;
    const karst_index v = b->head[least];
    take(b, v);
    b->left[v] = -1;
    sequence[place] = v;
    for (karst_index k = graph->start[v]; k < graph->start[v + 1]; k++) {
      const karst_index w = graph->neighbour[k];
      if (b->left[w] < 0) continue;
      take(b, w);
      b->left[w]--;
      put(b, w);
    }
    if (least > 0) least--;
  }
}

/* Component after component, from the vertex of the lowest number. mark: [vertices]. */
static void order_breadth_first(const karst_graph *graph, karst_index *mark, karst_index *sequence)
{
  karst_index tail = 0;
  for (karst_index v = 0; v < graph->vertices; v++) mark[v] = 0;
  for (karst_index root = 0, head = 0; root < graph->vertices; root++) {
    if (mark[root]) continue;
    mark[root] = 1;
    sequence[tail++] = root;
    for (; head < tail; head++)
      for (karst_index k = graph->start[sequence[head]]; k < graph->start[sequence[head] + 1]; k++) {
        const karst_index w = graph->neighbour[k];
        if (mark[w]) continue;
        mark[w] = 1;
        sequence[tail++] = w;
      }
  }
}

/* Gives each vertex in turn the first colour that none of its neighbours has. used: [largest degree + 2]. Returns the
 * number of colours. */
static karst_index colour_in_turn(const karst_graph *graph, const karst_index *sequence, karst_index most,
                                  karst_index *used, karst_index *colour)
{
  karst_index colours = 0;
  for (karst_index c = 0; c < most + 2; c++) used[c] = -1;
  for (karst_index v = 0; v < graph->vertices; v++) colour[v] = -1;
  for (karst_index i = 0; i < graph->vertices; i++) {
    const karst_index v = sequence ? sequence[i] : i;
    karst_index c = 0;
    for (karst_index k = graph->start[v]; k < graph->start[v + 1]; k++)
      if (colour[graph->neighbour[k]] >= 0) used[colour[graph->neighbour[k]]] = i;
    while (used[c] == i) c++;
    colour[v] = c;
    if (c >= colours) colours = c + 1;
  }
  return colours;
}

/* Moves vertices from colours with more than their share to the smallest one that is free for them. used and size:
 * [colours]. */
static void even_out(const karst_graph *graph, karst_index colours, karst_index *used, karst_index *size,
                     karst_index *colour)
{
  const karst_index share = colours > 0 ? (graph->vertices + colours - 1) / colours : 0;
  for (karst_index c = 0; c < colours; c++) {
    size[c] = 0;
    used[c] = -1;
  }
  for (karst_index v = 0; v < graph->vertices; v++) size[colour[v]]++;
  for (karst_index v = 0; v < graph->vertices; v++) {
    karst_index best = colour[v];
    if (size[best] <= share) continue;
    for (karst_index k = graph->start[v]; k < graph->start[v + 1]; k++) used[colour[graph->neighbour[k]]] = v;
    for (karst_index c = 0; c < colours; c++)
      if (used[c] != v && size[c] < share && size[c] < size[best]) best = c;
    size[colour[v]]--;
    size[best]++;
    colour[v] = best;
  }
}

/* Keeps the colours of a sequence if they are fewer. */
static void try_sequence(const karst_graph *graph, const karst_index *sequence, karst_index most, karst_index *used,
                         karst_index *trial, karst_index *colour, karst_index *colours)
{
  const karst_index needed = colour_in_turn(graph, sequence, most, used, trial);
  if (needed >= *colours) return;
  memcpy(colour, trial, (size_t)graph->vertices * sizeof *colour);
  *colours = needed;
}

karst_status karst_graph_colour(karst_context *context, const karst_graph *graph, karst_index *colour,
                                karst_index *colours)
{
  const karst_index n = graph->vertices, most = largest_degree(graph);
  struct buckets b = {0};
  karst_index *sequence = NULL, *used = NULL;
  karst_status status;
  *colours = 0;
  if (n == 0) return KARST_SUCCESS;
  if ((status = karst_allocate(context, &b.head, (int64_t)most + 2, sizeof *b.head, what)) ||
      (status = karst_allocate(context, &b.next, n, sizeof *b.next, what)) ||
      (status = karst_allocate(context, &b.previous, n, sizeof *b.previous, what)) ||
      (status = karst_allocate(context, &b.left, n, sizeof *b.left, what)) ||
      (status = karst_allocate(context, &sequence, n, sizeof *sequence, what)) ||
      (status = karst_allocate(context, &used, (int64_t)most + 2, sizeof *used, what)))
    goto finish;
  *colours = colour_in_turn(graph, NULL, most, used, colour);
  if (*colours > 2) { /* no sequence needs fewer */
    order_breadth_first(graph, b.next, sequence);
    try_sequence(graph, sequence, most, used, b.left, colour, colours);
  }
  if (*colours > 2) {
    order_smallest_last(graph, &b, sequence);
    try_sequence(graph, sequence, most, used, b.left, colour, colours);
  }
  even_out(graph, *colours, used, b.head, colour);

finish:
  karst_release(context, b.head);
  karst_release(context, b.next);
  karst_release(context, b.previous);
  karst_release(context, b.left);
  karst_release(context, sequence);
  karst_release(context, used);
  return status;
}

/* Gives each vertex the first colour of the cycle that is free behind those of its neighbours before it. level: the
 * colour of each vertex, and the colours of all turns of the cycle before it. used: [colours]. Returns false if a
 * vertex finds none. */
static bool colour_in_cycle(const karst_graph *graph, karst_index colours, karst_index *used, karst_index *level)
{
  for (karst_index c = 0; c < colours; c++) used[c] = -1;
  for (karst_index v = 0; v < graph->vertices; v++) {
    karst_index least = 0, tries = 0;
    for (karst_index k = graph->start[v]; k < graph->start[v + 1]; k++) {
      const karst_index w = graph->neighbour[k];
      if (w >= v) continue;
      used[level[w] % colours] = v;
      if (level[w] >= least) least = level[w] + 1;
    }
    while (tries < colours && used[(least + tries) % colours] == v) tries++;
    if (tries == colours) return false;
    level[v] = least + tries;
  }
  return true;
}

karst_status karst_graph_colour_in_cycle(karst_context *context, const karst_graph *graph, karst_index least,
                                         karst_index *colour, karst_index *colours)
{
  const karst_index n = graph->vertices, cycle = *colours + (n / least >= *colours + MORE ? MORE : 0);
  karst_index *used = NULL, *level = NULL;
  karst_status status;
  if (*colours < 2) return KARST_SUCCESS;
  if ((status = karst_allocate(context, &used, cycle, sizeof *used, what)) ||
      (status = karst_allocate(context, &level, n, sizeof *level, what)))
    goto finish;
  if (colour_in_cycle(graph, cycle, used, level)) {
    for (karst_index v = 0; v < n; v++) colour[v] = level[v] % cycle;
    *colours = cycle;
  }

finish:
  karst_release(context, used);
  karst_release(context, level);
  return status;
}
