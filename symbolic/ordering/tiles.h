/* tiles.h - declares the parts that the orderings by colours and tiles are made of. */
#ifndef KARST_SYMBOLIC_ORDERING_TILES_H
#define KARST_SYMBOLIC_ORDERING_TILES_H

#include "symbolic/ordering/colouring.h"
#include "lib/grid/grid.h"

/* Rows in tiles, and tiles in colours, before they are sorted. Tiles without rows are allowed. */
typedef struct karst_tile_set {
  karst_index tiles, colours;
  karst_index *tile;     /* [block_rows] the tile of each row, -1 while it has none */
  karst_index *colour;   /* [tiles] the colour of each tile */
  karst_index *sequence; /* [block_rows] the rows in the order that they have inside tiles; NULL: by number */
  karst_graph near;      /* tiles with coupled rows, of those that were joined; or empty */
  float *ahead;          /* of each of its edges (t,u): the strength of couplings whose row of t is the first, less that
                          * of the others; or NULL */
} karst_tile_set;

/* Returns the least number of tiles of a colour for which more colours than the fewest are used, to save iterations.
 * touch: colours need to differ only between boxes with a common face. */
karst_index karst_tile_set_least(bool host, bool touch);

/* Returns how many rows a tile may have: the setting, or else the number that suits the host, or a GPU and the block
 * size. */
karst_index karst_tile_set_size(const karst_ordering_pattern *pattern, bool host);

void karst_tile_set_destroy(karst_context *context, karst_tile_set *set);

/* Sorts tiles by colour and rows by tile: permutation and tiling as karst_ordering_ops has them. */
karst_status karst_tiling_sort(karst_context *context, karst_index rows, const karst_tile_set *set,
                               karst_index *permutation, karst_tiling *tiling);

/* Moves the rows with hub_degree neighbours or more to tiles of their own, of at most most rows, behind the others.
 * *first: the first of these tiles. */
void karst_tile_set_put_hubs(const karst_graph *graph, karst_index hub_degree, karst_index most, karst_tile_set *set,
                             karst_index *first);

/* Colours the tiles before number hubs greedily, by the graph of tiles at a distance, and gives each of the others a
 * further colour of its own. Colours keep the order of coupled rows as far as set->ahead is known. A warning says if
 * the distance had to be lowered. */
karst_status karst_tile_set_colour(karst_context *context, const karst_graph *graph, karst_index hubs, int distance,
                                   karst_tile_set *set);

/* Gives tiles other colours of set->colours so that little strength of couplings between them is reversed. apart: the
 * graph of tiles at a distance, whose neighbours have different colours before and after. */
karst_status karst_tile_set_settle(karst_context *context, const karst_graph *apart, karst_tile_set *set);

/* Computes the strength of the edges of a pattern's graph, 1/30 to 1 in multiples of 1/1024: for each entry of
 * graph->neighbour that of both couplings (lib/backend/coupling.h), the mean of its shares of the strongest ones of
 * both rows; 1 if the pattern has no matrix, or one that lacks a regular diagonal block. source[k]: which entry of the
 * matrix entry k of the pattern is; NULL: k. *strength: [graph->start[vertices]], allocated here. */
karst_status karst_strength_of_edges(const karst_ordering_pattern *pattern, const karst_graph *graph,
                                     const karst_index *source, float **strength);

/* Estimates strength[axis], the mean strength of couplings along each axis of a grid, from rows spread over the matrix;
 * 1 without such couplings or without a matrix. */
karst_status karst_strength_along_axes(const karst_ordering_pattern *pattern, const karst_grid *grid,
                                       double strength[3]);

/* Returns the matrix, without values, whose pattern and grid are those of a pattern. It owns nothing. */
karst_matrix karst_pattern_view(const karst_ordering_pattern *pattern);

/* Finds the grid of the pattern: the matrix's own, which need not fit, or one found from its pattern. *stencil: a
 * karst_stencil, or 0 if the pattern does not fit. Returns false without a grid. */
bool karst_tiles_find_grid(const karst_ordering_pattern *pattern, karst_grid *grid, int *stencil);

/* A grid cut into boxes, which are numbered as cells are. */
typedef struct karst_tile_boxes {
  const karst_grid *grid;
  karst_index side[3], pieces[3]; /* cells along an axis of a box, and boxes; the last one may be shorter */
  int strong;                     /* the axis along which couplings are much stronger than along the others; -1: none */
  karst_index colours;
  karst_index factor[3]; /* box (x, y, z) has the colour (factor . (x, y, z)) mod colours; all 0: see period */
  karst_index period[3]; /* otherwise the colours repeat along each axis after this many boxes */
} karst_tile_boxes;

void karst_tile_boxes_cut(const karst_grid *grid, const karst_index side[3], karst_tile_boxes *boxes);

/* Cuts a grid into boxes of at most most cells, which are long where couplings are strong. */
karst_status karst_tile_boxes_choose(const karst_ordering_pattern *pattern, const karst_grid *grid, karst_index most,
                                     karst_tile_boxes *boxes);

/* Chooses the colours of boxes by their positions, so that no path of at most distance couplings of the stencil joins
 * two of one colour. It takes more than the fewest colours, to save iterations, if karst_tile_set_least boxes remain
 * for each; in a plane of a 7-point grid with fill, if 10 do. */
void karst_tile_boxes_colour(karst_stencil stencil, int distance, bool host, karst_tile_boxes *boxes);

/* Sorts boxes by colour and rows by box and cell: permutation and tiling as karst_ordering_ops has them. */
karst_status karst_tile_boxes_sort(karst_context *context, karst_index rows, const karst_tile_boxes *boxes,
                                   karst_index *permutation, karst_tiling *tiling);

/* Cuts a grid that the pattern does not fit into boxes of at most most cells, which get no colours. */
karst_status karst_tile_set_cut(const karst_ordering_pattern *pattern, const karst_grid *grid, karst_index most,
                                karst_tile_set *set);

/* The pattern that tiles grow on: that of the matrix, or the one in the order of RCM. */
typedef struct karst_ground {
  karst_ordering_pattern pattern;
  karst_index *sequence; /* [block_rows] the rows of the matrix in the order of the pattern; NULL: they have it
                          * already */
  karst_index *row_start, *column, *source; /* as karst_pattern_permute makes them, or NULL */
} karst_ground;

/* Chooses the order of RCM if in that of the pattern many rows are coupled to rows on one side of them only, and in
 * RCM at most half as many. */
karst_status karst_ground_choose(const karst_ordering_pattern *pattern, karst_ground *ground);
void karst_ground_destroy(karst_ground *ground);

/* Joins rows into tiles of at most most rows along strong couplings. strength, which is only read: see above. Rows with
 * hub_degree neighbours or more get no tile. */
karst_status karst_tile_set_join(karst_context *context, const karst_graph *graph, float *strength,
                                 karst_index hub_degree, karst_index most, karst_tile_set *set);

#endif
