/* patterns.c - patterns without values, and matrices on them; see patterns.h. */
#include "tests/support/patterns.h"

#include <string.h>

struct pattern pattern_empty(karst_index n, int64_t most_entries)
{
  return (struct pattern){n, tap_memory((int64_t)n + 1, sizeof(karst_index)),
                          tap_memory(most_entries, sizeof(karst_index))};
}

void pattern_free(struct pattern *pattern)
{
  free(pattern->start);
  free(pattern->column);
}

struct pattern pattern_stencil(const karst_index size[3], bool corners)
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

struct pattern pattern_grid(karst_index nx, karst_index ny, karst_index nz)
{
  const karst_index size[3] = {nx, ny, nz};
  return pattern_stencil(size, false);
}

struct pattern pattern_arrow(karst_index n)
{
  struct pattern arrow = pattern_empty(n, 3 * (int64_t)n);
  karst_index k = 0;
  for (karst_index i = 0; i < n; i++) {
    arrow.column[k++] = 0;
    if (i > 0) arrow.column[k++] = i;
    for (karst_index j = 1; i == 0 && j < n; j++) arrow.column[k++] = j;
    arrow.start[i + 1] = k;
  }
  return arrow;
}

int *pattern_fill_levels(const karst_matrix *A)
{
  const int64_t n = karst_matrix_block_rows(A);
  const karst_index *start = karst_matrix_row_start(A), *column = karst_matrix_column(A);
  int *level = tap_memory(n * n, sizeof *level);
  for (int64_t i = 0; i < n * n; i++) level[i] = 1 << 20;
  for (int64_t i = 0; i < n; i++)
    for (karst_index k = start[i]; k < start[i + 1]; k++) level[i * n + column[k]] = 0;
  for (int64_t i = 0; i < n; i++)
    for (int64_t p = 0; p < i; p++)
      for (int64_t j = p + 1; j < n; j++) {
        const int path = level[i * n + p] + level[p * n + j] + 1;
        if (path < level[i * n + j]) level[i * n + j] = path;
      }
  return level;
}

struct pattern pattern_random(karst_index n, double density)
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

karst_index *pattern_shuffle(karst_index n)
{
  karst_index *permutation = tap_memory(n, sizeof *permutation);
  for (karst_index i = 0; i < n; i++) {
    karst_index j = (karst_index)tap_random_index((int64_t)i + 1);
    permutation[i] = permutation[j];
    permutation[j] = i;
  }
  return permutation;
}

bool pattern_has(const struct pattern *pattern, karst_index i, karst_index j)
{
  for (karst_index k = pattern->start[i]; k < pattern->start[i + 1]; k++)
    if (pattern->column[k] == j) return true;
  return false;
}

struct pattern pattern_with_diagonal(const struct pattern *pattern)
{
  struct pattern full = pattern_empty(pattern->n, (int64_t)pattern->start[pattern->n] + pattern->n);
  karst_index end = 0;
  for (karst_index i = 0; i < pattern->n; i++) {
    karst_index k = pattern->start[i];
    for (; k < pattern->start[i + 1] && pattern->column[k] < i; k++) full.column[end++] = pattern->column[k];
    full.column[end++] = i;
    if (k < pattern->start[i + 1] && pattern->column[k] == i) k++;
    for (; k < pattern->start[i + 1]; k++) full.column[end++] = pattern->column[k];
    full.start[i + 1] = end;
  }
  return full;
}

double *pattern_values(const struct pattern *pattern, int b, double dominance)
{
  const int64_t bb = (int64_t)b * b;
  double *value = tap_memory(pattern->start[pattern->n] * bb, sizeof *value);
  for (karst_index i = 0; i < pattern->n; i++) {
    const double heavy = dominance * b * (double)(pattern->start[i + 1] - pattern->start[i]);
    for (karst_index k = pattern->start[i]; k < pattern->start[i + 1]; k++)
      for (int64_t v = 0; v < bb; v++)
        value[k * bb + v] = tap_random() + (pattern->column[k] == i && v % (b + 1) == 0 ? heavy : 0);
  }
  return value;
}

karst_matrix *pattern_matrix(karst_context *context, const struct pattern *pattern, int b, const double *value)
{
  karst_matrix *A;
  tap_need(context, karst_matrix_create(context, pattern->n, b, pattern->start, pattern->column, value, KARST_COPY, &A),
           "matrix");
  return A;
}

karst_matrix *pattern_random_matrix(karst_context *context, const struct pattern *pattern, int b, double dominance)
{
  struct pattern full = pattern_with_diagonal(pattern);
  double *value = pattern_values(&full, b, dominance);
  karst_matrix *A = pattern_matrix(context, &full, b, value);
  pattern_free(&full);
  free(value);
  return A;
}

karst_matrix *pattern_arrow_matrix(karst_context *context, karst_index n, int b)
{
  struct pattern arrow = pattern_arrow(n);
  karst_matrix *A = pattern_random_matrix(context, &arrow, b, 2);
  pattern_free(&arrow);
  return A;
}
