/* colouring.h - declares the graph that orderings by colours work on, and its colours. */
#ifndef KARST_SYMBOLIC_ORDERING_COLOURING_H
#define KARST_SYMBOLIC_ORDERING_COLOURING_H

#include "symbolic/symbolic.h"

/* An undirected graph: each edge is in the lists of both its ends, and no vertex is its own neighbour. */
typedef struct karst_graph {
  karst_index vertices;
  karst_index *start;     /* [vertices + 1] */
  karst_index *neighbour; /* [start[vertices]] */
} karst_graph;

/* The graph of A + A^T. */
karst_status karst_graph_of_pattern(const karst_ordering_pattern *pattern, karst_graph *graph);
void karst_graph_destroy(karst_context *context, karst_graph *graph);

/* Returns the degree from which on a vertex is a hub: some have many times as many neighbours as most. If hubs come
 * last in an order, no fill goes through them, because the fill of ILU(k) goes through rows above both of its ends. */
karst_index karst_hub_degree(karst_index rows, karst_index couplings /* of all rows */);
karst_index karst_graph_hub_degree(const karst_graph *graph);

static inline bool karst_graph_is_hub(const karst_graph *graph, karst_index hub_degree, karst_index v)
{
  return graph->start[v + 1] - graph->start[v] >= hub_degree;
}

/* Sorts the vertices 0 .. count - 1 that have a group, not -1, by it, stably: those of group g are member[first[g] ..
 * first[g + 1] - 1]. first: [groups + 1], member: [count]. */
karst_status karst_list_groups(karst_context *context, karst_index count, const karst_index *group, karst_index groups,
                               karst_index *first, karst_index *member);

/* Makes the graph of groups of vertices: two are neighbours if a path of at most distance edges, between vertices that
 * have groups, joins vertices of theirs. group: [vertices] of each vertex, or -1. If that graph would be many times
 * larger than the first one, *distance is lowered until it is not; it stays at least 1. */
karst_status karst_graph_of_groups(karst_context *context, const karst_graph *graph, karst_index groups,
                                   const karst_index *group, int *distance, karst_graph *result);

/* Gives each vertex of a graph a colour, 0 .. *colours - 1, that none of its neighbours has. colour: [vertices]. */
karst_status karst_graph_colour(karst_context *context, const karst_graph *graph, karst_index *colour,
                                karst_index *colours);

/* Gives the vertices of a coloured graph other colours, two more if at least least vertices for each remain. A vertex
 * gets a colour behind those of its neighbours before it, in a cycle of the colours, so that most neighbours have
 * colours in the order of their numbers. Keeps the colours if these do not suffice. */
karst_status karst_graph_colour_in_cycle(karst_context *context, const karst_graph *graph, karst_index least,
                                         karst_index *colour, karst_index *colours);

#endif
