/* tiling.c - colours tiles, and sorts rows by tile and tiles by colour. */
#include "config.h"

#include "lib/base/threads.h"
#include "symbolic/ordering/tiles.h"

static const char what[] = "the tiles of an ordering";

void karst_tile_set_destroy(karst_context *context, karst_tile_set *set)
{
  karst_release(context, set->tile);
  karst_release(context, set->colour);
  karst_release(context, set->sequence);
  karst_release(context, set->ahead);
  karst_graph_destroy(context, &set->near);
  *set = (karst_tile_set){0};
}

/* Sorts the tiles that have rows by colour. tile: [tiles] all tiles sorted by colour, on return those with rows;
 * colour: [colours + 1] where each colour begins in it; first: [tiles + 1] the places of rows sorted by tile. Fills the
 * tiling. */
static void sort_tiles(const karst_tile_set *set, const karst_index *colour, const karst_index *first,
                       karst_index *tile, karst_tiling *tiling)
{
  tiling->colour_start[0] = tiling->start[0] = 0;
  for (karst_index c = 0; c < set->colours; c++) {
    const karst_index before = tiling->tiles;
    for (karst_index k = colour[c]; k < colour[c + 1]; k++) {
      const karst_index t = tile[k], rows = first[t + 1] - first[t];
      if (rows == 0) continue;
      tile[tiling->tiles] = t;
      tiling->start[tiling->tiles + 1] = tiling->start[tiling->tiles] + rows;
      tiling->tiles++;
    }
    if (tiling->tiles > before) tiling->colour_start[++tiling->colours] = tiling->tiles;
  }
}

/* The tile of each row in the order inside tiles. *of: allocated here, or the set's own. */
static karst_status follow_sequence(karst_context *context, karst_index rows, const karst_tile_set *set,
                                    karst_index **of)
{
  *of = set->tile;
  if (!set->sequence) return KARST_SUCCESS;
  karst_status status = karst_allocate(context, of, rows, sizeof **of, what);
  for (karst_index i = 0; i < rows && !status; i++) (*of)[i] = set->tile[set->sequence[i]];
  return status;
}

karst_status karst_tiling_sort(karst_context *context, karst_index rows, const karst_tile_set *set,
                               karst_index *permutation, karst_tiling *tiling)
{
  const int64_t tiles = set->tiles, colours = set->colours;
  karst_index *first = NULL, *member = NULL, *colour = NULL, *tile = NULL, *of = NULL;
  karst_status status;
  if ((status = follow_sequence(context, rows, set, &of)) ||
      (status = karst_allocate(context, &first, tiles + 1, sizeof *first, what)) ||
      (status = karst_allocate(context, &member, rows, sizeof *member, what)) ||
      (status = karst_allocate(context, &colour, colours + 1, sizeof *colour, what)) ||
      (status = karst_allocate(context, &tile, tiles, sizeof *tile, what)) ||
      (status = karst_allocate(context, &tiling->start, tiles + 1, sizeof *tiling->start, what)) ||
      (status = karst_allocate(context, &tiling->colour_start, colours + 1, sizeof *tiling->colour_start, what)) ||
      (status = karst_list_groups(context, rows, of, set->tiles, first, member)) ||
      (status = karst_list_groups(context, set->tiles, set->colour, set->colours, colour, tile)))
    goto finish;
  sort_tiles(set, colour, first, tile, tiling);
  karst_piece piece = karst_begin(context, KARST_KIND_ONCE, rows);
#pragma omp parallel num_threads(piece.threads)
  {
    const karst_part part = karst_part_begin(&piece, tiling->tiles);
    for (karst_index t = part.first; t < part.last; t++)
      for (karst_index i = tiling->start[t], k = first[tile[t]]; i < tiling->start[t + 1]; i++, k++)
        permutation[i] = set->sequence ? set->sequence[member[k]] : member[k];
    karst_part_end(&piece, &part);
  }
  karst_end(context, &piece);

finish:
  karst_release(context, first);
  karst_release(context, member);
  karst_release(context, colour);
  karst_release(context, tile);
  if (of != set->tile) karst_release(context, of);
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

/* A GPU waits for the last tiles of each colour. With fill twelve colours instead of eight cost a quarter more time on
 * an H200, and without it four instead of two saved 3 to 7 %. */
karst_index karst_tile_set_least(bool host, bool touch)
{
  enum { OF_PROCESSOR = 32, OF_GPU = 1000 };
  return host ? OF_PROCESSOR : touch ? OF_GPU : KARST_INDEX_MAX;
}

/* Makes the graph of the tiles before number hubs at a distance. */
static karst_status make_graph(karst_context *context, const karst_graph *graph, karst_index hubs, int distance,
                               const karst_tile_set *set, karst_graph *tiles)
{
  const karst_index n = graph->vertices;
  int reach = distance;
  karst_index *group;
  karst_status status = karst_allocate(context, &group, n, sizeof *group, what);
  if (status) return status;
  for (karst_index i = 0; i < n; i++) group[i] = set->tile[i] < hubs ? set->tile[i] : -1;
  status = karst_graph_of_groups(context, graph, hubs, group, &reach, tiles);
  if (!status && reach < distance && reach < n)
    karst_notify(context, KARST_MESSAGE_WARNING,
                 "colours differ at the distance %d instead of %d, for the graph would be too large: fill may couple "
                 "rows of one colour",
                 reach, distance);
  karst_release(context, group);
  return status;
}

karst_status karst_tile_set_colour(karst_context *context, const karst_graph *graph, karst_index hubs, int distance,
                                   karst_tile_set *set)
{
  enum { LEAST = 32 }; /* tiles of a colour for which there are more colours than the fewest */
  const bool made = distance == 1 && set->ahead; /* the graph is there */
  karst_graph tiles = {0};
  karst_status status = karst_allocate(context, &set->colour, set->tiles, sizeof *set->colour, what);
  if (!status && !made) status = make_graph(context, graph, hubs, distance, set, &tiles);
  const karst_graph *apart = made ? &set->near : &tiles;
  if (!status) status = karst_graph_colour(context, apart, set->colour, &set->colours);
  const karst_index fewest = set->colours;
  if (!status && set->ahead) status = karst_graph_colour_in_cycle(context, apart, LEAST, set->colour, &set->colours);
  if (set->ahead && set->colours == fewest && hubs / LEAST > fewest) set->colours++; /* for the search, without cycle */
  if (!status && set->ahead) status = karst_tile_set_settle(context, apart, set);
  karst_graph_destroy(context, &tiles);
  if (status) return status;
  for (karst_index t = hubs; t < set->tiles; t++) set->colour[t] = set->colours++;
  return KARST_SUCCESS;
}
