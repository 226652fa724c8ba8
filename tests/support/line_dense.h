/* line_dense.h - the matrices of the preconditioners lines and adi in dense form, from their definition: which
 * couplings are along a line is found here from the cells of the block rows alone. */
#ifndef KARST_TESTS_SUPPORT_LINE_DENSE_H
#define KARST_TESTS_SUPPORT_LINE_DENSE_H

#include "tests/support/fgbilu.h"
#include "tests/support/tap.h"

#include <stdlib.h>

/* The position of a block row along an axis. */
static inline karst_index line_position(const struct fgbilu_grid *grid, const struct fgbilu_system *s, karst_index i,
                                        int axis)
{
  const karst_index *size = grid->size;
  return axis == 0 ? s->cell[i] % size[0] : axis == 1 ? s->cell[i] / size[0] % size[1] : s->cell[i] / size[0] / size[1];
}

/* Returns whether block rows i and j are one, or neighbours along an axis that couple in both directions. */
static inline bool line_joins(const struct fgbilu_grid *grid, const struct fgbilu_system *s, karst_index i,
                              karst_index j, int axis)
{
  for (int other = 0; other < 3; other++) {
    const long long apart = line_position(grid, s, i, other) - (long long)line_position(grid, s, j, other);
    if (i != j && (other == axis ? apart != 1 && apart != -1 : apart != 0)) return false;
  }
  return fgbilu_block(s, i, j) && fgbilu_block(s, j, i);
}

/* 1 for the black lines of an axis. */
static inline int line_colour(const struct fgbilu_grid *grid, const struct fgbilu_system *s, karst_index i, int axis)
{
  long long sum = 0;
  for (int other = 0; other < 3; other++)
    if (other != axis) sum += line_position(grid, s, i, other);
  return (int)(sum % 2);
}

/* Returns the dense matrix, column by column, that has the blocks of A on and along the lines of an axis, and for zebra
 * those of the black rows in the red columns. axis -1: the diagonal blocks alone. The caller frees it. */
static inline double *line_dense(const struct fgbilu_grid *grid, const struct fgbilu_system *s, int axis, bool zebra)
{
  const int b = s->b;
  const int64_t n = (int64_t)s->rows * b;
  double *dense = tap_memory(n * n, sizeof *dense);
  for (int64_t v = 0; v < n * n; v++) dense[v] = 0;
  for (karst_index i = 0; i < s->rows; i++)
    for (karst_index k = s->start[i]; k < s->start[i + 1]; k++) {
      const karst_index j = s->column[k];
      const bool below = zebra && line_colour(grid, s, i, axis) == 1 && line_colour(grid, s, j, axis) == 0;
      if (!below && !(axis < 0 ? i == j : line_joins(grid, s, i, j, axis))) continue;
      for (int c = 0; c < b; c++)
        for (int r = 0; r < b; r++)
          dense[((int64_t)j * b + c) * n + (int64_t)i * b + r] = s->value[((int64_t)k * b + c) * b + r];
    }
  return dense;
}

#endif
