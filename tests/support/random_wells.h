/* random_wells.h - random wells beside a matrix, and the matrix with the same wells in it: A - C^T D^-1 B, or rows of a
 * dense system. */
#ifndef KARST_TESTS_SUPPORT_RANDOM_WELLS_H
#define KARST_TESTS_SUPPORT_RANDOM_WELLS_H

#include "tests/support/problem.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_WELLS = 16, MOST_PERFORATIONS = 512, MOST_EQUATIONS = 6, MOST_BLOCK = 12 };

struct well_arrays {
  int b;
  karst_index wells;
  int equations[MOST_WELLS];
  karst_index start[MOST_WELLS + 1], cell[MOST_PERFORATIONS];
  double B[MOST_PERFORATIONS * MOST_EQUATIONS * MOST_BLOCK], C[MOST_PERFORATIONS * MOST_EQUATIONS * MOST_BLOCK];
  double D[MOST_WELLS * MOST_EQUATIONS * MOST_EQUATIONS];
};

/* The places of the first scalar of perforation p of well i in B and C, of a well in D, and of its unknowns. */
static inline int64_t well_entry(const struct well_arrays *w, karst_index i, karst_index p)
{
  int64_t at = 0;
  for (karst_index k = 0; k < i; k++) at += (int64_t)(w->start[k + 1] - w->start[k]) * w->b * w->equations[k];
  return at + (int64_t)(p - w->start[i]) * w->b * w->equations[i];
}

static inline int64_t well_square(const struct well_arrays *w, karst_index i)
{
  int64_t at = 0;
  for (karst_index k = 0; k < i; k++) at += (int64_t)w->equations[k] * w->equations[k];
  return at;
}

static inline int64_t well_unknown(const struct well_arrays *w, karst_index i)
{
  int64_t at = 0;
  for (karst_index k = 0; k < i; k++) at += w->equations[k];
  return at;
}

/* Wells of 1 to 6 equations in random cells, some of them twice; the last well has no perforation. Couplings are of the
 * given size, and D is dominated by its diagonal, in rows that it does not begin with. */
static inline void draw_wells(struct well_arrays *w, karst_index rows, int b, karst_index wells, double size)
{
  memset(w, 0, sizeof *w);
  w->b = b;
  w->wells = wells;
  for (karst_index i = 0; i < wells; i++) {
    const int n = w->equations[i] = 1 + (int)(i + tap_random_index(3)) % MOST_EQUATIONS;
    const karst_index count = i < wells - 1 ? 1 + (karst_index)tap_random_index(12) : 0;
    w->start[i + 1] = w->start[i] + count;
    for (karst_index p = w->start[i]; p < w->start[i + 1]; p++) w->cell[p] = (karst_index)tap_random_index(rows);
    if (count > 1) w->cell[w->start[i] + count - 1] = w->cell[w->start[i]];
    double *D = w->D + well_square(w, i);
    for (int e = 0; e < n * n; e++) D[e] = tap_random();
    for (int e = 0; e < n; e++) D[e * n + (e + 1) % n] += 2 * n; /* so that it needs pivoting */
  }
  const int64_t entries = well_entry(w, wells, w->start[wells]);
  for (int64_t v = 0; v < entries; v++) w->B[v] = size * tap_random(), w->C[v] = size * tap_random();
}

/* Wells as a simulator has them, each open to a column of count cells, stride apart, of a system whose unknown 0 is the
 * pressure. The unknowns of a well are its pressure P and its rate Q, and its equations the balance Q = sum of q and
 * Q or P given: every third has P given. The flow q_a of equation a into the well has the derivative m_a by the cell's
 * pressure and -m_a by P, some by the other unknowns, and m_a is factor times that in A. A gets the cell's part. */
static inline void draw_flowing_wells(karst_context *context, struct well_arrays *w, karst_matrix *A, karst_index wells,
                                      karst_index stride, karst_index count, double factor)
{
  const karst_index rows = karst_matrix_block_rows(A), *start = karst_matrix_row_start(A);
  const karst_index *column = karst_matrix_column(A);
  const int b = karst_matrix_block_size(A);
  double *value = values_on_host(A);
  memset(w, 0, sizeof *w);
  w->b = b;
  w->wells = wells;
  for (karst_index i = 0; i < wells; i++) {
    double *D = w->D + 4 * i;
    const karst_index top = (karst_index)tap_random_index(rows - (count - 1) * stride);
    w->equations[i] = 2;
    w->start[i + 1] = w->start[i] + count;
    D[2] = 1;
    D[i % 3 == 2 ? 1 : 3] = 1;
    for (karst_index k = 0; k < count; k++) {
      const karst_index p = w->start[i] + k, cell = w->cell[p] = top + k * stride;
      double *B = w->B + well_entry(w, i, p), *C = w->C + well_entry(w, i, p);
      karst_index at = start[cell];
      while (column[at] != cell) at++;
      for (int a = 0; a < b; a++) {
        const double m = factor * (1 + 0.5 * tap_random()) * value[(int64_t)at * b * b + a];
        C[2 * a] = -m;
        D[0] += m;
        for (int u = 0; u < b; u++) {
          const double by = u == 0 ? m : 0.2 * m * tap_random();
          value[(int64_t)at * b * b + u * b + a] += by;
          B[2 * u] -= by;
        }
      }
    }
  }
  tap_need(context, karst_matrix_update_values(A, value), "values with wells");
  free(value);
}

