/* grids.h - checks the grid of a matrix. */
#ifndef KARST_TESTS_SUPPORT_GRIDS_H
#define KARST_TESTS_SUPPORT_GRIDS_H

#include "karst.h"

#include <stdbool.h>
#include <string.h>

/* Whether the grid has these sizes and this map, [block rows of A]; NULL: no map. */
static inline bool has_grid(const karst_matrix *A, karst_index nx, karst_index ny, karst_index nz,
                            const karst_index *cell)
{
  karst_grid grid;
  if (karst_matrix_get_grid(A, &grid)) return false;
  bool same = grid.size[0] == nx && grid.size[1] == ny && grid.size[2] == nz && !grid.cell == !cell;
  return same && (!cell || memcmp(grid.cell, cell, (size_t)karst_matrix_block_rows(A) * sizeof *cell) == 0);
}

#endif
