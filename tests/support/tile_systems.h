/* tile_systems.h - matrices on patterns, and preconditioners of them in an order by colours or tiles, for the tests of
 * sweeps by tiles. Vectors on the host are in the caller's order. */
#ifndef KARST_TESTS_SUPPORT_TILE_SYSTEMS_H
#define KARST_TESTS_SUPPORT_TILE_SYSTEMS_H

#include "solver/system.h"
#include "tests/support/patterns.h"
#include "tests/support/settings.h"

#include <math.h>
#include <string.h>

/* Makes random blocks on a pattern with the diagonal added, the rows dominated by their diagonal blocks. */
static inline karst_matrix *tile_matrix(karst_context *context, const struct pattern *pattern, int b)
{
  const int64_t bb = (int64_t)b * b, most = (int64_t)pattern->start[pattern->n] + pattern->n;
  struct pattern full = pattern_empty(pattern->n, most);
  double *value = pattern_memory(bb * most, sizeof *value);
  karst_matrix *A;
  karst_index end = 0;
  for (karst_index i = 0; i < pattern->n; i++) {
    karst_index k = pattern->start[i];
    for (; k < pattern->start[i + 1] && pattern->column[k] < i; k++) full.column[end++] = pattern->column[k];
    full.column[end++] = i;
    if (k < pattern->start[i + 1] && pattern->column[k] == i) k++;
    for (; k < pattern->start[i + 1]; k++) full.column[end++] = pattern->column[k];
    full.start[i + 1] = end;
    for (k = full.start[i]; k < end; k++)
      for (int64_t v = 0; v < bb; v++)
        value[k * bb + v] =
            tap_random() + (full.column[k] == i && v % (b + 1) == 0 ? 1.5 * b * (double)(end - full.start[i]) : 0);
  }
  tap_need(context, karst_matrix_create(context, full.n, b, full.start, full.column, value, KARST_COPY, &A), "matrix");
  pattern_free(&full);
  free(value);
  return A;
}

/* Couples the cells of a grid that stay when each is left out with probability holes, with those at its faces or, with
 * corners, with all 26 around it. cell: [n] of each row; the caller frees it. */
static inline struct pattern tile_grid(const karst_index size[3], bool corners, double holes, karst_index **cell)
{
  const karst_index cells = size[0] * size[1] * size[2];
  karst_index *row = pattern_memory(cells, sizeof *row), n = 0, end = 0;
  *cell = pattern_memory(cells, sizeof **cell);
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

/* The same matrix in another context. */
static inline karst_matrix *tile_copy(karst_context *context, const karst_matrix *A)
{
  double *value;
  karst_grid grid;
  karst_matrix *copy;
  tap_need(NULL, karst_matrix_host_value(A, &value), "values");
  tap_need(context,
           karst_matrix_create(context, karst_matrix_block_rows(A), karst_matrix_block_size(A),
                               karst_matrix_row_start(A), karst_matrix_column(A), value, KARST_COPY, &copy),
           "copy");
  karst_matrix_host_value_done(A, value);
  if (karst_matrix_get_grid(A, &grid) == KARST_SUCCESS && grid.size[0] > 0)
    tap_need(context, karst_matrix_set_grid_cells(copy, grid.size[0], grid.size[1], grid.size[2], grid.cell), "grid");
  return copy;
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
  tap_need(context, karst_system_setup(&choice, KARST_SCALE_NONE, A, NULL, &s.system), settings->ordering);
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

/* Moves block rows into the new order, or back. */
static inline void tile_order(const karst_system *system, const double *from, bool back, double *to)
{
  const size_t b = (size_t)system->matrix->block_size;
  for (karst_index i = 0; i < system->matrix->block_rows; i++) {
    const size_t there = b * (size_t)system->ordered->permutation[i], here = b * (size_t)i;
    memcpy(to + (back ? there : here), from + (back ? here : there), b * sizeof *to);
  }
}

/* Returns M^-1 r, which the caller frees. */
static inline double *tile_apply(const struct tile_system *s, const double *r)
{
  karst_context *context = s->system.context;
  const int64_t n = karst_matrix_rows(s->system.matrix);
  double *ordered = pattern_memory(n, sizeof *ordered), *result = pattern_memory(n, sizeof *result);
  karst_vector *from, *to;
  tap_need(context, karst_vector_create(context, n, &from), "r");
  tap_need(context, karst_vector_create(context, n, &to), "z");
  tile_order(&s->system, r, false, ordered);
  tap_need(context, karst_vector_set(from, n, ordered), "r");
  tap_need(context, karst_vector_fill(to, NAN), "poison");
  tap_need(context, karst_precond_apply(s->P, from, to), "apply");
  tap_need(context, karst_vector_get(to, n, ordered), "z");
  tile_order(&s->system, ordered, true, result);
  karst_vector_destroy(from);
  karst_vector_destroy(to);
  free(ordered);
  return result;
}

static inline double *tile_random_vector(int64_t n)
{
  double *x = pattern_memory(n, sizeof *x);
  for (int64_t i = 0; i < n; i++) x[i] = tap_random();
  return x;
}

/* Returns the largest difference over the largest entry; NaN if there is one. */
static inline double tile_difference(int64_t n, const double *x, const double *expected)
{
  double error = 0, size = 0;
  for (int64_t i = 0; i < n; i++) {
    if (!(fabs(x[i] - expected[i]) <= error)) error = fabs(x[i] - expected[i]);
    if (isnan(error)) return error;
    size = fmax(size, fabs(expected[i]));
  }
  return size > 0 ? error / size : error;
}

#endif