static inline karst_wells *make_wells(karst_context *context, karst_index rows, const struct well_arrays *w)
{
  karst_wells *wells;
  tap_need(context, karst_wells_create(context, rows, w->b, w->wells, w->equations, w->start, w->cell, &wells),
           "wells");
  tap_need(context, karst_wells_update_values(wells, w->B, w->C, w->D), "values of wells");
  return wells;
}

/* G = D^-1 B of perforation q of well i: [n b] column by column. */
static inline void solve_block(const struct well_arrays *w, karst_index i, karst_index q, double *G)
{
  const int n = w->equations[i];
  for (int c = 0; c < w->b; c++) {
    double D[MOST_EQUATIONS * MOST_EQUATIONS];
    memcpy(D, w->D + well_square(w, i), sizeof *D * (size_t)(n * n));
    memcpy(G + c * n, w->B + well_entry(w, i, q) + c * n, sizeof *G * (size_t)n);
    tap_dense_solve(n, D, G + c * n);
  }
}

/* A - C^T D^-1 B on a pattern with all couplings of the cells of a well. */
static inline karst_matrix *with_wells_inside(karst_context *context, const karst_matrix *A,
                                              const struct well_arrays *w)
{
  const karst_index rows = karst_matrix_block_rows(A), *row_start = karst_matrix_row_start(A);
  const karst_index *column = karst_matrix_column(A);
  const int b = w->b, bb = b * b;
  int64_t most = karst_matrix_blocks(A);
  for (karst_index i = 0; i < w->wells; i++)
    most += (int64_t)(w->start[i + 1] - w->start[i]) * (w->start[i + 1] - w->start[i]);
  karst_index *start = tap_memory(rows + 1, sizeof *start), *to = tap_memory(most, sizeof *to), blocks = 0;
  double *host = values_on_host(A), *value = tap_memory(most * bb, sizeof *value);
  char *couples = tap_memory(rows, 1);
  for (karst_index r = 0; r < rows; r++) {
    karst_index first = rows, last = -1;
#define COUPLE(c) (couples[c] = 1, first = (c) < first ? (c) : first, last = (c) > last ? (c) : last)
    for (karst_index k = row_start[r]; k < row_start[r + 1]; k++) COUPLE(column[k]);
    for (karst_index i = 0; i < w->wells; i++)
      for (karst_index p = w->start[i]; p < w->start[i + 1]; p++)
        for (karst_index q = w->start[i]; q < w->start[i + 1] && w->cell[p] == r; q++) COUPLE(w->cell[q]);
#undef COUPLE
    for (karst_index c = first; c <= last; c++)
      if (couples[c]) to[blocks++] = c, couples[c] = 0;
    start[r + 1] = blocks;
    for (karst_index k = row_start[r], at = start[r]; k < row_start[r + 1]; k++) {
      while (to[at] != column[k]) at++;
      memcpy(value + (int64_t)at * bb, host + (int64_t)k * bb, sizeof *value * (size_t)bb);
    }
  }
  for (karst_index i = 0; i < w->wells; i++)
    for (karst_index q = w->start[i]; q < w->start[i + 1]; q++) {
      double G[MOST_EQUATIONS * MOST_BLOCK];
      solve_block(w, i, q, G);
      for (karst_index p = w->start[i]; p < w->start[i + 1]; p++) {
        karst_index at = start[w->cell[p]];
        while (to[at] != w->cell[q]) at++;
        const double *C = w->C + well_entry(w, i, p);
        for (int v = 0; v < bb; v++)
          for (int e = 0, n = w->equations[i]; e < n; e++)
            value[(int64_t)at * bb + v] -= C[v % b * n + e] * G[v / b * n + e];
      }
    }
  karst_matrix *inside = matrix_of(context, rows, b, start, to, value);
  free(start), free(to), free(host), free(value), free(couples);
  return inside;
}

/* The dense system [A C^T; B D], column by column, of n scalars of A and then the wells'. */
static inline double *dense_with_wells(const karst_matrix *A, const struct well_arrays *w, int64_t *size)
{
  const int64_t n = karst_matrix_rows(A), m = n + well_unknown(w, w->wells);
  double *inner = tap_dense(A), *dense = tap_memory(m * m, sizeof *dense);
  for (int64_t c = 0; c < n; c++) memcpy(dense + c * m, inner + c * n, sizeof *dense * (size_t)n);
  for (karst_index i = 0; i < w->wells; i++) {
    const int k = w->equations[i];
    const int64_t u = n + well_unknown(w, i);
    for (int e = 0; e < k * k; e++) dense[(u + e / k) * m + u + e % k] = w->D[well_square(w, i) + e];
    for (karst_index p = w->start[i]; p < w->start[i + 1]; p++)
      for (int v = 0; v < k * w->b; v++) {
        const int64_t x = (int64_t)w->cell[p] * w->b + v / k, at = well_entry(w, i, p) + v;
        dense[x * m + u + v % k] += w->B[at];
        dense[(u + v % k) * m + x] += w->C[at];
      }
  }
  free(inner);
  *size = m;
  return dense;
}

#endif
