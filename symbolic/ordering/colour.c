/* colour.c - the ordering by colours: in an incomplete factor, rows of one colour do not depend on each other.
 *
 * Rows of one colour are further apart than fill reaches, so that each triangle has at most as many levels as there are
 * colours. A row is a tile of its own. If fill reaches beyond neighbours, rows with many times the usual number of
 * neighbours come last, each with a colour of its own: through them all rows may be close to each other. The cells of a
 * grid get their colours by position. */
#include "config.h"

#include "symbolic/ordering/tiles.h"

static karst_status make_set(const karst_ordering_pattern *pattern, const karst_graph *graph, karst_tile_set *set)
{
  const int distance = pattern->distance > 1 ? pattern->distance : 1;
  karst_index hubs = 0;
  karst_status status =
      karst_allocate(pattern->context, &set->tile, graph->vertices, sizeof *set->tile, "the colours of an ordering");
  if (status) return status;
  const karst_index hub_degree = distance > 1 ? karst_graph_hub_degree(graph) : graph->vertices + 1;
  for (karst_index i = 0; i < graph->vertices; i++)
    set->tile[i] = karst_graph_is_hub(graph, hub_degree, i) ? -1 : set->tiles++;
  karst_tile_set_put_hubs(graph, hub_degree, 1, set, &hubs);
  return karst_tile_set_colour(pattern->context, graph, hubs, distance, set);
}

/* Colours the cells of a grid that the pattern fits. */
static karst_status order_cells(const karst_ordering_pattern *pattern, const karst_grid *grid, karst_stencil stencil,
                                karst_index *permutation, karst_tiling *tiling)
{
  static const karst_index side[3] = {1, 1, 1};
  karst_tile_boxes boxes;
  karst_tile_boxes_cut(grid, side, &boxes);
  karst_tile_boxes_colour(stencil, pattern->distance > 1 ? pattern->distance : 1, 1, &boxes);
  return karst_tile_boxes_sort(pattern->context, pattern->block_rows, &boxes, permutation, tiling);
}

karst_status karst_order_colour(const karst_ordering_pattern *pattern, karst_index *permutation, karst_tiling *tiling)
{
  karst_tile_set set = {0};
  karst_graph graph;
  karst_grid grid;
  int stencil;
  if (karst_tiles_find_grid(pattern, &grid, &stencil) && stencil)
    return order_cells(pattern, &grid, (karst_stencil)stencil, permutation, tiling);
  karst_status status = karst_graph_of_pattern(pattern, &graph);
  if (!status) status = make_set(pattern, &graph, &set);
  if (!status) status = karst_tiling_sort(pattern->context, pattern->block_rows, &set, permutation, tiling);
  karst_graph_destroy(pattern->context, &graph);
  karst_tile_set_destroy(pattern->context, &set);
  return status;
}
