/* Triangular solves by tiles, on every device: M^-1 r of iluk and dilu in an order by tiles or colours agrees with
 * dense arithmetic in that order, for random patterns, grids, long rows and none, block sizes, levels and tile sizes.
 * The bits are the same each time, also after an update with the same values. A NaN in r gives one in z. */
#include "lib/method/precond.h"
#include "tests/support/problem.h"
#include "tests/support/tile_reference.h"
#include "tests/support/tile_systems.h"

static const double tolerance = 1e-11;

struct variant {
  const char *ordering;
  int tile_size;
};

static const struct variant variants[] = {{"tiles", 0},  {"tiles", 1},      {"tiles", 2}, {"tiles", 7},
                                          {"tiles", 64}, {"tiles", 100000}, {"colour", 0}};
enum { VARIANTS = sizeof variants / sizeof *variants };

/* The trisolve "dilu" stands for that preconditioner, which has no such option. */
static bool is_dilu(const char *trisolve) { return strcmp(trisolve, "dilu") == 0; }

static tap_settings settings_of(const struct variant *variant, int level, const char *trisolve)
{
  tap_settings settings = settings_for(NULL, is_dilu(trisolve) ? "dilu" : "iluk");
  settings.ordering = variant->ordering;
  settings.tile_size = variant->tile_size;
  settings.level = level;
  if (!is_dilu(trisolve)) settings.trisolve = trisolve;
  return settings;
}

/* Returns M^-1 r by dense arithmetic in the order of the system. */
static double *expect(const struct tile_system *s, const karst_matrix *A, bool dilu, int level, const double *r)
{
  const int64_t n = karst_matrix_rows(A);
  struct tile_reference f = tile_reference_make(A, s->system.ordered->permutation, dilu, level, 0);
  double *ordered = tap_memory(n, sizeof *ordered), *z = tap_memory(n, sizeof *z);
  tile_order(&s->system, r, false, ordered);
  tile_reference_solve(&f, ordered, z);
  tile_order(&s->system, z, true, ordered);
  tile_reference_free(&f);
  free(z);
  return ordered;
}

static bool is_same(int64_t n, const double *x, const double *y) { return memcmp(x, y, (size_t)n * sizeof *x) == 0; }

/* Solves several times, the last time after an update, and compares the first solution with the expected one. */
static void check(karst_context *context, const karst_matrix *A, const struct variant *variant, int level,
                  const char *trisolve, const char *what)
{
  const int64_t n = karst_matrix_rows(A);
  const tap_settings settings = settings_of(variant, level, trisolve);
  struct tile_system s = tile_system_make(context, &settings, A);
  double *r = random_on_host(n), *expected = expect(&s, A, is_dilu(trisolve), level, r), *z = tile_apply(&s, r);
  bool same = true;
  for (int again = 0; again < 4; again++) {
    if (again == 3) tile_system_update(&s);
    double *next = tile_apply(&s, r);
    same = same && is_same(n, next, z);
    free(next);
  }
  const double error = relative_difference(n, z, expected);
  tap_ok(error < tolerance && same,
         "%s, b = %d, level %d, %s of %d, %s: as dense arithmetic (%.1e), the same bits again", what,
         karst_matrix_block_size(A), level, variant->ordering, variant->tile_size, trisolve, error);
  free(r);
  free(expected);
  free(z);
  tile_system_free(&s);
}

static void check_all(karst_context *context, const struct pattern *pattern, int b, int level, const char *what)
{
  karst_matrix *A = pattern_random_matrix(context, pattern, b, 1.5);
  for (int v = 0; v < VARIANTS; v++) check(context, A, &variants[v], level, "tiles", what);
  check(context, A, &variants[0], level, "auto", what);
  check(context, A, &variants[3], level, "dataflow", what);
  for (int v = 0; v < VARIANTS && level == 0 && context->backend->dilu; v++)
    check(context, A, &variants[v], level, "dilu", what);
  karst_matrix_destroy(A);
}

static void random_patterns(karst_context *context)
{
  for (int b = 1; b <= 9; b++)
    for (int level = 0; level < 3; level++) {
      struct pattern pattern = pattern_random(b < 4 ? 150 : 40, 0.03);
      check_all(context, &pattern, b, level, "random");
      pattern_free(&pattern);
    }
}

/* A row, a column or both that couple with all others, at the start, in the middle or at the end; no couplings; one
 * row. */
static void long_rows(karst_context *context)
{
  for (int kind = 0; kind < 3; kind++)
    for (karst_index at = 0; at < 90; at += 44) {
      struct pattern p = pattern_empty(89, 4 * 89 * 3);
      karst_index end = 0;
      for (karst_index i = 0; i < p.n; i++) {
        for (karst_index j = 0; j < p.n; j++)
          if (i == j || j == i + 1 || (kind != 1 && i == at) || (kind != 0 && j == at)) p.column[end++] = j;
        p.start[i + 1] = end;
      }
      for (int b = 1; b < 5; b += 2) check_all(context, &p, b, kind == 2 ? 0 : 1, "a long row or column");
      pattern_free(&p);
    }
  for (karst_index n = 1; n < 80; n += 78) {
    struct pattern p = pattern_empty(n, n);
    check_all(context, &p, 3, 1, "no couplings");
    pattern_free(&p);
  }
}

