/* tiling.h - declares tiles, which an ordering makes of the block rows besides their order. */
#ifndef KARST_LIB_BACKEND_TILING_H
#define KARST_LIB_BACKEND_TILING_H

#include "lib/base/context.h"

/* Tiles are sets of consecutive block rows of the new order, sorted by their colours. The parts of a triangle in tiles
 * of one colour can be solved at once, unless the factors couple these tiles. */
typedef struct karst_tiling {
  karst_index tiles;  /* 0: the ordering makes no tiles; the other members are then NULL and 0 */
  karst_index *start; /* [tiles + 1] first block row of each tile */
  karst_index colours;
  karst_index *colour_start; /* [colours + 1] first tile of each colour */
} karst_tiling;

/* Releases the arrays of a tiling and makes it zero. */
static inline void karst_tiling_destroy(karst_context *context, karst_tiling *tiling)
{
  karst_release(context, tiling->start);
  karst_release(context, tiling->colour_start);
  *tiling = (karst_tiling){0};
}

#endif
