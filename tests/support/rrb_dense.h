/* rrb_dense.h - the repeated red-black method as dense matrices, written from its description (de Jong, van der Ploeg,
 * Ditzel and Vuik, section 2) without the library's code, and random systems on grids. */
#ifndef KARST_TESTS_SUPPORT_RRB_DENSE_H
#define KARST_TESTS_SUPPORT_RRB_DENSE_H

#include "tests/support/tap.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

/* A random symmetric matrix on a grid of nx-by-ny places, of which some may be holes: row q is that of cell[q]. */
struct rrb_system {
  karst_index nx, ny, n;
  karst_index *cell; /* [n] j nx + i */
  karst_index *row;  /* [nx ny] the row of a place, or -1 */
  karst_matrix *A;
};

/* The properties of the matrix. */
struct rrb_kind {
  bool corners;       /* a stencil of 9 points */
  bool shuffled;      /* rows in another order than the places */
  double holes;       /* share of the places that have no node */
  double anisotropic; /* couplings along x are so many times as large */
};

static inline void rrb_system_free(struct rrb_system *system)
{
  karst_matrix_destroy(system->A);
  free(system->cell);
  free(system->row);
}

static inline void rrb_choose_cells(struct rrb_system *system, const struct rrb_kind *kind)
{
  const karst_index places = system->nx * system->ny;
  system->cell = tap_memory(places, sizeof *system->cell);
  system->row = tap_memory(places, sizeof *system->row);
  for (karst_index place = 0; place < places; place++)
    if (0.5 * (tap_random() + 1) >= kind->holes || (place == places - 1 && system->n == 0))
      system->cell[system->n++] = place;
  for (karst_index q = system->n - 1; kind->shuffled && q > 0; q--) {
    const karst_index other = (karst_index)tap_random_index((int64_t)q + 1), kept = system->cell[q];
    system->cell[q] = system->cell[other];
    system->cell[other] = kept;
  }
  for (karst_index place = 0; place < places; place++) system->row[place] = -1;
  for (karst_index q = 0; q < system->n; q++) system->row[system->cell[q]] = q;
}

/* The neighbours of a place, in ascending order; number 4 is the place itself. */
static const int rrb_around[9][2] = {{-1, -1}, {0, -1}, {1, -1}, {-1, 0}, {0, 0}, {1, 0}, {-1, 1}, {0, 1}, {1, 1}};

/* Makes the couplings of each place, weight[9 place + k] with neighbour k, and the diagonal entry: a random M-matrix,
 * barely diagonally dominant, with couplings of several orders of magnitude. */
static inline double *rrb_random_weights(const struct rrb_system *system, const struct rrb_kind *kind)
{
  double *weight = tap_memory(9 * (int64_t)system->nx * system->ny, sizeof *weight);
  for (karst_index q = 0; q < system->n; q++) {
    const karst_index place = system->cell[q], i = place % system->nx, j = place / system->nx;
    weight[9 * (int64_t)place + 4] += 0.02 * (1.01 + tap_random());
    for (int k = 5; k < 9; k++) {
      const int di = rrb_around[k][0], dj = rrb_around[k][1];
      if (i + di < 0 || i + di >= system->nx || j + dj >= system->ny || (di != 0 && dj != 0 && !kind->corners))
        continue;
      const int64_t other = (int64_t)(j + dj) * system->nx + i + di;
      if (system->row[other] < 0) continue;
      const double along = dj == 0 ? kind->anisotropic : di == 0 ? 1 : 0.3;
      const double coupling = along * pow(10, 1.5 * tap_random());
      weight[9 * (int64_t)place + k] = weight[9 * other + 8 - k] = -coupling;
      weight[9 * (int64_t)place + 4] += coupling;
      weight[9 * other + 4] += coupling;
    }
  }
  return weight;
}

/* Writes a row of the matrix with its columns in ascending order, and returns its length. */
static inline karst_index rrb_write_row(const struct rrb_system *system, const double *weight, karst_index q,
                                        karst_index *column, double *value)
{
  const int64_t place = system->cell[q];
  karst_index count = 0;
  for (int k = 0; k < 9; k++) {
    const double entry = weight[9 * place + k];
    if (entry == 0) continue;
    const karst_index other = system->row[place + (int64_t)rrb_around[k][1] * system->nx + rrb_around[k][0]];
    karst_index at = count++;
    for (; at > 0 && column[at - 1] > other; at--) {
      column[at] = column[at - 1];
      value[at] = value[at - 1];
    }
    column[at] = other;
    value[at] = entry;
  }
  return count;
}

static inline void rrb_set_grid(karst_context *context, const struct rrb_system *system)
{
  bool numbered = system->n == system->nx * system->ny;
  for (karst_index q = 0; q < system->n; q++) numbered = numbered && system->cell[q] == q;
  if (numbered)
    tap_need(context, karst_matrix_set_grid(system->A, system->nx, system->ny, 1), "grid");
  else
    tap_need(context, karst_matrix_set_grid_cells(system->A, system->nx, system->ny, 1, system->cell), "cells");
}

