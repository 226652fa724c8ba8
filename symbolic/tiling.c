/* tiling.c - colours tiles, and sorts rows by tile and tiles by colour. */
#include "config.h"

#include "tiles.h"

enum { COLOUR_TILES = 64 }; /* tiles of a colour, so that threads find enough */

static const char what[] = "the tiles of an ordering";

void karst_tile_set_destroy(karst_context *context, karst_tile_set *set)
{
  karst_release(context, set->tile);
  karst_release(context, set->colour);
  karst_release(context, set->sequence);
  *set = (karst_tile_set){0};
}

/* rank[t]: the place of tile t among those that have rows, sorted by colour; -1 for one without rows. item: [tiles]
 * the tiles sorted by colour, first: [colours + 1] where each colour begins in it. Fills the colours of the tiling. */
static void rank_tiles(const karst_tile_set *set, karst_index rows, const karst_index *item, const karst_index *first,
                       karst_index *rank, karst_tiling *tiling)
{
  for (karst_index t = 0; t < set->tiles; t++) rank[t] = -1;
  for (karst_index i = 0; i < rows; i++) rank[set->tile[i]] = 0;
  tiling->colour_start[0] = 0;
  for (karst_index c = 0; c < set->colours; c++) {
    const karst_index before = tiling->tiles;
    for (karst_index k = first[c]; k < first[c + 1]; k++)
      if (rank[item[k]] == 0) rank[item[k]] = tiling->tiles++;
    if (tiling->tiles > before) tiling->colour_start[++tiling->colours] = tiling->tiles;
  }
}

karst_status karst_tiling_sort(karst_context *context, karst_index rows, const karst_tile_set *set,
                               karst_index *permutation, karst_tiling *tiling)
{
  karst_index *first = NULL, *item = NULL, *rank = NULL, *place = NULL;
  karst_status status;
  if ((status = karst_allocate(context, &first, (int64_t)set->colours + 1, sizeof *first, what)) ||
      (status = karst_allocate(context, &item, set->tiles, sizeof *item, what)) ||
      (status = karst_allocate(context, &rank, set->tiles, sizeof *rank, what)) ||
      (status = karst_allocate(context, &place, rows, sizeof *place, what)) ||
      (status = karst_allocate(context, &tiling->colour_start, (int64_t)set->colours + 1, sizeof *tiling->colour_start,
                               what)))
    goto finish;
  karst_levels_group(set->tiles, set->colour, set->colours, first, item);
  rank_tiles(set, rows, item, first, rank, tiling);
  if ((status = karst_allocate(context, &tiling->start, (int64_t)tiling->tiles + 1, sizeof *tiling->start, what)))
    goto finish;
  for (karst_index i = 0; i < rows; i++) place[i] = rank[set->tile[set->sequence ? set->sequence[i] : i]];
  karst_levels_group(rows, place, tiling->tiles, tiling->start, permutation);
  for (karst_index i = 0; i < rows && set->sequence; i++) permutation[i] = set->sequence[permutation[i]];

finish:
  karst_release(context, first);
  karst_release(context, item);
  karst_release(context, rank);
  karst_release(context, place);
  return status;
}

void karst_tile_set_put_hubs(const karst_graph *graph, karst_index hub_degree, karst_index most, karst_tile_set *set,
                             karst_index *first)
{
  karst_index count = 0;
  *first = set->tiles;
  for (karst_index i = 0; i < graph->vertices; i++)
    if (karst_graph_is_hub(graph, hub_degree, i)) set->tile[i] = *first + count++ / most;
  set->tiles = *first + (count > 0 ? (count - 1) / most + 1 : 0);
}

karst_status karst_tile_set_colour(karst_context *context, const karst_graph *graph, karst_index hubs, int distance,
                                   karst_tile_set *set)
{
  const karst_index n = graph->vertices;
  karst_graph tiles = {0};
  karst_index *group = NULL;
  int reach = distance;
  karst_status status = karst_allocate(context, &set->colour, set->tiles, sizeof *set->colour, what);
  if (!status) status = karst_allocate(context, &group, n, sizeof *group, what);
  if (status) return status;
  for (karst_index i = 0; i < n; i++) group[i] = set->tile[i] < hubs ? set->tile[i] : -1;
  status = karst_graph_of_groups(context, graph, hubs, group, &reach, &tiles);
  karst_release(context, group);
  if (status) return status;
  if (reach < distance && reach < n)
    karst_tell(context, KARST_MESSAGE_WARNING,
               "colours differ at the distance %d instead of %d, for the graph would be too large: fill may couple "
               "rows of one colour",
               reach, distance);
  status = karst_graph_colour(context, &tiles, set->colour, &set->colours);
  if (!status && set->in_order)
    status = karst_graph_colour_in_cycle(context, &tiles, COLOUR_TILES, set->colour, &set->colours);
  karst_graph_destroy(context, &tiles);
  if (status) return status;
  for (karst_index t = hubs; t < set->tiles; t++) set->colour[t] = set->colours++;
  return KARST_SUCCESS;
}
