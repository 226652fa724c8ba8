/* tiles.c - the ordering by tiles (Iwashita, Nakashima and Takahashi, "Algebraic block multi-color ordering method for
 * parallel multi-threaded sparse triangular solver in ICCG method", IPDPS 2012).
 *
 * Rows are gathered into tiles. Tiles are coloured so that in an incomplete factor, tiles of one colour do not depend
 * on each other. A tile is a box of cells if the matrix has a grid, or its pattern shows one; otherwise it grows along
 * strong couplings. Inside a tile rows keep their order, or that of the cells. Level sets would give the same factors,
 * because they change only the order of independent rows, and a kernel groups rows into its own steps anyway. Grown
 * tiles keep the order of the rows if it is a good one, or else that of RCM (ground.c). A grid given by the caller may
 * lack the couplings of wells; one that lacks more is not used.
 *
 * Rows with many times the usual number of neighbours come last, in tiles of their own with a colour each: no fill goes
 * through them to other rows then. */
#include "config.h"

#include "lib/grid/grid.h"
#include "lib/base/spread.h"
#include "symbolic/ordering/tiles.h"

karst_matrix karst_pattern_view(const karst_ordering_pattern *pattern)
{
  const karst_matrix *A = pattern->matrix;
  const bool of_matrix = A && pattern->column == A->column;
  return (karst_matrix){.context = pattern->context,
                        .block_rows = pattern->block_rows,
                        .row_start = (karst_index *)pattern->row_start,
                        .column = (karst_index *)pattern->column,
                        .device_row_start = of_matrix ? A->device_row_start : NULL,
                        .device_column = of_matrix ? A->device_column : NULL,
                        .grid = pattern->grid ? *pattern->grid : (karst_grid){{0, 0, 0}, NULL}};
}

bool karst_tiles_find_grid(const karst_ordering_pattern *pattern, karst_grid *grid, int *stencil)
{
  const karst_matrix shape = karst_pattern_view(pattern);
  karst_stencil found;
  karst_index misfit[2];
  *stencil = 0;
  if (pattern->grid)
    *grid = *pattern->grid;
  else if (!karst_grid_search(&shape, grid))
    return false;
  if (karst_grid_fits(&shape, grid, &found, misfit)) *stencil = (int)found;
  return true;
}

/* An equal share of the rows for each tile, between both bounds. */
static karst_index share_rows(karst_index rows, karst_index tiles, karst_index least, karst_index most)
{
  const karst_index share = rows / tiles;
  return share < least ? least : share < most ? share : most;
}

/* On a GPU tiles are as small as iterations allow, so that warps have several rows for each step, and many tiles find
 * room in a multiprocessor. If tiles are large, rows of many neighbours make many steps of few rows.
 *
 * On a CPU a thread takes a tile as a run of rows. Larger tiles cost fewer iterations of methods for unsymmetric
 * systems and are as fast; there are enough for the threads of a processor in each of eight colours. The number of
 * threads itself must not matter, because results do not depend on it. */
karst_index karst_tile_set_size(const karst_ordering_pattern *pattern, bool host)
{
  enum { SMALL = 8, LEAST = 32, MEDIUM = 64, MOST = 128, TILES = 128, LONG = 16 };
  enum { HOST_LEAST = 128, HOST_MOST = 1024, HOST_TILES = 256 };
  const karst_index n = pattern->block_rows;
  const int b = pattern->matrix ? pattern->matrix->block_size : 1;
  if (pattern->settings.tile_size > 0) return pattern->settings.tile_size;
  if (host) return share_rows(n, HOST_TILES, HOST_LEAST, HOST_MOST);
  if (n > 0 && pattern->row_start[n] / n >= LONG) return SMALL;
  if (b > 3 || pattern->distance > 1) return LEAST;
  return b > 1 ? MEDIUM : share_rows(n, TILES, LEAST, MOST);
}

/* Makes tiles on a graph: boxes of the grid, or tiles that grow if grid is NULL. source: see
 * karst_strength_of_edges. */
static karst_status make_by_graph(const karst_ordering_pattern *pattern, const karst_grid *grid,
                                  const karst_index *source, karst_index most, karst_tile_set *set)
{
  karst_context *context = pattern->context;
  karst_graph graph;
  float *strength = NULL;
  karst_index hubs = 0;
  karst_status status = karst_graph_of_pattern(pattern, &graph);
  if (status) return status;
  const karst_index hub_degree = karst_graph_hub_degree(&graph);
  if (grid)
    status = karst_tile_set_cut(pattern, grid, most, set);
  else if (!(status = karst_strength_of_edges(pattern, &graph, source, &strength)))
    status = karst_tile_set_join(context, &graph, strength, hub_degree, most, set);
  if (!status) {
    karst_tile_set_put_hubs(&graph, hub_degree, most, set, &hubs);
    status = karst_tile_set_colour(context, &graph, hubs, pattern->distance > 1 ? pattern->distance : 1, set);
  }
  karst_release(context, strength);
  karst_graph_destroy(context, &graph);
  return status;
}

