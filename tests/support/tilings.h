/* tilings.h - makes and checks an order by colours or tiles of a pattern, for the tests of these orderings. */
#ifndef KARST_TESTS_SUPPORT_TILINGS_H
#define KARST_TESTS_SUPPORT_TILINGS_H

#include "lib/method/ordering.h"
#include "tests/support/named_values.h"
#include "tests/support/patterns.h"
#include "tests/support/problem.h"
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

/* Returns whether starts ascend strictly from 0 to end. */
static inline bool tiled_ascends(karst_index count, const karst_index *start, karst_index end)
{
  bool right = start[0] == 0 && start[count] == end;
  for (karst_index i = 0; i < count; i++) right = right && start[i] < start[i + 1];
  return right;
}

/* Returns whether it is a permutation with tiles of 1 to most rows and no colour without tiles. */
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

/* group[i]: the interval of starts with place i. */
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

/* Makes an order twice, and checks it for ILU(distance - 1). Returns the fault, or NULL. */
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

/* Makes so many orders of random patterns, with empty and nearly full rows, for ILU(0) to ILU(3). Returns how many have
 * a fault. most: [5] rows of a tile, which take turns; NULL: 1, and no option. */
static inline int tiled_count_faults(karst_context *context, const char *name, int count, const karst_index *most)
{
  int wrong = 0;
  for (int c = 0; c < count; c++) {
    const double density = c % 4 == 0 ? 0 : c % 4 == 1 ? 0.005 : 0.04;
    struct pattern A = pattern_random(c < 4 ? c : 1 + (karst_index)tap_random_index(90), density);
    karst_ordering_pattern pattern = tiled_pattern(context, &A);
    pattern.distance = 1 + c / 4 % 4;
    if (most) pattern.settings.tile_size = (int)most[c % 5];
    const char *fault = tiled_fault(name, &pattern, most ? most[c % 5] : 1);
    if (fault)
      tap_note("%ld rows, tiles of %d, distance %d: %s", (long)A.n, pattern.settings.tile_size, pattern.distance,
               fault);
    wrong += fault != NULL;
    pattern_free(&A);
  }
  return wrong;
}

/* Solves a problem of the gallery by ILU(level), with a random right-hand side, because one of ones favours the natural
 * order of a grid. most: rows of a tile, 0: the default. Returns the iterations, or -1 where it does not converge, and
 * the level sets of L. */
static inline int tiled_solve(karst_context *context, const char *spec, const char *solver, const char *ordering,
                              int level, int most, double *levels)
{
  struct problem p = problem_from(context, spec, 0, tap_seed());
  tap_settings settings = settings_for(solver, NULL);
  settings.ordering = ordering;
  settings.rtol = 1e-6;
  settings.level = level;
  settings.tile_size = most;
  karst_solver *s = problem_solver(&p, &settings);
  const karst_result result = problem_solve(&p, s);
  if (levels) *levels = tap_solver_number(s, "levels_lower");
  karst_solver_destroy(s);
  problem_destroy(&p);
  return result.reason > 0 ? result.iterations : -1;
}

#endif
