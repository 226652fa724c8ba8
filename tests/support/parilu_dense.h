/* parilu_dense.h - computes parilu and paric densely by their formulas, and makes matrices to test them. */
#ifndef KARST_TESTS_SUPPORT_PARILU_DENSE_H
#define KARST_TESTS_SUPPORT_PARILU_DENSE_H

#include "lib/matrix/matrix.h"
#include "tests/support/patterns.h"
#include "tests/support/problem.h"
#include "symbolic/symbolic.h"
#include "tests/support/tap.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Makes a random scaled matrix that is symmetric, on a symmetric pattern with the diagonal. It is diagonally dominant
 * by blocks for a dominance of 1 or more. */
static inline karst_matrix *symmetric_matrix(karst_context *context, const struct pattern *pattern, int b,
                                             double dominance)
{
  int64_t bb = (int64_t)b * b;
  double *value = tap_memory(bb * pattern->start[pattern->n], sizeof *value);
  for (karst_index i = 0; i < pattern->n; i++)
    for (karst_index k = pattern->start[i]; k < pattern->start[i + 1]; k++) {
      karst_index j = pattern->column[k], mirror = pattern->start[j];
      double blocks = (double)(pattern->start[i + 1] - pattern->start[i]);
      while (pattern->column[mirror] != i) mirror++;
      for (int c = 0; c < b; c++)
        for (int r = 0; r < b; r++) {
          if (j > i || (j == i && r < c)) continue;
          double entry = 0.6 * tap_random() + (j == i && r == c ? b * (1 + dominance * blocks) : 0);
          value[k * bb + c * b + r] = value[mirror * bb + r * b + c] = entry;
        }
    }
  karst_matrix *A = pattern_matrix(context, pattern, b, value);
  free(value);
  return A;
}

/* Multiplies all values by a factor. */
static inline void multiply_values(karst_context *context, karst_matrix *A, double factor)
{
  double *changed = values_on_host(A);
  for (int64_t v = 0; v < karst_entries(A); v++) changed[v] *= factor;
  tap_need(context, karst_matrix_update_values(A, changed), "update");
  free(changed);
}

/* The dense form of a problem. Blocks are dense b-by-b arrays, and block (i,j) of an array of blocks is number i n +
 * j. */
struct dense {
  karst_index n;
  int b;
  bool symmetric; /* whether this is paric: L L^T, from the lower blocks alone */
  bool *S;        /* [n n] whether each block is in the pattern */
  double *A;      /* [b b n n] */
  double *factor; /* [b b n n] L below the diagonal, U from the diagonal on; paric: L */
};

static inline double *dense_block(const struct dense *d, double *blocks, karst_index i, karst_index j)
{
  return blocks + (size_t)(i * d->n + j) * (size_t)(d->b * d->b);
}

static inline struct dense dense_of(const karst_matrix *A, int level, bool symmetric)
{
  struct dense d = {A->block_rows, A->block_size, symmetric, NULL, NULL, NULL};
  int64_t n = d.n, bb = (int64_t)d.b * d.b;
  karst_ilu_pattern pattern;
  double *value;
  d.S = tap_memory(n * n, sizeof *d.S);
  d.A = tap_memory(bb * n * n, sizeof *d.A);
  d.factor = tap_memory(bb * n * n, sizeof *d.factor);
  tap_need(A->context, karst_ilu_symbolic(A->context, d.n, A->row_start, A->column, level, &pattern), "pattern");
  tap_need(A->context, karst_matrix_host_value(A, &value), "values");
  for (karst_index i = 0; i < d.n; i++) {
    d.S[i * n + i] = true;
    for (karst_index k = pattern.lower_start[i]; k < pattern.lower_start[i + 1]; k++)
      d.S[i * n + pattern.lower_column[k]] = true;
    for (karst_index k = pattern.upper_start[i]; k < pattern.upper_start[i + 1]; k++)
      d.S[i * n + pattern.upper_column[k]] = true;
    for (karst_index k = A->row_start[i]; k < A->row_start[i + 1]; k++)
      memcpy(dense_block(&d, d.A, i, A->column[k]), value + k * bb, (size_t)bb * sizeof *value);
  }
  karst_matrix_host_value_done(A, value);
  karst_ilu_pattern_destroy(A->context, &pattern);
  return d;
}

static inline void dense_free(struct dense *d)
{
  free(d->S);
  free(d->A);
  free(d->factor);
}

/* Returns the number of sweeps after which all of S is exact, from the scaled guess. A block without terms is exact at
 * once, and a block of L without terms as soon as its pivot is. Each other block needs one sweep more than all its
 * terms. */
static inline int dense_depth(const struct dense *d)
{
  int *depth = tap_memory((int64_t)d->n * d->n, sizeof *depth), deepest = 0;
  for (karst_index i = 0; i < d->n; i++)
    for (karst_index j = 0; j < (d->symmetric ? i + 1 : d->n); j++) {
      if (!d->S[i * d->n + j]) continue;
      int below = -1;
      for (karst_index k = 0; k < i && k < j; k++) {
        karst_index other = d->symmetric ? j * d->n + k : k * d->n + j;
        if (!d->S[i * d->n + k] || !d->S[other]) continue;
        if (depth[i * d->n + k] > below) below = depth[i * d->n + k];
        if (depth[other] > below) below = depth[other];
      }
      int pivot = j < i ? depth[j * d->n + j] : 0;
      depth[i * d->n + j] = below >= 0 || pivot > 0 ? 1 + (pivot > below ? pivot : below) : 0;
      if (depth[i * d->n + j] > deepest) deepest = depth[i * d->n + j];
    }
  free(depth);
  return deepest;
}

