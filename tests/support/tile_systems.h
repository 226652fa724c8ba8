/* tile_systems.h - patterns, and preconditioners of matrices on them in an order by colours or tiles, for the tests of
 * sweeps by tiles. Vectors on the host are in the caller's order. */
#ifndef KARST_TESTS_SUPPORT_TILE_SYSTEMS_H
#define KARST_TESTS_SUPPORT_TILE_SYSTEMS_H

#include "solver/system.h"
#include "tests/support/patterns.h"
#include "tests/support/problem.h"

#include <math.h>
#include <string.h>

/* Couples the cells of a grid that stay when each is left out with probability holes, with those at its faces or, with
 * corners, with all 26 around it. cell: [n] of each row; the caller frees it. */
static inline struct pattern tile_grid(const karst_index size[3], bool corners, double holes, karst_index **cell)
{
  const karst_index cells = size[0] * size[1] * size[2];
  karst_index *row = tap_memory(cells, sizeof *row), n = 0, end = 0;
  *cell = tap_memory(cells, sizeof **cell);
  for (karst_index c = 0; c < cells; c++) {
    row[c] = c > 0 && 0.5 * (tap_random() + 1) < holes ? -1 : n;
    if (row[c] >= 0) (*cell)[n++] = c;
  }
  struct pattern whole = pattern_stencil(size, corners), grid = pattern_empty(n, whole.start[cells]);
  for (karst_index i = 0; i < n; i++) {
    const karst_index c = (*cell)[i];
    for (karst_index k = whole.start[c]; k < whole.start[c + 1]; k++)
      if (row[whole.column[k]] >= 0) grid.column[end++] = row[whole.column[k]];
    grid.start[i + 1] = end;
  }
  pattern_free(&whole);
  free(row);
  return grid;
}

/* A matrix in the order that settings name, and a preconditioner of it. */
struct tile_system {
  karst_system system;
  karst_precond *P;
};

static inline struct tile_system tile_system_make(karst_context *context, const tap_settings *settings,
                                                  const karst_matrix *A)
{
  struct tile_system s;
  size_t o = 0;
  while (strcmp(karst_ordering_name(o), settings->ordering) != 0) o++;
  const karst_ordering_choice choice = {.ops = karst_ordering_table[o],
                                        .settings = {.tile_size = settings->tile_size},
                                        .distance = strcmp(settings->precond, "dilu") == 0 ? 1 : settings->level + 1};
  tap_need(context, karst_system_setup(&choice, KARST_SCALE_NONE, A, NULL, NULL, &s.system), settings->ordering);
  tap_need(context, karst_system_update(&s.system), "ordered values");
  tap_need(context, tap_precond_create(context, settings, s.system.matrix, &s.P), settings->precond);
  return s;
}

/* New values of the matrix. */
static inline void tile_system_update(struct tile_system *s)
{
  tap_need(s->system.context, karst_system_update(&s->system), "ordered values");
  tap_need(s->system.context, karst_precond_update(s->P), "update");
}

static inline void tile_system_free(struct tile_system *s)
{
  karst_precond_destroy(s->P);
  karst_system_destroy(&s->system);
}

/* The row of the caller's matrix that becomes row i; in natural order the matrix is the caller's. */
static inline karst_index tile_row(const karst_system *system, karst_index i)
{
  return system->ordered ? system->ordered->permutation[i] : i;
}

/* Moves block rows into the new order, or back. */
static inline void tile_order(const karst_system *system, const double *from, bool back, double *to)
{
  const size_t b = (size_t)system->matrix->block_size;
  for (karst_index i = 0; i < system->matrix->block_rows; i++) {
    const size_t there = b * (size_t)tile_row(system, i), here = b * (size_t)i;
    memcpy(to + (back ? there : here), from + (back ? here : there), b * sizeof *to);
  }
}

/* Returns M^-1 r, which the caller frees. */
static inline double *tile_apply(const struct tile_system *s, const double *r)
{
  const int64_t n = karst_matrix_rows(s->system.matrix);
  double *ordered = tap_memory(n, sizeof *ordered), *result = tap_memory(n, sizeof *result);
  tile_order(&s->system, r, false, ordered);
  double *z = applied(s->P, ordered);
  tile_order(&s->system, z, true, result);
  free(ordered);
  free(z);
  return result;
}

#endif
