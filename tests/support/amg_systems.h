/* amg_systems.h - matrices of one unknown a cell in host memory, for tests that give the same values to two devices. */
#ifndef KARST_TESTS_SUPPORT_AMG_SYSTEMS_H
#define KARST_TESTS_SUPPORT_AMG_SYSTEMS_H

#include "tests/support/patterns.h"
#include "tests/support/problem.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* A matrix in host memory. */
struct copy {
  karst_index rows;
  int64_t entries;
  karst_index *start, *column;
  double *value;
};

static inline void copy_free(struct copy *copy)
{
  free(copy->start);
  free(copy->column);
  free(copy->value);
}

static inline struct copy copy_of(karst_matrix *matrix)
{
  const karst_index n = karst_matrix_block_rows(matrix);
  const int64_t entries = karst_matrix_blocks(matrix);
  struct copy copy = {n, entries, tap_memory((int64_t)n + 1, sizeof(karst_index)),
                      tap_memory(entries + 1, sizeof(karst_index)), values_on_host(matrix)};
  memcpy(copy.start, karst_matrix_row_start(matrix), ((size_t)n + 1) * sizeof *copy.start);
  memcpy(copy.column, karst_matrix_column(matrix), (size_t)entries * sizeof *copy.column);
  karst_matrix_destroy(matrix);
  return copy;
}

static inline struct copy copy_empty(karst_index n, int64_t most)
{
  return (struct copy){n, 0, tap_memory((int64_t)n + 1, sizeof(karst_index)), tap_memory(most, sizeof(karst_index)),
                       tap_memory(most, sizeof(double))};
}

static inline void copy_add(struct copy *A, karst_index i, karst_index j, double value)
{
  A->column[A->entries] = j;
  A->value[A->entries++] = value;
  A->start[i + 1] = (karst_index)A->entries;
}

/* Rows of random length, some without any coupling or with a missing diagonal; values over four decades, a few with
 * the sign of the diagonal, which is negative in some rows and outweighs the others. */
static inline struct copy random_rows(karst_index n)
{
  struct copy A = copy_empty(n, (int64_t)n * n);
  for (karst_index i = 0; i < n; i++) {
    const double density = fabs(tap_random()) * 24 / (double)n, sign = tap_random_index(20) == 0 ? -1 : 1;
    const bool missing = i > 0 && tap_random_index(100) == 0;
    int64_t diagonal = -1;
    double sum = 1;
    for (karst_index j = 0; j < n; j++) {
      const double size = sign * pow(10, 2 * tap_random());
      if (i == j && !missing) diagonal = A.entries;
      if (i == j ? missing : tap_random() <= 1 - 2 * density) continue;
      copy_add(&A, i, j, tap_random_index(20) == 0 ? 0.01 * size : -size);
      sum += fabs(size);
    }
    if (diagonal >= 0) A.value[diagonal] = sign * sum;
    if (A.entries == A.start[i]) copy_add(&A, i, 0, 1);
  }
  return A;
}

/* A chain, and a last row that depends strongly on all others, of which some depend strongly on it. */
static inline struct copy hub(karst_index n, karst_index dependents)
{
  struct copy A = copy_empty(n, 5 * (int64_t)n);
  for (karst_index i = 0; i + 1 < n; i++) {
    if (i > 0) copy_add(&A, i, i - 1, -1 - fabs(tap_random()));
    copy_add(&A, i, i, 4);
    if (i + 2 < n) copy_add(&A, i, i + 1, -1 - fabs(tap_random()));
    copy_add(&A, i, n - 1, i < dependents ? -1 : -1e-3);
  }
  for (karst_index j = 0; j + 1 < n; j++) copy_add(&A, n - 1, j, -1);
  copy_add(&A, n - 1, n - 1, (double)n);
  return A;
}

static inline struct copy dense_rows(karst_index n)
{
  struct copy A = copy_empty(n, (int64_t)n * n);
  for (karst_index i = 0; i < n; i++)
    for (karst_index j = 0; j < n; j++) copy_add(&A, i, j, i == j ? 2 * (double)n : -fabs(tap_random()));
  return A;
}

/* The Laplacian on n x n cells without a boundary value: rows sum to 0. */
static inline struct copy neumann(karst_index n)
{
  struct pattern grid = pattern_grid(n, n, 1);
  struct copy A = copy_empty(grid.n, grid.start[grid.n]);
  for (karst_index i = 0; i < grid.n; i++)
    for (karst_index k = grid.start[i]; k < grid.start[i + 1]; k++)
      copy_add(&A, i, grid.column[k], grid.column[k] == i ? (double)(grid.start[i + 1] - grid.start[i]) - 1 : -1);
  pattern_free(&grid);
  return A;
}

static inline struct copy diagonal_rows(karst_index n)
{
  struct copy A = copy_empty(n, n);
  for (karst_index i = 0; i < n; i++) copy_add(&A, i, i, 1 + (double)(i % 3));
  return A;
}

/* The matrix of a name: one of these with NAME:ROWS, or of the gallery. */
static inline struct copy copy_make(karst_context *cpu, const char *name)
{
  const karst_index n = strchr(name, ':') ? (karst_index)strtol(strchr(name, ':') + 1, NULL, 10) : 0;
  if (strncmp(name, "random:", 7) == 0) return random_rows(n);
  if (strncmp(name, "hub:", 4) == 0) return hub(n, 0);
  if (strncmp(name, "centre:", 7) == 0) return hub(n, n / 3);
  if (strncmp(name, "dense:", 6) == 0) return dense_rows(n);
  if (strncmp(name, "neumann:", 8) == 0) return neumann(n);
  if (strncmp(name, "diagonal:", 9) == 0) return diagonal_rows(n);
  return copy_of(matrix_from(cpu, name, 1));
}

#endif
