/* patterns.h - patterns without values, for the tests of symbolic/. */
#ifndef KARST_TESTS_SUPPORT_PATTERNS_H
#define KARST_TESTS_SUPPORT_PATTERNS_H

#include "tests/support/tap.h"

#include <stdio.h>
#include <stdlib.h>

struct pattern {
  karst_index n;
  karst_index *start;  /* [n + 1] */
  karst_index *column; /* [start[n]], ascending in each row */
};

static inline void *pattern_memory(int64_t count, size_t size)
{
  void *memory = calloc((size_t)count + 1, size);
  if (!memory) {
    printf("Bail out! the test itself is out of memory\n");
    exit(99);
  }
  return memory;
}

static inline struct pattern pattern_empty(karst_index n, int64_t most_entries)
{
  return (struct pattern){n, pattern_memory((int64_t)n + 1, sizeof(karst_index)),
                          pattern_memory(most_entries, sizeof(karst_index))};
}

static inline void pattern_free(struct pattern *pattern)
{
  free(pattern->start);
  free(pattern->column);
}

/* Couples the cells of a grid in natural order with themselves and those at their faces or, with corners, with all 26
 * around them. */
static inline struct pattern pattern_stencil(const karst_index size[3], bool corners)
{
  const karst_index n = size[0] * size[1] * size[2];
  struct pattern grid = pattern_empty(n, (corners ? 27 : 7) * (int64_t)n);
  karst_index k = 0;
  for (karst_index i = 0; i < n; i++) {
    const karst_index at[3] = {i % size[0], i / size[0] % size[1], i / size[0] / size[1]};
    for (int p = 0; p < 27; p++) {
      const int step[3] = {p % 3 - 1, p / 3 % 3 - 1, p / 9 - 1};
      bool inside = corners || abs(step[0]) + abs(step[1]) + abs(step[2]) <= 1;
      for (int axis = 0; axis < 3; axis++)
        inside = inside && at[axis] + step[axis] >= 0 && at[axis] + step[axis] < size[axis];
      if (inside) grid.column[k++] = i + step[0] + size[0] * (step[1] + size[1] * step[2]);
    }
    grid.start[i + 1] = k;
  }
  return grid;
}

/* Makes the 7-point stencil on nx x ny x nz cells in natural order, with the diagonal. */
static inline struct pattern pattern_grid(karst_index nx, karst_index ny, karst_index nz)
{
  const karst_index size[3] = {nx, ny, nz};
  return pattern_stencil(size, false);
}

/* Makes a pattern whose entries, the diagonal's too, are present with probability density; some rows are empty, and
 * some are nearly full. */
static inline struct pattern pattern_random(karst_index n, double density)
{
  struct pattern random = pattern_empty(n, (int64_t)n * n);
  karst_index k = 0;
  for (karst_index i = 0; i < n; i++) {
    int64_t kind = tap_random_index(12);
    double row_density = kind == 0 ? 0 : kind == 1 && density > 0 ? 0.9 : density;
    for (karst_index j = 0; j < n; j++)
      if (0.5 * (tap_random() + 1) < row_density) random.column[k++] = j;
    random.start[i + 1] = k;
  }
  return random;
}

/* Returns a random permutation (Fisher and Yates), which the caller frees. */
static inline karst_index *pattern_shuffle(karst_index n)
{
  karst_index *permutation = pattern_memory(n, sizeof *permutation);
  for (karst_index i = 0; i < n; i++) {
    karst_index j = (karst_index)tap_random_index((int64_t)i + 1);
    permutation[i] = permutation[j];
    permutation[j] = i;
  }
  return permutation;
}

/* Returns whether row i has an entry in column j. */
static inline bool pattern_has(const struct pattern *pattern, karst_index i, karst_index j)
{
  for (karst_index k = pattern->start[i]; k < pattern->start[i + 1]; k++)
    if (pattern->column[k] == j) return true;
  return false;
}

#endif
