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

/* Gives back what a tiling holds, and makes it zero. */
static inline void karst_tiling_destroy(karst_context *context, karst_tiling *tiling)
{
  karst_release(context, tiling->start);
  karst_release(context, tiling->colour_start);
  *tiling = (karst_tiling){0};
}

#endif
