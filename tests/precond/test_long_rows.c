/* Block ILU whose triangles have rows much longer than the others, which a GPU gives to blocks of threads. Each kind of
 * triangular solve agrees with the CPU within rounding, for every block size and place of the long rows and columns.
 * The bits are the same each time, and a NaN in r gives one in z. */
#include "lib/backend/backend.h"
#include "lib/matrix/matrix.h"
#include "tests/support/patterns.h"
#include "lib/method/precond.h"
#include "tests/support/problem.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static const char *const kinds[] = {"auto", "level", "dataflow"};
enum { KINDS = sizeof kinds / sizeof kinds[0] };

static karst_context *cpu;

/* On the CPU these kinds are one. */
static int kinds_on(const karst_context *context) { return context->backend == cpu->backend ? 1 : KINDS; }

/* The long rows and columns, which have every step-th entry. */
struct wells {
  karst_index first, every, count, step;
  bool row, column;
};

static bool is_well(const struct wells *wells, karst_index i)
{
  const karst_index number = (i - wells->first) / wells->every;
  return i >= wells->first && (i - wells->first) % wells->every == 0 && number < wells->count;
}

/* Makes the band of entries within a distance of the diagonal, and the wells. */
static struct pattern pattern_wells(karst_index n, karst_index distance, const struct wells *wells)
{
  struct pattern made = pattern_empty(n, (int64_t)n * (2 * distance + 1 + 2 * (int64_t)wells->count));
  karst_index k = 0;
  for (karst_index i = 0; i < n; i++) {
    for (karst_index j = 0; j < n; j++) {
      const bool in_row = wells->row && is_well(wells, i) && j % wells->step == 0;
      const bool in_column = wells->column && is_well(wells, j) && i % wells->step == 0;
      const bool both = is_well(wells, i) && is_well(wells, j);
      if ((j >= i - distance && j <= i + distance) || ((in_row || in_column) && !both)) made.column[k++] = j;
    }
    made.start[i + 1] = k;
  }
  return made;
}

static karst_precond *factor(karst_context *context, const karst_matrix *A, const char *trisolve, int level)
{
  tap_settings options = settings_for(NULL, NULL);
  options.trisolve = trisolve;
  options.level = level;
  return precond_of(context, &options, A);
}

/* Applies P to r with a NaN at each of a few places. The NaN has the bits that mark an absent unknown. Each time z
 * contains a NaN. */
static bool keeps_nan(const karst_precond *P, int64_t n, double *r, double *z)
{
  const uint64_t payload = UINT64_MAX;
  bool all = true;
  for (int place = 0; place < 4; place++) {
    const int64_t at = place == 0 ? 0 : place == 1 ? n - 1 : tap_random_index(n);
    const double keep = r[at];
    bool found = false;
    memcpy(&r[at], &payload, sizeof r[at]);
    apply_on_host(P, r, z);
    for (int64_t i = 0; i < n; i++) found = found || !isfinite(z[i]);
    r[at] = keep;
    all = all && found;
  }
  return all;
}

/* Compares each kind of triangular solve with the CPU, before and after NaNs. */
static void compare(karst_context *context, const struct pattern *pattern, int b, int level, const char *what)
{
  const int64_t n = (int64_t)pattern->n * b;
  double *r = random_on_host(n), *z = tap_memory(n, sizeof *r);
  karst_matrix *A = pattern_random_matrix(context, pattern, b, 1.5), *copy = matrix_copied(cpu, A);
  karst_precond *reference = factor(cpu, copy, "auto", level);
  double *expected = applied(reference, r);
  for (int kind = 0; kind < kinds_on(context); kind++) {
    karst_precond *P = factor(context, A, kinds[kind], level);
    double *first = applied(P, r);
    const double error = relative_difference(n, first, expected);
    const bool through = keeps_nan(P, n, r, z);
    int differ = 0;
    for (int again = 0; again < 5; again++) {
      apply_on_host(P, r, z);
      differ += memcmp(z, first, (size_t)n * sizeof *z) != 0;
    }
    tap_ok(error < 1e-12 && differ == 0, "%s, b = %d, level %d, %s: as on the CPU (%.1e), the same bits again", what, b,
           level, kinds[kind], error);
    tap_ok(through, "%s, b = %d, level %d, %s: a NaN in r gives one in z", what, b, level, kinds[kind]);
    free(first);
    karst_precond_destroy(P);
  }
  karst_precond_destroy(reference);
  karst_matrix_destroy(A);
  karst_matrix_destroy(copy);
  free(r);
  free(expected);
  free(z);
}

/* Rows and columns at the start, in the middle and at the end, alone and several in one level. */
static void places(karst_context *context)
{
  const struct {
    struct wells wells;
    karst_index n, distance;
    const char *what;
  } of[] = {
      {{0, 1, 1, 1, true, true}, 150, 1, "first row and column"},
      {{75, 1, 1, 1, true, true}, 170, 2, "middle row and column"},
      {{149, 1, 1, 1, true, true}, 150, 1, "last row and column"},
      {{140, 1, 10, 1, true, true}, 150, 0, "ten last rows in one level"},
      {{0, 1, 10, 1, true, true}, 150, 0, "ten first rows in one level"},
      {{3, 37, 5, 2, true, true}, 190, 3, "wells in a band"},
      {{5, 41, 4, 1, true, false}, 190, 3, "long rows, no columns"},
      {{5, 41, 4, 1, false, true}, 190, 3, "long columns, no rows"},
  };
  for (size_t c = 0; c < sizeof of / sizeof *of; c++) {
    struct pattern pattern = pattern_wells(of[c].n, of[c].distance, &of[c].wells);
    for (int b = 1; b <= 9; b++) compare(context, &pattern, b, 0, of[c].what);
    /* fill makes the matrix full where the first row is long, so blocks stay small there */
    const int largest = of[c].wells.first == 0 ? 4 : 9;
    for (int b = 1; b <= largest; b += b < 4 ? 1 : 5) compare(context, &pattern, b, 1, of[c].what);
    pattern_free(&pattern);
  }
}

/* Blocks that have no kernel of their own, more than one to a warp and more than a warp has lanes. */
static void large_blocks(karst_context *context)
{
  const struct wells wells = {70, 5, 3, 1, true, true};
  struct pattern pattern = pattern_wells(86, 1, &wells);
  const int sizes[] = {10, 16, 17, 32, 33, 40};
  for (size_t s = 0; s < sizeof sizes / sizeof *sizes; s++) compare(context, &pattern, sizes[s], 0, "large blocks");
  pattern_free(&pattern);
}

/* The long rows have more neighbours than a block of threads takes at a time; or they are many for a level but much
 * longer than the others, in levels wider than a GPU. */
static void sizes(karst_context *context)
{
  const struct wells very_long = {1, 2400, 3, 1, true, true}, many = {2960, 1, 40, 30, true, true};
  struct pattern pattern = pattern_wells(4900, 1, &very_long);
  for (int b = 1; b <= 3; b++) compare(context, &pattern, b, 0, "very long rows");
  pattern_free(&pattern);
  pattern = pattern_wells(3000, 0, &many);
  for (int b = 1; b <= 9; b++) compare(context, &pattern, b, 0, "many long rows");
  pattern_free(&pattern);
}

int main(void)
{
  cpu = tap_context();
  tap_each_device(places, "long rows and columns");
  tap_each_device(large_blocks, "large blocks");
  tap_each_device(sizes, "sizes");
  karst_context_destroy(cpu);
  return tap_done();
}
