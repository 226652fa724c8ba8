/* The coarse rows of multigrid are those of a single walk through the rows by their measures, and aggregates of two are
 * those of a single walk through the couplings by their weights. */
#include "tests/support/amg_levels.h"

#include <math.h>
#include <stdio.h>

/* Splits by the definition of PMIS, one row after the other from the largest measure down. strong: [n*n], state: [n]
 * 1 for C, -1 for F. No row is long. */
static void walk(karst_index n, const bool *strong, int *state)
{
  uint64_t *measure = tap_memory(n, sizeof *measure);
  for (karst_index i = 0; i < n; i++) {
    uint32_t dependents = 0;
    bool isolated = true;
    for (karst_index j = 0; j < n; j++) {
      dependents += strong[j * n + i];
      isolated = isolated && !strong[i * n + j];
    }
    measure[i] = karst_amg_measure(i, dependents, false);
    state[i] = isolated || dependents == 0 ? -1 : 0;
  }
  for (;;) {
    karst_index top = -1;
    for (karst_index i = 0; i < n; i++)
      if (state[i] == 0 && (top < 0 || measure[i] >= measure[top])) top = i;
    if (top < 0) break;
    state[top] = 1;
    for (karst_index j = 0; j < n; j++)
      if (strong[top * n + j] && state[j] == 1) state[top] = -1;
  }
  free(measure);
}

static bool *strong_of(struct amg_test *t, karst_index n, double strength)
{
  bool *strong = tap_memory((int64_t)n * n, sizeof *strong);
  double *dense = amg_dense(t, &t->amg.level[0].A);
  for (karst_index i = 0; i < n; i++)
    for (karst_index j = 0; j < n; j++) strong[i * n + j] = amg_is_strong(n, dense, strength, i, j);
  free(dense);
  return strong;
}

static void split_system(karst_context *context, int system, double strength)
{
  struct amg_test t;
  karst_amg_splitting splitting = {0};
  karst_matrix *A = amg_system(context, system);
  const karst_index n = karst_matrix_block_rows(A);
  tap_need(context, amg_start(A, strength, 4, system % 2 == 0, &t), "start");
  tap_need(context, t.kernels->split(context, &t.amg, &t.amg.level[0].A, &t.rule, &splitting), "split");
  bool *strong = strong_of(&t, n, strength), right = true;
  int *state = tap_memory(n, sizeof *state);
  karst_index *place = amg_places(&t, n, &splitting), coarse = 0;
  walk(n, strong, state);
  for (karst_index i = 0; i < n; i++) right = right && place[i] == (state[i] > 0 ? coarse++ : -1);
  tap_ok(right && coarse == splitting.coarse, "system %d, strength %g: PMIS takes %ld of %ld rows, as one walk does",
         system, strength, (long)splitting.coarse, (long)n);
  t.kernels->release_splitting(context, &splitting);
  free(strong);
  free(state);
  free(place);
  amg_end(&t);
  karst_matrix_destroy(A);
}

/* The weight of a coupling for matching. */
static double weight_of(karst_index n, const double *dense, karst_index i, karst_index j)
{
  return (fabs(dense[i * n + j]) + fabs(dense[j * n + i])) / fmax(fabs(dense[i * n + i]), fabs(dense[j * n + j]));
}

/* Pairs two rows along the heaviest free coupling, and again. The matrix is symmetric. mate: [n] */
static void pair_rows(karst_index n, const double *dense, const bool *strong, karst_index *mate)
{
  for (karst_index i = 0; i < n; i++) mate[i] = -1;
  for (bool found = true; found;) {
    karst_index a = -1, b = -1;
    found = false;
    for (karst_index i = 0; i < n; i++)
      for (karst_index j = 0; j < n; j++) {
        if (!strong[i * n + j] || !strong[j * n + i] || mate[i] >= 0 || mate[j] >= 0) continue;
        const double mine = weight_of(n, dense, i, j), best = a < 0 ? 0 : weight_of(n, dense, a, b);
        if (mine < best || (mine == best && karst_amg_tie(i, j) <= karst_amg_tie(a, b))) continue;
        a = i;
        b = j;
        found = true;
      }
    if (!found) break;
    mate[a] = b;
    mate[b] = a;
  }
}

