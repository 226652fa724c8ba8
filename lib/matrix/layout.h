/* layout.h - which scalars of a vector belong to which block row.
 *
 * Every block row has the same number of scalars. All code outside the kernels maps between scalars and block rows with
 * these functions, so that blocks of several sizes would change only this header and the kernels. */
#ifndef KARST_LIB_MATRIX_LAYOUT_H
#define KARST_LIB_MATRIX_LAYOUT_H

#include "karst.h"

typedef struct karst_layout {
  karst_index block_rows;
  int block_size;
} karst_layout;

/* The layout of the smallest number of block rows that holds the given scalars. */
static inline karst_layout karst_layout_over(int64_t scalars, int block_size)
{
  const karst_layout layout = {(karst_index)(scalars / block_size + (scalars % block_size > 0)), block_size};
  return layout;
}

/* The first scalar of a block row, after the last one of the row before; for block_rows: the number of scalars. */
static inline int64_t karst_layout_first(karst_layout layout, karst_index block_row)
{
  return (int64_t)block_row * layout.block_size;
}

static inline int64_t karst_layout_scalars(karst_layout layout)
{
  return karst_layout_first(layout, layout.block_rows);
}

/* The block row of a scalar, 0 <= scalar < karst_layout_scalars. */
static inline karst_index karst_layout_block_row(karst_layout layout, int64_t scalar)
{
  return (karst_index)(scalar / layout.block_size);
}

#endif
