/* tile_reference.h - block ILU(k) and DILU in a given order of the rows, in dense arithmetic.
 *
 * Both are M = (D + L) D^-1 (D + U). Of ILU(k), L has the blocks a_ij before the division by D_j, and U those after all
 * products. Of DILU, L and U are those of the matrix. */
#ifndef KARST_TESTS_SUPPORT_TILE_REFERENCE_H
#define KARST_TESTS_SUPPORT_TILE_REFERENCE_H

#include "tests/support/patterns.h"

#include <string.h>

struct tile_reference {
  int64_t rows;
  int b;
  double *block;   /* [b*b*rows*rows] block (i, j) at i + rows * j, column by column */
  bool *kept;      /* [rows*rows] whether the factors have it */
  double *inverse; /* [b*b*rows] D^-1 */
};

static inline double *tile_block(const struct tile_reference *f, int64_t i, int64_t j)
{
  return f->block + (i + f->rows * j) * f->b * f->b;
}

static inline bool *tile_kept(const struct tile_reference *f, int64_t i, int64_t j)
{
  return f->kept + i + f->rows * j;
}

/* z += factor x y for blocks; y has width columns. */
static inline void tile_multiply(int b, int width, double factor, const double *x, const double *y, double *z)
{
  for (int c = 0; c < width; c++)
    for (int s = 0; s < b; s++)
      for (int r = 0; r < b; r++) z[c * b + r] += factor * x[s * b + r] * y[c * b + s];
}

static inline void tile_invert(int b, const double *block, double *inverse)
{
  double *copy = tap_memory((int64_t)b * b, sizeof *copy);
  for (int c = 0; c < b; c++) {
    memcpy(copy, block, (size_t)(b * b) * sizeof *copy);
    for (int r = 0; r < b; r++) inverse[c * b + r] = r == c;
    tap_dense_solve(b, copy, inverse + (ptrdiff_t)c * b);
  }
  free(copy);
}

/* Scatters the blocks of A, where row permutation[i] becomes row i, and finds the pattern of ILU(level). */
static inline void tile_spread(const karst_matrix *A, const karst_index *permutation, int level,
                               struct tile_reference *f)
{
  enum { NEVER = 1 << 20 };
  const int64_t n = f->rows, bb = (int64_t)f->b * f->b;
  const karst_index *start = karst_matrix_row_start(A), *column = karst_matrix_column(A);
  karst_index *inverse = tap_memory(n, sizeof *inverse);
  int *fill = tap_memory(n * n, sizeof *fill);
  double *value;
  tap_need(NULL, karst_matrix_host_value(A, &value), "values");
  for (int64_t e = 0; e < n * n; e++) fill[e] = NEVER;
  for (karst_index i = 0; i < n; i++) inverse[permutation[i]] = i;
  for (int64_t i = 0; i < n; i++)
    for (karst_index k = start[permutation[i]]; k < start[permutation[i] + 1]; k++) {
      fill[i + n * inverse[column[k]]] = 0;
      memcpy(tile_block(f, i, inverse[column[k]]), value + bb * k, (size_t)bb * sizeof *value);
    }
  for (int64_t i = 0; i < n; i++)
    for (int64_t k = 0; k < i; k++)
      for (int64_t j = k + 1; fill[i + n * k] <= level && j < n; j++)
        if (fill[i + n * k] + fill[k + n * j] + 1 < fill[i + n * j])
          fill[i + n * j] = fill[i + n * k] + fill[k + n * j] + 1;
  for (int64_t e = 0; e < n * n; e++) f->kept[e] = fill[e] <= level;
  karst_matrix_host_value_done(A, value);
  free(inverse);
  free(fill);
}

/* Subtracts the products of row i with row k; dropped products go to the diagonal, modified times. */
static inline void tile_eliminate(struct tile_reference *f, int64_t i, int64_t k, bool dilu, double modified,
                                  const double *quotient)
{
  for (int64_t j = k + 1; j < f->rows; j++) {
    if (!*tile_kept(f, k, j)) continue;
    const bool taken = j == i || (!dilu && *tile_kept(f, i, j));
    if (taken || modified != 0)
      tile_multiply(f->b, f->b, taken ? -1 : -modified, quotient, tile_block(f, k, j), tile_block(f, i, taken ? j : i));
  }
}

/* Factors A with its rows in the order of a permutation, new to old. */
static inline struct tile_reference tile_reference_make(const karst_matrix *A, const karst_index *permutation,
                                                        bool dilu, int level, double modified)
{
  struct tile_reference f = {.rows = karst_matrix_block_rows(A), .b = karst_matrix_block_size(A)};
  const int64_t bb = (int64_t)f.b * f.b;
  double *quotient = tap_memory(bb, sizeof *quotient);
  f.block = tap_memory(bb * f.rows * f.rows, sizeof *f.block);
  f.kept = tap_memory(f.rows * f.rows, sizeof *f.kept);
  f.inverse = tap_memory(bb * f.rows, sizeof *f.inverse);
  tile_spread(A, permutation, dilu ? 0 : level, &f);
  for (int64_t i = 0; i < f.rows; i++) {
    for (int64_t k = 0; k < i; k++) {
      if (!*tile_kept(&f, i, k)) continue;
      memset(quotient, 0, (size_t)bb * sizeof *quotient);
      tile_multiply(f.b, f.b, 1, tile_block(&f, i, k), f.inverse + bb * k, quotient);
      tile_eliminate(&f, i, k, dilu, modified, quotient);
    }
    tile_invert(f.b, tile_block(&f, i, i), f.inverse + bb * i);
  }
  free(quotient);
  return f;
}

/* z = M^-1 r in the order of the factors. */
static inline void tile_reference_solve(const struct tile_reference *f, const double *r, double *z)
{
  const int64_t b = f->b, bb = b * b;
  double *sum = tap_memory(b, sizeof *sum);
  memset(z, 0, (size_t)(b * f->rows) * sizeof *z);
  for (int64_t i = 0; i < f->rows; i++) {
    memcpy(sum, r + b * i, (size_t)b * sizeof *sum);
    for (int64_t k = 0; k < i; k++)
      if (*tile_kept(f, i, k)) tile_multiply(f->b, 1, -1, tile_block(f, i, k), z + b * k, sum);
    tile_multiply(f->b, 1, 1, f->inverse + bb * i, sum, z + b * i);
  }
  for (int64_t i = f->rows; i-- > 0;) {
    memset(sum, 0, (size_t)b * sizeof *sum);
    for (int64_t j = i + 1; j < f->rows; j++)
      if (*tile_kept(f, i, j)) tile_multiply(f->b, 1, -1, tile_block(f, i, j), z + b * j, sum);
    tile_multiply(f->b, 1, 1, f->inverse + bb * i, sum, z + b * i);
  }
  free(sum);
}

static inline void tile_reference_free(struct tile_reference *f)
{
  free(f->block);
  free(f->kept);
  free(f->inverse);
}

#endif
