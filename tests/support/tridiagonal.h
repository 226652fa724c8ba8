/* tridiagonal.h - random batches of block-tridiagonal systems for tests, and the backward error of their solutions. */
#ifndef KARST_TESTS_SUPPORT_TRIDIAGONAL_H
#define KARST_TESTS_SUPPORT_TRIDIAGONAL_H

#include "tests/support/tap.h"

#include <float.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char *const tridiagonal_names[] = {"auto", "thomas", "cr", "pcr", "hybrid", "split"};

/* A batch on the host. The arrays of values are in double and as arrays of structures; in a batch of floats they have
 * values of float. */
struct tridiagonal {
  karst_tridiagonal_shape shape;
  double *lower, *diagonal, *upper; /* [systems n m m] */
  double *right;                    /* [sides systems n m] */
  int sides;
};

static inline int64_t tridiagonal_rows(const struct tridiagonal *t) { return t->shape.systems * t->shape.rows; }

/* Scalars of an array of the batch. */
static inline int64_t tridiagonal_blocks(const struct tridiagonal *t)
{
  return tridiagonal_rows(t) * t->shape.block_size * t->shape.block_size;
}

static inline int64_t tridiagonal_vectors(const struct tridiagonal *t)
{
  return tridiagonal_rows(t) * t->shape.block_size;
}

static inline double tridiagonal_round(const struct tridiagonal *t, double x) { return t->shape.single ? (float)x : x; }

static inline double tridiagonal_epsilon(const struct tridiagonal *t)
{
  return t->shape.single ? (double)FLT_EPSILON : DBL_EPSILON;
}

/* Returns a batch of systems that are diagonally dominant. Within a block the rows are shuffled, so that elimination
 * must exchange them. a_0 and c_(n-1) are NaNs. */
static inline struct tridiagonal tridiagonal_random(karst_tridiagonal_shape shape, int sides)
{
  struct tridiagonal t = {.shape = shape, .sides = sides};
  const int m = shape.block_size;
  const int64_t mm = (int64_t)m * m;
  t.lower = tap_memory(tridiagonal_blocks(&t), sizeof(double));
  t.diagonal = tap_memory(tridiagonal_blocks(&t), sizeof(double));
  t.upper = tap_memory(tridiagonal_blocks(&t), sizeof(double));
  t.right = tap_memory(sides * tridiagonal_vectors(&t), sizeof(double));
  for (int64_t i = 0; i < tridiagonal_blocks(&t); i++) {
    t.lower[i] = tridiagonal_round(&t, tap_random());
    t.diagonal[i] = tridiagonal_round(&t, tap_random());
    t.upper[i] = tridiagonal_round(&t, tap_random());
  }
  for (int64_t i = 0; i < sides * tridiagonal_vectors(&t); i++) t.right[i] = tridiagonal_round(&t, tap_random());
  for (int64_t row = 0; row < tridiagonal_rows(&t); row++) {
    const int shift = (int)tap_random_index(m);
    for (int r = 0; r < m; r++) t.diagonal[row * mm + (r + shift) % m * m + r] = tridiagonal_round(&t, 2.385 * m);
    const int64_t position = row % shape.rows;
    for (int i = 0; i < mm && position == 0; i++) t.lower[row * mm + i] = NAN;
    for (int i = 0; i < mm && position == shape.rows - 1; i++) t.upper[row * mm + i] = NAN;
  }
  return t;
}

static inline void tridiagonal_free(struct tridiagonal *t)
{
  free(t->lower);
  free(t->diagonal);
  free(t->upper);
  free(t->right);
}

/* Returns values in the type and the layout of the batch; entries: scalars a row; copies: arrays one after the other.
 * The caller frees it. */
static inline void *tridiagonal_pack(const struct tridiagonal *t, const double *values, int entries, int copies)
{
  const bool structures = t->shape.layout == KARST_TRIDIAGONAL_AOS;
  const int64_t rows = tridiagonal_rows(t);
  void *packed = tap_memory(rows * entries * copies, sizeof(double));
  for (int copy = 0; copy < copies; copy++)
    for (int64_t row = 0; row < rows; row++)
      for (int e = 0; e < entries; e++, values++) {
        const int64_t at = copy * rows * entries + (structures ? row * entries + e : e * rows + row);
        if (t->shape.single)
          ((float *)packed)[at] = (float)*values;
        else
          ((double *)packed)[at] = *values;
      }
  return packed;
}

/* Returns scalar e of a row, of so many, from an array in the type and the layout of the batch. */
static inline double tridiagonal_get(const struct tridiagonal *t, const void *packed, int entries, int64_t row, int e)
{
  const int64_t at = t->shape.layout == KARST_TRIDIAGONAL_AOS ? row * entries + e : e * tridiagonal_rows(t) + row;
  return t->shape.single ? (double)((const float *)packed)[at] : ((const double *)packed)[at];
}

/* The arrays of a batch, packed. */
struct tridiagonal_arrays {
  void *lower, *diagonal, *upper, *right, *solution;
};

static inline struct tridiagonal_arrays tridiagonal_arrays(const struct tridiagonal *t)
{
  const int m = t->shape.block_size;
  return (struct tridiagonal_arrays){
      .lower = tridiagonal_pack(t, t->lower, m * m, 1),
      .diagonal = tridiagonal_pack(t, t->diagonal, m * m, 1),
      .upper = tridiagonal_pack(t, t->upper, m * m, 1),
      .right = tridiagonal_pack(t, t->right, m, t->sides),
      .solution = tap_memory(t->sides * tridiagonal_vectors(t), sizeof(double)),
  };
}

