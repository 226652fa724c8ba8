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
  bool in_order;         /* whether colours are to keep the order of the tile numbers */
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

/* Gives the rows from hub_degree neighbours on, which lose the tile that they have, tiles of at most most rows of their
 * own, behind the others. *first: the first of these tiles. */
void karst_tile_set_put_hubs(const karst_graph *graph, karst_index hub_degree, karst_index most, karst_tile_set *set,
                             karst_index *first);

/* Colours the tiles greedily: those before number hubs by the graph of tiles at a distance, and each behind it with a
 * colour of its own, behind the others. Says where the distance has to be lowered. */
karst_status karst_tile_set_colour(karst_context *context, const karst_graph *graph, karst_index hubs, int distance,
                                   karst_tile_set *set);

/* Computes how strong the edges of the graph of a pattern are: for each entry of graph->neighbour the mean of how
 * strong both couplings are, each relative to the strongest one of its block row; 1 where the pattern has no matrix.
 * source[k]: which entry of the matrix entry k of the pattern is; NULL: k. *strength: [graph->start[vertices]],
 * allocated here. */
karst_status karst_strength_of_edges(const karst_ordering_pattern *pattern, const karst_graph *graph,
                                     const karst_index *source, float **strength);

/* Estimates strength[axis]: how strong couplings along each axis of a grid are, on average over rows that are spread
 * over the matrix; 1 where there are none, and where the pattern has no matrix. */
karst_status karst_strength_along_axes(const karst_ordering_pattern *pattern, const karst_grid *grid,
                                       double strength[3]);

/* Returns the matrix, without values, whose pattern and grid are those of a pattern. It owns nothing. */
karst_matrix karst_pattern_view(const karst_ordering_pattern *pattern);

/* Finds the grid of the pattern: the matrix's own, which need not fit, or one found from its pattern. *stencil: a
 * karst_stencil, or 0 if the pattern does not fit. Returns false without a grid. */
bool karst_tiles_find_grid(const karst_ordering_pattern *pattern, karst_grid *grid, int *stencil);

/* A grid cut into boxes, which have numbers as cells have. */
typedef struct karst_tile_boxes {
  const karst_grid *grid;
  karst_index side[3], pieces[3]; /* cells along an axis of a box, and boxes; the last one may be shorter */
  int strong;                     /* the axis along which couplings are much stronger than along the others; -1: none */
  karst_index colours;
  karst_index factor[3]; /* box (x, y, z) has the colour (factor . (x, y, z)) mod colours; all 0: as period has it */
  karst_index period[3]; /* the colours are those of a box of so many boxes, which repeats */
} karst_tile_boxes;

void karst_tile_boxes_cut(const karst_grid *grid, const karst_index side[3], karst_tile_boxes *boxes);

/* Cuts a grid into boxes of at most most cells, which are long where couplings are strong. */
karst_status karst_tile_boxes_choose(const karst_ordering_pattern *pattern, const karst_grid *grid, karst_index most,
                                     karst_tile_boxes *boxes);

/* Chooses the colours of boxes by where they are, such that no path of at most distance couplings of the stencil joins
 * two of one colour. Where there are many boxes it takes more colours than the fewest: six instead of four in a plane,
 * with fill in a 7-point grid; others where as many boxes for each are left as the host, or else a GPU, is to have. */
void karst_tile_boxes_colour(karst_stencil stencil, int distance, bool host, karst_tile_boxes *boxes);

/* Sorts boxes by colour and rows by box and cell: permutation and tiling as karst_ordering_ops has them. */
karst_status karst_tile_boxes_sort(karst_context *context, karst_index rows, const karst_tile_boxes *boxes,
                                   karst_index *permutation, karst_tiling *tiling);

/* Cuts a grid that the pattern does not fit into boxes of at most most cells, which get no colours. */
karst_status karst_tile_set_cut(const karst_ordering_pattern *pattern, const karst_grid *grid, karst_index most,
                                karst_tile_set *set);

/* Estimates from some rows the average distance of the rows of an entry's two ends, in a large pattern. */
double karst_order_reach(karst_index rows, const karst_index *row_start, const karst_index *column);

/* The pattern that tiles grow on: that of the matrix, or the one in the order of RCM. */
typedef struct karst_ground {
  karst_ordering_pattern pattern;
  karst_index *sequence; /* [block_rows] the rows of the matrix in its order; NULL: they have it already */
  karst_index *row_start, *column, *source; /* as karst_pattern_permute makes them, or NULL */
} karst_ground;

/* Chooses the order of RCM where that brings coupled rows much nearer to each other. */
karst_status karst_ground_choose(const karst_ordering_pattern *pattern, karst_ground *ground);
void karst_ground_destroy(karst_ground *ground);

/* Grows tiles of at most most rows along strong couplings. Rows from hub_degree neighbours on stay without a tile. */
karst_status karst_tile_set_grow(karst_context *context, const karst_graph *graph, const float *strength,
                                 karst_index hub_degree, karst_index most, karst_tile_set *set);

#endif