/* Makes and sorts tiles that grow. Fill makes them no smaller, for small ones lose iterations. */
static karst_status order_grown(const karst_ordering_pattern *pattern, karst_index *permutation, karst_tiling *tiling)
{
  karst_ordering_pattern unfilled = *pattern;
  unfilled.distance = 1;
  const karst_index most = karst_tile_set_size(&unfilled, karst_context_is_host(pattern->context));
  karst_ground ground;
  karst_tile_set set = {0};
  karst_status status = karst_ground_choose(pattern, &ground);
  if (!status) status = make_by_graph(&ground.pattern, NULL, ground.source, most, &set);
  if (!status) status = karst_tiling_sort(pattern->context, pattern->block_rows, &set, permutation, tiling);
  for (karst_index i = 0; i < pattern->block_rows && !status && ground.sequence; i++)
    permutation[i] = ground.sequence[permutation[i]];
  karst_tile_set_destroy(pattern->context, &set);
  karst_ground_destroy(&ground);
  return status;
}

/* Makes and sorts boxes of a grid. */
static karst_status order_boxes(const karst_ordering_pattern *pattern, const karst_grid *grid, karst_stencil stencil,
                                karst_index most, karst_index *permutation, karst_tiling *tiling)
{
  karst_tile_boxes boxes;
  karst_status status = karst_tile_boxes_choose(pattern, grid, most, &boxes);
  if (status) return status;
  karst_tile_boxes_colour(stencil, pattern->distance > 1 ? pattern->distance : 1,
                          karst_context_is_host(pattern->context), &boxes);
  return karst_tile_boxes_sort(pattern->context, pattern->block_rows, &boxes, permutation, tiling);
}

/* The distance in cells of the ends of a coupling, along the axis where it is largest. */
static karst_index count_apart(const karst_grid *grid, karst_index i, karst_index j)
{
  const karst_cell a = karst_grid_cell(grid->size, grid->cell ? grid->cell[i] : i);
  const karst_cell b = karst_grid_cell(grid->size, grid->cell ? grid->cell[j] : j);
  karst_index most = 0;
  for (int axis = 0; axis < 3; axis++) {
    const karst_index apart = a.position[axis] - b.position[axis];
    if (apart > most || -apart > most) most = apart < 0 ? -apart : apart;
  }
  return most;
}

/* Whether a grid is usable although some couplings do not fit it, as those of wells or of wide stencils: most of the
 * sampled rows couple only to near cells. */
static bool is_grid_usable(const karst_ordering_pattern *pattern, const karst_grid *grid)
{
  enum { SAMPLES = 2048, NEAR = 3, TENTH = 10 };
  const karst_index n = pattern->block_rows, samples = n < SAMPLES ? n : SAMPLES;
  karst_index misfits = 0;
  for (karst_index s = 0; s < samples; s++) {
    const karst_index i = karst_spread_row(n, SAMPLES, s);
    karst_index k = pattern->row_start[i];
    while (k < pattern->row_start[i + 1] && count_apart(grid, i, pattern->column[k]) <= NEAR) k++;
    misfits += k < pattern->row_start[i + 1];
  }
  return TENTH * (misfits - 1) <= samples;
}

karst_status karst_order_tiles(const karst_ordering_pattern *pattern, karst_index *permutation, karst_tiling *tiling)
{
  const karst_index most = karst_tile_set_size(pattern, karst_context_is_host(pattern->context));
  karst_tile_set set = {0};
  karst_grid grid;
  int stencil;
  const bool grown = pattern->settings.tile_shape == KARST_TILES_GROWN;
  if (grown || !karst_tiles_find_grid(pattern, &grid, &stencil)) return order_grown(pattern, permutation, tiling);
  if (stencil) return order_boxes(pattern, &grid, (karst_stencil)stencil, most, permutation, tiling);
  if (!is_grid_usable(pattern, &grid)) {
    karst_ordering_pattern without = *pattern;
    without.grid = NULL;
    karst_notify(pattern->context, KARST_MESSAGE_WARNING,
                 "the couplings are not those of the grid %lldx%lldx%lld, so tiles do not use it",
                 (long long)grid.size[0], (long long)grid.size[1], (long long)grid.size[2]);
    return karst_order_tiles(&without, permutation, tiling);
  }
  karst_status status = make_by_graph(pattern, &grid, NULL, most, &set);
  if (!status) status = karst_tiling_sort(pattern->context, pattern->block_rows, &set, permutation, tiling);
  karst_tile_set_destroy(pattern->context, &set);
  return status;
}
