/* tiling.h - declares tiles: what an ordering has made of the block rows besides their order. */
#ifndef KARST_LIB_BACKEND_TILING_H
#define KARST_LIB_BACKEND_TILING_H

#include "lib/base/context.h"

/* The tiles that an ordering has made, sets of consecutive block rows of the new order, sorted by their colours: what
 * tiles of one colour have of a triangle can be solved at once, as far as the factors do not tie them together. */
typedef struct karst_tiling {
  karst_index tiles;  /* 0: the ordering makes none, and the rest is NULL and 0 */
  karst_index *start; /* [tiles + 1] first block row of each tile */
  karst_index colours;
  karst_index *colour_start; /* [colours + 1] first tile of each colour */
} karst_tiling;

/* Whether a GPU's sweeps by tiles are faster than level sets in the same order, where rows have so many neighbours in L
 * and U together. A warp that solves a tile of few rows with many neighbours goes from row to row, and its lanes share
 * what one row has; level sets have rows of many tiles under way. Measured on an H200, M^-1 r in tiles, by tiles and by
 * level sets: 0.086 and 0.153 ms for 120^3, b = 1, k = 0, with 6 neighbours, 0.192 and 0.260 for k = 1, with 12, 0.494
 * and 0.423 for k = 2, with 24 and tiles of 27, but 0.66 and 0.87 for 100^3, k = 3, with tiles of 64; 27 points on 64^3
 * 0.122 and 0.078, with fill 1.31 and 0.16; bcsstk16 3.74 and 0.19. */
static inline bool karst_tiles_suit_sweeps(int64_t rows, int64_t tiles, int64_t neighbours)
{
  enum { FEW = 16, SOME = 64, LARGE = 48 };
  return tiles <= rows / 2 && (neighbours <= FEW * rows || (neighbours <= SOME * rows && rows >= LARGE * tiles));
}

/* Gives back what a tiling holds, and makes it zero. */
static inline void karst_tiling_destroy(karst_context *context, karst_tiling *tiling)
{
  karst_release(context, tiling->start);
  karst_release(context, tiling->colour_start);
  *tiling = (karst_tiling){0};
}

#endif
