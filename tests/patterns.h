/* patterns.h - patterns without values, for the tests of symbolic/. */
#ifndef KARST_TESTS_PATTERNS_H
#define KARST_TESTS_PATTERNS_H

#include "tap.h"

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

/* Makes the 7-point stencil on nx x ny x nz cells in natural order, with the diagonal. */
static inline struct pattern pattern_grid(karst_index nx, karst_index ny, karst_index nz)
{
  struct pattern grid = pattern_empty(nx * ny * nz, 7 * (int64_t)nx * ny * nz);
  karst_index k = 0;
  for (karst_index i = 0; i < grid.n; i++) {
    karst_index x = i % nx, y = i / nx % ny, z = i / nx / ny;
    if (z > 0) grid.column[k++] = i - nx * ny;
    if (y > 0) grid.column[k++] = i - nx;
    if (x > 0) grid.column[k++] = i - 1;
    grid.column[k++] = i;
    if (x < nx - 1) grid.column[k++] = i + 1;
    if (y < ny - 1) grid.column[k++] = i + nx;
    if (z < nz - 1) grid.column[k++] = i + nx * ny;
    grid.start[i + 1] = k;
  }
  return grid;
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