/* Computes c += sign x y, or c += sign x y^T. */
static inline void dense_add_product(int b, double sign, const double *x, const double *y, bool transposed, double *c)
{
  for (int r = 0; r < b; r++)
    for (int s = 0; s < b; s++)
      for (int k = 0; k < b; k++) c[s * b + r] += sign * x[k * b + r] * (transposed ? y[k * b + s] : y[s * b + k]);
}

/* Computes x = x a^-1, or x = x a^-T: rows of the result solve systems with a^T, or a. */
static inline void dense_divide(int b, double *x, const double *a, bool transposed)
{
  double *system = tap_memory((int64_t)b * b, sizeof *system), *row = tap_memory(b, sizeof *row);
  for (int r = 0; r < b; r++) {
    for (int i = 0; i < b; i++)
      for (int j = 0; j < b; j++) system[j * b + i] = transposed ? a[j * b + i] : a[i * b + j];
    for (int c = 0; c < b; c++) row[c] = x[c * b + r];
    tap_dense_solve(b, system, row);
    for (int c = 0; c < b; c++) x[c * b + r] = row[c];
  }
  free(system);
  free(row);
}

/* Replaces a by C with C C^T = a, row by row (Cholesky and Banachiewicz). */
static inline void dense_cholesky(int b, double *a)
{
  for (int r = 0; r < b; r++)
    for (int c = 0; c < b; c++) {
      double sum = a[c * b + r];
      for (int k = 0; k < c; k++) sum -= a[k * b + r] * a[k * b + c];
      a[c * b + r] = c > r ? 0 : c == r ? sqrt(sum) : sum / a[c * b + c];
    }
}

static inline void dense_guess(struct dense *d, bool scaled)
{
  size_t bytes = (size_t)(d->b * d->b) * sizeof *d->A;
  for (karst_index i = 0; i < d->n; i++)
    for (karst_index j = 0; j < (d->symmetric ? i + 1 : d->n); j++) {
      double *to = dense_block(d, d->factor, i, j);
      memcpy(to, dense_block(d, d->A, i, j), bytes);
      if (d->symmetric && i == j)
        for (int v = 0; v < d->b * d->b; v++)
          if (v / d->b > v % d->b) to[v] = 0;
      if (!scaled) continue;
      if (d->symmetric && i == j) dense_cholesky(d->b, to);
      if (i > j) dense_divide(d->b, to, dense_block(d, d->symmetric ? d->factor : d->A, j, j), d->symmetric);
    }
}

/* Computes sum = A_ij - sum of L_ik U_kj over k < end, or of L_ik L_jk^T. everywhere: outside of S too, where L and U
 * are 0. */
static inline void dense_sum(const struct dense *d, karst_index i, karst_index j, karst_index end, double *sum)
{
  memcpy(sum, dense_block(d, d->A, i, j), (size_t)(d->b * d->b) * sizeof *sum);
  for (karst_index k = 0; k < end; k++) {
    const double *right = d->symmetric ? dense_block(d, d->factor, j, k) : dense_block(d, d->factor, k, j);
    dense_add_product(d->b, -1, dense_block(d, d->factor, i, k), right, d->symmetric, sum);
  }
}

static inline void dense_sweep(struct dense *d)
{
  int64_t bb = (int64_t)d->b * d->b, n = d->n;
  double *next = tap_memory(bb * n * n, sizeof *next);
  for (karst_index i = 0; i < d->n; i++)
    for (karst_index j = 0; j < (d->symmetric ? i + 1 : d->n); j++) {
      if (!d->S[i * n + j]) continue;
      double *to = dense_block(d, next, i, j);
      dense_sum(d, i, j, i < j ? i : j, to);
      if (i > j) dense_divide(d->b, to, dense_block(d, d->factor, j, j), d->symmetric);
      if (d->symmetric && i == j) dense_cholesky(d->b, to);
    }
  free(d->factor);
  d->factor = next;
}

/* Returns the weight of row r (or column r) of diagonal block i: 1 over the square root of its Euclidean norm. */
static inline double dense_weight(const struct dense *d, karst_index i, int r, bool of_column)
{
  const double *block = dense_block(d, d->A, i, i);
  double sum = 0;
  for (int k = 0; k < d->b; k++) sum += pow(of_column ? block[r * d->b + k] : block[k * d->b + r], 2);
  return pow(sum, -0.25);
}

/* Returns |W (A - L U) V|_F on S, or everywhere. */
static inline double dense_norm(const struct dense *d, bool on_pattern)
{
  double total = 0, *block = tap_memory((int64_t)d->b * d->b, sizeof *block);
  for (karst_index i = 0; i < d->n; i++)
    for (karst_index j = 0; j < (d->symmetric ? i + 1 : d->n); j++) {
      if (on_pattern && !d->S[i * d->n + j]) continue;
      dense_sum(d, i, j, d->symmetric || i > j ? j + 1 : i, block);
      if (!d->symmetric && i <= j) /* L_ii = I */
        for (int v = 0; v < d->b * d->b; v++) block[v] -= dense_block(d, d->factor, i, j)[v];
      for (int v = 0; v < d->b * d->b; v++)
        total += (d->symmetric && i > j ? 2 : 1) *
                 pow(dense_weight(d, i, v % d->b, false) * block[v] * dense_weight(d, j, v / d->b, true), 2);
    }
  free(block);
  return sqrt(total);
}

#endif
