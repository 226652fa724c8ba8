/* tilings.h - makes an order by colours or tiles of a pattern and judges it, for the tests of these orderings. */
#ifndef KARST_TESTS_SUPPORT_TILINGS_H
#define KARST_TESTS_SUPPORT_TILINGS_H

#include "lib/method/ordering.h"
#include "tests/support/patterns.h"
#include "symbolic/symbolic.h"

#include <string.h>

struct tiled {
  karst_index *permutation;
  karst_tiling tiling;
};

static inline struct tiled tiled_make(const char *name, const karst_ordering_pattern *pattern)
{
  struct tiled made = {.permutation = tap_memory(pattern->block_rows, sizeof *made.permutation)};
  size_t i = 0;
  while (strcmp(karst_ordering_name(i), name) != 0) i++;
  tap_need(pattern->context, karst_ordering_table[i]->compute(pattern, made.permutation, &made.tiling), name);
  return made;
}

static inline void tiled_free(karst_context *context, struct tiled *made)
{
  free(made->permutation);
  karst_tiling_destroy(context, &made->tiling);
}

/* Whether starts ascend strictly from 0 to end. */
static inline bool tiled_ascends(karst_index count, const karst_index *start, karst_index end)
{
  bool right = start[0] == 0 && start[count] == end;
  for (karst_index i = 0; i < count; i++) right = right && start[i] < start[i + 1];
  return right;
}

/* Whether it is a permutation with tiles of 1 to most rows and colours that all have tiles. */
static inline bool tiled_is_valid(const karst_ordering_pattern *pattern, const struct tiled *made, karst_index most)
{
  const karst_tiling *t = &made->tiling;
  karst_index *inverse = tap_memory(pattern->block_rows, sizeof *inverse);
  bool right = karst_permutation_invert(pattern->context, pattern->block_rows, made->permutation, inverse) == 0 &&
               tiled_ascends(t->tiles, t->start, pattern->block_rows) &&
               tiled_ascends(t->colours, t->colour_start, t->tiles);
  for (karst_index i = 0; right && i < t->tiles; i++) right = t->start[i + 1] - t->start[i] <= most;
  free(inverse);
  return right;
}

/* group[i]: which interval of starts place i is in. */
static inline karst_index *tiled_expand(karst_index count, const karst_index *start)
{
  karst_index *group = tap_memory(start[count], sizeof *group);
  for (karst_index g = 0; g < count; g++)
    for (karst_index i = start[g]; i < start[g + 1]; i++) group[i] = g;
  return group;
}

/* Counts the entries of the lower factor of ILU(level) in the new order that join two tiles of one colour. */
static inline int64_t tiled_ties(const karst_ordering_pattern *pattern, const struct tiled *made, int level)
{
  karst_context *context = pattern->context;
  karst_index *start, *column, *source;
  karst_ilu_pattern factors;
  int64_t ties = 0;
  tap_need(context,
           karst_pattern_permute(context, pattern->block_rows, pattern->row_start, pattern->column, made->permutation,
                                 &start, &column, &source),
           "permute");
  tap_need(context, karst_ilu_symbolic(context, pattern->block_rows, start, column, level, &factors), "symbolic");
  karst_index *tile = tiled_expand(made->tiling.tiles, made->tiling.start);
  karst_index *colour = tiled_expand(made->tiling.colours, made->tiling.colour_start);
  for (karst_index i = 0; i < pattern->block_rows; i++) {
    for (karst_index k = factors.lower_start[i]; k < factors.lower_start[i + 1]; k++) {
      const karst_index j = factors.lower_column[k];
      ties += tile[i] != tile[j] && colour[tile[i]] == colour[tile[j]];
    }
    for (karst_index k = factors.upper_start[i]; k < factors.upper_start[i + 1]; k++) {
      const karst_index j = factors.upper_column[k];
      ties += tile[i] != tile[j] && colour[tile[i]] == colour[tile[j]];
    }
  }
  free(tile);
  free(colour);
  karst_release(context, start);
  karst_release(context, column);
  karst_release(context, source);
  karst_ilu_pattern_destroy(context, &factors);
  return ties;
}

static inline karst_ordering_pattern tiled_pattern(karst_context *context, const struct pattern *A)
{
  return (karst_ordering_pattern){
      .context = context, .block_rows = A->n, .row_start = A->start, .column = A->column, .distance = 1};
}

/* Makes an order twice, and judges it for ILU(distance - 1). Returns what is wrong, or NULL. */
static inline const char *tiled_fault(const char *name, const karst_ordering_pattern *pattern, karst_index most)
{
  struct tiled first = tiled_make(name, pattern), second = tiled_make(name, pattern);
  const size_t bytes = (size_t)pattern->block_rows * sizeof *first.permutation;
  const char *fault = NULL;
  if (!tiled_is_valid(pattern, &first, most))
    fault = "no order, or a tile is too large";
  else if (memcmp(first.permutation, second.permutation, bytes) != 0 || first.tiling.tiles != second.tiling.tiles)
    fault = "another order in the second run";
  else if (tiled_ties(pattern, &first, pattern->distance - 1) > 0)
    fault = "tiles of one colour depend on each other";
  tiled_free(pattern->context, &first);
  tiled_free(pattern->context, &second);
  return fault;
}

/* Solves a problem of the gallery with a random right-hand side, for that of ones is a lucky one for the natural order
 * of a grid, by ILU(level); most: of a tile, 0: the default. Returns the iterations, or -1 where it does not converge,
 * and the level sets of L. */
static inline int tiled_solve(karst_context *context, const char *spec, const char *solver, const char *ordering,
                              int level, int most, double *levels)
{
  karst_matrix *A;
  karst_vector *b, *x;
  karst_options *options;
  karst_solver *s;
  karst_result result;
  karst_value value;
  tap_need(context, karst_gallery_create(context, spec, 0, &A, NULL), spec);
  tap_need(context, karst_vector_create(context, karst_matrix_rows(A), &b), "b");
  tap_need(context, karst_vector_create(context, karst_matrix_rows(A), &x), "x");
  tap_need(context, karst_vector_fill_random(b, tap_seed()), "b");
  tap_need(context, karst_vector_fill(x, 0), "zeros");
  tap_need(context, karst_options_create(context, &options), "options");
  tap_need(context, karst_options_set(options, "solver", solver), "solver");
  tap_need(context, karst_options_set(options, "ordering", ordering), "ordering");
  tap_need(context, karst_options_set(options, "rtol", "1e-6"), "rtol");
  tap_need(context, karst_options_set_integer(options, "level", level), "level");
  tap_need(context, karst_options_set_integer(options, "tile-size", most), "tile-size");
  tap_need(context, karst_solver_create(context, options, &s), "create");
  tap_need(context, karst_solver_setup(s, A), "setup");
  tap_need(context, karst_solver_solve(s, b, x, &result), "solve");
  for (size_t i = 0; karst_solver_report(s, i, &value); i++)
    if (levels && strcmp(value.name, "levels_lower") == 0) *levels = value.number;
  karst_solver_destroy(s);
  karst_options_destroy(options);
  karst_vector_destroy(b);
  karst_vector_destroy(x);
  karst_matrix_destroy(A);
  return result.reason > 0 ? result.iterations : -1;
}

#endif