static void grids(karst_context *context)
{
  static const karst_index sizes[][3] = {{9, 8, 1}, {6, 5, 4}, {60, 2, 1}};
  for (size_t g = 0; g < sizeof sizes / sizeof *sizes; g++)
    for (int corners = 0; corners < 2; corners++)
      for (int level = 0; level < 3; level++) {
        karst_index *cell;
        struct pattern p = tile_grid(sizes[g], corners == 1, level == 1 ? 0.1 : 0, &cell);
        karst_matrix *A = pattern_random_matrix(context, &p, 1 + (level + (int)g) % 3, 1.5);
        tap_need(context, karst_matrix_set_grid_cells(A, sizes[g][0], sizes[g][1], sizes[g][2], cell), "grid");
        for (int v = 0; v < VARIANTS; v++) check(context, A, &variants[v], level, "tiles", "grid");
        karst_matrix_destroy(A);
        free(cell);
        pattern_free(&p);
      }
}

/* The solve ends with a NaN in z, and the next solve is not affected. */
static void not_finite(karst_context *context)
{
  struct pattern grid = pattern_grid(9, 8, 7);
  for (int b = 1; b <= 9; b += 2) {
    karst_matrix *A = pattern_random_matrix(context, &grid, b, 1.5);
    const int64_t n = karst_matrix_rows(A);
    const tap_settings settings = settings_of(&variants[4], 0, "tiles");
    struct tile_system s = tile_system_make(context, &settings, A);
    double *r = random_on_host(n), *before = tile_apply(&s, r);
    const int64_t at = tap_random_index(n);
    const double keep = r[at];
    r[at] = NAN;
    double *with_nan = tile_apply(&s, r);
    r[at] = keep;
    double *after = tile_apply(&s, r);
    tap_ok(isnan(with_nan[at]) && is_same(n, before, after),
           "b = %d: a NaN reaches z, and does not affect the next solve", b);
    free(r);
    free(before);
    free(with_nan);
    free(after);
    tile_system_free(&s);
    karst_matrix_destroy(A);
  }
  pattern_free(&grid);
}

/* Returns M^-1 r of the CPU in the order of a system on its device, because a CPU colours tiles otherwise. */
static double *expect_of_cpu(karst_context *cpu, const struct tile_system *s, tap_settings settings, const double *r)
{
  karst_matrix *copy = matrix_copied(cpu, s->system.matrix);
  const int64_t n = karst_matrix_rows(copy);
  double *ordered = tap_memory(n, sizeof *ordered), *expected = tap_memory(n, sizeof *expected);
  settings.ordering = "natural";
  settings.trisolve = "auto";
  karst_precond *P = precond_of(cpu, &settings, copy);
  karst_vector *from = vector_of(cpu, n, 0), *to = vector_of(cpu, n, 0);
  tile_order(&s->system, r, false, ordered);
  tap_need(cpu, karst_vector_set(from, n, ordered), "r");
  tap_need(cpu, karst_precond_apply(P, from, to), "apply");
  tap_need(cpu, karst_vector_get(to, n, ordered), "z");
  tile_order(&s->system, ordered, true, expected);
  karst_vector_destroy(from);
  karst_vector_destroy(to);
  karst_precond_destroy(P);
  karst_matrix_destroy(copy);
  free(ordered);
  return expected;
}

/* Many tiles, of the sizes that a GPU has by default: the device agrees with the CPU. */
static void many_tiles(karst_context *context)
{
  static const struct {
    karst_index size[3];
    int b, level, tile_size;
  } cases[] = {{{40, 41, 39}, 1, 0, 256},  {{30, 31, 29}, 1, 1, 64}, {{20, 21, 22}, 1, 2, 64},
               {{200, 190, 1}, 1, 0, 256}, {{20, 22, 21}, 3, 0, 64}, {{14, 15, 13}, 4, 1, 32},
               {{11, 12, 13}, 6, 0, 32},   {{9, 9, 9}, 8, 0, 32}};
  karst_context *cpu = tap_context();
  for (size_t c = 0; c < sizeof cases / sizeof *cases; c++) {
    struct pattern grid = pattern_grid(cases[c].size[0], cases[c].size[1], cases[c].size[2]);
    karst_matrix *A = pattern_random_matrix(context, &grid, cases[c].b, 1.5);
    const int64_t n = karst_matrix_rows(A);
    const struct variant variant = {"tiles", cases[c].tile_size};
    const tap_settings settings = settings_of(&variant, cases[c].level, "tiles");
    struct tile_system s = tile_system_make(context, &settings, A);
    double *r = random_on_host(n), *expected = expect_of_cpu(cpu, &s, settings, r);
    double error = 0;
    for (int again = 0; again < 20; again++) {
      double *z = tile_apply(&s, r);
      error = fmax(error, relative_difference(n, z, expected));
      free(z);
    }
    tap_ok(error < tolerance, "%lldx%lldx%lld, b = %d, level %d: twenty times as on the CPU (%.1e)",
           (long long)cases[c].size[0], (long long)cases[c].size[1], (long long)cases[c].size[2], cases[c].b,
           cases[c].level, error);
    free(r);
    free(expected);
    tile_system_free(&s);
    karst_matrix_destroy(A);
    pattern_free(&grid);
  }
  karst_context_destroy(cpu);
}

int main(void)
{
  tap_each_device(random_patterns, "random patterns");
  tap_each_device(long_rows, "long rows");
  tap_each_device(grids, "grids");
  tap_each_device(not_finite, "NaN");
  tap_each_device(many_tiles, "many tiles");
  return tap_done();
}