static void match_system(karst_context *context, int system)
{
  struct amg_test t;
  karst_amg_splitting splitting = {0};
  karst_matrix *A = amg_system(context, system);
  const karst_index n = karst_matrix_block_rows(A);
  tap_need(context, amg_start(A, 0.25, 4, false, &t), "start");
  tap_need(context, t.kernels->match(context, &t.amg, &t.amg.level[0].A, &t.rule, &splitting), "match");
  double *dense = amg_dense(&t, &t.amg.level[0].A);
  bool *strong = strong_of(&t, n, 0.25), pairs = true, joined = true, ordered = true;
  karst_index *mate = tap_memory(n, sizeof *mate), *place = amg_places(&t, n, &splitting), next = 0;
  pair_rows(n, dense, strong, mate);
  for (karst_index i = 0; i < n; i++) {
    karst_index heaviest = -1;
    for (karst_index j = 0; j < n && mate[i] < 0; j++) {
      if (!strong[i * n + j] || mate[j] < 0) continue;
      const double mine = weight_of(n, dense, i, j), best = heaviest < 0 ? 0 : weight_of(n, dense, i, heaviest);
      if (mine > best || (mine == best && karst_amg_tie(i, j) > karst_amg_tie(i, heaviest))) heaviest = j;
    }
    pairs = pairs && (mate[i] < 0 || place[i] == place[mate[i]]);
    joined = joined && (heaviest < 0 || place[i] == place[heaviest]);
    ordered = ordered && place[i] >= 0 && place[i] <= next;
    if (place[i] == next) next++;
  }
  tap_ok(pairs, "system %d: rows are paired along the heaviest couplings", system);
  tap_ok(joined, "system %d: a row left over joins its heaviest neighbour", system);
  tap_ok(ordered && next == splitting.coarse, "system %d: %ld aggregates are numbered by their first rows", system,
         (long)splitting.coarse);
  t.kernels->release_splitting(context, &splitting);
  free(dense);
  free(strong);
  free(mate);
  free(place);
  amg_end(&t);
  karst_matrix_destroy(A);
}

/* Rows without couplings are in no aggregate, and pairs of pairs are composed. */
static void test_compose(karst_context *context)
{
  struct amg_test t;
  karst_amg_splitting pairs = {0}, next = {0};
  karst_matrix *A = matrix_from(context, "poisson2d:6x6", 0);
  const double unit = 1;
  replace_row(A, 0, &unit);
  tap_need(context, amg_start(A, 0.25, 4, true, &t), "start");
  t.pairs = true;
  tap_need(context, t.kernels->match(context, &t.amg, &t.amg.level[0].A, &t.rule, &pairs), "match");
  karst_index *first = amg_places(&t, 36, &pairs);
  tap_ok(first[0] == -1, "a row without couplings is in no aggregate");
  tap_need(context, amg_coarsen(&t, 35), "level");
  tap_need(context, t.kernels->match(context, &t.amg, &t.amg.level[1].A, &t.rule, &next), "match");
  karst_index *second = amg_places(&t, t.amg.level[1].A.rows, &next);
  t.kernels->compose(context, 36, &pairs, &next);
  karst_index *both = amg_places(&t, 36, &pairs);
  bool right = pairs.coarse == next.coarse;
  for (int i = 0; i < 36; i++) right = right && both[i] == (first[i] < 0 ? -1 : second[first[i]]);
  tap_ok(right, "pairs of pairs are composed into %ld aggregates", (long)pairs.coarse);
  free(first);
  free(second);
  free(both);
  t.kernels->release_splitting(context, &pairs);
  t.kernels->release_splitting(context, &next);
  amg_end(&t);
  karst_matrix_destroy(A);
}

static void run(karst_context *context)
{
  if (tap_lacks_kernels(context->backend->amg, "amg", "splittings")) return;
  for (int system = 0; system < AMG_SYSTEMS; system++) {
    split_system(context, system, 0.25);
    split_system(context, system, 0.5);
  }
  for (int system = 0; system < 2; system++) match_system(context, system);
  test_compose(context);
}

int main(void)
{
  tap_each_device(run, "splittings");
  return tap_done();
}