static inline void tridiagonal_arrays_free(struct tridiagonal_arrays *arrays)
{
  free(arrays->lower);
  free(arrays->diagonal);
  free(arrays->upper);
  free(arrays->right);
  free(arrays->solution);
}

/* Subtracts the product of a block and of the solution in a row from the residual of equation r. Returns the sum of the
 * block's absolute values in that equation. */
static inline double tridiagonal_subtract(const struct tridiagonal *t, const double *block, int r, const void *solution,
                                          int64_t row, long double *residual)
{
  const int m = t->shape.block_size;
  double sum = 0;
  for (int c = 0; c < m; c++) {
    *residual -= (long double)block[c * m + r] * tridiagonal_get(t, solution, m, row, c);
    sum += fabs(block[c * m + r]);
  }
  return sum;
}

/* Returns |f - A u| / (|f| + |A| |u|) of a system, in maximum norms and in units of the rounding error: the normwise
 * backward error (Rigal and Gaches 1967). Infinite if it is not a number. side: the number of the right-hand side. The
 * error of each equation by itself (Oettli and Prager 1964) is no measure here: where the unknowns of neighbours happen
 * to be small, cyclic reduction leaves the errors of those that it came from. */
static inline double tridiagonal_error(const struct tridiagonal *t, const void *solutions, int side, int64_t system)
{
  const int m = t->shape.block_size;
  const int64_t n = t->shape.rows, mm = (int64_t)m * m, before = side * tridiagonal_vectors(t);
  const size_t scalar = t->shape.single ? sizeof(float) : sizeof(double);
  const void *solution = (const char *)solutions + (size_t)before * scalar;
  long double residuals = 0;
  double right = 0, matrix = 0, unknowns = 0;
  for (int64_t row = system * n; row < system * n + n; row++)
    for (int r = 0; r < m; r++) {
      long double residual = t->right[before + row * m + r];
      right = fmax(right, fabs(t->right[before + row * m + r]));
      unknowns = fmax(unknowns, fabs(tridiagonal_get(t, solution, m, row, r)));
      double sum = tridiagonal_subtract(t, t->diagonal + row * mm, r, solution, row, &residual);
      if (row > system * n) sum += tridiagonal_subtract(t, t->lower + row * mm, r, solution, row - 1, &residual);
      if (row + 1 < system * n + n)
        sum += tridiagonal_subtract(t, t->upper + row * mm, r, solution, row + 1, &residual);
      matrix = fmax(matrix, sum);
      if (!isfinite(residual)) return INFINITY;
      residuals = fmaxl(residuals, fabsl(residual));
    }
  return residuals == 0 ? 0 : (double)(residuals / (right + matrix * unknowns)) / tridiagonal_epsilon(t);
}

/* The same over all systems and right-hand sides. */
static inline double tridiagonal_worst(const struct tridiagonal *t, const void *solutions)
{
  double worst = 0;
  for (int side = 0; side < t->sides; side++)
    for (int64_t s = 0; s < t->shape.systems; s++) worst = fmax(worst, tridiagonal_error(t, solutions, side, s));
  return worst;
}

static inline karst_tridiagonal *tridiagonal_create(karst_context *context, const struct tridiagonal *t)
{
  karst_tridiagonal *batch = NULL;
  tap_need(context, karst_tridiagonal_create(context, &t->shape, &batch), "a batch of tridiagonal systems");
  return batch;
}

static inline void tridiagonal_solve(karst_context *context, karst_tridiagonal *batch,
                                     const struct tridiagonal_arrays *arrays)
{
  tap_need(
      context,
      karst_tridiagonal_solve(batch, arrays->lower, arrays->diagonal, arrays->upper, arrays->right, arrays->solution),
      "solve");
}

static inline void tridiagonal_factor(karst_context *context, karst_tridiagonal *batch,
                                      const struct tridiagonal_arrays *arrays)
{
  tap_need(context, karst_tridiagonal_factor(batch, arrays->lower, arrays->diagonal, arrays->upper), "factor");
}

/* Says which batch a line is about. The next call overwrites it. */
static inline const char *tridiagonal_text(const karst_tridiagonal_shape *shape)
{
  static char text[160];
  snprintf(text, sizeof text, "%lld systems of %ld rows, m = %d, %s, %s, %s", (long long)shape->systems,
           (long)shape->rows, shape->block_size, shape->single ? "float" : "double",
           shape->layout == KARST_TRIDIAGONAL_AOS ? "AOS" : "SOA", tridiagonal_names[shape->method]);
  return text;
}

/* Whether the device has kernels for batches; says so if not. */
static inline bool tridiagonal_is_available(karst_context *context, const char *what)
{
  karst_tridiagonal *batch = NULL;
  const karst_tridiagonal_shape shape = {.systems = 1, .rows = 1, .block_size = 1};
  const bool available = karst_tridiagonal_create(context, &shape, &batch) != KARST_ERROR_NOT_BUILT;
  karst_tridiagonal_destroy(batch);
  if (!available) tap_skip("the device has no kernels for batches of tridiagonal systems", "%s", what);
  return available;
}

#endif