static inline struct rrb_system rrb_random_system(karst_context *context, karst_index nx, karst_index ny,
                                                  const struct rrb_kind *kind)
{
  struct rrb_system system = {.nx = nx, .ny = ny};
  rrb_choose_cells(&system, kind);
  double *weight = rrb_random_weights(&system, kind);
  karst_index *start = tap_memory((int64_t)system.n + 1, sizeof *start);
  karst_index *column = tap_memory(9 * (int64_t)system.n, sizeof *column);
  double *value = tap_memory(9 * (int64_t)system.n, sizeof *value);
  for (karst_index q = 0; q < system.n; q++)
    start[q + 1] = start[q] + rrb_write_row(&system, weight, q, column + start[q], value + start[q]);
  tap_need(context, karst_matrix_create(context, system.n, 1, start, column, value, KARST_COPY, &system.A), "matrix");
  rrb_set_grid(context, &system);
  free(weight);
  free(start);
  free(column);
  free(value);
  return system;
}

/* The remaining nodes of a level: their rows, and their places from 1 on its grid. */
struct rrb_left {
  int64_t count, *row, *i, *j;
  bool *red;
};

/* Colours the nodes before level k: after an odd level the black nodes of the skew grid are those with i + j even. */
static inline void rrb_colour(struct rrb_left *left, int k)
{
  for (int64_t p = 0; p < left->count; p++)
    left->red[p] = k % 2 ? (left->i[p] + left->j[p]) % 2 == 1 : left->j[p] % 2 == 0;
}

/* Lumps the couplings among red nodes. */
static inline void rrb_lump(const struct rrb_left *left, int64_t n, double *s)
{
  for (int64_t p = 0; p < left->count; p++)
    for (int64_t q = 0; q < left->count; q++) {
      if (p == q || !left->red[p] || !left->red[q]) continue;
      double *entry = s + left->row[p] * n + left->row[q];
      s[left->row[p] * n + left->row[p]] += *entry;
      *entry = 0;
    }
}

/* Eliminates the red nodes: S = S - l d l^T for each, which M keeps. */
static inline void rrb_eliminate(const struct rrb_left *left, int64_t n, double *s, double *m)
{
  for (int64_t p = 0; p < left->count; p++) {
    if (!left->red[p]) continue;
    const int64_t red = left->row[p];
    const double d = s[red * n + red];
    for (int64_t q = 0; q < n; q++) {
      const double l = s[q * n + red] / d;
      for (int64_t r = 0; l != 0 && r < n; r++) {
        m[q * n + r] += l * s[red * n + r];
        if (q != red && r != red) s[q * n + r] -= l * s[red * n + r];
      }
    }
    for (int64_t q = 0; q < n; q++) s[q * n + red] = s[red * n + q] = 0;
  }
}

/* Takes the red nodes from the list; after an even level the others are renumbered. */
static inline void rrb_keep_black(struct rrb_left *left, int k)
{
  int64_t count = 0;
  for (int64_t p = 0; p < left->count; p++) {
    if (left->red[p]) continue;
    left->row[count] = left->row[p];
    left->i[count] = k % 2 ? left->i[p] : (left->i[p] + 1) / 2;
    left->j[count++] = k % 2 ? left->j[p] : (left->j[p] + 1) / 2;
  }
  left->count = count;
}

/* Returns M = L D L^T after so many levels and a complete factorization of the remaining nodes. */
static inline double *rrb_dense(const struct rrb_system *system, int levels)
{
  const int64_t n = system->n;
  double *s = tap_dense(system->A), *m = tap_memory(n * n, sizeof *m);
  struct rrb_left left = {n, tap_memory(n, sizeof(int64_t)), tap_memory(n, sizeof(int64_t)),
                          tap_memory(n, sizeof(int64_t)), tap_memory(n, sizeof(bool))};
  for (int64_t q = 0; q < n; q++) {
    left.row[q] = q;
    left.i[q] = system->cell[q] % system->nx + 1;
    left.j[q] = system->cell[q] / system->nx + 1;
  }
  for (int k = 1; k <= levels; k++) {
    rrb_colour(&left, k);
    rrb_lump(&left, n, s);
    rrb_eliminate(&left, n, s, m);
    rrb_keep_black(&left, k);
  }
  for (int64_t e = 0; e < n * n; e++) m[e] += s[e];
  free(s);
  free(left.row);
  free(left.i);
  free(left.j);
  free(left.red);
  return m;
}

/* The most levels that a grid has: 2 ceil(log2 max(nx, ny)). */
static inline int rrb_most_levels(karst_index nx, karst_index ny)
{
  int levels = 0;
  while ((1L << levels / 2) < (nx > ny ? nx : ny)) levels += 2;
  return levels;
}

#endif
